package track

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// candidate is a flow of requests the other way that answers of this flow may
// be for.
type candidate struct {
	f    *flow
	hits uint32
}

// The hall's bounds: packets of one flow, and how long in nanoseconds they
// wait.
const (
	maxHeld     = 1 << 6
	maxHeldTime = 1_000_000_000
	maxCands    = 256
)

// hold keeps a packet of a flow whose peer is not known, and looks whether it
// tells.
func (t *Tracker) hold(f *flow, p *Packet) {
	h := f.hall
	t.waiting.add(h, t.seq, p)
	f.last = refOf(p)
	if t.lone(f, p); f.hall == nil {
		return
	}
	if h.n >= maxHeld || t.waiting.n > maxHeldPackets || p.Time-h.begun > maxHeldTime {
		t.release(f)
	}
}

// lone looks whether a packet tells the peer of its flow.
func (t *Tracker) lone(f *flow, p *Packet) {
	h := f.hall
	if p.Copy != NoCopy || p.Corrupt {
		return
	}
	if h.n == 1 && t.pairByPort(f) {
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
	for list := t.waiting.of(h); list.first != 0; t.waiting.drop(&list) {
		t.process(f, &t.waiting.at(list.first).p)
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
	hf, hg := f.hall, g.hall
	f.hall, g.hall = nil, nil
	t.earlyFor(f, hg)
	t.earlyFor(g, hf)
	w := &t.waiting
	ofF, ofG := w.of(hf), w.of(hg)
	for ofF.first+ofG.first != 0 {
		x, list := f, &ofF
		if ofF.first == 0 || ofG.first != 0 && w.at(ofG.first).seq < w.at(ofF.first).seq {
			x, list = g, &ofG
		}
		t.process(x, &w.at(list.first).p)
		w.drop(list)
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
	if g.lone[0].n != 1 || g.lone[1].n != 1 {
		return false
	}
	other := g.lone[1-f.direction()].first.f
	if !f.mayBe(other) {
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
