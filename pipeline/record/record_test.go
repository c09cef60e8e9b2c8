package record_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
)

func TestSeverity(t *testing.T) {
	for i, name := range record.SeverityNames() {
		s, err := record.ParseSeverity(name)
		if err != nil || s.String() != name || s != record.Severity(i+1) {
			t.Errorf("%s is %d (%s), %v", name, s, s, err)
		}
	}
	if record.Info >= record.Warning || record.Warning >= record.Critical {
		t.Error("severities are not in order")
	}
	if _, err := record.ParseSeverity("none"); err == nil {
		t.Error("none is a severity")
	}
	if s := record.Severity(0).String() + record.Severity(9).String(); s != "nonenone" {
		t.Error(s)
	}
}

// TestEvidenceKeepsItsOrder: an object, in the order in which it was written.
func TestEvidenceKeepsItsOrder(t *testing.T) {
	e := record.Evidence{
		{Key: "z", Value: uint64(math.MaxUint64)},
		{Key: "a", Value: 0.5},
		{Key: "list", Value: []record.Evidence{{{Key: "addr", Value: "10.0.0.1"}}}},
		{Key: "first", Value: record.FrameRef{Input: 1, Number: 2, Time: 3, Offset: 4}},
	}
	raw, err := json.Marshal(e)
	want := `{"z":18446744073709551615,"a":0.5,"list":[{"addr":"10.0.0.1"}],"first":{"input":1,"number":2,"time":3,"offset":4}}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	if e.Get("a") != 0.5 || e.Get("b") != nil {
		t.Error("Get")
	}
	if _, err := json.Marshal(record.Evidence{{Key: "x", Value: math.NaN()}}); err == nil {
		t.Error("NaN is written")
	}
	if raw, err := json.Marshal(record.Evidence(nil)); err != nil || string(raw) != "{}" {
		t.Errorf("none: %s, %v", raw, err)
	}
}

func TestBefore(t *testing.T) {
	order := []record.FrameRef{{Time: 1, Input: 2, Number: 9}, {Time: 2, Input: 0, Number: 5}, {Time: 2, Input: 1, Number: 1}, {Time: 2, Input: 1, Number: 2}}
	for i := range order {
		for j := range order {
			if got := order[i].Before(order[j]); got != (i < j) {
				t.Errorf("%v before %v: %v", order[i], order[j], got)
			}
		}
	}
}

// TestSessions: a list that is made when it is asked for is the same as one
// that is there, and figures and plain sessions cost no more than they need.
func TestSessions(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	filled := 0
	made := record.MakeSessions(len(names), record.Source{
		Fill:    func(i int, s *record.Session) { filled++; s.ID, s.PathMTU = names[i], uint32(i) },
		Figures: func(i int, s *record.Session) { s.PathMTU = uint32(i) },
		Plain:   func(i int) bool { return i%2 == 0 },
	})
	var list []record.Session
	for i, name := range names {
		list = append(list, record.Session{ID: name, PathMTU: uint32(i)})
	}
	for _, l := range []record.Sessions{made, record.SessionsOf(list...)} {
		at := 0
		for s := range l.All() {
			if s.ID != names[at] || s.PathMTU != uint32(at) || l.At(at).ID != names[at] {
				t.Errorf("session %d is %+v", at, s)
			}
			if at++; at == 3 {
				break
			}
		}
		for i, s := range l.Figures() {
			if s.PathMTU != uint32(i) {
				t.Errorf("figures of %d are %+v", i, s)
			}
		}
	}
	filled = 0
	var notable []string
	for i, s := range made.Notable() {
		if s.PathMTU != uint32(i) {
			t.Errorf("session %d is %+v", i, s)
		}
		notable = append(notable, s.ID)
	}
	if !slices.Equal(notable, []string{"b", "d"}) || filled != 2 {
		t.Errorf("notable are %v, and %d were made", notable, filled)
	}
}
