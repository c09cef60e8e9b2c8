package track_test

import (
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// judgeStream compares one requester's PSN space.
func judgeStream(c *complaints, truth *scenario.Truth, s *scenario.SessionTruth, side int, f *stream) {
	st := s.Streams[side]
	again := f.req.Retransmitted
	equal(c, "fills", again.Fills, st.Seen.Fills)
	equal(c, "repeats", again.Repeats, st.Seen.Repeats)
	equal(c, "sent again", again.Packets, st.Seen.Fills+st.Seen.Repeats)
	if truth.SessionCount > 1 && st.Sent.First > 0 && len(st.Messages) == 0 {
		return // a large capture, which lists nothing
	}
	judgeMessages(c, st, f)
	judgeNaks(c, st, f)
	judgeLosses(c, st, f)
	if s.Service == scenario.UC || s.Service == scenario.UD {
		return
	}
	judgeTries(c, st, f)
	judgeEpisodes(c, st, f)
	judgeGaveUp(c, truth, s, st, f)
	var wasted, bytes uint64
	for _, t := range st.Tries {
		wasted += uint64(t.Wasted)
		bytes += t.Bytes
	}
	equal(c, "wasted", f.req.Wasted.Packets, wasted)
	if st.Seen.Hidden == 0 {
		equal(c, "bytes sent again", again.Bytes, bytes)
	}
	if late := lates(st); f.req.Reordered+f.req.Undecided != late {
		c.add("reordered: found %d and %d undecided, truth %d", f.req.Reordered, f.req.Undecided, late)
	}
}

// lates are the packets of a stream that others overtook ahead of the tap.
func lates(st *scenario.StreamTruth) uint64 {
	n := st.Seen.Late
	for _, h := range st.Reorders {
		if h.Kind == "answer" && h.Where == scenario.BeforeTap && h.Frame != 0 {
			n++
		}
	}
	return n
}

var kinds = map[scenario.MessageKind]record.MessageKind{
	scenario.Send: record.Send, scenario.SendImm: record.Send, scenario.SendInv: record.Send,
	scenario.Write: record.Write, scenario.WriteImm: record.Write,
	scenario.Read: record.Read, scenario.CmpSwap: record.Atomic, scenario.FetchAdd: record.Atomic,
}

// judgeMessages compares messages and their latencies.
func judgeMessages(c *complaints, st *scenario.StreamTruth, f *stream) {
	var sent [record.NumMessageKinds]uint64
	var whole, least, most, ended int64
	for _, m := range st.Messages {
		if m.EndFrame != 0 {
			ended++
		}
		if m.StartFrame == 0 {
			continue
		}
		sent[kinds[m.Kind]]++
		if m.EndFrame != 0 {
			if whole == 0 || m.Latency < least {
				least = m.Latency
			}
			most = max(most, m.Latency)
			whole++
		}
	}
	equal(c, "messages", f.req.Messages.Sent, sent)
	// Of a message that began before the capture, or whose beginning it lost,
	// the end may show.
	within(c, "completed", f.req.Messages.Completed, uint64(whole), uint64(ended))
	l := &f.req.MessageLatency
	equal(c, "message latencies", l.Count, uint64(whole))
	if l.Count > 0 && whole > 0 {
		equal(c, "least message latency", l.Min, least)
		equal(c, "greatest message latency", l.Max, most)
	}
}

// judgeNaks compares the NAKs in the file.
func judgeNaks(c *complaints, st *scenario.StreamTruth, f *stream) {
	var naks [5]uint64
	var rnr, refusals uint64
	for _, n := range st.NAKs {
		switch {
		case n.Frame == 0:
		case n.Timer != 0:
			rnr++
		default:
			naks[n.Code&0x1f]++
			if n.Quirk && refused(st, n) {
				refusals++
			}
		}
	}
	equal(c, "NAKs", f.resp.Naks, naks)
	equal(c, "RNR NAKs", f.resp.RNRNaks, rnr)
	var called uint64
	for _, n := range f.naks {
		if n.Refusal {
			called++
		}
	}
	equal(c, "NAKs after RNR NAKs", called, refusals)
}

// refused says whether the file has an RNR NAK ahead of the NAK that came of it,
// and the requester had not acted on that yet.
func refused(st *scenario.StreamTruth, n *scenario.NAK) bool {
	return slices.ContainsFunc(st.NAKs, func(r *scenario.NAK) bool {
		return r.Timer != 0 && r.PSN == n.PSN && r.Frame != 0 && r.Frame < n.Frame && !slices.ContainsFunc(st.Tries, func(t *scenario.Try) bool {
			return t.Visible && t.AtTap == "rnr" && t.NAKPSN == n.PSN && r.Frame < t.Frame && t.Frame < n.Frame
		})
	})
}

// judgeLosses compares where packets went.
func judgeLosses(c *complaints, st *scenario.StreamTruth, f *stream) {
	var before, after, corrupt, responses, capture uint64
	for _, l := range st.Drops {
		switch {
		case l.Kind == "answer" && l.Visible:
			responses++
		case l.Kind != "request":
		case l.Where == scenario.BeforeTap && (l.Visible || l.Deduced):
			before++
		case l.Where == scenario.AfterTap && l.Visible:
			after++
		}
	}
	for _, l := range st.Corruptions {
		switch {
		case l.Kind != "request":
		case l.Where == scenario.BeforeTap && (l.Visible || l.Deduced):
			before++
			corrupt++
		case l.Where == scenario.AfterTap && l.Visible:
			after++
		}
	}
	for _, m := range st.CaptureLosses {
		if m.Visible {
			capture++
		}
	}
	equal(c, "lost before the tap", f.req.Lost.BeforeTap, before)
	equal(c, "lost, corrupt", f.req.Lost.Corrupt, corrupt)
	equal(c, "lost by the capture", f.req.Lost.Capture, capture)
	equal(c, "responses lost before the tap", f.resp.ReadResponses.LostBeforeTap, responses)
	// A READ or an atomic asked again where its answer is due is one loss, of
	// the request or of the answer.
	within(c, "lost after the tap", f.req.Lost.AfterTap, after, after+asked(st))
}

// asked are the tries that begin with a READ or an atomic.
func asked(st *scenario.StreamTruth) (n uint64) {
	for _, t := range st.Tries {
		if !t.Visible {
			continue
		}
		for _, m := range st.Messages {
			if k := kinds[m.Kind]; (k == record.Read || k == record.Atomic) && (t.PSN-m.FirstPSN)&0xffffff <= (m.LastPSN-m.FirstPSN)&0xffffff {
				n++
			}
		}
	}
	return n
}

var causes = map[string]record.Cause{
	"nak": record.CauseNak, "rnr": record.CauseRNR, "read": record.CauseRead, "timeout": record.CauseTimeout, "unknown": record.CauseUnknown,
}

// judgeTries compares each step back that shows.
func judgeTries(c *complaints, st *scenario.StreamTruth, f *stream) {
	left := slices.Clone(f.tries)
	var byCause [record.NumCauses]uint64
	for _, t := range st.Tries {
		if !t.Visible {
			continue
		}
		byCause[causes[t.AtTap]]++
		i := slices.IndexFunc(left, func(y triedAt) bool { return y.frame == t.Frame })
		if i < 0 {
			c.add("try %d of frame %d: not found", t.Pass, t.Frame)
			continue
		}
		judgeTry(c, t, left[i])
		left = slices.Delete(left, i, i+1)
	}
	for _, y := range left {
		c.add("try of frame %d, PSN %d: there was none, %v at %v", y.frame, y.PSN, y.Cause, y.Place)
	}
	equal(c, "tries by cause", f.req.Tries, byCause)
}

func judgeTry(c *complaints, t *scenario.Try, y triedAt) {
	at := c.at
	defer func() { c.at = at }()
	c.at += " try of frame " + itoa(y.frame)
	equal(c, "cause", y.Cause.String(), t.AtTap)
	if t.PlaceVisible {
		equal(c, "place", y.Place.String(), t.Place)
	}
	equal(c, "PSN", y.PSN, t.PSN)
	equal(c, "wasted", y.Wasted.Packets, uint64(t.Wasted))
	equal(c, "packets", y.Resent.Packets, uint64(t.Fills+t.Repeats))
	if t.Fills+t.Repeats == t.Packets {
		equal(c, "bytes", y.Resent.Bytes, t.Bytes)
	}
	switch y.Mode {
	case record.ModeUnknown: // the pass was broken off
	case record.Selective, record.GoBack0:
		equal(c, "mode", y.Mode.String(), string(t.Mode))
	case record.GoBackN:
		// Going back to the first packet of a message shows where a NAK names
		// another one, and selective repair where there is more to send.
		if y.PSN == y.Max-1 || t.Mode == scenario.GoBack0 && (t.AtTap != "nak" || t.PSN == t.NAKPSN) {
			break
		}
		equal(c, "mode", y.Mode.String(), string(t.Mode))
	}
}

// judgeEpisodes: an episode of the tracker is one of the truth, or several in
// between of which nothing was acknowledged: it goes on until then.
func judgeEpisodes(c *complaints, st *scenario.StreamTruth, f *stream) {
	var visible []*scenario.Episode
	for _, e := range st.Episodes {
		if e.Visible {
			visible = append(visible, e)
		}
	}
	equal(c, "episodes by count", f.req.Episodes, uint64(len(f.episodes)))
	for _, e := range f.episodes {
		first := uint32(0)
		for n := uint32(0); n < e.Tries; {
			if len(visible) == 0 {
				c.add("an episode of %d tries from PSN %d: there was none", e.Tries, e.Range.First)
				return
			}
			v := visible[0]
			visible = visible[1:]
			shown := uint32(0)
			for _, i := range v.Tries {
				if t := st.Tries[i]; t.Visible {
					if shown++; n+shown == 1 {
						first = t.PSN
					}
				}
			}
			if start := st.Tries[v.Tries[0]].PSN; n > 0 && psnDiff(start, first) > 0 {
				c.add("an episode from PSN %d goes on at %d, where something was acknowledged", first, start)
			}
			if n += shown; n > e.Tries {
				c.add("an episode of %d tries from PSN %d: truth %d", e.Tries, e.Range.First, n)
				return
			}
		}
	}
	if len(visible) > 0 {
		c.add("%d episodes not found", len(visible))
	}
}

// judgeGaveUp: where a requester gave up and the capture goes on for long enough
// to see that no retry follows, that is said, with what it tried.
func judgeGaveUp(c *complaints, truth *scenario.Truth, s *scenario.SessionTruth, st *scenario.StreamTruth, f *stream) {
	var last *scenario.Try // of those of one PSN with which it ended
	tries := uint32(0)
	for _, t := range st.Tries {
		switch {
		case !t.Visible:
		case last != nil && last.PSN == t.PSN:
			tries++
		default:
			last, tries = t, 1
		}
	}
	gaveUp := strings.HasSuffix(s.Why, "retry_exceeded") && state(truth, s) == record.StateFailed && last != nil && last.PSN == st.UnackedPSN
	switch {
	case len(f.gaveUp) > 1 || len(f.gaveUp) == 1 && !gaveUp:
		c.add("%d times the requester gave up: %+v", len(f.gaveUp), f.gaveUp[0])
		return
	case len(f.gaveUp) == 0:
		if gaveUp {
			c.add("that the requester gave up was not found")
		}
		return
	}
	x := &f.gaveUp[0]
	equal(c, "unanswered", x.Unanswered.First, st.UnackedPSN)
	equal(c, "last unanswered", x.Unanswered.Last, (st.NextPSN-1)&0xffffff)
	equal(c, "tries at the end", x.Tries, tries)
	equal(c, "refused at the end", x.RNR, last.AtTap == "rnr")
	if wait := s.AckTimeout; !x.RNR && (x.Spacing < wait-wait/100 || x.Spacing > wait+wait/100) {
		c.add("%d ns between tries, truth %d", x.Spacing, wait)
	}
}

func psnDiff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }
