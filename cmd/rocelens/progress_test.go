package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
)

func TestProgressLine(t *testing.T) {
	file := capture.Input{Frames: 3_000_000, Pos: 250, Size: 1000}
	for want, inputs := range map[string][]capture.Input{
		" 25 %  3.0 million packets, 1.5 million a second, 6s left": {file},
		" 50 %  6.5 million packets, 3.2 million a second, 2s left": {file, {Frames: 3_500_000, Pos: 750, Size: 1000}},
		"3.0 million packets, 1.5 million a second":                 {{Frames: 3_000_000, Pos: 250}},
		"0.0 million packets, 0.0 million a second":                 nil,
	} {
		if got := progressLine(inputs, 2*time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestProgressGoes: what is no terminal gets no progress, and what one got is
// taken away again.
func TestProgressGoes(t *testing.T) {
	var b bytes.Buffer
	told, done := showProgress(&b)
	if told != nil {
		t.Error("a buffer is taken for a terminal")
	}
	done()
	p := &progress{w: &b}
	p.told(nil)
	p.done()
	if !bytes.HasSuffix(b.Bytes(), []byte(clearLine)) {
		t.Errorf("%q", b.String())
	}
}
