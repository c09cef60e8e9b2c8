package finding_test

import (
	"reflect"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// told sets the marks of sessions and the signs as if events had happened.
func told(f *finding.Facts, events []record.Event) {
	for i := range events {
		e := &events[i]
		for s := range f.Sessions.All() {
			if s.ID == e.Session {
				mark(s, e)
			}
		}
	}
	f.Events, f.Signs = events, events
}

// mark adds an event to the marks of a session.
func mark(s *record.Session, e *record.Event) {
	d := &s.AToB
	if e.Stream == 1 {
		d = &s.BToA
	}
	if d.Marks == nil {
		d.Marks = new(record.Marks)
	}
	if record.Marked(e.Detail) {
		d.Marks.Add(e)
	}
}

// TestEventLimit: how many events are kept changes no finding.
func TestEventLimit(t *testing.T) {
	paths := make(map[string]string)
	for _, c := range capturetest.All(t) {
		paths[c.Name] = c.Path
	}
	for name, path := range scenariotest.Files(t) {
		paths["scenario "+name] = path
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := pipeline.DefaultConfig()
			cfg.ICRC = false // which takes most of the time
			cfg.Track.MaxEvents = 1_000_000
			all, want := analyze(t, cfg, path)
			for _, limit := range []int{0, 1, 100} {
				cfg.Track.MaxEvents = limit
				f, got := analyze(t, cfg, path)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("with %d events: %+v\nwith all: %+v", limit, got, want)
				}
				most := len(all.Events)
				if n := len(f.Events); n != min(limit, most) || n+int(f.EventsLeftOut+f.PausesLeftOut) != most {
					t.Errorf("with room for %d of %d events: %d, and %d left out", limit, most, n, f.EventsLeftOut+f.PausesLeftOut)
				}
				failures(t, all.Events, f.Events, limit)
			}
		})
	}
}

// failures checks that of all events failures were kept first, and all in order.
func failures(t *testing.T, all, kept []record.Event, limit int) {
	t.Helper()
	want, got := 0, 0
	for i := range all {
		if record.Fatal(all[i].Detail) {
			want++
		}
	}
	for i := range kept {
		if record.Fatal(kept[i].Detail) {
			got++
		}
		if i > 0 && kept[i].Time < kept[i-1].Time {
			t.Errorf("event %d is earlier than the one before", i)
		}
	}
	if got != min(want, limit) {
		t.Errorf("with room for %d events, %d of %d failures", limit, got, want)
	}
}
