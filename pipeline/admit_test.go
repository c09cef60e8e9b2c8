package pipeline_test

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// flooded is a source of sessions that talk in turn, and of packets of random flows
// between: all of them is never in memory.
type flooded struct {
	talk     talk
	r        *rand.Rand
	sessions int
	random   int // packets of random flows that are to come
	said     int // messages
	n        uint64
	look     func()
	followed pipeline.Followed // of late

	mu             sync.Mutex
	whole, packets int // of sessions with more than two packets, when they ended
}

func (s *flooded) ReadBatch(b *capture.Batch) error {
	if s.random <= 0 {
		return io.EOF
	}
	s.talk.list = nil
	for len(s.talk.list) < capture.BatchFrames-2 {
		if s.said >= 3*s.sessions && len(s.talk.list)%40 != 0 { // most of it, once the sessions are established
			s.random--
			s.talk.packet(1000+s.r.IntN(60_000), s.r.IntN(2), 0x04, s.r.Uint32N(1<<24-2)+2, s.r.Uint32N(1<<24))
			continue
		}
		s.talk.say(s.said%100, s.said/100%(s.sessions/100))
		s.said++
	}
	for i := range s.talk.list {
		f := &s.talk.list[i]
		s.n++
		f.Number, f.Time = s.n, int64(s.n)*1000
	}
	b.Frames = append(b.Frames[:0], s.talk.list...)
	s.look()
	return nil
}

func (*flooded) Inputs() []capture.Input { return []capture.Input{{Path: "flood"}} }
func (*flooded) Close() error            { return nil }

// run runs it, and returns by how much memory grew.
func (s *flooded) run(t *testing.T, workers int, memory int64) (*pipeline.Result, int64) {
	t.Helper()
	batches, least, most := 0, uint64(1)<<62, uint64(0)
	s.look = func() {
		if batches++; batches%100 == 5 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			least, most = min(least, m.HeapAlloc), max(most, m.HeapAlloc)
		}
	}
	cfg := pipeline.Config{Workers: workers, Track: track.Config{MaxMemory: memory, Admission: true}}
	cfg.Track.Tell.Sessions = func(u *record.SessionUpdate) {
		if n := u.AToB.Packets + u.BToA.Packets; u.End != record.SessionGoesOn && n > 2 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.whole++
			s.packets += int(n)
		}
	}
	cfg.Followed = func(f pipeline.Followed) { s.followed = f }
	r, err := pipeline.Run(context.Background(), s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r, int64(most) - int64(least)
}

// TestFlood: in a flood of random flows, a million a second, sessions that talk keep
// their figures, all takes no more than what is allowed and what it takes where nearly
// nothing is, and what was not followed is counted; the same with any number of
// workers.
func TestFlood(t *testing.T) {
	const sessions, memory, random = 1000, 64 << 20, 600_000
	flood := func() *flooded {
		return &flooded{talk: talk{psn: map[[2]int]uint32{}}, r: rand.New(rand.NewPCG(1, 5)), sessions: sessions, random: random}
	}
	_, fixed := flood().run(t, 1, 1)
	refused := uint64(0)
	for _, workers := range []int{1, 3} {
		s := flood()
		r, grew := s.run(t, workers, memory)
		if s.whole != sessions || s.packets != 2*s.said {
			t.Errorf("%d workers: %d of %d sessions, with %d of %d packets", workers, s.whole, sessions, s.packets, 2*s.said)
		}
		if grew-fixed > memory {
			t.Errorf("%d workers: memory grew by %d bytes, %d of them whatever is allowed, of %d", workers, grew, fixed, memory)
		}
		if r.Refused < random/2 || refused != 0 && refused != r.Refused {
			t.Errorf("%d workers: %d refused, %d before", workers, r.Refused, refused)
		}
		refused = r.Refused
		if f := s.followed; f.Refused < r.Refused*9/10 || f.Refused > r.Refused || f.Evicted > r.Forgotten || f.Sessions < sessions || f.Sessions > memory/100 {
			t.Errorf("%d workers: told was %+v, in the end %d refused, %d forgotten", workers, f, r.Refused, r.Forgotten)
		}
	}
}
