package correlate

import (
	"math/bits"

	"github.com/rocelens/rocelens/decode"
)

// flowHops are the figures of a flow's hops.
func (m *matcher) flowHops(flow uint32) []flowHop {
	st := &m.flows[flow]
	if st.hops == nil {
		st.hops = make([]flowHop, len(m.hopAt[m.plan.flows[flow].path]))
	}
	return st.hops
}

// passed is called when an entry has been seen at both ends of a hop of its
// path: has it been overtaken?
func (m *matcher) passed(i int32, f *planFlow, spot int) {
	e := m.entry(i)
	up := m.sight(i, m.plan.paths[f.path].Taps[spot]).time
	if h := &m.flowHops(e.flow)[spot]; !e.alike { // else it may be another packet
		if h.passed && up < h.lastUp {
			e.late |= 1 << spot
		}
		if !h.passed || up > h.lastUp {
			h.passed, h.lastUp = true, up
		}
	}
	m.edges[m.hopAt[f.path][spot]].add(up, m.sight(i, m.plan.paths[f.path].Taps[spot+1]).time)
}

// retire counts an entry and frees it.
func (m *matcher) retire(i int32) {
	e := m.entry(i)
	f := &m.plan.flows[e.flow]
	taps := m.plan.paths[f.path].Taps
	hops := m.flowHops(e.flow)
	at := m.hopAt[f.path]
	first, last := -1, -1
	for spot, t := range taps {
		if e.seen>>t&1 == 0 {
			continue
		}
		if first < 0 {
			first = spot
		}
		last = spot
	}
	for spot, t := range taps {
		if spot == first || f.doubled>>t&1 != 0 {
			m.res.Taps[t].Duplicates += uint64(m.sight(i, t).copies)
		}
	}
	if first > 0 {
		if st := &m.flows[e.flow]; st.begun && isRequest(e.id.opcode()) {
			st.came(st.unwrap(e.id.psn()))
		}
		m.both(&hops[first-1], at[first-1], func(c *Counts) { m.appeared(i, at[first-1], c) })
	}
	for spot := first; spot < last; spot++ {
		up, down := taps[spot], taps[spot+1]
		switch seen := e.seen; { // what no tap behind has seen follows below
		case seen>>up&1 == 0:
		case seen>>down&1 == 0:
			for k := spot + 1; seen>>taps[k]&1 == 0; k++ {
				if m.captured(taps[k], m.sight(i, up).time) {
					m.res.Taps[taps[k]].Missed++
				}
			}
		default:
			m.both(&hops[spot], at[spot], func(c *Counts) {
				m.matched(i, f, up, down, c)
				if e.late>>spot&1 != 0 && !e.alike {
					c.Reordered++
				}
			})
		}
	}
	if last < len(taps)-1 {
		m.lost(i, f, last)
	}
	if e.alike && bits.OnesCount16(e.seen) > 1 {
		m.byTime++
	}
	m.free(i)
}

// both counts for a flow and for all flows.
func (m *matcher) both(h *flowHop, hop int, count func(*Counts)) {
	count(&h.Counts)
	count(&m.hops[hop].Counts)
}

// edge is when the packets that passed a hop left and arrived: both taps
// captured all that while, since packets rarely overtake one another.
type edge struct {
	begun               bool
	firstUp, lastUp     int64
	firstDown, lastDown int64
}

func (g *edge) add(up, down int64) {
	if !g.begun {
		*g = edge{true, up, up, down, down}
	}
	g.firstUp, g.lastUp = min(g.firstUp, up), max(g.lastUp, up)
	g.firstDown, g.lastDown = min(g.firstDown, down), max(g.lastDown, down)
}

// captured says whether a tap captured at a time, and for as long as packets
// take afterwards.
func (m *matcher) captured(tap int, t int64) bool {
	return t >= m.begin[tap] && t+m.margin <= m.end[tap]
}

// mustArrive says whether a packet that left on a hop at a time must have been
// seen at its other end, had it got there.
func (m *matcher) mustArrive(hop int, t int64) bool {
	g, down := &m.edges[hop], m.hops[hop].Down
	return m.captured(down, t) || g.begun && (t >= m.begin[down] || t >= g.firstUp) && (t+m.margin <= m.end[down] || t <= g.lastUp)
}

