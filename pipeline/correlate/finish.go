package correlate

import (
	"cmp"
	"slices"
)

// result lets go of all that waits and sums up.
func (m *matcher) result() *Result {
	if m.stopped { // nobody captures any more, as far as is known
		for t := range m.end {
			m.end[t] = min(m.end[t], m.now)
		}
	}
	for which := range m.fresh {
		for q := &m.fresh[which]; q.n > 0; q.pop() {
			if u := q.front(); m.alive(u) {
				m.settle(u)
			}
		}
	}
	for q := &m.waiting; q.n > 0; q.pop() {
		if u := q.front(); m.alive(u) {
			m.retire(u.slot)
		}
	}
	m.finishTries(1<<63 - 1)
	r, p := m.res, m.plan
	r.Hops, r.Shortened, r.ByTime = m.hops, m.shortened, m.byTime
	r.Window = m.window
	if m.shortened > 0 {
		r.Window = m.least
	}
	for t := range r.Taps {
		s := p.taps[t]
		tap := &r.Taps[t]
		tap.Packets, tap.RoCE, tap.First, tap.Last = s.packets, s.roce, s.first, s.last
		tap.Aligned, tap.Resolution, tap.Doubled, tap.Unplaced = p.aligned[t], s.resolution(), s.doubled, s.unplaced
	}
	for a := range p.taps {
		for b := a + 1; b < len(p.taps); b++ {
			if e := p.estimates[[2]int{a, b}]; e != nil {
				r.Clocks = append(r.Clocks, e.Clock)
			}
		}
	}
	m.flowResults()
	slices.SortStableFunc(r.Losses, func(a, b Loss) int { return cmp.Compare(a.Time, b.Time) })
	return r
}

// flowResults lists the flows that have a path.
func (m *matcher) flowResults() {
	r, p := m.res, m.plan
	at := make([]int, len(p.flows))
	for i := range p.flows {
		f := &p.flows[i]
		if f.path < 0 {
			for t, n := range f.packets {
				if n > 0 {
					r.Alone.Flows[t]++
					r.Alone.Packets[t] += n
				}
			}
			continue
		}
		st := &m.flows[i]
		at[i] = len(r.Flows)
		out := Flow{
			Src: f.key.src, Dst: f.key.dst, Kind: f.key.addr, DestQP: f.key.destQP, SrcQP: f.key.srcQP,
			Path: int(f.path), Taps: p.paths[f.path].Taps, Packets: slices.Max(f.packets), Tries: st.tries, TriesBefore: st.before, LostBefore: st.missing, IPID: f.ipid,
		}
		for k, hop := range m.hopAt[f.path] {
			m.hops[hop].Flows++
			h := FlowHop{Hop: hop}
			if st.hops != nil {
				h.Counts = st.hops[k].Counts
			}
			out.Hops = append(out.Hops, h)
		}
		r.Flows = append(r.Flows, out)
	}
	for i := range r.Losses {
		r.Losses[i].Flow = at[r.Losses[i].Flow]
	}
}
