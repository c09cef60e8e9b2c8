package track

// StepBack tells that time went back to now, in nanoseconds, and goes on from
// there: a clock was put back. What is open of intervals is told, and what is
// waited for is waited for from now on.
func (t *Tracker) StepBack(now int64) {
	t.now, t.back = now, now
	for _, f := range t.all {
		if f != nil && f.hall != nil {
			f.hall.begun = min(f.hall.begun, now)
		}
	}
	if t.intervals != nil {
		t.intervals.stepBack(now)
	}
	x := t.teller
	if x == nil {
		return
	}
	x.next, x.conns = now, now
	for i := range x.over {
		x.over[i].since = min(x.over[i].since, now)
	}
	for i := range t.events {
		t.events[i].noted = min(t.events[i].noted, now)
	}
}

// since is a time that was seen, as far as it counts for how long ago that is:
// what is later than now was seen before time went back.
func (t *Tracker) since(time int64) int64 {
	if time > t.now {
		return t.back
	}
	return time
}
