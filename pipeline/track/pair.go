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
type group struct{ lone [2]lone }

// lone are flows without a peer. Where there are many, they are found by what
// may pair them: their UDP source port, and the PSNs of their requests, in
// blocks. Most pairs of hosts never have more than a few.
type lone struct {
	flows  []*flow
	ports  map[uint16][]*flow // nil up to fewFlows
	blocks map[uint32][]*flow
}

// A block is 4,096 PSNs. A flow is in those of its window.
const (
	fewFlows  = 8
	blockBits = 12
	maxWindow = 1 << 14
)

func (l *lone) add(f *flow) {
	f.place = int32(len(l.flows))
	l.flows = append(l.flows, f)
	if l.ports != nil {
		l.ports[f.firstPort] = append(l.ports[f.firstPort], f)
		return
	}
	if len(l.flows) > fewFlows {
		l.ports, l.blocks = map[uint16][]*flow{}, map[uint32][]*flow{}
		for _, g := range l.flows {
			l.ports[g.firstPort] = append(l.ports[g.firstPort], g)
			if h := g.hall; h != nil && h.open {
				l.eachBlock(h.window.lo, h.window.hi, func(b uint32) { l.blocks[b] = append(l.blocks[b], g) })
			}
		}
	}
}

func (l *lone) remove(f *flow) {
	last := len(l.flows) - 1
	l.flows[f.place] = l.flows[last]
	l.flows[f.place].place = f.place
	l.flows[last] = nil
	l.flows = l.flows[:last]
	if l.ports == nil {
		return
	}
	l.ports[f.firstPort] = without(l.ports[f.firstPort], f)
	if h := f.hall; h != nil && h.open {
		l.leaveBlocks(f, h.window.lo, h.window.hi)
	}
}

// atPort are the flows that may have a source port, and others.
func (l *lone) atPort(port uint16) []*flow {
	if l.ports == nil {
		return l.flows
	}
	return l.ports[port]
}

// near are the flows whose requests may hold psn, and others.
func (l *lone) near(psn uint32) []*flow {
	if l.ports == nil {
		return l.flows
	}
	return l.blocks[psn>>blockBits]
}

// eachBlock calls do with the blocks of [lo, hi).
func (l *lone) eachBlock(lo, hi uint32, do func(b uint32)) {
	end := ((hi - 1) & psnMask) >> blockBits
	for b := lo >> blockBits; ; b = (b + 1) & (psnMask >> blockBits) {
		do(b)
		if b == end {
			return
		}
	}
}

// leaveBlocks takes f out of the blocks of [lo, hi).
func (l *lone) leaveBlocks(f *flow, lo, hi uint32) {
	l.eachBlock(lo, hi, func(b uint32) {
		if l.blocks[b] = without(l.blocks[b], f); len(l.blocks[b]) == 0 {
			delete(l.blocks, b)
		}
	})
}

// widen takes the requests [lo, hi) into f's window.
func (l *lone) widen(f *flow, lo, hi uint32) {
	h := f.hall
	from := h.window.hi
	switch {
	case !h.open:
		h.window, h.open = span{lo, hi}, true
		from = lo
	case psnDiff(hi, from) <= 0:
		return
	default:
		h.window.hi = hi
		if from&(1<<blockBits-1) != 0 { // its block holds f already
			from = (from | (1<<blockBits - 1)) + 1
		}
	}
	if l.ports != nil && psnDiff(hi, from&psnMask) > 0 {
		l.eachBlock(from&psnMask, hi, func(b uint32) { l.blocks[b] = append(l.blocks[b], f) })
	}
	if h.window.len() > maxWindow {
		cut := ((hi - maxWindow) & psnMask) &^ (1<<blockBits - 1)
		if psnDiff(cut, h.window.lo) > 0 {
			if l.ports != nil {
				l.leaveBlocks(f, h.window.lo, cut)
			}
			h.window.lo = cut
		}
	}
}

