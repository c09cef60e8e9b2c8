package scenario

func lossScenarios() []Scenario {
	return []Scenario{
		{Name: "loss_before", About: "single WRITE packets lost ahead of the tap, repaired after a NAK", spec: func(o Options) *Spec {
			return specOf(o, writes(), spread(Drop, BeforeTap, 20, 99, 203)...)
		}},
		{Name: "loss_before_burst", About: "several packets of one window lost ahead of the tap: one NAK, one try", spec: func(o Options) *Spec {
			return specOf(o, writes(), spread(Drop, BeforeTap, 100, 101, 102, 106)...)
		}},
		{Name: "loss_after", About: "single WRITE packets lost behind the tap, repaired after a NAK", spec: func(o Options) *Spec {
			return specOf(o, writes(), spread(Drop, AfterTap, 20, 99, 203)...)
		}},
		{Name: "loss_tail", About: "the last packets of a message lost ahead of the tap: no NAK, the timer repairs it", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(6, Message{Write, 8 * kib}), Depth: 1},
				append(spread(Drop, BeforeTap, 14, 15), at(Drop, BeforeTap, 31))...)
		}},
		{Name: "loss_tail_after", About: "the last packet of a message lost behind the tap: the timer repairs it", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(6, Message{Write, 8 * kib}), Depth: 1}, spread(Drop, AfterTap, 15, 31)...)
		}},
		{Name: "loss_whole_message", About: "a message of one packet lost ahead of the tap: its repair looks like the first sending", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(10, Message{Write, 500}), Depth: 1}, at(Drop, BeforeTap, 4))
		}},
		{Name: "loss_ack", About: "the ACK of a message lost ahead of the tap, and one behind it: timeouts without a lost request", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(6, Message{Write, 8 * kib}), Depth: 1},
				at(Drop, BeforeTap, 15).of(Answers), at(Drop, AfterTap, 31).of(Answers))
		}},
		{Name: "loss_nak", About: "a packet lost ahead of the tap and its NAK too: the timer repairs it", spec: func(o Options) *Spec {
			return specOf(o, writes(), at(Drop, BeforeTap, 100), at(Drop, BeforeTap, 100).of(Answers))
		}},
		{Name: "loss_nak_after", About: "a packet lost ahead of the tap, its NAK seen at the tap and lost behind it", spec: func(o Options) *Spec {
			return specOf(o, writes(), at(Drop, BeforeTap, 100), at(Drop, AfterTap, 100).of(Answers))
		}},
		{Name: "loss_in_repeat", About: "a packet lost ahead of the tap, and its retransmission too", spec: func(o Options) *Spec {
			f := at(Drop, BeforeTap, 100)
			return specOf(o, writes(), f, f.again(1))
		}},
		{Name: "loss_in_repeat_later", About: "a NAK repairs one packet, and another is lost in that repair", spec: func(o Options) *Spec {
			return specOf(o, writes(), at(Drop, BeforeTap, 100), at(Drop, BeforeTap, 104).again(1))
		}},
		{Name: "loss_in_repeat_after", About: "a packet lost behind the tap, and its retransmission too", spec: func(o Options) *Spec {
			f := at(Drop, AfterTap, 100)
			return specOf(o, writes(), f, f.again(1))
		}},
		{Name: "several_tries", About: "one packet lost four times in a row, on both sides of the tap", spec: func(o Options) *Spec {
			b, a := at(Drop, BeforeTap, 100), at(Drop, AfterTap, 100)
			return specOf(o, writes(), b, a.again(1), b.again(2), a.again(3))
		}},
		{Name: "loss_before_and_after", About: "losses on both sides of the tap, some in the same window", spec: func(o Options) *Spec {
			return specOf(o, writes(), append(spread(Drop, BeforeTap, 40, 150, 222), spread(Drop, AfterTap, 44, 90, 215)...)...)
		}},
		{Name: "loss_read_response", About: "READ responses lost ahead of the tap: the READ is asked for again at once", spec: func(o Options) *Spec {
			return specOf(o, reads(), at(Drop, BeforeTap, 37).of(Answers), at(Drop, BeforeTap, 100).of(Answers))
		}},
		{Name: "loss_read_response_after", About: "READ responses lost behind the tap: the READ is asked for again at once", spec: func(o Options) *Spec {
			return specOf(o, reads(), at(Drop, AfterTap, 37).of(Answers), at(Drop, AfterTap, 100).of(Answers))
		}},
		{Name: "loss_read_response_again", About: "a READ response lost ahead of the tap, and another one of the answer to its repetition", spec: func(o Options) *Spec {
			again := at(Drop, BeforeTap, 42).of(Answers)
			return specOf(o, reads(), at(Drop, BeforeTap, 37).of(Answers), again.again(1))
		}},
		{Name: "loss_read_response_silent", About: "a READ response lost, and the requester waits for its timer, as Soft-RoCE does", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(10, Message{Read, 16 * kib}), Depth: 1},
				at(Drop, BeforeTap, 37).of(Answers), at(Drop, AfterTap, 85).of(Answers)), func(s *Spec) {
				s.first().Requester.NoImpliedNAK, s.first().Responder.ResumeMiddle = true, true
			})
		}},
		{Name: "loss_read_response_last", About: "the last response of a READ lost ahead of the tap: the timer repairs it", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(10, Message{Read, 16 * kib}), Depth: 1}, at(Drop, BeforeTap, 47).of(Answers))
		}},
		{Name: "loss_read_request", About: "READ requests lost, one ahead of the tap and one behind it", spec: func(o Options) *Spec {
			return specOf(o, reads(), at(Drop, BeforeTap, 32), at(Drop, AfterTap, 96))
		}},
		{Name: "loss_atomic", About: "atomics lost ahead of the tap, and the answer of one", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(20, Message{FetchAdd, 8}, Message{CmpSwap, 8}), Depth: 4},
				at(Drop, BeforeTap, 9), at(Drop, AfterTap, 20).of(Answers))
		}},
		{Name: "loss_bidirectional", About: "losses in both streams of a session at once", spec: func(o Options) *Spec {
			other := spread(Drop, BeforeTap, 33, 120)
			for i := range other {
				other[i].Stream = 1
			}
			return with(specOf(o, writes(), append(other, spread(Drop, AfterTap, 30, 125)...)...), func(s *Spec) {
				s.first().Work[1] = writes()
			})
		}},
		{Name: "corrupt", About: "packets whose ICRC no longer fits, ahead of the tap and behind it, and an ACK", spec: func(o Options) *Spec {
			return specOf(o, writes(), at(Corrupt, BeforeTap, 50), at(Corrupt, AfterTap, 150), at(Corrupt, BeforeTap, 239).of(Answers))
		}},
		{Name: "duplicates", About: "packets and ACKs that the network doubles", spec: func(o Options) *Spec {
			return specOf(o, writes(), append(spread(Duplicate, BeforeTap, 20, 21, 150), at(Duplicate, AfterTap, 200),
				at(Duplicate, BeforeTap, 79).of(Answers))...)
		}},
		{Name: "random_loss", About: "packets and answers lost by chance on both sides of the tap", Takes: []Option{OptPackets, OptLoss, OptSessions}, spec: randomLoss},
		{Name: "uc_loss", About: "an unreliable connection with losses: nobody goes back", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), append(spread(Drop, BeforeTap, 20, 99, 100), at(Drop, AfterTap, 200))...), func(s *Spec) {
				s.first().Service = UC
				s.first().Work[0].Messages = times(20, Message{Write, 8 * kib}, Message{Send, 3 * kib})
			})
		}},
		{Name: "ud_sequence", About: "datagrams of two senders to one QP, some lost", spec: udSequence},
	}
}

