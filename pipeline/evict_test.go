package pipeline_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/track"
)

// talk makes the packets of sessions that send a SEND of one packet and get an
// ACK, each when it is told to.
type talk struct {
	list []capture.Frame
	psn  map[[2]int]uint32
}

// say lets session number qp of a pair of hosts exchange a message.
func (k *talk) say(pair, qp int) {
	id := [2]int{pair, qp}
	psn, begun := k.psn[id]
	if !begun {
		psn = uint32(pair*7919+qp*104729) & 0xffffff
	}
	k.packet(pair, 0, 0x04, 0x1000+uint32(qp), psn) // RC SEND only
	k.packet(pair, 1, 0x11, 0x8000+uint32(qp), psn) // RC ACK
	k.psn[id] = (psn + 1) & 0xffffff
}

func (k *talk) packet(pair, from int, op byte, qp, psn uint32) {
	be := binary.BigEndian
	host := func(side int) []byte { return []byte{10, byte(pair >> 8), byte(pair), byte(1 + side)} }
	b := append(make([]byte, 12, 64), 8, 0, 0x45, 0, 0, 48, byte(len(k.list)>>8), byte(len(k.list)), 0x40, 0, 64, 17, 0, 0)
	b = append(append(b, host(from)...), host(1-from)...)
	b = append(b, 0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0)
	b = append(b, op, 0x40, 0xff, 0xff)
	b = be.AppendUint32(b, qp)
	b = be.AppendUint32(b, psn)
	b = append(b, 0, 0, 0, 1) // an AETH, or four bytes of payload
	b = append(b, 1, 2, 3, 4)
	n := len(k.list)
	k.list = append(k.list, capture.Frame{Data: b, OrigLen: uint32(len(b)), Time: int64(n) * 1000, Number: uint64(n) + 1, Link: capture.LinkEthernet, FCSLen: -1})
}

func (k *talk) run(t *testing.T, memory int64) *pipeline.Result {
	t.Helper()
	cfg := pipeline.Config{Workers: 3, Track: track.Config{MaxMemory: memory}}
	r, err := pipeline.Run(context.Background(), &batches{k.list, func() int { return capture.BatchFrames }}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// leastMemory is the least that rocelens analyze takes for --max-memory: room
// for 20,000 flows.
const leastMemory = 16 << 20

// TestRoomGoesWhereItIsNeeded: nothing is forgotten while there is room, though
// all sessions are between two hosts.
func TestRoomGoesWhereItIsNeeded(t *testing.T) {
	const sessions = 6000
	for _, pairs := range []int{1, 3, 1000} {
		k := talk{psn: map[[2]int]uint32{}}
		for range 20 {
			for i := range sessions {
				k.say(i%pairs, i/pairs)
			}
		}
		r, free := k.run(t, leastMemory), k.run(t, 0)
		if r.Forgotten > 0 || r.Sessions.Len() != free.Sessions.Len() || r.Sessions.Len() < sessions {
			t.Errorf("%d pairs of hosts: %d sessions and %d forgotten, of %d", pairs, r.Sessions.Len(), r.Forgotten, free.Sessions.Len())
		}
	}
}

// TestIdleGoFirst: with more sessions than there is room for, those that are
// silent go, wherever they are, and those that talk stay.
func TestIdleGoFirst(t *testing.T) {
	const busy, busyPairs = 2000, 50
	for _, idlePairs := range []int{1, 40, 1000} {
		k := talk{psn: map[[2]int]uint32{}}
		n, rounds := 0, 0
		for range 30 {
			for i := range busy { // each talks, and as many others that are never heard again
				k.say(i%busyPairs, i/busyPairs)
				k.say(100+n%idlePairs, n/idlePairs)
				n++
			}
			rounds++
		}
		r := k.run(t, leastMemory)
		whole := 0
		for s := range r.Sessions.All() {
			if s.AToB.Packets == uint64(rounds) && s.BToA.Packets == uint64(rounds) {
				whole++
			}
		}
		if whole != busy || r.Forgotten == 0 || r.Sessions.Len() > leastMemory/800 {
			t.Errorf("%d pairs of idle hosts: %d of %d busy sessions are whole, %d sessions, %d forgotten of %d", idlePairs, whole, busy, r.Sessions.Len(), r.Forgotten, n+busy)
		}
	}
}
