// Package live makes findings while a capture goes on. It collects what is told of
// sessions with trouble, and has package finding draw conclusions from what
// happened in the few seconds since it did so before.
//
// What is found again and again is told once: anew only when it has become worse,
// or after it was gone for a while.
package live

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// Config bounds what a Finder keeps.
type Config struct {
	// Gone is for how long something must not be found to count as new when it is
	// found again.
	Gone time.Duration
	// MaxSessions is how many sessions with trouble are kept. Beyond them those go
	// whose trouble is oldest.
	MaxSessions int
	// MaxEvents is how many signs of a time are kept, and how many other events.
	MaxEvents int
}

// DefaultConfig takes about 30 MB at most.
func DefaultConfig() Config {
	return Config{Gone: time.Minute, MaxSessions: 1 << 12, MaxEvents: 1 << 12}
}

// Found is a finding, and what it was drawn from.
type Found struct {
	record.Finding
	From, To int64            // ns since the epoch: the time that it is about
	Ends     []record.Session // its sessions, without figures
	Storms   []record.Storm   // of pfc-storm
	Events   []record.Event   // of its sessions, in order of time
}

// Finder makes findings. Its methods may be called by several goroutines.
type Finder struct {
	cfg Config

	mu       sync.Mutex
	sessions map[record.FrameRef]*session // with trouble, by their first frames
	signs    []record.Event               // since the last Find
	events   []record.Event               // likewise, the others
	from     int64                        // when that was
	begun    bool
	drops    map[string]uint64 // by input, until then
	frames   map[string]uint64
	told     map[key]*about
	taken    int // sessions since the last Find
	evicted  uint64
	leftOut  uint64
}

// session is one with trouble.
type session struct {
	now   *record.Session
	base  *record.Session // as it was when it was looked at last, nil if it was not
	last  int64           // when there was trouble
	fresh bool            // since then
	ended bool
}

// stormCode is the kind of findings of storms.
const stormCode = "pfc-storm"

// late is how long after it happened, in nanoseconds, something may be told.
const late = 2 * track.DefaultLate

// New returns a Finder that knows nothing.
func New(cfg Config) *Finder {
	return &Finder{cfg: cfg, sessions: make(map[record.FrameRef]*session), drops: make(map[string]uint64), frames: make(map[string]uint64), told: make(map[key]*about)}
}

// Trouble takes a session that goes on, of track.Tell.Trouble.
func (f *Finder) Trouble(u *record.SessionUpdate) { f.take(u, false) }

// Session takes a session of track.Tell.Sessions.
func (f *Finder) Session(u *record.SessionUpdate) {
	switch u.End {
	case record.SessionGoesOn:
	case record.SessionJoined: // its figures are another one's now
		f.mu.Lock()
		delete(f.sessions, u.First)
		f.mu.Unlock()
	default:
		if troubled(u.Session) {
			f.take(u, true)
		}
	}
}

// troubled says whether something was the matter with a session. It is asked of each
// that ends, and in a flood there are many.
func troubled(s *record.Session) bool {
	return s.AToB.Marks != nil || s.BToA.Marks != nil || s.AToB.Silences+s.BToA.Silences > 0 || s.State == record.StateFailed || s.CM != nil && s.CM.Replied == 0
}

// takes is how many times as many sessions are looked at in a time as are kept: a copy
// takes 20 us, and an outage of all must not stop the capture.
const takes = 4

func (f *Finder) take(u *record.SessionUpdate, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken++; f.taken > takes*f.cfg.MaxSessions {
		f.evicted++
		return
	}
	s := f.sessions[u.First]
	if s == nil {
		if len(f.sessions) >= f.cfg.MaxSessions {
			f.evict()
		}
		s = new(session)
		f.sessions[u.First] = s
	}
	s.now, s.last, s.fresh, s.ended = u.Clone(), u.Last.Time, true, ended
}

// evict forgets a quarter of the sessions, those whose trouble is oldest.
func (f *Finder) evict() {
	all := slices.SortedFunc(maps.Keys(f.sessions), func(a, b record.FrameRef) int {
		return cmp.Or(cmp.Compare(f.sessions[a].last, f.sessions[b].last), a.Compare(b))
	})
	for _, ref := range all[:(len(all)+3)/4] {
		delete(f.sessions, ref)
		f.evicted++
	}
}

// Events takes events of track.Tell.Events.
func (f *Finder) Events(list []record.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		e := &list[i]
		to := &f.events
		switch e.Detail.(type) {
		case *record.CE, *record.CNP: // any number of them
			continue
		case record.Silence, record.ProtocolError, *record.Try:
			to = &f.signs
		default:
			if record.Fatal(e.Detail) {
				to = &f.signs
			}
		}
		if len(*to) >= f.cfg.MaxEvents {
			f.leftOut++
			continue
		}
		*to = append(*to, *e)
	}
}

