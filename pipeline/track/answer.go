package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// answer follows an answer that g's sender gave to the requests of f, which is
// g's peer, or nil where it is not known.
func (t *Tracker) answer(g, f *flow, p *Packet, op *operation) {
	if p.Copy != NoCopy {
		t.copied(g, p)
		return
	}
	if p.Corrupt {
		g.bad().icrcBad++
		t.emit(g, p, record.Corrupt{PSN: p.PSN})
		return
	}
	if f != nil {
		t.touch(f, p)
	}
	switch {
	case op.class == classResponse:
		g.bad().responses.Packets++
	case p.Syndrome.Type() == decode.Ack:
		g.acks++
	case p.Syndrome.Type() == decode.RNRNak:
		g.bad().rnrNaks++
	case p.Syndrome.Type() == decode.Nak:
		if c := p.Syndrome.Code(); int(c) < len(g.bad().naks) {
			g.bad().naks[c]++
		}
	}
	if f == nil || !f.req.begun {
		t.cfg.Notes.judge(p, decode.VerdictOther)
		switch {
		case f != nil:
			t.early(f, p, op)
		case g.hall != nil:
			g.hall.early.take(answeredUpTo(p, op))
		}
		g.goodput += responsePayload(p, op)
		return
	}
	s := f.req
	if !s.heard {
		s.heard = true
		t.nowHeard(f)
	}
	switch {
	case op.class == classResponse:
		t.response(g, f, p, op)
	case p.Syndrome.Type() == decode.Ack:
		t.conformMSN(g, f, p)
		if len(s.owed) > 0 {
			t.jumpOwed(s, p)
		}
		t.acknowledge(f, p, psnAdd(p.PSN, 1))
	case p.Syndrome.Type() == decode.RNRNak:
		t.rnrNak(f, p)
	case p.Syndrome.Type() == decode.Nak:
		t.nak(f, p)
	}
	if s.spent != nil {
		s.spent.hears(s, p, op)
	}
	s.lastAnswer = p.Time
	s.answerPath.see(p)
}

// cameLate takes back the loss behind the tap that a NAK told of, where what it
// names is acknowledged up to upTo without being sent again: it only came late.
func (t *Tracker) cameLate(f *flow, upTo uint32) {
	s := f.req
	n := s.rec.nak()
	if !n.valid || !n.after || !n.open || n.pass != s.passes || psnDiff(upTo, n.psn) <= 0 {
		return
	}
	t.lateAfterAll(f, n)
	s.rec.latePass = s.passes + 1
}

// lateAfterAll takes back the loss behind the tap that a NAK told of.
func (t *Tracker) lateAfterAll(f *flow, n *nakSeen) {
	n.after, n.late = false, true
	t.cfg.Notes.unflag(n.frame, decode.NoteNamesLoss)
	f.bad().lost.AfterTap--
}

// early takes an answer that comes before any request: the capture began between
// them.
func (t *Tracker) early(f *flow, p *Packet, op *operation) {
	s := t.ownStream(f)
	s.answeredEarly(answeredUpTo(p, op))
	switch {
	case op.class != classAck:
		return
	case p.Syndrome.Type() != decode.Nak:
		return
	}
	code := p.Syndrome.Code()
	if code == decode.NakSequence {
		t.recovery(s).addNak(nakSeen{psn: p.PSN, time: p.Time, frame: p.Ref(), valid: true})
	}
	t.emit(f, p, record.Nak{Code: nakNames[min(int(code), len(nakNames)-1)], PSN: p.PSN})
}

// answeredUpTo is one past the last PSN that an answer shows to have been sent.
func answeredUpTo(p *Packet, op *operation) uint32 {
	if op.class == classAck && p.Syndrome.Type() != decode.Ack {
		return p.PSN
	}
	return psnAdd(p.PSN, 1)
}

// early are the answers that came before the first request seen.
type early struct {
	acked uint32 // everything below was sent before it
	any   bool
}

