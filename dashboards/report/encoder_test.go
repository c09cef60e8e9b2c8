package report

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/pipeline/record"
)

// TestJSONIsIndented: sessions are written as encoding/json would indent them,
// whatever is in them.
func TestJSONIsIndented(t *testing.T) {
	in, c := withSessions()
	s := *c.Sessions.At(1)
	s.ID, s.Application = "quote \" backslash \\ <&> \x01 é \xff", "a\nb"
	s.CM = &record.CM{ServiceID: 7, PathMTU: 4096, Private: []byte{1, 2}}
	s.HasVNI, s.VNI = true, 9
	s.AToB.Latency[record.Send].Add(5)
	s.AToB.Latency[record.Atomic].Add(6)
	s.AToB.DSCP = []record.DSCPCount{{DSCP: 26, Packets: 7}, {DSCP: 3, Packets: 5}, {DSCP: 10, Packets: 6}}
	c.Sessions = record.SessionsOf(s, record.Session{}, *c.Sessions.At(2))
	var out, want bytes.Buffer
	if err := JSON(&out, New(in, c, nil, "1"), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&want, out.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want.Bytes()) {
		t.Errorf("not as encoding/json indents it:\n%s", cmp.Diff(want.String(), out.String()))
	}
	var r struct {
		Sessions []struct{ ID, Application string }
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if got := r.Sessions[0]; got.ID != "quote \" backslash \\ <&> \x01 é \ufffd" || got.Application != "a\nb" {
		t.Errorf("strings are %q", got)
	}
	// Maps are in the order of their keys.
	for _, want := range []string{`"dscp": {
          "10": 6,
          "26": 7,
          "3": 5
        }`, `"message_latency_by_kind_ns": {
          "atomic": {`, `"places": {
          "after_tap": 0,
          "answer": 0,
          "before_tap": 21,
          "refused": 0,
          "unknown": 0
        }`} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("without %s", want)
		}
	}
}

// TestSessionsCost: reports have sessions by the hundred thousand.
func TestSessionsCost(t *testing.T) {
	_, c := withSessions()
	many := make([]record.Session, 1000)
	for i := range many {
		many[i] = *c.Sessions.At(i % c.Sessions.Len())
	}
	o := newObject(io.Discard)
	list := record.SessionsOf(many...)
	if n := testing.AllocsPerRun(10, func() { o.sessions(list.All()) }); n > 10 {
		t.Errorf("%v allocations for %d sessions", n, len(many))
	}
}
