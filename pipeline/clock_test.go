package pipeline_test

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

const (
	second = 1_000_000_000
	hour   = 3600 * second
)

// ticking is a live source: batches of some frames, or of none, with the time.
type ticking struct {
	list []capture.Batch
	each func(n int) // before a batch
	at   int
}

func (s *ticking) ReadBatch(b *capture.Batch) error {
	if s.each != nil {
		s.each(s.at)
	}
	if s.at == len(s.list) {
		return io.EOF
	}
	b.Frames, b.Now = append(b.Frames[:0], s.list[s.at].Frames...), s.list[s.at].Now
	s.at++
	return nil
}

func (*ticking) Inputs() []capture.Input { return []capture.Input{{Path: "a"}} }
func (*ticking) Close() error            { return nil }

// steady makes batches of a message of two sessions each 20 ms, for a while from a
// time on, and ticks between them.
type steady struct {
	talk
	src  ticking
	pair int // the first of two pairs of hosts
}

func (s *steady) talkFor(from, length int64) {
	for at := from; at < from+length; at += 20_000_000 {
		n := len(s.list)
		s.say(s.pair, 0)
		s.say(s.pair+1, 0)
		for i := n; i < len(s.list); i++ {
			s.list[i].Time = at + int64(i-n)*10_000
		}
		s.src.list = append(s.src.list, capture.Batch{Frames: s.list[n:len(s.list):len(s.list)], Now: s.list[len(s.list)-1].Time}, capture.Batch{Now: at + 15_000_000})
	}
}

// watched is what was told of the batches so far.
type watched struct {
	mu      sync.Mutex
	records int
	packets uint64
	steps   []int64
	silent  int
}

// eventually waits for what the workers still have in hand: the reader is ahead of
// them by as much as the machine likes.
func (w *watched) eventually(done func() bool) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		ok := done()
		w.mu.Unlock()
		if ok {
			return
		}
	}
}

// lagging follows how many packets that were read are told of nowhere yet, and
// returns the most that there were after the workers had time for them.
func (w *watched) lagging(src *ticking, most uint64) (lag, sent *uint64) {
	lag, sent = new(uint64), new(uint64)
	src.each = func(n int) {
		if n > 0 {
			*sent += uint64(len(src.list[n-1].Frames))
		}
		if *lag <= most {
			w.eventually(func() bool { return *sent <= w.packets+most })
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		*lag = max(*lag, *sent-min(w.packets, *sent))
	}
	return lag, sent
}

func (w *watched) config(workers int) pipeline.Config {
	return pipeline.Config{
		Workers:  workers,
		StepBack: func(from, to int64) { w.steps = append(w.steps, to-from) },
		Track: track.Config{
			MaxEvents: 1000,
			Tell: track.Tell{Sessions: func(u *record.SessionUpdate) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if u.End == record.SessionSilent {
					w.silent++
				}
			}, Idle: 5 * second, Pace: second, Late: second},
			Intervals: track.Intervals{Length: second, Sink: func(list []record.FlowInterval) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for i := range list {
					w.packets += list[i].Packets
				}
				w.records += len(list)
			}},
		},
	}
}

// TestClockSteps: whatever the clock does, what was captured is told within some
// seconds, once, and in no more records than time has intervals.
func TestClockSteps(t *testing.T) {
	for _, workers := range []int{1, 3} {
		k := steady{talk: talk{psn: map[[2]int]uint32{}}}
		const length = 10 * second
		starts := []int64{
			1000 * hour, 999 * hour, // put back
			1000 * hour,             // forward again
			900_000 * hour,          // a hundred years
			2 * hour, -5 * hour, 10, // long ago
			1000*hour + 5*second, 1000*hour + 11*second, // within the lateness
		}
		for _, at := range starts {
			k.talkFor(at, length)
		}
		var w watched
		const most = 5 * 4 * 50 // of five seconds
		lag, sent := w.lagging(&k.src, most)
		r, err := pipeline.Run(context.Background(), &k.src, w.config(workers))
		if err != nil {
			t.Fatal(err)
		}
		if *sent != uint64(len(k.list)) || w.packets != *sent || r.Packets != *sent {
			t.Errorf("%d workers: %d packets of %d are in intervals", workers, w.packets, *sent)
		}
		if *lag > most {
			t.Errorf("%d workers: %d packets were not told at a time", workers, *lag)
		}
		flows := 4
		if most := flows * len(starts) * (length/second + 3); w.records > most || w.records < flows*len(starts)*5 {
			t.Errorf("%d workers: %d records", workers, w.records)
		}
		if len(w.steps) != 3 || w.steps[0] > -3590*second || w.steps[0] < -3620*second {
			t.Errorf("%d workers: steps of %v ns", workers, w.steps)
		}
	}
}

