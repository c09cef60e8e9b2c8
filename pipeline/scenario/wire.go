package scenario

import "slices"

// transmit sends a packet: through its host's port, past the tap, to the other
// side.
func (s *simulation) transmit(p *packet) {
	h := s.hostOf(p.sess, p.from)
	p.sess.mark(p)
	switch s.spec.Network.IPID {
	case IPIDRising:
		h.ipid++
		p.ipid = h.ipid
	case IPIDConstant:
		p.ipid = 0x1234
	}
	h.free = max(h.free, s.now) + s.serialise(p)
	before, after := int64(s.spec.Network.LatencyA), int64(s.spec.Network.LatencyB)
	if p.from == 1 {
		before, after = after, before
	}
	if s.line != nil {
		s.transmitOnLine(p, h.free, before, after)
		return
	}
	s.hop(p, BeforeTap, h.free+before, func(p *packet) {
		s.tap.see(p)
		s.hop(p, AfterTap, s.now+after, func(p *packet) { p.sess.receive(p) })
	})
}

// transmitOnLine is likewise, with points at both ends.
func (s *simulation) transmitOnLine(p *packet, leaves, before, after int64) {
	l := s.line
	s.at(leaves, func() {
		l.end(2*p.from, p)
		l.depart(p, BeforeTap, s.now)
		s.hop(p, BeforeTap, l.queue(p, BeforeTap, s.now+before), func(p *packet) {
			l.arrived(p, BeforeTap)
			if l.points[AtTap].captures(l, p) {
				s.tap.see(p)
			}
			l.depart(p, AfterTap, s.now)
			s.hop(p, AfterTap, l.queue(p, AfterTap, s.now+after), func(p *packet) {
				l.arrived(p, AfterTap)
				l.end(2*(1-p.from), p)
				p.sess.receive(p)
			})
		})
	})
}

// hop carries a packet over one part of its way, with the faults that lie
// there. It is due at a time if nothing delays it.
func (s *simulation) hop(p *packet, where Where, due int64, arrive func(*packet)) {
	var twice *Hit
	for i := range s.spec.Faults {
		f := &s.spec.Faults[i]
		if f.Where != where || !f.fits(p, s.now) || !s.strikes(f) {
			continue
		}
		if s.line != nil && (f.Action != MarkCE || p.ecn != ecnCE && p.ecn != 0) {
			s.line.did(p, where, f.Action)
		}
		switch f.Action {
		case Drop:
			s.lose(p, where)
			return
		case Corrupt:
			p.corrupt = true
			st := p.sess.streams[p.stream]
			l := s.loss(p, where)
			st.truth.Corruptions = append(st.truth.Corruptions, l)
			p.damage = l
		case Delay:
			due += int64(f.Delay)
			s.note(p, where, &p.sess.streams[p.stream].truth.Reorders)
		case MarkCE:
			if p.ecn == ecnCE || p.ecn == 0 {
				break // marked already, or it can't be
			}
			p.ecn = ecnCE
			s.note(p, where, &p.sess.streams[p.stream].truth.CE)
		case Duplicate:
			twice = s.note(p, where, &p.sess.streams[p.stream].truth.Duplicates)
		}
	}
	s.at(due, func() { arrive(p) })
	if twice != nil {
		q := *p
		q.copied = true
		q.hits, q.copyOf = nil, nil
		if where == BeforeTap {
			q.copyOf = twice
		}
		const apart = 700 // ns
		s.at(due+apart, func() { arrive(&q) })
	}
}

// fits says whether a fault is about a packet.
func (f *Fault) fits(p *packet, now int64) bool {
	if f.Session != All && f.Session != p.sess.id || f.Stream != All && f.Stream != p.stream ||
		now < int64(f.From) || f.To > 0 && now >= int64(f.To) || p.copied {
		return false
	}
	switch f.Subject {
	case Requests:
		if p.kind != kindRequest {
			return false
		}
	case Answers:
		if p.kind != kindAnswer {
			return false
		}
	case AnyData:
		if p.kind != kindRequest && p.kind != kindAnswer {
			return false
		}
	case CNPs:
		if p.kind != kindCNP {
			return false
		}
	case MADs:
		if p.kind != kindMAD {
			return false
		}
	case Everything:
	}
	if f.Transmission != All && f.Transmission != p.nth {
		return false
	}
	if f.Index == All {
		return true
	}
	first := uint64(f.Index)
	return p.psn >= first && p.psn < first+uint64(max(1, f.Count))
}

// strikes says whether a fault that is about a packet really hits it.
func (s *simulation) strikes(f *Fault) bool {
	if f.Limit > 0 && f.done >= f.Limit {
		return false
	}
	f.matched++
	if f.Every > 0 && f.matched%f.Every != 0 || f.Rate > 0 && s.rng.Float64() >= f.Rate {
		return false
	}
	f.done++
	return true
}

// lose notes that a packet is gone.
func (s *simulation) lose(p *packet, where Where) {
	st := p.sess.streams[p.stream]
	l := s.loss(p, where)
	st.truth.Drops = append(st.truth.Drops, l)
	if p.nak != nil {
		p.nak.Lost = where
	}
}

func (s *simulation) loss(p *packet, where Where) *Loss {
	l := &Loss{
		Kind: p.kind.String(), Op: p.op, PSN: p.wirePSN(), Pass: p.pass, Nth: p.nth, Where: where,
		Time: stamp(s.now), Frame: p.frame, psn: p.psn, kind: p.kind, order: p.order,
	}
	return l
}

// note lists a packet that something was done to. The frame follows when the
// tap sees it.
func (s *simulation) note(p *packet, where Where, list *[]*Hit) *Hit {
	h := &Hit{Kind: p.kind.String(), PSN: p.wirePSN(), Pass: p.pass, Where: where, Time: stamp(s.now), Frame: p.frame, psn: p.psn}
	if p.kind == kindCNP {
		h.From = sideName(p.from)
	}
	*list = append(*list, h)
	if where == BeforeTap {
		p.hits = append(slices.Clip(p.hits), h)
	}
	return h
}
