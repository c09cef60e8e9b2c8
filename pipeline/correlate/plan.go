package correlate

import (
	"math"
	"slices"
)

// plan is what the second reading goes by: flows with their paths, and clocks.
type plan struct {
	taps      []tapPlan
	flows     []planFlow
	index     map[flowKey]uint32
	pairs     []addrPair
	pairIndex map[pairKey]int32
	estimates map[[2]int]*estimate
	clocks    []affine // from a tap's clock to the first tap's
	aligned   []bool
	parent    []int // in the tree of clocks, -1 for a root
	paths     []Path
	pathKey   map[string]int
	cfg       *Config
}

type tapPlan struct {
	*survey
	flowOf []uint32 // global flow by the survey's
}

// planFlow is a flow with what all taps know of it.
type planFlow struct {
	key     flowKey
	pair    int32
	path    int32    // index into plan.paths, -1 where one tap alone saw it
	seen    uint16   // taps, a bit each
	packets []uint64 // at each tap
	doubled uint16   // taps that have its packets twice
	ipid    bool     // its IP IDs tell packets apart
}

// addrPair is one direction between two addresses.
type addrPair struct {
	key      pairKey
	flows    []uint32
	taps     []int // that saw it, in the order of the path
	how      Sureness
	conflict bool
}

// affine maps one clock to another: to + (t - from) * (1 + rate).
type affine struct {
	from, to int64
	rate     float64
}

func (a affine) of(t int64) int64 {
	d := t - a.from
	return a.to + d + int64(math.Round(float64(d)*a.rate))
}

// then is first a, then b.
func (a affine) then(b affine) affine {
	d := a.to - b.from
	return affine{from: a.from, to: b.to + d + int64(math.Round(float64(d)*b.rate)), rate: a.rate + b.rate + a.rate*b.rate}
}

func newPlan(surveys []*survey, cfg *Config) *plan {
	p := &plan{cfg: cfg, index: make(map[flowKey]uint32), pairIndex: make(map[pairKey]int32), estimates: make(map[[2]int]*estimate), pathKey: make(map[string]int)}
	for _, s := range surveys {
		p.taps = append(p.taps, tapPlan{survey: s})
	}
	p.join()
	p.compare()
	p.align()
	p.order()
	return p
}

// join makes one list of the flows of all taps.
func (p *plan) join() {
	for t := range p.taps {
		tap := &p.taps[t]
		tap.flowOf = make([]uint32, len(tap.seen))
		for i := range tap.seen {
			s := &tap.seen[i]
			k, ok := p.index[s.key]
			if !ok {
				k = uint32(len(p.flows))
				p.index[s.key] = k
				p.flows = append(p.flows, planFlow{key: s.key, pair: p.pairOf(s.key.pair(), k), path: -1, packets: make([]uint64, len(p.taps))})
			}
			f := &p.flows[k]
			f.seen |= 1 << t
			f.packets[t] = s.packets
			tap.flowOf[i] = k
			// One packet has an ID of its own unless it has none.
			steps := s.idSteps
			if s.packets == 1 && s.lastID != 0 {
				f.ipid = true
			} else if s.withIPID && s.packets > 1 && steps*10 >= (s.packets-1)*9 {
				f.ipid = true
			}
		}
		tap.flows = nil
	}
}

func (p *plan) pairOf(k pairKey, flow uint32) int32 {
	i, ok := p.pairIndex[k]
	if !ok {
		i = int32(len(p.pairs))
		p.pairIndex[k] = i
		p.pairs = append(p.pairs, addrPair{key: k})
	}
	p.pairs[i].flows = append(p.pairs[i].flows, flow)
	return i
}

func (p *plan) reverse(pair int32) int32 {
	if i, ok := p.pairIndex[p.pairs[pair].key.reverse()]; ok {
		return i
	}
	return -1
}

// compare estimates the clocks of each two taps from the packets that both
// have sampled.
func (p *plan) compare() {
	mask := uint64(0)
	for t := range p.taps {
		mask |= p.taps[t].mask
	}
	for t := range p.taps {
		p.arrange(t, mask)
	}
	for a := range p.taps {
		for b := a + 1; b < len(p.taps); b++ {
			e := p.comparePair(a, b)
			if e.ok {
				p.estimates[[2]int{a, b}] = e
			}
		}
	}
}

