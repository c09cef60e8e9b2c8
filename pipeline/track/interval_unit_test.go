package track_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// addPacket lets a tracker have a packet, as change makes it of a SEND of one
// packet from host 1 to QP 7 of host 2.
func addPacket(tr *track.Tracker, time int64, change func(p *decode.Packet, f *capture.Frame)) {
	f := capture.Frame{Time: time, Number: uint64(time) + 1, Link: capture.LinkEthernet}
	var d decode.Packet
	d.Frame, d.Kind, d.Has, d.AddrKind = &f, decode.KindRoCEv2, decode.HasBTH, decode.AddrIPv4
	d.Src, d.Dst = decode.Addr{Lo: 0xffff_0a00_0001}, decode.Addr{Lo: 0xffff_0a00_0002}
	d.SrcMAC, d.DstMAC = decode.MAC{2, 0, 0, 0, 0, 1}, decode.MAC{2, 0, 0, 0, 0, 2}
	d.Opcode, d.PKey, d.DestQP, d.PSN, d.WireLen, d.PayloadLen = decode.OpRCSendOnly, 0xffff, 7, 100_000+uint32(time), 100, 40
	d.TOS = 26<<2 | 2
	change(&d, &f)
	var p track.Packet
	if _, ok := p.Read(&d); !ok {
		panic("it is of no flow")
	}
	p.SetMACs(tr.MACs(d.SrcMAC, d.DstMAC))
	tr.Add([]*track.Packet{&p})
}

// TestIntervalClasses: an interval says where its first packet was captured, and
// how most of its packets are marked.
func TestIntervalClasses(t *testing.T) {
	var x taken
	tr := track.New(track.Config{Intervals: x.of(10)})
	tagged := func(priority uint16) func(p *decode.Packet, f *capture.Frame) {
		return func(p *decode.Packet, f *capture.Frame) {
			p.Encap |= decode.EncapVLAN
			p.VLAN = priority<<13 | 100
			p.SrcMAC[5] = 9
			f.Interface, f.Input = 3, 1
		}
	}
	cnp := func(p *decode.Packet, _ *capture.Frame) {
		p.Opcode, p.TOS, p.WireLen, p.PayloadLen = decode.OpCNP, 48<<2|2, 74, 0
	}
	same := func(*decode.Packet, *capture.Frame) {}
	other := func(p *decode.Packet, _ *capture.Frame) { p.TOS = 10<<2 | 1 }
	for i, change := range []func(p *decode.Packet, f *capture.Frame){
		same, other, other, cnp, cnp, cnp, cnp, // from 0: most of the data is other, and more are CNPs
		same, same, same,
		tagged(3), tagged(3), tagged(5), other, other, other, other, other, same, same, // from 10: no tag is more than each tag
		cnp, cnp, // from 20
	} {
		addPacket(tr, int64(i), change)
	}
	tr.Close(30)
	track.Records(track.Config{}, tr)
	mac := func(last byte) decode.MAC { return decode.MAC{2, 0, 0, 0, 0, last} }
	want := []record.FlowInterval{
		{Start: 0, Packets: 10, DSCP: 26, OtherDSCP: 2, Priority: -1, CNPsSent: 4, ECN: [4]uint64{0, 2, 8, 0}, SrcMAC: mac(1)},
		{Start: 10, Packets: 10, DSCP: 10, OtherDSCP: 5, Priority: -1, ECN: [4]uint64{0, 5, 5, 0}, SrcMAC: mac(9), Interface: 3, Input: 1},
		{Start: 20, Packets: 2, DSCP: 48, Priority: -1, CNPsSent: 2, ECN: [4]uint64{0, 0, 2, 0}, SrcMAC: mac(1)},
	}
	if len(x.list) != len(want) {
		t.Fatalf("%d intervals", len(x.list))
	}
	for i, w := range want {
		g := &x.list[i]
		got := record.FlowInterval{
			Start: g.Start, Packets: g.Packets, DSCP: g.DSCP, OtherDSCP: g.OtherDSCP, Priority: g.Priority, Tagged: g.Tagged, CNPsSent: g.CNPsSent,
			ECN: g.ECN, SrcMAC: g.SrcMAC, Interface: g.Interface, Input: g.Input,
		}
		if g.DstMAC != mac(2) || got.Start != w.Start || got.Packets != w.Packets || got.DSCP != w.DSCP || got.OtherDSCP != w.OtherDSCP || got.Priority != w.Priority ||
			got.Tagged != w.Tagged || got.CNPsSent != w.CNPsSent || got.ECN != w.ECN || got.SrcMAC != w.SrcMAC || got.Interface != w.Interface || got.Input != w.Input {
			t.Errorf("interval %d: %+v", i, got)
		}
	}
}

