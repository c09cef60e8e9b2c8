package track_test

import (
	"runtime"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// TestMakeRoom: with room for few flows, those that were silent longest go,
// one that talks all the time stays, and nothing is counted twice.
func TestMakeRoom(t *testing.T) {
	const sessions = 20_000
	tr := track.New(track.Config{MaxMemory: 2 << 20, MaxEvents: 100})
	g := newTraffic(sessions)
	busy := newTraffic(1)
	seen := uint64(0)
	one := []*track.Packet{new(track.Packet)}
	for range 5 * sessions {
		g.packet(one[0])
		one[0].Src.Hi, one[0].Dst.Hi = 1, 1 // other hosts than the busy one's
		one[0].Hash()
		tr.Add(one)
		if seen%50 == 0 {
			now := one[0].Time
			busy.packet(one[0])
			one[0].Time = now
			tr.Add(one)
		}
		seen++
	}
	tr.Close(0)
	list, _, _ := track.Records(track.Config{}, tr)
	if tr.Evicted == 0 || list.Len() > 4*2621 {
		t.Fatalf("%d sessions forgotten, %d kept", tr.Evicted, list.Len())
	}
	var lasting *record.Session
	for s := range list.All() {
		if s.A.Addr.Hi == 0 {
			lasting = s
		}
	}
	if lasting == nil || lasting.AToB.Packets+lasting.BToA.Packets != 5*sessions/50 {
		t.Errorf("the busy session: %+v", lasting)
	}
}

// TestManyMessages: what waits for an answer is bounded, where none comes.
func TestManyMessages(t *testing.T) {
	const n = 5000
	tr := track.New(track.Config{})
	for i := range uint32(n) {
		p := track.Packet{
			Time: int64(i), Number: uint64(i) + 1, Kind: decode.AddrIPv4, Opcode: 0x04, Payload: 64, WireLen: 122, Version: 1,
			Src: decode.Addr{Lo: 1}, Dst: decode.Addr{Lo: 2}, DestQP: 17, PSN: i,
		}
		p.Hash()
		tr.Add([]*track.Packet{&p})
	}
	tr.Close(n)
	list, _, _ := track.Records(track.Config{}, tr)
	if list.Len() != 1 || list.At(0).AToB.Messages.Sent[record.Send] != n {
		t.Errorf("%d sessions, %+v", list.Len(), list.At(0).AToB.Messages)
	}
}

// TestForgottenIsGone: memory does not grow with the sessions that there ever
// were, whatever state they were forgotten in.
func TestForgottenIsGone(t *testing.T) {
	inUse := func(rounds int) uint64 {
		tr := track.New(track.Config{MaxMemory: 4 << 20})
		g := newTraffic(30_000)
		for range rounds * 30_000 / 64 {
			tr.Add(g.packets())
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(tr)
		return m.HeapAlloc
	}
	few, many := inUse(2), inUse(20)
	if many > few+few/4+8<<20 {
		t.Errorf("%d bytes in use after 60,000 packets, %d after 600,000", few, many)
	}
}
