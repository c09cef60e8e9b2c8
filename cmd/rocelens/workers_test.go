package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// TestWorkers: the number of workers changes no byte of a report, whatever has
// to be left out of it.
func TestWorkers(t *testing.T) {
	for _, c := range capturetest.Committed(t) {
		sameReports(t, c.Path)
	}
	dir := t.TempDir()
	for _, tc := range []struct {
		name     string
		scenario []string
		flags    []string
	}{
		{"a thousand sessions", []string{"bulk_write", "--packets", "150000", "--snaplen", "128"}, nil},
		{"all ICRCs, loss", []string{"bulk_write", "--packets", "60000", "--loss", "0.01"}, []string{"--max-events", "500"}},
		{"more sessions than there is room for", []string{"bulk_sessions", "--sessions", "40000", "--packets", "240000"}, []string{"--max-memory", "16M", "--max-events", "100"}},
		{"two hosts", []string{"bulk_write", "--sessions", "64", "--packets", "60000"}, nil},
		{"pauses", []string{"pfc_deaf", "--snaplen", "128"}, []string{"--link-speed", "100G"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(dir, "c.pcap")
			generate(t, append(tc.scenario, "-o", path))
			text := sameReports(t, path, tc.flags...)
			if forgotten := bytes.Contains(text, []byte(`"sessions_forgotten":`)); forgotten != (len(tc.flags) > 2) {
				t.Errorf("sessions forgotten: %v", forgotten)
			}
		})
	}
}

func generate(t testing.TB, args []string) {
	t.Helper()
	var errOut bytes.Buffer
	if code := run(context.Background(), append([]string{"generate"}, args...), nil, io.Discard, &errOut); code != exitDone {
		t.Fatalf("generate %v: %s", args, errOut.String())
	}
}

// sameReports analyses a file with one worker, two and five, and returns the
// report.
func sameReports(t *testing.T, path string, flags ...string) []byte {
	t.Helper()
	var want []byte
	for _, workers := range []string{"1", "2", "5"} {
		var out, errOut bytes.Buffer
		args := append([]string{"analyze", "--format", "json", "--workers", workers, path}, flags...)
		run(context.Background(), args, nil, &out, &errOut)
		switch {
		case out.Len() == 0:
			t.Fatalf("%s: no report: %s", path, errOut.String())
		case want == nil:
			want = out.Bytes()
		case !bytes.Equal(out.Bytes(), want):
			t.Fatalf("%s: another report with %s workers than with one", path, workers)
		}
	}
	return want
}

// TestWorkersOfPipe: nor does it depend on how the bytes of a pipe come in.
func TestWorkersOfPipe(t *testing.T) {
	for name, scenario := range map[string][]string{
		"c.pcap":   {"bulk_write", "--packets", "30000", "--snaplen", "128"},
		"c.pcapng": {"pfc_tree", "--snaplen", "128"},
	} {
		path := filepath.Join(t.TempDir(), name)
		generate(t, append(scenario, "-o", path))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data)), iotest.OneByteReader(bytes.NewReader(data))} {
			var out, errOut bytes.Buffer
			if code := run(context.Background(), []string{"analyze", "--format", "json", "-"}, r, &out, &errOut); code != exitDone {
				t.Fatalf("exit code %d, %s", code, errOut.String())
			}
			if want == nil {
				want = out.Bytes()
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Error("another report where the bytes come in otherwise")
			}
		}
	}
}
