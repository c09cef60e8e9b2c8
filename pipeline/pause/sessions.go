package pause

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// FlowOf is the flow of what side A of a session sends, or with index 1 side B.
// It is false where the other end is not known.
func FlowOf(s *record.Session, index int) (f Flow, ok bool) {
	from, to := &s.A, &s.B
	if index == 1 {
		from, to = to, from
	}
	f = Flow{Src: from.Addr, Dst: to.Addr, Kind: to.Kind, DestQP: to.QPN}
	if s.HasVNI {
		f.VNI = s.VNI
	}
	return f, to.HasQPN
}

// TrafficOf is what a flow sent to stations that paused it.
func (r *Result) TrafficOf(f Flow) []*Traffic {
	if r.flows == nil {
		r.flows = make(map[Flow][]*Traffic, len(r.Traffic))
		for i := range r.Traffic {
			t := &r.Traffic[i]
			r.flows[t.Flow] = append(r.flows[t.Flow], t)
		}
	}
	return r.flows[f]
}

// Complete adds what a session's requesters waited for while they were paused
// to what they spent their time on. A flow that was there before or after the
// session counts for none.
func (r *Result) Complete(s *record.Session) {
	unknown := slices.ContainsFunc(r.Rows, func(x Row) bool { return x.XOff > 0 && !x.Known() })
	for index, d := range [...]*record.Direction{&s.AToB, &s.BToA} {
		f, ok := FlowOf(s, index)
		if d.Spent == nil || !ok {
			continue
		}
		var waited int64
		for _, t := range r.TrafficOf(f) {
			if t.First >= d.First && t.Last <= d.Last {
				waited = max(waited, t.Waited)
			}
		}
		d.Spent.Pause(waited)
		if unknown { // it may have been paused, for how long nobody knows
			d.Spent.Unclear += d.Spent.Application + d.Spent.Stalled
			d.Spent.Application, d.Spent.Stalled = 0, 0
		}
	}
}
