package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// TestCorrelateInterrupted: Ctrl-C ends it, and nothing is left behind.
func TestCorrelateInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	a, b := capturetest.Get(t, "dual_vantage_write_sender").Path, capturetest.Get(t, "dual_vantage_write_receiver").Path
	out := filepath.Join(tmp, "report.txt")
	if err := os.WriteFile(out, []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, w := io.Pipe() // standard input that nobody writes to
	defer w.Close()
	for _, args := range [][]string{{"correlate", "-o", out, a, b}, {"correlate", "-o", out, a, "-"}} {
		var errOut bytes.Buffer
		if code := run(ctx, args, r, io.Discard, &errOut); code != exitDamaged || !strings.Contains(errOut.String(), "interrupted before the end of the input") {
			t.Errorf("%v: exit code %d, %s", args[3:], code, errOut.String())
		}
		if kept, err := os.ReadFile(out); err != nil || string(kept) != "of yesterday" {
			t.Errorf("%v: the report is %q, %v", args[3:], kept, err)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestTapNames: taps are called by their files, as short as that tells them
// apart.
func TestTapNames(t *testing.T) {
	for _, c := range []struct {
		paths, want []string
	}{
		{[]string{"x/a.pcap.zst", "b.pcapng"}, []string{"a", "b"}},
		{[]string{"x/tap.pcap", "y/tap.pcap"}, []string{"x/tap.pcap", "y/tap.pcap"}},
		{[]string{"-", "a.pcap"}, []string{"-", "a"}},
		{[]string{".pcap", "a.pcap"}, []string{".pcap", "a.pcap"}},
	} {
		o := &correlateOptions{paths: c.paths}
		taps, err := o.taps()
		if err != nil {
			t.Fatal(err)
		}
		for i := range taps {
			if taps[i].name != c.want[i] {
				t.Errorf("%v: %q, want %q", c.paths, taps[i].name, c.want[i])
			}
		}
	}
}
