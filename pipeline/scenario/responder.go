package scenario

// responder is the receiving half of a QP: it executes the requests of one
// stream and answers them.
type responder struct {
	st  *stream
	cfg *Responder

	expected uint64
	msn      uint64
	// nak says that a NAK for the expected PSN was sent: there is one a gap.
	nak bool
	// refused says that this NAK was an RNR NAK.
	refused bool
	dead    bool
	kept    map[uint64]*packet // beyond a gap, where they are kept
	refusal map[int]int        // how often a message was refused

	queue   []*answer
	sending bool
	free    int64
	nth     map[uint64]int
}

// answer is a packet that waits to be sent, in order.
type answer struct {
	p     *packet
	ready int64
}

func newResponder(st *stream) *responder {
	return &responder{
		st: st, cfg: &st.sess.spec.Responder,
		kept: make(map[uint64]*packet), refusal: make(map[int]int), nth: make(map[uint64]int),
	}
}

// side is which side the responder is on.
func (r *responder) side() int { return 1 - r.st.index }

func (r *responder) receive(p *packet) {
	n := r.counters()
	switch {
	case r.dead:
	case !r.st.req.reliable():
		r.deliver(p)
	case p.psn == r.expected:
		r.accept(p)
		for q := r.kept[r.expected]; q != nil && !r.nak; q = r.kept[r.expected] {
			delete(r.kept, r.expected)
			r.accept(q)
		}
		if len(r.kept) > 0 && !r.nak && !r.cfg.KeepQuiet {
			r.sequenceNAK(p, false) // the next gap
		}
	case p.psn > r.expected:
		n.OutOfSequence++
		r.beyond(p)
	default:
		n.DuplicateRequest++
		r.duplicate(p)
	}
}

func (r *responder) counters() *Counters { return r.st.sess.counters(r.side()) }

// deliver takes a packet of a service that answers nothing. A message is done
// when all of it came.
func (r *responder) deliver(p *packet) {
	m := r.st.req.msgs[p.msg]
	if !p.copied {
		m.came++
	}
	m.truth.Done = m.came >= m.psns
}

// accept takes the packet that is expected.
func (r *responder) accept(p *packet) {
	m := r.st.req.msgs[p.msg]
	if r.refuses(p) {
		return
	}
	for _, x := range r.cfg.Reject {
		if x.Stream == r.st.index && x.Message == p.msg {
			r.dead = true
			r.negative(p, x.Code, r.expected, false)
			return
		}
	}
	r.expected += p.psns
	r.executed(m, p)
	r.nak, r.refused = false, false
	if p.last {
		r.msn++
	}
	switch {
	case m.Kind == Read:
		r.read(p)
	case m.atomic():
		r.add(r.make(p, opAtomicAck, p.psn))
	case p.ackReq:
		r.acknowledge(p)
	}
}

// refuses answers a message that finds no receive buffer with an RNR NAK.
func (r *responder) refuses(p *packet) bool {
	takesBuffer := p.start && isSend(p.op) || p.op&0x1f == opWriteLastImm || p.op&0x1f == opWriteOnlyImm
	if !takesBuffer {
		return false
	}
	for _, x := range r.cfg.Refuse {
		if x.Stream != r.st.index || x.Message != p.msg || r.refusal[p.msg] >= x.Times {
			continue
		}
		r.refusal[p.msg]++
		r.counters().OutOfBuffer++
		r.nak, r.refused = true, true
		r.negative(p, syndromeRNR|x.Timer, p.psn, false)
		return true
	}
	return false
}

// beyond handles a packet behind a gap.
func (r *responder) beyond(p *packet) {
	if r.refused {
		if r.cfg.NAKAfterRNR {
			r.refused = false
			r.sequenceNAK(p, true)
		}
		return
	}
	if r.cfg.OutOfOrder {
		r.kept[p.psn] = p
		if r.cfg.KeepQuiet {
			return
		}
	}
	if !r.nak {
		r.sequenceNAK(p, false)
	}
}

func (r *responder) sequenceNAK(p *packet, quirk bool) {
	r.nak = true
	r.negative(p, syndromeNAK, r.expected, quirk)
}

