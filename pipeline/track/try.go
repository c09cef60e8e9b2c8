package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// defaultHalfTimeout is half the ACK timeout of a requester of which nothing
// is known: half of 67 ms, the timer value 14 of most tools.
const defaultHalfTimeout = 33_000_000

// halfTimeout is how long, in nanoseconds, after a NAK a step back can still
// be the answer to it.
func (t *Tracker) halfTimeout(f *flow) int64 {
	switch s := f.req; {
	case t.cfg.AckTimeout > 0:
		return t.cfg.AckTimeout / 2
	case f.life.cm() != nil && f.life.cm().AckTimeout > 0:
		return f.life.cm().AckTimeout / 2
	case s.timeout > 0:
		return s.timeout / 2
	}
	return defaultHalfTimeout
}

// stepBack begins a new pass at p, and a try.
func (t *Tracker) stepBack(f *flow, p *Packet, op *operation) {
	s := f.req
	r := t.recovery(s)
	b := f.bad()
	t.endTry(f, record.ModeUnknown)

	from := s.trueStart(p)
	try := &record.Try{PSN: from, From: s.pos, Max: s.max, Silence: between(s.last, p.Time), Opcode: p.Opcode.String()}
	sent := idRange{from: r.began, to: p.ID, open: !r.repeats, known: s.ids.rise()}
	r.began, r.first, r.repeats = p.ID, p.PSN, true
	lost := s.lostFrom(from, sent)
	nak := r.nak()
	why := t.cause(f, p, op, from)
	if why.nak != nil && !why.whole {
		why.nak.acted = true
	}
	try.Cause, try.React, try.HasReact = why.cause, why.react, why.has
	if try.Cause == record.CauseTimeout && try.Silence > minTimeout && !(nak.valid && nak.pass == s.passes) {
		s.learnTimeout(try.Silence)
	}
	responses := t.responsesGone(f, p, op, from)
	try.Place = t.place(f, try, from, why.nak, lost, responses)
	try.LostAfter = responses.after
	if nak.valid && nak.pass == s.passes && nak.after {
		try.LostAfter++
	}
	b.tries[try.Cause]++
	if try.Cause == record.CauseRNR {
		b.rnrTime += between(r.rnr.time, p.Time)
	}
	if try.Cause == record.CauseTimeout {
		b.silenceTime += try.Silence
	}
	if try.Cause == record.CauseNak {
		b.reaction.Add(try.React)
		if l := t.lags(f); l != nil {
			l.reaction.Add(try.React)
		}
	}

	// The pass that ends.
	r.before, r.missing = passBefore{
		lo: s.pass, hi: s.pos, missing: r.missing, valid: true, late: r.late, lateLo: r.lateLo, lateHi: r.lateHi,
	}, r.before.missing[:0]
	for _, m := range r.soft {
		r.before.missing.add(m.lo, m.hi)
	}
	r.soft, r.sparse = r.soft[:0], false
	r.paid.cutBelow(from)
	r.gap = 0
	r.late, r.lateGuessed = false, 0
	s.pass, s.pos, s.repeat = from, p.PSN, true
	if from != p.PSN { // the first packets sent again were lost too
		r.missing.add(from, p.PSN)
		r.gap = p.Time
	}
	s.passes++
	s.dropSamples(from)

	r.epDone = 0
	if r.episode == nil {
		r.episode = &record.Episode{Cause: try.Cause, Place: try.Place, Range: record.Range{First: from}}
		r.epMax, r.epFrame = s.max, p.Ref()
		r.epTime = r.sign
		if r.epTime == 0 {
			r.epTime = p.Time - try.Silence
		}
		b.episodes++
		if nak.valid && r.sign != 0 && nak.time >= r.sign {
			detect := nak.time - r.sign
			r.episode.Detect = &detect
		}
	}
	if psnDiff(from, r.episode.Range.First) < 0 {
		r.episode.Range.First = from
	}
	r.episode.Tries++
	try.Number = r.episode.Tries
	r.try, r.tryMax, r.lead = try, s.max, tryLead{frame: p.Ref(), open: true, whole: why.whole}
	t.cfg.Notes.stepBack(s, p)
	if try.Cause == record.CauseUnknown && !s.heard && len(r.unheard) < maxUnheard {
		r.unheard = append(r.unheard, unheard{try, r.episode, p.Ref()})
	}
	r.echo = echo{}
	if op.class == classRequest && try.Cause == record.CauseTimeout && (try.Place == record.AfterTap || try.Place == record.PlaceUnknown) {
		r.echo = echo{try: try, episode: r.episode, from: from, max: s.max}
	}
	r.last.note(p, from, try.Cause == record.CauseRNR)
}