func without(list []*flow, f *flow) []*flow {
	if i := slices.Index(list, f); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

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
	window  span   // of request PSNs seen
	open    bool   // window is valid
	answers uint32 // distinct ones that some candidate could have drawn
	last    uint32 // PSN of the newest answer
	cands   []candidate
	wooers  []*flow // flows of which this is a candidate
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

func (f *flow) groupKey() groupKey {
	g := groupKey{lo: f.src, hi: f.dst, vni: f.vni, kind: f.kind, version: f.version}
	if less(f.dst, f.src) {
		g.lo, g.hi = g.hi, g.lo
	}
	return g
}

// key is the flow whatever its incarnation.
func (f *flow) key() lifeKey {
	return lifeKey{src: f.src, dst: f.dst, qpn: f.qpn, src2: f.srcQP, vni: f.vni, kind: f.kind}
}

func (t *Tracker) newFlow(p *Packet) *flow {
	f := &flow{
		req: &noStream,
		src: p.Src, dst: p.Dst, qpn: p.DestQP, srcQP: p.SrcQP, vni: p.VNI, kind: p.Kind,
		version: p.Version, hasVNI: p.is(hasVNI), ud: p.is(hasDETH), first: refOf(p), port: p.SrcPort,
		dscp: p.TOS >> 2,
	}
	f.life = &life{began: f, incarnation: 1}
	if len(t.lives) > 0 {
		f.life.incarnation += t.lives[f.key()]
	}
	t.makeRoom()
	t.flows.put(p.hash, f)
	t.keep(f)
	if f.ud {
		f.service = record.UD
		key := sourceKey{f.src, f.srcQP, f.vni}
		source := t.sources[key]
		if source == nil {
			source = &udSource{key: key}
			t.sources[key] = source
		}
		source.destinations++
		source.flows++
		f.extra().source = source
		return f
	}
	g := f.groupKey()
	if f.group = t.groups[g]; f.group == nil {
		f.group = new(group)
		t.groups[g] = f.group
	}
	f.firstPort = f.port
	f.group.lone[f.direction()].add(f)
	f.hall = &hall{begun: p.Time}
	t.adoptNew(f)
	return f
}

// leaveGroup takes f out of the flows without a peer.
func (t *Tracker) leaveGroup(f *flow) {
	if f.group == nil {
		return
	}
	f.group.lone[f.direction()].remove(f)
	if len(f.group.lone[0].flows)+len(f.group.lone[1].flows) == 0 {
		delete(t.groups, f.groupKey())
	}
	f.group = nil
}

// others are the flows the other way that have no peer.
func (f *flow) others() []*flow {
	if f.group == nil {
		return nil
	}
	return f.group.lone[1-f.direction()].flows
}

// hold keeps a packet of a flow whose peer is not known, and looks whether it
// tells.
func (t *Tracker) hold(f *flow, p *Packet) {
	h := f.hall
	h.packets = append(h.packets, held{t.seq, *p})
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
		f.group.lone[f.direction()].widen(f, p.PSN, psnAdd(p.PSN, min(f.widthAtMost(p, op), maxWindow)))
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
	for _, g := range f.group.lone[1-f.direction()].atPort(f.port) {
		if g.port == f.port && cm.PortOfLabel(cm.LabelOfQPNs(f.qpn, g.qpn)) == f.port {
			t.pair(f, g, record.PairPort, 0.99)
			return true
		}
	}
	for _, g := range f.group.lone[1-f.direction()].atPort(cm.PortOfQPN(f.qpn)) {
		if g.port == cm.PortOfQPN(f.qpn) && cm.PortOfQPN(g.qpn) == f.port {
			t.pair(f, g, record.PairPort, 0.99)
			return true
		}
	}
	return false
}

// pairByAnswer counts for which flows of requests p can be an answer, and pairs
// f with the only one that all answers fit.
func (t *Tracker) pairByAnswer(f *flow, p *Packet) {
	h := f.hall
	if h.answers > 0 && h.last == p.PSN {
		return
	}
	fits := false
	near := f.group.lone[1-f.direction()].near(p.PSN)
	for _, g := range near[:min(len(near), maxCands)] {
		if g.hall == nil || !g.hall.open {
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
			i = len(h.cands)
			h.cands = append(h.cands, candidate{f: g})
			g.hall.wooers = append(g.hall.wooers, f)
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
	t.leaveGroup(f)
	t.leaveGroup(g)
	f.peer, g.peer = g, f
	a, b := f, g
	if g.first.before(f.first) {
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
			t.held -= len(x.hall.packets)
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
		if x.hall.answers > 0 { // to others than these
			return false
		}
	}
	return f.service == g.service || f.service == record.ServiceUnknown || g.service == record.ServiceUnknown
}
