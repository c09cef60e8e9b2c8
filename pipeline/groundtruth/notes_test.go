package groundtruth_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// streamKey is a requester's stream.
type streamKey struct {
	session string
	stream  uint8
}

// noteSums are the notes of a stream, counted. What a packet sent counts for
// its sender in totals, what it is about for the stream: they are the same for
// requests, and the other way round for answers.
type noteSums struct {
	// Of what the requester sent.
	Repeats, Fills, Wasted   uint64
	Tries                    [record.NumCauses]uint64
	Places                   [record.NumPlaces]uint64
	Modes                    [record.NumModes]uint64
	Late                     uint64 // requests and responses
	MaxPass                  uint64
	AckLatency, MsgLatency   int64 // the longest
	HasAck, HasMsg           bool
	Acks, RNRNaks, Responses uint64 // of what the responder sent
	Naks, ResponsesAgain     uint64
	CNPs                     uint64
	NamesLoss                uint64 // at most Lost.AfterTap
}

// senderSums are those of what one side sent, whatever stream it is about.
type senderSums struct{ CaptureCopies, NetworkCopies, Corrupt uint64 }

// noteTally is all notes of a capture, counted.
type noteTally struct {
	notes    uint64
	streams  map[streamKey]*noteSums
	senders  map[streamKey]*senderSums
	oddities []string
}

func tallyNotes(notes *track.Notes, frames uint64) *noteTally {
	t := &noteTally{streams: map[streamKey]*noteSums{}, senders: map[streamKey]*senderSums{}}
	var n decode.Note
	for number := uint64(1); number <= frames; number++ {
		if notes.Get(0, number, &n) {
			t.add(number, &n)
		}
	}
	return t
}

func (t *noteTally) add(number uint64, n *decode.Note) {
	t.notes++
	odd := func(what string) {
		t.oddities = append(t.oddities, fmt.Sprintf("frame %d: %s: %+v", number, what, *n))
	}
	if n.Role == decode.RoleManagement || n.Role == decode.RoleUnknown || n.Session == "" {
		if n.Try != 0 || n.Retransmission() {
			odd("no part of a stream")
		}
		if n.Session == "" {
			return
		}
	}
	key := streamKey{n.Session, n.Stream}
	s := t.streams[key]
	if s == nil {
		s = new(noteSums)
		t.streams[key] = s
	}
	sender := key
	if n.Role != decode.RoleRequest {
		sender.stream = 1 - key.stream
	}
	from := t.senders[sender]
	if from == nil {
		from = new(senderSums)
		t.senders[sender] = from
	}
	switch n.Verdict {
	case decode.VerdictCopy:
		switch {
		case n.Role == decode.RoleCNP || n.Role == decode.RoleUnknown: // totals leave them out
		case n.Has(decode.NoteByNetwork):
			from.NetworkCopies++
		default:
			from.CaptureCopies++
		}
		return
	case decode.VerdictCorrupt:
		if n.Role != decode.RoleCNP {
			from.Corrupt++
		}
		return
	}
	s.count(n)
	if n.Has(decode.NoteFirstOfTry) && n.Try == 0 || n.Try > 0 && !n.Retransmission() {
		odd("a try and no retransmission")
	}
}

func (s *noteSums) count(n *decode.Note) {
	if n.Verdict == decode.VerdictLate {
		s.Late++
	}
	if n.Has(decode.NoteAckLatency) {
		s.AckLatency, s.HasAck = max(s.AckLatency, n.AckLatency), true
	}
	if n.Has(decode.NoteMessageLatency) {
		s.MsgLatency, s.HasMsg = max(s.MsgLatency, n.MessageLatency), true
	}
	if n.Has(decode.NoteNamesLoss) {
		s.NamesLoss++
	}
	switch n.Role {
	case decode.RoleRequest:
		s.MaxPass = max(s.MaxPass, uint64(n.Pass))
		switch n.Verdict {
		case decode.VerdictRepeat:
			s.Repeats++
		case decode.VerdictFill:
			s.Fills++
		}
		if n.Has(decode.NoteWasted) {
			s.Wasted++
		}
		if n.Has(decode.NoteFirstOfTry) {
			s.Tries[n.Cause]++
			s.Places[n.Place]++
			s.Modes[n.Mode]++
		}
	case decode.RoleResponse:
		s.Responses++
		if n.Retransmission() {
			s.ResponsesAgain++
		}
	case decode.RoleAck:
		s.Acks++
	case decode.RoleNak:
		s.Naks++
	case decode.RoleRNRNak:
		s.RNRNaks++
	case decode.RoleCNP:
		s.CNPs++
	}
}