// trueStart is where the requester began again: at what was refused, or at what
// the last NAK names, where that was not seen since, or is still what the responder waits for, even
// if p, beyond it, is the first that the tap sees.
func (s *stream) trueStart(p *Packet) uint32 {
	if r := &s.rec.rnr; r.valid && r.pass == s.passes && s.hasAcked && s.acked == r.psn && psnDiff(r.psn, p.PSN) < 0 && p.Time >= r.time+r.wait {
		return r.psn
	}
	n := s.rec.nak()
	switch {
	case !n.valid || psnDiff(n.psn, p.PSN) >= 0 || psnDiff(n.psn, s.ackedOr(s.start)) < 0:
	case n.open:
		return n.psn
	case s.hasAcked && s.acked == n.psn && (s.resp == nil || psnDiff(s.resp.max, n.psn) <= 0):
		return n.psn
	}
	return p.PSN
}

// minTimeout is the shortest silence, in nanoseconds, that is learnt from: a
// shorter one may be anything.
const minTimeout = 4_000_000

func (s *stream) learnTimeout(silence int64) {
	if s.timeout == 0 || silence < s.timeout {
		s.timeout = silence
	}
}

func (l *lastTries) note(p *Packet, psn uint32, rnr bool) {
	if l.n > 0 && l.psn == psn {
		l.spacing = between(l.first, p.Time) / int64(l.n)
		l.n++
	} else {
		*l = lastTries{psn: psn, n: 1, first: p.Time}
	}
	l.last, l.frame = p.Time, p.Ref()
	l.rnr, l.takes = rnr, takesBuffer(p.Opcode)
}

// lostFrom moves what was missing in the ending pass from psn on to what is
// gone, and says whether there was any, or psn itself is gone since an earlier
// pass. sent is when the packets of the ending pass were.
func (s *stream) lostFrom(psn uint32, sent idRange) bool {
	r := s.rec
	any := r.gone.has(psn)
	take := func(m span, soft bool) {
		if psnDiff(m.hi, psn) <= 0 {
			return
		}
		if psnDiff(m.lo, psn) < 0 {
			m.lo = psn
		}
		any = true
		r.gone.add(gone{span: m, soft: soft, sent: sent})
	}
	for _, m := range r.missing {
		take(m, false)
	}
	for _, m := range r.soft {
		if psnDiff(psn, m.lo) <= 0 && !s.selective && !r.sparse {
			take(m, psn == m.lo)
		}
	}
	return any
}

// reaction is why the requester went back.
type reaction struct {
	cause record.Cause
	react int64 // ns after what it reacted to, where has
	has   bool
	nak   *nakSeen // that it acted on
	whole bool     // from the first packet of the message, ahead of what nak names
}

// cause is why the requester went back to psn.
func (t *Tracker) cause(f *flow, p *Packet, op *operation, psn uint32) reaction {
	s := f.req
	r := s.rec
	if r.rnr.valid && r.rnr.pass == s.passes && r.rnr.psn == psn {
		return reaction{cause: record.CauseRNR, react: between(r.rnr.time+r.rnr.wait, p.Time), has: true}
	}
	half := t.halfTimeout(f)
	if n := r.nakFor(psn); n != nil && p.Time-n.time <= half {
		return reaction{cause: record.CauseNak, react: between(n.time, p.Time), has: true, nak: n}
	}
	if n := r.nak(); n.valid && n.pass == s.passes && p.Time-n.time <= half && psnDiff(psn, n.psn) < 0 && op.begins() && s.sameMessage(psn, n.psn) {
		return reaction{cause: record.CauseNak, react: between(n.time, p.Time), has: true, nak: n, whole: true}
	}
	if r.beyond.valid && r.beyond.pass == s.passes && r.beyond.psn == psn && p.Time-r.beyond.time <= half {
		return reaction{cause: record.CauseRead, react: between(r.beyond.time, p.Time), has: true}
	}
	if x := s.resp; x != nil && op.class == classOwing && psnDiff(x.max, psnAdd(psn, 1)) > 0 && p.Time-x.time <= half {
		return reaction{cause: record.CauseRead, react: between(x.time, p.Time), has: true} // it went by here, and got lost behind the tap
	}
	if s.heard && psnDiff(psn, s.start) >= 0 { // else what it waited for may be from before the capture
		return reaction{cause: record.CauseTimeout}
	}
	return reaction{cause: record.CauseUnknown}
}

// sameMessage says whether the message that begins at first holds psn.
func (s *stream) sameMessage(first, psn uint32) bool {
	for i := range s.messages {
		if m := &s.messages[i]; m.lo == first && !m.partial {
			return psnDiff(psn, m.hi) < 0 || !m.ended
		}
	}
	return false
}

