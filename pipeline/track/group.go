package track

import (
	"math/bits"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// groupKey is an unordered pair of addresses, and what they are inside of.
type groupKey struct {
	lo, hi  decode.Addr
	vni     uint32
	kind    decode.AddrKind
	version record.Version
}

func (k *groupKey) hash() uint64 {
	return Mix(Mix(k.lo.Hi^k.lo.Lo, bits.RotateLeft64(k.hi.Hi^k.hi.Lo, 32)), uint64(k.vni)|uint64(k.kind)<<32|uint64(k.version)<<40)
}

// group holds the flows between two addresses that have no peer yet, by
// direction: from the lower address to the higher, and back.
type group struct {
	key    groupKey
	hash   uint64
	lone   [2]lone
	next   *group  // with the same hash
	blocks [2]bool // the flows of a direction are found by blocks of PSNs
}

// lone are flows without a peer, linked by their halls.
type lone struct {
	first *hall
	n     int
}

// group finds the group of a flow, or begins it.
func (t *Tracker) group(f *flow) *group {
	key := f.groupKey()
	h := key.hash()
	for g := t.groups[h]; g != nil; g = g.next {
		if g.key == key {
			return g
		}
	}
	g := &group{key: key, hash: h, next: t.groups[h]}
	t.groups[h] = g
	return g
}

// enterGroup puts f among the flows without a peer. They are found by what may
// pair them: their UDP source port, and the PSNs of their requests, in blocks.
func (t *Tracker) enterGroup(f *flow) {
	f.group = t.group(f)
	l := &f.group.lone[f.direction()]
	h := f.hall
	if h.next = l.first; h.next != nil {
		h.next.prev = h
	}
	l.first = h
	l.n++
	h.atPort = t.seekers.add(f.keyOf(byPort, uint32(f.port)), f)
}

// leaveGroup takes f out of the flows without a peer.
func (t *Tracker) leaveGroup(f *flow) {
	g, h := f.group, f.hall
	if g == nil {
		return
	}
	f.group = nil
	l := &g.lone[f.direction()]
	if h.next != nil {
		h.next.prev = h.prev
	}
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		l.first = h.next
	}
	h.next, h.prev = nil, nil
	l.n--
	t.seekers.remove(h.atPort)
	t.leaveBlocks(h, func(uint32) bool { return true })
	if g.lone[0].n+g.lone[1].n == 0 {
		t.dropGroup(g)
	}
}

func (t *Tracker) dropGroup(g *group) {
	at := t.groups[g.hash]
	switch {
	case at != g:
		for at.next != g {
			at = at.next
		}
		at.next = g.next
	case g.next != nil:
		t.groups[g.hash] = g.next
	default:
		delete(t.groups, g.hash)
	}
}

// What the flows of a group are found by.
const (
	byPort uint64 = iota << 32
	byBlock
)

// keyOf is where f is found by a port or a block, and keyOfOthers where the flows
// the other way are.
func (f *flow) keyOf(by uint64, value uint32) uint64 { return f.group.keyOf(f.direction(), by, value) }

func (f *flow) keyOfOthers(by uint64, value uint32) uint64 {
	return f.group.keyOf(1-f.direction(), by, value)
}

func (g *group) keyOf(direction int, by uint64, value uint32) uint64 {
	return Mix(g.hash, by|uint64(direction)<<40|uint64(value))
}

// A block is 4,096 PSNs. A flow is in those of its window, at most five, whose
// numbers differ in the lowest bits.
const (
	blockBits = 12
	maxWindow = 1 << 14
	maxBlocks = 8
)

// widen takes the requests [lo, hi) into f's window.
func (t *Tracker) widen(f *flow, lo, hi uint32) {
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
	}
	cut := psnAdd(hi, -maxWindow&psnMask) &^ (1<<blockBits - 1)
	if h.window.len() > maxWindow && psnDiff(cut, h.window.lo) > 0 {
		h.window.lo = cut
		t.leaveBlocks(h, func(b uint32) bool { return psnDiff(b<<blockBits, cut) < 0 })
		if psnDiff(from, h.window.lo) < 0 {
			from = h.window.lo
		}
	}
	if f.group.blocks[f.direction()] {
		t.enterBlocks(f, from, hi)
	}
}

// findByBlocks lets the flows the other way be found by the PSNs of their
// requests. Most sessions are paired without.
func (t *Tracker) findByBlocks(f *flow) {
	way := 1 - f.direction()
	if f.group.blocks[way] {
		return
	}
	f.group.blocks[way] = true
	for h := f.group.lone[way].first; h != nil; h = h.next {
		if h.open {
			t.enterBlocks(h.f, h.window.lo, h.window.hi)
		}
	}
}

// enterBlocks lets f be found by the blocks of [lo, hi).
func (t *Tracker) enterBlocks(f *flow, lo, hi uint32) {
	h := f.hall
	if h.blocks == nil {
		h.blocks = new([maxBlocks]inBlock)
	}
	end := ((hi - 1) & psnMask) >> blockBits
	for b := lo >> blockBits; ; b = (b + 1) & (psnMask >> blockBits) {
		if in := &h.blocks[b%maxBlocks]; in.at == 0 {
			*in = inBlock{t.seekers.add(f.keyOf(byBlock, b), f), b}
		}
		if b == end {
			return
		}
	}
}

// leaveBlocks lets the flow in h no more be found by the blocks that out says.
func (t *Tracker) leaveBlocks(h *hall, out func(block uint32) bool) {
	if h.blocks == nil {
		return
	}
	for i := range h.blocks {
		if in := &h.blocks[i]; in.at != 0 && out(in.block) {
			t.seekers.remove(in.at)
			in.at = 0
		}
	}
}

// lifeKey is a flow whatever its incarnation.
type lifeKey struct {
	src, dst       decode.Addr
	qpn, src2, vni uint32
	kind           decode.AddrKind
}

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

// lifeKey is the flow whatever its incarnation.
func (f *flow) lifeKey() lifeKey {
	return lifeKey{src: f.src, dst: f.dst, qpn: f.qpn, src2: f.srcQP, vni: f.vni, kind: f.kind}
}

func (t *Tracker) newFlow(p *Packet) *flow {
	f := t.slabs.flows.get()
	*f = flow{
		req: &noStream,
		src: p.Src, dst: p.Dst, qpn: p.DestQP, srcQP: p.SrcQP, vni: p.VNI, kind: p.Kind,
		version: p.Version, hasVNI: p.is(hasVNI), ud: p.is(hasDETH), first: refOf(p), last: refOf(p), port: p.SrcPort,
		tos: p.TOS, strange: p.priority() << strangeBits, life: t.slabs.lives.get(),
	}
	f.life.began, f.life.incarnation = f, 1
	if len(t.lives) > 0 {
		f.life.incarnation += t.lives[f.lifeKey()]
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
		t.otherDestination(source, p)
		if source.destinations++; source.destinations == 1 {
			source.only = f
		}
		source.flows++
		f.extra().source = source
		return f
	}
	f.hall = t.newHall(f)
	f.hall.begun = p.Time
	t.enterGroup(f)
	t.adoptNew(f)
	return f
}
