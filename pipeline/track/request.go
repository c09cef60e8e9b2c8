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
	n := uint32(1)
	if !s.begun {
		s.begin(p)
	}
	if op.class == classOwing || s.unsureRead() {
		n = t.readWidth(f, p, op)
	}
	d := psnDiff(p.PSN, s.pos)
	age := s.takeID(p, d)
	if s.rec != nil && s.rec.guess.open && t.settleGuess(f, p, d) {
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
		s.turnRound(p)
	}
	t.accept(f, p, op, n)
}

func (s *stream) begin(p *Packet) {
	s.begun = true
	s.start, s.pos, s.max, s.pass = p.PSN, p.PSN, p.PSN, p.PSN
	s.last = p.Time
}

// takeID compares the packet's IP ID with the newest one, and says what that
// makes of a packet that is d PSNs ahead of the position. IDs are usable where
// they rise with the order in which packets are sent: one that is older with a
// PSN that is not shows that they do not.
func (s *stream) takeID(p *Packet, d int32) idAge {
	if !p.is(hasID) {
		return idUnknown
	}
	if !s.hasID {
		s.id, s.hasID = p.ID, true
		return idUnknown
	}
	usable := s.idSteps >= 3 && s.idFalls*8 <= s.idSteps
	switch step := int16(p.ID - s.id); {
	case step > 0:
		s.id = p.ID
		if s.idSteps < 255 {
			s.idSteps++
		} else if s.idFalls > 0 {
			s.idFalls--
		}
		if usable {
			return idNewer
		}
	case step < 0 && usable && (d < 0 || s.repeat):
		return idOlder
	default:
		s.id = p.ID
		if s.idFalls < 32 {
			s.idFalls++
		}
	}
	return idUnknown
}

type idAge uint8

const (
	idUnknown idAge = iota
	idNewer
	idOlder
)

// skip notes the PSNs that p jumped over.
func (t *Tracker) skip(f *flow, p *Packet, d uint32) {
	s := f.req
	r := s.recovery()
	lo, hi := s.pos, p.PSN
	if psnDiff(s.max, lo) > 0 && hi == s.max && s.repeat {
		// The end of a selective repair, or the last packets of a repeat that
		// are lost: only a step back to them would tell.
		if r.lead.open {
			r.lead.jump = true
		}
		r.soft.add(lo, hi)
		return
	}
	if r.gap == 0 {
		r.gap = p.Time
	}
	if r.sign == 0 {
		r.sign = p.Time
	}
	r.missing.add(lo, hi)
	if psnDiff(hi, s.max) > 0 {
		from := s.max
		if psnDiff(lo, from) > 0 {
			from = lo
		}
		r.unseen.add(from, hi)
		if s.hasAcked && psnDiff(s.acked, from) > 0 { // acknowledged before: the capture lost them
			t.captureLost(f, p)
		}
	}
}

// behind judges a packet below the position. It returns false for one that
// moves no position.
func (t *Tracker) behind(f *flow, p *Packet, op *operation, n uint32, age idAge) bool {
	s := f.req
	r := s.recovery()
	switch {
	case age == idUnknown && r.unseen.has(p.PSN) && !t.asked(f, p) && p.Time-r.gap < t.halfTimeout(f):
		r.guess = guess{open: true, lo: p.PSN, hi: psnAdd(p.PSN, n), first: *p}
		return false
	}
	t.stepBack(f, p, op)
	return true
}

// asked says whether something that the tap saw asks for p to be sent again.
func (t *Tracker) asked(f *flow, p *Packet) bool {
	s := f.req
	r := s.rec
	return r.nakFor(p.PSN) != nil ||
		r.rnr.valid && r.rnr.psn == p.PSN && r.rnr.pass == s.passes ||
		s.repeat && psnDiff(s.max, s.pos) > 0
}

// settleGuess decides on the packets that came behind the position, now that
// p follows them; it returns true where the position has moved.
func (t *Tracker) settleGuess(f *flow, p *Packet, d int32) bool {
	s := f.req
	r := s.rec
	g := &r.guess
	if d < 0 && p.PSN == g.hi && r.unseen.has(p.PSN) {
		g.rest++
		g.hi = psnAdd(g.hi, 1)
		r.unseen.remove(p.PSN, g.hi)
		r.missing.remove(p.PSN, g.hi)
		return false
	}
	g.open = false
	if d < 0 && !r.unseen.has(p.PSN) { // a repeat follows: it was a step back
		op, _ := operationOf(g.first.Opcode)
		t.stepBack(f, &g.first, op)
		t.accept(f, &g.first, op, t.readWidth(f, &g.first, op))
		s.pos = g.hi
		return true
	}
	t.lateOriginal(f, &g.first, (g.hi-g.lo)&psnMask, true)
	return false
}

