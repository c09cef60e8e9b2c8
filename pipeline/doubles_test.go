package pipeline_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// doubles runs the detector over a capture.
func doubles(t *testing.T, name string) pipeline.Duplicates {
	t.Helper()
	d := pipeline.NewDoubles()
	packets(t, name, func(p *decode.Packet) { d.Add(p) })
	return d.Result()
}

// simple counts RoCE packets of which another came with the same bytes at most
// 10 ms before: it keeps every packet. What changes on the way is left out, so
// that IPv4 packets are compared with their IP ID.
func simple(t *testing.T, name string) (copies uint64) {
	t.Helper()
	seen := make(map[string]int64)
	packets(t, name, func(p *decode.Packet) {
		l3, ok := p.Layer(decode.LayerIPv4)
		if !ok {
			l3, ok = p.Layer(decode.LayerIPv6)
		}
		if !p.RoCE() || !ok {
			return
		}
		n := len(p.Data) - int(l3.Off)
		b := append([]byte(nil), p.Data[l3.Off:]...)
		if l3.Kind == decode.LayerIPv4 {
			n = min(n, int(binary.BigEndian.Uint16(b[2:])))
			b[1], b[8], b[10], b[11] = 0, 0, 0, 0
		} else {
			b[0], b[1], b[2], b[3], b[7] = 0, 0, 0, 0, 0
		}
		key := string(b[:n])
		if first, again := seen[key]; again && p.Frame.Time-first <= 10e6 {
			copies++
			return
		}
		seen[key] = p.Frame.Time
	})
	return copies
}

// TestDoublesFindsAll holds the detector, which keeps a few bytes of some of
// the packets, against one that keeps them all.
func TestDoublesFindsAll(t *testing.T) {
	for _, c := range capturetest.Committed(t) {
		got := doubles(t, c.Name)
		if n, want := got.Capture+got.Network+got.Undecided, simple(t, c.Name); n != want {
			t.Errorf("%s: %d copies (%+v), want %d", c.Name, n, got, want)
		}
		if got.Unplaced != 0 {
			t.Errorf("%s: %d packets without a place", c.Name, got.Unplaced)
		}
	}
}

// TestDoublesTellsThemApart: of packets that the network doubles it is not
// known who did it, and packets without IP IDs that were sent again can't be
// told from either.
func TestDoublesTellsThemApart(t *testing.T) {
	got := doubles(t, "duplicate_write") // netem doubled 2 % of one direction
	if got.Capture != 0 || got.Network != 34 || got.Decided() || len(got.Partly) != 1 || got.Partly[0].Copies != 34 {
		t.Errorf("doubled by the network: %+v", got)
	}
	got = doubles(t, "ipv6_loss_before_read_1pct")
	if got.Capture != 0 || got.Network != 0 || got.Undecided == 0 || got.Decided() || len(got.Partly)+len(got.Later) > 0 {
		t.Errorf("sent again, IPv6: %+v", got)
	}
}

