package correlate_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// frames are a capture in memory: a scenario's sink, and a source.
type frames struct {
	list []capture.Frame
	next int
}

func (f *frames) WriteFrame(fr *capture.Frame, _ ...string) error {
	c := *fr
	c.Data = bytes.Clone(fr.Data)
	f.list = append(f.list, c)
	return nil
}

func (f *frames) ReadBatch(b *capture.Batch) error {
	if f.next == len(f.list) {
		return io.EOF
	}
	n := min(len(f.list)-f.next, capture.BatchFrames)
	b.Frames = append(b.Frames[:0], f.list[f.next:f.next+n]...)
	f.next += n
	return nil
}

func (f *frames) Inputs() []capture.Input {
	return []capture.Input{{Path: "memory", Frames: uint64(f.next)}}
}

func (f *frames) Close() error { return nil }

// opener reads captures in memory, each from its beginning.
func opener(taps ...*frames) correlate.Open {
	return func(tap int) (capture.Source, error) {
		return &frames{list: taps[tap].list}, nil
	}
}

// clock is that of a point.
type clock struct {
	offset time.Duration
	ppm    float64
	jitter time.Duration
}

// lined is a scenario seen at points, with what was found and what is true.
type lined struct {
	taps   []int // points, in the order of the result's taps
	clocks [3]clock
	spec   *scenario.Spec
	truth  *scenario.LineTruth
	whole  *scenario.Truth
	points [3]scenario.Point
	caught [3]*frames
	res    *correlate.Result
}

// look simulates a spec and correlates what the given points saw.
func look(t *testing.T, spec *scenario.Spec, clocks [3]clock, edit func(*[3]scenario.Point), cfg correlate.Config, taps ...int) *lined {
	t.Helper()
	l := &lined{taps: taps, clocks: clocks, spec: spec}
	for i := range l.points {
		l.caught[i] = &frames{}
		l.points[i] = scenario.Point{Sink: l.caught[i], Offset: clocks[i].offset, Drift: clocks[i].ppm, Jitter: clocks[i].jitter}
	}
	if edit != nil {
		edit(&l.points)
	}
	var err error
	if l.whole, l.truth, err = scenario.RunPoints(spec, l.points); err != nil {
		t.Fatal(err)
	}
	var seen []*frames
	for _, p := range taps {
		seen = append(seen, l.caught[p])
	}
	if l.res, err = correlate.Run(context.Background(), len(seen), opener(seen...), cfg); err != nil {
		t.Fatal(err)
	}
	return l
}
