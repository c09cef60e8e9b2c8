package pipeline_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// batches is a source of frames in memory, in batches of the sizes that next
// gives.
type batches struct {
	list []capture.Frame
	next func() int
}

func (s *batches) ReadBatch(b *capture.Batch) error {
	if len(s.list) == 0 {
		return io.EOF
	}
	n := min(len(s.list), s.next())
	b.Frames = append(b.Frames[:0], s.list[:n]...)
	s.list = s.list[n:]
	return nil
}

func (*batches) Inputs() []capture.Input { return []capture.Input{{Path: "a"}, {Path: "b"}} }
func (*batches) Close() error            { return nil }

// mirrorsOf is what is said of the mirrors of some frames. Whatever the number
// of workers and the batches, it is the same.
func mirrorsOf(t *testing.T, list []capture.Frame) pipeline.Mirrors {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var want pipeline.Mirrors
	for i, next := range []func() int{
		func() int { return capture.BatchFrames }, func() int { return 1 }, func() int { return 1 + r.IntN(7) }, func() int { return 1 + r.IntN(300) },
	} {
		res, err := pipeline.Run(context.Background(), &batches{list, next}, pipeline.Config{Workers: 1 + 2*i%3})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = res.Mirrors
		} else if m := res.Mirrors; !slices.Equal(m.Rows, want.Rows) || m.Unplaced != want.Unplaced {
			t.Fatalf("with other batches: %+v, want %+v", m, want)
		}
	}
	return want
}

