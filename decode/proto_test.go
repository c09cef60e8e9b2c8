package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// TestProto finds the protocols of a mirrored, tagged packet, and which of its
// headers is which.
func TestProto(t *testing.T) {
	inner := tagged(etherIP(udpPacket(pairV4, writeMiddle(5))), unhex("8100 0005"))
	mirrored := frame(gre("1000 88be 00000007 1064 a01e 0000007b", inner))
	label := frame(etherFrame(0x8847, cat(unhex("00010040 00020140"), udpPacket(pairV4, writeMiddle(5)))))
	v1 := frame(etherFrame(0x8915, grhPacket(writeMiddle(3))))
	last := func(n, of int) bool { return n == of }
	for _, c := range []struct {
		frame capture.Frame
		name  string
		ord   func(n, of int) bool
		want  string // offset+length of each
	}{
		{mirrored, "frame", nil, fmt.Sprint("0+", len(mirrored.Data))}, {mirrored, "eth", nil, "0+14 50+14"},
		{mirrored, "eth", last, "50+14"}, {mirrored, "ip", nil, "14+20 68+20"}, {mirrored, "udp", nil, "88+8"},
		{mirrored, "gre", nil, "34+86"}, {mirrored, "erspan", nil, "42+78"}, {mirrored, "vlan", last, "64+4"},
		{mirrored, "infiniband", nil, "96+24"}, {mirrored, "rocev2", nil, "96+24"}, {mirrored, "roce", last, "96+24"},
		{mirrored, "data", nil, "108+5"}, {mirrored, "rocev1", nil, ""}, {mirrored, "ipv6", nil, ""}, {mirrored, "tcp", last, ""},
		{label, "mpls", nil, "14+8"}, {label, "mpls", last, "14+8"},
		{v1, "rocev1", nil, "14+60"}, {v1, "infiniband", last, "14+60"}, {v1, "rocev2", nil, ""}, {v1, "udp", nil, ""},
	} {
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		var x decode.Extra
		d.Decode(&c.frame, &p)
		var found []string
		pr := decode.ProtoByName(c.name)
		for _, v := range pr.Append(nil, &x, &p, c.ord) {
			found = append(found, fmt.Sprintf("%d+%d", v.Off, v.Len))
			if in := pr.Inside(&p, &v); len(in) < int(v.Len) || len(v.Bytes) != int(v.Len) {
				t.Errorf("%s: %d bytes of %d, %d with what is inside", c.name, len(v.Bytes), v.Len, len(in))
			}
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	var x decode.Extra
	d.Decode(&mirrored, &p)
	second := func(n, _ int) bool { return n == 2 }
	if got := decode.FieldByName("ip.addr").AppendAt(nil, &x, &p, second); len(got) != 2 || got[0].Off != 80 || got[1].Off != 84 {
		t.Errorf("addresses of the second IP header: %v", got)
	}
	if got := decode.FieldByName("frame.len").AppendAt(nil, &x, &p, second); len(got) != 0 {
		t.Errorf("a second frame: %v", got)
	}
	if p.Plain() {
		t.Error("a mirrored packet is called plain")
	}
}

// TestMax: numbers that are a part of their bytes are smaller than these.
func TestMax(t *testing.T) {
	for name, want := range map[string]uint64{
		"infiniband.aeth.syndrome.opcode": 3, "infiniband.bth.psn": 0xffffff, "infiniband.bth.a": 1, "infiniband.reth.va": 1<<64 - 1,
		"infiniband.aeth.syndrome.timer": 31, "vlan.id": 0xfff, "ip.dsfield.dscp": 63, "infiniband.bth.opcode": 255, "frame.len": 1<<32 - 1,
	} {
		if got := decode.FieldByName(name).Max(); got != want {
			t.Errorf("%s: %d, expected %d", name, got, want)
		}
	}
}