// TestDoublesInShards deals the packets out by their addresses: the sum is what
// one finds.
func TestDoublesInShards(t *testing.T) {
	for _, name := range []string{"merged_both_ends_aligned", "any_sll2_with_mirror_duplicates", "duplicate_write", "rc_write_ipv6"} {
		var shards [8]*pipeline.Doubles
		for i := range shards {
			shards[i] = pipeline.NewDoubles()
		}
		packets(t, name, func(p *decode.Packet) {
			shards[(p.Src.Lo+p.Dst.Lo*3)%uint64(len(shards))].Add(p)
		})
		if d := cmp.Diff(doubles(t, name), pipeline.Found(shards[:]...)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestDoublesIsBounded: more directions than it can hold are counted, and then
// nothing is said of how many copies there are.
func TestDoublesIsBounded(t *testing.T) {
	d := pipeline.NewDoubles()
	f := capture.Frame{Number: 1}
	p := decode.Packet{}
	p.Frame, p.Kind, p.AddrKind, p.Has = &f, decode.KindRoCEv2, decode.AddrIPv4, decode.HasBTH
	const n = 5000
	for i := range uint64(n) {
		p.Src, p.Dst, p.IPID = decode.Addr{Lo: i}, decode.Addr{Lo: 2 * i}, uint16(i)
		d.Add(&p)
	}
	r := d.Result()
	if r.Unplaced < n-2048 || r.Unplaced == n || r.Decided() {
		t.Errorf("%+v", r)
	}
}

// TestDoublesSaysWhatDiffers: each thing that may differ between two captures
// of one packet, and several at once.
func TestDoublesSaysWhatDiffers(t *testing.T) {
	for _, tc := range []struct {
		change func(p *decode.Packet)
		want   pipeline.Difference
	}{
		{func(*decode.Packet) {}, 0},
		{func(p *decode.Packet) { p.Frame.Input = 1 }, pipeline.DiffInput},
		{func(p *decode.Packet) { p.Frame.Interface = 1 }, pipeline.DiffInterface},
		{func(p *decode.Packet) { p.Frame.Link, p.Data = capture.LinkSLL2, make([]byte, 20) }, 0},
		{func(p *decode.Packet) { p.Frame.Link, p.Data = capture.LinkSLL2, []byte{7: 3, 20: 0} }, pipeline.DiffInterface},
		{func(p *decode.Packet) { p.Frame.Link, p.Data = capture.LinkSLL2, []byte{10: 4, 20: 0} }, pipeline.DiffDirection},
		{func(p *decode.Packet) { p.Frame.Link, p.Data = capture.LinkSLL, []byte{1: 4, 20: 0} }, pipeline.DiffDirection},
		{func(p *decode.Packet) { p.SrcMAC[5] = 1 }, pipeline.DiffMAC},
		{func(p *decode.Packet) { p.DstMAC[0] = 1 }, pipeline.DiffMAC},
		{func(p *decode.Packet) { p.VLAN = 7 }, pipeline.DiffVLAN},
		{func(p *decode.Packet) { p.Encap = decode.EncapQinQ }, pipeline.DiffVLAN},
		{func(p *decode.Packet) { p.TTL = 63 }, pipeline.DiffTTL},
		{func(p *decode.Packet) { p.Encap = decode.EncapERSPAN2 }, pipeline.DiffEncap},
		{func(p *decode.Packet) { p.TTL, p.VLAN, p.DstMAC[0] = 63, 7, 1 }, pipeline.DiffMAC | pipeline.DiffVLAN | pipeline.DiffTTL},
	} {
		d := pipeline.NewDoubles()
		for i := range uint16(20) {
			f := capture.Frame{Number: uint64(i), Time: int64(i / 2)}
			p := decode.Packet{}
			p.Frame, p.Kind, p.AddrKind, p.Has, p.TTL = &f, decode.KindRoCEv2, decode.AddrIPv4, decode.HasBTH, 64
			p.IPID = 1 + i/2
			if i%2 == 1 {
				tc.change(&p)
			}
			d.Add(&p)
		}
		r := d.Result()
		if len(r.Doubled) != 1 || r.Doubled[0].Differ != tc.want || (r.Doubled[0].Apart == 10) != (tc.want != 0) {
			t.Errorf("%v: %+v", tc.want, r)
		}
	}
	if s := (pipeline.DiffMAC | pipeline.DiffTTL).String(); s != "mac,ttl" {
		t.Error(s)
	}
}

// TestDoublesTakesNoCNPs: CNPs without IP IDs, of which no copies are looked for, take the
// place of no direction.
func TestDoublesTakesNoCNPs(t *testing.T) {
	d := pipeline.NewDoubles()
	f := capture.Frame{}
	p := decode.Packet{}
	p.Frame, p.Kind, p.AddrKind, p.Has, p.Opcode = &f, decode.KindRoCEv2, decode.AddrIPv4, decode.HasBTH, decode.OpCNP
	for p.Src.Lo = range uint64(3000) {
		f.Number, f.Time = f.Number+1, f.Time+1000
		d.Add(&p)
	}
	p.Opcode = decode.OpRCSendOnly
	for i := range uint32(200) {
		f.Number, f.Time = f.Number+1, f.Time+1000
		p.PSN, p.IPID = i/2, uint16(i/2)+1
		d.Add(&p)
	}
	if r := d.Result(); !r.Decided() || r.Capture+r.Network != 100 {
		t.Errorf("%+v", r)
	}
}

// TestDoublesFindsLaterCopies: copies that come after millions of other packets
// are found in a sample, as many as they are by share.
func TestDoublesFindsLaterCopies(t *testing.T) {
	d := pipeline.NewDoubles()
	add := func(input int32, after int64, n, every uint32) {
		for i := uint32(0); i < n; i += every {
			f := capture.Frame{Number: uint64(i), Input: input, Time: after + int64(i)*100}
			p := decode.Packet{}
			p.Frame, p.Kind, p.AddrKind, p.Has, p.PSN, p.IPID = &f, decode.KindRoCEv2, decode.AddrIPv4, decode.HasBTH, i, uint16(i)|1
			d.Add(&p)
		}
	}
	const n = 1_000_000
	add(1, 0, n, 1)
	if r := d.Result(); !r.Decided() {
		t.Errorf("once: %+v", r)
	}
	add(0, 5e9, n, 4)
	r := d.Result()
	if r.Decided() || r.Capture+r.Network+r.Undecided > 0 || len(r.Later) != 1 {
		t.Fatalf("%+v", r)
	}
	l := r.Later[0]
	if l.From != 0 || l.To != 1 || l.Low != -5e9 || l.High != -5e9 || l.Sampled < 1000 || l.Again < l.Sampled/5 || l.Again > l.Sampled/3 || l.First.Input != 0 {
		t.Errorf("one in four again: %+v", l)
	}
}

// BenchmarkDoubles is the cost a packet of looking for doubles, where no
// packet is one.
func BenchmarkDoubles(b *testing.B) {
	d := pipeline.NewDoubles()
	f := capture.Frame{Number: 1}
	p := decode.Packet{}
	p.Frame, p.Kind, p.AddrKind, p.Has = &f, decode.KindRoCEv2, decode.AddrIPv4, decode.HasBTH
	p.Src, p.Dst = decode.Addr{Lo: 1}, decode.Addr{Lo: 2}
	b.ReportAllocs()
	for b.Loop() {
		p.PSN++
		p.IPID++
		f.Time += 1000
		d.Add(&p)
	}
}

// TestPoints: points are told apart, also where interfaces and stations are
// numbered alike.
func TestPoints(t *testing.T) {
	seen := make(map[uint32]string)
	for iface := range int32(16) {
		for src := range byte(16) {
			for dst := range byte(4) {
				p := decode.Packet{}
				p.Frame = &capture.Frame{Interface: iface, Link: capture.LinkEthernet}
				p.SrcMAC, p.DstMAC, p.TTL = decode.MAC{2, 5: src}, decode.MAC{2, 5: dst}, 64
				name, digest := fmt.Sprint(iface, src, dst), pipeline.PointOf(&p)
				if was, ok := seen[digest]; ok {
					t.Fatalf("%s has the digest of %s", name, was)
				}
				seen[digest] = name
			}
		}
	}
}
