package track_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// oddity is a broken rule or a late packet, and the frame it was found at.
type oddity struct {
	kind  record.EventKind
	frame uint64
}

// oddities are those of a result. Frames are those of the whole capture, of
// which it is a part.
func oddities(r *pipeline.Result) map[oddity]record.Detail {
	found := make(map[oddity]record.Detail)
	for i := range r.Events {
		e := &r.Events[i]
		switch k := e.Detail.Kind(); k {
		case record.KindProtocolError, record.KindReorder, record.KindUndecided:
			found[oddity{k, e.Frame.Number}] = e.Detail
		}
	}
	return found
}

// TestJoined: a part of a capture in which nothing was overtaken, from any frame
// to any other, shows no broken rule and no late packet.
func TestJoined(t *testing.T) {
	for seed := range uint64(100 / underRace) {
		c := simulateSpec(t, readSpec(seed))
		r := rand.New(rand.NewPCG(seed, 5))
		for range 3 {
			from := r.IntN(len(c.frames))
			to := from + 1 + r.IntN(len(c.frames)-from)
			part := &simulated{truth: c.truth, frames: c.frames[from:to]}
			for o, d := range oddities(part.analyse(t)) {
				t.Errorf("seed %d, frames %d to %d: %s at frame %d, %+v", seed, from+1, to, o.kind, o.frame, d)
			}
		}
	}
}

// TestNothingLate: where nothing was overtaken, nothing is called late, however
// often answers were asked for again.
func TestNothingLate(t *testing.T) {
	for seed := range uint64(100 / underRace) {
		for o, d := range oddities(simulateSpec(t, readSpec(seed)).analyse(t)) {
			t.Errorf("seed %d: %s at frame %d, %+v", seed, o.kind, o.frame, d)
		}
	}
}