func reads() Work { return Work{Messages: times(12, Message{Read, 16 * kib}), Depth: 3} }

// randomLoss loses data and answers of mixed work.
func randomLoss(o Options) *Spec {
	sessions, packets := orElse(o.Sessions, 4), orElse(o.Packets, 6000)
	rate := o.Loss
	if rate == 0 {
		rate = 0.01
	}
	r := numbers(o)
	s := &Spec{Faults: []Fault{
		{Action: Drop, Where: BeforeTap, Session: All, Stream: All, Subject: AnyData, Index: All, Transmission: All, Rate: rate / 2},
		{Action: Drop, Where: AfterTap, Session: All, Stream: All, Subject: AnyData, Index: All, Transmission: All, Rate: rate / 2},
	}}
	const perRound = 40 // frames of one round of messages, about
	for i := range sessions {
		a, b := sides(r)
		a.QPN, b.QPN = 0x200+uint32(i)*2, 0x90001+uint32(i)*3
		const perHost = 8 // more would make each wait for the others
		a.Host, b.Host = i/perHost*2, i/perHost*2+1
		n := max(1, packets/sessions/perRound)
		s.Sessions = append(s.Sessions, Session{A: a, B: b, Work: [2]Work{
			{Messages: times(n, Message{Write, 7 * kib}, Message{Send, 2*kib + 90}, Message{Read, 9 * kib}), Every: 4 * us, Depth: 8},
			{Messages: times(n, Message{Send, 5 * kib}, Message{FetchAdd, 8}, Message{Write, 3 * kib}), Every: 4 * us, Depth: 8},
		}, Requester: Requester{RetryCount: 7, AckTimeout: 8}})
	}
	return s
}

// udSequence has two senders of datagrams to one QP.
func udSequence(o Options) *Spec {
	r := numbers(o)
	a, b := sides(r)
	s := &Spec{Faults: spread(Drop, BeforeTap, 10, 11, 40)}
	for i := range 2 {
		from := a
		from.Host, from.QPN = 2*i, a.QPN+uint32(i)
		from.StartPSN += uint32(i) * 77
		s.Sessions = append(s.Sessions, Session{Service: UD, A: from, B: b, Work: [2]Work{
			{Messages: times(30, Message{Send, 200}, Message{SendImm, 900}), Every: us},
		}})
	}
	return s
}