// TestClockOfTwo: where what comes is of two clocks by turns, time does not step
// back, and there are no more records than intervals.
func TestClockOfTwo(t *testing.T) {
	a, b := steady{talk: talk{psn: map[[2]int]uint32{}}}, steady{talk: talk{psn: map[[2]int]uint32{}}, pair: 2}
	a.talkFor(1000*hour, 60*second)
	b.talkFor(2000*hour, 60*second)
	var src ticking
	random := rand.New(rand.NewPCG(3, 4))
	frames := 0
	for i, j := 0, 0; i < len(a.src.list) && j < len(b.src.list); {
		one := &a.src.list[i]
		if random.IntN(2) > 0 {
			one = &b.src.list[j]
			j++
		} else {
			i++
		}
		frames += len(one.Frames)
		src.list = append(src.list, *one)
	}
	var w watched
	cfg := w.config(2)
	cfg.Track.Tell.Idle = 5000 * hour // else what is of the earlier clock has been silent for long
	if _, err := pipeline.Run(context.Background(), &src, cfg); err != nil {
		t.Fatal(err)
	}
	if w.packets != uint64(frames) || len(w.steps) > 0 || w.records > 8*70 {
		t.Errorf("%d packets of %d in %d records, %d steps", w.packets, frames, w.records, len(w.steps))
	}
}

// TestClockOdd: one frame with an odd time does no lasting harm.
func TestClockOdd(t *testing.T) {
	k := steady{talk: talk{psn: map[[2]int]uint32{}}}
	k.talkFor(1000*hour, 60*second)
	k.src.list[500].Frames[1].Time = 1 << 62
	k.src.list[502].Frames[3].Time = 900_000 * hour
	k.src.list[502].Now = 900_000 * hour
	k.src.list[1500].Frames[0].Time = -1 << 63
	var w watched
	lag, _ := w.lagging(&k.src, 1000)
	if _, err := pipeline.Run(context.Background(), &k.src, w.config(1)); err != nil {
		t.Fatal(err)
	}
	if w.packets != uint64(len(k.list)) || *lag > 1000 || w.records > 4*75 {
		t.Errorf("%d packets of %d in %d records, %d late", w.packets, len(k.list), w.records, *lag)
	}
}

// TestClockSilence: a session that fell silent before the clock was put back is
// over as long after as others.
func TestClockSilence(t *testing.T) {
	k := steady{talk: talk{psn: map[[2]int]uint32{}}}
	k.talkFor(1000*hour, 10*second)
	at := len(k.src.list)
	for now := 999 * int64(hour); now < 999*hour+10*second; now += 20_000_000 {
		k.src.list = append(k.src.list, capture.Batch{Now: now})
	}
	var w watched
	told := 0
	k.src.each = func(n int) {
		if n == at+450 { // of 500: nine seconds
			w.eventually(func() bool {
				told = w.silent
				return told == 2
			})
		}
	}
	if _, err := pipeline.Run(context.Background(), &k.src, w.config(1)); err != nil {
		t.Fatal(err)
	}
	if told != 2 {
		t.Errorf("%d sessions were told to be silent nine seconds after the clock was put back", told)
	}
}
