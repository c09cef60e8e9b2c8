package scenario

func repairScenarios() []Scenario {
	return []Scenario{
		{Name: "selective_repeat", About: "losses repaired one by one: only the missing packet is sent again", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), append(spread(Drop, BeforeTap, 40, 120, 121), spread(Drop, AfterTap, 200)...)...), selective)
		}},
		{Name: "selective_repeat_again", About: "selective repeat where a retransmission is lost too", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), at(Drop, BeforeTap, 100), at(Drop, BeforeTap, 100).again(1)), selective)
		}},
		{Name: "go_back_0", About: "an old requester that goes back to the start of the message", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), append(spread(Drop, BeforeTap, 45), spread(Drop, AfterTap, 203)...)...), func(s *Spec) {
				s.first().Requester.Mode = GoBack0
			})
		}},
		{Name: "timeout_only", About: "answers slower than the timer: packets are sent again though nothing was lost", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(8, Message{Write, 8 * kib}), Depth: 1}), func(s *Spec) {
				s.Network.LatencyB = 300 * us
				s.first().Requester.AckTimeout = 7 // 524 us
				s.first().Responder.Delay = 30 * us
			})
		}},
		{Name: "silence", About: "nothing gets through for 40 ms, ahead of the tap, and then all goes on", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(40, Message{Write, 8 * kib}), Every: 10 * us},
				Fault{Action: Drop, Where: BeforeTap, Subject: Everything, Index: All, Transmission: All, From: 150 * us, To: 40 * ms})
		}},
		{Name: "silence_after", About: "nothing gets through for 40 ms, behind the tap, and then all goes on", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(40, Message{Write, 8 * kib}), Every: 10 * us},
				Fault{Action: Drop, Where: AfterTap, Subject: Everything, Index: All, Transmission: All, From: 150 * us, To: 40 * ms})
		}},
		{Name: "reorder_nak", About: "packets overtaken on the way: the receiver takes it for loss, NAKs it, and nothing was lost", spec: func(o Options) *Spec {
			return specOf(o, writes(), delay(BeforeTap, 40), delay(BeforeTap, 150), delay(AfterTap, 220))
		}},
		{Name: "reorder_quiet", About: "adaptive routing: packets overtaken on the way, a receiver that copes", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), routed(BeforeTap)), coping)
		}},
		{Name: "reorder_after", About: "adaptive routing behind the tap: nothing of it shows", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), routed(AfterTap)), coping)
		}},
		{Name: "reorder_zero_ipid", About: "packets overtaken on the way, and all IP IDs are 0", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), routed(BeforeTap)), func(s *Spec) {
				coping(s)
				s.Network.IPID = IPIDZero
			})
		}},
		{Name: "reorder_nak_ipv6", About: "reordering that is NAKed, over IPv6, where there are no IP IDs", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), delay(BeforeTap, 40), delay(BeforeTap, 150)), func(s *Spec) { s.Network.IPv6 = true })
		}},
		{Name: "reorder_loss", About: "adaptive routing and losses at once, a receiver that copes with the first", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), routed(BeforeTap), at(Drop, BeforeTap, 101), at(Drop, AfterTap, 250)), coping)
		}},
		{Name: "reorder_repeat", About: "a packet lost ahead of the tap, and its retransmission overtaken on the way", spec: func(o Options) *Spec {
			late := delay(BeforeTap, 100)
			return specOf(o, writes(), at(Drop, BeforeTap, 100), late.again(1))
		}},
		{Name: "reorder_read_response", About: "READ responses overtaken on the way: the requester asks again", spec: func(o Options) *Spec {
			f := delay(BeforeTap, 70)
			return specOf(o, reads(), f.of(Answers))
		}},
	}
}

func selective(s *Spec) {
	s.first().Requester.Mode = Selective
	s.first().Responder.OutOfOrder = true
}

// coping makes a receiver that does not mind reordering.
func coping(s *Spec) {
	s.first().Responder.OutOfOrder, s.first().Responder.KeepQuiet = true, true
}

// delay lets a packet be overtaken by about ten others.
func delay(where Where, index int) Fault {
	f := at(Delay, where, index)
	f.Delay = us
	return f
}

// routed lets one packet in ten be overtaken by one or two others.
func routed(where Where) Fault {
	f := delay(where, All)
	f.Transmission = All
	f.Rate, f.Delay = 0.1, 200
	return f
}
