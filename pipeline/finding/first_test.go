package finding_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// shows says which tries show what a finding is about, surely or at least likely.
var shows = map[string]struct{ surely, likely func(d *record.Try) bool }{
	"lost-before-tap": {
		func(d *record.Try) bool { return d.LostBefore > 0 || d.Place == record.BeforeTap && owing(d) },
		func(d *record.Try) bool { return d.Place == record.BeforeTap },
	},
	"lost-after-tap": {surely: func(d *record.Try) bool { return d.LostAfter > 0 }},
	"ack-timeout":    {surely: func(d *record.Try) bool { return d.Cause == record.CauseTimeout }},
	"answer-late":    {surely: func(d *record.Try) bool { return d.Cause == record.CauseTimeout }},
	"answer-lost":    {surely: func(d *record.Try) bool { return d.Place == record.Answer && d.LostAfter == 0 }},
	"go-back-n":      {surely: func(d *record.Try) bool { return d.Cause != record.CauseRNR }},
}

func owing(d *record.Try) bool {
	return strings.Contains(d.Opcode, "READ_REQUEST") || strings.Contains(d.Opcode, "CMP_SWAP") || strings.Contains(d.Opcode, "FETCH_ADD")
}

// TestFirst: the first frame of a finding is that of a try which shows what it
// is about, and none comes before.
func TestFirst(t *testing.T) {
	paths := scenariotest.Files(t)
	for _, c := range capturetest.All(t) {
		paths["capture "+c.Name] = c.Path
	}
	want := map[string]uint64{ // by hand
		"mirrored_twice lost-before-tap": 139, "mirrored_twice lost-after-tap": 291,
		"capture loss_before_write_1pct lost-before-tap": 102, "capture loss_before_write_1pct ack-timeout": 829,
	}
	for name, path := range paths {
		cfg := pipeline.DefaultConfig()
		cfg.Track.MaxEvents = 1_000_000
		cfg.ICRC = false // which takes most of the time
		f, all := analyze(t, cfg, path)
		finding.OneCode(t, f)
		for _, x := range all {
			by, ok := shows[x.Code]
			if !ok {
				continue
			}
			about := make(map[string]bool)
			for _, id := range x.Sessions {
				about[id] = true
			}
			var first record.FrameRef
			found := false
			got, has := x.Evidence.Get("first").(record.FrameRef)
			for i := range f.Events {
				e := &f.Events[i]
				d, ok := e.Detail.(*record.Try)
				if !ok || d.Cause == record.CauseRNR || !about[e.Session] {
					continue
				}
				if by.surely(d) && (!found || e.Frame.Before(first)) {
					first, found = e.Frame, true
				}
				if has && got == e.Frame && !by.surely(d) && (by.likely == nil || !by.likely(d)) {
					t.Errorf("%s: %s begins with frame %d, a try %+v", name, x.Code, got.Number, *d)
				}
			}
			// What a stream among several did not surely lose may be the first.
			if len(x.Sessions) < 100 && found && (!has || first.Before(got)) && x.Code != "answer-lost" && x.Code != "ack-timeout" {
				t.Errorf("%s: %s begins with frame %d (%t), want %d", name, x.Code, got.Number, has, first.Number)
			}
			if n := want[name+" "+x.Code]; n > 0 && got.Number != n {
				t.Errorf("%s: %s begins with frame %d, want %d", name, x.Code, got.Number, n)
			}
			delete(want, name+" "+x.Code)
			if !has {
				t.Errorf("%s: %s has no first frame", name, x.Code)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}
