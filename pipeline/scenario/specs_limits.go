package scenario

// limitScenarios are of long enough work that one thing keeps its requester
// from sending faster.
func limitScenarios() []Scenario {
	large := func(n, depth int) Work { return Work{Messages: times(n, Message{Write, 64 * kib}), Depth: depth} }
	limited := func(work Work, change func(*Session)) func(Options) *Spec {
		return func(o Options) *Spec {
			return with(with(specOf(o, work), near(0)), func(s *Spec) {
				s.Network.LatencyB = 20 * us
				change(s.first())
			})
		}
	}
	nothing := func(*Session) {}
	return []Scenario{
		{Name: "limit_sending", About: "a requester that always has something to send, and may", spec: limited(large(60, 32), nothing)},
		{Name: "limit_application", About: "a message each millisecond: the application has no more to send", spec: limited(
			Work{Messages: times(100, Message{Write, 8 * kib}), Every: ms}, nothing)},
		{Name: "limit_one_by_one", About: "messages one at a time, each when the one before it is complete", spec: limited(
			Work{Messages: times(200, Message{Write, 2 * kib}), Depth: 1}, nothing)},
		{Name: "limit_window", About: "four messages outstanding at most, which is too few for the round trip", spec: limited(
			Work{Messages: times(300, Message{Write, 4 * kib}), Depth: 4}, nothing)},
		{Name: "limit_window_packets", About: "32 packets outstanding at most, which is too few for the round trip", spec: limited(large(40, 8), func(s *Session) {
			s.Requester.Window, s.Requester.AckEvery = 32, 8
		})},
		{Name: "limit_reads", About: "two READs outstanding at most, which is too few for the round trip", spec: limited(
			Work{Messages: times(200, Message{Read, 4 * kib}), Depth: 8}, func(s *Session) { s.Requester.MaxReads = 2 })},
		{Name: "limit_credits", About: "a receiver with two receive buffers at a time, and ACKs that say so", spec: limited(
			Work{Messages: times(300, Message{Send, 2 * kib}), Depth: 16}, func(s *Session) { s.Responder.Credits = 2 })},
		{Name: "limit_rnr", About: "a receiver that is out of receive buffers time and again", spec: limited(
			Work{Messages: times(100, Message{Send, 2 * kib}), Depth: 4}, func(s *Session) {
				for i := 8; i < 100; i += 8 {
					s.Responder.Refuse = append(s.Responder.Refuse, Refusal{Message: i, Times: 1, Timer: 13})
				}
			})},
		{Name: "limit_recovery", About: "packets lost at the end of a burst: timers run out", spec: func(o Options) *Spec {
			s := limited(Work{Messages: times(100, Message{Write, 8 * kib}), Depth: 2}, func(s *Session) { s.Requester.AckTimeout = 10 })(o)
			for i := 87; i < 790; i += 80 { // the end of a message, and all of the next one
				s.Faults = append(s.Faults, Fault{Action: Drop, Where: AfterTap, Index: i, Count: 9})
			}
			return s
		}},
		{Name: "limit_pause", About: "PFC stops the sender for 150 of 200 us, again and again", spec: func(o Options) *Spec {
			return with(limited(large(60, 32), nothing)(o), func(s *Spec) {
				s.Tap.VLAN, s.Tap.Priority = 100, 3
				s.Pausing = Pausing{Start: 20 * us, Length: 150 * us, Every: 200 * us, Times: 100}
			})
		}},
		{Name: "limit_cnps", About: "marks for a long time: CNPs keep the sender slow", spec: func(o Options) *Spec {
			s := limited(large(120, 32), nothing)(o)
			s.Faults = append(s.Faults, marksFor(BeforeTap, Requests, 50, 4000))
			return s
		}},
	}
}
