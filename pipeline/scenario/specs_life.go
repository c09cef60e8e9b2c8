package scenario

func lifeScenarios() []Scenario {
	return []Scenario{
		{Name: "psn_wrap", About: "PSNs wrap from ffffff to 0; nothing goes wrong", spec: func(o Options) *Spec {
			return with(specOf(o, writes()), func(s *Spec) { s.first().A.StartPSN = psnMask - 100 })
		}},
		{Name: "psn_wrap_loss", About: "PSNs wrap while losses are repaired, in a READ too", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(10, Message{Write, 8 * kib}, Message{Read, 8 * kib}), Depth: 4},
				at(Drop, BeforeTap, 34), at(Drop, BeforeTap, 45).of(Answers), at(Drop, AfterTap, 50)), func(s *Spec) {
				s.first().A.StartPSN = psnMask - 40
			})
		}},
		{Name: "psn_half", About: "PSNs pass 800000, half of their range; losses on both sides of the tap", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), at(Drop, BeforeTap, 98), at(Drop, AfterTap, 200)), func(s *Spec) {
				s.first().A.StartPSN = 1<<23 - 100
			})
		}},
		{Name: "qpn_reuse", About: "the same QPNs in three lives, without connection management", spec: reuse(NoCM)},
		{Name: "qpn_reuse_cm", About: "the same QPNs in three lives, each made and closed by connection management", spec: reuse(Connect)},
		{Name: "equal_qpns", About: "both sides have the same QPN, and so has another pair of hosts; losses in both", spec: func(o Options) *Spec {
			return with(pairs(o, 2), func(s *Spec) {
				s.Faults = []Fault{at(Drop, BeforeTap, 20), {Action: Drop, Where: AfterTap, Session: 1, Index: 21}}
				for i := range s.Sessions {
					se := &s.Sessions[i]
					se.A.QPN, se.B.QPN = 0x42, 0x42
					se.A.Host, se.B.Host = 2*i, 2*i+1
				}
			})
		}},
		{Name: "many_qps", About: "two hosts with many QPs between them, some with losses", Takes: []Option{OptSessions, OptLoss}, spec: func(o Options) *Spec {
			return pairs(o, orElse(o.Sessions, 24))
		}},
		{Name: "many_hosts", About: "hosts that all talk to one, each with QPNs that others have too", Takes: []Option{OptSessions, OptLoss}, spec: func(o Options) *Spec {
			return with(pairs(o, orElse(o.Sessions, 24)), func(s *Spec) {
				for i := range s.Sessions {
					se := &s.Sessions[i]
					se.A.Host, se.B.Host = i+1, 0
					se.A.QPN = 0x11 + uint32(i%3)
				}
			})
		}},
	}
}

// reuse is three lives of the same QPNs.
func reuse(how CM) func(Options) *Spec {
	return func(o Options) *Spec {
		r := numbers(o)
		a, b := sides(r)
		s := &Spec{}
		for i := range 3 {
			// Two thirds of the PSN range away from where the last life ended.
			a.StartPSN, b.StartPSN = (a.StartPSN+0xaaaaaa)&psnMask, (b.StartPSN+0xaaaaaa)&psnMask
			s.Sessions = append(s.Sessions, Session{
				A: a, B: b, After: i, Start: 2 * ms, CM: how, Close: how != NoCM, Work: [2]Work{writes(), {
					Messages: times(5, Message{Send, 100}), Every: 5 * us,
				}},
			})
			s.Faults = append(s.Faults, Fault{Action: Drop, Where: BeforeTap, Session: i, Index: 50 + i})
		}
		return s
	}
}

// pairs are sessions between two hosts, with work both ways.
func pairs(o Options, n int) *Spec {
	r := numbers(o)
	rate := o.Loss
	if rate == 0 {
		rate = 0.01
	}
	s := &Spec{Faults: []Fault{
		{Action: Drop, Where: BeforeTap, Session: All, Stream: All, Index: All, Transmission: All, Rate: rate / 2},
		{Action: Drop, Where: AfterTap, Session: All, Stream: All, Index: All, Transmission: All, Rate: rate / 2},
	}}
	for i := range n {
		a, b := sides(r)
		a.QPN, b.QPN = 0x1000+uint32(i), 0x1000+uint32(n-i)*3
		work := [2]Work{{Messages: times(12, Message{Write, 5 * kib}, Message{Send, 90}), Every: 7 * us}}
		switch i % 3 {
		case 1:
			work[1] = Work{Messages: times(12, Message{Send, 2 * kib}, Message{Read, 3 * kib}), Every: 9 * us}
		case 2:
			work = [2]Work{{Messages: times(15, Message{Read, 4 * kib}), Every: 8 * us}, {Messages: times(15, Message{Write, 700}), Every: 8 * us}}
		}
		s.Sessions = append(s.Sessions, Session{A: a, B: b, Work: work})
	}
	return s
}
