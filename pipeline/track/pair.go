package track

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// groupKey is an unordered pair of addresses, and what they are inside of.
type groupKey struct {
	lo, hi  decode.Addr
	vni     uint32
	kind    decode.AddrKind
	version record.Version
}

// group holds the flows between two addresses that have no peer yet, by
// direction: from the lower address to the higher, and back.
type group struct{ lone [2][]*flow }

// lifeKey is a flow whatever its incarnation.
type lifeKey struct {
	src, dst       decode.Addr
	qpn, src2, vni uint32
	kind           decode.AddrKind
}

// hall is where the packets of a new flow wait until its peer is found, so
// that they can be followed with all that is known then.
type hall struct {
	packets []held
	closed  bool // it does not wait any more; candidates are still counted
	begun   int64
	window  span // of request PSNs seen
	open    bool // window is valid
	cands   []candidate
}

type held struct {
	seq uint64
	p   Packet
}

// candidate is a flow of requests the other way that answers of this flow may
// be for.
type candidate struct {
	f            *flow
	hits, misses uint32
	last         uint32 // PSN of the last hit
}

// The hall's bounds: packets of one flow, and how long in nanoseconds they
// wait.
const (
	maxHeld     = 64
	maxHeldTime = 1_000_000_000
	maxCands    = 256
)

func less(a, b decode.Addr) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

func (f *flow) direction() int {
	if less(f.dst, f.src) {
		return 1
	}
	return 0
}

func (t *Tracker) newFlow(p *Packet) *flow {
	f := &flow{
		hash: p.hash, src: p.Src, dst: p.Dst, qpn: p.DestQP, srcQP: p.SrcQP, vni: p.VNI, kind: p.Kind,
		version: p.Version, hasVNI: p.is(hasVNI), ud: p.is(hasDETH), first: p.ref(), port: p.SrcPort,
	}
	key := lifeKey{src: f.src, dst: f.dst, qpn: f.qpn, src2: f.srcQP, vni: f.vni, kind: f.kind}
	t.lives[key]++
	f.life = &life{began: f, incarnation: t.lives[key]}
	t.flows.put(f.hash, f)
	t.all = append(t.all, f)
	if f.ud {
		f.service = record.UD
		key := sourceKey{f.src, f.srcQP, f.vni}
		if f.source = t.sources[key]; f.source == nil {
			f.source = new(udSource)
			t.sources[key] = f.source
		}
		f.source.destinations++
		return f
	}
	g := groupKey{lo: f.src, hi: f.dst, vni: f.vni, kind: f.kind, version: f.version}
	if less(f.dst, f.src) {
		g.lo, g.hi = g.hi, g.lo
	}
	if f.group = t.groups[g]; f.group == nil {
		f.group = new(group)
		t.groups[g] = f.group
	}
	d := f.direction()
	f.group.lone[d] = append(f.group.lone[d], f)
	f.hall = &hall{begun: p.Time}
	t.adoptNew(f)
	return f
}

// leaveGroup takes f out of the flows without a peer.
func (t *Tracker) leaveGroup(f *flow) {
	if f.group == nil {
		return
	}
	l := &f.group.lone[f.direction()]
	if i := slices.Index(*l, f); i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	f.group = nil
}

// others are the flows the other way that have no peer.
func (f *flow) others() []*flow {
	if f.group == nil {
		return nil
	}
	return f.group.lone[1-f.direction()]
}

// hold keeps a packet of a flow whose peer is not known, and looks whether it
// tells.
func (t *Tracker) hold(f *flow, p *Packet) {
	h := f.hall
	h.packets = append(h.packets, held{t.seq, *p})
	if t.lone(f, p); f.hall == nil {
		return
	}
	if len(h.packets) >= maxHeld || p.Time-h.begun > maxHeldTime {
		t.release(f)
	}
}

// lone looks whether a packet tells the peer of its flow.
func (t *Tracker) lone(f *flow, p *Packet) {
	h := f.hall
	if p.Copy != NoCopy || p.Corrupt {
		return
	}
	if len(h.packets) <= 1 && t.pairByPort(f) {
		return
	}
	op, _ := operationOf(p.Opcode)
	switch op.class {
	case classRequest, classOwing:
		hi := psnAdd(p.PSN, f.widthAtMost(p, op))
		if !h.open {
			h.window, h.open = span{p.PSN, hi}, true
		} else if psnDiff(hi, h.window.hi) > 0 {
			h.window.hi = hi
			if h.window.len() > newLifeJump {
				h.window.lo = (hi - newLifeJump) & psnMask
			}
		}
	case classAck, classResponse:
		t.pairByAnswer(f, p)
	}
}