// mirrored is a frame that came by ERSPAN II, with nothing of interest inside.
func mirrored(n int, number uint32, session uint16, input int32) capture.Frame {
	be := binary.BigEndian
	b := make([]byte, 12, 80)
	b = append(b, 8, 0, 0x45, 0, 0, 64, 0, 0, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
	b = append(b, 0x10, 0, 0x88, 0xbe)
	b = be.AppendUint32(b, number)
	b = append(b, 0x10, 0, byte(session>>8), byte(session), 0, 0, 0, 1)
	b = append(b, make([]byte, 12)...)
	b = append(b, 0x88, 0xb5) // an experiment's
	b = append(b, make([]byte, 14)...)
	return capture.Frame{Data: b, OrigLen: uint32(len(b)), Time: int64(n) * 1000, Number: uint64(n) + 1, Link: capture.LinkEthernet, FCSLen: -1, Input: input}
}

// numbers are those from one to before another.
func numbers(from, to uint32) (list []uint32) {
	for ; from != to; from++ {
		list = append(list, from)
	}
	return list
}

// TestMirror has numbers as mirrors and the ways from them make them.
func TestMirror(t *testing.T) {
	join := slices.Concat[[]uint32]
	doubled := func(list []uint32) (out []uint32) {
		for _, n := range list {
			out = append(out, n, n)
		}
		return out
	}
	without := func(list []uint32, every int) (out []uint32) {
		for i, n := range list {
			if i%every != every/2 {
				out = append(out, n)
			}
		}
		return out
	}
	var zipped, chunks []uint32 // of two parts of a switch that number on their own
	for i := range uint32(1000) {
		zipped = append(zipped, i, 50_000+i)
	}
	for i := range uint32(20) {
		chunks = join(chunks, numbers(100*i, 100*i+100), numbers(50_000+100*i, 50_000+100*i+100))
	}
	swapped := numbers(0, 1000)
	for i := 10; i+1 < len(swapped); i += 20 {
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
	}
	late := join(numbers(0, 100), numbers(101, 300), []uint32{100}, numbers(300, 1000))
	random := make([]uint32, 1000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range random {
		random[i] = r.Uint32()
	}
	for _, tc := range []struct {
		name    string
		numbers []uint32
		known   bool
		want    pipeline.Mirror
	}{
		{"all there", numbers(6, 1406), true, pipeline.Mirror{}},
		{"wrap", numbers(0xffffff00, 0x100), true, pipeline.Mirror{}},
		{"wrap in a gap", join(numbers(0xffffff00, 0xfffffffe), numbers(3, 100)), true, pipeline.Mirror{Missing: 5, Gaps: 1}},
		{"one gap", join(numbers(0, 500), numbers(507, 1000)), true, pipeline.Mirror{Missing: 7, Gaps: 1}},
		{"one in 50", without(numbers(0, 10_000), 50), true, pipeline.Mirror{Missing: 200, Gaps: 200}},
		{"a long outage", join(numbers(0, 500), numbers(50_500, 51_000)), true, pipeline.Mirror{Missing: 50_000, Gaps: 1}},
		{"one in 16 kept", func() (out []uint32) {
			for i := range uint32(1000) {
				out = append(out, 16*i)
			}
			return out
		}(), true, pipeline.Mirror{Missing: 999 * 15, Gaps: 999}},
		{"in pairs the wrong way round", swapped, true, pipeline.Mirror{Late: 50}},
		{"one late", late, true, pipeline.Mirror{Late: 1}},
		{"late and some lost", join(numbers(0, 100), numbers(110, 300), numbers(103, 105), numbers(300, 1000)), true, pipeline.Mirror{Late: 2, Missing: 8, Gaps: 2}},
		{"each twice", doubled(without(numbers(0, 1000), 100)), true, pipeline.Mirror{Missing: 10, Gaps: 10, Repeated: 990}},
		{"all twice, one behind the other", join(numbers(0, 1000), numbers(0, 1000)), true, pipeline.Mirror{Repeated: 1000}},
		{"restart at 0", join(numbers(5_000_000, 5_000_500), numbers(0, 500)), true, pipeline.Mirror{Restarts: 1}},
		{"restart far ahead", join(numbers(0, 500), numbers(1<<20, 1<<20+500)), true, pipeline.Mirror{Restarts: 1}},
		{"restart, and gaps on both sides", join(numbers(5_000_000, 5_000_100), numbers(5_000_103, 5_000_500), numbers(0, 100), numbers(102, 500)), true,
			pipeline.Mirror{Restarts: 1, Missing: 5, Gaps: 2}},
		{"a stray frame", join(numbers(0, 500), []uint32{1 << 30}, numbers(500, 1000)), true, pipeline.Mirror{}},
		{"always 0", make([]uint32, 1000), false, pipeline.Mirror{Repeated: 999}},
		{"one frame", []uint32{7}, false, pipeline.Mirror{}},
		{"two counts, frame by frame", zipped, false, pipeline.Mirror{}},
		{"two counts, in turns", chunks, false, pipeline.Mirror{}},
		{"no count at all", random, false, pipeline.Mirror{}},
	} {
		var list []capture.Frame
		for i, n := range tc.numbers {
			list = append(list, mirrored(i, n, 7, 0))
		}
		m := mirrorsOf(t, list)
		if len(m.Rows) != 1 || m.Unplaced > 0 {
			t.Fatalf("%s: %d mirrors", tc.name, len(m.Rows))
		}
		got := m.Rows[0]
		if got.Known != tc.known || got.Frames != uint64(len(list)) || got.Session != 7 || got.Version != 2 || got.Kind != decode.AddrIPv4 ||
			got.Src.IP().String() != "192.0.2.1" || got.Dst.IP().String() != "192.0.2.2" {
			t.Errorf("%s: known %v, %+v", tc.name, got.Known, got)
		}
		if w := tc.want; tc.known &&
			(got.Missing != w.Missing || got.Gaps != w.Gaps || got.Late != w.Late || got.Repeated != w.Repeated || got.Restarts != w.Restarts) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, w)
		}
		frames, missing, known := m.Lost()
		if known != tc.known || known && (frames != got.Frames || missing != got.Missing) {
			t.Errorf("%s: %d frames, %d missing, known %v", tc.name, frames, missing, known)
		}
	}
}

