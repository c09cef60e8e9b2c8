package scenario

import "time"

func driftScenarios() []Scenario {
	return []Scenario{
		{Name: "dscp_change", About: "from the 100th packet on the DSCP of a's packets is 0", spec: func(o Options) *Spec {
			return withMarking(specOf(o, writes()), Marking{Change: 100})
		}},
		{Name: "dscp_directions", About: "WRITEs both ways, with DSCP 26 there and 10 back", spec: func(o Options) *Spec {
			return withMarking(with(specOf(o, writes()), func(s *Spec) { s.first().Work[1] = writes() }), Marking{DSCP: [2]uint8{26, 10}})
		}},
		{Name: "dscp_answers", About: "WRITEs both ways, and ACKs have another DSCP than data", spec: func(o Options) *Spec {
			return withMarking(with(specOf(o, writes()), func(s *Spec) { s.first().Work[1] = writes() }), Marking{Answers: 48})
		}},
		{Name: "not_ect", About: "two sessions: the packets of one can't be marked for congestion", spec: func(o Options) *Spec {
			return with(cleanPairs(o, 2), func(s *Spec) { s.Sessions[1].Marking.NotECT = true })
		}},
		{Name: "cnp_class", About: "packets marked ahead of the tap, and CNPs in the class of the data", spec: func(o Options) *Spec {
			often := marks(BeforeTap, Requests)
			often.To = 300 * us
			return withMarking(with(specOf(o, long(), often), func(s *Spec) { s.first().Responder.CNPInterval = 2 * us }), Marking{CNP: dscpData})
		}},
		{Name: "pkey_mismatch", About: "connected for the P_Key ffff, and side b has another partition's", spec: func(o Options) *Spec {
			return withMarking(with(specOf(o, writes()), func(s *Spec) { s.first().CM, s.first().Close = Connect, true }), Marking{PKey: [2]uint16{0, 0x8001}})
		}},
		{Name: "pkey_member", About: "a limited member and a full one of the same partition, which is as it should be", spec: func(o Options) *Spec {
			return withMarking(specOf(o, writes()), Marking{PKey: [2]uint16{0x0001, 0x8001}})
		}},
		{Name: "mixed_mtu", About: "two sessions between two hosts, with path MTUs of 1,024 and 4,096", spec: func(o Options) *Spec {
			return with(cleanPairs(o, 2), func(s *Spec) {
				s.Sessions[1].PathMTU = 4096
				for i := range s.Sessions {
					s.Sessions[i].Work = [2]Work{{Messages: times(20, Message{Write, 16 * kib}), Every: 20 * us}}
				}
			})
		}},
		{Name: "one_port", About: "ten QPs between two hosts, all with one UDP source port", spec: func(o Options) *Spec {
			return with(cleanPairs(o, 10), func(s *Spec) {
				s.Network.UDPPort = 49152
				for i := range s.Sessions {
					s.Sessions[i].Work = [2]Work{{Messages: times(5, Message{Write, 4 * kib}), Every: 10 * us}}
				}
			})
		}},
		{Name: "short_timeout", About: "a connection that gives up after 4 ms without an answer", spec: func(o Options) *Spec {
			return with(specOf(o, writes()), func(s *Spec) {
				s.first().CM, s.first().Close = Connect, true
				s.first().Requester = Requester{AckTimeout: 8, RetryCount: 3}
			})
		}},
		{Name: "no_retries", About: "a connection with a retry count of 0", spec: func(o Options) *Spec {
			return with(specOf(o, writes()), func(s *Spec) {
				s.first().CM, s.first().Close = Connect, true
				s.first().Requester.RetryCount = NoRetry
			})
		}},
		{Name: "link_local", About: "a host asks for a connection from its link-local address, and nothing comes back", spec: func(o Options) *Spec {
			return with(specOf(o, writes()), func(s *Spec) {
				s.Network.IPv6, s.Network.LinkLocal = true, true
				s.first().CM = Unanswered
			})
		}},
		{Name: "incast", About: "four hosts send to one at the same time, and its switch marks half of the packets", spec: func(o Options) *Spec {
			return with(cleanPairs(o, 4), func(s *Spec) {
				for i := range s.Sessions {
					se := &s.Sessions[i]
					se.A.Host, se.B.Host, se.Start = i+1, 0, time.Duration(i)*us
					se.Work = [2]Work{writes()}
					s.Faults = append(s.Faults, Fault{Action: MarkCE, Where: BeforeTap, Session: i, Subject: Requests, Index: All, Transmission: All, Every: 2})
				}
			})
		}},
		{Name: "microbursts", About: "each millisecond four hosts send 32 packets to one within 10 us, and its switch marks one in four", spec: func(o Options) *Spec {
			return with(cleanPairs(o, 4), func(s *Spec) {
				for i := range s.Sessions {
					se := &s.Sessions[i]
					se.A.Host, se.B.Host, se.Start = i+1, 0, time.Duration(i)*us
					se.Work = [2]Work{{Messages: times(40, Message{Write, 32 * kib}), Every: time.Millisecond}}
					s.Faults = append(s.Faults, Fault{Action: MarkCE, Where: BeforeTap, Session: i, Subject: Requests, Index: All, Transmission: All, Every: 4})
				}
			})
		}},
	}
}

// withMarking sets what the packets of the first session say.
func withMarking(s *Spec, m Marking) *Spec {
	s.first().Marking = m
	return s
}

// cleanPairs are pairs that lose nothing.
func cleanPairs(o Options, n int) *Spec {
	return with(pairs(o, n), func(s *Spec) { s.Faults = nil })
}
