package correlate

import "slices"

// flowState is what is known of a flow while packets are matched.
type flowState struct {
	begun  bool
	read   bool   // the last request was a READ, which takes several PSNs
	high   int64  // the highest PSN of requests so far, without wraps
	next   int64  // one past the last request at the first tap
	lastID uint16 // IP ID of that request
	// gaps are the PSNs that skips left out at the first tap since the last step
	// back, each the first one and one past the last.
	gaps  [][2]int64
	acked int64 // the highest PSN that was acknowledged, without wraps
	// partner is the flow of the opposite direction that belongs to the same
	// connection, -1 while it is not known; votes are the answers that fit it.
	partner int32
	votes   uint8
	hasAck  bool
	hops    []flowHop // of its path, made when they are needed
	lost    []lostAt  // lately, for the tries that follow
	tries   uint64
	before  uint64     // of them, for what was missing at the first tap
	missing uint64     // packets that were missing there and were gone back for
	counted [][2]int64 // their PSNs, as gaps; the last ones
}

// flowHop are the figures of one hop.
type flowHop struct {
	Counts
	lastUp int64 // when the packet left that left last of those that arrived
	passed bool
}

// lostAt is a packet of a flow that was lost on a hop.
type lostAt struct {
	time int64
	psn  uint32
	hop  int32
}

// maxGaps bounds how many gaps are remembered until a requester goes back for
// one. It goes back for the first.
const maxGaps = 64

// maxCounted bounds how many gaps are remembered that a requester has gone back
// for.
const maxCounted = 1 << 10

// maxLost bounds how many losses of a flow wait for the try that they cause.
const maxLost = 1 << 10

// unwrap is a PSN without wraps, near the highest one.
func (st *flowState) unwrap(psn uint32) int64 {
	if !st.begun {
		return int64(psn)
	}
	d := int32((psn-uint32(st.high))<<8) >> 8
	return st.high + int64(d)
}

// follow follows a requester by its packets at the first tap of its path: where
// it stands, and when it goes back. It returns the packet's PSN without wraps
// and whether it is a new one.
func (m *matcher) follow(s *sight, f *planFlow) (pos int64, newest bool) {
	st := &m.flows[s.flow]
	if !isRequest(s.id.opcode()) {
		return 0, false
	}
	pos = st.unwrap(s.id.psn())
	newest = !st.begun || pos > st.high
	late := f.ipid && st.begun && int16(s.id.ipid-st.lastID) < 0
	switch {
	case !st.begun:
		st.begun, st.high = true, pos
	case late: // overtaken on the way
		st.high = max(st.high, pos)
		st.fill(pos)
		return pos, newest
	case pos < st.next && !newest:
		st.tries++
		missed := slices.ContainsFunc(st.gaps, func(g [2]int64) bool { return g[0] <= pos && pos < g[1] })
		if missed {
			st.before++
		}
		for _, g := range st.gaps {
			if g[0] = max(g[0], pos); g[1] > g[0] {
				st.missing += uint64(g[1] - g[0])
				if len(st.counted) == maxCounted {
					st.counted = slices.Delete(st.counted, 0, maxCounted/2)
				}
				st.counted = append(st.counted, g)
			}
		}
		m.tries.push(try{time: s.time, flow: s.flow, from: pos, to: st.high, before: missed})
		st.gaps = st.gaps[:0]
	case pos > st.next && !st.read && len(st.gaps) < maxGaps:
		st.gaps = append(st.gaps, [2]int64{st.next, pos})
	}
	st.high = max(st.high, pos)
	st.next, st.lastID = pos+1, s.id.ipid
	st.read = operation(s.id.opcode()) == opReadRequest
	return pos, newest
}

// fill takes a PSN out of the gaps: it was only late.
func (st *flowState) fill(pos int64) { st.gaps, _ = without(st.gaps, pos, maxGaps) }

// came takes a PSN out of what is missing at the first tap of the path, where a
// tap behind it has the packet: the network did not lose it there, the capture
// did.
func (st *flowState) came(pos int64) {
	st.fill(pos)
	var found bool
	if st.counted, found = without(st.counted, pos, maxCounted); found {
		st.missing--
	}
}

// without is a list of gaps less a PSN, and whether that was in one. There are
// at most so many of them.
func without(gaps [][2]int64, pos int64, most int) (left [][2]int64, found bool) {
	for i, g := range gaps {
		if pos < g[0] || pos >= g[1] {
			continue
		}
		gaps[i] = [2]int64{g[0], pos}
		if pos+1 < g[1] && len(gaps) < most {
			gaps = slices.Insert(gaps, i+1, [2]int64{pos + 1, g[1]})
		}
		return gaps, true
	}
	return gaps, false
}

