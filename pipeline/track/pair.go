package track

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// hall is where the packets of a new flow wait until its peer is found, so
// that they can be followed with all that is known then.
type hall struct {
	packets []held
	closed  bool // it does not wait any more; candidates are still counted
	early   early
	begun   int64
	window  span   // of request PSNs seen
	open    bool   // window is valid
	answers uint32 // distinct ones that some candidate could have drawn
	last    uint32 // PSN of the newest answer
	cands   []candidate
	wooers  []*flow // flows of which this is a candidate

	// Among the flows of the group without a peer, and what finds it there.
	next, prev *flow
	atPort     int32
	blocks     *[maxBlocks]inBlock // nil where it is in none
}

// inBlock says where a flow is found by a block of PSNs; at is 0 where it is
// not.
type inBlock struct {
	at    int32
	block uint32
}

// newHall is an empty hall, one that was used before if there is one.
func (t *Tracker) newHall() *hall {
	n := len(t.halls)
	if n == 0 {
		return new(hall)
	}
	h := t.halls[n-1]
	t.halls = t.halls[:n-1]
	return h
}

// spareHalls is how many halls are kept for those who come, and sparePackets
// for how many packets at most each of them has room.
const (
	spareHalls   = 1 << 8
	sparePackets = 8
)

// spare keeps a hall that nobody is in any more.
func (t *Tracker) spare(h *hall) {
	if h == nil || len(t.halls) >= spareHalls {
		return
	}
	packets, cands, wooers := h.packets[:0], h.cands[:0], h.wooers[:0]
	if cap(packets) > sparePackets {
		packets = nil
	}
	clear(h.cands)
	clear(h.wooers)
	if cap(cands) > sparePackets || cap(wooers) > sparePackets {
		cands, wooers = nil, nil
	}
	*h = hall{packets: packets, cands: cands, wooers: wooers}
	t.halls = append(t.halls, h)
}

type held struct {
	seq uint64
	p   Packet
}

// candidate is a flow of requests the other way that answers of this flow may
// be for.
type candidate struct {
	f    *flow
	hits uint32
}

// fewHeld is how many packets a hall has room for at first.
const fewHeld = 2

// The hall's bounds: packets of one flow, and how long in nanoseconds they
// wait.
const (
	maxHeld     = 64
	maxHeldTime = 1_000_000_000
	maxCands    = 256
)

// hold keeps a packet of a flow whose peer is not known, and looks whether it
// tells.
func (t *Tracker) hold(f *flow, p *Packet) {
	h := f.hall
	if h.packets == nil {
		h.packets = make([]held, 0, fewHeld)
	}
	h.packets = append(h.packets, held{t.seq, *p})
	f.last = refOf(p)
	t.held++
	if t.lone(f, p); f.hall == nil {
		return
	}
	if len(h.packets) >= maxHeld || t.held > maxHeldPackets || p.Time-h.begun > maxHeldTime {
		t.release(f)
	}
}

// lone looks whether a packet tells the peer of its flow.
func (t *Tracker) lone(f *flow, p *Packet) {
	h := f.hall
	if p.Copy != NoCopy || p.Corrupt {
		return
	}
	if len(h.packets) == 1 && t.pairByPort(f) {
		return
	}
	op, _ := operationOf(p.Opcode)
	switch op.class {
	case classRequest, classOwing:
		t.widen(f, p.PSN, psnAdd(p.PSN, min(f.widthAtMost(p, op), maxWindow)))
	case classAck, classResponse:
		t.pairByAnswer(f, p)
	}
}