// place is where the packets of the ended pass went. nak is what the requester
// acted on, lost says that packets were missing from psn on.
func (t *Tracker) place(f *flow, try *record.Try, psn uint32, nak *nakSeen, lost bool, responses goneResponses) record.Place {
	s := f.req
	last := s.rec.nak()
	inPass := last.valid && last.pass == s.passes
	switch {
	case try.Cause == record.CauseRNR:
		return record.Refused
	case lost || responses.before:
		return record.BeforeTap
	case nak != nil && nak.late || responses.late:
		return record.PlaceUnknown // nothing was lost
	case psnDiff(psn, s.start) < 0:
		return record.PlaceUnknown // the tap has not seen it, and it may be from before the capture
	case nak != nil && nak.after || inPass && last.psn == psn && last.after:
		return record.AfterTap
	case responses.seen:
		try.Partly = !s.hasAcked || psnDiff(s.acked, try.From) < 0
		return record.Answer
	case responses.after > 0:
		return record.AfterTap
	case !s.heard:
		return record.PlaceUnknown
	case s.hasAcked && psnDiff(s.acked, psn) > 0 && s.answering(psn):
		try.Partly = psnDiff(s.acked, try.From) < 0
		return record.Answer
	case inPass && psnDiff(last.psn, try.From) >= 0:
		return record.BeforeTap // the NAK names what the tap has not seen
	case try.Cause == record.CauseTimeout && s.inMessage && uint32(psnDiff(try.From, s.ackedOr(s.start))) < s.peak:
		return record.BeforeTap // it broke off in the middle of a message
	}
	return record.AfterTap
}

// answering says whether there was an answer since the pass that ends began at
// psn. That an earlier pass had one says nothing of what became of this one.
func (s *stream) answering(psn uint32) bool {
	l := &s.rec.last
	return l.n == 0 || l.psn != psn || s.lastAnswer >= l.last
}

// caughtUp ends the try whose pass has reached the old maximum.
func (t *Tracker) caughtUp(f *flow, p *Packet) {
	s := f.req
	r := s.rec
	mode := record.GoBackN
	switch {
	case r.lead.jump && r.try.Wasted.Packets > 1 && s.hasAcked && psnDiff(s.acked, r.tryMax) >= 0:
		// The rest was acknowledged before it was sent again.
	case r.lead.jump && r.try.Wasted.Packets > 1 && !s.heard:
		mode = record.ModeUnknown // it may have been
	case r.lead.jump:
		mode = record.Selective
		r.jumped = r.try
	case r.lead.whole:
		mode = record.GoBack0
	}
	t.endTry(f, mode)
	if r.episode != nil && psnDiff(s.pos, r.epMax) >= 0 {
		if !s.heard || s.hasAcked && psnDiff(s.acked, r.episode.Range.First) > 0 {
			t.endEpisode(f, p.Time, true)
			return
		}
		r.epDone = p.Time // an answer ends it, or another try goes on with it
	}
}

// nowHeard judges again the tries before the first answer was seen.
func (t *Tracker) nowHeard(f *flow) {
	r := f.req.rec
	if r == nil || len(r.unheard) == 0 {
		return
	}
	b := f.bad()
	for _, u := range r.unheard {
		b.tries[record.CauseUnknown]--
		b.tries[record.CauseTimeout]++
		b.silenceTime += u.try.Silence
		u.try.Cause = record.CauseTimeout
		if u.episode != nil && u.try.Number == 1 {
			u.episode.Cause = record.CauseTimeout
		}
		if u.try.Place == record.PlaceUnknown {
			t.movePlace(f, &echo{try: u.try, episode: u.episode}, record.AfterTap)
		}
		if m := b.marks; u.try != r.try && m != nil && u.try != m.ended {
			m.isTimeout(u.try, u.frame) // it was marked without a cause
		}
	}
	r.unheard = nil
}

// endTry reports the try that is under way.
func (t *Tracker) endTry(f *flow, mode record.Mode) {
	r := f.req.rec
	try := r.try
	if try == nil {
		return
	}
	try.Mode = mode
	b := f.bad()
	b.places[try.Place]++
	b.modes[mode]++
	if e := r.episode; e != nil {
		e.Resent.Packets += try.Resent.Packets
		e.Resent.Bytes += try.Resent.Bytes
		e.Wasted.Packets += try.Wasted.Packets
		e.Wasted.Bytes += try.Wasted.Bytes
		e.Lost += try.LostAfter
	}
	t.emitAt(f, r.lead.frame, try)
	r.try, r.lead = nil, tryLead{}
}

// endEpisode reports the episode that is open.
func (t *Tracker) endEpisode(f *flow, now int64, recovered bool) {
	r := f.req.rec
	e := r.episode
	if e == nil {
		return
	}
	e.Range.Last = (r.epMax - 1) & psnMask
	e.Took = between(r.epTime, now)
	f.bad().recovering += e.Took
	e.Recovered = recovered
	t.emitAt(f, r.epFrame, e)
	r.episode, r.epDone, r.sign = nil, 0, 0
}
