package scenario

import "fmt"

// session is one connection while it is simulated.
type session struct {
	s         *simulation
	id        int
	spec      *Session
	truth     *SessionTruth
	flowLabel uint32
	ports     [2]uint16
	streams   [2]*stream
	qps       [2]*qp
	cm        handshake
	sent      int        // packets by side a, where they are counted
	then      []*session // what starts when it has ended
	over      bool
}

// stream is one requester's PSN space: the machines at both its ends, and what
// is known of it.
type stream struct {
	sess  *session
	index int
	start uint32
	req   *requester
	resp  *responder
	truth *StreamTruth
	tap   tapStream
}

// qp is what the requester and the responder of one side share: the rate that
// congestion control allows.
type qp struct {
	share   float64 // of the line rate
	lastCNP int64   // sent
	slow    int     // CNPs received
}

func newSession(s *simulation, id int) *session {
	spec := &s.spec.Sessions[id]
	se := &session{s: s, id: id, spec: spec}
	label := qpnFlowLabel(spec.A.QPN, spec.B.QPN)
	if spec.CM != NoCM {
		label = s.rng.Uint32() & 0xfffff
	}
	se.flowLabel = label
	for i := range se.ports {
		if se.ports[i] = labelPort(label); s.spec.Network.UDPPort != 0 {
			se.ports[i] = s.spec.Network.UDPPort
		}
	}
	const nsUnit = 4096 // 4.096 us
	se.truth = &SessionTruth{
		ID: id, Service: spec.Service, PathMTU: spec.PathMTU, State: "open",
		AckTimeout: nsUnit << spec.Requester.AckTimeout,
		RetryCount: max(0, spec.Requester.RetryCount), RNRRetry: max(0, spec.Requester.RNRRetry),
		Marking: spec.Marking.truth(),
	}
	for i, info := range []*SideInfo{&se.truth.A, &se.truth.B} {
		side, h := spec.side(i), s.hostOf(se, i)
		*info = SideInfo{Addr: h.addr.String(), MAC: macString(h.mac), QPN: side.QPN, StartPSN: side.StartPSN & psnMask, SRQ: side.SRQ}
		if !s.spec.Network.RoCEv1 {
			info.UDPPort = se.ports[i]
		}
		se.qps[i] = &qp{share: 1, lastCNP: -1 << 62}
		st := &stream{sess: se, index: i, start: side.StartPSN & psnMask, truth: newStreamTruth(i, side.StartPSN&psnMask)}
		st.tap.init()
		st.req = newRequester(st)
		st.resp = newResponder(st)
		se.streams[i] = st
		se.truth.Streams = append(se.truth.Streams, st.truth)
	}
	s.truth.Sessions = append(s.truth.Sessions, se.truth)
	return se
}

// counters are those of one side.
func (se *session) counters(side int) *Counters {
	if side == 0 {
		return &se.truth.A.Counters
	}
	return &se.truth.B.Counters
}

// newStreamTruth is a truth whose lists are empty, and not null in JSON.
func newStreamTruth(requester int, start uint32) *StreamTruth {
	return &StreamTruth{
		Requester: sideName(requester), StartPSN: start, NextPSN: start, UnackedPSN: start,
		Messages: []*MessageTruth{}, Drops: []*Loss{}, Corruptions: []*Loss{}, Duplicates: []*Hit{}, Reorders: []*Hit{},
		CaptureLosses: []*Missed{}, Tries: []*Try{}, Episodes: []*Episode{}, NAKs: []*NAK{}, CE: []*Hit{}, CNPs: []*CNP{},
	}
}

func sideName(i int) string { return string(rune('a' + i)) }

func (se *session) wirePSN(stream int, psn uint64) uint32 {
	return uint32((uint64(se.streams[stream].start) + psn) & psnMask)
}

func (se *session) port(p *packet) uint16 { return se.ports[p.from] }

// begin makes the connection and starts the work.
func (se *session) begin() {
	se.truth.Start = stamp(se.s.now)
	if se.spec.CM != NoCM {
		se.connect()
		return
	}
	se.work()
}

func (se *session) work() {
	for _, st := range se.streams {
		w := &se.spec.Work[st.index]
		if len(w.Messages) > 0 {
			se.s.at(se.s.now+int64(w.Delay), st.req.post)
		}
	}
	se.maybeDone()
}

// maybeDone ends the session when all its work is done.
func (se *session) maybeDone() {
	if se.over {
		return
	}
	for _, st := range se.streams {
		if !st.req.done() {
			return
		}
	}
	se.over = true
	if se.spec.Close {
		const grace = 20_000 // ns
		se.s.at(se.s.now+grace, se.disconnect)
		return
	}
	se.end("done", "")
}

// fail ends the session: its work stays undone.
func (se *session) fail(why string) {
	if se.over {
		return
	}
	se.over = true
	for _, st := range se.streams {
		st.req.stop()
		st.resp.dead = true
	}
	se.end("failed", why)
	if se.spec.Close && se.spec.CM != NoCM {
		const grace = 20_000 // ns
		se.s.at(se.s.now+grace, se.disconnect)
	}
}

func (se *session) end(state, why string) {
	se.over = true
	se.truth.State, se.truth.Why, se.truth.End = state, why, stamp(se.s.now)
	for _, next := range se.then {
		se.s.at(se.s.now+int64(next.spec.Start), next.begin)
	}
	se.then = nil
}

// receive is called with what arrives at the end of the wire.
func (se *session) receive(p *packet) {
	if p.corrupt {
		se.counters(1-p.from).ICRCErrors++
		return // as if it had never come
	}
	st := se.streams[p.stream]
	switch p.kind {
	case kindMAD:
		se.receiveMAD(p)
	case kindCNP:
		if p.ecn == ecnCE {
			se.counters(1-p.from).ECNMarked++
		}
		st.slowDown(p)
	case kindRequest:
		st.congestion(p)
		st.resp.receive(p)
	case kindAnswer:
		st.congestion(p)
		st.req.receive(p)
	default:
		panic(fmt.Sprintf("a packet of kind %d", p.kind))
	}
}
