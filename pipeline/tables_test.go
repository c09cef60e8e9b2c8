package pipeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// odd makes packets of what the tables count, from more senders, ports, types
// and stations than there is room for.
func odd(n int) []decode.Packet {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]decode.Packet, n)
	for i := range all {
		p := &all[i]
		p.Frame = &capture.Frame{Number: uint64(i + 1), Time: int64(r.IntN(1000)), Interface: int32(r.IntN(2))}
		p.Src, p.AddrKind = decode.Addr{Lo: uint64(r.IntN(1000))}, decode.AddrIPv4
		switch i % 3 {
		case 0:
			p.Kind, p.Has = decode.KindRoCEv2, decode.HasBTH
			p.TOS, p.VLAN, p.Encap = uint8(r.Uint32()), uint16(r.Uint32()), decode.Encap(r.IntN(3))
			p.Opcode, p.PKey = []decode.Opcode{decode.OpCNP, decode.OpRCAcknowledge}[r.IntN(2)], uint16(0xfffe+r.IntN(2))
			p.ICRCStatus, p.ICRC = decode.ICRCGood, r.Uint32()
			if r.IntN(4) == 0 {
				p.ICRCStatus = decode.ICRCBad
			}
		case 1:
			p.Kind, p.DstPort = decode.KindUDP, uint16(r.IntN(100))
			p.SrcPort = []uint16{4791, 5}[r.IntN(2)]
		case 2:
			p.Kind, p.Flags = decode.KindOther, decode.UnknownInner|decode.QuotesRoCE
			p.Err = decode.Error{Code: decode.ErrUnknown, Layer: decode.LayerEthernet, Have: uint32(r.IntN(100))}
		}
	}
	return all
}

func count(c *pipeline.Counters, p *decode.Packet) {
	c.Add(p)
	if p.Kind == decode.KindUDP {
		c.AddProbe(p, []decode.Likeness{decode.LikeRoCE, decode.ProvenRoCE}[p.Frame.Number/3%2])
	}
}

// TestTablesAreOrderFree: whatever the order of the packets and the number of
// those who count, the rows are the same and nothing is forgotten.
func TestTablesAreOrderFree(t *testing.T) {
	all := odd(20_000)
	var whole pipeline.Counters
	for i := range all {
		count(&whole, &all[i])
	}
	for workers := 1; workers <= 5; workers++ {
		rand.New(rand.NewPCG(uint64(workers), 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		parts := make([]pipeline.Counters, workers)
		for i := range all {
			count(&parts[i*i%workers], &all[i])
		}
		var sum pipeline.Counters
		for i := range parts {
			sum.Merge(&parts[workers-1-i])
		}
		if sum != whole {
			t.Fatalf("%d workers: %s", workers, cmp.Diff(whole, sum))
		}
	}

	c := &whole
	if c.Senders.N != len(c.Senders.Rows) || c.Ports.N != len(c.Ports.Rows) || c.Inner.N != len(c.Inner.Rows) || c.ICMPErrors.N != len(c.ICMPErrors.Rows) {
		t.Errorf("not full: %d senders, %d ports, %d inner types, %d ICMP errors", c.Senders.N, c.Ports.N, c.Inner.N, c.ICMPErrors.N)
	}
	good, bad := c.Senders.Other.Good, c.Senders.Other.Bad
	for _, s := range c.Senders.Rows {
		good += s.Good
		bad += s.Bad
	}
	if good != c.ICRC.Good || bad != c.ICRC.Bad || bad == 0 {
		t.Errorf("senders have %d good and %d bad ICRCs of %d and %d", good, bad, c.ICRC.Good, c.ICRC.Bad)
	}
	ports := c.Ports.Other.Proven + c.Ports.Other.Like
	for _, p := range c.Ports.Rows {
		ports += p.Proven + p.Like
	}
	if ports != c.Kind(decode.KindUDP) {
		t.Errorf("ports have %d packets of %d", ports, c.Kind(decode.KindUDP))
	}
	inner := c.Inner.Other.Count
	for _, p := range c.Inner.Rows {
		inner += p.Count
	}
	refused := c.ICMPErrors.Other.Count
	for _, e := range c.ICMPErrors.Rows {
		refused += e.Count
	}
	if refused != c.Flag(decode.QuotesRoCE) || refused == 0 {
		t.Errorf("ICMP errors have %d packets of %d", refused, c.Flag(decode.QuotesRoCE))
	}
	if inner != c.Flag(decode.UnknownInner) {
		t.Errorf("inner types have %d packets of %d", inner, c.Flag(decode.UnknownInner))
	}
}
