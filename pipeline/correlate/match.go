package correlate

import (
	"math/bits"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// keepIPID is how long a packet that all taps have seen is remembered, so
	// that copies of it are known: the same time as in the package pipeline.
	keepIPID = 10 * time.Millisecond
	// keepOthers is likewise for packets that only the time tells apart.
	keepOthers = time.Millisecond
	// longest is how long a packet may take at least, whatever the samples say, in
	// ns: those that are sent again meanwhile are no samples.
	longest = int64(10 * time.Millisecond)
	// nearFastest is how much faster than the fastest sample a packet may be, in ns.
	nearFastest = 20_000
	// maxAlike bounds how many packets of one flow and PSN a new one is compared
	// with, the last ones. Where PSNs and IP IDs tell packets apart there are one
	// or two; CNPs all have PSN 0, and a QP gets one every 4 µs at most.
	maxAlike = 256
)

// entry is a packet that waits to be seen at the other taps of its path.
type entry struct {
	first  int64 // when it was seen first
	pos    int64 // its PSN without wraps, of requests
	next   int32 // with the same hash, -1 for none
	prev   int32
	flow   uint32
	id     identity
	icrc   uint32
	serial uint32 // of the slot's use
	seen   uint16 // taps, a bit each
	late   uint16 // hops of the path on which it was overtaken, a bit each
	hasCRC bool
	again  bool // its PSN was sent again later, upstream of where it is missing
	alike  bool // there was another that only the time tells apart
	newest bool // a request with a PSN that was not sent before
	used   bool
}

// sighting is a packet at one tap.
type sighting struct {
	time   int64
	ref    record.FrameRef
	copies uint16 // further ones of the same packet
	state  icrcState
	ttl    uint8
	tos    uint8
	prio   uint8
}

// slotMemory is what a waiting packet takes, with n taps, in bytes.
func slotMemory(n int) int64 {
	const one, sight, tables = 64, 56, 40
	return one + int64(n)*sight + tables
}

// chunk is room for some entries: they stay where they are while more is needed.
type chunk struct {
	entries [1 << chunkBits]entry
	sights  []sighting // of each entry, one for each tap
}

const (
	chunkBits = 10
	chunkMask = 1<<chunkBits - 1
)

// matcher is the second reading.
type matcher struct {
	plan    *plan
	n       int // taps
	inPath  []bool
	spots   [][]int8 // by path and tap: where it is on the path, -1 nowhere
	full    []uint16 // by path: its taps
	hops    []Hop
	hopAt   [][]int // by path and position: index into hops of the one behind it
	edges   []edge  // of hops
	flows   []flowState
	margin  int64   // how long packets take at most, as far as the samples show
	early   int64   // how much before it left a packet may seem to arrive
	fastest []int64 // from tap to tap, in the samples
	begin   []int64
	end     []int64
	now     int64
	begun   bool
	stopped bool // before the end of a tap
	window  int64
	chunks  []*chunk
	made    int // entries in chunks that were used once
	freed   []int32
	table   []int32
	used    int
	most    int     // entries
	fresh   [2]ring // kept for copies: those without IP IDs, and those with
	waiting ring
	tries   tries

	res       *Result
	shortened uint64
	least     int64 // how long a packet was waited for that had to go
	byTime    uint64
}

func newMatcher(p *plan, cfg *Config) *matcher {
	n := len(p.taps)
	m := &matcher{plan: p, n: n, inPath: make([]bool, n), flows: make([]flowState, len(p.flows)), window: int64(cfg.Window)}
	m.least = m.window
	m.res = &Result{Taps: make([]Tap, n), Paths: p.paths, SameClock: cfg.SameClock, InOrder: cfg.InOrder}
	m.most = int(cfg.MaxMemory / 2 / slotMemory(n))
	m.table = make([]int32, 1<<12)
	for i := range m.table {
		m.table[i] = -1
	}
	for i := range m.flows {
		m.flows[i].partner = -1
	}
	m.layOut()
	m.edges = make([]edge, len(m.hops))
	m.bounds()
	return m
}

