package scenario

func cleanScenarios() []Scenario {
	return []Scenario{
		{Name: "clean_send", About: "SENDs of every length up to several packets, nothing goes wrong", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(10, lengths(Send)...), Every: us})
		}},
		{Name: "clean_write", About: "WRITEs of 8 packets, nothing goes wrong", spec: func(o Options) *Spec {
			return specOf(o, writes())
		}},
		{Name: "clean_read", About: "READs of one to 16 packets, nothing goes wrong", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(10, Message{Read, 16 * kib}, Message{Read, 100}, Message{Read, 5*kib + 3}), Every: us, Depth: 4})
		}},
		{Name: "clean_atomic", About: "FetchAdds and CmpSwaps, nothing goes wrong", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(40, Message{FetchAdd, 8}, Message{CmpSwap, 8}), Depth: 8})
		}},
		{Name: "clean_mixed", About: "every kind of message in one stream, nothing goes wrong", spec: func(o Options) *Spec {
			return specOf(o, Work{Messages: times(12, mixed()...), Every: 3 * us, Depth: 6})
		}},
		{Name: "clean_bidirectional", About: "WRITEs, SENDs and READs both ways at once, nothing goes wrong", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(20, Message{Write, 6 * kib}, Message{Send, 300}), Every: us}), func(s *Spec) {
				s.first().Work[1] = Work{Messages: times(20, Message{Send, 3 * kib}, Message{Read, 4 * kib}), Every: us}
			})
		}},
		{Name: "clean_ping_pong", About: "a SEND of 64 bytes each way at a time: latency without queueing", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(100, Message{Send, 64}), Depth: 1}), func(s *Spec) {
				s.first().Work[1] = Work{Messages: times(100, Message{Send, 64}), Depth: 1, Delay: us}
			})
		}},
		{Name: "clean_cm", About: "connected by REQ, REP and RTU, closed by DREQ and DREP", spec: func(o Options) *Spec {
			return with(specOf(o, writes()), func(s *Spec) { s.first().CM, s.first().Close = Connect, true })
		}},
		{Name: "interleaved", About: "READ responses beside ACKs, in both directions", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(25, Message{Read, 12 * kib}, Message{Write, 2 * kib}), Depth: 6}), func(s *Spec) {
				s.first().Work[1] = Work{Messages: times(25, Message{Write, 5 * kib}, Message{Read, 7 * kib}), Depth: 6}
			})
		}},
		{Name: "xrc", About: "an XRC connection: SENDs, WRITEs and READs for a shared receive queue", spec: func(o Options) *Spec {
			return with(specOf(o, Work{Messages: times(12, mixed()...), Every: 3 * us, Depth: 6}, at(Drop, BeforeTap, 60)), func(s *Spec) {
				s.first().Service, s.first().B.SRQ, s.first().A.SRQ = XRC, 0x77, 0x78
			})
		}},
	}
}

// lengths are messages of one kind: of one packet, full and not, and of
// several. No packet has less than 16 bytes, which tshark takes for a broken
// RPC-over-RDMA message.
func lengths(kind MessageKind) []Message {
	var list []Message
	for _, n := range []int{16, 63, 64, 1021, kib, kib + 17, 2 * kib, 5*kib + 17} {
		list = append(list, Message{kind, n})
	}
	return list
}

// mixed is one message of each kind.
func mixed() []Message {
	return []Message{
		{Send, 3 * kib}, {Write, 4*kib + 5}, {Read, 6 * kib}, {SendImm, 200}, {WriteImm, 2 * kib}, {FetchAdd, 8},
		{SendInv, kib + 30}, {CmpSwap, 8}, {WriteImm, 90}, {SendInv, 40}, {SendImm, 2*kib + 21}, {Write, 0}, {Read, 900},
	}
}
