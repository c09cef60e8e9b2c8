package pause

import (
	"math"

	"github.com/rocelens/rocelens/pipeline/record"
)

// StepBack tells that time went back to now, in nanoseconds, and goes on from
// there: a clock was put back. What lasts is over, as far as can be known.
func (t *Tracker) StepBack(now int64) {
	x := t.teller
	if x == nil {
		return
	}
	now = min(now, maxTime)
	for _, r := range t.rows {
		if r.Speed == 0 {
			continue
		}
		if r.paused {
			t.end(r, r.last, record.PauseCaptured)
		}
		if r.run != nil {
			x.run(r.run)
			r.run = nil
		}
		r.last, r.runEnd = now, now
		r.storm, r.window = nil, newWindow(math.MinInt64)
	}
	x.mark()
	x.let(len(x.held))
	for _, p := range t.pausers {
		if p.storm != nil {
			p.storm.running = 0
			x.storm(p.storm, true, math.MaxInt64)
			p.storm = nil
		}
	}
	x.flush()
}
