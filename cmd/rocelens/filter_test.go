package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// filtered is the JSON report with some flags.
func filtered(t *testing.T, path string, flags ...string) (r struct {
	Capture  struct{ Packets int }
	Sessions []map[string]any
	Events   []map[string]any
}) {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(context.Background(), append(append([]string{"analyze", "--format", "json"}, flags...), path), nil, &out, &errOut); code != exitDone {
		t.Fatalf("%v: exit code %d, %s", flags, code, errOut.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFilterHidesNothing: a session that is told of with a filter has all that
// it has without, whichever of its packets match.
func TestFilterHidesNothing(t *testing.T) {
	for _, name := range []string{"rc_bidir_mixed_8qp", "qpn_reuse_three_connections"} {
		path := capturetest.Get(t, name).Path
		whole := filtered(t, path)
		told := 0
		for _, s := range whole.Sessions {
			id := s["id"].(string)
			one := filtered(t, path, "-Y", `rocelens.session == "`+id+`" && infiniband.aeth.msn % 7 == 1`)
			if len(one.Sessions) == 0 { // no such packet
				continue
			}
			told++
			if d := cmp.Diff([]map[string]any{s}, one.Sessions); d != "" {
				t.Errorf("%s: %s: %s", name, id, d)
			}
			var events []map[string]any
			for _, e := range whole.Events {
				if e["session"] == id {
					events = append(events, e)
				}
			}
			if d := cmp.Diff(events, one.Events); len(events)+len(one.Events) > 0 && d != "" {
				t.Errorf("%s: events of %s: %s", name, id, d)
			}
			if one.Capture.Packets == 0 || one.Capture.Packets*3 > whole.Capture.Packets {
				t.Errorf("%s: %d of %d packets", name, one.Capture.Packets, whole.Capture.Packets)
			}
		}
		if told < 2 {
			t.Errorf("%s: %d sessions", name, told)
		}
	}
}
