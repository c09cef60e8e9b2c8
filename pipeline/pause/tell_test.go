package pause_test

import (
	gocmp "cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// told is what was told of pauses before the end.
type told struct {
	intervals []record.PauseInterval
	runs      []record.Event
	storms    map[record.FrameRef]*record.Storm // that are over
	going     map[record.FrameRef]int64         // those told while they went on, and for how long they had lasted
}

func (x *told) of(late time.Duration) pause.Tell {
	x.storms, x.going = make(map[record.FrameRef]*record.Storm), make(map[record.FrameRef]int64)
	return pause.Tell{
		Intervals: func(list []record.PauseInterval) { x.intervals = append(x.intervals, list...) },
		Events:    func(list []record.Event) { x.runs = append(x.runs, list...) },
		Storm: func(e record.Event, over bool) {
			if over {
				x.storms[e.Frame] = e.Detail.(*record.Storm)
			} else {
				x.going[e.Frame] = e.Detail.(*record.Storm).Lasted
			}
		},
		Late: late,
	}
}

func byStart(list []record.PauseInterval) []record.PauseInterval {
	slices.SortFunc(list, func(a, b record.PauseInterval) int {
		return gocmp.Or(gocmp.Compare(a.Start.Number, b.Start.Number), gocmp.Compare(a.Priority, b.Priority), gocmp.Compare(a.Start.Time, b.Start.Time))
	})
	return list
}

func sortedRuns(list []record.Event) (out []string) {
	for i := range list {
		out = append(out, fmt.Sprint(list[i].Frame, list[i].Count, *list[i].Detail.(*record.Pauses)))
	}
	slices.Sort(out)
	return out
}

// TestTell: what is told of pauses of several senders and priorities, some of
// them storms, is what Close returns where nothing is.
func TestTell(t *testing.T) {
	marked, storms := 0, 0
	for seed := range uint64(60) {
		run := func(cfg pause.Config) *pause.Result {
			r := rand.New(rand.NewPCG(seed, 3))
			f := newFeed(cfg, gbit)
			now := int64(0)
			for range 40 { // times of many pauses, of few, and of none
				often, free := 1+r.Int64N(30*ms), 2+r.IntN(40)
				for range 1 + r.IntN(100) {
					now += r.Int64N(often)
					x := pause.Frame{Time: now, Interface: 0, MAC: decode.MAC{2, 5: uint8(r.IntN(2))}, PFC: true, Enable: uint8(r.IntN(8))}
					for i := range x.Quanta {
						if r.IntN(free) > 0 {
							x.Quanta[i] = uint16(r.IntN(1 << 16))
						}
					}
					f.add(x)
					if r.IntN(8) == 0 {
						f.Advance(now)
					}
				}
				if r.IntN(3) == 0 {
					now += r.Int64N(2_000 * ms)
				}
			}
			return f.Close(now + 1)
		}
		cfg := pause.DefaultConfig()
		want := run(cfg)
		var x told
		cfg.Tell = x.of(time.Hour)
		got := run(cfg)
		if len(got.Intervals)+len(got.Runs)+len(got.Storms) > 0 {
			t.Errorf("seed %d: %d pauses, %d runs and %d storms are left to the end", seed, len(got.Intervals), len(got.Runs), len(got.Storms))
		}
		if diff := cmp.Diff(want.Rows, got.Rows); diff != "" {
			t.Errorf("seed %d: rows (- without, + with who is told):\n%s", seed, diff)
		}
		if diff := cmp.Diff(byStart(want.Intervals), byStart(x.intervals)); diff != "" {
			t.Errorf("seed %d: pauses (- Close, + told):\n%s", seed, diff)
		}
		var runs []record.Event
		for i := range want.Runs {
			r := &want.Runs[i]
			runs = append(runs, record.Event{Frame: r.First, Count: r.Count, Detail: &r.Pauses})
		}
		if diff := cmp.Diff(sortedRuns(runs), sortedRuns(x.runs)); diff != "" {
			t.Errorf("seed %d: runs (- Close, + told):\n%s", seed, diff)
		}
		all := make(map[record.FrameRef]*record.Storm)
		for i := range want.Storms {
			all[want.Storms[i].First] = &want.Storms[i].Storm
		}
		if diff := cmp.Diff(all, x.storms); diff != "" {
			t.Errorf("seed %d: storms (- Close, + told):\n%s", seed, diff)
		}
		for i := range x.intervals {
			if x.intervals[i].Storm {
				marked++
			}
		}
		storms += len(x.storms)
		if t.Failed() {
			return
		}
	}
	if marked == 0 || storms < 20 {
		t.Errorf("%d pauses in %d storms", marked, storms)
	}
}

// TestTellStorm: a storm is told soon after it has lasted long enough, while it
// goes on, and little waits for its end.
func TestTellStorm(t *testing.T) {
	var x told
	cfg := pause.DefaultConfig()
	cfg.Tell = x.of(0)
	f := newFeed(cfg, gbit)
	at := int64(-1)
	for now := int64(0); now < 60_000*ms; now += 10 * ms {
		f.pfc(now, 0, 1, 3, 0xffff)
		f.Advance(now)
		if at < 0 && len(x.going) > 0 {
			at = now
		}
	}
	if at < 0 || at > 250*ms || len(x.storms) > 0 {
		t.Fatalf("the storm was told after %v, and %d are over", time.Duration(at), len(x.storms))
	}
	f.pfc(60_000*ms, 0, 1, 3, 0)
	f.Advance(61_000 * ms)
	if len(x.storms) != 1 || len(x.intervals) != 1 || !x.intervals[0].Storm || len(x.runs) != 1 {
		t.Fatalf("%d storms, %d pauses and %d runs were told once it was over", len(x.storms), len(x.intervals), len(x.runs))
	}
	for frame, s := range x.storms {
		if s.Lasted != 60_000*ms || !s.Ended || x.going[frame] == 0 {
			t.Errorf("%+v, from %v; %v", s, frame, x.going)
		}
	}
}

// TestTellRuns: a run of pauses that does not end is told in pieces, which have
// all of it, and of many short pauses few wait.
func TestTellRuns(t *testing.T) {
	var x told
	cfg := pause.DefaultConfig()
	cfg.Tell = x.of(time.Second)
	f := newFeed(cfg, gbit)
	const pauses = 50_000
	for i := range int64(pauses) {
		f.pfc(i*100*us, 0, 1, 3, 50) // for 25.6 us
		if i%1000 == 0 {
			f.Advance(i * 100 * us)
		}
	}
	early := len(x.intervals)
	r := f.Close(pauses * 100 * us)
	count := uint64(0)
	for i := range x.runs {
		count += x.runs[i].Count
	}
	if early < pauses/2 || len(x.intervals) != pauses || count != pauses || len(x.runs) < 4 || len(x.runs) > 8 || r.Rows[0].Pauses != pauses {
		t.Errorf("%d pauses, %d of them before the end, and %d in %d runs", len(x.intervals), early, count, len(x.runs))
	}
}
