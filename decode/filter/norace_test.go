//go:build !race

package filter

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
)

// TestNoAllocation: a filter takes no memory once it is warm. Under the race
// detector regular expressions do, which lose what they keep there.
func TestNoAllocation(t *testing.T) {
	src, err := capture.Open(capturetest.Get(t, "vxlan_rc_write").Path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	if err := src.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	d := decode.New(decode.DefaultConfig())
	packets := make([]decode.Packet, 64)
	for i := range packets {
		d.Decode(&b.Frames[i], &packets[i])
	}
	x := decode.Extra{Note: &decode.Note{Session: "v2:10.0.0.1/0x11-10.0.0.2/0x12", Role: decode.RoleRequest, Try: 1}}
	for _, expr := range []string{
		`infiniband.bth.destqp == 0x8c && infiniband.bth.psn > 5`, `ip.addr == 10.10.0.1`, `ip.addr in {10.0.0.0/8, 192.168.0.1}`,
		`eth.addr[0:3,-1] == 52:54:00:01 || frame[0] == 00`, `frame.protocols matches "udp:(vxlan|infiniband)$"`, `frame matches "\x12\xb7..x"`,
		`upper(frame.protocols) contains "VXLAN"`, `string(ip.src) == "10.10.0.1" or string(eth.src) == "x" or string(frame.time_relative) == "1"`,
		`infiniband.bth.opcode contains "WRITE" and infiniband.bth.a contains "True"`, `udp.port * udp.port % 7 == 3 || {frame.len & 0xff} + 1 > 3`,
		`max(udp.port) - min(udp.port) > 10 and count(ip.addr#[1-2]) >= 2`, `udp contains 12:b7 xor ip.src#2 == 10.10.0.2`,
		`rocelens.session contains "0x12" and rocelens.cause == "nak" and rocelens.ack_latency > 1ms`, `all ip.addr != 10.10.0.0/24`,
		`@udp.dstport[0] == 12 or eth.src & 01:00:00:00:00:00`, `udp.srcport in {udp.dstport .. frame.number}`, `ip_rfc1918(ip.src)`,
		`infiniband.aeth.syndrome.timer contains "ms"`, `hex(infiniband.bth.psn) == "0x1"`, `frame.time > "2020-01-01" - 5s || ip.src == frame[26:4]`,
	} {
		f, err := Compile(expr, time.UTC)
		if err != nil {
			t.Error(err)
			continue
		}
		run := func() {
			for i := range packets {
				f.Match(&packets[i], &x)
			}
		}
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s: %v allocations", expr, n)
		}
	}
}
