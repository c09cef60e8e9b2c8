// Package record holds what the pipeline says of a capture: plain values that
// reports, stores and views read. It computes nothing.
package record

// FrameRef names a frame.
type FrameRef struct {
	Input  int32  `json:"input"`  // index into capture.Source.Inputs
	Number uint64 `json:"number"` // within the input, from 1
	Time   int64  `json:"time"`   // nanoseconds since the epoch
	Offset int64  `json:"offset"` // of its record in the input, in bytes
}

// Before orders frames by time, then as they lie in their inputs. It is a
// total order, so that the first of several does not depend on who looked
// first.
func (f FrameRef) Before(g FrameRef) bool {
	if f.Time != g.Time {
		return f.Time < g.Time
	}
	if f.Input != g.Input {
		return f.Input < g.Input
	}
	return f.Number < g.Number
}

// Compare is -1 where f comes before g, 1 where it comes after it, and else 0.
func (f FrameRef) Compare(g FrameRef) int {
	switch {
	case f.Before(g):
		return -1
	case g.Before(f):
		return 1
	}
	return 0
}
