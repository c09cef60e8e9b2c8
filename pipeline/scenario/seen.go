package scenario

// tapStream is what the tap has seen of a stream: the words of the truth
// (position, maximum, fill, repeat) with the requester's own marks instead of
// conclusions.
//
// A READ's PSNs are one step: what it takes is in its request.
type tapStream struct {
	started bool
	base    uint64 // PSN of the first request
	pos     uint64 // one past the last request
	max     uint64
	pass    int            // the requester's, of the newest request
	order   uint64         // of the newest request
	oldest  uint64         // order of the first one
	tapPass int            // steps back that showed
	seen    map[uint64]int // tapPass in which a PSN was last seen, + 1
	// ends is, for each of the requester's passes, one past the highest PSN
	// seen; edge whether that ended a message.
	ends    map[int]uint64
	missing []span // jumped over in this pass, as far as the tap knows
	edge    map[int]bool
	answer  uint64 // of answers: one past the highest
	rnrPass int    // the pass in which an RNR NAK was captured, + 1
	rnrPSN  uint64
}

// span is some PSNs, without the last one.
type span struct{ from, to uint64 }

func (t *tapStream) init() {
	t.seen = make(map[uint64]int)
	t.ends = make(map[int]uint64)
	t.edge = make(map[int]bool)
}

// seen is called with each packet that is captured.
func (se *session) seen(p *packet) {
	for _, h := range p.hits {
		h.Time, h.Frame = stamp(se.s.now), p.frame
	}
	p.hits = nil
	if p.copyOf != nil {
		p.copyOf.Copy = p.frame
	}
	if p.damage != nil {
		p.damage.Frame = p.frame
	}
	st := se.streams[p.stream]
	switch p.kind {
	case kindMAD:
		if m := &se.truth.CM.Messages[p.msg]; m.Frame == 0 {
			m.Frame = p.frame
		}
	case kindCNP:
		if p.cnp.Frame == 0 {
			p.cnp.Frame, p.cnp.Time = p.frame, stamp(se.s.now)
		}
	case kindRequest:
		st.seenRequest(p)
	case kindAnswer:
		st.seenAnswer(p)
	}
}

// missed is called with each packet that passes the tap and is not captured.
func (se *session) missed(p *packet) {
	st := se.streams[p.stream]
	st.truth.CaptureLosses = append(st.truth.CaptureLosses, &Missed{
		Kind: p.kind.String(), PSN: p.wirePSN(), Pass: p.pass, Time: stamp(se.s.now), psn: p.psn, kind: p.kind, last: p.psn + p.psns, order: p.order,
	})
}

func (st *stream) seenRequest(p *packet) {
	t, seen := &st.tap, &st.truth.Seen
	switch {
	case p.copied:
		seen.Copies++
		return
	case p.corrupt:
		seen.Corrupt++
		return
	}
	now := stamp(st.sess.s.now)
	seen.Requests++
	m := st.req.msgs[p.msg]
	if m.seen == 0 {
		m.seen, m.seenFrame = now, p.frame
	}
	if p.psn == m.first && m.truth.Start == 0 {
		m.truth.Start, m.truth.StartFrame = m.seen, m.seenFrame
	}
	if p.order < t.order {
		seen.Late++
		if p.pass == t.pass {
			t.mark(p)
			t.found(p)
		} else {
			t.markOld(p)
		}
		t.max = max(t.max, p.psn+p.psns) // it moves no position, and is seen all the same
		return
	}
	t.order = p.order
	if t.oldest == 0 {
		t.oldest, t.base = p.order, p.psn
	}
	if p.pass > t.pass {
		st.stepSeen(p, now)
	}
	switch before := t.seen[p.psn]; {
	case !p.resend || p.psn >= t.max:
		if p.resend {
			seen.Hidden++
		} else {
			seen.First++
			seen.Payload += uint64(p.payload)
		}
		if p.pass > 0 {
			st.sentAgain(p, false, before)
		}
	case before == 0:
		seen.Fills++
		seen.Payload += uint64(p.payload)
		st.sentAgain(p, true, before)
	default:
		seen.Repeats++
		if p.resumed {
			seen.Resumed++
		}
		st.sentAgain(p, true, before)
	}
	if t.started && p.psn > t.pos && (p.psn != t.max || t.pos == t.max) {
		t.missing = append(t.missing, span{t.pos, p.psn})
	}
	t.mark(p)
	t.pos = p.psn + p.psns
	t.max = max(t.max, t.pos)
	t.started = true
	if end := p.psn + p.psns; end >= t.ends[p.pass] {
		t.ends[p.pass] = end
		t.edge[p.pass] = p.last
	}
}

// mark notes that a request was seen.
func (t *tapStream) mark(p *packet) {
	for i := range p.psns {
		t.seen[p.psn+i] = t.tapPass + 1
	}
	t.ends[p.pass] = max(t.ends[p.pass], p.psn+p.psns)
}

// found notes that a request that was jumped over in this pass has come.
func (t *tapStream) found(p *packet) {
	var left []span
	for _, m := range t.missing {
		if m.from < p.psn {
			left = append(left, span{m.from, min(m.to, p.psn)})
		}
		if end := p.psn + p.psns; end < m.to {
			left = append(left, span{max(m.from, end), m.to})
		}
	}
	t.missing = left
}