// duplicate handles a packet that was executed already: it is answered again.
func (r *responder) duplicate(p *packet) {
	m := r.st.req.msgs[p.msg]
	switch {
	case m.Kind == Read:
		r.executed(m, p)
		r.read(p)
	case m.atomic():
		r.add(r.make(p, opAtomicAck, p.psn))
	default:
		r.acknowledge(p)
	}
}

// executed counts what the card counts.
func (r *responder) executed(m *message, p *packet) {
	n := r.counters()
	switch {
	case m.Kind == Read:
		n.ReadRequests++
	case m.atomic():
		n.AtomicRequests++
	case p.start && (m.Kind == Write || m.Kind == WriteImm):
		n.WriteRequests++
	}
}

// read queues the answer to a READ.
func (r *responder) read(p *packet) {
	m := r.st.req.msgs[p.msg]
	mtu := uint64(r.st.sess.spec.PathMTU)
	for i := range p.psns {
		psn := p.psn + i
		first := i == 0 && !(p.resumed && r.cfg.ResumeMiddle)
		last := i == p.psns-1
		op := uint8(opReadRespMiddle)
		switch {
		case first && last:
			op = opReadRespOnly
		case first:
			op = opReadRespFirst
		case last:
			op = opReadRespLast
		}
		a := r.make(p, op, psn)
		a.last = last
		a.payload = int(min(mtu, uint64(m.Len)-(psn-m.first)*mtu))
		r.add(a)
	}
}

// acknowledge queues an ACK for everything that was received. Where one is
// waiting at the end of the queue, that says it all.
func (r *responder) acknowledge(p *packet) {
	a := r.make(p, opAcknowledge, r.expected-1)
	if a.syndrome = syndromeACK; r.cfg.Credits != 0 {
		a.syndrome = r.cfg.Credits
	}
	if n := len(r.queue); n > 0 {
		if tail := r.queue[n-1]; tail.p.op&0x1f == opAcknowledge && tail.p.syndrome == a.syndrome {
			tail.p = a
			return
		}
	}
	r.add(a)
}

// negative queues a NAK.
func (r *responder) negative(p *packet, syndrome uint8, psn uint64, quirk bool) {
	a := r.make(p, opAcknowledge, psn)
	a.syndrome = syndrome
	a.nak = &NAK{Code: syndrome, Pass: p.pass, PSN: r.st.sess.wirePSN(r.st.index, psn), Quirk: quirk}
	if syndrome&0xe0 == syndromeRNR {
		a.nak.Timer = rnrTimer(syndrome & 0x1f)
	}
	r.add(a)
}

// make makes an answer to a request.
func (r *responder) make(p *packet, oper uint8, psn uint64) *packet {
	return &packet{
		sess: r.st.sess, from: r.side(), stream: r.st.index, kind: kindAnswer, psn: psn, psns: 1,
		pass: p.pass, msg: p.msg, op: oper | group(r.st.sess.spec.Service), ecn: ecnECT0, dscp: dscpData,
		syndrome: syndromeACK, msn: r.msn,
	}
}

func (r *responder) add(p *packet) {
	s := r.st.sess.s
	r.queue = append(r.queue, &answer{p, s.now + int64(r.cfg.Delay)})
	r.pump()
}

// pump sends the queue, a packet at a time.
func (r *responder) pump() {
	if r.sending || len(r.queue) == 0 {
		return
	}
	r.sending = true
	s := r.st.sess.s
	s.at(max(r.queue[0].ready, r.free), func() {
		r.sending = false
		p := r.queue[0].p
		r.queue = r.queue[1:]
		gap := float64(s.serialise(p)) / r.st.sess.qps[r.side()].share
		r.free = s.now + int64(gap)
		p.nth = r.nth[p.psn]
		r.nth[p.psn]++
		r.st.truth.Sent.Answers++
		if p.nak != nil {
			p.nak.Time = stamp(s.now)
			r.st.truth.NAKs = append(r.st.truth.NAKs, p.nak)
		}
		s.transmit(p)
		r.pump()
	})
}
