package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rocelens/rocelens/capture"
)

// openInputs opens the captures that a command names. The end of ctx interrupts
// waiting for pipes.
func openInputs(ctx context.Context, io streams, paths []string) (capture.Source, error) {
	cfg := capture.DefaultConfig()
	cfg.Stdin = io.in
	cfg.Context = ctx
	cfg.Skipped = func(path, why string) {
		fmt.Fprintf(io.err, "rocelens: %s: left out: %s\n", capture.PathText(path), why)
	}
	src, err := capture.OpenAll(paths, cfg)
	if errors.Is(err, capture.ErrInterrupted) {
		return nil, interrupted()
	}
	return src, err
}

// stdinPath names standard input on the command line.
const stdinPath = "-"

// readOnce is the first of the inputs that can't be read a second time, "" if
// all can: standard input, or a pipe.
func readOnce(paths []string) string {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == stdinPath || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// finish is what is known of the inputs in the end, err being what reading
// them returned: an input that was cut while it was read gets that as its
// damage, and one that Ctrl-C interrupted is not damaged.
func finish(src capture.Source, err error) []capture.Input {
	inputs := src.Inputs()
	var damage *capture.DamagedError
	for i := range inputs {
		in := &inputs[i]
		if in.Damage != nil && errors.Is(in.Damage, capture.ErrInterrupted) {
			in.Damage = nil
		}
		if errors.As(err, &damage) && in.Damage == nil && in.Path == damage.Path {
			in.Damage = damage
		}
	}
	return inputs
}

// complain says on w what is wrong with the inputs, and returns the error that
// ends the command with the code for it, or nil if nothing is.
func complain(w io.Writer, inputs []capture.Input) error {
	code := exitDone
	for i := range inputs {
		if d := inputs[i].Damage; d != nil {
			fmt.Fprintln(w, "rocelens: "+d.Error())
			code = exitDamaged
		}
	}
	if code == exitDone {
		return nil
	}
	return &codeError{code: code}
}

// isDamage says whether an error of reading is about an input's bytes.
func isDamage(err error) bool {
	var d *capture.DamagedError
	return errors.As(err, &d)
}

// interrupted is how a command ends after Ctrl-C: its inputs are partly unread.
func interrupted() error {
	return &codeError{code: exitDamaged, msg: "interrupted before the end of the input"}
}