// markOld notes a request of an earlier pass that comes now.
func (t *tapStream) markOld(p *packet) {
	for i := range p.psns {
		if t.seen[p.psn+i] == 0 {
			t.seen[p.psn+i] = max(t.tapPass, 1)
		}
	}
}

// stepSeen is called with the first packet of a pass that is captured.
func (st *stream) stepSeen(p *packet, now int64) {
	t := &st.tap
	try := st.truth.Tries[p.pass-1]
	try.Time, try.Frame, try.FirstPSN, try.from = now, p.frame, p.wirePSN(), p.psn
	switch {
	case !t.started:
		try.Why = "nothing of the stream was captured before"
	case p.psn >= t.pos:
		try.Why = "nothing from its first captured packet on was captured before"
	default:
		try.Visible = true
		try.LostVisible = st.showLosses(p.psn, p.pass)
		t.missing = t.missing[:0]
		t.tapPass++
	}
	t.pass = p.pass
}

// showLosses marks the losses that a step back to a PSN gives away: what was
// jumped over in the pass that it ends, from that PSN on. pass is the one that
// begins. It says how many.
func (st *stream) showLosses(to uint64, pass int) int {
	n := 0
	for _, m := range st.tap.missing {
		for psn := max(m.from, to); psn < m.to; psn++ {
			if l := st.lastLoss(psn, pass); l != nil && !l.Visible {
				l.Visible = true
				n++
			}
		}
	}
	return n
}

// lastLoss is the latest loss of a request ahead of the tap in an earlier pass.
func (st *stream) lastLoss(psn uint64, pass int) *Loss {
	var last *Loss
	for _, list := range [][]*Loss{st.truth.Drops, st.truth.Corruptions} {
		for _, l := range list {
			if l.kind == kindRequest && l.Where == BeforeTap && l.psn == psn && l.Pass < pass && (last == nil || last.order < l.order) {
				last = l
			}
		}
	}
	return last
}

// sentAgain counts a packet of a pass beyond the first one.
func (st *stream) sentAgain(p *packet, shows bool, before int) {
	if !p.resend {
		return
	}
	try := st.truth.Tries[p.pass-1]
	try.Packets++
	try.Bytes += uint64(p.payload)
	try.WireBytes += uint64(st.sess.s.wireLen(p))
	switch {
	case !shows:
	case before == 0:
		try.Fills++
	default:
		try.Repeats++
		if before == st.tap.tapPass { // tapPass+1 of the pass before
			try.Wasted++
		}
	}
}

func (st *stream) seenAnswer(p *packet) {
	seen := &st.truth.Seen
	switch {
	case p.copied:
		seen.Copies++
		return
	case p.corrupt:
		seen.Corrupt++
		return
	}
	now := stamp(st.sess.s.now)
	seen.Answers++
	if p.nak != nil && p.nak.Frame == 0 {
		p.nak.Frame, p.nak.Time = p.frame, now
		if p.nak.Timer != 0 {
			st.tap.rnrPass, st.tap.rnrPSN = st.req.pass+1, p.psn
		}
	}
	done := p.psn + 1 // everything before it is
	if p.op&0x1f == opAcknowledge && p.syndrome&0xe0 != 0 {
		done = p.psn
	}
	if isResponse(p.op) {
		st.responded(p, now)
	}
	if done > st.tap.answer {
		st.complete(st.tap.answer, done, now, p.frame)
		st.tap.answer = done
	}
}

// responded notes that a READ or an atomic is complete with the last of its
// responses, in their order: requesters drop those beyond a missing one.
func (st *stream) responded(p *packet, now int64) {
	m := st.req.msgs[p.msg]
	switch next := m.first + m.responses; {
	case p.psn == next:
		m.responses++
		delete(m.beyond, next)
		if m.responses == m.psns {
			m.truth.completed(now, p.frame)
		}
	case p.psn > next:
		if m.beyond == nil {
			m.beyond = make(map[uint64]bool)
		}
		m.beyond[p.psn] = true
	}
	if m.allFrame == 0 && m.responses+uint64(len(m.beyond)) == m.psns {
		m.all, m.allFrame = now, p.frame
	}
}

func (m *MessageTruth) completed(now int64, frame uint64) {
	m.End, m.EndFrame = now, frame
	if m.Start != 0 {
		m.Latency = m.End - m.Start
	}
}

// complete notes which messages an answer completes, but for those that have
// responses of their own.
func (st *stream) complete(from, to uint64, now int64, frame uint64) {
	if from >= st.req.end {
		return
	}
	for i := st.req.at(from).index; i < len(st.req.msgs) && st.req.msgs[i].last() < to; i++ {
		if m := st.req.msgs[i]; !m.answered() {
			m.truth.completed(now, frame)
		}
	}
}

// gap says whether a request's absence shows: something before it and something
// beyond it in its pass were captured.
func (t *tapStream) gap(pass int, psn, order uint64) bool {
	return t.ends[pass] > psn && t.oldest != 0 && t.oldest < order
}
