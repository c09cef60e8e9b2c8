package track

import (
	"slices"
	"strconv"

	"github.com/rocelens/rocelens/pipeline/record"
)

// list makes the rows of the sessions, in their order.
func (t *Tracker) list() {
	idle := t.idleConnections()
	t.rows = make([]sessionRow, 0, len(idle)+len(t.all)/2)
	for i := range idle {
		t.rows = append(t.rows, rowOf(nil, &idle[i]))
	}
	for _, f := range t.all {
		if f.life.began == f {
			t.rows = append(t.rows, rowOf(f, nil))
		}
	}
	slices.SortStableFunc(t.rows, sessionRow.compare)
	for _, r := range t.rows { // in the order of the sessions, so that the first of a name is the first
		if r.f != nil {
			t.name(r.f)
		}
	}
}

// settle ends what is under way on a flow.
func (t *Tracker) settle(f *flow) {
	if f.gone {
		return
	}
	defer f.markEnded()
	if f.hall != nil {
		if !f.hall.closed {
			t.release(f)
		}
	}
	t.beforeSettling(f)
	t.settleCopies(f)
	s := f.req
	for s.resp != nil && len(s.resp.jumbled) > 0 {
		t.completeJumbled(f)
	}
	r := s.rec
	if r == nil {
		return
	}
	t.settleLate(f)
	t.gaveUp(f)
	t.endTry(f, record.ModeUnknown)
	for i := range r.gone {
		f.bad().lost.BeforeTap += uint64(s.missed(&r.gone[i]))
	}
	if r.episode != nil {
		t.endEpisode(f, max(s.last, s.lastAnswer), false)
	}
}

// missed is how many packets are in a range that was gone back for and not sent
// again. A READ is one, as far as its PSNs are known.
func (s *stream) missed(g *gone) uint32 {
	n := g.len()
	if g.soft { // at least one
		return 1
	}
	for i := range s.owed {
		one := spans{g.span}
		if k := one.overlap(s.owed[i].lo, s.owed[i].hi); k > 1 {
			n -= k - 1
		}
	}
	return n
}

// settleCopies takes the copies for the mirror's where nearly all of the flow
// is doubled.
func (t *Tracker) settleCopies(f *flow) {
	if b := f.trouble; b != nil && b.duplicates.Network > 0 && 10*(b.duplicates.Network+b.duplicates.Capture) >= 9*f.packets {
		b.duplicates.Capture += b.duplicates.Network
		b.duplicates.Network, b.requestCopies = 0, 0
	}
}

// gaveUp looks whether the requester stopped for good while it sent the same
// packet again and again.
func (t *Tracker) gaveUp(f *flow) {
	s := f.req
	r := s.rec
	l := &r.last
	if l.n < 2 || l.spacing == 0 || 2*(t.now-s.last) < 5*l.spacing || s.allAnswered(l.psn) {
		return
	}
	x := record.RetryExhausted{
		Unanswered: record.Range{First: l.psn, Last: (s.max - 1) & psnMask},
		LastAcked:  (s.acked - 1) & psnMask, HasAcked: s.hasAcked && psnDiff(s.acked, s.start) > 0, Tries: l.n, Spacing: l.spacing, RNR: l.rnr,
	}
	t.emitAt(f, l.frame, x)
	why := record.FailedRetries
	if l.rnr {
		why = record.FailedRNR
	}
	t.emitAt(f, f.last.ref(), record.Failed{Why: why.String()})
	if l.takes && !l.rnr && !s.heard {
		why = record.FailedUnseen // if nothing at all comes back
	}
	f.life.state, f.life.failed, f.life.failure = record.StateFailed, f, why
}

// allAnswered says whether nothing is outstanding from where the requester
// began again last, as far as the tap knows. It has all that it asked for
// before that, though what it asked for twice may have been answered only once.
func (s *stream) allAnswered(from uint32) bool {
	if !s.hasAcked || psnDiff(s.acked, s.max) < 0 {
		return false
	}
	for i := range s.owed {
		if !s.owed[i].answered && psnDiff(s.owed[i].hi, from) > 0 {
			return false
		}
	}
	return true
}

