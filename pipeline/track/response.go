package track

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// responses is the sequence of READ and atomic responses that answer a stream.
type responses struct {
	begun   bool
	again   bool // a READ or an atomic was sent again since the last step back of the responses
	repeat  bool // there was a step back of the responses
	unasked bool // one was sent again though the tap saw nothing that asks for it
	ids     ids
	from    uint32 // the lowest PSN of those
	pos     uint32 // one past the last one seen
	max     uint32 // one past the highest seen
	missing spans  // jumped over in this pass
	doubt   spans  // of them, those of READs and atomics that were repeated, none of whose responses was seen: the request may be what is missing
	unseen  spans  // jumped over and in no pass seen
	paid    spans  // of what was missing, counted as lost
	time    int64  // of the last one
	goesOn  uint32 // one past that
	joined  span   // missing before the first one seen: they may have come before the capture
	// Responses came late in this pass: [lateLo, lateHi) holds them and what
	// overtook them.
	late           bool
	lateLo, lateHi uint32
	// jumbled are READs all of which came, in the wrong order.
	jumbled []jumbled
}

// jumbled is a READ whose responses the tap has seen in the wrong order. Most
// requesters drop those beyond a missing one and ask for them again; the READ
// is complete then, and now if they do not.
type jumbled struct {
	lo    uint32
	frame record.FrameRef // of the response that was the last to come
}

// maxOwed bounds the READs and atomics that are waited for. Of those that are
// answered maxAnswered are kept as well: their answers may be asked for again.
const (
	maxOwed     = 1 << 12
	maxAnswered = 32
)

// askedAgain notes that the responder will begin again at a PSN.
func (r *responses) askedAgain(psn uint32) {
	if !r.again || psnDiff(psn, r.from) < 0 {
		r.again, r.from = true, psn
	}
}

// response follows a READ or atomic response of g's sender to f's requests.
func (t *Tracker) response(g, f *flow, p *Packet, op *operation) {
	s := f.req
	if op.kind == record.Read && !op.ends() {
		switch {
		case s.notMTU != 0: // the PSNs of READs have told it so far: this is sure
			s.notMTU = 0
			s.guessed = s.guessed || s.readMTU != uint32(p.Payload)
			s.learnMTU(uint32(p.Payload))
		case uint32(p.Payload) > s.readMTU:
			s.learnMTU(uint32(p.Payload))
		}
	}
	next := psnAdd(p.PSN, 1)
	r := s.resp
	f.learnKnown()
	if s.readMTU != 0 && uint32(p.Payload) > s.readMTU {
		f.tooLong(uint32(p.Payload))
	}
	i := s.owedAt(p.PSN)
	if i >= 0 && op.kind == record.Read && op.part == partOnly && s.owed[i].kind == record.Read {
		f.whole(i, p)
	}
	t.conformResponse(g, f, p, op, i)
	if r == nil || i < 0 {
		if psnDiff(p.PSN, s.max) >= 0 || s.rec != nil && s.rec.unseen.has(p.PSN) {
			t.unseenRead(f, p, op)
			g.goodput += uint64(p.Payload)
			return
		}
		if r != nil && r.begun && psnDiff(p.PSN, r.max) < 0 {
			g.bad().responses.Retransmitted++ // of one that is complete
			t.cfg.Notes.again(p, false)
		} else {
			g.goodput += uint64(p.Payload)
		}
		t.acknowledge(f, p, p.PSN)
		return
	}
	if p.PSN == psnAdd(s.owed[i].lo, s.owed[i].got) {
		s.owed[i].got++
	}
	age := r.ids.take(p, psnDiff(p.PSN, r.pos) < 0, r.repeat)
	switch first := s.owedFrom(r.pos); {
	case age == idOlder: // it moves nothing
		if r.paid.remove(p.PSN, next) > 0 { // asked for again meanwhile, and taken for lost
			g.bad().responses.LostBeforeTap--
		}
		t.lateResponse(f, p, r.pos)
	case psnDiff(p.PSN, r.pos) >= 0:
		if p.PSN != first {
			if r.time == 0 {
				r.joined = span{first, p.PSN}
			}
			t.skipResponses(f, p, first)
		} else if b := s.rec; b != nil && b.beyond.overtook(p) && !s.owed[i].again {
			t.lateResponse(f, p, next) // an ACK has overtaken it
		}
		r.pos = next
	case r.again && (age == idNewer || p.PSN == r.from || !r.missing.has(p.PSN)): // the responder begins again
		b := g.bad()
		left := r.missing[:0]
		for _, m := range r.missing {
			if j := s.owedAt(m.lo); j >= 0 && !s.owed[j].again {
				left = append(left, m) // it is not asked for again yet
				continue
			}
			if psnDiff(m.lo, p.PSN) < 0 {
				m.lo = p.PSN
			}
			if psnDiff(m.hi, m.lo) > 0 {
				b.responses.LostBeforeTap += uint64(m.len() - r.doubt.overlap(m.lo, m.hi))
				r.paid.add(m.lo, m.hi)
			}
		}
		for _, m := range r.doubt {
			r.paid.remove(m.lo, m.hi)
		}
		r.missing, r.doubt, r.again, r.late, r.repeat = left, r.doubt[:0], false, false, true
		r.pos = next
	case r.unseen.has(p.PSN) && (age == idNewer || s.owed[i].again || r.joined.has(p.PSN) || r.unasked && p.PSN == r.goesOn): // it was sent again, whatever asked for it
		r.repeat, r.late = true, false
		r.pos = next
	case r.unseen.has(p.PSN): // others have overtaken it
		t.lateResponse(f, p, r.pos)
	default: // it was asked for again where the tap did not see it
		r.unasked, r.goesOn = true, next
	}
	if psnDiff(p.PSN, r.max) >= 0 {
		r.max = next
		g.goodput += uint64(p.Payload)
	} else {
		fill := r.unseen.remove(p.PSN, next) > 0
		if fill {
			g.goodput += uint64(p.Payload)
		}
		if (!fill || psnDiff(r.pos, next) == 0) && age != idOlder {
			g.bad().responses.Retransmitted++
			t.cfg.Notes.again(p, fill)
		}
	}
	r.missing.remove(p.PSN, next)
	r.time = p.Time
	// It acknowledges the requests before its own, and its own once it is the
	// last.
	lo, hi := s.owed[i].lo, s.owed[i].hi
	t.acknowledge(f, p, lo)
	t.sampleUpTo(f, p, lo)
	if next == hi || op.ends() || psnDiff(next, r.pos) < 0 && r.unseen.overlap(lo, hi) == 0 {
		t.completeOwed(f, p, i)
	}
}

