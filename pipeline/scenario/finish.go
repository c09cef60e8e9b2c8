package scenario

// finish completes the truth when the simulation has ended.
func (s *simulation) finish() {
	t := s.truth
	n := &s.spec.Network
	t.Network = NetworkTruth{
		Speed: n.Speed, LatencyA: int64(n.LatencyA), LatencyB: int64(n.LatencyB), Vantage: vantage(n),
		IPID: ipidName(n),
	}
	spec := &s.spec.Tap
	lost := t.Tap.Lost
	t.Tap = TapTruth{
		Direction: [...]string{"both", "a_to_b", "b_to_a"}[spec.Only], Tunnel: string(spec.Tunnel), VLAN: spec.VLAN,
		Priority: spec.Priority, Snaplen: spec.Snaplen, Sample: spec.Sample, Twice: string(spec.Twice),
		Copies: t.Tap.Copies, Lost: lost, Counted: spec.CountDrops,
	}
	if spec.From > 0 {
		t.Tap.From = stamp(int64(spec.From))
	}
	if spec.To > 0 {
		t.Tap.To = stamp(int64(spec.To))
	}
	t.SessionCount = len(s.sessions)
	for _, se := range s.sessions {
		if se.truth.State == "open" {
			se.truth.End = stamp(s.now)
		}
		if se.truth.State == "failed" {
			t.Totals.SessionsFailed++
		}
		for _, st := range se.streams {
			st.finish()
			t.Totals.add(st.truth)
		}
	}
}

func vantage(n *Network) string {
	const much = 4 // times nearer
	switch {
	case n.LatencyA*much <= n.LatencyB:
		return "requester"
	case n.LatencyB*much <= n.LatencyA:
		return "responder"
	}
	return "between"
}

func ipidName(n *Network) string {
	if n.IPv6 || n.RoCEv1 {
		return "none"
	}
	return [...]string{"rising", "zero", "constant"}[n.IPID]
}

func (st *stream) finish() {
	t := st.truth
	t.PSNs = st.req.max
	t.NextPSN = st.sess.wirePSN(st.index, st.req.max)
	t.UnackedPSN = st.sess.wirePSN(st.index, st.req.una)
	for _, m := range st.req.msgs {
		if m.answered() && m.truth.Done && m.truth.EndFrame == 0 && m.allFrame != 0 {
			m.truth.completed(m.all, m.allFrame) // its responses got into their order behind the tap
		}
	}
	for _, try := range t.Tries {
		if try.Frame == 0 {
			try.Why = "none of its packets was captured"
		}
	}
	for _, e := range t.Episodes {
		for _, i := range e.Tries {
			e.Visible = e.Visible || t.Tries[i].Visible
		}
	}
	for _, l := range t.Drops {
		st.show(l)
	}
	for _, l := range t.Corruptions {
		st.show(l)
	}
	for _, try := range t.Tries {
		switch {
		case !try.PlaceVisible:
		case !try.Visible:
			try.hide("the try itself does not show")
		case try.edge && try.LostVisible+try.LostDeduced == 0:
			try.hide("the pass before was captured up to the end of a message")
		}
	}
	for _, m := range t.CaptureLosses {
		m.Visible = m.kind == kindRequest && st.tap.gap(m.Pass, m.psn, m.order) && !st.wentBack(m.Pass, m.last-1, false)
	}
}

// wentBack says whether the requester, after a pass, went back to a PSN or
// before it, and, if visibly is set, whether that shows.
func (st *stream) wentBack(pass int, psn uint64, visibly bool) bool {
	for _, t := range st.truth.Tries[min(pass, len(st.truth.Tries)):] {
		if t.r <= psn && (t.Visible || !visibly) {
			return true
		}
	}
	return false
}

