package pause

import "github.com/rocelens/rocelens/pipeline/record"

// Events are the runs of pauses and the storms as events, in no order.
func (r *Result) Events() []record.Event {
	events := make([]record.Event, 0, len(r.Runs)+len(r.Storms))
	for i := range r.Runs {
		x := &r.Runs[i]
		events = append(events, record.Event{Time: x.First.Time, Frame: x.First, Count: x.Count, Detail: &x.Pauses})
	}
	for i := range r.Storms {
		x := &r.Storms[i]
		events = append(events, record.Event{Time: x.First.Time, Frame: x.First, Count: 1, Detail: &x.Storm})
	}
	return events
}
