package packets_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/packets"
	"github.com/rocelens/rocelens/decode"
)

// forty are fields of all layers of a RoCEv2 packet.
var forty = compared[:40]

// BenchmarkFieldsAgainstTshark writes forty fields of a capture, and lets tshark
// do the same: "times-tshark" is how many times as fast rocelens is, both as
// they come, reading included.
func BenchmarkFieldsAgainstTshark(b *testing.B) {
	if _, err := exec.LookPath("tshark"); err != nil {
		b.Skip("tshark is not installed")
	}
	path := filepath.Join(b.TempDir(), "large.pcapng")
	n := enlarge(b, capturetest.Get(b, "loss_before_write_1pct").Path, path, 50)
	args := []string{"-n", "-r", path, "-T", "fields"}
	for _, f := range forty {
		args = append(args, "-e", f)
	}
	var theirs time.Duration
	for b.Loop() {
		b.StopTimer()
		start := time.Now()
		cmd := exec.Command("tshark", args...)
		cmd.Stdout = io.Discard
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(start)
		b.StartTimer()
		w, err := packets.NewFields(io.Discard, forty, packets.DefaultFieldsOptions())
		if err != nil {
			b.Fatal(err)
		}
		src, err := capture.Open(path, capture.DefaultConfig())
		if err != nil {
			b.Fatal(err)
		}
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		var x decode.Extra
		var batch capture.Batch
		for src.ReadBatch(&batch) == nil {
			for i := range batch.Frames {
				d.Decode(&batch.Frames[i], &p)
				w.Write(&p, &x)
			}
		}
		if err := src.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(theirs)/float64(b.Elapsed()), "times-tshark")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/packet")
}

// enlarge writes a capture times over, and returns how many frames that makes.
func enlarge(b *testing.B, from, to string, times int) (frames int) {
	b.Helper()
	out, err := os.Create(to)
	if err != nil {
		b.Fatal(err)
	}
	var w *capture.Writer
	for range times {
		src, err := capture.Open(from, capture.DefaultConfig())
		if err != nil {
			b.Fatal(err)
		}
		if w == nil {
			w = capture.NewWriter(out, capture.WriterConfig{Inputs: src.Inputs})
		}
		var batch capture.Batch
		for src.ReadBatch(&batch) == nil {
			for i := range batch.Frames {
				if err := w.WriteFrame(&batch.Frames[i]); err != nil {
					b.Fatal(err)
				}
				frames++
			}
		}
		if err := src.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	return frames
}
