package pause

import (
	"cmp"
	"slices"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Tell says who takes pauses and storms before the end, which may never come:
// nothing is kept then of what was told. A Tracker calls them from within its own
// methods, one at a time. Nothing that they are given is written to again, but
// for the slice, which is the tracker's.
type Tell struct {
	// Intervals takes pauses that have ended, once it is known whether they are
	// part of a storm.
	Intervals func([]record.PauseInterval)
	// Events takes runs of pauses that are over. One that lasts longer than Late is
	// cut in several.
	Events func([]record.Event)
	// Storm takes a storm when it is found, as it is by then, and again, with over
	// set, when it has ended; the frame is the same.
	Storm func(e record.Event, over bool)
	// Late is how long a pause that has ended waits at most; 0 is DefaultLate.
	Late time.Duration
}

// DefaultLate is Tell.Late where nothing is given.
const DefaultLate = 10 * time.Second

// On says whether anything is told.
func (x *Tell) On() bool { return x.Intervals != nil || x.Events != nil || x.Storm != nil }

// teller is what a tracker has to tell pauses before the end.
type teller struct {
	Tell
	held   []ended
	most   int
	list   []record.PauseInterval
	events []record.Event
}

// ended is a pause of a row that has ended.
type ended struct {
	record.PauseInterval
	row *row
	at  int64
}

// atOnce is how many records the sinks get at most, and maxHeld how many pauses
// wait, in 2 MB.
const (
	atOnce  = 64
	maxHeld = 1 << 14
)

func newTeller(cfg *Config) *teller {
	if !cfg.Tell.On() {
		return nil
	}
	x := &teller{Tell: cfg.Tell, most: maxHeld}
	x.Late = cmp.Or(x.Late, DefaultLate)
	return x
}

// Advance tells that time has come to now, in nanoseconds, and that no frame
// before it comes any more.
func (t *Tracker) Advance(now int64) {
	x := t.teller
	if x == nil {
		return
	}
	for _, r := range t.rows {
		if r.Speed == 0 {
			continue
		}
		if now := min(now, maxTime); now > r.last {
			t.advance(r, now)
		}
		if run := r.run; run != nil && (r.freeUntil()-r.runEnd >= runGap || r.last-run.First.Time >= int64(x.Late)) {
			x.run(run)
			r.run = nil
		}
	}
	t.tellIntervals(now)
	for _, p := range t.pausers {
		if s := p.storm; s != nil && s.running == 0 && now-s.End > 3*int64(t.cfg.StormWindow) {
			x.mark()
			x.storm(s, true, now)
			p.storm = nil
		}
	}
	x.flush()
}

// freeUntil is until when the row was not paused, behind its last pause that ended.
func (r *row) freeUntil() int64 {
	if r.paused {
		return r.now.Start.Time
	}
	return r.last
}

// hold keeps a pause until it is known whether it is part of a storm. Where too
// many wait, the older half is told as it is.
func (t *Tracker) hold(r *row, i *record.PauseInterval, now int64) {
	x := t.teller
	x.held = append(x.held, ended{*i, r, now})
	if len(x.held) < x.most {
		return
	}
	t.tellIntervals(now)
	if n := len(x.held) - x.most/2; n > 0 {
		x.let(n)
	}
	x.flush()
}

// mark marks the pauses that are in the last storms of their senders.
func (x *teller) mark() {
	for i := range x.held {
		h := &x.held[i]
		if s := h.row.by.storm; s != nil && s.of[h.row.class] != nil {
			h.Storm = h.Storm || inStorm(s.of[h.row.class], &h.PauseInterval)
		}
	}
}

// tellIntervals tells the pauses that are in a storm, and those of which none that
// begins by now has them.
func (t *Tracker) tellIntervals(now int64) {
	x := t.teller
	x.mark()
	window := int64(t.cfg.StormWindow) + 2*t.slotTime()
	kept := x.held[:0]
	for i := range x.held {
		h := &x.held[i]
		s := h.row.by.storm
		joins := s != nil && s.of[h.row.class] != nil // it may go on to have it
		if h.Storm || now-h.at >= int64(x.Late) || now-h.at > window && !joins {
			x.interval(&h.PauseInterval)
		} else {
			kept = append(kept, *h)
		}
	}
	clear(x.held[len(kept):])
	x.held = kept
}

// let tells the first n that wait.
func (x *teller) let(n int) {
	for i := range n {
		x.interval(&x.held[i].PauseInterval)
	}
	x.held = slices.Delete(x.held, 0, n)
}

func (x *teller) interval(i *record.PauseInterval) {
	if x.list = append(x.list, *i); len(x.list) == atOnce {
		x.flush()
	}
}

func (x *teller) run(r *Run) {
	pauses := r.Pauses
	x.events = append(x.events, record.Event{Time: r.First.Time, Frame: r.First, Count: r.Count, Detail: &pauses})
	if len(x.events) == atOnce {
		x.flush()
	}
}

func (x *teller) storm(s *Storm, over bool, now int64) {
	if x.Storm == nil {
		return
	}
	one := *s
	one.Priorities = nil
	one.finish(now)
	x.Storm(record.Event{Time: one.First.Time, Frame: one.First, Count: 1, Detail: &one.Storm}, over)
}

// another tells the last storm of a sender, if there was one, before it has another.
func (x *teller) another(s *Storm, now int64) {
	if s != nil {
		x.mark()
		x.storm(s, true, now)
	}
}

func (x *teller) flush() {
	if len(x.list) > 0 && x.Intervals != nil {
		x.Intervals(x.list)
	}
	if len(x.events) > 0 && x.Events != nil {
		x.Events(x.events)
	}
	x.list, x.events = x.list[:0], x.events[:0]
}

// finish tells all that is left, at the end of the capture.
func (t *Tracker) finish(end int64) {
	x := t.teller
	if x == nil {
		return
	}
	x.mark()
	x.let(len(x.held))
	for _, r := range t.rows {
		if r.run != nil {
			x.run(r.run)
			r.run = nil
		}
		if s := r.by.storm; s != nil {
			x.storm(s, true, end)
			r.by.storm = nil
		}
	}
	x.flush()
}