// pairByPort pairs f with the flow the other way whose UDP source port is the
// same, and is the one that the kernel makes of both QPNs.
func (t *Tracker) pairByPort(f *flow) bool {
	if f.port < 0xc000 {
		return false
	}
	for _, g := range f.others() {
		if g.port == f.port && cm.PortOfLabel(cm.LabelOfQPNs(f.qpn, g.qpn)) == f.port {
			t.pair(f, g, record.PairPort, 0.99)
			return true
		}
	}
	return false
}

// pairByAnswer counts for which flows of requests p can be an answer, and pairs
// f with the only one.
func (t *Tracker) pairByAnswer(f *flow, p *Packet) {
	h := f.hall
	for _, g := range f.others() {
		if g.hall == nil || !g.hall.open {
			continue
		}
		i := slices.IndexFunc(h.cands, func(c candidate) bool { return c.f == g })
		if i < 0 {
			if len(h.cands) >= maxCands {
				continue
			}
			i = len(h.cands)
			h.cands = append(h.cands, candidate{f: g})
		}
		c := &h.cands[i]
		w := g.hall.window
		switch above, below := psnDiff(p.PSN, w.hi), psnDiff(w.lo, p.PSN); {
		case above <= 0 && below <= 0:
			if c.hits == 0 || c.last != p.PSN {
				c.hits++
				c.last = p.PSN
			}
		case below > 0 && below <= newLifeJump:
			// of what was sent before the capture
		default:
			c.misses++
		}
	}
	if c := f.onlyCandidate(); c != nil && c.hits >= c.f.hall.needs() && !f.contested(c) {
		t.pair(f, c.f, record.PairAck, c.confidence())
	}
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
		if c.hits == 0 || c.misses > 0 || c.f.group == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// contested says whether the answers of another flow fit c's requests too.
func (f *flow) contested(c *candidate) bool {
	for _, o := range c.f.others() {
		if o == f || o.hall == nil {
			continue
		}
		for i := range o.hall.cands {
			if x := &o.hall.cands[i]; x.f == c.f && x.hits > 0 && x.misses == 0 {
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
	for i := range packets {
		t.process(f, &packets[i].p)
	}
}

// pair makes f and g one session, and lets their packets go on in the order in
// which they came.
func (t *Tracker) pair(f, g *flow, method record.PairingMethod, confidence float64) {
	t.leaveGroup(f)
	t.leaveGroup(g)
	f.peer, g.peer = g, f
	a, b := f, g
	if g.first.Before(f.first) {
		a, b = g, f
	}
	l := a.life
	if b.life.incarnation > l.incarnation {
		l.incarnation = b.life.incarnation
	}
	l.method, l.confidence = method, confidence
	if l.conn == nil && b.life.conn != nil {
		l.conn = b.life.conn
	}
	b.life = l
	l.began = a
	var packets []held
	for _, x := range []*flow{f, g} {
		if x.hall != nil {
			packets = append(packets, x.hall.packets...)
			x.hall = nil
		}
	}
	slices.SortFunc(packets, func(a, b held) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
	for i := range packets {
		x := f
		if !f.is(&packets[i].p) {
			x = g
		}
		t.process(x, &packets[i].p)
	}
}

// pairTheRest pairs, at the end, what has one candidate each way and nothing
// against it.
func (t *Tracker) pairTheRest() {
	for _, f := range t.all {
		if f.hall == nil || f.group == nil {
			continue
		}
		if c := f.onlyCandidate(); c != nil && !f.contested(c) {
			t.pair(f, c.f, record.PairAck, c.confidence())
		}
	}
	for _, f := range t.all {
		if f.hall == nil || f.group == nil {
			continue
		}
		if others := f.others(); len(others) == 1 && len(others[0].others()) == 1 && f.mayBe(others[0]) {
			t.pair(f, others[0], record.PairOnly, 0.5)
		}
	}
}

// mayBe says whether nothing is against f and g being one session.
func (f *flow) mayBe(g *flow) bool {
	for _, x := range []*flow{f, g} {
		for i := range x.hall.cands {
			if x.hall.cands[i].misses > 0 {
				return false
			}
		}
	}
	return f.service == g.service || f.service == record.ServiceUnknown || g.service == record.ServiceUnknown
}