// lateOriginal takes a packet that others overtook.
func (t *Tracker) lateOriginal(f *flow, p *Packet, n uint32, guessed bool) {
	s := f.req
	r := s.recovery()
	b := f.bad()
	b.reordered++
	hi := psnAdd(p.PSN, n)
	r.nak().seen(p.PSN, hi)
	late := p.Time - r.gap
	if r.gap == 0 {
		late = 0
	}
	r.missing.remove(p.PSN, hi)
	r.gone = removeFrom(r.gone, p.PSN, hi, nil)
	if psnDiff(p.PSN, s.max) >= 0 { // of the pass before, and the highest of it
		r.unseen.add(s.max, hi)
		s.max = hi
	}
	if r.unseen.remove(p.PSN, hi) > 0 {
		f.goodput += uint64(p.Payload)
		t.fillMessage(s, p, n)
	}
	if len(r.missing) == 0 {
		r.gap = 0
		if r.try == nil {
			r.sign = 0
		}
	}
	if !r.late {
		r.late, r.lateLo, r.lateHi = true, p.PSN, s.pos
	}
	if psnDiff(p.PSN, r.lateLo) < 0 {
		r.lateLo = p.PSN
	}
	if psnDiff(s.pos, r.lateHi) > 0 {
		r.lateHi = s.pos
	}
	if guessed {
		r.lateGuessed++
	}
	t.emit(f, p, record.Reorder{PSN: p.PSN, Behind: uint32(max(psnDiff(s.pos, hi), 0)), Late: late})
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
		s.owe(p, op, hi)
	}
	if s.rec != nil && s.rec.try != nil && psnDiff(s.pos, s.rec.tryMax) >= 0 {
		t.caughtUp(f, p)
	}
	if out := uint32(psnDiff(s.max, s.ackedOr(s.start))); out > s.peak && out < halfWindow {
		s.peak = out
	}
	if out := s.cum - s.cumAcked; out > s.peakBytes {
		s.peakBytes = out
	}
}

// turnRound takes the time from an answer that the requester waited for, all of
// it or a full window, to its next request.
func (s *stream) turnRound(p *Packet) {
	if !s.waited || s.lastAnswer < s.last {
		return
	}
	s.waited = false
	if turn := p.Time - s.lastAnswer; s.turns == 0 || turn < s.turn {
		s.turn = turn
	}
	s.turns++
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
	r := s.recovery()
	b := f.bad()
	hi := psnAdd(p.PSN, n)
	r.missing.remove(p.PSN, hi)
	b.retransmitted.Packets++
	b.retransmitted.Bytes += uint64(p.Payload)
	if r.unseen.remove(p.PSN, hi) > 0 {
		b.retransmitted.Fills++
		f.goodput += uint64(p.Payload)
		t.fillMessage(s, p, n)
	} else {
		b.retransmitted.Repeats++
	}
	r.gone = removeFrom(r.gone, p.PSN, hi, func() {
		b.lost.BeforeTap++
		if r.try != nil {
			r.try.LostBefore++
		}
		if r.episode != nil {
			r.episode.Lost++
		}
		if i := indexOf(r.corrupt, p.PSN); i >= 0 {
			b.lost.Corrupt++
			r.corrupt = append(r.corrupt[:i], r.corrupt[i+1:]...)
		}
	})
	wasted := r.before.has(p.PSN)
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

// removeFrom takes [lo, hi) out of each span of a list, and calls found once
// for each that held some of it.
func removeFrom(list []span, lo, hi uint32, found func()) []span {
	for i := 0; i < len(list); i++ {
		one := spans{list[i]}
		if one.remove(lo, hi) == 0 {
			continue
		}
		if found != nil {
			found()
		}
		switch len(one) {
		case 0:
			list = append(list[:i], list[i+1:]...)
			i--
		case 1:
			list[i] = one[0]
		default:
			list[i] = one[0]
			list = append(list, one[1])
		}
	}
	return list
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
	r := f.req.recovery()
	if len(r.corrupt) < maxCorrupt {
		r.corrupt = append(r.corrupt, p.PSN)
	}
	t.emit(f, p, record.Corrupt{PSN: p.PSN})
}
