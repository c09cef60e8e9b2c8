package pause

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Events are the storms and the runs of pauses as events, at most so many:
// storms first, then the longest runs. leftOut counts the others.
func (r *Result) Events(most int) (events []record.Event, leftOut uint64) {
	leftOut = r.RunsLeftOut + r.StormsLeftOut
	for i := range r.Storms {
		x := &r.Storms[i]
		events = append(events, record.Event{Time: x.First.Time, Frame: x.First, Count: 1, Detail: &x.Storm})
	}
	runs := make([]*Run, len(r.Runs))
	for i := range r.Runs {
		runs[i] = &r.Runs[i]
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(b.Paused, a.Paused) })
	for _, x := range runs {
		events = append(events, record.Event{Time: x.First.Time, Frame: x.First, Count: x.Count, Detail: &x.Pauses})
	}
	if n := len(events); n > most {
		events, leftOut = events[:most], leftOut+uint64(n-most)
	}
	return events, leftOut
}
