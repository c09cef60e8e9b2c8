package monitor

import (
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
)

// waitingEvents is how many events may wait for what is not known of them yet.
const waitingEvents = 100_000

// tell has all that is found told while it is found, to metrics and to the store
// if there is one. So nothing is kept until the end, which may never come. Whom
// the configuration names is told before.
func (m *Monitor) tell(cfg *pipeline.Config) {
	cfg.Track.MaxEvents = waitingEvents
	cfg.Track.Admission = true
	cfg.Track.Intervals.Sink = func(list []record.FlowInterval) {
		m.flows.Add(list)
		if m.store != nil {
			m.store.intervals(list)
		}
	}
	cfg.Frames = m.frames
	cfg.Track.Tell.Trouble = m.finder.Trouble
	cfg.Track.Tell.Sessions = both(cfg.Track.Tell.Sessions, func(u *record.SessionUpdate) {
		m.finder.Session(u)
		if m.store != nil {
			m.store.session(u)
		}
	})
	cfg.Track.Tell.Events = both(cfg.Track.Tell.Events, func(list []record.Event) {
		m.finder.Events(list)
		m.events(list)
	})
	cfg.Pause.Tell.Intervals = both(cfg.Pause.Tell.Intervals, func(list []record.PauseInterval) {
		m.pauses.Add(list)
		if m.store != nil {
			m.store.pauses(list)
		}
	})
	cfg.Pause.Tell.Events = both(cfg.Pause.Tell.Events, m.events)
	cfg.Pause.Tell.Storm = func(e record.Event, over bool) {
		switch s, ok := e.Detail.(*record.Storm); {
		case over:
			m.events([]record.Event{e})
			if ok {
				m.pauses.StormOver(s)
			}
		case ok:
			m.pauses.Storm(s)
		}
		m.found(m.finder.Storm(e, over, *m.inputs.Load()))
	}
}

// both calls two functions, of which the first may be nil.
func both[T any](first, then func(T)) func(T) {
	if first == nil {
		return then
	}
	return func(x T) {
		first(x)
		then(x)
	}
}

func (m *Monitor) events(list []record.Event) {
	if m.store != nil {
		m.store.events(list)
	}
}

func (s *store) session(u *record.SessionUpdate) {
	if u.End == record.SessionJoined { // another one has what was told of it
		one := *u.Session
		one.AToB, one.BToA = record.Direction{}, record.Direction{}
		u = &record.SessionUpdate{Session: &one, End: u.End}
	}
	_ = s.writer.Sessions(s.ctx, &s.origin, []schema.Session{{Session: u.Session, Updated: u.Last.Time, Final: u.End != record.SessionGoesOn}})
}

func (s *store) events(list []record.Event) { _ = s.writer.Events(s.ctx, &s.origin, list) }

func (s *store) pauses(list []record.PauseInterval) {
	_ = s.writer.Pauses(s.ctx, &s.origin, list)
}
