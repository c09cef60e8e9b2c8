package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestNarrow leaves one session of several, and totals of some packets.
func TestNarrow(t *testing.T) {
	in, c := withSessions()
	m := &pipeline.Matching{Sessions: map[string]bool{"failed": true}}
	m.Counters.Packets, m.Counters.First, m.Counters.Last = 7, c.First+5_000_000, c.First+6_000_000
	r := New(in, c, finding.Find(&finding.Facts{Inputs: in, Result: c, Only: m}), "test")
	r.Narrow(`infiniband.bth.destqp == 0x8c`, c, m)

	var b bytes.Buffer
	if err := JSON(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Filter   *Filter
		Capture  struct{ Packets uint64 }
		Sessions []struct{ ID string }
		Events   []struct{ Session string }
		Pause    []any
		Findings []struct {
			Code     string
			Sessions []string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if f := got.Filter; f == nil || f.Expr != `infiniband.bth.destqp == 0x8c` || f.Packets != c.Packets || f.Sessions != c.Sessions.Len() {
		t.Errorf("filter %+v", f)
	}
	if got.Capture.Packets != 7 || len(got.Sessions) != 1 || got.Sessions[0].ID != "failed" || len(got.Events) == 0 || len(got.Pause) > 0 {
		t.Errorf("%s", b.String())
	}
	for _, e := range got.Events {
		if e.Session != "failed" {
			t.Errorf("an event of %q", e.Session)
		}
	}
	for _, f := range got.Findings {
		if len(f.Sessions) > 0 && !slices.Contains(f.Sessions, "failed") {
			t.Errorf("%s is about %v", f.Code, f.Sessions)
		}
	}
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(capturetest.Root(t), "docs", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Error(err)
	}

	// Times are those since the capture began, and the text says what it is of.
	var text bytes.Buffer
	if err := Text(&text, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Filter          infiniband.bth.destqp == 0x8c: 7 of ", "   +1.900000 s  frame 1900 ", "1.900 s after the start."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, text.String())
		}
	}

	// Many sessions are made when they are asked for.
	many := record.MakeSessions(9, record.Source{
		Fill:    func(i int, s *record.Session) { s.PathMTU = uint32(i) },
		Figures: func(i int, s *record.Session) { s.PathMTU = uint32(10 * i) },
		Plain:   func(i int) bool { return i == 7 },
	}).Only([]int{2, 7})
	if many.Len() != 2 || many.At(1).PathMTU != 7 || many.Plain(0) || !many.Plain(1) {
		t.Errorf("%d sessions, the second is %d", many.Len(), many.At(1).PathMTU)
	}
	for i, s := range many.Figures() {
		if want := []uint32{20, 70}[i]; s.PathMTU != want {
			t.Errorf("session %d is %d", i, s.PathMTU)
		}
	}
}
