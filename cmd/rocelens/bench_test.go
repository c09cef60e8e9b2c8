package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// BenchmarkMillionSessions analyses a million sessions that are alive at once.
// They may take 1.6 GB.
func BenchmarkMillionSessions(b *testing.B) {
	b.Setenv("GOGC", "")
	b.Setenv("GOMEMLIMIT", "")
	path := filepath.Join(b.TempDir(), "c.pcap")
	generate(b, []string{"bulk_sessions", "--snaplen", "128", "-o", path})
	peak := capturetest.WatchAnonymous(0)
	for b.Loop() {
		var errOut bytes.Buffer
		if code := run(context.Background(), []string{"analyze", path}, nil, io.Discard, &errOut); code != exitDone {
			b.Fatal(errOut.String())
		}
	}
	most := peak()
	if most > 1.6e9 {
		b.Errorf("%d bytes of anonymous memory", most)
	}
	b.ReportMetric(float64(most)/1e6, "MB-RssAnon")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6e6, "ns/packet")
}
