package track

import "github.com/rocelens/rocelens/pipeline/record"

// classes are a flow's packets that are not like its first, as more has them,
// and its CNPs.
type classes struct {
	tos, cnps  []tosCount
	priorities [9]uint64
}

// take copies what there is so far.
func (c *classes) take(m *more) {
	c.tos, c.cnps, c.priorities = append(c.tos[:0], m.tos...), c.cnps[:0], [9]uint64{}
	if m.odd != nil {
		c.cnps, c.priorities = append(c.cnps, m.odd.cnps...), m.odd.priorities
	}
}

// marked fills in what the interval's packets are marked with, and which class
// most of them are in. It needs their number.
func (iv *interval) marked(r *record.FlowInterval) {
	f := iv.f
	priority := f.priority()
	if f.more == nil || f.more.tos == nil && f.more.odd == nil {
		r.ECN[f.tos&3], r.DSCP = r.Packets, f.tos>>2
		r.Tagged, r.Priority = priority > 0, int8(priority)-1
		return
	}
	var now, none classes
	now.tos = f.more.tos
	if o := f.more.odd; o != nil {
		now.cnps, now.priorities = o.cnps, o.priorities
	}
	was := iv.classesBefore
	if was == nil {
		was = &none
	}
	iv.tos(r, &now, was)
	var counts [9]uint64
	counts[priority] = r.Packets
	for p := range counts {
		if n := now.priorities[p] - was.priorities[p]; p != int(priority) {
			counts[p] = n
			counts[priority] -= n
		}
	}
	priority = greatest(counts[:])
	if counts[priority] == 0 {
		priority = f.priority()
	}
	r.Tagged, r.Priority = priority > 0, int8(priority)-1
}

// tos fills in what TOS says, of all packets.
func (iv *interval) tos(r *record.FlowInterval, now, was *classes) {
	f := iv.f
	var all, data [64]uint64
	same := r.Packets
	eachMore(now.tos, was.tos, func(tos uint8, n uint64) {
		r.ECN[tos&3] += n
		all[tos>>2] += n
		same -= n
	})
	r.ECN[f.tos&3] += same
	all[f.tos>>2] += same
	data = all
	eachMore(now.cnps, was.cnps, func(tos uint8, n uint64) { data[tos>>2] -= n })
	if r.DSCP = greatest(data[:]); data[r.DSCP] == 0 { // CNPs alone
		data = all
		r.DSCP = greatest(all[:])
	}
	if r.Packets == 0 {
		r.DSCP = f.tos >> 2
	}
	for dscp, n := range data {
		if dscp != int(r.DSCP) {
			r.OtherDSCP += n
		}
	}
}

// eachMore calls do with what counts are more than they were. The list only
// grows, at its end.
func eachMore(now, was []tosCount, do func(tos uint8, n uint64)) {
	for i, c := range now {
		if i < len(was) {
			c.packets -= was[i].packets
		}
		do(c.tos, c.packets)
	}
}

// greatest is where the greatest count is, the first of several.
func greatest(counts []uint64) (at uint8) {
	for i, n := range counts {
		if n > counts[at] {
			at = uint8(i)
		}
	}
	return at
}
