package track_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// randomSpec is what nobody would think of: one to three sessions with any
// work, and up to six faults, one of some actions. Corruption is not among
// them: without the end of a frame nothing tells of it.
func randomSpec(seed uint64) *scenario.Spec {
	r := rand.New(rand.NewPCG(seed, 7))
	spec := &scenario.Spec{Name: "random", Seed: seed, Limit: 20 * time.Second}
	for i := range 1 + r.IntN(3) {
		spec.Sessions = append(spec.Sessions, randomSession(r, uint32(i)))
	}
	actions := []scenario.Action{scenario.Drop, scenario.Drop, scenario.Drop, scenario.Duplicate, scenario.Delay, scenario.MarkCE}
	for range r.IntN(7) {
		f := scenario.Fault{
			Action: actions[r.IntN(len(actions))], Where: []scenario.Where{scenario.BeforeTap, scenario.AfterTap}[r.IntN(2)],
			Session: scenario.All, Stream: scenario.All, Subject: []scenario.Subject{scenario.Requests, scenario.Answers, scenario.AnyData}[r.IntN(3)],
			Index: scenario.All, Transmission: scenario.All, Limit: 1 + r.IntN(5), Delay: time.Duration(1+r.IntN(5)) * time.Microsecond,
		}
		if r.IntN(2) == 0 {
			f.Every = 3 + r.IntN(60)
		} else {
			f.Rate = 0.002 + r.Float64()*0.05
		}
		spec.Faults = append(spec.Faults, f)
	}
	return spec
}

func randomSession(r *rand.Rand, i uint32) scenario.Session {
	service := []scenario.Service{scenario.RC, scenario.RC, scenario.XRC, scenario.UC}[r.IntN(4)]
	mode := []scenario.Mode{scenario.GoBackN, scenario.GoBackN, scenario.GoBack0, scenario.Selective}[r.IntN(4)]
	return scenario.Session{
		Service: service,
		A:       scenario.Side{Host: r.IntN(3), QPN: 10 + i, StartPSN: r.Uint32() & 0xffffff},
		B:       scenario.Side{Host: 3 + r.IntN(3), QPN: 20 + i, StartPSN: r.Uint32() & 0xffffff},
		PathMTU: 256 << r.IntN(5), CM: scenario.CM(r.IntN(3)), Close: r.IntN(2) == 0,
		Work: [2]scenario.Work{randomWork(r, service), randomWork(r, service)},
		Requester: scenario.Requester{
			Mode: mode, Window: 4 << r.IntN(6), AckEvery: r.IntN(9), AckTimeout: uint8(8 + r.IntN(4)), NoImpliedNAK: r.IntN(3) == 0,
		},
		Responder: scenario.Responder{
			OutOfOrder: mode == scenario.Selective, NAKAfterRNR: r.IntN(2) == 0, ResumeMiddle: r.IntN(2) == 0,
			Refuse: []scenario.Refusal{{Stream: r.IntN(2), Message: r.IntN(20), Times: r.IntN(4), Timer: uint8(1 + r.IntN(12))}},
		},
	}
}

func randomWork(r *rand.Rand, service scenario.Service) scenario.Work {
	kinds := []scenario.MessageKind{
		scenario.Send, scenario.SendImm, scenario.SendInv, scenario.Write, scenario.WriteImm, scenario.Read, scenario.CmpSwap, scenario.FetchAdd,
	}
	w := scenario.Work{Depth: r.IntN(6), Every: time.Duration(r.IntN(4)) * time.Microsecond, Delay: time.Duration(r.IntN(9)) * time.Microsecond}
	for range 5 + r.IntN(40) {
		w.Messages = append(w.Messages, scenario.Message{Kind: kinds[r.IntN(len(kinds))], Len: 16 + r.IntN(9000)})
	}
	if service == scenario.UC {
		w.Messages = slices.DeleteFunc(w.Messages, func(m scenario.Message) bool {
			return m.Kind == scenario.Read || m.Kind == scenario.FetchAdd || m.Kind == scenario.CmpSwap || m.Kind == scenario.SendInv
		})
	}
	return w
}
