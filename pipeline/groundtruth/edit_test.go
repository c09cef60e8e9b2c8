package groundtruth_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// frame is a frame with bytes of its own, and the packet in it.
type frame struct {
	capture.Frame
	pkt decode.Packet
}

// edited is a capture in memory.
type edited struct {
	inputs []capture.Input
	frames []frame
}

// load reads a capture into memory.
func load(tb testing.TB, path string) *edited {
	tb.Helper()
	f, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	e := new(edited)
	dec := decode.New(decode.Config{})
	err = pipeline.EachBatch(context.Background(), f, func(b *capture.Batch) error {
		for i := range b.Frames {
			fr := frame{Frame: b.Frames[i]}
			fr.Data = slices.Clone(fr.Data)
			dec.Decode(&fr.Frame, &fr.pkt)
			fr.pkt.Frame, fr.pkt.Data = nil, nil // the batch's
			e.frames = append(e.frames, fr)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	e.inputs = f.Inputs()
	return e
}

// keep is the capture with the frames that ok lets through.
func (e *edited) keep(ok func(i int, f *frame) bool) *edited {
	out := &edited{inputs: e.inputs}
	for i := range e.frames {
		if ok(i, &e.frames[i]) {
			out.frames = append(out.frames, e.frames[i])
		}
	}
	return out
}

// double is the capture as a mirror of two ports shows it: every frame twice,
// a little apart.
func (e *edited) double() *edited {
	const apart = 700 // ns
	out := &edited{inputs: e.inputs}
	for i := range e.frames {
		second := e.frames[i]
		second.Time += apart
		if i+1 < len(e.frames) {
			second.Time = min(second.Time, max(e.frames[i].Time, e.frames[i+1].Time))
		}
		out.frames = append(out.frames, e.frames[i], second)
	}
	return out
}

// run analyses the capture. Frames are numbered anew.
func (e *edited) run(tb testing.TB) *pipeline.Result {
	tb.Helper()
	src := &memory{edited: e}
	r, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// memory is a source of the frames in memory.
type memory struct {
	*edited
	at int
}

func (m *memory) ReadBatch(b *capture.Batch) error {
	if m.at == len(m.frames) {
		return io.EOF
	}
	b.Frames = b.Frames[:0]
	for len(b.Frames) < capture.BatchFrames && m.at < len(m.frames) {
		f := m.frames[m.at].Frame
		m.at++
		f.Number = uint64(m.at)
		b.Frames = append(b.Frames, f)
	}
	return nil
}

func (m *memory) Inputs() []capture.Input { return m.inputs }
func (m *memory) Close() error            { return errors.ErrUnsupported }

// request says that a frame is a request of RC or XRC, READs and atomics
// included.
func (f *frame) request() bool {
	if f.pkt.Has&decode.HasBTH == 0 || !f.reliable() {
		return false
	}
	return !f.answer()
}

// reliable says that a frame is of RC or XRC.
func (f *frame) reliable() bool {
	if f.pkt.Has&decode.HasBTH == 0 {
		return false
	}
	s := f.pkt.Opcode.Service()
	return s == decode.ServiceRC || s == decode.ServiceXRC
}

// answer says that a frame of RC or XRC is a response or an acknowledgement:
// operations 0x0d to 0x12.
func (f *frame) answer() bool {
	op := f.pkt.Opcode & 0x1f
	return f.reliable() && op >= 0x0d && op <= 0x12
}

// cm says that a frame is to or from QP 1.
func (f *frame) cm() bool { return f.pkt.Has&decode.HasBTH != 0 && f.pkt.DestQP == 1 }
