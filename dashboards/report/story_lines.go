package report

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// leadWidth is the width of the columns before what happened.
const leadWidth = 14 + 12 + len("  ") + 10

// tell makes the lines: each event, what it caused indented below it, and runs
// of traffic between them.
func (n *narrator) tell() {
	c := n.Chapter
	s := c.Session
	n.last = n.start
	packets := s.AToB.Packets+s.BToA.Packets > 0
	opened, closed := !packets, !packets
	pending := make(map[uint8]*record.Event) // episodes whose tries are not all told
	told := make(map[uint8]uint32)           // tries of it
	gaveUp := make(map[uint8]bool)
	for i := 0; i < len(c.Events); {
		e := &c.Events[i]
		if !opened && !e.Frame.Before(s.First) {
			n.line(s.First.Time, s.First, 0, n.opening())
			opened = true
		}
		if !closed && s.Last.Before(e.Frame) {
			n.traffic(i)
			n.line(s.Last.Time, s.Last, 0, n.closing())
			closed = true
		} else {
			n.traffic(i)
		}
		if run := n.run(i); run > minRun {
			n.tellRun(i, run)
			i += run
			continue
		}
		i++
		switch d := e.Detail.(type) {
		case *record.Episode:
			// It stands where its first try does, and is told when all of them
			// are.
			if told[e.Stream] < d.Tries {
				pending[e.Stream] = e
				continue
			}
			n.episode(e)
			told[e.Stream] = 0
		case *record.Try:
			told[e.Stream] = d.Number
			n.line(e.Time, e.Frame, indent(d), eventText(s, e))
			if p := pending[e.Stream]; p != nil && d.Number >= p.Detail.(*record.Episode).Tries {
				n.episode(p)
				pending[e.Stream], told[e.Stream] = nil, 0
			}
		case record.Failed:
			if gaveUp[e.Stream] || d.Code != "" { // the event before it said it
				continue
			}
			n.line(e.Time, e.Frame, 0, eventText(s, e))
		default:
			if _, ok := d.(record.RetryExhausted); ok {
				gaveUp[e.Stream] = true
			}
			n.line(e.Time, e.Frame, 0, eventText(s, e))
		}
	}
	for stream := range uint8(2) {
		if p := pending[stream]; p != nil {
			n.episode(p)
		}
	}
	if !opened {
		n.line(s.First.Time, s.First, 0, n.opening())
	}
	n.traffic(len(c.Events))
	if !closed {
		n.line(s.Last.Time, s.Last, 0, n.closing())
	}
}

// opening says how the session begins in this capture.
func (n *narrator) opening() string {
	if n.Session.CM != nil && n.Session.CM.Requested > 0 {
		return "first packet"
	}
	return "first packet: the connection was there before this capture, or was set up by other means"
}

// closing says how it ends, and for how long nothing more came.
func (n *narrator) closing() string {
	text := "last packet"
	switch s := n.Session; s.State {
	case record.StateFailed:
		text += ": " + failure(s)
	case record.StateClosed:
		text += ": the session is closed"
	case record.StateUnanswered, record.StateOpen:
	}
	if rest := n.end - n.Session.Last.Time; rest >= restShown {
		return text + "; the capture goes on for " + duration(rest)
	}
	return text + " in this capture"
}

// restShown is how long a capture has to go on after a session for that to
// tell anything, in ns.
const restShown = 1_000_000

// indent is how far a try stands below what caused it.
func indent(d *record.Try) int {
	switch d.Cause {
	case record.CauseNak, record.CauseRNR, record.CauseRead:
		return 1
	case record.CauseTimeout, record.CauseUnknown:
	}
	if d.Number > 1 {
		return 1
	}
	return 0
}

// episode says below its tries how it went.
func (n *narrator) episode(e *record.Event) {
	d := e.Detail.(*record.Episode)
	text := "all sent again up to " + psn(d.Range.Last) + ", " + duration(d.Took) + " after the first sign"
	if !d.Recovered {
		text = "it did not get through up to " + psn(d.Range.Last)
	}
	if d.Tries > 1 {
		text += ", in " + count(uint64(d.Tries)) + " tries"
	}
	if d.Lost > 0 {
		text += ", " + plural(d.Lost, "packet") + " lost"
	}
	n.note(2, text)
}

// line writes one thing that happened.
func (n *narrator) line(at int64, frame record.FrameRef, depth int, text string) {
	gap := ""
	if n.begun && at > n.last {
		gap = "+" + duration(at-n.last)
	}
	n.last, n.begun = at, true
	lead := pad("+"+seconds(at-n.start), 14) + pad(gap, 12) + "  " + padRight(n.frameNumber(frame), 10)
	n.lines = append(n.lines, wrap(lead+strings.Repeat("  ", depth), text, n.opt.Width))
}