// TestIntervalPriority: the priority is that of most packets, the lowest of
// several.
func TestIntervalPriority(t *testing.T) {
	for _, tc := range []struct {
		tags   []uint16 // 8 without one
		want   int8
		tagged bool
	}{
		{[]uint16{3, 3, 5}, 3, true},
		{[]uint16{5, 3, 3}, 3, true},
		{[]uint16{5, 3}, 3, true},
		{[]uint16{3, 5}, 3, true},
		{[]uint16{8, 0, 0}, 0, true},
		{[]uint16{0, 8, 8}, -1, false},
		{[]uint16{7, 7, 8}, 7, true},
	} {
		var x taken
		tr := track.New(track.Config{Intervals: x.of(1000)})
		for i, tag := range tc.tags {
			addPacket(tr, int64(i), func(p *decode.Packet, _ *capture.Frame) {
				if tag < 8 {
					p.Encap |= decode.EncapVLAN
					p.VLAN = tag << 13
				}
			})
		}
		tr.Close(10)
		track.Records(track.Config{}, tr)
		if len(x.list) != 1 || x.list[0].Priority != tc.want || x.list[0].Tagged != tc.tagged {
			t.Errorf("%v: %+v", tc.tags, x.list)
		}
	}
}

// datagram makes a packet one of datagrams from QP 9, with a PSN, to a host.
func datagram(psn uint32, host uint64) func(p *decode.Packet, f *capture.Frame) {
	return func(p *decode.Packet, _ *capture.Frame) {
		p.Opcode, p.Has, p.SrcQP, p.PSN, p.Dst.Lo = decode.OpUDSendOnly, decode.HasBTH|decode.HasDETH, 9, psn, 0xffff_0a00_0000+host
	}
}

// TestIntervalsOfDatagrams: what is missing of datagrams is a loss only where
// their sender has one destination, which may turn out late, and in another
// tracker.
func TestIntervalsOfDatagrams(t *testing.T) {
	for _, tc := range []struct {
		name  string
		there int // 0: nowhere, 1: in the same tracker, 2: in another one, is a second destination
		want  []int64
	}{
		{"one destination", 0, []int64{0, 2, 0}},
		{"two destinations", 1, []int64{0, 2, 0, -2}},
		{"two destinations in two trackers", 2, []int64{0, 2, -2}}, // the last interval waits for the other tracker
	} {
		var x, y taken
		cfg := track.Config{Intervals: x.of(10)}
		a := track.New(cfg)
		cfg.Intervals = y.of(10)
		b := track.New(cfg)
		addPacket(a, 0, datagram(1, 2))
		addPacket(a, 10, datagram(4, 2))
		addPacket(a, 20, datagram(5, 2))
		switch tc.there {
		case 1:
			addPacket(a, 45, datagram(2, 3))
		case 2:
			addPacket(b, 45, datagram(2, 3))
		}
		for _, tr := range []*track.Tracker{a, b} {
			tr.Close(50)
		}
		list, _, _ := track.Records(track.Config{}, a, b)
		var got []int64
		lost := uint64(0)
		for i := range x.list {
			if x.list[i].Dst.Lo == 0xffff_0a00_0002 {
				got = append(got, x.list[i].LostBeforeTap)
			}
		}
		for s := range list.All() {
			lost += s.AToB.Lost.BeforeTap
		}
		sum := int64(0)
		for _, n := range got {
			sum += n
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: lost %v, not %v", tc.name, got, tc.want)
		}
		if sum != int64(lost) {
			t.Errorf("%s: %d lost in intervals, %d in sessions", tc.name, sum, lost)
		}
	}
}

// TestIntervalsAllocateNothing: once there were as many intervals as there are
// at a time, nothing is allocated for more.
func TestIntervalsAllocateNothing(t *testing.T) {
	const batches = 500
	g := newTraffic(100)
	g.marked = true
	records := 0
	tr := track.New(track.Config{Intervals: track.Intervals{Length: 100_000, Sink: func(list []record.FlowInterval) { records += len(list) }}})
	run := func() {
		for range batches {
			tr.Add(g.packets())
		}
	}
	for range 20 {
		run()
	}
	before := records
	if n := testing.AllocsPerRun(5, run); n > batches/10 {
		t.Errorf("%g allocations for %d packets", n, batches*64)
	}
	// 1,000 packets an interval, and each of the flows has some.
	if n := records - before; n < 6*batches*64/1000*200 {
		t.Errorf("%d records", n)
	}
}
