package pipeline

import "github.com/rocelens/rocelens/capture"

const (
	// maxLate is, in nanoseconds, how much later than others a frame may come: it
	// counts in what is open then. Where all that comes is later than that for
	// steadyBack, a clock was put back.
	maxLate    = 10e9
	steadyBack = 1e9
)

// clock watches the time of what is read, for steps back. Steps forward need
// nothing: what was open is over.
type clock struct {
	begun bool
	high  int64 // the latest time
	late  bool  // what came last was too late for it
	from  int64 // since when, in the time of what came
}

// step is that time goes back, from one time to another.
type step struct{ from, to int64 }

// see takes a batch, and returns the step back that comes before it; ok is false
// where there is none.
func (c *clock) see(b *capture.Batch) (s step, ok bool) {
	low, high := b.Now, b.Now
	if n := len(b.Frames); n > 0 {
		first, last := b.Frames[0].Time, b.Frames[n-1].Time
		low, high = min(first, last), max(first, last)
	} else if b.Now == 0 {
		return s, false
	}
	const most = 1<<62 - 1 // times can say anything
	low, high = max(low, -most), max(min(high, most), -most)
	switch {
	case !c.begun:
		*c = clock{begun: true, high: high}
		return s, false
	case high >= c.high-maxLate:
		c.high, c.late = max(c.high, high), false
		return s, false
	case !c.late || low < c.from:
		c.late, c.from = true, low
	}
	if high-c.from < steadyBack {
		return s, false
	}
	s = step{c.high, low}
	*c = clock{begun: true, high: high}
	return s, true
}

// stepBack tells all shards of the step back before a block, of which none has
// had a packet.
func (e *engine) stepBack(b *block) {
	if e.cfg.StepBack != nil {
		e.cfg.StepBack(b.step.from, b.step.to)
	}
	e.pauses.StepBack(b.step.to)
	if e.cfg.Track.Intervals.Sink == nil && !e.cfg.Track.Tell.On() {
		return
	}
	for _, s := range e.shards {
		if s != nil {
			s.begin()
			s.tracker.StepBack(b.step.to)
		}
	}
}
