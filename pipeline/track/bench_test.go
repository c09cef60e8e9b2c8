package track_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// traffic makes the packets of so many sessions in turn: messages of four
// packets, each acknowledged. Each session sends to a QP of its own, and its
// PSNs go on from round to round.
type traffic struct {
	sessions int
	next     int
	step     int
	psn      []uint32
	now      int64
	marked   bool // data packets meet congestion, one in 16, and CNPs follow, one for 20 ACKs
	acks     int
	batch    [64]track.Packet
	list     [64]*track.Packet
}

func newTraffic(sessions int) *traffic {
	return &traffic{sessions: sessions, psn: make([]uint32, sessions), now: 1}
}

// packets are the next ones.
func (g *traffic) packets() []*track.Packet {
	for i := range g.batch {
		g.packet(&g.batch[i])
		g.list[i] = &g.batch[i]
	}
	return g.list[:]
}

func (g *traffic) packet(t *track.Packet) {
	i := g.next
	host := uint64(i / 1000)
	a, b := decode.Addr{Lo: 0xffff_0a00_0000 + host*2}, decode.Addr{Lo: 0xffff_0a00_0001 + host*2}
	ops := [...]decode.Opcode{0x06, 0x07, 0x07, 0x08, 0x11}
	*t = track.Packet{
		Time: g.now, Number: uint64(g.now), Kind: decode.AddrIPv4, Opcode: ops[g.step], Payload: 1024, WireLen: 1090, Version: 1, SrcPort: 50000,
		ID: uint16(g.now),
	}
	if g.step < 4 {
		t.Src, t.Dst, t.DestQP = a, b, uint32(i%1000)+200_000

		t.PSN = (uint32(i)*104729 + g.psn[i] + 100_000) & 0xffffff
		g.psn[i]++
		if g.step == 0 {
			t.DMALen = 4 * uint32(t.Payload)
		}
	} else {
		t.Src, t.Dst, t.DestQP = b, a, uint32(i%1000)+100_000
		t.PSN = (uint32(i)*104729 + g.psn[i] + 100_000 - 1) & 0xffffff
		t.Payload, t.WireLen = 0, 62
		if g.acks++; g.marked && g.acks%20 == 0 {
			t.Opcode, t.PSN, t.WireLen = decode.OpCNP, 0, 74
		}
	}
	if t.TOS = 2; g.marked && g.step < 4 && g.now%1600 == 1 {
		t.TOS = 3
	}
	t.Hash()
	g.now += 100
	if g.next++; g.next == g.sessions {
		g.next = 0
		g.step = (g.step + 1) % len(ops)
	}
}

// BenchmarkTrack is the cost of the packets of sessions that run well. They are
// made while it runs, which BenchmarkTraffic measures alone.
func BenchmarkTrack(b *testing.B) { benchmarkTrack(b, false) }

// BenchmarkMarked is the same of sessions that all meet congestion: what is more
// than in BenchmarkTrack is what marks, CNPs and rates cost.
func BenchmarkMarked(b *testing.B) { benchmarkTrack(b, true) }

func benchmarkTrack(b *testing.B, marked bool) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			g := newTraffic(n)
			g.marked = marked
			t := track.New(track.Config{})
			for range 10 * n / 64 {
				t.Add(g.packets())
			}
			b.ReportAllocs()
			for b.Loop() {
				t.Add(g.packets())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/packet")
		})
	}
}

func BenchmarkTraffic(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			g := newTraffic(n)
			for b.Loop() {
				g.packets()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/packet")
		})
	}
}

// BenchmarkIntervals is BenchmarkTrack where intervals are taken: what is more is
// what they cost. In those of a second there are ten million packets, so that it
// is what a packet costs; in those of a millisecond there are five packets for
// each record.
func BenchmarkIntervals(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		for _, length := range []time.Duration{time.Second, time.Millisecond} {
			b.Run(fmt.Sprintf("sessions=%d/length=%v", n, length), func(b *testing.B) {
				g := newTraffic(n)
				records := 0
				t := track.New(track.Config{Intervals: track.Intervals{Length: length.Nanoseconds(), Sink: func(list []record.FlowInterval) { records += len(list) }}})
				for range 10 * n / 64 {
					t.Add(g.packets())
				}
				records = 0
				b.ReportAllocs()
				for b.Loop() {
					t.Add(g.packets())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/packet")
				b.ReportMetric(float64(records)/float64(b.N)/64, "records/packet")
			})
		}
	}
}

// BenchmarkTell is BenchmarkTrack where sessions are told each second, of which
// there are ten million packets in one: what is more is what that costs.
func BenchmarkTell(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			g := newTraffic(n)
			updates := 0
			t := track.New(track.Config{Tell: track.Tell{Sessions: func(*record.SessionUpdate) { updates++ }, Pace: time.Second.Nanoseconds()}})
			for range 10 * n / 64 {
				t.Add(g.packets())
			}
			updates = 0
			b.ReportAllocs()
			for b.Loop() {
				t.Add(g.packets())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/packet")
			b.ReportMetric(float64(updates)/float64(b.N)/64, "updates/packet")
		})
	}
}