// maxReads bounds the READs that are known by their responses alone.
const maxReads = 1 << 10

// unseenRead takes a response to a READ or an atomic that the tap did not see.
func (t *Tracker) unseenRead(f *flow, p *Packet, op *operation) {
	rec := t.recovery(f.req)
	f.bad().shown++
	next := psnAdd(p.PSN, 1)
	if last := len(rec.reads) - 1; last >= 0 && rec.reads[last].hi == p.PSN && !op.begins() {
		rec.reads[last].hi = next
	} else {
		if last >= 0 && !op.begins() {
			f.bad().gap(uint64(max(psnDiff(p.PSN, rec.reads[last].hi), 0)))
		}
		if len(rec.reads) == maxReads {
			rec.reads = rec.reads[:copy(rec.reads, rec.reads[1:])]
		}
		rec.reads = append(rec.reads, span{p.PSN, next})
	}
	if op.ends() {
		t.acknowledge(f, p, next)
		return
	}
	t.acknowledge(f, p, rec.reads[len(rec.reads)-1].lo)
}

// skipResponses notes the responses from first on that p jumped over.
func (t *Tracker) skipResponses(f *flow, p *Packet, first uint32) {
	s := f.req
	r := s.resp
	jumped := uint64(0)
	s.eachOwed(first, p.PSN, func(o *owed, lo, hi uint32) {
		r.missing.near(hi)
		r.missing.add(lo, hi)
		// Of a request for what it has done already, a responder misses
		// nothing.
		if o.again && hi == o.hi && (lo == o.lo || lo == r.from) && s.hasAcked && psnDiff(s.acked, o.lo) > 0 {
			r.doubt.add(lo, hi)
		}
		if psnDiff(hi, r.max) > 0 {
			if psnDiff(lo, r.max) < 0 {
				lo = r.max
			}
			r.unseen.near(hi)
			r.unseen.add(lo, hi)
			jumped += uint64(psnDiff(hi, lo))
		}
	})
	if jumped > 0 {
		f.bad().gap(jumped)
	}
	rec := t.recovery(s)
	rec.beyond = beyondSeen{psn: first, time: p.Time, pass: s.passes, valid: true}
	if rec.sign == 0 {
		rec.sign = p.Time
	}
}

