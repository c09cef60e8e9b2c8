package pipeline_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/track"
)

// placeOf is a receiver where it was captured.
type placeOf struct {
	addr         decode.Addr
	kind         decode.AddrKind
	vni          uint32
	input, iface int32
}

// naive counts what goes to receivers in windows, all of which it keeps.
type naive map[placeOf]*[3]map[int64]*inWindow

type inWindow struct {
	bytes, packets uint64
	senders        map[decode.Addr]bool
}

var widths = [3]int64{10_000, 100_000, 1_000_000}

func (n naive) add(p *decode.Packet) {
	if !p.RoCE() || p.Has&decode.HasBTH == 0 || p.AddrKind == decode.AddrNone {
		return
	}
	k := placeOf{p.Dst, p.AddrKind, 0, p.Frame.Input, p.Frame.Interface}
	if p.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0 {
		k.vni = p.VNI
	}
	if n[k] == nil {
		n[k] = &[3]map[int64]*inWindow{{}, {}, {}}
	}
	for i, width := range widths {
		start := p.Frame.Time / width * width
		w := n[k][i][start]
		if w == nil {
			w = &inWindow{senders: make(map[decode.Addr]bool)}
			n[k][i][start] = w
		}
		w.bytes += uint64(p.WireLen)
		w.packets++
		w.senders[p.Src] = true
	}
}

// TestReceivers holds the peaks of all captures against windows that are all
// counted.
func TestReceivers(t *testing.T) {
	several := false
	for _, c := range capturetest.All(t) {
		path := c.Name
		want := make(naive)
		last, ordered := int64(0), true
		decodeAll(t, c.Path, func(p *decode.Packet) {
			ordered = ordered && p.Frame.Time >= last
			last = p.Frame.Time
			want.add(p)
		})
		if !ordered {
			continue
		}
		src, err := capture.Open(c.Path, capture.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
		if err := errors.Join(err, src.Close()); err != nil {
			t.Fatal(err)
		}
		if res.ReceiversLeftOut > 0 || len(res.Receivers) != len(want) {
			t.Errorf("%s: %d receivers, and %d packets to others; there are %d", path, len(res.Receivers), res.ReceiversLeftOut, len(want))
		}
		for i := range res.Receivers {
			r := &res.Receivers[i]
			w := want[placeOf{r.Addr, r.Kind, r.VNI, r.Input, r.Interface}]
			if w == nil {
				t.Errorf("%s: %+v is none", path, r)
				continue
			}
			for i, p := range r.Peaks {
				x := w[i][p.Start]
				switch {
				case x == nil || p.Width != widths[i] || p.Bytes != x.bytes || p.Packets != x.packets || p.Windows != uint64(len(w[i])):
					t.Errorf("%s: %+v, in truth %+v, and there are %d windows", path, p, x, len(w[i]))
					continue
				case p.Senders > len(x.senders) || p.Senders == 0 || len(x.senders) > 1 && p.Senders < 2:
					t.Errorf("%s: %d senders of %d", path, p.Senders, len(x.senders))
				}
				several = several || p.Senders > 1
				for start, y := range w[i] {
					if y.bytes > p.Bytes || y.bytes == p.Bytes && start < p.Start {
						t.Errorf("%s: %d bytes at %d, the peak is %+v", path, y.bytes, start, p)
					}
				}
			}
		}
	}
	if !several {
		t.Error("several senders in one window were never seen")
	}
}

// BenchmarkBursts is what peaks cost a packet, between 64 hosts at ten million
// packets a second.
func BenchmarkBursts(b *testing.B) {
	const hosts = 64
	list := make([]track.Packet, capture.BatchFrames)
	var all pipeline.Bursts
	now := int64(1)
	for b.Loop() {
		for i := range list {
			now += 100
			p := &list[i]
			p.Time, p.WireLen, p.Kind = now, 1100, decode.AddrIPv4
			p.Src.Lo, p.Dst.Lo = uint64(0xffff_0a00_0000+i*7%hosts), uint64(0xffff_0a00_0000+i%hosts)
		}
		all.Add(list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(list)), "ns/packet")
	if all.Receivers() != hosts {
		b.Fatal(all.Receivers())
	}
}

// TestManyReceivers: all of those count that a block can have, and of more than
// are told apart those that get most.
func TestManyReceivers(t *testing.T) {
	const blocks, heavy = 40, 7
	var all pipeline.Bursts
	list := make([]track.Packet, capture.BatchFrames+10)
	now, light := int64(1), uint64(0)
	for range blocks {
		for i := range list {
			now += 1000
			p := &list[i]
			*p = track.Packet{Time: now, WireLen: 100, Kind: decode.AddrIPv4}
			if p.Dst.Lo = heavy; i%4 > 0 {
				light++
				p.Dst.Lo = 1000 + light
			}
		}
		all.Add(list)
	}
	if n := all.Packets(heavy); n != uint64(blocks*((len(list)+3)/4)) {
		t.Errorf("%d packets to the one that gets most", n)
	}
	if n := all.Receivers(); n > 1<<14 || n < 1<<13 {
		t.Errorf("%d receivers", all.Receivers())
	}
}