// acknowledged notes what an answer acknowledges. Which flow's PSNs it is
// about, the packet does not say: the one towards its sender in whose range its
// PSN lies.
func (m *matcher) acknowledged(s *sight, f *planFlow) {
	if operation(s.id.opcode()) < 0x0d || operation(s.id.opcode()) > 0x12 {
		return
	}
	st := &m.flows[s.flow]
	psn := s.id.psn()
	if st.partner < 0 || st.votes < surePartner {
		m.findPartner(s.flow, f, psn)
		if st.partner < 0 {
			return
		}
	}
	to := &m.flows[st.partner]
	if path := m.plan.flows[st.partner].path; path >= 0 && s.time > m.end[m.plan.paths[path].Taps[0]] {
		return // it may be about what was sent again when that tap did not capture any more
	}
	if pos := to.unwrap(psn); to.begun && pos <= to.high && to.high-pos < psnWindow {
		if !to.hasAck || pos > to.acked {
			to.acked, to.hasAck = pos, true
		}
	}
}

const (
	// surePartner is how many answers must fit before a partner is taken for
	// granted.
	surePartner = 4
	// psnWindow is how far behind the last request an answer may be. Nobody has
	// more outstanding.
	psnWindow = 1 << 16
	// maxPartners bounds between how many flows of the opposite direction a
	// partner is looked for.
	maxPartners = 256
)

func (m *matcher) findPartner(flow uint32, f *planFlow, psn uint32) {
	r := m.plan.reverse(f.pair)
	if r < 0 {
		return
	}
	found, n := int32(-1), 0
	list := m.plan.pairs[r].flows
	for _, k := range list[:min(len(list), maxPartners)] {
		st := &m.flows[k]
		if !st.begun {
			continue
		}
		if pos := st.unwrap(psn); pos <= st.high && st.high-pos < psnWindow {
			found = int32(k)
			n++
		}
	}
	st := &m.flows[flow]
	switch {
	case n != 1:
	case st.partner == found:
		st.votes++
	default:
		st.partner, st.votes = found, 1
		m.flows[found].partner = int32(flow)
	}
}

// try is a step back of a requester.
type try struct {
	time     int64
	from, to int64 // PSNs without wraps: gone back to, and the highest before
	flow     uint32
	before   bool // what it went back to was missing at the first tap already
}

// tries are those that wait until it is known what was lost before them.
type tries struct {
	list []try
	head int
}

func (q *tries) push(t try) { q.list = append(q.list, t) }

// maxTries bounds how many wait.
const maxTries = 1 << 20

// finishTries places the tries up to a time.
func (m *matcher) finishTries(until int64) {
	q := &m.tries
	for q.head < len(q.list) && (q.list[q.head].time <= until || len(q.list)-q.head > maxTries) {
		m.place(&q.list[q.head])
		q.head++
	}
	if q.head > 1<<12 && q.head*2 > len(q.list) {
		q.list = append(q.list[:0], q.list[q.head:]...)
		q.head = 0
	}
}

// place finds the hop on which was lost what made a requester go back.
func (m *matcher) place(t *try) {
	st := &m.flows[t.flow]
	hop, best := int32(-1), int64(0)
	kept := st.lost[:0]
	for _, l := range st.lost {
		if l.time > t.time {
			kept = append(kept, l)
			continue
		}
		d := int64(int32((l.psn-uint32(t.from))<<8) >> 8)
		if d >= 0 && d <= t.to-t.from && (hop < 0 || d < best) {
			hop, best = l.hop, d
		}
	}
	st.lost = kept
	if hop >= 0 && !t.before {
		m.flows[t.flow].hops[m.spotOf(t.flow, hop)].Tries++
		m.hops[hop].Tries++
		return
	}
	if t.before || st.partner < 0 {
		return
	}
	back := &m.flows[st.partner]
	kept = back.lost[:0]
	for _, l := range back.lost {
		if l.time > t.time {
			kept = append(kept, l)
			continue
		}
		if d := int64(int32((l.psn-uint32(t.from))<<8) >> 8); d >= 0 && d <= t.to-t.from {
			hop = l.hop
		}
	}
	back.lost = kept
	if hop >= 0 {
		m.hops[hop].AnswerTries++
		back.hops[m.spotOf(uint32(st.partner), hop)].AnswerTries++
	}
}

// spotOf is where a hop is on the path of a flow.
func (m *matcher) spotOf(flow uint32, hop int32) int {
	for i, h := range m.hopAt[m.plan.flows[flow].path] {
		if h == int(hop) {
			return i
		}
	}
	return 0
}