func (p *plan) comparePair(a, b int) *estimate {
	var points []common
	onlyA, onlyB := make(map[int32]uint64), make(map[int32]uint64)
	sa, sb := p.taps[a].samples, p.taps[b].samples
	add := func(x, y *sample) {
		points = append(points, common{at: x.time, diff: y.time - x.time, pair: p.flows[p.taps[a].flowOf[x.flow]].pair, ttl: int16(x.ttl) - int16(y.ttl), mark: btoi(y.ce) - btoi(x.ce)})
	}
	for i, j := 0, 0; i < len(sa) || j < len(sb); {
		switch {
		case j == len(sb) || i < len(sa) && sa[i].hash < sb[j].hash:
			onlyA[p.flows[p.taps[a].flowOf[sa[i].flow]].pair]++
			i++
		case i == len(sa) || sb[j].hash < sa[i].hash:
			onlyB[p.flows[p.taps[b].flowOf[sb[j].flow]].pair]++
			j++
		default:
			x, y := alike(sa, i), alike(sb, j)
			i, j = i+len(x), j+len(y)
			matchSamples(x, y, add)
		}
	}
	e := newEstimate(points, onlyA, onlyB, p.reverse, max(p.taps[a].resolution(), p.taps[b].resolution()))
	e.A, e.B = a, b
	return e
}

func btoi(b bool) int8 {
	if b {
		return 1
	}
	return 0
}

// align sets all clocks against one tap's: by way of the pairs of taps of which
// it is known best how their clocks differ.
func (p *plan) align() {
	n := len(p.taps)
	p.clocks, p.aligned, p.parent = make([]affine, n), make([]bool, n), make([]int, n)
	for i := range p.parent {
		p.parent[i] = -1
	}
	p.aligned[p.root()] = true
	if p.cfg.SameClock {
		for i := range p.aligned {
			p.aligned[i] = true
		}
		for _, e := range p.estimates {
			e.sameClock()
		}
		return
	}
	for {
		var best *estimate
		for a := range n {
			for b := a + 1; b < n; b++ {
				e := p.estimates[[2]int{a, b}]
				if e != nil && p.aligned[a] != p.aligned[b] && (best == nil || e.better(best)) {
					best = e
				}
			}
		}
		if best == nil {
			return
		}
		a, b := best.A, best.B
		if p.aligned[a] {
			// B's time t is A's u with t = u + base + level + rate (u - t0).
			toA := affine{from: best.at(best.t0) + best.t0, to: best.t0, rate: 1/(1+best.rate) - 1}
			p.clocks[b], p.parent[b], p.aligned[b] = toA.then(p.clocks[a]), a, true
		} else {
			toB := affine{from: best.t0, to: best.at(best.t0) + best.t0, rate: best.rate}
			p.clocks[a], p.parent[a], p.aligned[a] = toB.then(p.clocks[b]), b, true
		}
	}
}

// root is the tap whose clock counts: the first that has packets in common with
// another one.
func (p *plan) root() int {
	for a := range p.taps {
		for b := range p.taps {
			if p.estimates[[2]int{min(a, b), max(a, b)}] != nil {
				return a
			}
		}
	}
	return 0
}

// better says whether e tells more of its clocks than f.
func (e *estimate) better(f *estimate) bool {
	known := func(e *estimate) int {
		if e.Uncertainty >= 0 {
			return 1
		}
		return 0
	}
	if known(e) != known(f) {
		return known(e) > known(f)
	}
	if known(e) == 1 && e.Uncertainty != f.Uncertainty {
		return e.Uncertainty < f.Uncertainty
	}
	return e.Samples[0]+e.Samples[1]+e.Samples[2] > f.Samples[0]+f.Samples[1]+f.Samples[2]
}

// sameClock forgets what was estimated: there is one clock. That packets of both
// directions say otherwise is kept.
func (e *estimate) sameClock() {
	e.Contradicted = 0
	if e.Method == TwoWay && (e.Offset > e.Uncertainty || e.Offset < -e.Uncertainty) {
		e.Contradicted = e.Offset
	}
	e.Method, e.Offset, e.Drift, e.Uncertainty, e.DriftUncertainty, e.RoundTrip = Same, 0, 0, 0, 0, -1
	e.level, e.rate, e.base = 0, 0, 0
}

// clockError bounds how far the alignment of two taps is off, -1 if it is not
// known.
func (p *plan) clockError(a, b int) int64 {
	if p.cfg.SameClock {
		return 0
	}
	toRoot := func(t int) []int {
		way := []int{t}
		for p.parent[t] >= 0 {
			t = p.parent[t]
			way = append(way, t)
		}
		return way
	}
	x, y := toRoot(a), toRoot(b)
	for len(x) > 1 && len(y) > 1 && x[len(x)-2] == y[len(y)-2] { // what both have in common cancels
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	sum := int64(0)
	for _, way := range [][]int{x, y} {
		for i := range len(way) - 1 {
			u := p.estimates[[2]int{min(way[i], way[i+1]), max(way[i], way[i+1])}].Uncertainty
			if u < 0 {
				return -1
			}
			sum += u
		}
	}
	return sum
}

// middleDelay is by how much later, on one clock, the packets of a pair of
// addresses came by at tap b than at tap a, in the middle.
func (p *plan) middleDelay(w *way, a, b int) int64 {
	var list []int64
	for _, c := range w.points {
		list = append(list, p.clocks[b].of(c.at+c.diff)-p.clocks[a].of(c.at))
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}
