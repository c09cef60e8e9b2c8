package correlate

import (
	"cmp"
	"math"
	"slices"
)

// common is a packet that two taps have sampled, and that is the only one of
// its kind at both.
type common struct {
	at   int64 // by A's clock
	diff int64 // what B's clock showed more
	pair int32 // of addresses, one direction
	ttl  int16 // by how much it was less at B than at A
	mark int8  // 1: CE only at B, -1: only at A
}

// way is what the common packets of one direction between two addresses say.
type way struct {
	points []common // without those that are far from all others
	far    []common
	middle float64 // of diff, the coarse drift taken out
	hops   int16   // by how much TTLs were less at B, the median
	up     int8    // 1: A comes first, -1: B does, 0: not known
	likely int8    // likewise, where only losses tell
	onlyA  uint64
	onlyB  uint64
	marks  [2]uint64 // packets with CE only at A, and only at B
}

const (
	// maxDrift bounds what is taken for drift: crystals are within 100 parts
	// per million, and bad ones within twice as much.
	maxDrift = 500e-6
	// coarseBins is in how many parts of a capture its drift is looked for.
	coarseBins = 32
	// fewFar is the part of packets, one in so many, that may be different ones
	// that look alike.
	fewFar = 50
	// minForDrift is how many packets of one direction it takes to tell drift.
	minForDrift = 8
)

// estimate sets the clocks of two taps against each other.
type estimate struct {
	Clock
	ways  map[int32]*way
	base  int64   // diffs are above this, so that they fit a float
	t0    int64   // times are from here
	rate  float64 // drift as a ratio
	level float64 // diff above base at t0
	ok    bool
}

// at is what B's clock shows more than A's at a time of A's.
func (e *estimate) at(t int64) int64 {
	return e.base + int64(math.Round(e.level+e.rate*float64(t-e.t0)))
}

// newEstimate takes the common packets of two taps, and how many one alone has
// of each pair of addresses. reverse gives the pair of the opposite direction,
// -1 for none.
func newEstimate(points []common, onlyA, onlyB map[int32]uint64, reverse func(int32) int32, resolution int64) *estimate {
	e := &estimate{ways: make(map[int32]*way)}
	e.Uncertainty, e.RoundTrip, e.DriftUncertainty = -1, -1, -1
	if len(points) == 0 {
		return e
	}
	slices.SortFunc(points, func(a, b common) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.diff, b.diff), cmp.Compare(a.pair, b.pair))
	})
	diffs := make([]int64, len(points))
	for i := range points {
		diffs[i] = points[i].diff
	}
	slices.Sort(diffs)
	e.base = diffs[len(diffs)/2]
	e.t0 = points[0].at + (points[len(points)-1].at-points[0].at)/2
	for _, p := range points {
		w := e.ways[p.pair]
		if w == nil {
			w = &way{}
			e.ways[p.pair] = w
		}
		w.points = append(w.points, p)
	}
	coarse := e.coarseDrift()
	for pair, w := range e.ways {
		w.onlyA, w.onlyB = onlyA[pair], onlyB[pair]
		e.describe(w, coarse)
	}
	e.orient(reverse)
	e.fit(coarse, resolution)
	return e
}

// sorted are the pairs with common packets, in their order.
func (e *estimate) sorted() []int32 {
	pairs := make([]int32, 0, len(e.ways))
	for p := range e.ways {
		pairs = append(pairs, p)
	}
	slices.Sort(pairs)
	return pairs
}

func (e *estimate) x(p *common) float64 { return float64(p.at - e.t0) }
func (e *estimate) y(p *common) float64 { return float64(p.diff - e.base) }

