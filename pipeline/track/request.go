package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// newLifeJump is how many PSNs a stream's requests must be away from its
// position to be those of a new life of the QPN; many times what is in flight
// counts too.
const newLifeJump = 1 << 16

// request follows a request of f's sender.
func (t *Tracker) request(f *flow, p *Packet, op *operation) {
	s := f.req
	if p.Copy != NoCopy {
		t.copied(f, p)
		return
	}
	if p.Corrupt {
		t.corrupted(f, p)
		return
	}
	s.requestPath.see(p)
	n := uint32(1)
	if !s.begun {
		s.begin(p)
	}
	if op.class == classOwing || s.guessed || s.notMTU != 0 || s.mtu == 0 && len(s.owed) > 0 {
		n = t.readWidth(f, p, op)
	}
	d := psnDiff(p.PSN, s.pos)
	joined := d < 0 && s.ids.newerBelow(p, s.start)
	age := s.ids.take(p, d < 0, s.repeat)
	if joined && age == idUnknown {
		age = idNewer
	}
	if s.rec != nil && s.rec.guess.open {
		if t.settleGuess(f, p, d) {
			return
		}
		d = psnDiff(p.PSN, s.pos)
	}
	switch {
	case age == idOlder: // it moves nothing
		t.lateOriginal(f, p, n, false)
		return
	case d > 0:
		t.skip(f, p, uint32(d))
	case d < 0:
		if !t.behind(f, p, op, n, age) {
			return // a late original: it moves nothing
		}
	default:
		t.silence(f, p)
	}
	t.accept(f, p, op, n)
}

func (s *stream) begin(p *Packet) {
	s.begun = true
	s.start, s.pos, s.max, s.pass = p.PSN, p.PSN, p.PSN, p.PSN
	s.last = p.Time
}

// selectiveJump is how many packets a requester that has sent one packet again
// must jump over to repair selectively.
const selectiveJump = 3

// skip notes the PSNs that p jumped over.
func (t *Tracker) skip(f *flow, p *Packet, d uint32) {
	s := f.req
	r := t.recovery(s)
	lo, hi := s.pos, p.PSN
	if end := r.rnr.time + r.rnr.wait; s.repeat && r.rnr.valid && psnDiff(r.rnr.psn, hi) >= 0 && psnDiff(s.ackedOr(s.start), hi) >= 0 && s.last < end && end <= p.Time {
		return // it goes on with a refused packet, and all before that is acknowledged
	}
	if psnDiff(s.max, lo) > 0 && hi == s.max && s.repeat {
		// The end of a selective repair, or the last packets of a repeat that
		// are lost: only a step back to them would tell.
		if r.lead.open {
			r.lead.jump = true
		}
		if s.hasAcked && psnDiff(s.acked, lo) > 0 { // no need to send that
			lo = s.acked
		}
		if r.try != nil && r.try.Resent.Packets == 1 && psnDiff(hi, lo) >= selectiveJump {
			r.sparse = true
		}
		r.soft.add(lo, hi)
		return
	}
	if s.repeat && psnDiff(s.max, lo) > 0 && psnDiff(hi, s.max) > 0 && s.hasAcked && psnDiff(s.acked, s.max) >= 0 {
		lo = s.max // no need to send the rest again
	}
	if d := psnDiff(s.acked, lo); d > 0 && d < newLifeJump && (s.hasAcked || s.ackedEarly) && lo == s.max && (f.lat == nil || f.lat.ack.Count == 0) {
		// Acknowledged before, and of no packet yet the tap has seen both it and
		// its acknowledgement: they may be from before the capture.
		if lo = s.acked; psnDiff(hi, lo) <= 0 {
			return
		}
	}
	if r.gap == 0 {
		r.gap = p.Time
	}
	if r.sign == 0 {
		r.sign = p.Time
	}
	r.missing.near(hi)
	r.missing.add(lo, hi)
	if psnDiff(hi, s.max) > 0 {
		r.unseen.near(hi)
		from := s.max
		if psnDiff(lo, from) > 0 {
			from = lo
		}
		r.unseen.add(from, hi)
		f.bad().gap(uint64(psnDiff(hi, from)))
		if s.hasAcked && psnDiff(s.acked, from) > 0 { // acknowledged before: the capture lost them
			t.captureLost(f, p)
		}
	}
}

