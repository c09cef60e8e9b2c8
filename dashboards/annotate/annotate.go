// Package annotate says what the packets of a capture are part of, in comments
// for Wireshark: each packet of an event what happened, why, and which other
// packets belong to it, and the file what was found in all.
//
// It words what records, notes and findings say, and concludes nothing.
package annotate

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
	"github.com/rocelens/rocelens/pipeline/words"
)

// lead begins each comment. What kind it is of follows, which filters can go
// by: frame.comment contains "rocelens retransmission".
const lead = "rocelens "

// Annotator says what the packets of one input are part of.
type Annotator struct {
	notes    *track.Notes
	events   []record.Event
	sessions map[string]*record.Session // those that have events
	byFrame  map[uint64][]int           // indices of events, by the number of the frame
	tries    []try                      // by their number - 1
	answers  map[uint64]uint32          // numbers of tries, by the frame of the NAK that asked for them
	seen     map[way]*[lastSeen]sight   // of streams with tries
	damaged  map[way]*[lastSeen]sight   // what came with a wrong ICRC
	note     decode.Note
}

// lastSeen is how many packets of a way are remembered, and maxWays of how many
// ways: more than are ever outstanding, in 64 MiB at most, and what came damaged
// in as much.
const (
	lastSeen = 1 << 12
	maxWays  = 1 << 10
)

// way is the requests of a stream, or the responses.
type way struct {
	stream
	responses bool
}

// sight is a packet that was seen.
type sight struct {
	frame uint64
	psn   uint32
}

// try is a try with the frames that belong to it. 0 is none.
type try struct {
	first, last uint64 // of what was sent again
	asked       uint64 // the NAK that asked for it
	packets     uint64
}

// stream is the requests of one side of a session.
type stream struct {
	session string
	side    uint8
}

// New returns an Annotator for the result of following one input, with the
// notes taken, and how many frames there are.
func New(r *pipeline.Result, notes *track.Notes, frames uint64) *Annotator {
	a := &Annotator{
		notes: notes, events: r.Events, sessions: make(map[string]*record.Session), byFrame: make(map[uint64][]int), answers: make(map[uint64]uint32),
		seen: make(map[way]*[lastSeen]sight), damaged: make(map[way]*[lastSeen]sight),
	}
	for i := range r.Events {
		e := &r.Events[i]
		a.byFrame[e.Frame.Number] = append(a.byFrame[e.Frame.Number], i)
		if e.Session != "" {
			a.sessions[e.Session] = nil
		}
	}
	for i := range r.Sessions.Len() {
		s := r.Sessions.At(i)
		if _, ok := a.sessions[s.ID]; ok {
			a.sessions[s.ID] = s
		}
	}
	a.link(frames)
	return a
}

// link finds the frames that belong together.
func (a *Annotator) link(frames uint64) {
	type nak struct {
		stream
		role decode.Role
	}
	naks := make(map[nak]uint64) // the latest
	n := &a.note
	for number := uint64(1); number <= frames; number++ {
		if !a.notes.Get(0, number, n) || n.Verdict == decode.VerdictCopy {
			continue
		}
		if n.Role == decode.RoleNak && !n.Has(decode.NoteRefusal) || n.Role == decode.RoleRNRNak {
			naks[nak{stream{n.Session, n.Stream}, n.Role}] = number
		}
		if n.TryID == 0 {
			continue
		}
		if w := wayOf(n); len(a.seen) < maxWays && a.seen[w] == nil {
			a.seen[w] = new([lastSeen]sight)
		}
		for int(n.TryID) > len(a.tries) {
			a.tries = append(a.tries, try{})
		}
		t := &a.tries[n.TryID-1]
		if t.last, t.packets = number, t.packets+1; t.first != 0 {
			continue
		}
		t.first = number
		role := decode.RoleNone
		switch n.Cause {
		case decode.CauseNak:
			role = decode.RoleNak
		case decode.CauseRNR:
			role = decode.RoleRNRNak
		}
		if t.asked = naks[nak{stream{n.Session, n.Stream}, role}]; t.asked != 0 {
			a.answers[t.asked] = n.TryID
		}
	}
}