// totals are what the session says of the same.
func (d side) totals(answers *record.Direction) (s noteSums) {
	s = noteSums{
		Repeats: d.Retransmitted.Repeats, Fills: d.Retransmitted.Fills, Wasted: d.Wasted.Packets,
		Tries: d.Tries, Places: d.Places, Modes: d.Modes, Late: d.Reordered + d.Undecided,
		AckLatency: d.AckLatency.Max, MsgLatency: d.MessageLatency.Max, HasAck: d.AckLatency.Count > 0, HasMsg: d.MessageLatency.Count > 0,
		Acks: answers.Acks, RNRNaks: answers.RNRNaks, Responses: answers.ReadResponses.Packets, ResponsesAgain: answers.ReadResponses.Retransmitted,
		CNPs: d.CNPsReceived,
	}
	for _, n := range answers.Naks {
		s.Naks += n
	}
	for _, n := range d.Tries {
		s.MaxPass += n
	}
	return s
}

// TestNotes: the notes of packets, counted, are the totals of their sessions.
func TestNotes(t *testing.T) {
	capturetest.Committed(t)
	var total uint64
	var sum noteSums
	var copies senderSums
	for _, a := range all(t) {
		total += a.notes.notes
		if want := a.res.RoCE.Total(); a.notes.notes != want {
			t.Errorf("%s: %d notes of %d RoCE packets", a.name, a.notes.notes, want)
		}
		for _, odd := range a.notes.oddities {
			t.Errorf("%s: %s", a.name, odd)
		}
		for _, d := range sides(a.res) {
			answers := &d.s.BToA
			if d.stream == 1 {
				answers = &d.s.AToB
			}
			key := streamKey{d.s.ID, d.stream}
			got, from := a.notes.streams[key], a.notes.senders[key]
			if got == nil {
				got = new(noteSums)
			}
			if from == nil {
				from = new(senderSums)
			}
			if got.NamesLoss > d.Lost.AfterTap {
				t.Errorf("%s: %v: %d NAKs name losses behind the tap, of which there are %d", a.name, key, got.NamesLoss, d.Lost.AfterTap)
			}
			want := d.totals(answers)
			want.NamesLoss = got.NamesLoss
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("%s: %v (-totals +notes):\n%s", a.name, key, diff)
			}
			sent := senderSums{d.Duplicates.Capture, d.Duplicates.Network, d.ICRCBad}
			if diff := cmp.Diff(sent, *from); diff != "" {
				t.Errorf("%s: %v, sent (-totals +notes):\n%s", a.name, key, diff)
			}
			sum.Repeats, sum.Fills, sum.Late = sum.Repeats+got.Repeats, sum.Fills+got.Fills, sum.Late+got.Late
			sum.MaxPass, sum.ResponsesAgain = sum.MaxPass+got.MaxPass, sum.ResponsesAgain+got.ResponsesAgain
			sum.NamesLoss += got.NamesLoss
			copies.CaptureCopies += from.CaptureCopies
			copies.NetworkCopies += from.NetworkCopies
			copies.Corrupt += from.Corrupt
			delete(a.notes.streams, key)
			delete(a.notes.senders, key)
		}
		for key := range a.notes.streams {
			t.Errorf("%s: notes of %v, which is no session", a.name, key)
		}
	}
	t.Logf("%d notes of %d captures: %d repeats, %d fills, %d late, %d tries, %d responses again, %d losses named, %+v", total, len(all(t)),
		sum.Repeats, sum.Fills, sum.Late, sum.MaxPass, sum.ResponsesAgain, sum.NamesLoss, copies)
}
