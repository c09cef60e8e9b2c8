package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrInterrupted is what reading gives once Config.Context has ended while it
// waited for more of a pipe or a terminal.
var ErrInterrupted = errors.New("interrupted")

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

// newInterruptible leaves files alone, which don't wait, and readers that
// nothing is to interrupt.
func newInterruptible(ctx context.Context, r io.Reader) io.Reader {
	if ctx == nil || ctx.Done() == nil {
		return r
	}
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
		return 0, ErrInterrupted
	}
}

// openWaiting opens a pipe, which waits until somebody writes to it, unless ctx
// ends before.
func openWaiting(ctx context.Context, path string) (*os.File, error) {
	if ctx == nil || ctx.Done() == nil {
		return os.Open(path)
	}
	type opened struct {
		f   *os.File
		err error
	}
	got := make(chan opened, 1)
	go func() {
		f, err := os.Open(path)
		got <- opened{f, err}
	}()
	select {
	case o := <-got:
		return o.f, o.err
	case <-ctx.Done():
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrInterrupted}
	}
}