// coarseDrift is the drift that the middles of parts of the capture agree on:
// the median of the slopes between parts far from each other.
func (e *estimate) coarseDrift() float64 {
	var slopes []float64
	for _, pair := range e.sorted() {
		w := e.ways[pair]
		n := min(coarseBins, len(w.points)/4)
		if n < 2 {
			continue
		}
		xs, ys := make([]float64, n), make([]float64, n)
		for i := range n {
			part := w.points[i*len(w.points)/n : (i+1)*len(w.points)/n]
			values := make([]float64, len(part))
			for k := range part {
				values[k] = e.y(&part[k])
			}
			slices.Sort(values)
			xs[i], ys[i] = e.x(&part[len(part)/2]), values[len(values)/2]
		}
		for i := range n {
			for k := i + max(n/2, 1); k < n; k++ {
				if dx := xs[k] - xs[i]; dx > 0 {
					slopes = append(slopes, (ys[k]-ys[i])/dx)
				}
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return min(max(slopes[len(slopes)/2], -maxDrift), maxDrift)
}

// describe sums up the packets of one direction, and puts those apart that are
// far from all others: they are different packets that look alike, or waited in
// a queue that stood still.
func (e *estimate) describe(w *way, coarse float64) {
	rest := make([]float64, len(w.points))
	hops := make([]int16, len(w.points))
	for i := range w.points {
		rest[i] = e.y(&w.points[i]) - coarse*e.x(&w.points[i])
		hops[i] = w.points[i].ttl
		switch w.points[i].mark {
		case -1:
			w.marks[0]++
		case 1:
			w.marks[1]++
		}
	}
	slices.Sort(rest)
	slices.Sort(hops)
	w.hops = hops[len(hops)/2]
	q := func(share float64) float64 { return rest[int(share*float64(len(rest)-1))] }
	w.middle = q(0.5)
	const far, slack = 20, 1e5 // times the inner half, ns
	low, high := w.middle-far*(w.middle-q(0.25))-slack, w.middle+far*(q(0.75)-w.middle)+slack
	if len(rest) < minForDrift {
		return
	}
	// Many are no exceptions: the fastest ones where most have to wait.
	if rest[len(rest)/fewFar] < low {
		low = math.Inf(-1)
	}
	if rest[len(rest)-1-len(rest)/fewFar] > high {
		high = math.Inf(1)
	}
	near := w.points[:0:0]
	for _, p := range w.points {
		if r := e.y(&p) - coarse*e.x(&p); r < low || r > high {
			w.far = append(w.far, p)
		} else {
			near = append(near, p)
		}
	}
	w.points = near
}

// orient says for each direction which tap comes first, where something tells:
// the hop limit, marks, which only ever come on the way, or that packets of the
// opposite direction differ the other way.
func (e *estimate) orient(reverse func(int32) int32) {
	for pair, w := range e.ways {
		back := e.ways[reverse(pair)]
		switch {
		case w.told() != 0:
			w.up = w.told()
		case back != nil && back.told() != 0:
			w.up = -back.told()
		case back != nil:
			w.up = sign(w.middle - back.middle)
			if w.up == 0 { // the taps are in one place, or one capture was given twice
				w.up = sign(float64(reverse(pair) - pair))
			}
		}
		w.likely = w.byLosses()
	}
}

// told is which tap comes first as the headers of packets tell, 0 if they do
// not.
func (w *way) told() int8 {
	if w.hops != 0 {
		return sign(float64(w.hops))
	}
	return w.byMarks()
}

// A few packets may be wrong: a sample's, or one that a tap lost.
const (
	fewOdd   = 4 // packets that it takes to tell anything
	oddTimes = 8 // as many on one side as on the other
)

func (w *way) byMarks() int8 { return oneSided(w.marks[1], w.marks[0]) }

// byLosses: what the first tap has, the second one may miss.
func (w *way) byLosses() int8 { return oneSided(w.onlyA, w.onlyB) }

func oneSided(a, b uint64) int8 {
	switch {
	case a >= fewOdd && a >= b*oddTimes:
		return 1
	case b >= fewOdd && b >= a*oddTimes:
		return -1
	}
	return 0
}

func sign(v float64) int8 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// fit draws the line that the clocks' difference follows. Packets that A has
// first can only lie above it, because they take time to B, and those that B
// has first below. The line goes midway between, at the drift at which there is
// most room between both.
func (e *estimate) fit(coarse float64, resolution int64) {
	above, below, unknown := e.sides(true)
	e.Samples = [3]uint64{uint64(len(above)), uint64(len(below)), uint64(len(unknown))}
	e.ok = true
	if len(above) > 0 && len(below) > 0 {
		e.twoWay(above, below, coarse, resolution)
		if above, below, _ = e.sides(false); e.Method == Spread && len(above) > 0 && len(below) > 0 {
			e.twoWay(above, below, coarse, resolution)
		}
	} else {
		e.oneWay(e.sides(false))
	}
	e.Offset, e.At, e.Drift = e.at(e.t0), e.t0, e.rate*1e6
}

// sides are the packets that A has first, those that B has first, and those of
// which it is not known; with those that are far from all others, or without.
func (e *estimate) sides(far bool) (above, below, unknown []point) {
	for _, pair := range e.sorted() {
		w := e.ways[pair]
		list := w.points
		if far {
			list = slices.Concat(w.points, w.far)
		}
		for i := range list {
			p := point{e.x(&list[i]), e.y(&list[i])}
			switch w.up {
			case 1:
				above = append(above, p)
			case -1:
				below = append(below, p)
			default:
				unknown = append(unknown, p)
			}
		}
	}
	return above, below, unknown
}

// twoWay fits where packets of both directions are common.
func (e *estimate) twoWay(above, below []point, coarse float64, resolution int64) {
	up, down := lowerHull(above), lowerHull(mirrored(below))
	room := func(r float64) float64 { return lowest(up, r) + lowest(down, -r) }
	r := argMax(room, coarse-maxDrift, coarse+maxDrift)
	if len(above)+len(below) < minForDrift {
		r = coarse
	}
	gap := room(r)
	e.rate = r
	e.level = (lowest(up, r) - lowest(down, -r)) / 2
	slack := float64(resolution)
	if gap < -2*slack {
		// Stamps are too unsteady: some packets seem to have come before they
		// left. The middles are all there is.
		lo, hi := middleAbove(below, r), middleAbove(above, r)
		e.Method, e.level = Spread, (lo+hi)/2
		e.Uncertainty = int64(math.Ceil(math.Abs(hi-lo)/2 + math.Abs(gap) + slack))
		return
	}
	// Any line between both hulls could be the true one.
	left := crossing(room, r, r-maxDrift, -slack)
	right := crossing(room, r, r+maxDrift, -slack)
	least, most := e.level, e.level
	const steps = 64
	for i := range steps + 1 {
		at := left + (right-left)*float64(i)/steps
		least, most = min(least, -lowest(down, -at)), max(most, lowest(up, at))
	}
	e.Method = TwoWay
	e.RoundTrip = int64(math.Round(max(gap, 0)))
	e.Uncertainty = int64(math.Ceil(max(e.level-least, most-e.level) + slack))
	e.DriftUncertainty = max(r-left, right-r) * 1e6
}

// oneWay fits where packets of one direction alone are common: the line below
// all of them that is closest to them. How long the fastest took is not known.
func (e *estimate) oneWay(above, below, unknown []point) {
	e.Method = OneWay
	if len(above)+len(below) == 0 {
		e.Method = OneWayBad
		votes := 0
		for _, w := range e.ways {
			votes += int(w.likely) * len(w.points)
		}
		if votes < 0 {
			below = unknown
		} else {
			above = unknown
		}
	}
	flip := len(below) > 0
	points := above
	if flip {
		points = mirrored(below)
	}
	hull := lowerHull(points)
	var mean point
	for _, p := range points {
		mean.x += p.x / float64(len(points))
		mean.y += p.y / float64(len(points))
	}
	// How far packets are above the line, in the mean.
	above0 := func(r float64) float64 { return mean.y - r*mean.x - lowest(hull, r) }
	r := 0.0
	if len(points) >= minForDrift {
		r = argMax(func(r float64) float64 { return -above0(r) }, -maxDrift, maxDrift)
	}
	if 2*above0(r) > above0(0) {
		// Queues that fill and drain look like drift. It is taken for drift only
		// where most of what there is goes away with it.
		r = 0
	}
	e.rate, e.level = r, lowest(hull, r)
	if flip {
		e.rate, e.level = -r, -e.level
	}
}
