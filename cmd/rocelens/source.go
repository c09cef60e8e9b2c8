package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/rocelens/rocelens/capture"
)

// openInputs opens the captures that a command names. Standard input is read
// so that the end of ctx interrupts it.
func openInputs(ctx context.Context, io streams, paths []string) (capture.Source, error) {
	cfg := capture.DefaultConfig()
	cfg.Stdin = io.in
	if slices.Contains(paths, stdinPath) && io.in != nil {
		cfg.Stdin = newInterruptible(ctx, io.in)
	}
	return capture.OpenAll(paths, cfg)
}

// stdinPath names standard input on the command line.
const stdinPath = "-"

// errInterrupted is what reading standard input gives after Ctrl-C.
var errInterrupted = errors.New("interrupted")

// interruptible reads r until ctx ends. A read from a pipe or a terminal may
// wait for ever and can't be called off; so each runs in a goroutine, which is
// left behind in the end.
type interruptible struct {
	ctx   context.Context
	r     io.Reader
	buf   []byte
	got   chan readResult
	ahead bool // a read is under way
}

type readResult struct {
	n   int
	err error
}

// newInterruptible leaves files alone, which don't wait and are better read, or
// mapped, as what they are.
func newInterruptible(ctx context.Context, r io.Reader) io.Reader {
	if f, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r
		}
	}
	return &interruptible{ctx: ctx, r: r, got: make(chan readResult, 1)}
}

func (s *interruptible) Read(p []byte) (int, error) {
	if !s.ahead {
		if cap(s.buf) < len(p) {
			s.buf = make([]byte, len(p))
		}
		s.ahead = true
		buf := s.buf[:len(p)]
		go func() {
			n, err := s.r.Read(buf)
			s.got <- readResult{n, err}
		}()
	}
	select {
	case res := <-s.got:
		s.ahead = false
		return copy(p, s.buf[:res.n]), res.err
	case <-s.ctx.Done():
		return 0, errInterrupted
	}
}

// finish is what is known of the inputs in the end, err being what reading
// them returned: an input that was cut while it was read gets that as its
// damage, and one that Ctrl-C interrupted is not damaged.
func finish(src capture.Source, err error) []capture.Input {
	inputs := src.Inputs()
	var damage *capture.DamagedError
	for i := range inputs {
		in := &inputs[i]
		if in.Damage != nil && errors.Is(in.Damage, errInterrupted) {
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
