package pause_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
)

// TestChaos: whatever frames say and whenever they come, sums are sums, and
// nothing is longer than the capture.
func TestChaos(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cfg := pause.DefaultConfig()
		cfg.StormWindow /= 1 << rng.IntN(6)
		speeds := []uint64{0, 1_000_000, 10 * gbit, 400 * gbit, 1 << 62}
		tr := pause.New(cfg, func(_, iface int32) pause.Link { return pause.Link{Speed: speeds[int(iface)%len(speeds)]} })
		at, first, last := int64(0), int64(0), int64(0)
		step := int64(1) << (10 + rng.IntN(16))
		var said uint64
		for n := range uint64(3000) {
			if at += rng.Int64N(step); rng.IntN(50) == 0 {
				at -= rng.Int64N(10 * step) // out of order
			}
			first, last = min(first, at), max(last, at)
			if rng.IntN(2) == 0 {
				tr.Packet(&pause.Packet{
					Time: at, Number: n + 1, Interface: rng.Int32N(6), Src: decode.MAC{5: byte(rng.IntN(4))}, Dst: decode.MAC{5: byte(rng.IntN(4))},
					Priority: int8(rng.IntN(9) - 1), WireLen: 1000, Flow: pause.Flow{DestQP: rng.Uint32N(4)},
				})
				continue
			}
			f := pause.Frame{Time: at, Number: n + 1, Interface: rng.Int32N(6), MAC: decode.MAC{5: byte(rng.IntN(4))}, PFC: rng.IntN(4) > 0, Enable: byte(rng.IntN(256))}
			for i := range f.Quanta {
				f.Quanta[i] = uint16(rng.IntN(1<<16) >> rng.IntN(16))
			}
			for i := range 8 {
				if f.Enable>>i&1 != 0 && (f.PFC || i == 0) {
					said++
				}
			}
			tr.Add(&f)
		}
		r := tr.Close(last)
		type key struct {
			iface    int32
			mac      decode.MAC
			pfc      bool
			priority uint8
		}
		paused, count := make(map[key]int64), make(map[key]uint64)
		for _, x := range r.Intervals {
			k := key{x.Interface, x.MAC, x.PFC, x.Priority}
			paused[k] += x.Paused
			count[k]++
			if x.Paused < 0 || x.Start.Time < first || x.Start.Time+x.Paused > last || x.Frames == 0 || x.Quanta == 0 {
				t.Fatalf("seed %d: %+v in a capture from %d to %d", seed, x, first, last)
			}
		}
		for i := range r.Rows {
			x := &r.Rows[i]
			said -= x.XOff + x.XOn
			k := key{x.Interface, x.MAC, x.PFC, x.Priority}
			if x.Paused != paused[k] || x.Pauses != count[k] || x.Longest > x.Paused || x.Paused > last-first || !x.Known() && x.Paused > 0 {
				t.Fatalf("seed %d: %+v, intervals have %d ns in %d", seed, x, paused[k], count[k])
			}
		}
		if said != r.LeftOut {
			t.Fatalf("seed %d: %d not in rows", seed, said)
		}
		for i := range r.Storms {
			s := &r.Storms[i]
			if s.Lasted <= 0 || s.First.Time+s.Lasted != s.End || s.End > last || len(s.Priorities) == 0 {
				t.Fatalf("seed %d: %+v", seed, s)
			}
			for _, p := range s.Priorities {
				if p.Start < s.First.Time || p.End > s.End || p.Paused <= 0 || p.Paused > p.End-p.Start {
					t.Fatalf("seed %d: %+v in %+v", seed, p, s)
				}
			}
		}
		for _, x := range r.Traffic {
			if x.Waited < 0 || x.Waited > x.Paused+r.Rows[x.Row].Paused || x.PausedBefore > x.Paused || x.Last < x.First {
				t.Fatalf("seed %d: %+v", seed, x)
			}
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	b.ReportAllocs()
	for i := range int64(b.N) {
		f.pfc(i*50*us, 0, 1, 3, uint16(i&1)*65535)
	}
}

func BenchmarkPacket(b *testing.B) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	f.pfc(0, 0, 1, 3, 65535)
	b.ReportAllocs()
	for i := range int64(b.N) {
		f.packet(i*us, 0, 2, 1, 3, uint32(i&15))
	}
}
