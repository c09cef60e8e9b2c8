package track

import (
	"cmp"
	"math"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// minSpacings is how many times between CNPs it takes to see a pacing.
const minSpacings = 8

// paced says whether CNPs with these times between them are paced: marks waited
// for most of that time, and but for pauses, which are longer than usual is, the
// mean time is not much longer than the shortest. CNPs that follow their marks
// at once come as often as there are marks.
func paced(h, wait *sketch.Histogram, usual int64) bool {
	if h.Count < minSpacings || wait.Count < minSpacings || 2*wait.Quantile(0.5) < h.Quantile(0.5) {
		return false
	}
	var n, sum int64
	h.Each(func(bucket int, k uint32) {
		if low, high := sketch.Bounds(bucket); low <= usual {
			n += int64(k)
			sum += int64(k) * (low + (high-low)/2)
		}
	})
	least := h.Quantile(0.02)
	return n >= minSpacings/2 && least > 0 && 2*sum <= 3*least*n
}

// joinCNPs puts the CNPs of each address together, whatever shards they were
// in.
func joinCNPs(trackers []*Tracker) {
	type sender struct {
		addr decode.Addr
		vni  uint32
	}
	all := make(map[sender][]*cnpWay)
	for _, t := range trackers {
		for k, w := range t.cnpWays {
			all[sender{k.from, k.vni}] = append(all[sender{k.from, k.vni}], w)
		}
	}
	for _, ways := range all {
		s := new(cnpSender)
		var times []int64
		end := int64(math.MaxInt64) // no longer than all are kept
		for _, w := range ways {
			w.sender = s
			s.count += w.count
			s.wait.Merge(&w.wait)
			s.most = max(s.most, w.count)
			times = append(times, w.times...)
			if w.count > uint64(len(w.times)) {
				end = min(end, slices.Max(w.times))
			}
		}
		slices.SortFunc(times, cmp.Compare)
		for i := 1; i < len(times) && times[i] <= end; i++ {
			s.spacing.Add(times[i] - times[i-1])
		}
	}
}

// pacing is how the CNPs for a flow are paced, as far as they tell.
func (n *told) pacing() (p record.Pacing) {
	w := n.way
	if w == nil || w.sender == nil || w.sender.spacing.Count < minSpacings || n.wait.Count == 0 {
		return p
	}
	p.Known = true
	usual := int64(math.MaxInt64)
	if n.spacing.Count >= minSpacings {
		usual = n.spacing.Quantile(0.5)
	}
	others := w.count-w.most >= minSpacings                  // QPs
	elsewhere := w.sender.count-w.sender.most >= minSpacings // addresses
	switch {
	case paced(&w.sender.spacing, &w.sender.wait, usual):
		p.Port, p.Interval = true, w.sender.spacing.Quantile(0.02)
		p.Destination = !elsewhere
		p.QP = !elsewhere && !others
	case paced(&w.spacing, &w.wait, usual):
		p.Destination, p.Interval = true, w.spacing.Quantile(0.02)
		p.QP = !others
	case paced(&n.spacing, &n.wait, usual):
		p.QP, p.Interval = true, n.spacing.Quantile(0.02)
	default:
		p.Known = n.spacing.Count >= minSpacings && n.wait.Count >= minSpacings
	}
	return p
}

// congestionOf is what marks and CNPs say of what f's sender sent, nil where
// there were none.
func congestionOf(f *flow) *record.Congestion {
	if f == nil || f.more == nil || f.more.congestion == nil {
		return nil
	}
	c := f.more.congestion
	x := &record.Congestion{DataMarked: c.data, AcksMarked: c.acks, CNPsMarked: c.cnps}
	if c.data+c.acks > 0 {
		x.Marks = record.MarksSeen
	}
	n := c.told
	if n == nil {
		return x
	}
	x.CNPs, x.Unmarked, x.NPDelay, x.MarkWait, x.Spacing, x.Pacing = n.count, n.unmarked, n.delay, n.wait, n.spacing, n.pacing()
	x.Slowed, x.Recovered, x.Depth, x.ToSlow, x.ToRecover = n.slowed, n.recovered, n.depth, n.toSlow, n.toRecover
	switch {
	case n.judged == 0:
		x.Reaction = record.ReactionUnknown
	case n.slowed == 0:
		x.Reaction = record.ReactionNone
	default:
		x.Reaction = record.ReactionSlowed
	}
	return x
}

// quiet says that f has neither marks nor CNPs.
func (f *flow) quiet() bool { return f.more == nil || f.more.congestion == nil }

// unmatched says of CNPs that could not be held against what they are about
// that nothing is known of that: the data is not in the capture, or the CNPs
// came before it was known whose they are.
func unmatched(d *record.Direction) {
	switch x := d.Congestion; {
	case d.CNPsReceived == 0:
	case x == nil:
		d.Congestion = &record.Congestion{Marks: record.MarksHidden, Reaction: record.ReactionUnknown}
	case x.CNPs == 0:
		x.Reaction = record.ReactionUnknown
	}
}
