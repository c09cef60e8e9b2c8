package groundtruth_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// cutsPerCapture is how many parts of each capture are looked at.
const cutsPerCapture = 30

// mostCut bounds the frames of captures that are cut.
const mostCut = 20_000

// TestCutOut: a part of a capture, from any frame to any other, shows no broken
// rule and no late packet that the whole does not show. What it begins in the
// middle of is the answer to a READ of which it has not the request.
func TestCutOut(t *testing.T) {
	for _, a := range all(t) {
		e := load(t, a.path)
		if len(e.frames) > mostCut || !e.asks() {
			continue
		}
		whole := oddities(e.run(t), 0)
		seen := make(map[oddity]bool)
		r := rand.New(rand.NewPCG(4, uint64(len(e.frames))))
		for range cutsPerCapture {
			from := r.IntN(len(e.frames))
			to := from + 1 + r.IntN(len(e.frames)-from)
			part := e.keep(func(i int, _ *frame) bool { return i >= from && i < to })
			for o := range oddities(part.run(t), uint64(from)) {
				if !whole[o] && !seen[o] {
					seen[o] = true
					t.Errorf("%s: from frame %d to %d: %s at frame %d, which the whole does not have", a.name, from+1, to, o.kind, o.frame)
				}
			}
		}
	}
}

// asks says whether there are READs or atomics in the capture.
func (e *edited) asks() bool {
	for i := range e.frames {
		if f := &e.frames[i]; f.reliable() && f.answer() && f.pkt.Opcode&0x1f != decode.OpRCAcknowledge {
			return true
		}
	}
	return false
}

// oddity is a broken rule or a late packet, and the frame it was found at.
type oddity struct {
	kind  record.EventKind
	frame uint64
}

// oddities are those of a result whose first frame is one behind skipped.
func oddities(r *pipeline.Result, skipped uint64) map[oddity]bool {
	found := make(map[oddity]bool)
	for i := range r.Events {
		e := &r.Events[i]
		switch k := e.Detail.Kind(); k {
		case record.KindProtocolError, record.KindReorder, record.KindUndecided:
			found[oddity{k, e.Frame.Number + skipped}] = true
		}
	}
	return found
}