func (e *early) take(upTo uint32) {
	if d := psnDiff(e.acked, upTo); !e.any || d <= 0 || d >= newLifeJump { // else the responder has begun again
		e.acked, e.any = upTo, true
	}
}

// answeredEarly notes that everything below upTo was sent before the first
// request seen.
func (s *stream) answeredEarly(upTo uint32) {
	e := early{s.acked, s.ackedEarly}
	e.take(upTo)
	s.acked, s.ackedEarly = e.acked, e.any
}

func responsePayload(p *Packet, op *operation) uint64 {
	if op.class != classResponse {
		return 0
	}
	return uint64(p.Payload)
}

// acknowledge takes everything below upTo as received.
func (t *Tracker) acknowledge(f *flow, p *Packet, upTo uint32) {
	s := f.req
	if s.rec != nil && s.rec.echo.try != nil {
		t.answered(f, upTo)
	}
	if s.hasAcked && psnDiff(upTo, s.acked) <= 0 {
		return
	}
	if !s.hasAcked && psnDiff(upTo, s.start) < 0 {
		s.answeredEarly(upTo)
		return // of what was before the capture
	}
	if s.rec != nil {
		t.cameLate(f, upTo)
		if g := &s.rec.guess; g.open && !g.alike && psnDiff(upTo, g.lo) > 0 {
			t.settleLate(f)
		}
	}
	s.hasAcked, s.acked = true, upTo
	if s.rec != nil && len(s.rec.unseen) > 0 {
		t.captureLost(f, p)
	}
	if s.rec != nil && s.rec.epDone != 0 && psnDiff(upTo, s.rec.episode.Range.First) > 0 {
		t.endEpisode(f, s.rec.epDone, true)
	}
	t.complete(f, p, upTo, false)
	for len(s.samples) > 0 && psnDiff(s.samples[0].psn, upTo) < 0 {
		t.acknowledged(f, p, s.samples[0].time)
		s.samples = append(s.samples[:0], s.samples[1:]...)
	}
	if s.rec != nil {
		s.rec.last.n = 0
		s.learnSelective(upTo)
		t.calm(f, p)
	}
}

// learnSelective notes that what a repeat left out was acknowledged all the
// same: the requester repairs selectively.
func (s *stream) learnSelective(upTo uint32) {
	r := s.rec
	if r.soft.cutBelow(upTo) > 0 {
		s.selective = true
	}
	if len(r.gone) > 0 && r.gone.leftOut(upTo) {
		s.selective = true
	}
}

// answered looks what the first acknowledgements after a step back say of the
// requests before it. A responder acknowledges each duplicate with the last
// PSN that it has: below the old maximum, something between was lost on the
// way to it; the old maximum, once for each duplicate, nothing was.
func (t *Tracker) answered(f *flow, upTo uint32) {
	s := f.req
	e := &s.rec.echo
	if e.try == nil || psnDiff(upTo, e.from) <= 0 {
		return
	}
	if upTo != e.acked {
		e.acked, e.acks = upTo, 0
	}
	e.acks++
	switch {
	case psnDiff(upTo, e.max) < 0 && e.acks == 2:
		e.try = nil // after the tap, as it stands
	case upTo == e.max && (e.acks == 2 || psnAdd(e.from, 1) == e.max || psnDiff(upTo, s.pos) > 0):
		t.movePlace(f, e, record.Answer)
		e.try = nil
	case psnDiff(upTo, e.max) > 0:
		e.try = nil
	}
}

// movePlace puts a try, and the episode that it began, at another place.
func (t *Tracker) movePlace(f *flow, e *echo, place record.Place) {
	if f.req.rec.try != e.try { // it is counted already
		b := f.bad()
		b.places[e.try.Place]--
		b.places[place]++
	}
	e.try.Place = place
	if e.episode != nil && e.try.Number == 1 {
		e.episode.Place = place
	}
}

