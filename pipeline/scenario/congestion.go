package scenario

import "time"

// How a sender slows down and recovers: halved by a CNP, and stepwise up again.
// It is DCQCN's shape, not its arithmetic.
const (
	recoverEvery = 55 * time.Microsecond
	recoverStep  = 0.125
	leastShare   = 1.0 / 64
)

// congestion answers a packet that was marked on the way with a CNP, which
// names the QP of the marked packet's sender.
func (st *stream) congestion(p *packet) {
	if p.ecn != ecnCE || p.copied {
		return
	}
	se := st.sess
	s := se.s
	mine := 1 - p.from // side of the receiver
	se.counters(mine).ECNMarked++
	last := se.lastCNP(mine)
	if se.spec.Responder.NoCNP || s.now-*last < int64(se.spec.Responder.CNPInterval) {
		return
	}
	*last = s.now
	cnp := &packet{
		sess: se, from: mine, stream: st.index, kind: kindCNP, op: opCNP, becn: true, ecn: ecnECT0, dscp: dscpCNP,
		answers: p.kind == kindAnswer,
	}
	s.at(s.now+int64(se.spec.Responder.Delay), func() {
		cnp.cnp = &CNP{From: sideName(mine), Time: stamp(s.now), Answers: cnp.answers}
		st.truth.CNPs = append(st.truth.CNPs, cnp.cnp)
		se.counters(mine).CNPSent++
		s.transmit(cnp)
	})
}

// lastCNP is when a side sent a CNP, of those that it keeps apart.
func (se *session) lastCNP(side int) *int64 {
	h := se.s.hostOf(se, side)
	switch se.spec.Responder.CNPPer {
	case PerDestination:
		return h.lastCNP(se.spec.side(1 - side).Host)
	case PerPort:
		return h.lastCNP(-1)
	}
	return &se.qps[side].lastCNP
}

// lastCNP is when a host sent a CNP to another, or, with -1, to any.
func (h *host) lastCNP(to int) *int64 {
	if h.cnps == nil {
		h.cnps = make(map[int]*int64)
	}
	if h.cnps[to] == nil {
		never := int64(-1 << 62)
		h.cnps[to] = &never
	}
	return h.cnps[to]
}

// slowDown is what a sender does on a CNP.
func (st *stream) slowDown(p *packet) {
	side := 1 - p.from
	q := st.sess.qps[side]
	q.slow++
	st.sess.counters(side).CNPHandled++
	if st.sess.spec.Requester.IgnoreCNP {
		return
	}
	q.share = max(leastShare, q.share/2)
	st.rate(q.share, "cnp")
	st.speedUp(q, q.slow)
}

// speedUp raises the rate after a while, unless there was another CNP.
func (st *stream) speedUp(q *qp, slow int) {
	s := st.sess.s
	s.at(s.now+int64(recoverEvery), func() {
		if q.slow != slow || q.share >= 1 || st.sess.over {
			return
		}
		q.share = min(1, q.share+recoverStep)
		st.rate(q.share, "recovery")
		st.speedUp(q, slow)
	})
}

func (st *stream) rate(share float64, why string) {
	st.req.reckon()
	st.truth.Rates = append(st.truth.Rates, Rate{Time: stamp(st.sess.s.now), Share: share, Why: why})
}
