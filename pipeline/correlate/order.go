package correlate

import (
	"fmt"
	"math/bits"
	"slices"
)

// order finds in which order the packets of each pair of addresses pass the
// taps, and gives each flow its path.
func (p *plan) order() {
	told := make([]bool, len(p.pairs))
	for i := range p.pairs {
		told[i] = p.orderPair(int32(i))
	}
	like := newAlikes(p, told)
	for i := range p.pairs {
		if q := &p.pairs[i]; !told[i] || q.how == Assumed && len(q.taps) > 1 {
			p.orderLike(int32(i), told, like)
		}
	}
	for i := range p.pairs {
		p.pathsOf(int32(i))
	}
}

// sightedBy are the taps that saw a pair of addresses and have a clock.
func (p *plan) sightedBy(pair int32) []int {
	seen := uint16(0)
	for _, f := range p.pairs[pair].flows {
		seen |= p.flows[f].seen
	}
	var taps []int
	for ; seen != 0; seen &= seen - 1 {
		if t := bits.TrailingZeros16(seen); p.aligned[t] {
			taps = append(taps, t)
		}
	}
	return taps
}

// orderPair orders the taps of a pair of addresses by its own packets. It
// returns false where it has none in common.
func (p *plan) orderPair(pair int32) bool {
	q := &p.pairs[pair]
	taps := p.sightedBy(pair)
	q.how = ByTTL
	if len(taps) < 2 {
		q.taps = taps
		return true
	}
	known := false
	// Few taps: each is put where it belongs among those before it.
	for _, t := range taps {
		at := len(q.taps)
		for at > 0 {
			before, how, conflict, ok := p.first(pair, q.taps[at-1], t)
			known = known || ok
			q.how = min(q.how, how)
			q.conflict = q.conflict || conflict
			if before {
				break
			}
			at--
		}
		q.taps = slices.Insert(q.taps, at, t)
	}
	if p.cfg.InOrder {
		p.asGiven(q)
	}
	return known
}

// asGiven puts taps into the order of the command line or into the opposite
// one, whichever the packets are closer to.
func (p *plan) asGiven(q *addrPair) {
	forward := 0
	for i := range q.taps {
		for _, later := range q.taps[i+1:] {
			if later > q.taps[i] {
				forward++
			} else {
				forward--
			}
		}
	}
	slices.Sort(q.taps)
	if forward < 0 && q.how >= ByLosses {
		slices.Reverse(q.taps)
	}
	q.how = max(q.how, Given)
}

// first says whether the packets of a pair of addresses pass tap a before tap
// b, and how that is known. ok is false where no packet tells anything.
func (p *plan) first(pair int32, a, b int) (before bool, how Sureness, conflict, ok bool) {
	if a > b {
		before, how, conflict, ok = p.first(pair, b, a)
		if how == Assumed {
			return false, how, conflict, ok // the order of the command line
		}
		return !before, how, conflict, ok
	}
	e := p.estimates[[2]int{a, b}]
	if e == nil || e.ways[pair] == nil {
		return true, Assumed, false, false
	}
	w := e.ways[pair]
	delay := p.middleDelay(w, a, b)
	bound := p.clockError(a, b)
	byDelay := bound >= 0 && (delay > bound || delay < -bound || p.twoWays(e, pair) && delay != 0)
	if told := w.told(); told != 0 {
		how = ByTTL
		if w.hops == 0 {
			how = ByMarks
		}
		return told > 0, how, byDelay && (told > 0) != (delay > 0), true
	}
	switch {
	case byDelay:
		return delay > 0, ByDelay, false, true
	case w.likely != 0:
		return w.likely > 0, ByLosses, false, true
	}
	return true, Assumed, false, true
}

// twoWays says whether packets of both directions of a pair of addresses lie
// clearly apart.
func (p *plan) twoWays(e *estimate, pair int32) bool {
	back := e.ways[p.reverse(pair)]
	return e.Method == TwoWay && back != nil && len(back.points) > 0
}

// alikes are pairs of addresses whose order is known, by their hosts.
type alikes struct{ bySrc, byDst map[pairKey]int32 }

func newAlikes(p *plan, told []bool) *alikes {
	l := &alikes{make(map[pairKey]int32), make(map[pairKey]int32)}
	for i := range p.pairs {
		q := &p.pairs[i]
		if !told[i] || len(q.taps) < 2 || q.how == Assumed {
			continue
		}
		if k := srcKey(q.key); !has(l.bySrc, k) {
			l.bySrc[k] = int32(i)
		}
		if k := dstKey(q.key); !has(l.byDst, k) {
			l.byDst[k] = int32(i)
		}
	}
	return l
}

func srcKey(k pairKey) pairKey { return pairKey{src: k.src, addr: k.addr} }
func dstKey(k pairKey) pairKey { return pairKey{dst: k.dst, addr: k.addr} }

func has(m map[pairKey]int32, k pairKey) bool {
	_, ok := m[k]
	return ok
}

// of is such a pair with the same source or the same destination, -1 if there is
// none.
func (l *alikes) of(k pairKey) int32 {
	if i, ok := l.bySrc[srcKey(k)]; ok {
		return i
	}
	if i, ok := l.byDst[dstKey(k)]; ok {
		return i
	}
	return -1
}

// orderLike orders the taps of a pair of addresses whose own packets do not
// tell as those of others: of the opposite direction, of the same sender or of
// the same receiver.
func (p *plan) orderLike(pair int32, told []bool, like *alikes) {
	q := &p.pairs[pair]
	q.taps, q.how = p.sightedBy(pair), Assumed
	var order []int
	if r := p.reverse(pair); r >= 0 && told[r] && p.pairs[r].how > Assumed && len(p.pairs[r].taps) > 1 {
		order = slices.Clone(p.pairs[r].taps)
		slices.Reverse(order)
	} else if i := like.of(q.key); i >= 0 {
		order = p.pairs[i].taps
	}
	found := 0
	for _, t := range q.taps {
		if slices.Contains(order, t) {
			found++
		}
	}
	if found == len(q.taps) && found > 1 {
		q.how = Alike
	}
	slices.SortStableFunc(q.taps, func(a, b int) int {
		x, y := slices.Index(order, a), slices.Index(order, b)
		if x < 0 || y < 0 {
			return a - b
		}
		return x - y
	})
	if p.cfg.InOrder {
		p.asGiven(q)
	}
}

// pathsOf gives the flows of a pair of addresses their paths: of the pair's
// taps, those that saw the flow.
func (p *plan) pathsOf(pair int32) {
	q := &p.pairs[pair]
	counted := make(map[int]bool)
	for _, f := range q.flows {
		flow := &p.flows[f]
		var taps []int
		for _, t := range q.taps {
			if flow.seen>>t&1 != 0 {
				taps = append(taps, t)
			}
		}
		if len(taps) < 2 {
			continue
		}
		key := fmt.Sprint(taps)
		i, ok := p.pathKey[key]
		if !ok {
			i = len(p.paths)
			p.pathKey[key] = i
			p.paths = append(p.paths, Path{Taps: taps, Sureness: q.how, Src: q.key.src, Dst: q.key.dst, Kind: q.key.addr})
		}
		path := &p.paths[i]
		path.Sureness = min(path.Sureness, q.how)
		path.Flows++
		flow.path = int32(i)
		if !counted[i] {
			counted[i] = true
			path.Pairs++
			if q.conflict {
				path.Conflicts++
			}
		}
	}
}
