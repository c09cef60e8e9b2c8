package track_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// simulated is a capture in memory, made by pipeline/scenario, and what really
// happened.
type simulated struct {
	frames []capture.Frame
	truth  *scenario.Truth
}

// WriteFrame makes it what scenarios are written to.
func (c *simulated) WriteFrame(f *capture.Frame, _ ...string) error {
	g := *f
	g.Data = bytes.Clone(f.Data)
	c.frames = append(c.frames, g)
	return nil
}

// small are options that keep the large scenarios small.
func small(sc *scenario.Scenario, seed uint64) scenario.Options {
	o := scenariotest.Small(sc)
	o.Seed = seed
	return o
}

func simulate(tb testing.TB, sc *scenario.Scenario, seed uint64) *simulated {
	tb.Helper()
	c := new(simulated)
	var err error
	if c.truth, err = sc.Run(small(sc, seed), c); err != nil {
		tb.Fatal(err)
	}
	return c
}

func simulateSpec(tb testing.TB, spec *scenario.Spec) *simulated {
	tb.Helper()
	c := new(simulated)
	var err error
	if c.truth, err = scenario.Run(spec, c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// only is the capture with the frames that keep lets through.
func (c *simulated) only(keep func(i int, f *capture.Frame) bool) *simulated {
	out := &simulated{truth: c.truth}
	for i := range c.frames {
		if keep(i, &c.frames[i]) {
			out.frames = append(out.frames, c.frames[i])
		}
	}
	return out
}

// analyse runs the pipeline on it.
func (c *simulated) analyse(tb testing.TB) *pipeline.Result {
	tb.Helper()
	return c.analyseTold(tb, 0)
}

// analyseTold likewise, where the user says what the ACK timeout is.
func (c *simulated) analyseTold(tb testing.TB, ackTimeout int64) *pipeline.Result {
	tb.Helper()
	cfg := pipeline.DefaultConfig()
	cfg.Track.MaxEvents = 1 << 20
	cfg.Track.AckTimeout = ackTimeout
	if c.truth != nil {
		cfg.Links.All = c.truth.Network.Speed
	}
	r, err := pipeline.Run(context.Background(), &reader{list: c.frames}, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// reader is a source of frames in memory.
type reader struct {
	list []capture.Frame
	at   int
}

func (r *reader) ReadBatch(b *capture.Batch) error {
	if r.at == len(r.list) {
		return io.EOF
	}
	n := min(capture.BatchFrames, len(r.list)-r.at)
	b.Frames = append(b.Frames[:0], r.list[r.at:r.at+n]...)
	r.at += n
	return nil
}

func (r *reader) Inputs() []capture.Input { return []capture.Input{{Path: "simulated"}} }
func (r *reader) Close() error            { return errors.ErrUnsupported }
