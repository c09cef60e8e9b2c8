package pipeline_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// mixed are captures that between them have all that Counters counts in real
// traffic.
var mixed = []string{
	"corrupt_send_acks", "rnr_slow_receiver", "erspan2_vlan_rc_write", "qinq_100_7_rc_read", "vxlan_rc_write",
	"rc_write_ipv6", "formats_write_sll2", "formats_write_snap60", "ecn_ce_with_synthetic_cnp", "icmp_unreachable_reject",
}

func open(t *testing.T, name string) *capture.File {
	t.Helper()
	f, err := capture.Open(capturetest.Get(t, name).Path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// packets decodes the frames of a capture one after the other.
func packets(t *testing.T, name string, do func(*decode.Packet)) {
	t.Helper()
	decodeAll(t, capturetest.Get(t, name).Path, do)
}

func decodeAll(t *testing.T, path string, do func(*decode.Packet)) {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dec := decode.New(decode.Config{})
	var p decode.Packet
	err = pipeline.EachBatch(context.Background(), src, func(b *capture.Batch) error {
		for i := range b.Frames {
			dec.Decode(&b.Frames[i], &p)
			dec.VerifyICRC(&p)
			do(&p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMergeIsOrderFree deals the packets of real captures out to several
// counters, as workers would, and merges them in different orders.
func TestMergeIsOrderFree(t *testing.T) {
	const workers = 3
	var whole pipeline.Counters
	var parts [workers]pipeline.Counters
	n := 0
	for _, name := range mixed {
		packets(t, name, func(p *decode.Packet) {
			whole.Add(p)
			parts[n*n%7%workers].Add(p) // uneven on purpose
			n++
		})
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var sum pipeline.Counters
		for _, i := range order {
			sum.Merge(&parts[i])
		}
		if sum != whole {
			t.Errorf("merged in the order %v: %s", order, cmp.Diff(whole, sum))
		}
	}
	var empty pipeline.Counters
	sum := whole
	sum.Merge(&empty)
	empty.Merge(&whole)
	if sum != whole || empty != whole {
		t.Error("merging with empty counters changes them")
	}
}

func TestRunEqualsAdd(t *testing.T) {
	for _, name := range mixed {
		var want pipeline.Counters
		packets(t, name, want.Add)
		got, err := pipeline.Run(context.Background(), open(t, name), pipeline.DefaultConfig())
		if err != nil || got.Counters != want {
			t.Errorf("%s: error %v, %s", name, err, cmp.Diff(want, got.Counters))
		}
	}
}

// TestNoICRC leaves what could be checked unchecked, and nothing else differs.
func TestNoICRC(t *testing.T) {
	checked, err := pipeline.Run(context.Background(), open(t, "corrupt_send_acks"), pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	got, err := pipeline.Run(context.Background(), open(t, "corrupt_send_acks"), pipeline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := checked.Counters
	want.ICRC.Unchecked = want.ICRC.Good + want.ICRC.Bad
	want.ICRC.Good, want.ICRC.Bad, want.ICRC.FirstBad = 0, 0, record.FrameRef{}
	want.Senders = pipeline.Senders{}
	if got.Counters != want {
		t.Error(cmp.Diff(want, got.Counters))
	}
}

// replay is a source that hands out one batch again and again.
type replay struct {
	frames []capture.Frame
	left   int
	each   func()
	err    error // in the end, io.EOF if nil
}

func (r *replay) ReadBatch(b *capture.Batch) error {
	if r.each != nil {
		r.each()
	}
	if r.left == 0 {
		if r.err != nil {
			return r.err
		}
		return io.EOF
	}
	r.left--
	b.Frames = append(b.Frames[:0], r.frames...)
	return nil
}

func (r *replay) Inputs() []capture.Input { return nil }
func (r *replay) Close() error            { return nil }

// someFrames are frames of every mixed capture, with bytes of their own.
func someFrames(t *testing.T) []capture.Frame {
	t.Helper()
	var frames []capture.Frame
	for _, name := range mixed {
		n := 0
		packets(t, name, func(p *decode.Packet) {
			if n++; n%16 == 0 {
				f := *p.Frame
				f.Data = append([]byte(nil), f.Data...)
				frames = append(frames, f)
			}
		})
	}
	frames = append(frames, capture.Frame{Link: 147, Data: []byte{1, 2, 3}, OrigLen: 3, Number: 1})
	return frames
}

// TestFewAllocations: nothing is allocated for a packet as such. Here the same
// packets come again and again, which to the tracker are step backs without
// end, and those have records: one allocation for 64 packets is allowed.
func TestFewAllocations(t *testing.T) {
	frames := someFrames(t)
	run := func(batches int) float64 {
		src := &replay{frames: frames}
		return testing.AllocsPerRun(5, func() {
			src.left = batches
			if _, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig()); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := run(2), run(50) // from the second on, all packets are doubles
	if (many-few)*64 > float64(48*len(frames)) {
		t.Errorf("%g allocations for 2 batches of %d packets, %g for 50", few, len(frames), many)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	src := &replay{frames: someFrames(t), left: 100}
	calls := 0
	src.each = func() {
		if calls++; calls == 3 {
			cancel()
		}
	}
	c, err := pipeline.Run(ctx, src, pipeline.DefaultConfig())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if want := uint64(3 * len(src.frames)); c.Packets != want {
		t.Errorf("%d packets counted, %d read before the end", c.Packets, want)
	}
}

// TestProgress: it is told now and then, while nobody reads.
func TestProgress(t *testing.T) {
	src := &replay{frames: someFrames(t), left: 3, each: func() { time.Sleep(150 * time.Millisecond) }}
	cfg := pipeline.DefaultConfig()
	calls := 0
	cfg.Progress = func([]capture.Input) { calls++ }
	if _, err := pipeline.Run(context.Background(), src, cfg); err != nil || calls == 0 || calls > 3 {
		t.Errorf("told %d times, error %v", calls, err)
	}
}

func TestSourceErrors(t *testing.T) {
	frames := someFrames(t)
	for _, tc := range []struct {
		name string
		err  error
		want error
	}{
		{"damage is the input's affair", &capture.DamagedError{Path: "x", Reason: "cut"}, nil},
		{"any other error is returned", io.ErrNoProgress, io.ErrNoProgress},
	} {
		c, err := pipeline.Run(context.Background(), &replay{frames: frames, left: 2, err: tc.err}, pipeline.DefaultConfig())
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if c.Packets != uint64(2*len(frames)) {
			t.Errorf("%s: %d packets", tc.name, c.Packets)
		}
	}
	stop := errors.New("stop")
	err := pipeline.EachBatch(context.Background(), &replay{frames: frames, left: 2}, func(*capture.Batch) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("an error of the callback gives %v", err)
	}
}

// TestUnknownLinksAreBounded: which link types are told apart depends on their
// numbers alone, and no frame is forgotten.
func TestUnknownLinksAreBounded(t *testing.T) {
	dec := decode.New(decode.Config{})
	count := func(links ...capture.LinkType) *pipeline.Counters {
		var c pipeline.Counters
		var p decode.Packet
		for i, l := range links {
			dec.Decode(&capture.Frame{Link: l, Number: uint64(i + 1), Data: []byte{0}, OrigLen: 1}, &p)
			c.Add(&p)
		}
		return &c
	}
	up := count(150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 159, 150)
	down := count(159, 159, 158, 157, 156, 155, 154, 153, 152, 151, 150, 150)
	half := count(159, 150, 154, 155, 156, 157, 158)
	half.Merge(count(159, 151, 152, 153, 150))
	want := pipeline.LinkCounts{
		Link:  [8]capture.LinkType{150, 151, 152, 153, 154, 155, 156, 157},
		Count: [8]uint64{2, 1, 1, 1, 1, 1, 1, 1}, N: 8, Other: 3,
	}
	for name, c := range map[string]*pipeline.Counters{"up": up, "down": down, "merged": half} {
		if d := cmp.Diff(want, c.UnknownLinks); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestFrames: all frames are handed out once, in the order of the source.
func TestFrames(t *testing.T) {
	path := capturetest.Committed(t)[0].Path
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Workers = 4
	next := uint64(1)
	cfg.Frames = func(b *capture.Batch) {
		for i := range b.Frames {
			if b.Frames[i].Number != next {
				t.Errorf("frame %d comes where %d should", b.Frames[i].Number, next)
			}
			next++
		}
	}
	r, err := pipeline.Run(t.Context(), src, cfg)
	if err != nil || next != r.Packets+1 || r.Packets == 0 {
		t.Errorf("%d of %d frames, %v", next-1, r.Packets, err)
	}
}