// take takes a packet of a tap.
func (m *matcher) take(tap int, s *sight) {
	if !m.begun || s.time > m.now {
		m.begun, m.now = true, s.time
		m.expire()
	}
	if s.flow == noFlow {
		return // counted at the first reading
	}
	f := &m.plan.flows[s.flow]
	if s.acks {
		m.acknowledged(s, f)
	}
	if f.path < 0 {
		return // likewise
	}
	spot := int(m.spots[f.path][tap])
	if spot < 0 {
		return
	}
	found, twin, same := m.find(tap, spot, s, f)
	if twin >= 0 && f.doubled>>tap&1 != 0 && m.sight(twin, tap).copies == 0 {
		found = -1 // here each packet comes twice
	}
	switch {
	case found >= 0:
		m.join(found, tap, spot, s)
	case twin >= 0:
		m.sight(twin, tap).copies++
	default:
		m.add(tap, spot, s, f, same)
	}
}

func (m *matcher) entry(i int32) *entry { return &m.chunks[i>>chunkBits].entries[i&chunkMask] }

func (m *matcher) sight(i int32, tap int) *sighting {
	return &m.chunks[i>>chunkBits].sights[int(i&chunkMask)*m.n+tap]
}

func (m *matcher) bucket(flow, psn uint32) *int32 {
	h := mix(uint64(flow), uint64(psn))
	return &m.table[h>>32&uint64(len(m.table)-1)]
}

// find looks for the packet among those that wait: found is the entry that a
// sighting belongs to, twin the one of which it is a copy, -1 for none. same
// says that there is another entry that looks just like it.
func (m *matcher) find(tap, spot int, s *sight, f *planFlow) (found, twin int32, same bool) {
	found, twin = -1, -1
	bit := uint16(1) << tap
	bestGap, bestRank := int64(0), 0
	before := uint16(0) // the tap before this one on the path
	if spot > 0 {
		before = 1 << m.plan.paths[f.path].Taps[spot-1]
	}
	steps := 0
	for i := *m.bucket(s.flow, s.id.psn()); i >= 0 && steps < maxAlike; i = m.entry(i).next {
		e := m.entry(i)
		steps++
		if e.flow != s.flow || e.id.psn() != s.id.psn() {
			continue
		}
		if e.id != s.id || !sameICRC(e, s) {
			m.resent(i, spot, s, f)
			continue
		}
		if e.seen&bit != 0 {
			if m.isCopy(i, tap, s, f) {
				if twin < 0 {
					twin = i
				}
				continue
			}
			same = true
			e.alike = e.alike || !f.ipid
			m.resent(i, spot, s, f)
			continue
		}
		gap, rank := m.fits(i, tap, spot, s, f)
		if rank == 0 {
			m.resent(i, spot, s, f)
			continue
		}
		if found >= 0 {
			m.entry(found).alike, e.alike = true, true
		}
		if e.seen&before != 0 { // what the tap before has not seen yet hardly comes by here
			rank += 2
		}
		if rank > bestRank || rank == bestRank && gap < bestGap {
			found, bestGap, bestRank = i, gap, rank
		}
	}
	return found, twin, same
}

// sameICRC says whether a sighting may be of the entry's packet by its ICRC: a
// packet that was damaged on the way keeps it, or the ICRC itself was damaged.
func sameICRC(e *entry, s *sight) bool {
	return !e.hasCRC || s.state == icrcUnknown || s.state == icrcBad || e.icrc == s.icrc
}

// isCopy says whether a packet that the tap had before came again as a copy,
// and was not sent again.
func (m *matcher) isCopy(i int32, tap int, s *sight, f *planFlow) bool {
	after := s.time - m.sight(i, tap).time
	if f.ipid {
		return after <= int64(keepIPID)
	}
	return f.doubled>>tap&1 != 0 && after <= int64(keepOthers)
}

// fits says whether a sighting may be of an entry by its time: not at all (0),
// only if it was faster than any sample (1), or well (2); and how far it is from
// the entry's nearest sighting.
func (m *matcher) fits(i int32, tap, spot int, s *sight, f *planFlow) (gap int64, rank int) {
	e := m.entry(i)
	early := m.early // packets may seem to arrive before they left
	if !m.plan.paths[f.path].Sureness.Sure() {
		early = max(early, m.margin)
	}
	gap, rank = -1, 2
	for rest := e.seen; rest != 0; rest &= rest - 1 {
		t := bits.TrailingZeros16(rest)
		d := s.time - m.sight(i, t).time
		least := m.fastest[t*m.n+tap]
		if int(m.spots[f.path][t]) > spot {
			d, least = -d, m.fastest[tap*m.n+t]
		}
		if !f.ipid && (d < -early || d > max(m.margin, longest)) {
			return 0, 0
		}
		if d < least-nearFastest {
			rank = 1
		}
		if d < 0 {
			d = -d
		}
		if gap < 0 || d < gap {
			gap = d
		}
	}
	return gap, rank
}

