package scenario

import "time"

func congestionScenarios() []Scenario {
	return []Scenario{
		{Name: "cnp", About: "packets marked ahead of the tap, CNPs, and a sender that slows down", spec: func(o Options) *Spec {
			return specOf(o, long(), marks(BeforeTap, Requests))
		}},
		{Name: "cnp_marked_after", About: "packets marked behind the tap: CNPs without marks", spec: func(o Options) *Spec {
			return specOf(o, long(), marks(AfterTap, Requests))
		}},
		{Name: "cnp_lost", About: "packets marked ahead of the tap, and no CNP gets to it", spec: func(o Options) *Spec {
			return specOf(o, long(), marks(BeforeTap, Requests),
				Fault{Action: Drop, Where: BeforeTap, Subject: CNPs, Index: All, Transmission: All})
		}},
		{Name: "cnp_read", About: "READ responses marked: the CNP goes to the QP that sends them", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(60, Message{Read, 16 * kib}), Depth: 3}, marks(BeforeTap, Answers))
		}},
		{Name: "cnp_at_requester", About: "a tap next to the sender: CNPs without marks, and what the sender makes of them", spec: func(o Options) *Spec {
			return with(specOf(o, steady(90), marksFor(AfterTap, Requests, 100, 104)), near(0))
		}},
		{Name: "cnp_at_responder", About: "a tap next to the receiver: marks, the CNPs right after them, and a sender that slows down", spec: func(o Options) *Spec {
			return with(specOf(o, steady(90), marksFor(BeforeTap, Requests, 100, 104)), near(1))
		}},
		{Name: "cnp_often", About: "marks for a long time: CNP after CNP", spec: func(o Options) *Spec {
			return with(specOf(o, steady(200), marksFor(BeforeTap, Requests, 100, 1500)), near(1))
		}},
		{Name: "cnp_pacing_qp", About: "four QPs from two hosts, CNPs kept apart for each QP", spec: paced(PerQP)},
		{Name: "cnp_pacing_destination", About: "four QPs from two hosts, CNPs kept apart for each host that they go to", spec: paced(PerDestination)},
		{Name: "cnp_pacing_port", About: "four QPs from two hosts, CNPs kept apart whomever they go to", spec: paced(PerPort)},
		{Name: "cnp_unpaced", About: "a CNP for each mark, several of them under way at a time", spec: func(o Options) *Spec {
			return with(specOf(o, long(), marks(BeforeTap, Requests)), func(s *Spec) { s.first().Responder.CNPInterval = 1 })
		}},
		{Name: "cnp_marked", About: "marks on CNPs and ACKs as well", spec: func(o Options) *Spec {
			back := marks(BeforeTap, CNPs)
			back.Every = 2
			return specOf(o, long(), marks(BeforeTap, Requests), marks(BeforeTap, Answers), back)
		}},
		{Name: "cnp_one_way", About: "marks and CNPs, and a tap that sees only the way back: ACKs and CNPs", spec: func(o Options) *Spec {
			return with(specOf(o, long(), marks(BeforeTap, Requests)), func(s *Spec) { s.Tap.Only = BtoA })
		}},
		{Name: "cnp_slow_application", About: "messages of one packet, one after the other: nothing tells how fast the sender may be", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(400, Message{Write, kib}), Depth: 1, Every: 2 * us}, marksFor(BeforeTap, Requests, 100, 600))
		}},
		{Name: "cnp_ignored", About: "marks and CNPs, and a sender that does not mind them", spec: func(o Options) *Spec {
			return with(specOf(o, long(), marksFor(BeforeTap, Requests, 20, 220)), func(s *Spec) { s.first().Requester.IgnoreCNP = true })
		}},
		{Name: "ce_no_cnp", About: "packets marked, and a receiver that sends no CNP", spec: func(o Options) *Spec {
			return with(specOf(o, long(), marks(BeforeTap, Requests)), func(s *Spec) { s.first().Responder.NoCNP = true })
		}},
	}
}

// steady is work that the sender never waits in.
func steady(messages int) Work {
	return Work{Messages: times(messages, Message{Write, 64 * kib}), Depth: 16}
}

// near puts the tap next to a side, and lets the window bound nobody.
func near(side int) func(*Spec) {
	return func(s *Spec) {
		n := &s.Network
		n.LatencyA, n.LatencyB = 100, 5*us
		if side == 1 {
			n.LatencyA, n.LatencyB = n.LatencyB, n.LatencyA
		}
		for i := range s.Sessions {
			s.Sessions[i].Requester.Window = 1 << 12
		}
	}
}

// paced is four sessions, two from each of two hosts, all to a third.
func paced(per CNPPer) func(Options) *Spec {
	return func(o Options) *Spec {
		r := numbers(o)
		s := &Spec{Faults: []Fault{marksFor(BeforeTap, Requests, 50, 4000)}}
		s.Faults[0].Every, s.Faults[0].Session = 0, All
		s.Network.Speed = 25e9
		for i := range 4 {
			a, b := sides(r)
			a.Host, b.Host = i/2*2, 1
			a.QPN += uint32(i)
			b.QPN += uint32(i)
			s.Sessions = append(s.Sessions, Session{A: a, B: b, Work: [2]Work{steady(30)}, Responder: Responder{CNPPer: per}})
		}
		near(1)(s)
		return s
	}
}

// long is work that takes long enough for a rate to change.
func long() Work { return Work{Messages: times(150, Message{Write, 8 * kib}), Depth: 4} }

// marks marks one packet in eight for some time.
func marks(where Where, what Subject) Fault {
	return Fault{Action: MarkCE, Where: where, Subject: what, Index: All, Transmission: All, Every: 8, From: 20 * us, To: 120 * us}
}

// marksFor likewise, from one microsecond to another.
func marksFor(where Where, what Subject, from, to int) Fault {
	f := marks(where, what)
	f.From, f.To = time.Duration(from)*us, time.Duration(to)*us
	return f
}
