package track_test

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestMarks: the marks of sessions are what their events add up to, as they
// turned out to be, and signs are among the events.
func TestMarks(t *testing.T) {
	for _, sc := range withRoCE() {
		sameMarks(t, sc.Name, simulate(t, &sc, 1).analyse(t))
	}
	for seed := range uint64(propertySeeds) {
		sameMarks(t, "random", simulateSpec(t, randomSpec(seed)).analyse(t))
	}
}

func sameMarks(t *testing.T, name string, r *pipeline.Result) {
	t.Helper()
	type key struct {
		session string
		stream  uint8
	}
	want := make(map[key]*record.Marks)
	var signs []record.Event
	for i := range r.Events {
		e := &r.Events[i]
		if sign(e.Detail) {
			signs = append(signs, *e)
		}
		if !record.Marked(e.Detail) {
			continue
		}
		k := key{e.Session, e.Stream}
		if want[k] == nil {
			want[k] = new(record.Marks)
		}
		want[k].Add(e)
	}
	if !reflect.DeepEqual(signs, r.Signs) {
		t.Errorf("%s: %d signs, want %d", name, len(r.Signs), len(signs))
	}
	for s := range r.Sessions.All() {
		for i, d := range [...]*record.Direction{&s.AToB, &s.BToA} {
			w := want[key{s.ID, uint8(i)}]
			switch {
			case w == nil && d.Marks == nil:
			case w == nil || d.Marks == nil:
				t.Errorf("%s: %s has marks %+v, want %+v", name, s.ID, d.Marks, w)
			default:
				got := *d.Marks
				byKind(w.Firsts)
				byKind(got.Firsts)
				byTryKind(w.FirstTries)
				byTryKind(got.FirstTries)
				if !reflect.DeepEqual(&got, w) {
					t.Errorf("%s: %s has marks\n%+v, want\n%+v", name, s.ID, got, *w)
				}
			}
		}
	}
}

func byKind(l []record.FirstOfKind) {
	slices.SortFunc(l, func(a, b record.FirstOfKind) int { return cmp.Compare(a.Kind, b.Kind) })
}

func byTryKind(l []record.FirstTry) {
	slices.SortFunc(l, func(a, b record.FirstTry) int { return cmp.Compare(a.Kind, b.Kind) })
}

// sign says whether an event is one: a failure, a rule that was broken, 10 ms of
// silence, or of waiting for a timer.
func sign(d record.Detail) bool {
	switch d := d.(type) {
	case record.Silence:
		return d.Lasted >= 10_000_000
	case *record.Try:
		return d.Silence >= 10_000_000 && (d.Cause == record.CauseTimeout || d.Cause == record.CauseUnknown)
	case record.ProtocolError:
		return true
	}
	return record.Fatal(d)
}