// show says whether the capture can show a loss.
func (st *stream) show(l *Loss) {
	switch {
	case l.kind == kindCNP || l.kind == kindMAD:
		l.Why = "nothing follows from it"
	case l.kind == kindAnswer && isResponse(l.Op) && l.Where == BeforeTap:
		if l.Visible = st.wentBack(l.Pass, l.psn, true); !l.Visible {
			l.Why = "it was not asked for again"
		}
	case l.kind == kindAnswer:
		l.Why = "of an answer only what the requester does about it shows"
	case l.Where == AfterTap:
		for _, n := range st.truth.NAKs {
			l.Visible = l.Visible || l.Frame > 0 && n.Code == syndromeNAK && !n.Quirk && n.Frame > 0 && n.PSN == l.PSN && n.Pass == l.Pass
		}
		if !l.Visible {
			l.Why = "no NAK in the file names it"
			if l.Frame == 0 {
				l.Why = "it was not captured"
			}
		}
	case l.Visible:
	case !st.req.reliable():
		if l.Visible = st.tap.gap(l.Pass, l.psn, l.order); !l.Visible {
			l.Why = "nothing after it was captured, or nothing before it"
		}
	case st.deduced(l):
		l.Deduced = true
		st.truth.Tries[l.Pass].LostDeduced++
		l.Why = "no gap shows it, and a NAK or what was acknowledged gives it away"
	case !st.tap.gap(l.Pass, l.psn, l.order):
		l.Why = "nothing after it in its pass was captured, or nothing before it"
	default:
		l.Why = "the requester did not visibly go back for it"
	}
}

// deduced says whether a loss ahead of the tap that no gap shows can be known
// all the same: a NAK names it, and only the packet that repairs it was lost
// too; or it is what a pass begins with, which a NAK or the acknowledgements
// tell.
func (st *stream) deduced(l *Loss) bool {
	if l.Pass >= len(st.truth.Tries) || st.truth.Tries[l.Pass].Frame == 0 || !st.answersCaptured() ||
		st.tap.oldest == 0 || st.tap.oldest > l.order {
		return false
	}
	for _, n := range st.truth.NAKs {
		if n.Code == syndromeNAK && !n.Quirk && n.Frame > 0 && n.PSN == l.PSN && n.Pass == l.Pass {
			return true
		}
	}
	if l.Pass == 0 {
		return false
	}
	try := st.truth.Tries[l.Pass-1]
	return try.Visible && try.r <= l.psn && l.psn < try.from
}

// add adds a stream to the sums.
func (t *Totals) add(st *StreamTruth) {
	t.RequestsSeen += st.Seen.Requests
	t.AnswersSeen += st.Seen.Answers
	t.FirstSeen += st.Seen.First
	t.Fills += st.Seen.Fills
	t.Repeats += st.Seen.Repeats
	t.Late += st.Seen.Late
	t.CorruptSeen += st.Seen.Corrupt
	t.NetworkCopies += st.Seen.Copies
	t.CaptureLosses += uint64(len(st.CaptureLosses))
	t.Episodes += uint64(len(st.Episodes))
	t.Tries += uint64(len(st.Tries))
	t.CNPs += uint64(len(st.CNPs))
	for _, x := range st.Tries {
		t.Wasted += uint64(x.Wasted)
		t.TriesVisible += count(x.Visible)
	}
	for _, l := range st.Drops {
		t.DropsBefore += count(l.Where == BeforeTap)
		t.DropsAfter += count(l.Where == AfterTap)
	}
	for _, n := range st.NAKs {
		if n.Timer != 0 {
			t.RNRs++
			t.RNRsSeen += count(n.Frame != 0)
		} else if n.Code == syndromeNAK {
			t.NAKs++
			t.NAKsSeen += count(n.Frame != 0)
		}
	}
	for _, h := range st.CE {
		t.CESeen += count(h.Where == BeforeTap && h.Frame != 0)
	}
	for _, c := range st.CNPs {
		t.CNPsSeen += count(c.Frame != 0)
	}
	for _, m := range st.Messages {
		t.MessagesDone += count(m.Done)
	}
}

func count(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
