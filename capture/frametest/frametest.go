// Package frametest reads captures for tests.
package frametest

import (
	"errors"
	"io"
	"testing"

	"github.com/rocelens/rocelens/capture"
)

// Each calls do with every frame of a capture file, and returns what the file says
// of itself. A frame's bytes are there until do returns. A file that does not read
// to its end, and one that is damaged, ends the test.
func Each(tb testing.TB, path string, do func(*capture.Frame)) capture.Input {
	tb.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.ReadBatch(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		for i := range b.Frames {
			do(&b.Frames[i])
		}
	}
	in := src.Inputs()[0]
	if in.Damage != nil {
		tb.Fatal(in.Damage)
	}
	return in
}
