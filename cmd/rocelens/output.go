package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rocelens/rocelens/capture"
)

// output is where a report goes. It is opened before the work begins, so that
// a directory that can't be written to is known then and not an hour later,
// and keeps what a file held until there is something to replace it.
type output struct {
	w       io.Writer
	file    *os.File // nil for standard output
	created bool
}

// openOutput opens path for writing, or takes stdout if it is empty. It refuses
// a path that is one of the inputs.
func openOutput(path string, stdout io.Writer, stdin io.Reader, inputs []capture.Input) (*output, error) {
	if path == "" {
		return &output{w: stdout}, nil
	}
	info, err := os.Stat(path)
	o := &output{created: errors.Is(err, os.ErrNotExist)}
	for i := range inputs {
		in, inErr := os.Stat(inputs[i].Path)
		if file, ok := stdin.(*os.File); ok && inputs[i].Path == stdinPath {
			in, inErr = file.Stat()
		}
		if err == nil && inErr == nil && os.SameFile(info, in) {
			return nil, fmt.Errorf("--output %s is one of the inputs: name another file", path)
		}
	}
	if o.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
		return nil, fmt.Errorf("can't write the report: %w", err)
	}
	o.w = o.file
	return o, nil
}

// write replaces what the output holds by what fn writes.
func (o *output) write(fn func(io.Writer) error) error {
	if o.file != nil {
		if info, err := o.file.Stat(); err == nil && info.Mode().IsRegular() {
			if err := o.file.Truncate(0); err != nil {
				return errors.Join(err, o.discard())
			}
		}
	}
	b := bufio.NewWriter(o.w)
	err := fn(b)
	if err == nil {
		err = b.Flush()
	}
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
	}
	return err
}

// discard leaves things as they were before openOutput.
func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	if o.created {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	return err
}
