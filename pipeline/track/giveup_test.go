package track_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// readSpec are many short streams, mostly of READs, that lose a lot: the last
// READ of one is often asked for twice, as are those before it that had been
// answered.
func readSpec(seed uint64) *scenario.Spec {
	r := rand.New(rand.NewPCG(seed, 11))
	spec := &scenario.Spec{Name: "reads", Seed: seed, Limit: 20 * time.Second}
	rate := 0.05 + r.Float64()*0.2
	for _, where := range []scenario.Where{scenario.BeforeTap, scenario.AfterTap} {
		spec.Faults = append(spec.Faults, scenario.Fault{
			Action: scenario.Drop, Where: where, Session: scenario.All, Stream: scenario.All, Subject: scenario.AnyData,
			Index: scenario.All, Transmission: scenario.All, Rate: rate / 2,
		})
	}
	for i := range 16 {
		w := scenario.Work{Depth: 1 + r.IntN(8), Every: time.Duration(r.IntN(5)) * time.Microsecond}
		for range 3 + r.IntN(25) {
			kind := []scenario.MessageKind{scenario.Read, scenario.Read, scenario.Read, scenario.FetchAdd, scenario.Write, scenario.Send}[r.IntN(6)]
			w.Messages = append(w.Messages, scenario.Message{Kind: kind, Len: 8 + r.IntN(12_000)})
		}
		s := scenario.Session{
			A:       scenario.Side{Host: i / 4 * 2, QPN: 0x200 + uint32(i), StartPSN: r.Uint32() & 0xffffff},
			B:       scenario.Side{Host: i/4*2 + 1, QPN: 0x900 + uint32(i), StartPSN: r.Uint32() & 0xffffff},
			PathMTU: 1024, Requester: scenario.Requester{RetryCount: 7, AckTimeout: 8, NoImpliedNAK: r.IntN(4) == 0},
			Responder: scenario.Responder{ResumeMiddle: r.IntN(2) == 0},
		}
		s.Work[r.IntN(2)] = w
		spec.Sessions = append(spec.Sessions, s)
	}
	// The capture goes on for long enough to see that no retry follows.
	spec.Sessions = append(spec.Sessions, scenario.Session{
		A: scenario.Side{Host: 100, QPN: 1}, B: scenario.Side{Host: 101, QPN: 2},
		Work: [2]scenario.Work{{Messages: slices.Repeat([]scenario.Message{{Kind: scenario.Write, Len: 64}}, 40), Every: time.Millisecond}},
	})
	return spec
}

// TestNotGivenUp: no session is failed whose work was done.
func TestNotGivenUp(t *testing.T) {
	for seed := range uint64(150 / underRace) {
		c := simulateSpec(t, readSpec(seed))
		r := c.analyse(t)
		matched := match(r, c.truth)
		for i, s := range c.truth.Sessions {
			if s.State != "done" {
				continue
			}
			for j := range s.Streams {
				f := matched[i].stream(r, j)
				if f == nil {
					continue
				}
				if len(f.gaveUp) > 0 || f.s.State == record.StateFailed {
					t.Errorf("seed %d, session %d stream %c: %s, %+v", seed, s.ID, 'a'+j, f.s.State, f.gaveUp)
				}
			}
		}
	}
}