// captureLost counts the PSNs that no pass showed and that are acknowledged
// all the same.
func (t *Tracker) captureLost(f *flow, p *Packet) {
	s := f.req
	r := s.rec
	for len(r.unseen) > 0 && psnDiff(r.unseen[0].lo, s.acked) < 0 {
		u := r.unseen[0]
		if psnDiff(u.hi, s.acked) > 0 {
			u.hi = s.acked
			r.unseen[0].lo = u.hi
		} else {
			r.unseen = append(r.unseen[:0], r.unseen[1:]...)
		}
		n := s.packetsIn(u)
		r.missing.remove(u.lo, u.hi)
		// Some may be gone back for, and what was sent again is not here either.
		f.bad().lost.BeforeTap += r.gone.drop(u.lo, u.hi)
		f.bad().lost.Capture += uint64(n)
		t.emit(f, p, record.CaptureLoss{Range: record.Range{First: u.lo, Last: (u.hi - 1) & psnMask}})
	}
	if len(r.missing) == 0 {
		r.gap = 0
		if r.try == nil {
			r.sign = 0
		}
	}
}

// packetsIn is how many requests there were in a range that the tap did not
// see: one a PSN, and one for a READ, whose responses it saw.
func (s *stream) packetsIn(u span) uint32 {
	n := u.len()
	kept := s.rec.reads[:0]
	for _, read := range s.rec.reads {
		one := spans{u}
		switch k := one.overlap(read.lo, read.hi); {
		case k == 0:
			kept = append(kept, read)
		case psnDiff(read.lo, u.lo) >= 0:
			n -= k - 1
		default: // its beginning is counted
			n -= k
		}
	}
	s.rec.reads = kept
	return n
}

// nak takes a NAK of any code.
func (t *Tracker) nak(f *flow, p *Packet) {
	s := f.req
	t.acknowledge(f, p, p.PSN)
	code := p.Syndrome.Code()
	ev := record.Nak{Code: nakNames[min(int(code), len(nakNames)-1)], PSN: p.PSN}
	if code != decode.NakSequence {
		ev.Opcode = f.requestAt(p.PSN)
		if ref, known := f.lastRequest(p.PSN); known {
			ev.Request = &ref
		}
		t.emit(f, p, ev)
		if l := f.life; l.state == record.StateOpen && int(code) < len(nakNames)-1 { // both sides' QPs are in error now
			l.state, l.failed = record.StateFailed, f
			l.failure = record.FailedInvalidRequest + record.Failure(code-decode.NakInvalidRequest)
			t.emit(f, p, record.Failed{Why: "nak", Code: ev.Code})
		}
		return
	}
	r := t.recovery(s)
	if r.rnr.valid && r.rnr.psn == p.PSN && (r.rnr.pass == s.passes || p.Time < r.rnr.time+r.rnr.wait) {
		ev.Refusal = true
		t.cfg.Notes.flag(p, decode.NoteRefusal)
		t.emit(f, p, ev)
		return
	}
	if r.guess.open && psnDiff(p.PSN, r.guess.lo) >= 0 && psnDiff(p.PSN, r.guess.hi) < 0 {
		t.settleLate(f)
	}
	n := nakSeen{psn: p.PSN, pass: s.passes, time: p.Time, frame: p.Ref(), valid: true, open: true}
	switch last := r.nak(); {
	case f.tooSoon(p) && (r.latePass == s.passes || r.before.late && psnDiff(p.PSN, r.before.lateLo) >= 0 && psnDiff(p.PSN, r.before.lateHi) < 0):
		n.late = true // it is about the pass before, in which packets came late
	case r.rnr.valid && r.rnr.pass == s.passes && p.Time < r.rnr.time+r.rnr.wait && psnDiff(p.PSN, r.rnr.psn) > 0:
		n.late = true // a copy of what was refused has been taken, and this was dropped in between
	case r.latePass == s.passes+1: // it was kept waiting for them, and dropped what came meanwhile
		n.late = true
	case r.late && psnDiff(p.PSN, r.lateLo) >= 0 && psnDiff(p.PSN, r.lateHi) < 0:
		// The responder saw them in the wrong order, as the tap did.
		n.late = true
		if r.lateGuessed > 0 {
			b := f.bad()
			guessed := min(uint64(r.lateGuessed), b.reordered)
			b.reordered -= guessed
			b.undecided += guessed
			r.lateGuessed = 0
			t.emit(f, p, record.Undecided{PSN: p.PSN, Why: "a NAK follows packets that came out of order, and no IP ID tells which was sent first"})
		}
	case last.valid && last.after && last.open && last.pass == s.passes && last.psn == p.PSN: // said once more
		n.after = true
	case s.seenInPass(p.PSN):
		if !r.missing.has(p.PSN) && r.gap != 0 && r.missing.overlap(s.pass, p.PSN) > 0 {
			break // seen beyond an open gap
		}
		t.namesLoss(f, p, &n)
	}
	r.addNak(n)
	if r.sign == 0 {
		r.sign = p.Time
	} else if r.gap != 0 {
		detect := between(r.gap, p.Time)
		ev.Detect = &detect
	}
	t.emit(f, p, ev)
}