func wayOf(n *decode.Note) way {
	return way{stream{n.Session, n.Stream}, n.Role == decode.RoleResponse}
}

// before is the frame in which a packet was seen the last time before this one,
// 0 where that is not known. Packets come in their order.
func (a *Annotator) before(p *decode.Packet, n *decode.Note) uint64 {
	if n.Verdict != decode.VerdictNew && !n.Retransmission() {
		return 0
	}
	list := a.seen[wayOf(n)]
	if list == nil {
		return 0
	}
	s := &list[p.PSN%lastSeen]
	was := *s
	*s = sight{frame: p.Frame.Number, psn: p.PSN}
	if was.psn != p.PSN {
		return 0
	}
	return was.frame
}

// damage notes a packet that came with a wrong ICRC, so that its PSN may be
// wrong too.
func (a *Annotator) damage(p *decode.Packet, n *decode.Note) {
	w := wayOf(n)
	if a.damaged[w] == nil {
		if len(a.damaged) == maxWays {
			return
		}
		a.damaged[w] = new([lastSeen]sight)
	}
	a.damaged[w][p.PSN%lastSeen] = sight{frame: p.Frame.Number, psn: p.PSN}
}

// damagedIn is the frame in which a packet came with a wrong ICRC the last time,
// 0 without one.
func (a *Annotator) damagedIn(p *decode.Packet, n *decode.Note) uint64 {
	if list := a.damaged[wayOf(n)]; list != nil && list[p.PSN%lastSeen].psn == p.PSN {
		return list[p.PSN%lastSeen].frame
	}
	return 0
}

// Of are the comments on a packet, nil where it is part of nothing. Its ICRC is
// to be verified before. Packets come in their order.
func (a *Annotator) Of(p *decode.Packet) (comments []string) {
	number := p.Frame.Number
	n := &a.note
	known := a.notes.Get(0, number, n)
	said := make(map[record.EventKind]bool)
	for _, i := range a.byFrame[number] {
		e := &a.events[i]
		text := a.event(e, p)
		if text == "" {
			continue
		}
		said[e.Detail.Kind()] = true
		comments = append(comments, lead+kindText(e.Detail.Kind())+": "+text+in(e.Session))
	}
	if !known {
		return comments
	}
	before := a.before(p, n)
	if n.Verdict == decode.VerdictCorrupt {
		a.damage(p, n)
	}
	say := func(kind, text string) { comments = append(comments, lead+kind+": "+text+in(n.Session)) }
	if n.Retransmission() {
		say("retransmission", a.again(p, n, before))
	}
	switch {
	case n.Verdict == decode.VerdictCorrupt && !said[record.KindCorrupt]:
		say("corrupt", "wrong ICRC, "+icrc(p))
	case n.Verdict == decode.VerdictCopy && !said[record.KindDuplicate]:
		say("duplicate", copied(n))
	case n.Verdict == decode.VerdictLate && !said[record.KindReorder] && !said[record.KindUndecided]:
		say("late", "overtaken by packets that were sent after it, or it can't be told whether so")
	case n.Verdict == decode.VerdictCopy || n.Verdict == decode.VerdictCorrupt:
	case n.Role == decode.RoleNak && !said[record.KindNak]:
		say("nak", p.Syndrome.String()+" for PSN "+strconv.FormatUint(uint64(p.PSN), 10)+a.asked(number))
	case n.Role == decode.RoleRNRNak && !said[record.KindRNRNak]:
		say("rnr nak", p.Syndrome.String()+" for PSN "+strconv.FormatUint(uint64(p.PSN), 10)+a.asked(number))
	case n.Role == decode.RoleCNP && !said[record.KindCNP]:
		say("cnp", "tells QP 0x"+strconv.FormatUint(uint64(p.DestQP), 16)+" to slow down")
	case (n.Role == decode.RoleRequest || n.Role == decode.RoleResponse) && p.ECN() == 3 && !said[record.KindCE]:
		say("ce", "marked on its way here: congestion")
	}
	if n.Rule != "" && !said[record.KindProtocolError] {
		say("protocol error", "breaks the rule "+n.Rule)
	}
	return comments
}

