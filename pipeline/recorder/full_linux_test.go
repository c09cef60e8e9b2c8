package recorder_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/disktest"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
)

// TestFull: on a disk that is full nothing is left of a recording, and it is told why.
func TestFull(t *testing.T) {
	dir := disktest.Mount(t, "size=32k", 0)
	x := taped(t, "loss_before", func(c *recorder.Config) { c.Dir = dir })
	_, err := x.record(&recorder.Evidence{Code: "go-back-n", Sessions: []record.Session{*x.res.Sessions.At(0)}})
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if c := x.Counts(); c.Failed != 1 {
		t.Errorf("%+v", c)
	}
}
