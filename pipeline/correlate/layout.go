package correlate

import (
	"math"
	"slices"
	"time"
)

// layOut makes the hops of all paths.
func (m *matcher) layOut() {
	at := make(map[[2]int]int)
	for i := range m.plan.paths {
		path := &m.plan.paths[i]
		spots := make([]int8, m.n)
		for t := range spots {
			spots[t] = -1
		}
		full := uint16(0)
		hops := make([]int, len(path.Taps)-1)
		for k, t := range path.Taps {
			spots[t] = int8(k)
			full |= 1 << t
			m.inPath[t] = true
			if k == 0 {
				continue
			}
			key := [2]int{path.Taps[k-1], t}
			h, ok := at[key]
			if !ok {
				h = len(m.hops)
				at[key] = h
				bound := m.plan.clockError(key[0], key[1])
				m.hops = append(m.hops, Hop{Up: key[0], Down: key[1], Path: i, DelayKnown: bound >= 0, DelayError: bound})
			}
			hops[k-1] = h
		}
		m.spots, m.full, m.hopAt = append(m.spots, spots), append(m.full, full), append(m.hopAt, hops)
	}
}

// bounds finds how long packets take and by how much clocks may be wrong, from
// the samples.
func (m *matcher) bounds() {
	const slack = 50_000 // ns, beyond what was seen
	p := m.plan
	m.fastest = make([]int64, m.n*m.n)
	for i := range m.fastest {
		m.fastest[i] = unknownDelay
	}
	for pair, e := range p.estimates {
		if !p.aligned[pair[0]] || !p.aligned[pair[1]] {
			continue
		}
		bound := max(p.clockError(pair[0], pair[1]), 0)
		for _, w := range e.ways {
			m.fast(pair[0], pair[1], w)
			for _, c := range slices.Concat(w.points, w.far) {
				d := abs(p.clocks[pair[1]].of(c.at+c.diff) - p.clocks[pair[0]].of(c.at))
				if d < int64(time.Second) { // or it is another packet
					m.margin = max(m.margin, d)
				}
			}
		}
		m.early = max(m.early, 2*bound)
	}
	m.early += slack
	m.margin = min(m.margin+m.margin/2+m.early, m.window)
	for t := range p.taps {
		m.begin = append(m.begin, p.clocks[t].of(p.taps[t].first))
		m.end = append(m.end, p.clocks[t].of(p.taps[t].last))
	}
}

// unknownDelay is less than any delay.
const unknownDelay = math.MinInt64 / 2

// fast notes how long the fastest samples took between two taps, those aside
// that are far from the others.
func (m *matcher) fast(a, b int, w *way) {
	least := int64(math.MaxInt64)
	for _, c := range w.points {
		d := m.plan.clocks[b].of(c.at+c.diff) - m.plan.clocks[a].of(c.at)
		if w.up < 0 {
			d = -d
		}
		least = min(least, d)
	}
	if w.up == 0 || len(w.points) < minForDrift {
		return
	}
	at := &m.fastest[a*m.n+b]
	if w.up < 0 {
		at = &m.fastest[b*m.n+a]
	}
	if *at == unknownDelay || least < *at {
		*at = least
	}
}