// accept moves the position behind a request.
func (t *Tracker) accept(f *flow, p *Packet, op *operation, n uint32) {
	s := f.req
	hi := psnAdd(p.PSN, n)
	isNew := psnDiff(p.PSN, s.max) >= 0
	if s.rec != nil {
		s.rec.nak().seen(p.PSN, hi)
	}
	if isNew {
		if s.rec != nil {
			s.rec.missing.remove(p.PSN, hi)
		}
		s.max = hi
		if s.readMTU != 0 && uint32(p.Payload) > s.readMTU {
			f.tooLong(uint32(p.Payload))
		}
		t.conform(f, p, op)
		s.spend(f, p, op)
		s.newPacket(p, op, n)
		f.goodput += uint64(p.Payload)
	} else {
		t.again(f, p, op, n)
		if psnDiff(hi, s.max) > 0 {
			s.max = hi
		}
	}
	s.pos = hi
	s.last = p.Time
	s.inMessage = !op.ends()
	s.lastOp = p.Opcode
	if op.class == classOwing {
		s.owe(p, op, hi, isNew)
	}
	if s.rec != nil && s.rec.try != nil && psnDiff(s.pos, s.rec.tryMax) >= 0 {
		t.caughtUp(f, p)
	}
	out := uint32(psnDiff(s.max, s.ackedOr(s.start)))
	if out > s.peak && out < halfWindow {
		s.peak = out
	}
	if iv := t.interval(f); iv != nil {
		iv.outstanding(out, s.cum-s.cumAcked)
	}
	if s.spent != nil {
		s.spent.sent(s, out)
	}
	if out := s.cum - s.cumAcked; out > s.peakBytes {
		s.peakBytes = out
	}
}

func (s *stream) ackedOr(psn uint32) uint32 {
	if s.hasAcked {
		return s.acked
	}
	return psn
}

// again counts a request below the maximum.
func (t *Tracker) again(f *flow, p *Packet, op *operation, n uint32) {
	s := f.req
	r := t.recovery(s)
	b := f.bad()
	hi := psnAdd(p.PSN, n)
	r.missing.remove(p.PSN, hi)
	if last := len(s.messages) - 1; last >= 0 && op.begins() && psnDiff(p.PSN, s.messages[last].lo) > 0 {
		s.left = unknownLeft // the READ before it takes fewer PSNs than was thought
	}
	b.retransmitted.Packets++
	b.retransmitted.Bytes += uint64(p.Payload)
	if s.fills(p.PSN, hi) {
		b.retransmitted.Fills++
		t.cfg.Notes.again(p, true)
		f.goodput += uint64(p.Payload)
		t.fillMessage(s, p, n)
	} else {
		b.retransmitted.Repeats++
		t.cfg.Notes.again(p, false)
	}
	t.lostBefore(f, p, r.gone.take(p.PSN, hi, s.passes, &r.paid))
	wasted := r.before.has(p.PSN)
	t.cfg.Notes.resent(s, p, wasted)
	if wasted {
		b.wasted.Packets++
		b.wasted.Bytes += uint64(p.Payload)
	}
	if r.try != nil {
		r.try.Resent.Packets++
		r.try.Resent.Bytes += uint64(p.Payload)
		if wasted {
			r.try.Wasted.Packets++
			r.try.Wasted.Bytes += uint64(p.Payload)
		}
	}
}

// lostBefore counts losses ahead of the tap, which p repairs.
func (t *Tracker) lostBefore(f *flow, p *Packet, lost uint64) {
	if lost == 0 {
		return
	}
	r, b := f.req.rec, f.bad()
	b.lost.BeforeTap += lost
	if r.try != nil {
		r.try.LostBefore += lost
	}
	if r.episode != nil {
		r.episode.Lost += lost
	}
	for range lost {
		if i := indexOf(r.corrupt, p.PSN); i >= 0 {
			b.lost.Corrupt++
			r.corrupt = append(r.corrupt[:i], r.corrupt[i+1:]...)
		}
	}
}

func indexOf(list []uint32, v uint32) int {
	for i, x := range list {
		if x == v {
			return i
		}
	}
	return -1
}

// copied counts a packet that is the same as one before it.
func (t *Tracker) copied(f *flow, p *Packet) {
	b := f.bad()
	if p.Copy == CopyNetwork {
		b.duplicates.Network++
		if op, _ := operationOf(p.Opcode); op.class == classRequest || op.class == classOwing {
			b.requestCopies++
		}
		t.emit(f, p, record.Duplicate{PSN: p.PSN, Network: true})
		return
	}
	b.duplicates.Capture++
}

// maxCorrupt is how many corrupt packets of one pass are kept.
const maxCorrupt = 64

// corrupted notes a packet with a wrong ICRC. It moves nothing.
func (t *Tracker) corrupted(f *flow, p *Packet) {
	f.bad().icrcBad++
	r := t.recovery(f.req)
	if len(r.corrupt) < maxCorrupt {
		r.corrupt = append(r.corrupt, p.PSN)
	}
	t.emit(f, p, record.Corrupt{PSN: p.PSN})
}