// tooSoon says whether p comes sooner after the step back than any answer to
// what has been sent since.
func (f *flow) tooSoon(p *Packet) bool {
	return f.req.repeat && f.lat != nil && f.lat.ack.Count > 0 && p.Time-f.req.rec.last.last < f.lat.ack.Min
}

// namesLoss takes what a NAK names for lost behind the tap.
func (t *Tracker) namesLoss(f *flow, p *Packet, n *nakSeen) {
	n.after = true
	t.cfg.Notes.flag(p, decode.NoteNamesLoss)
	f.bad().lost.AfterTap++
}

// seenInPass says whether the tap saw psn in the pass that is under way.
func (s *stream) seenInPass(psn uint32) bool {
	return psnDiff(psn, s.pass) >= 0 && psnDiff(psn, s.pos) < 0 && (s.rec == nil || !s.rec.missing.has(psn) && !s.rec.soft.has(psn))
}

// requestAt names the request that has a PSN, as far as it is known: the
// opcode of the last one sent, else what its message does, else "".
func (f *flow) requestAt(psn uint32) string {
	s := f.req
	if psnAdd(psn, 1) == s.pos {
		return s.lastOp.String()
	}
	for i := range s.messages {
		m := &s.messages[i]
		if psnDiff(psn, m.lo) >= 0 && psnDiff(psn, m.hi) < 0 {
			return f.service.String() + [...]string{"_SEND", "_RDMA_WRITE", "_RDMA_READ_REQUEST", "_ATOMIC"}[m.kind]
		}
	}
	return ""
}

// lastRequest is the frame of the request that has a PSN, where that is the last
// packet of the flow: frames are not kept otherwise.
func (f *flow) lastRequest(psn uint32) (ref record.FrameRef, known bool) {
	s := f.req
	switch b := f.trouble; {
	case psnAdd(psn, 1) != s.pos || f.last.time != s.last || f.strange&strangeMask > 0:
	case b != nil && b.cnps+b.icrcBad+b.reordered > 0, f.peer != nil && f.peer.req.lastAnswer == s.last:
		// With a coarse clock another packet may have the same time.
	default:
		return f.last.ref(), true
	}
	return ref, false
}

var nakNames = [...]string{"sequence", "invalid_request", "remote_access", "remote_operational", "invalid_rd_request", "reserved"}

func (t *Tracker) rnrNak(f *flow, p *Packet) {
	s := f.req
	t.acknowledge(f, p, p.PSN)
	r := t.recovery(s)
	wait := int64(p.Syndrome.RNRTimer())
	r.rnr = nakSeen{psn: p.PSN, pass: s.passes, time: p.Time, wait: wait, frame: p.Ref(), valid: true}
	if r.sign == 0 {
		r.sign = p.Time
	}
	t.emit(f, p, record.RNRNak{PSN: p.PSN, Timer: wait})
}
