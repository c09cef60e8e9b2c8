package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rocelens/rocelens/capture"
)

// output is where a result goes. It is opened before the work begins, so that
// a directory that can't be written to is known then and not an hour later,
// and keeps what a file held until there is something to replace it.
type output struct {
	w       io.Writer
	file    *os.File // nil for standard output
	created bool
	begun   bool // what the file held is gone
}

// openOutput opens path for writing, or takes standard output if it is empty.
// It refuses one that is an input. What the result is, is for the errors.
func openOutput(what, path string, io streams, inputs []capture.Input) (*output, error) {
	name := path
	var info fs.FileInfo
	var err error
	if path == "" {
		name = "standard output"
		info = regularFile(io.out)
	} else if info, err = os.Stat(path); err != nil {
		info = nil
	}
	if info != nil && isInput(info, io.in, inputs) {
		return nil, fmt.Errorf("%s is one of the inputs: write the %s to another file", name, what)
	}
	if path == "" {
		return &output{w: io.out}, nil
	}
	o := &output{created: errors.Is(err, fs.ErrNotExist)}
	if o.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
		return nil, fmt.Errorf("can't write the %s: %w", what, err)
	}
	o.w = o.file
	return o, nil
}

// isInput says whether a file is one of the inputs, under whatever name.
func isInput(file fs.FileInfo, stdin io.Reader, inputs []capture.Input) bool {
	for i := range inputs {
		var in fs.FileInfo
		if path := inputs[i].Path; path == stdinPath {
			in = regularFile(stdin)
		} else if info, err := os.Stat(path); err == nil {
			in = info
		}
		if in != nil && os.SameFile(file, in) {
			return true
		}
	}
	return false
}

// regularFile describes the file that a stream is, nil if it is none or one
// that can be read and written at the same time, as a terminal can.
func regularFile(stream any) fs.FileInfo {
	f, ok := stream.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// Write writes a part of what the output will hold. The first one replaces
// what it held. close or discard ends it.
func (o *output) Write(p []byte) (int, error) {
	if !o.begun {
		if err := o.truncate(); err != nil {
			return 0, err
		}
		o.begun = true
	}
	return o.w.Write(p)
}

// write replaces what the output holds by what fn writes, and closes it.
func (o *output) write(fn func(io.Writer) error) error {
	b := bufio.NewWriter(o)
	err := fn(b)
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return errors.Join(err, o.discard())
	}
	return o.close()
}

func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// discard leaves things as they were before openOutput. Of a file that was
// written to already nothing is left: a part of a result looks like a whole
// one.
func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	var err error
	if o.begun && !o.created {
		err = o.truncate()
	}
	err = errors.Join(err, o.file.Close())
	if o.created {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	return err
}

// truncate empties the file, unless it is a pipe or a device.
func (o *output) truncate() error {
	if o.file == nil {
		return nil
	}
	if info, err := o.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // then writing will tell
	}
	return o.file.Truncate(0)
}
