package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// put keeps an event until it can be told. Where too many wait, the older half
// is told as it is.
func (x *teller) put(t *Tracker, e event) {
	e.noted = t.now
	t.events = append(t.events, e)
	if len(t.events) >= maxPending {
		left := len(t.events) / 2
		t.tellSome(func(*event) bool { left--; return left >= 0 })
	}
}

// tellEvents tells those that are settled, or have waited for too long.
func (t *Tracker) tellEvents(now int64) {
	t.tellSome(func(e *event) bool { return now-e.noted >= t.teller.Late || e.named() && e.settled(now) })
	t.tellTrouble()
}

// tellEventsOf tells the events of lives that are over.
func (t *Tracker) tellEventsOf(lives map[*life]bool) {
	if len(t.events) > 0 {
		t.tellSome(func(e *event) bool { l := e.life(); return l != nil && lives[l] })
	}
}

// tellSome tells some of the events that wait, and frees them.
func (t *Tracker) tellSome(some func(e *event) bool) {
	kept := t.events[:0]
	for i := range t.events {
		if e := &t.events[i]; some(e) {
			t.tellEvent(*e)
		} else {
			kept = append(kept, *e)
		}
	}
	clear(t.events[len(kept):])
	t.events = kept
	t.flushEvents()
}

// tellEvent tells an event as it is now. What would change it later changes it no
// more.
func (t *Tracker) tellEvent(e event) {
	x := t.teller
	switch f := e.stream; {
	case f != nil:
		e.session = t.nameNow(f)
		if f.life.began != f {
			e.index = 1
		}
		if _, is := e.detail.(record.Duplicate); is && f.doubled() {
			return
		}
		f.freeze(&e)
	case e.life() != nil:
		e.session = t.nameNow(e.life().began)
	case e.conn != nil && e.conn.id != "":
		e.session = e.conn.id
	case e.conn != nil:
		name := e.conn.plainName()
		e.session = numbered(name, 1+x.before(name))
	}
	if d, ok := e.detail.(*record.Disconnect); ok {
		e.detail = new(*d)
	}
	if l := e.life(); x.Trouble != nil && l != nil && troubles(e.detail) && !x.waits[l.began] {
		x.waits[l.began] = true
		x.troubled = append(x.troubled, l.began)
	}
	e.stream, e.conn = nil, nil
	if x.Events == nil {
		return
	}
	if x.batch = append(x.batch, e.record()); len(x.batch) == eventsAtOnce {
		t.flushEvents()
	}
}

func (t *Tracker) flushEvents() {
	x := t.teller
	if len(x.batch) > 0 {
		x.Events(x.batch)
		clear(x.batch)
		x.batch = x.batch[:0]
	}
}

// life is the life that an event is of, nil where there is none.
func (e *event) life() *life {
	switch {
	case e.stream != nil:
		return e.stream.life
	case e.conn != nil && e.conn.life != nil:
		return e.conn.life.began.life
	}
	return nil
}

// named says whether the name of the event's session is sure: both its flows are
// known, or it has no other.
func (e *event) named() bool {
	l := e.life()
	if l == nil {
		return false
	}
	f := l.began
	return f.peer != nil || f.ud || f.gone
}

// settled says whether nothing that comes changes an event.
func (e *event) settled(now int64) bool {
	f := e.stream
	switch d := e.detail.(type) {
	case *record.Try:
		return f.req.rec.settledTry(d)
	case *record.Episode:
		return f.req.rec.settledEpisode(d)
	case *record.CE:
		c := f.more.congestion
		return c.marks != d || now-c.last > runSettled
	case *record.CNP:
		n := f.more.congestion.told
		return n.run != d || now-n.last > runSettled
	case *record.Disconnect:
		return d.Answered
	case record.Duplicate: // it may turn out that the mirror doubles all
		return false
	}
	return true
}

// runSettled is how long after its last packet, in nanoseconds, a run of marks or
// CNPs is over, though packets may come out of their order.
const runSettled = 10 * runPause

func (r *recovery) settledTry(d *record.Try) bool {
	if r == nil {
		return true
	}
	for i := range r.unheard {
		if r.unheard[i].try == d {
			return false
		}
	}
	return r.try != d && r.echo.try != d && r.jumped != d
}

func (r *recovery) settledEpisode(d *record.Episode) bool {
	if r == nil {
		return true
	}
	for i := range r.unheard {
		if r.unheard[i].episode == d {
			return false
		}
	}
	return r.echo.try == nil || r.echo.episode != d
}

// freeze lets nothing that comes change an event of f: what goes on is another
// event from now on.
func (f *flow) freeze(e *event) {
	switch d := e.detail.(type) {
	case *record.Try:
		e.detail = new(*d)
	case *record.Episode:
		e.detail = new(*d)
	case *record.CE:
		if c := f.more.congestion; c.marks == d {
			c.marks = nil
		}
	case *record.CNP:
		if n := f.more.congestion.told; n.run == d {
			n.run = nil
		}
	}
}

// doubled says whether the mirror doubles nearly all of f.
func (f *flow) doubled() bool {
	b := f.trouble
	return b.duplicates.Network == 0 || 10*(b.duplicates.Network+b.duplicates.Capture) >= 9*f.packets
}
