package record

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Clone is a copy that shares no memory with the session.
func (s *Session) Clone() *Session {
	c := *s
	if s.CM != nil {
		c.CM = new(*s.CM)
		c.CM.Private = slices.Clone(s.CM.Private)
	}
	c.AToB.own()
	c.BToA.own()
	return &c
}

// own gives a direction memory of its own.
func (d *Direction) own() {
	d.DSCP, d.CNPDSCP = slices.Clone(d.DSCP), slices.Clone(d.CNPDSCP)
	d.Priorities, d.PKeys = slices.Clone(d.Priorities), slices.Clone(d.PKeys)
	for _, h := range d.histograms() {
		*h = h.Clone()
	}
	if d.Spent != nil {
		d.Spent = new(*d.Spent)
	}
	if d.Congestion != nil {
		d.Congestion = new(*d.Congestion)
		for _, h := range d.Congestion.histograms() {
			*h = h.Clone()
		}
	}
	if d.Marks != nil {
		d.Marks = d.Marks.Clone()
	}
}

func (d *Direction) histograms() []*sketch.Histogram {
	list := []*sketch.Histogram{&d.AckLatency, &d.MessageLatency, &d.NakReaction}
	for k := range d.Latency {
		list = append(list, &d.Latency[k])
	}
	return list
}

func (c *Congestion) histograms() []*sketch.Histogram {
	return []*sketch.Histogram{&c.NPDelay, &c.MarkWait, &c.Spacing, &c.ToSlow, &c.ToRecover}
}

// Clone is a copy that shares no memory with the marks.
func (m *Marks) Clone() *Marks {
	c := *m
	c.Firsts, c.FirstTries, c.Broken = slices.Clone(m.Firsts), slices.Clone(m.FirstTries), slices.Clone(m.Broken)
	return &c
}

// Since is what happened in a session beyond base, which is what was known of it
// at an earlier time: sums are those since then, and a direction begins where it
// was. What is no sum is as it is now: who it is, its state, its peaks, its
// classes, and how it spent its time. What was counted then and turned out to be
// something else counts as nothing. The session and base stay as they are.
func (s *Session) Since(base *Session) *Session {
	c := s.Clone()
	a, b := &base.AToB, &base.BToA
	if was(&s.AToB, b, a) || was(&s.BToA, a, b) { // it turned out that the other side began
		a, b = b, a
	}
	c.AToB.since(a)
	c.BToA.since(b)
	return c
}

// was says whether a direction is one of before, and not the other one: its first
// packet tells.
func was(d, before, other *Direction) bool {
	return before.Packets > 0 && d.First == before.First && (other.Packets == 0 || d.First != other.First)
}

func (d *Direction) since(b *Direction) {
	if b.Packets > 0 {
		d.First = min(b.Last, d.Last)
	}
	before := b.sums()
	for i, n := range d.sums() {
		*n -= min(*n, *before[i])
	}
	d.SilenceTime = max(d.SilenceTime-b.SilenceTime, 0)
	d.RNRTime = max(d.RNRTime-b.RNRTime, 0)
	earlier := b.histograms()
	for i, h := range d.histograms() {
		*h = h.Since(earlier[i])
	}
	if d.Congestion != nil && b.Congestion != nil {
		before := b.Congestion.sums()
		for i, n := range d.Congestion.sums() {
			*n -= min(*n, *before[i])
		}
		earlier := b.Congestion.histograms()
		for i, h := range d.Congestion.histograms() {
			*h = h.Since(earlier[i])
		}
	}
	if d.Marks != nil && b.Marks != nil {
		d.Marks.since(b.Marks)
	}
}

// sums are the counters of a direction.
func (d *Direction) sums() []*uint64 {
	list := []*uint64{
		&d.Packets, &d.WireBytes, &d.PayloadBytes, &d.GoodputBytes, &d.Messages.Completed, &d.Acks, &d.RNRNaks,
		&d.Retransmitted.Packets, &d.Retransmitted.Bytes, &d.Retransmitted.Fills, &d.Retransmitted.Repeats, &d.Wasted.Packets, &d.Wasted.Bytes,
		&d.ReadResponses.Packets, &d.ReadResponses.Retransmitted, &d.ReadResponses.LostBeforeTap, &d.Episodes,
		&d.Lost.BeforeTap, &d.Lost.AfterTap, &d.Lost.Capture, &d.Lost.Corrupt, &d.Reordered, &d.Undecided, &d.Gaps, &d.Jumped,
		&d.Duplicates.Capture, &d.Duplicates.Network, &d.DuplicateRequests, &d.Silences, &d.CNPsReceived, &d.ICRCBad, &d.Truncated, &d.HeadersCut,
		&d.ProtocolErrors, &d.PortChanges,
	}
	for _, of := range [][]uint64{d.Messages.Sent[:], d.Naks[:], d.Tries[:], d.Places[:], d.Modes[:], d.ECN[:]} {
		for i := range of {
			list = append(list, &of[i])
		}
	}
	return list
}

func (c *Congestion) sums() []*uint64 {
	return []*uint64{&c.DataMarked, &c.AcksMarked, &c.CNPsMarked, &c.CNPs, &c.Unmarked, &c.Slowed, &c.Recovered}
}

func (m *Marks) since(b *Marks) {
	m.Firsts = slices.DeleteFunc(m.Firsts, func(f FirstOfKind) bool { return slices.Contains(b.Firsts, f) })
	m.FirstTries = slices.DeleteFunc(m.FirstTries, func(f FirstTry) bool { return slices.Contains(b.FirstTries, f) })
	m.Waited, m.RNRTimers = max(m.Waited-b.Waited, 0), max(m.RNRTimers-b.RNRTimers, 0)
	before := b.sums()
	for i, n := range m.sums() {
		*n -= min(*n, *before[i])
	}
	if m.Outage == b.Outage {
		m.Outage = Outage{}
	}
	for i := range m.Broken {
		r := &m.Broken[i]
		if at := slices.IndexFunc(b.Broken, func(o BrokenRule) bool { return o.Rule == r.Rule }); at >= 0 {
			r.N -= min(r.N, b.Broken[at].N)
		}
	}
	m.Broken = slices.DeleteFunc(m.Broken, func(r BrokenRule) bool { return r.N == 0 })
}

func (m *Marks) sums() []*uint64 {
	list := []*uint64{&m.RNRResent.Packets, &m.RNRResent.Bytes, &m.RNRWasted, &m.ReadsAfter, &m.AnswersAfter, &m.GaveUp, &m.Partly}
	for i := range m.Timeouts {
		list = append(list, &m.Timeouts[i])
	}
	return list
}