// Storm takes a storm of pause.Tell.Storm, when it is found and when it is over, and
// returns what there is to say of it.
func (f *Finder) Storm(e record.Event, over bool, inputs []capture.Input) []Found {
	s, ok := e.Detail.(*record.Storm)
	if !ok {
		return nil
	}
	if over {
		f.mu.Lock()
		defer f.mu.Unlock()
		if a := f.told[keyOfStorm(stormCode, s)]; a != nil {
			a.last = max(a.last, e.Time+s.Lasted)
		}
		return nil
	}
	facts := &finding.Facts{Inputs: inputs, Result: &pipeline.Result{Pause: pause.Result{Storms: []pause.Storm{{First: e.Frame, Storm: *s, End: e.Time + s.Lasted}}}}}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Found
	for _, x := range finding.OfWindow(facts) {
		if f.news(keyOfStorm(x.Code, s), &x, priorities(s), e.Time+s.Lasted) {
			out = append(out, Found{Finding: x, From: e.Time, To: e.Time + s.Lasted, Storms: []record.Storm{*s}})
		}
	}
	return out
}

// Find is what there is to say of the time since it was called last, until now,
// the worst first. A few seconds can look as the whole of a session does not, so
// that it is only told what is to be said of the whole of it too.
func (f *Finder) Find(now int64, inputs []capture.Input) []Found {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := f.from
	if !f.begun {
		from = now
	}
	facts := &finding.Facts{Inputs: f.lost(inputs), Result: &pipeline.Result{Signs: f.signs}}
	byTime(f.signs)
	for i := range f.signs {
		from = min(from, f.signs[i].Time)
	}
	list, whole := f.window(f.from - late)
	facts.First, facts.Last = from, now
	facts.Sessions = record.SessionsOf(whole...)
	sure := finding.OfWindow(facts)
	facts.Sessions = record.SessionsOf(list...)
	var out []Found
	for _, x := range finding.OfWindow(facts) {
		if has(sure, &x) && f.news(key{code: x.Code}, &x, x.Sessions, now) {
			out = append(out, f.found(&x, list, from, now))
		}
	}
	f.forget(now)
	f.signs, f.events, f.taken = nil, nil, 0
	f.from, f.begun = now, true
	return out
}

// StepBack says that time goes on from an earlier one, as a clock was put back: what was
// found later than that was found just now.
func (f *Finder) StepBack(to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from = min(f.from, to)
	for _, a := range f.told {
		a.last = min(a.last, to)
	}
}

// has says whether a finding is among others, of a session of it if it has any.
func has(all []record.Finding, x *record.Finding) bool {
	return slices.ContainsFunc(all, func(o record.Finding) bool {
		return o.Code == x.Code && (len(x.Sessions) == 0 || slices.ContainsFunc(x.Sessions, func(id string) bool { return slices.Contains(o.Sessions, id) }))
	})
}

// window is what the sessions with trouble did since it was looked at them last, in
// their order, and the whole of them. Of those that were not known, but whose trouble began before a time,
// it is not known what they did of late, until the next time.
func (f *Finder) window(since int64) (list, whole []record.Session) {
	for ref, s := range f.sessions {
		if s.fresh {
			switch {
			case s.base != nil:
				list = append(list, *s.now.Since(s.base))
			case !f.begun || began(s.now) >= since:
				list = append(list, *s.now)
			}
			whole = append(whole, *s.now)
			s.base, s.fresh = s.now, false
		}
		if s.ended {
			delete(f.sessions, ref)
		}
	}
	for _, l := range [][]record.Session{list, whole} {
		slices.SortFunc(l, func(a, b record.Session) int { return a.First.Compare(b.First) })
	}
	return list, whole
}

// began is when a session's trouble began.
func began(s *record.Session) int64 {
	first := int64(1<<63 - 1)
	for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
		if d.Marks == nil {
			continue
		}
		for _, x := range d.Marks.Firsts {
			if x.Kind != record.KindCE && x.Kind != record.KindCNP {
				first = min(first, x.Frame.Time)
			}
		}
	}
	return first
}

// lost are the inputs with what they lost since the last time.
func (f *Finder) lost(inputs []capture.Input) []capture.Input {
	list := slices.Clone(inputs)
	for i := range list {
		in := &list[i]
		frames := in.Frames
		in.Frames -= min(in.Frames, f.frames[in.Path])
		f.frames[in.Path] = frames
		if in.Drops == nil {
			continue
		}
		drops := *in.Drops
		in.Drops = new(drops - min(drops, f.drops[in.Path]))
		f.drops[in.Path] = drops
	}
	return list
}

// found is a finding with its sessions and their events.
func (f *Finder) found(x *record.Finding, list []record.Session, from, to int64) Found {
	out := Found{Finding: *x, From: from, To: to}
	of := make(map[string]bool, len(x.Sessions))
	for _, id := range x.Sessions {
		of[id] = true
	}
	for i := range list {
		if s := &list[i]; of[s.ID] {
			out.Ends = append(out.Ends, record.Session{ID: s.ID, Service: s.Service, Version: s.Version, VNI: s.VNI, HasVNI: s.HasVNI, A: s.A, B: s.B, First: s.First, Last: s.Last})
		}
	}
	for _, list := range [][]record.Event{f.signs, f.events} {
		for i := range list {
			if of[list[i].Session] {
				out.Events = append(out.Events, list[i])
			}
		}
	}
	byTime(out.Events)
	return out
}

func byTime(list []record.Event) {
	slices.SortStableFunc(list, func(a, b record.Event) int { return a.Frame.Compare(b.Frame) })
}

// LeftOut is how many sessions with trouble were forgotten, and how many events were
// not looked at, for want of room.
func (f *Finder) LeftOut() (sessions, events uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.evicted, f.leftOut
}
