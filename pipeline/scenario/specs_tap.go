package scenario

func tapScenarios() []Scenario {
	lossy := func(o Options) *Spec {
		return specOf(o, writes(), append(spread(Drop, BeforeTap, 40, 150), spread(Drop, AfterTap, 90, 215)...)...)
	}
	tapped := func(change func(*Tap)) func(Options) *Spec {
		return func(o Options) *Spec { return with(lossy(o), func(s *Spec) { change(&s.Tap) }) }
	}
	clean := func(change func(*Tap)) func(Options) *Spec {
		return func(o Options) *Spec { return with(specOf(o, writes()), func(s *Spec) { change(&s.Tap) }) }
	}
	network := func(change func(*Network)) func(Options) *Spec {
		return func(o Options) *Spec { return with(lossy(o), func(s *Spec) { change(&s.Network) }) }
	}
	return []Scenario{
		{Name: "one_sided_requests", About: "only the direction of the requests is captured; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.Only = AtoB })},
		{Name: "one_sided_answers", About: "only the direction of the answers is captured; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.Only = BtoA })},
		{Name: "mirrored_twice", About: "each frame captured twice, the copies identical; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.Twice = Identical })},
		{Name: "mirrored_twice_vlan", About: "each frame captured twice, the copies in two VLANs",
			spec: tapped(func(t *Tap) { t.Twice, t.VLAN = OtherVLAN, 100 })},
		{Name: "mirrored_twice_route", About: "each frame captured ahead of a router and behind it: MACs and TTL differ",
			spec: tapped(func(t *Tap) { t.Twice = OtherRoute })},
		{Name: "sampled", About: "one frame in 16 captured, of clean traffic",
			spec: clean(func(t *Tap) { t.Sample = 16 })},
		{Name: "thinned", About: "the mirror loses one request in 50; the network loses nothing",
			spec: clean(func(t *Tap) { t.ThinReqs = 50 })},
		{Name: "thinned_counted", About: "the mirror loses frames by chance, and the file says how many; the network loses nothing",
			spec: clean(func(t *Tap) { t.Thin, t.CountDrops = 0.03, true })},
		{Name: "thinned_erspan", About: "an ERSPAN mirror loses frames, and its sequence numbers tell; the network loses nothing",
			spec: clean(func(t *Tap) { t.Thin, t.Tunnel = 0.03, ERSPAN })},
		{Name: "thinned_with_loss", About: "the mirror loses one request in 50, and the network loses packets too",
			spec: tapped(func(t *Tap) { t.ThinReqs = 50 })},
		{Name: "snaplen", About: "frames cut to 96 bytes; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.Snaplen = 96 })},
		{Name: "mid_stream", About: "the capture begins in the middle, while a loss is being repaired",
			spec: tapped(func(t *Tap) { t.From = 14 * us })},
		{Name: "cut_end", About: "the capture ends in the middle of a message",
			spec: tapped(func(t *Tap) { t.To = 40 * us })},
		{Name: "mid_stream_read", About: "the capture begins in the middle of a READ's answer", spec: func(o Options) *Spec {
			return with(specOf(o, reads(), at(Drop, BeforeTap, 100).of(Answers)), func(s *Spec) { s.Tap.From = 6 * us })
		}},
		{Name: "vantage_requester", About: "the tap is at the requester, the responder behind two routers, 50 us away; losses behind the tap", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), spread(Drop, AfterTap, 40, 150)...), func(s *Spec) {
				s.Network.LatencyA, s.Network.LatencyB, s.Network.RoutersB = 100, 50*us, 2
			})
		}},
		{Name: "vantage_responder", About: "the tap is at the responder, the requester behind two routers, 50 us away; losses ahead of the tap", spec: func(o Options) *Spec {
			return with(specOf(o, writes(), spread(Drop, BeforeTap, 40, 150)...), func(s *Spec) {
				s.Network.LatencyA, s.Network.LatencyB, s.Network.RoutersA = 50*us, 100, 2
			})
		}},
		{Name: "vantage_between", About: "a router on both sides of the tap; losses on both sides of it",
			spec: network(func(n *Network) { n.RoutersA, n.RoutersB = 1, 3 })},
		{Name: "ipv6", About: "over IPv6; losses on both sides of the tap", spec: network(func(n *Network) { n.IPv6 = true })},
		{Name: "rocev1", About: "RoCEv1; losses on both sides of the tap", spec: network(func(n *Network) { n.RoCEv1 = true })},
		{Name: "ip_id_zero", About: "all IP IDs are 0; losses on both sides of the tap", spec: network(func(n *Network) { n.IPID = IPIDZero })},
		{Name: "ip_id_constant", About: "all IP IDs are the same; losses on both sides of the tap", spec: network(func(n *Network) { n.IPID = IPIDConstant })},
		{Name: "vlan", About: "in a VLAN, priority 3; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.VLAN, t.Priority = 100, 3 })},
		{Name: "vxlan", About: "inside VXLAN; losses on both sides of the tap", spec: tapped(func(t *Tap) { t.Tunnel = VXLAN })},
		{Name: "geneve", About: "inside Geneve; losses on both sides of the tap", spec: tapped(func(t *Tap) { t.Tunnel = Geneve })},
		{Name: "erspan", About: "mirrored in ERSPAN II with sequence numbers, from a VLAN; losses on both sides of the tap",
			spec: tapped(func(t *Tap) { t.Tunnel, t.VLAN, t.Priority = ERSPAN, 100, 3 })},
	}
}