// pairByPort pairs f with the flow the other way whose UDP source port is the
// same, and is the one that the kernel makes of both QPNs; or, as other kernels
// do it, whose port is made of f's destination as f's is of its.
func (t *Tracker) pairByPort(f *flow) bool {
	if f.port < 0xc000 {
		return false
	}
	for at := t.seekers.first(f.keyOfOthers(byPort, uint32(f.port))); at != 0; at = t.seekers.next(at) {
		g := t.seekers.entries[at].f
		if f.mayPair(g) && g.port == f.port && cm.PortOfLabel(cm.LabelOfQPNs(f.qpn, g.qpn)) == f.port {
			t.pair(f, g, record.PairPort, 0.99)
			return true
		}
	}
	own := cm.PortOfQPN(f.qpn)
	for at := t.seekers.first(f.keyOfOthers(byPort, uint32(own))); at != 0; at = t.seekers.next(at) {
		g := t.seekers.entries[at].f
		if f.mayPair(g) && g.port == own && cm.PortOfQPN(g.qpn) == f.port {
			t.pair(f, g, record.PairPort, 0.99)
			return true
		}
	}
	return false
}

// mayPair says whether g, which was found by a hash, is of f's group and goes
// the other way.
func (f *flow) mayPair(g *flow) bool { return g.group == f.group && g.direction() != f.direction() }

// pairByAnswer counts for which flows of requests p can be an answer, and pairs
// f with the only one that all answers fit.
func (t *Tracker) pairByAnswer(f *flow, p *Packet) {
	h := f.hall
	if h.answers > 0 && h.last == p.PSN {
		return
	}
	fits := false
	t.findByBlocks(f)
	looked := 0
	for at := t.seekers.first(f.keyOfOthers(byBlock, p.PSN>>blockBits)); at != 0 && looked < maxCands; at = t.seekers.next(at) {
		g := t.seekers.entries[at].f
		if looked++; !f.mayPair(g) {
			continue
		}
		w := g.hall.window
		if psnDiff(p.PSN, w.lo) < 0 || psnDiff(p.PSN, w.hi) >= 0 {
			continue
		}
		i := slices.IndexFunc(h.cands, func(c candidate) bool { return c.f == g })
		if i < 0 {
			if len(h.cands) >= maxCands {
				continue
			}
			h.candidate(g)
			g.hall.wooer(f)
			i = len(h.cands) - 1
		}
		h.cands[i].hits++
		fits = true
	}
	if !fits {
		return
	}
	h.answers++
	h.last = p.PSN
	if c := f.onlyCandidate(); c != nil && c.hits >= c.f.hall.needs() && !f.contested(c) {
		t.pair(f, c.f, record.PairAck, c.confidence())
	}
}

// candidate adds a candidate, and wooer one of which this is a candidate. Before
// the lists grow, those leave them that have left their group.
func (h *hall) candidate(f *flow) {
	if len(h.cands) == cap(h.cands) {
		h.cands = slices.DeleteFunc(h.cands, func(c candidate) bool { return c.f.group == nil })
	}
	h.cands = append(h.cands, candidate{f: f})
}

func (h *hall) wooer(f *flow) {
	if len(h.wooers) == cap(h.wooers) {
		h.wooers = slices.DeleteFunc(h.wooers, func(w *flow) bool { return w.group == nil })
	}
	h.wooers = append(h.wooers, f)
}

// needs is how many answers must fit into the window of requests. PSNs near 0
// are those of tools that begin every connection there, so that one answer
// fits many.
func (h *hall) needs() uint32 {
	if h.window.lo < newLifeJump {
		return 3
	}
	return 1
}

func (c *candidate) confidence() float64 { return 1 - 0.2/float64(1+c.hits*c.hits) }