// lateResponse notes a response that what is below hi has overtaken.
func (t *Tracker) lateResponse(f *flow, p *Packet, hi uint32) {
	r := f.req.resp
	f.bad().reordered++
	t.cfg.Notes.judge(p, decode.VerdictLate)
	if !r.late {
		r.late, r.lateLo = true, p.PSN
	}
	r.lateHi = hi
	t.emit(f, p, record.Reorder{PSN: p.PSN, Behind: uint32(max(psnDiff(r.pos, psnAdd(p.PSN, 1)), 0))})
}

// jumble notes that the READ at lo has come in the wrong order, with p as the
// last.
func (r *responses) jumble(lo uint32, p *Packet) {
	if !r.isJumbled(lo) {
		r.jumbled = append(r.jumbled, jumbled{lo, p.Ref()})
	}
}

func (r *responses) isJumbled(lo uint32) bool {
	return r != nil && len(r.jumbled) > 0 && slices.ContainsFunc(r.jumbled, func(j jumbled) bool { return j.lo == lo })
}

func (r *responses) unjumble(lo uint32) {
	if len(r.jumbled) > 0 {
		r.jumbled = slices.DeleteFunc(r.jumbled, func(j jumbled) bool { return j.lo == lo })
	}
}

// completeJumbled takes the oldest READ that came in the wrong order for
// complete: it was not asked for again.
func (t *Tracker) completeJumbled(f *flow) {
	s := f.req
	j := s.resp.jumbled[0]
	s.resp.jumbled = s.resp.jumbled[:copy(s.resp.jumbled, s.resp.jumbled[1:])]
	for i := range s.messages {
		if m := &s.messages[i]; m.lo == j.lo && m.owing && !m.done {
			m.done = true
			t.completed(f, m, j.frame)
		}
	}
}

// goneResponses are the responses that a step back gives up.
type goneResponses struct {
	before bool
	seen   bool // the tap saw the response
	late   bool // nothing is lost, they came in the wrong order
	after  uint64
}

// silentFor says whether p comes after a silence much longer than answers take.
func (f *flow) silentFor(p *Packet) bool {
	return f.lat == nil || f.lat.ack.Count == 0 || p.Time-max(f.req.last, f.req.lastAnswer) > 4*f.lat.ack.Min
}

// responsesGone judges the responses that a READ or an atomic, sent again as
// p, had before it. The requester has begun again at from.
func (t *Tracker) responsesGone(f *flow, p *Packet, op *operation, from uint32) (gone goneResponses) {
	s := f.req
	r := s.resp
	if r == nil || op.class != classOwing || s.rec.unseen.has(p.PSN) || psnDiff(p.PSN, s.start) < 0 {
		return gone
	}
	for _, m := range r.missing {
		if psnDiff(m.hi, p.PSN) > 0 && s.owedAt(m.lo) >= 0 && r.doubt.overlap(m.lo, m.hi) < m.len() {
			gone.before = true
			return gone
		}
	}
	if r.doubt.has(p.PSN) {
		gone.after = 1 // the request or a response, one of them
		f.bad().lost.AfterTap++
		return gone
	}
	switch i := s.owedAt(p.PSN); {
	case i >= 0 && p.PSN != s.owed[i].lo && p.PSN == r.max && r.again && r.from == p.PSN:
		// It broke off before, and the request or a response was lost again.
		gone.after = 1
	case i >= 0 && p.PSN != s.owed[i].lo && p.PSN == r.max && f.peer != nil && f.silentFor(p):
		// The answer broke off. What was sent of the rest is not known: at
		// least the first.
		t.touch(f.peer, p)
		f.peer.bad().responses.LostBeforeTap++
		gone.before = true
		return gone
	case i < 0 && psnDiff(p.PSN, r.max) < 0,
		i >= 0 && psnDiff(p.PSN, r.max) < 0 && !r.unseen.has(p.PSN):
		if r.late && psnDiff(p.PSN, r.lateLo) >= 0 && psnDiff(p.PSN, r.lateHi) < 0 {
			gone.late = true
			return gone
		}
		gone.after, gone.seen = 1, true
	case i >= 0 && p.PSN == from && p.PSN == s.owedFrom(r.pos) && s.seenInPass(p.PSN) && !(s.rec.nak().valid && s.rec.nak().psn == from) && f.silentFor(p):
		// Where the responses stand: the request or a response is lost, one
		// of them.
		gone.after = 1
	}
	f.bad().lost.AfterTap += gone.after
	return gone
}