// event is what an event's comment says, with what belongs to it.
func (a *Annotator) event(e *record.Event, p *decode.Packet) string {
	switch d := e.Detail.(type) {
	case *record.Pauses:
		return pausesText(e, d)
	case *record.Storm:
		return stormText(d)
	}
	s := a.sessions[e.Session]
	if s == nil {
		return ""
	}
	text := report.EventText(s, e)
	switch e.Detail.(type) {
	case record.Nak, record.RNRNak:
		if a.note.Has(decode.NoteNamesLoss) {
			text += "; it had passed this tap, and was lost behind it"
		}
		text += a.asked(e.Frame.Number)
	case *record.Try:
		if id := a.note.TryID; id != 0 && a.note.Has(decode.NoteFirstOfTry) {
			text += "; " + a.belongs(id)
		}
	case record.Corrupt:
		text += ", " + icrc(p)
	}
	return text
}

// asked says what a NAK led to.
func (a *Annotator) asked(number uint64) string {
	id := a.answers[number]
	if id == 0 {
		return ""
	}
	t := &a.tries[id-1]
	return "; " + words.Plural(t.packets, "packet") + " sent again on it, in " + frames(t.first, t.last)
}

// belongs are the frames of a try.
func (a *Annotator) belongs(id uint32) string {
	t := &a.tries[id-1]
	text := frames(t.first, t.last)
	if t.asked != 0 {
		text += ", asked for in frame " + strconv.FormatUint(t.asked, 10)
	}
	return text
}

// again says what a packet is that was sent again, and was seen before in
// a frame, if that is not 0.
func (a *Annotator) again(p *decode.Packet, n *decode.Note, before uint64) string {
	text := "PSN " + strconv.FormatUint(uint64(p.PSN), 10) + " sent again, "
	damaged := a.damagedIn(p, n)
	switch {
	case n.Verdict == decode.VerdictFill && damaged != 0:
		text += "and seen here before with a wrong ICRC alone, in " + frames(damaged, damaged)
	case n.Verdict == decode.VerdictFill:
		text += "and never seen here before"
		if n.TryID != 0 && n.Place == decode.PlaceBeforeTap {
			text += ": lost before this tap"
		}
	case n.Has(decode.NoteWasted):
		text += "though it had passed here just before"
	default:
		text += "seen here before"
	}
	if n.Verdict == decode.VerdictRepeat && before != 0 {
		text += ", in " + frames(before, before)
	}
	if n.TryID == 0 {
		return text
	}
	text += "; try " + strconv.FormatUint(uint64(n.Try), 10) + " " + causeTexts[n.Cause]
	if n.Cause == decode.CauseTimeout && n.Silence > 0 {
		text += ", after " + words.Duration(n.Silence) + " of silence"
	}
	return text + "; " + a.belongs(n.TryID)
}

// causeTexts are why a requester stepped back.
var causeTexts = [...]string{
	decode.CauseNak: "on a NAK", decode.CauseRNR: "after an RNR NAK", decode.CauseRead: "for a missing READ response",
	decode.CauseTimeout: "on a timeout", decode.CauseUnknown: "for a reason that this tap can't see",
}

func copied(n *decode.Note) string {
	if n.Has(decode.NoteByNetwork) {
		return "it came twice, doubled by the network"
	}
	return "it was captured twice"
}

func icrc(p *decode.Packet) string {
	hex := func(v uint32) string { return "0x" + strconv.FormatUint(1<<32|uint64(v), 16)[1:] }
	return hex(p.ICRC) + " instead of " + hex(p.ICRCExpected)
}

// in names the session at the end of a comment.
func in(session string) string {
	if session == "" {
		return ""
	}
	return " [" + session + "]"
}

func frames(first, last uint64) string {
	text := strconv.FormatUint(first, 10)
	if first == last {
		return "frame " + text
	}
	return "frames " + text + " to " + strconv.FormatUint(last, 10)
}

// kindText is the kind of an event in words.
func kindText(k record.EventKind) string { return strings.ReplaceAll(string(k), "_", " ") }
