package track

// owe notes the responses that a READ or an atomic asks for.
func (s *stream) owe(p *Packet, op *operation, hi uint32, isNew bool) {
	for i := range s.owed {
		if psnDiff(s.owed[i].lo, p.PSN) <= 0 && psnDiff(s.owed[i].hi, hi) >= 0 {
			s.owed[i].again = true
			s.resp.unjumble(s.owed[i].lo)
			if psnDiff(s.resp.max, s.owed[i].lo) > 0 || len(s.resp.missing) > 0 {
				s.resp.askedAgain(p.PSN)
			}
			s.unanswer(i)
			return // asked again for what is owed
		}
	}
	if len(s.owed) == maxOwed {
		s.dropOwed(0)
	}
	i := len(s.owed)
	for i > 0 && psnDiff(s.owed[i-1].lo, p.PSN) > 0 {
		i--
	}
	if s.reads == &noReads {
		s.reads = &reads{resp: new(responses)}
	}
	if !s.resp.begun {
		s.resp.begun = true
		s.resp.pos, s.resp.max = p.PSN, p.PSN
		if s.ackedEarly && !s.hasAcked && psnDiff(s.acked, p.PSN) > 0 { // answered before: the capture began later
			s.resp.pos, s.resp.max = s.acked, s.acked
		}
	}
	s.owed = append(s.owed, owed{})
	copy(s.owed[i+1:], s.owed[i:])
	s.owed[i] = owed{lo: p.PSN, hi: hi, bytes: p.DMALen, kind: op.kind, again: !isNew || psnDiff(p.PSN, s.resp.max) < 0}
	if psnDiff(p.PSN, s.resp.max) < 0 {
		s.resp.askedAgain(p.PSN) // for what the tap has seen answered
	}
}

// owedAt is the index of what owes psn, -1 where nothing does.
func (s *stream) owedAt(psn uint32) int {
	for i := range s.owed {
		if psnDiff(psn, s.owed[i].lo) >= 0 && psnDiff(psn, s.owed[i].hi) < 0 {
			return i
		}
	}
	return -1
}

// owedFrom is the first PSN from psn on that is owed.
func (s *stream) owedFrom(psn uint32) uint32 {
	for i := range s.owed {
		if psnDiff(psn, s.owed[i].hi) < 0 {
			if psnDiff(psn, s.owed[i].lo) < 0 {
				return s.owed[i].lo
			}
			return psn
		}
	}
	return psn
}

// eachOwed calls do with the parts of [lo, hi) that are owed, but for those of
// which the answer was seen and that were asked for once.
func (s *stream) eachOwed(lo, hi uint32, do func(o *owed, lo, hi uint32)) {
	for i := range s.owed {
		a, b := s.owed[i].lo, s.owed[i].hi
		if psnDiff(a, lo) < 0 {
			a = lo
		}
		if psnDiff(b, hi) > 0 {
			b = hi
		}
		if (!s.owed[i].answered || s.owed[i].again) && psnDiff(b, a) > 0 {
			do(&s.owed[i], a, b)
		}
	}
}

// jumpOwed notes an acknowledgement of what lies beyond a READ or an atomic
// that is not answered: to the requester that is as good as a NAK.
func (t *Tracker) jumpOwed(s *stream, p *Packet) {
	first := s.owedFrom(s.resp.pos)
	if i := s.owedAt(first); i >= 0 && !s.owed[i].answered && psnDiff(p.PSN, first) > 0 {
		t.recovery(s).beyond = beyondSeen{psn: first, time: p.Time, pass: s.passes, valid: true, ack: true, id: p.ID, hasID: p.hasID()}
	}
}

// completeOwed closes what index i owes, if nothing of it is missing.
func (t *Tracker) completeOwed(f *flow, p *Packet, i int) {
	s := f.req
	o := s.owed[i]
	if s.resp.unseen.overlap(o.lo, o.hi) > 0 {
		return
	}
	if psnAdd(o.lo, o.got) == o.hi {
		s.resp.unjumble(o.lo)
	} else {
		s.resp.jumble(o.lo, p)
	}
	if !o.answered {
		s.owed[i].answered = true
		if s.answered++; s.answered > maxAnswered {
			for j := range s.owed {
				if s.owed[j].answered {
					s.dropOwed(j)
					break
				}
			}
		}
	}
	for len(s.resp.jumbled) > 0 && s.owedAt(s.resp.jumbled[0].lo) < 0 {
		t.completeJumbled(f)
	}
	t.acknowledge(f, p, o.hi)
	t.complete(f, p, o.hi, true)
}

func (s *stream) dropOwed(i int) {
	if s.owed[i].answered {
		s.answered--
	}
	s.owed = append(s.owed[:i], s.owed[i+1:]...)
}

// unanswer waits again for what index i owes.
func (s *stream) unanswer(i int) {
	if s.owed[i].answered {
		s.owed[i].answered = false
		s.answered--
	}
}

// waitsFor says whether a READ or an atomic at psn is not answered.
func (s *stream) waitsFor(psn uint32) bool {
	i := s.owedAt(psn)
	return i >= 0 && !s.owed[i].answered
}
