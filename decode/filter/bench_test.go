package filter_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
)

// BenchmarkMatch applies filters to decoded packets of a RoCEv2 capture.
func BenchmarkMatch(b *testing.B) {
	src, err := capture.Open(capturetest.Get(b, "loss_before_write_1pct").Path, capture.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	var batch capture.Batch
	if err := src.ReadBatch(&batch); err != nil {
		b.Fatal(err)
	}
	d := decode.New(decode.DefaultConfig())
	packets := make([]decode.Packet, 64)
	for i := range packets {
		d.Decode(&batch.Frames[i+len(batch.Frames)-64], &packets[i])
	}
	var x decode.Extra
	for _, c := range []struct{ name, expr string }{
		{"qp-and-psn", `infiniband.bth.destqp == 0x8c && infiniband.bth.psn > 5`},
		{"address", `ip.addr == 10.10.0.1`},
		{"network", `ip.src == 10.10.0.0/16`},
		{"opcode-name", `infiniband.bth.opcode == "RC RDMA WRITE Middle"`},
		{"set", `infiniband.bth.opcode in {6..8, 10, 17} and udp.dstport == 4791`},
		{"presence", `infiniband.aeth`},
		{"table", `eth.addr == 52:54:00:00:00:01`},
		{"slice", `eth.src[0:3] == 52:54:00`},
		{"arithmetic", `infiniband.bth.psn % 2 == 1`},
		{"contains", `frame contains "needle"`},
		{"matches", `frame.protocols matches "udp:infiniband"`},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := compiled(b, c.expr)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f.Match(&packets[i&63], &x)
				i++
			}
		})
	}
	if err := src.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCompile compiles a filter of usual length.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compiled(b, `infiniband.bth.destqp == 0x8c && infiniband.bth.psn > 5 and ip.addr in {10.0.0.0/8, 192.168.0.1}`)
	}
}
