package pause

import (
	"slices"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Spread is a pause that leads to another: the station that the row First
// pauses is the sender of the row Then, and it began to pause others while it
// was paused itself.
type Spread struct {
	First, Then int // rows
	Began       uint64
	Frame       record.FrameRef // of the first time
}

// Circle is stations that each pause the next one, the last one the first, all
// at the same time.
type Circle struct {
	Rows       []int
	Start, End int64 // ns since the epoch: when all of them did
}

// minBegan is how often a pause has to have begun while another lasted, of
// those that are short.
const (
	minBegan = 3
	longOne  = 10 * int64(time.Millisecond) // once will do
)

// ends say who is at the ends of links.
type ends struct {
	sends map[endKey]bool  // MAC control, which no switch passes on
	pairs map[pairKey]bool // exchange packets
	all   bool             // no pair was left out
}

type endKey struct {
	placeKey
	mac decode.MAC
}

type pairKey struct {
	placeKey
	a, b decode.MAC
}

func (t *Tracker) ends() *ends {
	e := &ends{sends: make(map[endKey]bool), pairs: make(map[pairKey]bool), all: !t.lanesLeftOut}
	for k := range t.pausers {
		e.sends[endKey{placeKey{k.input, k.iface}, k.mac}] = true
	}
	for k := range t.lanes {
		at := placeKey{k.input, k.iface}
		e.pairs[pairKey{at, k.src, k.dst}] = true
		e.pairs[pairKey{at, k.dst, k.src}] = true
	}
	return e
}

func placeOf(r *Row) placeKey { return placeKey{r.Input, r.Interface} }

// pauses says whether the station that a pauses is the sender of b, at another
// link. That it sends MAC control frames at the same link proves that it is at
// the end of it. That it exchanges packets with a's sender there does too,
// unless they do so at b's link as well: then switches in between only forward.
func (e *ends) pauses(a, b *Row) bool {
	x, y := placeOf(a), placeOf(b)
	if x == y || a.MAC == b.MAC || a.PFC != b.PFC || a.Priority != b.Priority || e.sends[endKey{y, a.MAC}] {
		return false // also where b's link is a's, captured twice
	}
	if e.sends[endKey{x, b.MAC}] {
		return true
	}
	return e.all && e.pairs[pairKey{x, a.MAC, b.MAC}] && !e.pairs[pairKey{y, a.MAC, b.MAC}]
}

// spreads are the relations that are more than chance.
func (t *Tracker) spreads(e *ends) {
	rows := t.result.Rows
	for _, rel := range t.result.Relations {
		a, b := &rows[rel.First], &rows[rel.Then]
		if 2*rel.Began < b.Pauses || rel.Began < minBegan && b.Longest < longOne || !e.pauses(a, b) {
			continue
		}
		t.result.Spreads = append(t.result.Spreads, Spread(rel))
	}
}

// Bounds of the search for circles: real ones are of a few switches.
const (
	maxCircle  = 8
	maxCircles = 16
	maxSteps   = 1 << 16
)

// circles finds stations that pause one another in a circle of at least three,
// in storms: pauses that come and go lock nothing.
func (t *Tracker) circles(e *ends) {
	var nodes []stormNode
	for i := range t.result.Storms {
		s := &t.result.Storms[i]
		for _, p := range s.Priorities {
			row := slices.IndexFunc(t.result.Rows, func(r Row) bool { return r.Pauser == s.Pauser && r.Priority == p.Priority })
			nodes = append(nodes, stormNode{row, p.Start, p.End})
		}
	}
	c := circleSearch{t: t, ends: e, nodes: nodes, least: int64(t.cfg.StormWindow) / 2}
	for i := range nodes {
		c.first = i
		c.walk([]int{i}, nodes[i].start, nodes[i].end)
	}
}

// stormNode is a row in a storm.
type stormNode struct {
	row        int
	start, end int64
}

type circleSearch struct {
	t     *Tracker
	ends  *ends
	nodes []stormNode
	least int64 // ns for which all have to last
	first int   // a circle begins with its lowest node
	steps int
}

func (c *circleSearch) walk(path []int, start, end int64) {
	rows := c.t.result.Rows
	last := &rows[c.nodes[path[len(path)-1]].row]
	for i := c.first; i < len(c.nodes); i++ {
		if c.steps++; c.steps > maxSteps || len(c.t.result.Circles) >= maxCircles {
			return
		}
		n := &c.nodes[i]
		if !c.ends.pauses(last, &rows[n.row]) {
			continue
		}
		if i == c.first && len(path) >= 3 {
			circle := Circle{Start: start, End: end}
			for _, k := range path {
				circle.Rows = append(circle.Rows, c.nodes[k].row)
			}
			c.t.result.Circles = append(c.t.result.Circles, circle)
			continue
		}
		from, to := max(start, n.start), min(end, n.end)
		if to-from < c.least || len(path) >= maxCircle || slices.ContainsFunc(path, func(k int) bool { return rows[c.nodes[k].row].MAC == rows[n.row].MAC }) {
			continue
		}
		c.walk(append(path[:len(path):len(path)], i), from, to)
	}
}
