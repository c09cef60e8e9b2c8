package pause

import "github.com/rocelens/rocelens/pipeline/record"

// Storm is a time in which a sender kept priorities paused for too long.
type Storm struct {
	First record.FrameRef // the frame that began it
	record.Storm
	End int64 // ns since the epoch

	by      *pauser
	running int // priorities that it is in
	of      [numClasses]*record.StormPriority
}

// slots is into how many parts a window is divided. A storm is found with a
// part's accuracy: a pause that never ends is one after the window and a part.
const slots = 16

// window is how long a row was paused in each part of the time that a storm
// takes. Parts begin at whole multiples of their length, whatever the capture
// begins with.
type window struct {
	at    int64 // number of the part that is being filled
	empty int   // parts before it without a pause; slots of them: there is nothing to see
	since int64 // what was before belongs to an earlier storm
	slots [slots]slot
}

// slot is one part.
type slot struct {
	paused int64 // ns
	frames uint64
	first  record.FrameRef // of the pause that was on when it was first paused
	start  int64           // when that was
	last   int64           // end of the last pause in it
}

func newWindow(since int64) window { return window{empty: slots, since: since} }

func (w *window) slot() *slot {
	return &w.slots[((w.at%slots)+slots)%slots]
}

// sum is how long the row was paused in the window.
func (w *window) sum() (paused int64) {
	for i := range w.slots {
		paused += w.slots[i].paused
	}
	return paused
}

func (t *Tracker) slotTime() int64 { return max(1, int64(t.cfg.StormWindow)/slots) }

// watch fills the window with the time from r.last to now, and looks at each
// part's end whether a storm began or ended.
func (t *Tracker) watch(r *row, now int64) {
	w, length := &r.window, t.slotTime()
	for at := r.last; ; {
		if w.empty == slots && !r.paused {
			if at := floorDiv(now, length); at != w.at {
				w.at = at
				*w.slot() = slot{}
			}
			return
		}
		edge := (w.at + 1) * length
		if r.paused {
			w.empty = 0
			w.slot().fill(r, at, min(edge, now))
		}
		if now < edge {
			return
		}
		at = edge
		t.look(r)
		if w.slot().paused == 0 && w.empty < slots {
			w.empty++
		}
		w.at++
		*w.slot() = slot{}
	}
}

// floorDiv rounds down, also before the epoch.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fill notes that the row was paused from one time to another.
func (s *slot) fill(r *row, from, to int64) {
	if to <= from {
		return
	}
	if s.paused == 0 {
		s.first, s.start = r.now.Start, from
	}
	s.paused += to - from
	s.last = to
	if r.storm != nil {
		p := r.storm.priority(r.class)
		p.Paused += to - from
		p.End = to
		r.storm.End = max(r.storm.End, to)
	}
}

// look is at the end of a part: the window up to there is whole.
func (t *Tracker) look(r *row) {
	switch sum := r.window.sum(); {
	case r.storm == nil && sum >= t.need:
		t.stormBegins(r)
	case r.storm != nil && 2*sum < t.need:
		// What was in the window has been counted: another storm needs a
		// window of its own.
		r.storm.running--
		r.storm = nil
		w := newWindow((r.window.at + 1) * t.slotTime())
		w.at = r.window.at
		r.window = w
	}
}

// stormBegins lets a row take part in its sender's storm, or begin one. A storm
// that ended less than a window before goes on.
func (t *Tracker) stormBegins(r *row) {
	p := record.StormPriority{Priority: r.Priority}
	var first record.FrameRef
	for i := range slots {
		w := r.window
		w.at += 1 + int64(i) // the oldest first
		s := w.slot()
		if s.paused == 0 {
			continue
		}
		if p.Paused == 0 {
			first, p.Start = s.first, s.start
		}
		p.Paused += s.paused
		p.Frames += s.frames
		p.End = s.last
	}
	if begin := max(first.Time, r.window.since); begin < p.Start { // the pause began before the window
		p.Paused += p.Start - begin
		p.Start = begin
	}
	s, begins := r.by.storm, false
	if s == nil || s.running == 0 && p.Start-s.End > int64(t.cfg.StormWindow) {
		if t.teller != nil {
			t.teller.another(s, r.last)
		}
		begins = true
		s = &Storm{First: first, Storm: record.Storm{Pauser: r.Pauser}, by: r.by}
		r.by.storm = s
		switch {
		case t.teller != nil:
		case len(t.storms) < maxStorms:
			t.storms = append(t.storms, s)
		default:
			t.result.StormsLeftOut++
		}
	}
	if first.Compare(s.First) < 0 {
		s.First = first
	}
	s.End = max(s.End, p.End)
	s.running++
	r.storm = s
	if old := s.of[r.class]; old != nil {
		p.Start, p.Paused, p.Frames = old.Start, old.Paused+p.Paused, old.Frames+p.Frames
	} else {
		r.Storms++
	}
	s.of[r.class] = &p
	if begins && t.teller != nil {
		t.teller.storm(s, false, r.last)
	}
}

func (s *Storm) priority(c class) *record.StormPriority { return s.of[c] }

// finish fills in what the record says.
func (s *Storm) finish(end int64) {
	for _, p := range s.of {
		if p != nil {
			s.Priorities = append(s.Priorities, *p)
		}
	}
	s.Lasted = s.End - s.First.Time
	s.Ended = s.End < end
}

// markStorms marks the pauses that are in storms.
func (t *Tracker) markStorms() {
	type key struct {
		by    record.Pauser
		class uint8
	}
	spans := make(map[key][]record.StormPriority)
	for i := range t.result.Storms {
		for _, p := range t.result.Storms[i].Priorities {
			k := key{t.result.Storms[i].Pauser, p.Priority}
			spans[k] = append(spans[k], p)
		}
	}
	if len(spans) == 0 {
		return
	}
	for i := range t.result.Intervals {
		x := &t.result.Intervals[i]
		for _, p := range spans[key{x.Pauser, x.Priority}] {
			x.Storm = x.Storm || inStorm(&p, x)
		}
	}
}

// inStorm says whether a pause is part of what a storm did to its priority.
func inStorm(p *record.StormPriority, x *record.PauseInterval) bool {
	return x.Start.Time < p.End && x.Start.Time+x.Paused > p.Start
}