// note writes what is no event, without a time.
func (n *narrator) note(depth int, text string) {
	n.lines = append(n.lines, wrap(strings.Repeat(" ", leadWidth)+strings.Repeat("  ", depth), text, n.opt.Width))
}

// traffic sums up what passed before the event with that index.
func (n *narrator) traffic(i int) {
	if i >= len(n.Traffic) || n.Traffic[i].Empty() {
		return
	}
	n.note(1, "... "+trafficText(n.Session, &n.Traffic[i]))
}

// trafficText is "40 packets to 10.0.0.2 (40 kB), 20 back".
func trafficText(s *record.Session, t *pipeline.Traffic) string {
	var parts []string
	for way, to := range []*record.Endpoint{&s.B, &s.A} {
		if t.Packets[way] == 0 {
			continue
		}
		p := plural(t.Packets[way], "packet") + " to " + hostName(to)
		if len(parts) > 0 {
			p = count(t.Packets[way]) + " back"
		}
		if t.Payload[way] > 0 {
			p += " (" + byteSize(t.Payload[way]) + ")"
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

// minRun is how many events that are alike are told one by one.
const minRun = 4

// run is how many events from i on are alike: RNR NAKs and the tries after
// them, tries by timeout, packets that came late, and the like.
func (n *narrator) run(i int) int {
	kind := alike(&n.Events[i])
	if kind == "" {
		return 1
	}
	j := i + 1
	for j < len(n.Events) && alike(&n.Events[j]) == kind {
		j++
	}
	return j - i
}

// alike names events of which many in a row are told as one.
func alike(e *record.Event) string {
	stream := streamName(e.Stream)
	switch d := e.Detail.(type) {
	case record.RNRNak:
		return "rnr" + stream
	case record.Nak:
		if d.Refusal {
			return "rnr" + stream
		}
	case *record.Try:
		if d.Cause == record.CauseRNR {
			return "rnr" + stream
		}
		if d.Cause == record.CauseTimeout {
			return "timeout" + stream
		}
	case *record.Episode:
		if d.Cause == record.CauseRNR {
			return "rnr" + stream
		}
		if d.Cause == record.CauseTimeout {
			return "timeout" + stream
		}
	case *record.CE, *record.CNP:
		return "ecn" + stream
	case record.Reorder, record.Undecided, record.Duplicate, record.Corrupt, record.CaptureLoss, record.Silence, record.ProtocolError:
		return string(e.Detail.Kind()) + stream
	}
	return ""
}

// tellRun tells events that are alike: the first, how many more, the last.
func (n *narrator) tellRun(i, run int) {
	s := n.Session
	events := n.Events[i : i+run]
	var rnr, tries, marks, cnps, others uint64
	var resent uint64
	var sum pipeline.Traffic
	var episodes []*record.Event
	for j := range events {
		switch d := events[j].Detail.(type) {
		case record.RNRNak:
			rnr += max(events[j].Count, 1)
		case *record.CE:
			marks += events[j].Count
		case *record.CNP:
			cnps += events[j].Count
		case *record.Try:
			tries++
			resent += d.Resent.Packets
		case *record.Episode:
			episodes = append(episodes, &events[j])
		case record.Nak:
		default:
			others += max(events[j].Count, 1)
		}
		if j > 0 && i+j < len(n.Traffic) {
			for way := range sum.Packets {
				sum.Packets[way] += n.Traffic[i+j].Packets[way]
				sum.Payload[way] += n.Traffic[i+j].Payload[way]
			}
		}
	}
	first, last := &events[0], &events[run-1]
	n.line(first.Time, first.Frame, 0, eventText(s, first))
	var parts []string
	if rnr > 0 {
		parts = append(parts, plural(rnr, "RNR NAK")+" in all")
	}
	if tries > 0 {
		t := count(tries) + " times it went back"
		if tries == 1 {
			t = "once it went back"
		}
		parts = append(parts, t+" and sent "+plural(resent, "packet")+" again")
	}
	if marks > 0 {
		parts = append(parts, plural(marks, "mark")+" in all")
	}
	if cnps > 0 {
		parts = append(parts, plural(cnps, "CNP")+" in all")
	}
	if others > 0 {
		parts = append(parts, count(others)+" of these in all")
	}
	text := "... and so on for " + duration(last.Time-first.Time) + ": " + strings.Join(parts, ", ")
	if !sum.Empty() {
		text += "; meanwhile " + trafficText(s, &sum)
	}
	n.note(1, text)
	if _, ok := last.Detail.(*record.Episode); ok && run > 1 {
		last = &events[run-2]
	}
	n.line(last.Time, last.Frame, 1, eventText(s, last))
	if len(episodes) == 1 {
		n.episode(episodes[0])
	}
}