// mustHaveLeft says whether a packet that arrived at a time must have been seen
// at the hop's beginning.
func (m *matcher) mustHaveLeft(hop int, t int64) bool {
	g, up := &m.edges[hop], m.hops[hop].Up
	return (t-m.margin >= m.begin[up] || g.begun && t >= g.firstDown) && (t <= m.end[up] || g.begun && t <= g.lastDown)
}

// appeared counts a packet that was seen at the end of a hop and not at its
// beginning.
func (m *matcher) appeared(i int32, hop int, c *Counts) {
	if m.mustHaveLeft(hop, m.sight(i, m.hops[hop].Down).time) {
		c.Appeared++
	} else {
		c.Outside++
	}
}

// matched counts a packet that both taps of a hop saw.
func (m *matcher) matched(i int32, f *planFlow, up, down int, c *Counts) {
	a, b := m.sight(i, up), m.sight(i, down)
	c.Matched++
	c.Upstream++
	d := b.time - a.time
	if d < 0 {
		c.Negative++
	}
	if c.Delay.Count == 0 || d < c.DelayMin {
		c.DelayMin = d
	}
	c.Delay.Add(d)
	if b.copies > a.copies && f.doubled>>down&1 == 0 {
		c.Duplicated += uint64(b.copies - a.copies)
	}
	switch {
	case b.state != icrcBad:
	case a.state == icrcBad:
		c.CorruptUp++
	case a.state == icrcGood:
		if c.Corrupted == 0 || b.ref.Time < c.FirstBad.Time {
			c.FirstBad = b.ref
		}
		c.Corrupted++
	}
	if m.entry(i).alike {
		return // what differs otherwise may be another packet
	}
	switch was, is := a.tos&3 == ecnCE, b.tos&3 == ecnCE; {
	case is && !was:
		if c.Marked == 0 || b.ref.Time < c.FirstMark.Time {
			c.FirstMark = b.ref
		}
		c.Marked++
	case was && !is:
		c.Unmarked++
	}
	c.DSCP.count(a.tos>>2, b.tos>>2)
	if a.prio != untagged && b.prio != untagged {
		c.Priority.count(a.prio, b.prio)
	}
	if hops := int(a.ttl) - int(b.ttl); hops >= 0 && hops < len(c.TTL) {
		c.TTL[hops]++
	} else {
		c.TTLOdd++
	}
}

func (c *Change) count(from, to uint8) {
	if from == to {
		return
	}
	if c.Packets == 0 {
		c.From, c.To = from, to
	}
	c.Packets++
}

// lost counts a packet that no tap saw behind a spot of its path.
func (m *matcher) lost(i int32, f *planFlow, spot int) {
	e := m.entry(i)
	taps := m.plan.paths[f.path].Taps
	up, down := taps[spot], taps[spot+1]
	hop := m.hopAt[f.path][spot]
	a := m.sight(i, up)
	if !m.mustArrive(hop, a.time) {
		m.both(&m.flowHops(e.flow)[spot], hop, func(c *Counts) { c.Outside++ })
		return
	}
	st := &m.flows[e.flow]
	op := e.id.opcode()
	fate := FateOpen
	switch {
	case isAnswer(op) || op.Service() == decode.ServiceUD || op.Service() == decode.ServiceUC || op.Service() == decode.ServiceCNP:
		// Nobody sends these again.
	case e.again:
		fate = FateSentAgain
	case e.newest && st.hasAck && e.pos <= st.acked: // what was sent before may be what is answered
		fate = FateAnswered
		m.res.Taps[down].Answered++
	}
	m.both(&m.flowHops(e.flow)[spot], hop, func(c *Counts) {
		c.Upstream++
		switch fate {
		case FateSentAgain:
			c.Lost.SentAgain++
		case FateAnswered:
			c.Lost.Answered++
		default:
			c.Lost.Open++
		}
	})
	if fate != FateAnswered && len(st.lost) < maxLost {
		st.lost = append(st.lost, lostAt{time: a.time, psn: e.id.psn(), hop: int32(hop)})
	}
	l := Loss{Hop: hop, Flow: int(e.flow), Time: a.time, Frame: a.ref, Opcode: op, PSN: e.id.psn(), IPID: e.id.ipid, Fate: fate}
	if len(m.res.Losses) < m.plan.cfg.MaxLosses {
		m.res.Losses = append(m.res.Losses, l)
	} else {
		m.res.LossesLeftOut++
	}
}
