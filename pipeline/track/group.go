package track

import (
	"slices"

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