// name gives the session of f its name. Where no two sessions can have the
// same, it is made when it is asked for.
func (t *Tracker) name(f *flow) {
	if f.life.id == nil && (len(t.lives) > 0 || len(t.connections) > 0) {
		name := t.uniqueName(f.plainName())
		f.life.id = &name
	}
}

// plainName is the name of a session without packets.
func (c *connection) plainName() string {
	return nameOf(c.conn.Version, c.conn.HasVNI, c.conn.VNI, c.conn.A, c.conn.B)
}

func (f *flow) plainName() string {
	a, b := f.ends()
	return nameOf(f.version, f.hasVNI, f.vni, a, b)
}

// sessionName is the name of f's session.
func (f *flow) sessionName() string {
	if f.life.id == nil {
		return f.plainName()
	}
	return *f.life.id
}

// uniqueName adds the incarnation to the name of a session that had others
// before it.
func (t *Tracker) uniqueName(name string) string {
	if t.teller != nil {
		return t.teller.lastName(name)
	}
	t.names[name]++
	return numbered(name, t.names[name])
}

// numbered is the name of the nth session of that name.
func numbered(name string, n int) string {
	if n > 1 {
		return name + "#" + strconv.Itoa(n)
	}
	return name
}

// nameOf is the name of a session between two ends, whichever of them began
// it: version, VNI and both ends, the lower address first.
func nameOf(version record.Version, hasVNI bool, vni uint32, a, b record.Endpoint) string {
	if less(b.Addr, a.Addr) || a.Addr == b.Addr && b.QPN < a.QPN {
		a, b = b, a
	}
	id := append([]byte(version.String()), ':')
	if hasVNI {
		id = strconv.AppendUint(append(id, "vni"...), uint64(vni), 10)
		id = append(id, ':')
	}
	return string(b.AppendID(append(a.AppendID(id), '-')))
}

// ends are f's sender and receiver.
func (f *flow) ends() (a, b record.Endpoint) {
	a = record.Endpoint{Addr: f.src, Kind: f.kind}
	b = record.Endpoint{Addr: f.dst, Kind: f.kind, QPN: f.qpn, HasQPN: true}
	switch {
	case f.peer != nil:
		a.QPN, a.HasQPN = f.peer.qpn, true
	case f.ud:
		a.QPN, a.HasQPN = f.srcQP, true
	}
	return a, b
}

// session is the record of the session that f began, without what details
// adds.
func session(f *flow, s *record.Session) {
	a, b := f.ends()
	l := f.life
	*s = record.Session{
		Service: f.service, Version: f.version, VNI: f.vni, HasVNI: f.hasVNI, Incarnation: l.incarnation,
		A: a, B: b, Pairing: record.Pairing{Method: l.method, Confidence: l.confidence}, State: l.state,
		CM: l.cm(), First: f.first.ref(), Last: f.last.ref(),
	}
	direction(&s.AToB, f)
	if g := f.peer; g != nil {
		direction(&s.BToA, g)
		s.AToB.CNPsReceived = g.cnps()
		s.BToA.CNPsReceived = f.cnps()
		if first := g.first.ref(); first.Before(s.First) {
			s.First = first
		}
		if last := g.last.ref(); s.Last.Before(last) {
			s.Last = last
		}
		if s.Service == record.ServiceUnknown {
			s.Service = g.service
		}
		s.PathMTU = max(f.req.mtu, f.req.readMTU, g.req.mtu, g.req.readMTU)
		s.AckTimeout[1] = g.req.timeout
		if l.failed == g {
			s.FailedStream = 1
		}
	} else {
		s.BToA.CNPsReceived = f.cnps()
		s.PathMTU = f.req.mtu
	}
	s.AckTimeout[0] = f.req.timeout
	if c := l.cm(); c != nil {
		s.Application = l.conn.conn.Application
		if c.PathMTU != 0 {
			s.PathMTU = c.PathMTU
		}
		if c.AckTimeout != 0 {
			s.AckTimeout = [2]int64{c.AckTimeout, c.AckTimeout}
		}
	}
	s.Failure, s.OneSided = l.failure, l.back == backMissing
	if s.Failure == record.FailedUnseen && !s.OneSided {
		s.Failure = record.FailedRetries
	}
	if s.State == record.StateOpen && f.requests && !f.answered() && (f.peer == nil || !f.peer.answered()) && f.service != record.UC && f.service != record.UD && !f.blind() && l.back == backSeen {
		s.State = record.StateUnanswered
	}
}

