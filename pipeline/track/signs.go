package track

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// sign is what an event is told for beyond the list of events: conclusions are
// drawn from those of these, and not from the list, whose length is the user's
// choice.
type sign uint8

const (
	noSign      sign = iota
	signFatal        // a connection ended, or did not come about
	signSilence      // a stream stood still
	signWait         // likewise, and went back after it
	signBroken       // a rule was broken
	numSigns
)

// maxSigns bounds the events of each kind of sign of a Tracker: failures are few,
// long silences take their time, and who breaks rules so often is known by then.
const maxSigns = 1 << 12

func signOf(d record.Detail) sign {
	switch d := d.(type) {
	case record.Silence:
		return signSilence
	case record.ProtocolError:
		return signBroken
	case *record.Try: // one without a cause yet may turn out to be a timeout
		if d.Silence >= minSilence && (d.Cause == record.CauseTimeout || d.Cause == record.CauseUnknown) {
			return signWait
		}
	default:
		if record.Fatal(d) {
			return signFatal
		}
	}
	return noSign
}

// put keeps an event where there is room for it.
func (t *Tracker) put(e event) {
	if t.teller != nil {
		t.teller.put(t, e)
		return
	}
	t.emitted++
	e.number = t.emitted
	if s := signOf(e.detail); s != noSign && t.signed[s] < maxSigns {
		t.signed[s]++
		t.signs = append(t.signs, e)
		if s == signFatal { // the list has these first of all
			return
		}
	}
	if len(t.events) >= t.room {
		t.leftOut++
		return
	}
	t.events = append(t.events, e)
}

// listed are the events of a tracker that is closed, in the order in which they
// were noted.
func (t *Tracker) listed() []event {
	all := slices.Clone(t.events)
	for i := range t.signs {
		if e := &t.signs[i]; record.Fatal(e.detail) {
			all = append(all, *e)
		}
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.number, b.number) })
	return all
}

// firstOf cuts events, in order of time, to so many: failures come first, then
// what was first.
func firstOf(all []event, most int) []event {
	if len(all) <= most {
		return all
	}
	fatal := 0
	for i := range all {
		if record.Fatal(all[i].detail) {
			fatal++
		}
	}
	fatal = min(fatal, most)
	rest := most - fatal
	return slices.DeleteFunc(all, func(e event) bool {
		room := &rest
		if record.Fatal(e.detail) {
			room = &fatal
		}
		*room--
		return *room < 0
	})
}

// Signs are the events of trackers that are closed from which conclusions are
// drawn, in order of time: failures, long silences, and rules that were broken.
// How many events are kept does not change them.
func Signs(trackers ...*Tracker) []record.Event {
	var all []event
	for _, t := range trackers {
		all = append(all, t.signs...)
	}
	return recordsOf(all)
}

// recordsOf puts events in order of time, and makes records of them.
func recordsOf(all []event) []record.Event {
	byTime(all)
	var out []record.Event
	if len(all) > 0 {
		out = make([]record.Event, len(all))
	}
	for i := range all {
		out[i] = all[i].record()
	}
	return out
}

func byTime(all []event) {
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.time, b.time) })
}

// marks are the sums over the events of a stream.
type marks struct {
	record.Marks
	ended *record.Try // the newest that ended: what follows may tell where its packets went
	frame record.FrameRef
}

func (f *flow) marks() *marks {
	b := f.bad()
	if b.marks == nil {
		b.marks = new(marks)
	}
	return b.marks
}

// mark takes an event of f's requests into account.
func (f *flow) mark(ref record.FrameRef, d record.Detail) {
	if try, ok := d.(*record.Try); ok {
		f.markEnded()
		m := f.marks()
		m.ended, m.frame = try, ref
		return
	}
	if record.Marked(d) {
		f.marks().Add(&record.Event{Time: ref.Time, Frame: ref, Count: 1, Detail: d})
	}
}

// markEnded takes the newest try into account, of which all is known now.
func (f *flow) markEnded() {
	if f.trouble == nil || f.trouble.marks == nil {
		return
	}
	if m := f.trouble.marks; m.ended != nil {
		m.Add(&record.Event{Time: m.frame.Time, Frame: m.frame, Count: 1, Detail: m.ended})
		m.ended = nil
	}
}

// marksNow are f's marks with its newest try, as it is by now.
func (f *flow) marksNow() *record.Marks {
	if f.trouble == nil || f.trouble.marks == nil {
		return nil
	}
	m := f.trouble.marks
	if m.ended == nil {
		return &m.Marks
	}
	c := m.Clone()
	c.Add(&record.Event{Time: m.frame.Time, Frame: m.frame, Count: 1, Detail: m.ended})
	return c
}

// isTimeout says that a try turned out to be one by timeout.
func (m *marks) isTimeout(try *record.Try, frame record.FrameRef) {
	m.Tried(record.TimeoutTry, frame)
	m.Waited += try.Silence
	m.Timeouts[try.Place]++
}