// resent notes that a PSN is sent again whose packet did not come further than
// where it is sent again.
func (m *matcher) resent(i int32, spot int, s *sight, f *planFlow) {
	e := m.entry(i)
	if e.again || s.time <= e.first || e.seen == m.full[f.path] {
		return
	}
	for rest := e.seen; rest != 0; rest &= rest - 1 {
		if int(m.spots[f.path][bits.TrailingZeros16(rest)]) >= spot {
			e.again = true
			return
		}
	}
}

// join notes that a tap saw an entry's packet.
func (m *matcher) join(i int32, tap, spot int, s *sight) {
	e := m.entry(i)
	f := &m.plan.flows[e.flow]
	*m.sight(i, tap) = sightingOf(s)
	e.seen |= 1 << tap
	if spot == 0 {
		e.pos, e.newest = m.follow(s, f)
	}
	if !e.hasCRC && s.state != icrcUnknown {
		e.hasCRC, e.icrc = true, s.icrc
	}
	if !f.ipid {
		m.sortAlike(i, tap, spot)
	}
	path := m.plan.paths[f.path].Taps
	if spot > 0 && e.seen>>path[spot-1]&1 != 0 {
		m.passed(i, f, spot-1)
	}
	if spot+1 < len(path) && e.seen>>path[spot+1]&1 != 0 {
		m.passed(i, f, spot)
	}
	keep := keepOthers
	if f.ipid {
		keep = keepIPID
	}
	if e.seen == m.full[f.path] && m.now-e.first > int64(keep) { // it waited in the second queue
		m.retire(i)
	}
}

// sortAlike sees to it that packets that only the time tells apart arrive in
// the order in which they left: the nearest one was taken, which is another one
// where several are on their way.
func (m *matcher) sortAlike(i int32, tap, spot int) {
	steps := 0
	for k := *m.bucket(m.entry(i).flow, m.entry(i).id.psn()); k >= 0 && steps < maxAlike; k = m.entry(k).next {
		steps++
		a, b := m.entry(i), m.entry(k)
		if k == i || b.flow != a.flow || b.id != a.id || b.seen>>tap&1 == 0 {
			continue
		}
		if a.first < b.first && m.sight(i, tap).time > m.sight(k, tap).time {
			m.swapFrom(i, k, spot)
			a.alike, b.alike = true, true
			i = k // the later sighting is this one's now
		}
	}
}

// swapFrom exchanges what two packets of a flow are on their path from a spot
// on.
func (m *matcher) swapFrom(i, k int32, spot int) {
	a, b := m.entry(i), m.entry(k)
	rest := uint16(0)
	for _, t := range m.plan.paths[m.plan.flows[a.flow].path].Taps[spot:] {
		rest |= 1 << t
		x, y := m.sight(i, t), m.sight(k, t)
		*x, *y = *y, *x
	}
	a.seen, b.seen = a.seen&^rest|b.seen&rest, b.seen&^rest|a.seen&rest
}

func sightingOf(s *sight) sighting {
	return sighting{time: s.time, ref: s.ref, state: s.state, ttl: s.ttl, tos: s.tos, prio: s.prio}
}

// add makes an entry of a packet that no tap has seen yet.
func (m *matcher) add(tap, spot int, s *sight, f *planFlow, same bool) {
	i := m.slot()
	e := m.entry(i)
	*e = entry{first: s.time, flow: s.flow, id: s.id, serial: e.serial + 1, seen: 1 << tap, alike: same && !f.ipid, used: true}
	if s.state != icrcUnknown && s.state != icrcBad {
		e.hasCRC, e.icrc = true, s.icrc
	}
	for t := range m.n {
		*m.sight(i, t) = sighting{}
	}
	*m.sight(i, tap) = sightingOf(s)
	if spot == 0 {
		e.pos, e.newest = m.follow(s, f)
	}
	m.link(i)
	which := 0
	if f.ipid {
		which = 1
	}
	m.fresh[which].push(slotUse{i, e.serial})
}