// TestMirrors: sessions and inputs are counted apart, and those beyond the
// bound are counted as such.
func TestMirrors(t *testing.T) {
	var list []capture.Frame
	add := func(number uint32, session uint16, input int32) {
		list = append(list, mirrored(len(list), number, session, input))
	}
	for i := range uint32(300) {
		add(i, 1, 0)
		if i != 100 {
			add(1_000_000+i, 2, 0)
		}
		if i < 50 || i > 53 {
			add(i, 1, 1)
		}
	}
	m := mirrorsOf(t, list)
	if len(m.Rows) != 3 || m.Rows[0].Missing != 0 || m.Rows[1].Missing != 1 || m.Rows[2].Missing != 4 || m.Rows[2].Input != 1 {
		t.Errorf("%+v", m.Rows)
	}
	first := slices.IndexFunc(list, func(f capture.Frame) bool { return f.Input == 1 && binary.BigEndian.Uint32(f.Data[38:]) == 54 })
	if want := (record.FrameRef{Input: 1, Number: uint64(first) + 1, Time: int64(first) * 1000}); m.Rows[2].FirstGap != want {
		t.Errorf("the first gap is ahead of %+v, want %+v", m.Rows[2].FirstGap, want)
	}
	frames, missing, known := m.Lost()
	if frames != uint64(len(list)) || missing != 5 || !known {
		t.Errorf("%d of %d missing, known %v", missing, frames, known)
	}
	list = nil
	for i := range uint32(900) {
		add(i/300, uint16(i%300), 0)
	}
	if m = mirrorsOf(t, list); len(m.Rows) != 256 || m.Unplaced != 3*44 {
		t.Errorf("%d mirrors, %d frames of others", len(m.Rows), m.Unplaced)
	}
}

// TestMirrorCaptures: in real captures the numbers are those that
// tshark -T fields -e gre.sequence_number shows, and frames that are taken out
// are missing.
func TestMirrorCaptures(t *testing.T) {
	for _, tc := range []struct {
		name     string
		frames   uint64
		session  uint16
		version  uint8
		hardware uint8
	}{
		{"erspan2_rc_write", 1401, 30, 2, 0},
		{"erspan2_vlan_rc_write", 580, 30, 2, 0},
		{"erspan2_truncated_mtu4096", 190, 30, 2, 0},
		{"erspan3_rc_read", 579, 31, 3, 5},
	} {
		if !slices.ContainsFunc(capturetest.All(t), func(c capturetest.Capture) bool { return c.Name == tc.name }) {
			continue
		}
		var list []capture.Frame
		err := pipeline.EachBatch(context.Background(), open(t, tc.name), func(b *capture.Batch) error {
			for _, f := range b.Frames {
				f.Data = slices.Clone(f.Data)
				list = append(list, f)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		m := mirrorsOf(t, list)
		if len(m.Rows) != 1 {
			t.Fatalf("%s: %+v", tc.name, m)
		}
		if r := m.Rows[0]; r.Frames != tc.frames || r.Missing+r.Late+r.Repeated+r.Restarts != 0 || !r.Known ||
			r.Session != tc.session || r.Version != tc.version || r.Hardware != tc.hardware || r.Src.IP().String() != "10.20.0.1" {
			t.Errorf("%s: %+v", tc.name, r)
		}
		var thin []capture.Frame
		for i, f := range list {
			if i%10 != 5 || i < 20 || i > len(list)-20 {
				thin = append(thin, f)
			}
		}
		gone := uint64(len(list) - len(thin))
		if r := mirrorsOf(t, thin).Rows[0]; r.Missing == 0 || r.Missing > gone || r.Frames+r.Missing != tc.frames {
			t.Errorf("%s without %d frames: %+v", tc.name, gone, r)
		}
	}
}

// TestMirrorScenario: what the mirror lost is what is missing.
func TestMirrorScenario(t *testing.T) {
	sc, err := scenario.Find("thinned_erspan")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		var list frameList
		truth, err := sc.Run(scenario.Options{Seed: seed}, &list)
		if err != nil {
			t.Fatal(err)
		}
		r := mirrorsOf(t, list).Rows[0]
		// Of the first frames and the last ones nobody can tell.
		if !r.Known || r.Missing == 0 || r.Missing > truth.Tap.Lost || r.Missing+3 < truth.Tap.Lost || r.Frames != truth.Frames {
			t.Errorf("seed %d: %d lost; %+v", seed, truth.Tap.Lost, r)
		}
	}
}

// frameList keeps what a scenario writes.
type frameList []capture.Frame

func (l *frameList) WriteFrame(f *capture.Frame, _ ...string) error {
	g := *f
	g.Data = slices.Clone(f.Data)
	*l = append(*l, g)
	return nil
}
