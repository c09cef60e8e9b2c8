package packets_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/packets"
	"github.com/rocelens/rocelens/decode"
)

// forty are fields of all layers, most of which a RoCEv2 packet has.
var forty = strings.Fields(`
	frame.number frame.time_epoch frame.time_relative frame.len eth.dst eth.src eth.type vlan.id vlan.priority
	ip.src ip.dst ip.id ip.dsfield.dscp ip.dsfield.ecn ip.ttl ip.len ip.proto ip.checksum ipv6.src ipv6.dst
	udp.srcport udp.dstport udp.length udp.checksum vxlan.vni gre.key erspan.spanid
	infiniband.bth.opcode infiniband.bth.p_key infiniband.bth.destqp infiniband.bth.a infiniband.bth.psn
	infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen infiniband.aeth.syndrome infiniband.aeth.msn
	infiniband.deth.srcqp infiniband.mad.attributeid infiniband.invariant.crc`)

// BenchmarkFields writes forty fields of packets that are decoded already.
func BenchmarkFields(b *testing.B) {
	src, err := capture.Open(capturetest.Get(b, "loss_before_write_1pct").Path, capture.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	var batch capture.Batch
	var decoded []decode.Packet
	d := decode.New(decode.DefaultConfig())
	for len(decoded) < 64 {
		if err := src.ReadBatch(&batch); err != nil {
			b.Fatal(err)
		}
		for i := range batch.Frames {
			f := batch.Frames[i]
			f.Data = slices.Clone(f.Data)
			decoded = append(decoded, decode.Packet{})
			d.Decode(&f, &decoded[len(decoded)-1])
		}
	}
	if err := src.Close(); err != nil {
		b.Fatal(err)
	}
	w, err := packets.NewFields(io.Discard, forty, packets.DefaultFieldsOptions())
	if err != nil {
		b.Fatal(err)
	}
	var x decode.Extra
	i := 0
	for b.Loop() {
		w.Write(&decoded[i%len(decoded)], &x)
		i++
	}
}

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
