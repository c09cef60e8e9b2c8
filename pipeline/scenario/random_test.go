package scenario_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// randomSpec is a spec that nobody would think of.
func randomSpec(seed uint64) *scenario.Spec {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(n int) int { return r.IntN(n) }
	kinds := []scenario.MessageKind{
		scenario.Send, scenario.SendImm, scenario.SendInv, scenario.Write, scenario.WriteImm, scenario.Read, scenario.CmpSwap, scenario.FetchAdd,
	}
	work := func() scenario.Work {
		w := scenario.Work{Depth: pick(6), Every: time.Duration(pick(4)) * time.Microsecond, Delay: time.Duration(pick(9)) * time.Microsecond}
		for range pick(40) {
			w.Messages = append(w.Messages, scenario.Message{Kind: kinds[pick(len(kinds))], Len: 16 + pick(9000)})
		}
		return w
	}
	services := []scenario.Service{scenario.RC, scenario.RC, scenario.XRC, scenario.UC}
	spec := &scenario.Spec{Name: "random", Seed: seed, Limit: 20 * time.Second}
	for i := range 1 + pick(3) {
		service := services[pick(len(services))]
		work := func() scenario.Work {
			w := work()
			if service == scenario.UC {
				w.Messages = slices.DeleteFunc(w.Messages, func(m scenario.Message) bool {
					return m.Kind == scenario.Read || m.Kind == scenario.FetchAdd || m.Kind == scenario.CmpSwap
				})
			}
			return w
		}
		spec.Sessions = append(spec.Sessions, scenario.Session{
			Service: service,
			A:       scenario.Side{Host: pick(3), QPN: 10 + uint32(i), StartPSN: r.Uint32() | uint32(pick(2))*0xffff00},
			B:       scenario.Side{Host: 3 + pick(3), QPN: 20 + uint32(i), StartPSN: r.Uint32()},
			PathMTU: 256 << pick(5), CM: scenario.CM(pick(3)), Close: pick(2) == 0, Work: [2]scenario.Work{work(), work()},
			Requester: scenario.Requester{
				Mode: []scenario.Mode{scenario.GoBackN, scenario.GoBackN, scenario.GoBack0, scenario.Selective}[pick(4)], Window: 4 << pick(6),
				AckEvery: pick(9), AckTimeout: uint8(6 + pick(5)), NoImpliedNAK: pick(3) == 0, SkipAcked: pick(3) == 0,
			},
			Responder: scenario.Responder{
				OutOfOrder: pick(3) == 0, KeepQuiet: pick(3) == 0, NAKAfterRNR: pick(2) == 0, ResumeMiddle: pick(2) == 0,
				Refuse: []scenario.Refusal{{Stream: pick(2), Message: pick(20), Times: pick(4), Timer: uint8(1 + pick(12))}},
			},
		})
	}
	actions := []scenario.Action{scenario.Drop, scenario.Drop, scenario.Corrupt, scenario.Duplicate, scenario.Delay, scenario.MarkCE}
	for range pick(7) {
		spec.Faults = append(spec.Faults, scenario.Fault{
			Action: actions[pick(len(actions))], Where: []scenario.Where{scenario.BeforeTap, scenario.AfterTap}[pick(2)],
			Session: scenario.All, Stream: scenario.All, Subject: scenario.Subject(pick(6)), Index: scenario.All, Transmission: scenario.All,
			Rate: r.Float64() * 0.2, Delay: time.Duration(pick(3000)),
		})
	}
	spec.Tap = scenario.Tap{Only: scenario.Direction(pick(3) * pick(2)), Thin: float64(pick(2)) * 0.1}
	return spec
}

// TestRandom runs such specs. Each comes to an end, and what the truth counts
// adds up.
func TestRandom(t *testing.T) {
	for seed := range uint64(200) {
		spec := randomSpec(seed)
		f := &frames{}
		truth, err := scenario.Run(spec, f)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		compareWithDefinitions(t, f, truth)
		for _, s := range truth.Sessions {
			if s.State == "open" {
				t.Errorf("seed %d, session %d: still open after %d frames", seed, s.ID, truth.Frames)
			}
			for i, st := range s.Streams {
				n := st.Seen
				if n.Requests != n.First+n.Fills+n.Repeats+n.Hidden+n.Late || n.Requests > st.Sent.First+st.Sent.Again {
					t.Errorf("seed %d, session %d, stream %d: %+v of %+v", seed, s.ID, i, n, st.Sent)
				}
				again, packets := uint64(0), uint64(0)
				for _, x := range st.Tries {
					again += uint64(x.SentAgain)
					packets += uint64(x.Packets)
				}
				if again != st.Sent.Again || packets > again {
					t.Errorf("seed %d, session %d, stream %d: sent %d again, tries have %d", seed, s.ID, i, st.Sent.Again, again)
				}
				done := s.State == "done" && s.Service != scenario.UC
				for _, m := range st.Messages {
					if done && !m.Done {
						t.Errorf("seed %d, session %d, stream %d: a message of a session that is done is not", seed, s.ID, i)
					}
				}
				for _, e := range st.Episodes {
					if done && e.End != "recovered" {
						t.Errorf("seed %d, session %d, stream %d: an episode of a session that is done is %s", seed, s.ID, i, e.End)
					}
				}
			}
		}
	}
}
