package pipeline_test

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/pipeline/track"
)

// intervalsOf are those of some frames, each flow's in the order in which they
// came, and those that there were when the last batch of frames was asked for.
func intervalsOf(t *testing.T, frames []capture.Frame, cfg pipeline.Config) (list, early []record.FlowInterval, r *pipeline.Result) {
	t.Helper()
	var mu sync.Mutex
	cfg.Track.Intervals.Sink = func(some []record.FlowInterval) {
		mu.Lock()
		defer mu.Unlock()
		for i := range some {
			x := some[i]
			for _, h := range []*sketch.Histogram{&x.AckLatency, &x.Latency[record.Send]} {
				*h = h.Clone()
			}
			list = append(list, x)
		}
	}
	src := &batches{frames, func() int {
		mu.Lock()
		defer mu.Unlock()
		early = list[:len(list):len(list)]
		return capture.BatchFrames
	}}
	r, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	early = slices.Clone(early)
	slices.SortStableFunc(list, func(a, b record.FlowInterval) int {
		return cmp.Or(cmp.Compare(a.Src.Lo, b.Src.Lo), cmp.Compare(a.Dst.Lo, b.Dst.Lo), cmp.Compare(a.DestQPN, b.DestQPN), cmp.Compare(a.FlowStart, b.FlowStart))
	})
	return list, early, r
}

// TestIntervalsOfWorkers: neither how many workers there are nor what had to be
// forgotten changes what intervals say, no packet is left out, and most of them
// are told while frames are read.
func TestIntervalsOfWorkers(t *testing.T) {
	k := talk{psn: map[[2]int]uint32{}}
	for n := range 30_000 { // 400 sessions that go on, and others that are never heard again
		k.say(n%8, n/8%50)
		k.say(100+n%8, n/8)
	}
	var one []record.FlowInterval
	for _, workers := range []int{1, 2, 5} {
		cfg := pipeline.Config{Workers: workers, Track: track.Config{MaxMemory: leastMemory, Intervals: track.Intervals{Length: 5_000_000}}}
		list, early, r := intervalsOf(t, k.list, cfg)
		packets := uint64(0)
		for i := range list {
			x := &list[i]
			packets += x.Packets
			if i > 0 && x.FlowStart == list[i-1].FlowStart && x.DestQPN == list[i-1].DestQPN && x.Src == list[i-1].Src && x.Start <= list[i-1].Start {
				t.Fatalf("%d workers: the interval from %d comes after that from %d", workers, x.Start, list[i-1].Start)
			}
		}
		if r.Forgotten == 0 || packets != uint64(len(k.list)) {
			t.Fatalf("%d workers: %d of %d packets are in intervals, %d sessions forgotten", workers, packets, len(k.list), r.Forgotten)
		}
		if len(early) < len(list)/2 {
			t.Errorf("%d workers: %d of %d intervals were told before the end", workers, len(early), len(list))
		}
		if one == nil {
			one = list
		}
		for i := range one {
			if len(list) != len(one) || !reflect.DeepEqual(list[i], one[i]) {
				t.Fatalf("%d workers: %d intervals, not %d, and the first that differs: %+v, %+v", workers, len(list), len(one), list[i], one[i])
			}
		}
	}
}

// TestIntervalsOfTheQuiet: what flows did is told though nothing comes of any
// flow between their addresses any more.
func TestIntervalsOfTheQuiet(t *testing.T) {
	k := talk{psn: map[[2]int]uint32{}}
	for range 4000 {
		k.say(0, 0)
	}
	last := k.list[len(k.list)-1].Time
	for range 50_000 {
		k.say(1, 0)
	}
	cfg := pipeline.Config{Workers: 2, Track: track.Config{Intervals: track.Intervals{Length: 1_000_000}}}
	_, early, _ := intervalsOf(t, k.list, cfg)
	if !slices.ContainsFunc(early, func(x record.FlowInterval) bool { return x.Last == last }) {
		t.Errorf("the last of the quiet pair is not among the %d intervals that were told before the end", len(early))
	}
}

// TestIntervalPriorities: packets without a VLAN tag have the priority that the
// user says.
func TestIntervalPriorities(t *testing.T) {
	k := talk{psn: map[[2]int]uint32{}}
	k.say(0, 0)
	for _, want := range []int8{-1, 4} {
		cfg := pipeline.Config{Workers: 1}
		cfg.Priorities[0] = uint8(want + 1)
		list, _, _ := intervalsOf(t, k.list, cfg)
		if len(list) != 2 || list[0].Priority != want || list[0].Tagged {
			t.Errorf("%d intervals, priority %d", len(list), list[0].Priority)
		}
	}
}
