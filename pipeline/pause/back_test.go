package pause_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/pause"
)

// TestStepBack: pauses before and after a clock was put back are told, each with
// its time, and a storm ends with it.
func TestStepBack(t *testing.T) {
	const second, hour = int64(time.Second), int64(time.Hour)
	var x told
	cfg := pause.DefaultConfig()
	cfg.Tell = x.of(time.Second)
	tr := pause.New(cfg, func(_, _ int32) pause.Link { return pause.Link{Speed: 10e9} })
	n := uint64(0)
	say := func(at int64, quanta uint16) {
		n++
		f := pause.Frame{Time: at, Number: n, PFC: true, Enable: 1 << 3}
		f.Quanta[3] = quanta
		tr.Add(&f)
	}
	from := 1000 * hour
	for at := from; at < from+second; at += 1_000_000 { // a storm that does not end
		say(at, 0xffff)
	}
	tr.Advance(from + second)
	if len(x.going) != 1 || len(x.intervals) != 0 {
		t.Fatalf("%d storms, %d pauses at first", len(x.going), len(x.intervals))
	}
	from -= hour
	tr.StepBack(from)
	if len(x.storms) != 1 || len(x.intervals) != 1 || !x.intervals[0].Storm || x.intervals[0].Paused != second || len(x.runs) != 1 {
		t.Fatalf("%d storms over, %d runs, pauses %+v", len(x.storms), len(x.runs), x.intervals)
	}
	for i := range int64(10) {
		say(from+i*100_000_000, 0xffff)
		say(from+i*100_000_000+1_000_000, 0)
	}
	tr.Advance(from + 5*second)
	if len(x.intervals) != 11 || len(x.storms) != 1 {
		t.Fatalf("%d pauses, %d storms", len(x.intervals), len(x.storms))
	}
	for i, p := range x.intervals[1:] {
		if p.Paused != 1_000_000 || p.Start.Time != from+int64(i)*100_000_000 || p.Storm {
			t.Errorf("%+v", p)
		}
	}
	tr.Advance(from + 800_000*hour) // and forward
	say(from+800_000*hour, 0xffff)
	tr.Advance(from + 800_000*hour + 20*second)
	if len(x.intervals) != 12 || x.intervals[11].Paused > second {
		t.Errorf("%d pauses after a century: %+v", len(x.intervals), x.intervals[len(x.intervals)-1])
	}
}
