package pipeline_test

import (
	"encoding/binary"
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
	packets(t, name, d.Add)
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

// TestDoublesTellsThemApart: what the network doubles is no capture's copy, and
// packets without IP IDs that were sent again can't be told from either.
func TestDoublesTellsThemApart(t *testing.T) {
	got := doubles(t, "duplicate_write") // netem doubled 2 % of one direction
	if got.Capture != 0 || got.Network != 34 || !got.Decided() {
		t.Errorf("doubled by the network: %+v", got)
	}
	got = doubles(t, "ipv6_loss_before_read_1pct")
	if got.Capture != 0 || got.Network != 0 || got.Undecided == 0 || got.Decided() {
		t.Errorf("sent again, IPv6: %+v", got)
	}
}

// TestDoublesInShards deals the packets out by their addresses, as workers
// would: the sum is what one finds.
func TestDoublesInShards(t *testing.T) {
	for _, name := range []string{"merged_both_ends_aligned", "any_sll2_with_mirror_duplicates", "duplicate_write", "rc_write_ipv6"} {
		var shards [8]*pipeline.Doubles
		for i := range shards {
			shards[i] = pipeline.NewDoubles()
		}
		packets(t, name, func(p *decode.Packet) {
			shards[(p.Src.Lo+p.Dst.Lo*3)%uint64(len(shards))].Add(p)
		})
		var sum pipeline.Duplicates
		for _, s := range shards {
			r := s.Result()
			sum.Capture += r.Capture
			sum.Network += r.Network
			sum.Undecided += r.Undecided
			sum.Doubled = append(sum.Doubled, r.Doubled...)
		}
		want := doubles(t, name)
		if len(sum.Doubled) == 2 && sum.Doubled[0] != want.Doubled[0] {
			sum.Doubled[0], sum.Doubled[1] = sum.Doubled[1], sum.Doubled[0]
		}
		if len(sum.Doubled) == 0 {
			sum.Doubled, want.Doubled = nil, nil
		}
		if d := cmp.Diff(want, sum); d != "" {
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