// onlyCandidate is the one flow that all answers fit, nil where there are none
// or several.
func (f *flow) onlyCandidate() *candidate {
	var only *candidate
	for i := range f.hall.cands {
		c := &f.hall.cands[i]
		if c.hits < f.hall.answers || c.f.group == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// contested says whether all answers of another flow fit c's requests too.
func (f *flow) contested(c *candidate) bool {
	for _, o := range c.f.hall.wooers {
		if o == f || o.hall == nil || o.group == nil {
			continue
		}
		for i := range o.hall.cands {
			if x := &o.hall.cands[i]; x.f == c.f && x.hits == o.hall.answers {
				return true
			}
		}
	}
	return false
}

// release lets the packets of a flow go on although its peer is not known.
func (t *Tracker) release(f *flow) {
	h := f.hall
	if c := f.onlyCandidate(); c != nil && !f.contested(c) {
		t.pair(f, c.f, record.PairAck, c.confidence()/2)
		return
	}
	h.closed = true
	packets := h.packets
	h.packets = nil
	t.held -= len(packets)
	for i := range packets {
		t.process(f, &packets[i].p)
	}
}

// pair makes f and g one session, and lets their packets go on in the order in
// which they came.
func (t *Tracker) pair(f, g *flow, method record.PairingMethod, confidence float64) {
	t.joins(f, g)
	t.leaveGroup(f)
	t.leaveGroup(g)
	f.peer, g.peer = g, f
	t.pairs++
	a, b := f, g
	if g.first.before(f.first) {
		a, b = g, f
	}
	l := a.life
	if b.life.incarnation > l.incarnation {
		l.incarnation = b.life.incarnation
	}
	l.method, l.confidence = method, confidence
	if c := b.life.conn; c == nil {
		t.slabs.lives.put(b.life)
	} else if l.conn == nil {
		l.conn = c
	}
	b.life = l
	l.began = a
	var waiting [2][]held
	for i, x := range [2]*flow{f, g} {
		if x.hall != nil {
			waiting[i] = x.hall.packets
			t.held -= len(waiting[i])
		}
	}
	hf, hg := f.hall, g.hall
	f.hall, g.hall = nil, nil
	t.earlyFor(f, hg)
	t.earlyFor(g, hf)
	for len(waiting[0])+len(waiting[1]) > 0 {
		i, x := 0, f
		if len(waiting[0]) == 0 || len(waiting[1]) > 0 && waiting[1][0].seq < waiting[0][0].seq {
			i, x = 1, g
		}
		t.process(x, &waiting[i][0].p)
		waiting[i] = waiting[i][1:]
	}
	t.spare(hf)
	t.spare(hg)
}

// earlyFor takes the answers to f's requests that were let go before it was
// known whose they are.
func (t *Tracker) earlyFor(f *flow, h *hall) {
	if h != nil && h.early.any && !f.req.begun {
		t.ownStream(f).answeredEarly(h.early.acked)
	}
}

// pairTheRest pairs, at the end, what has one candidate each way and nothing
// against it.
func (t *Tracker) pairTheRest() {
	for _, f := range t.all {
		t.pairCandidate(f)
	}
	for _, f := range t.all {
		t.pairOnly(f)
	}
}

// pairLast does so with a flow that ends before.
func (t *Tracker) pairLast(f *flow) bool { return t.pairCandidate(f) || t.pairOnly(f) }

func (t *Tracker) pairCandidate(f *flow) bool {
	if f.hall == nil || f.group == nil {
		return false
	}
	c := f.onlyCandidate()
	if c == nil || f.contested(c) {
		return false
	}
	t.pair(f, c.f, record.PairAck, c.confidence())
	return true
}

func (t *Tracker) pairOnly(f *flow) bool {
	if f.hall == nil || f.group == nil {
		return false
	}
	g := f.group
	other := g.lone[1-f.direction()].first
	if g.lone[0].n != 1 || g.lone[1].n != 1 || !f.mayBe(other) {
		return false
	}
	t.pair(f, other, record.PairOnly, 0.5)
	return true
}

// mayBe says whether nothing is against f and g being one session.
func (f *flow) mayBe(g *flow) bool {
	for _, x := range []*flow{f, g} {
		if x.hall.answers > 0 { // to others than these
			return false
		}
	}
	return f.service == g.service || f.service == record.ServiceUnknown || g.service == record.ServiceUnknown
}
