package track_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// nakSequence is the syndrome of a NAK for a PSN.
const nakSequence = decode.Syndrome(0x60)

// tries follows packets, of which those of naks are NAKs, and returns what requester a
// did and where its packets went.
func tries(t *testing.T, list []sent, naks ...int) ([]*record.Try, *record.Session) {
	t.Helper()
	tracker := track.New(track.Config{MaxEvents: 100})
	for i := range list {
		p := list[i].packet(i)
		if slices.Contains(naks, i) {
			p.Syndrome = nakSequence
		}
		tracker.Add([]*track.Packet{p})
	}
	tracker.Close(0)
	sessions, events, _ := track.Records(track.Config{MaxEvents: 1 << 20}, tracker)
	if sessions.Len() != 1 {
		t.Fatalf("%d sessions, want 1", sessions.Len())
	}
	var found []*record.Try
	for i := range events {
		if d, is := events[i].Detail.(*record.Try); is {
			found = append(found, d)
		}
	}
	return found, sessions.At(0)
}

// run is so many packets of one PSN after the other.
func run(op decode.Opcode, from, n uint32) (list []sent) {
	for i := range n {
		list = append(list, sent{op: op, psn: from + i, payload: 64})
	}
	return list
}

// TestAsked: what asks for a packet to be sent again is known for it, whatever lies between.
func TestAsked(t *testing.T) {
	const psn = 100_000 // far from 0, where many sessions begin
	flight := run(sendOnly, psn, 60)
	long := slices.Concat(flight, []sent{{op: ack, psn: psn + 2}}, run(sendOnly, psn+2, 58), []sent{{op: ack, psn: psn + 30}, {op: ack, psn: psn + 59}})
	for _, c := range []struct {
		name    string
		packets []sent
		naks    []int
		cause   record.Cause
		place   record.Place
		lost    record.Lost
	}{
		{"a NAK for the first of a long flight", long, []int{len(flight)}, record.CauseNak, record.AfterTap, record.Lost{AfterTap: 1}},
		{"an ACK that jumps over a READ, and ends what is outstanding", []sent{
			{op: sendOnly, psn: psn, payload: 64}, {op: ack, psn: psn}, {op: readReq, psn: psn + 1, dmaLen: 64}, {op: sendOnly, psn: psn + 2, payload: 64},
			{op: ack, psn: psn + 2}, {op: readReq, psn: psn + 1, dmaLen: 64}, {op: respOnly, psn: psn + 1, payload: 64},
			{op: sendOnly, psn: psn + 2, payload: 64}, {op: ack, psn: psn + 2},
		}, nil, record.CauseRead, record.Answer, record.Lost{}},
		{"a NAK for what the tap has not seen, from the capture's beginning", []sent{
			{op: sendOnly, psn: psn + 1, payload: 64}, {op: sendOnly, psn: psn + 2, payload: 64}, {op: ack, psn: psn},
			{op: sendOnly, psn: psn, payload: 64}, {op: sendOnly, psn: psn + 1, payload: 64}, {op: sendOnly, psn: psn + 2, payload: 64}, {op: ack, psn: psn + 2},
		}, []int{2}, record.CauseNak, record.PlaceUnknown, record.Lost{}},
		{"a request lost behind a READ whose PSNs would tell a short path MTU", []sent{
			{op: readReq, psn: psn, dmaLen: 500}, {op: readReq, psn: psn + 2, dmaLen: 500}, {op: respOnly, psn: psn, payload: 500},
			{op: sendOnly, psn: psn + 3, payload: 64}, {op: ack, psn: psn + 1}, {op: sendOnly, psn: psn + 1, payload: 64},
			{op: readReq, psn: psn + 2, dmaLen: 500}, {op: sendOnly, psn: psn + 3, payload: 64}, {op: ack, psn: psn + 1},
			{op: respOnly, psn: psn + 2, payload: 500}, {op: ack, psn: psn + 3},
		}, []int{4}, record.CauseNak, record.BeforeTap, record.Lost{BeforeTap: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, s := tries(t, c.packets, c.naks...)
			if len(found) != 1 {
				t.Fatalf("%d tries, want 1: %+v", len(found), found)
			}
			if got := found[0]; got.Cause != c.cause || got.Place != c.place {
				t.Errorf("cause %v, place %v; want %v, %v", got.Cause, got.Place, c.cause, c.place)
			}
			if got := s.AToB.Lost; got != c.lost {
				t.Errorf("lost %+v, want %+v", got, c.lost)
			}
			if s.State != record.StateOpen {
				t.Errorf("state %v", s.State)
			}
		})
	}
}
