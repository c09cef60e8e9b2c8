package track_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// flood is a tracker that follows sessions among packets of random flows.
type flood struct {
	tr      *track.Tracker
	r       *rand.Rand
	busy    *traffic
	packets uint64 // of the sessions
	random  uint64
	most    uint64 // bytes in use
	one     []*track.Packet
	calm    bool // there are no random flows
}

func newFlood(cfg track.Config, sessions int) *flood {
	f := &flood{tr: track.New(cfg), r: rand.New(rand.NewPCG(1, 4)), one: []*track.Packet{new(track.Packet)}}
	f.busy = newTraffic(sessions)
	return f
}

// say lets a session send the next packet.
func (f *flood) say() {
	f.busy.packet(f.one[0])
	f.tr.Add(f.one)
	f.packets++
}

// false sends a packet of a random flow, a microsecond after the last.
func (f *flood) false() {
	f.busy.now += 900
	*f.one[0] = track.Packet{
		Time: f.busy.now, Number: f.random, Kind: decode.AddrIPv4, Version: record.V2, Opcode: []decode.Opcode{0x04, 0x11, 0x64, 0x0a}[f.random%4],
		Src: decode.Addr{Lo: f.r.Uint64N(1 << 32)}, Dst: decode.Addr{Lo: f.r.Uint64N(1 << 32)}, DestQP: 2 + f.r.Uint32N(1<<24-2), PSN: f.r.Uint32N(1 << 24), WireLen: 70, SrcPort: 50000,
	}
	f.busy.now += 100
	f.one[0].Hash()
	if !f.calm {
		f.tr.Add(f.one)
		f.random++
	}
}

// look notes how much memory is in use.
func (f *flood) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.most = max(f.most, m.HeapAlloc)
}

// isBusy says that a session is one of traffic's.
func isBusy(s *record.Session) bool { return s.A.Addr.Lo > 1<<32 }

// TestFlood: sessions that talk, each ten times a second, keep their state and
// their figures while two million false flows pass, a million a second: they are told
// as they are without those. Memory stays within what is allowed, and what was not
// followed is counted.
func TestFlood(t *testing.T) {
	const sessions, each, memory = 5000, 20, 32 << 20
	for _, tell := range []bool{false, true} {
		var lists [2][]*record.Session
		for i, calm := range []bool{true, false} {
			var x told
			cfg := track.Config{MaxMemory: memory, Admission: true, MaxEvents: 100}
			if tell {
				cfg.Tell = x.of(0, 0, 0)
			}
			f := newFlood(cfg, sessions)
			f.calm = calm
			f.look()
			before := f.most
			for range 10 * sessions {
				f.say()
			}
			for i := range uint64(2_000_000 / underRace) {
				f.false()
				if i%each == 0 {
					f.say()
				}
				if i%200_000 == 0 && !calm {
					f.look()
				}
			}
			f.look()
			if used := int64(f.most) - int64(before); used > memory {
				t.Errorf("told %v: %d bytes in use of the %d allowed", tell, used, memory)
			}
			f.tr.Close(f.busy.now)
			list, _, _ := track.Records(cfg, f.tr)
			var all []*record.Session
			for i := range list.Len() {
				all = append(all, list.At(i))
			}
			random := uint64(0)
			for _, s := range append(all, x.list()...) {
				if isBusy(s) {
					lists[i] = append(lists[i], s)
				} else {
					random += s.AToB.Packets
				}
			}
			if packetsIn(lists[i]) != f.packets {
				t.Errorf("told %v: %d of %d packets of the sessions were followed", tell, packetsIn(lists[i]), f.packets)
			}
			if !calm && (f.tr.Evicted == 0 && random+f.tr.Refused != f.random || f.tr.Refused < f.random/2) {
				t.Errorf("told %v: of %d false packets %d were followed, and %d refused", tell, f.random, random, f.tr.Refused)
			}
		}
		if diff := cmp.Diff(lists[0], lists[1], sameSums); diff != "" || len(lists[0]) < sessions {
			t.Errorf("told %v: %d sessions (- without, + with the false flows):\n%s", tell, len(lists[0]), diff)
		}
	}
}

// TestAdmitted: in a flood, sessions that begin are admitted, and lose few packets.
func TestAdmitted(t *testing.T) {
	const sessions = 40
	f := newFlood(track.Config{MaxMemory: 32 << 20, Admission: true}, sessions)
	for range 100_000 {
		f.false()
	}
	for i := range 20_000 {
		f.false()
		if i%2 == 0 {
			f.say()
		}
	}
	f.tr.Close(f.busy.now)
	list, _, _ := track.Records(track.Config{}, f.tr)
	found, said := 0, f.packets
	for s := range list.All() {
		if s.Pairing.Method != record.PairNone && isBusy(s) {
			found++
			f.packets -= s.AToB.Packets + s.BToA.Packets
		}
	}
	if found != sessions || f.packets > said/20 { // answers are seldom, and wait longer
		t.Errorf("%d of %d sessions were admitted, without %d of their packets", found, sessions, f.packets)
	}
}

// TestAdmissionChangesNothing: while memory is not scarce, all is followed.
func TestAdmissionChangesNothing(t *testing.T) {
	for _, admission := range []bool{false, true} {
		f := newFlood(track.Config{MaxMemory: 64 << 20, Admission: admission}, 10)
		for range 20_000 {
			f.false()
		}
		f.tr.Close(f.busy.now)
		list, _, _ := track.Records(track.Config{}, f.tr)
		if list.Len() != 20_000 || f.tr.Refused+f.tr.Evicted > 0 {
			t.Errorf("admission %v: %d sessions of 20,000 flows, %d refused", admission, list.Len(), f.tr.Refused)
		}
	}
}