// answered says whether there was an answer to f's requests, be it before it was known
// whose they are.
func (f *flow) answered() bool {
	g := f.peer
	if f.req.heard || g == nil {
		return f.req.heard
	}
	b := g.trouble
	return g.acks > 0 || b != nil && (b.rnrNaks > 0 || b.responses.Packets > 0 || b.naks != [5]uint64{})
}

// details adds what takes most of the time to the record of the session that f
// began: its name, the DSCPs, the latencies and the place of the tap.
func details(f *flow, s *record.Session) {
	s.ID = f.sessionName()
	distributions(&s.AToB, f)
	if f.peer != nil {
		distributions(&s.BToA, f.peer)
	}
	unmatched(&s.AToB)
	unmatched(&s.BToA)
	s.Vantage = vantage(f)
}

func distributions(d *record.Direction, f *flow) {
	f.eachTOS(func(tos uint8, packets uint64) { d.DSCP = countDSCP(d.DSCP, tos>>2, packets) })
	f.oddities(d)
	d.Congestion = congestionOf(f)
	d.Spent = spentOf(f)
	if b := f.trouble; b != nil {
		d.NakReaction = b.reaction
	}
	if l := f.lat; l != nil && !f.req.blind {
		d.AckLatency = l.ack
		for k, h := range l.kinds {
			if h != nil {
				d.Latency[k] = *h
				d.MessageLatency.Merge(h)
			}
		}
	}
}

func (f *flow) cnps() uint64 {
	if f.trouble == nil {
		return 0
	}
	return f.trouble.cnps
}

// direction fills in what f's sender sent.
func direction(d *record.Direction, f *flow) {
	s := f.req
	d.Packets, d.WireBytes, d.PayloadBytes, d.GoodputBytes = f.packets, f.bytes, f.payload, f.goodput
	d.First, d.Last = f.first.time, f.last.time
	d.Messages = record.Messages{Sent: s.sent, Completed: s.completed}
	d.Acks, d.Truncated = f.acks, f.cut
	f.eachTOS(func(tos uint8, packets uint64) { d.ECN[tos&3] += packets })
	d.SourcePort = f.port
	if m := f.more; m != nil {
		d.PortChanges = m.portChanges
	}
	d.PeakPackets, d.PeakBytes = uint64(s.peak), s.peakBytes
	if b := f.trouble; b != nil {
		d.Naks, d.RNRNaks = b.naks, b.rnrNaks
		d.Retransmitted, d.Wasted, d.ReadResponses = b.retransmitted, b.wasted, b.responses
		d.Episodes, d.Tries, d.Places, d.Modes = b.episodes, b.tries, b.places, b.modes
		d.Lost, d.Reordered, d.Undecided, d.Duplicates = b.lost, b.reordered, b.undecided, b.duplicates
		d.DuplicateRequests = b.requestCopies
		d.Gaps, d.Jumped = b.gaps, b.jumped-min(b.jumped, b.shown)
		d.Silences, d.SilenceTime, d.RNRTime = b.silences, b.silenceTime, b.rnrTime
		d.ICRCBad, d.ProtocolErrors, d.HeadersCut = b.icrcBad, b.errors, b.headersCut
		if b.marks != nil {
			d.Marks = &b.marks.Marks
		}
	}
	if s.blind || f.peer != nil && f.peer.req.blind {
		d.GoodputBytes = 0 // what there is of it is of the beginning
	}
	if s.blind {
		d.Messages, d.PeakPackets, d.PeakBytes = record.Messages{}, 0, 0
	}
	if m := f.more; m != nil && m.source != nil && m.source.destinations > 1 {
		d.Lost.BeforeTap = 0
	}
}
