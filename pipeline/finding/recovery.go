package finding

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Above these, what is a warning becomes critical.
const (
	harmfulLoss  = 0.001 // of the packets: RoCE's throughput breaks down from about there
	harmfulAgain = 0.05  // of the packets, sent again
	harmfulWait  = 0.1   // of a stream's time, spent waiting for timers

	// minHarmful is how many losses or steps back of one stream it takes: a
	// single one is a large share of a short capture.
	minHarmful = 5
)

// wait is how long a requester waited for its ACK timer, in ns.
func (st *stream) wait() int64 {
	if st.req.Silences == 0 && st.req.SilenceTime > 0 {
		return st.req.SilenceTime
	}
	return st.Waited
}

// waits adds up those of several.
func (h hits) waits() (ns, spans int64, most float64) {
	for i := range h {
		w, span := h[i].wait(), h[i].span()
		ns, spans = ns+w, spans+span
		if span > 0 {
			most = max(most, float64(w)/float64(span))
		}
	}
	return ns, spans, most
}

// waitCost is how bad it is that they waited for their ACK timers, for how long
// they did, and what to say of that behind a title.
func (h hits) waitCost() (severity record.Severity, ns int64, say string) {
	ns, span, most := h.waits()
	severity = record.Warning
	if most >= harmfulWait {
		severity = record.Critical
	}
	if ns > 0 {
		say = ": " + duration(ns) + inAll(ns, span)
	}
	return severity, ns, say
}

// again is what a requester sent again, RNR NAKs aside.
func (st *stream) again() record.Amount {
	a := record.Amount{Packets: st.req.Retransmitted.Packets, Bytes: st.req.Retransmitted.Bytes}
	a.Packets -= min(a.Packets, st.RNRResent.Packets)
	a.Bytes -= min(a.Bytes, st.RNRResent.Bytes)
	return a
}

// selective says whether all that the requester sent again was what was
// missing.
func (st *stream) selective() bool {
	m := &st.req.Modes
	return m[record.Selective] > 0 && m[record.GoBackN]+m[record.GoBack0]+m[record.ModeUnknown] == 0
}

// causes says why requesters went back, "11 on a NAK and 1 on a timeout". One
// cause for all of it goes without its number.
func causes(h hits) string {
	var n [record.NumCauses]uint64
	kinds := 0
	for i := range h {
		for c, k := range h[i].req.Tries {
			n[c] += k
		}
	}
	n[record.CauseRNR] = 0
	for _, k := range n {
		if k > 0 {
			kinds++
		}
	}
	return enumerate(func(c counted) string {
		if kinds == 1 {
			return c.name
		}
		return count(c.n) + " " + c.name
	},
		counted{n[record.CauseNak], "on a NAK"}, counted{n[record.CauseRead], "for a missing READ response"},
		counted{n[record.CauseTimeout], "on a timeout"}, counted{n[record.CauseUnknown], "for reasons that this tap can't see"})
}

// places says where the packets of those tries went, in a sentence.
func places(h hits) string {
	var n [record.NumPlaces]uint64
	for i := range h {
		for p, k := range h[i].req.Places {
			n[p] += k
		}
	}
	n[record.Refused] = 0
	return atPlaces(&n, h.lostBefore() > 0, "everything had passed this tap")
}

// atPlaces is "In 3 of the tries packets were missing at this tap, in one
// everything had passed this tap." passed says the latter, and missing
// that packets are seen to be.
func atPlaces(n *[record.NumPlaces]uint64, missing bool, passed string) string {
	all := sum(n[:])
	before := "packets were missing at this tap"
	if !missing {
		before = "it had broken off here in the middle of a message: the rest was lost before this tap, or not sent yet"
	}
	first := " of the tries"
	s := clauses(func(c counted) string {
		switch c.n {
		case all:
			if all == 1 {
				return c.name
			}
			return "in all of them " + c.name
		}
		of := first
		first = ""
		if c.n == 1 {
			return "in one" + of + " " + c.name
		}
		return "in " + count(c.n) + of + " " + c.name
	},
		counted{n[record.BeforeTap], before},
		counted{n[record.AfterTap], passed},
		counted{n[record.Answer], "the first packet sent again had arrived before, and its answer was lost or late"},
		counted{n[record.PlaceUnknown], "nothing tells where packets were lost, if any were"})
	if s == "" {
		return ""
	}
	return " " + strings.ToUpper(s[:1]) + s[1:] + "."
}

// lostBefore is how many packets are seen to be lost ahead of the tap.
func (h hits) lostBefore() (n uint64) {
	for i := range h {
		n += lostBefore(&h[i].stream)
	}
	return n
}

// goBackN says what was sent again, and what that cost.
func goBackN(f *Facts) []record.Finding {
	var h hits
	var again, wasted record.Amount
	var tries, timeouts, lost, sent, naks, onNak, zero uint64
	worst := 0.0
	for st := range f.whole() {
		n := st.tries()
		if n == 0 || st.selective() || st.onlyGaveUp() || st.late() { // answer-late has those
			continue
		}
		a := st.again()
		say := plural(a.Packets, "packet") + ", " + percent(a.Packets, st.requests())
		h.add(st, a.Packets, say, record.Evidence{
			{Key: "packets", Value: a.Packets}, {Key: "tries", Value: n}, {Key: "lost", Value: st.req.Lost.BeforeTap + st.req.Lost.AfterTap},
		})
		h.tried(record.AnyTry)
		again.Packets, again.Bytes = again.Packets+a.Packets, again.Bytes+a.Bytes
		wasted.Packets += st.req.Wasted.Packets - min(st.req.Wasted.Packets, st.RNRWasted)
		tries, timeouts, sent = tries+n, timeouts+st.req.Tries[record.CauseTimeout], sent+st.requests()
		lost += st.req.Lost.BeforeTap + st.req.Lost.AfterTap + st.resp.ReadResponses.LostBeforeTap
		zero += st.req.Modes[record.GoBack0]
		if st.resp.RNRNaks == 0 { // else some NAKs only repeat those
			naks, onNak = naks+st.resp.Naks[decode.NakSequence], onNak+st.req.Tries[record.CauseNak]
		}
		if n >= minHarmful {
			worst = max(worst, share(a.Packets, st.requests()))
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	waited, _, _ := h.waits()
	severity := record.Warning
	if worst >= harmfulAgain {
		severity = record.Critical
	}
	title := host(h[0].from()) + " sent " + plural(again.Packets, "packet") + " again to " + endpoint(h[0].to())
	who := "it"
	if len(h) > 1 {
		title = plural(again.Packets, "packet") + isAre(again.Packets, " was", " were") + " sent again in " + h.between()
		who = "requesters"
	}
	title += " (" + percent(again.Packets, sent) + " of the requests): " + who + " went back " + times(tries) + ", " + causes(h)
	detail := ""
	if timeouts < tries || lost > 0 { // else ack-timeout says where
		detail = places(h)
	}
	if lost > 0 {
		detail += " " + plural(lost, "packet") + isAre(lost, " was", " were") + " seen to be lost"
		if again.Packets > lost {
			detail += ", and " + strconv.FormatFloat(float64(again.Packets)/float64(lost), 'f', 1, 64) + " were sent again for each"
		}
		detail += "."
	}
	if wasted.Packets > lost && lost > 0 {
		detail += " " + count(wasted.Packets) + " of the packets sent again had passed this tap before: go-back-N sends everything from the lost one on."
	}
	if zero > 0 {
		detail += " Where it began again was the first packet of the message " + times(zero) + " (go-back-0), as with old NICs."
	}
	if naks >= minIgnored && 2*onNak < naks {
		detail += " Only " + count(onNak) + " of " + count(naks) + " sequence NAKs set a requester going: after the others it went on waiting for its timer."
	}
	switch {
	case lost > 0:
	case timeouts == tries:
		detail += " No packet was seen to be lost. These are the timeouts of ack-timeout, which says how long they took."
	case allAfterTap(h):
		detail += " Whether requests were lost behind it, or answers on their way to it, this does not tell."
	default:
		detail += " No packet was seen to be lost."
	}
	detail += h.worst()
	if lost > 0 {
		detail += " It ends where the loss ends."
	}
	return h.finding(severity, "go-back-n", title, strings.TrimSpace(detail), record.Evidence{
		{Key: "packets", Value: again.Packets}, {Key: "share", Value: share(again.Packets, max(sent, again.Packets))}, {Key: "bytes", Value: again.Bytes},
		{Key: "tries", Value: tries}, {Key: "lost", Value: lost}, {Key: "wasted", Value: wasted.Packets}, {Key: "waited_ns", Value: waited},
	})
}

// allAfterTap says whether all of what was sent again had passed this tap, and
// nothing tells that it had arrived.
func allAfterTap(h hits) bool {
	for i := range h {
		if h[i].tries() != h[i].req.Places[record.AfterTap] {
			return false
		}
	}
	return true
}

// minIgnored is how many NAKs it takes to say that most had no effect.
const minIgnored = 10

// inAll is ", 12.0 % of the time", or nothing where there is no time.
func inAll(part, whole int64) string {
	if s := timeShare(part, whole); s != "" {
		return ", " + s + " of the time"
	}
	return ""
}

// selectiveRepeat says that what was lost, and nothing else, was sent again.
func selectiveRepeat(f *Facts) []record.Finding {
	var h hits
	for st := range f.whole() {
		if st.selective() && st.tries() > 0 {
			n := st.again().Packets
			h.add(st, n, plural(n, "packet"), record.Evidence{{Key: "packets", Value: n}, {Key: "tries", Value: st.tries()}})
			h.tried(record.AnyTry)
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	return h.finding(record.Info, "selective-repeat",
		plural(n, "packet")+isAre(n, " was", " were")+" sent again in "+h.between()+", and no more than what was missing (selective repeat)",
		"The requester goes back for the missing packets alone and then on where it was, so a loss costs little more than itself."+h.worst(),
		record.Evidence{{Key: "packets", Value: n}})
}

// ackTimeout says how often requesters waited until a timer ran out.
func ackTimeout(f *Facts) []record.Finding {
	var h hits
	var at [record.NumPlaces]uint64
	for st := range f.whole() {
		n := st.req.Tries[record.CauseTimeout]
		if n == 0 || st.onlyGaveUp() || st.late() { // answer-late has those
			continue
		}
		w := st.wait()
		say := times(n)
		if w > 0 {
			say += ", " + duration(w)
		}
		h.add(st, n, say, record.Evidence{{Key: "timeouts", Value: n}, {Key: "waited_ns", Value: w}})
		h.tried(record.TimeoutTry)
		for p, k := range st.Timeouts {
			at[p] += k
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	severity, waited, cost := h.waitCost()
	title := host(h[0].from()) + " waited for " + endpoint(h[0].to()) + " until its ACK timer ran out, " + times(n)
	if len(h) > 1 {
		title = "Requesters waited until their ACK timers ran out, " + times(n) + " in " + h.between()
	}
	title += cost
	detail := "Nothing made the requester go back before: the last packet of a burst, a READ's only response or the answer was lost, the answer came too late, or a NAK got lost or was not acted on."
	if sum(at[:]) == n && at[record.Answer] < n { // else answer-lost says it
		detail += atPlaces(&at, h.lostBefore() > 0, "everything had passed this tap, so that it was lost behind it, or the answer before it")
	}
	detail += f.stood()
	more := record.Evidence{
		{Key: "timeouts", Value: n}, {Key: "waited_ns", Value: waited},
		{Key: "stalled_streams", Value: uint64(len(f.behind.streams))}, {Key: "stalled_ns", Value: f.behind.lasted},
	}
	detail += h.worst()
	if x := h.longestOutage(); x != nil {
		o := &x.Outage
		detail += " " + x.name() + " began again " + times(o.N) + " in a row at PSN " + strconv.FormatUint(uint64(o.PSN), 10) + ", for " + duration(o.Lasted()) +
			": no answer came meanwhile. Look for an outage then, before the timer: a link that flapped, a route that changed, a host that stood still."
		more = append(more, record.Fact{Key: "outage", Value: record.Evidence{
			{Key: "session", Value: x.s.ID}, {Key: "psn", Value: uint64(o.PSN)}, {Key: "tries", Value: o.N}, {Key: "lasted_ns", Value: o.Lasted()}, {Key: "first", Value: o.First},
		}})
	}
	detail += " A timer costs far more than a NAK: see whether the QPs' ACK timeout suits this network"
	if h.lostBefore() > 0 || at[record.AfterTap] > 0 {
		detail += ", once the loss has been dealt with"
	}
	detail += "."
	return h.finding(severity, "ack-timeout", title, detail, more)
}

// Tries in a row at one PSN are an outage from minOutage on where they are a
// quarter of all by timeout, and from sureOutage on whatever there is beside
// them: at a loss of a few per cent one packet is lost three times now and then.
const (
	minOutage  = 3
	sureOutage = 6
)

// longestOutage is the stream that got nothing through for longest, nil where
// none was cut off.
func (h hits) longestOutage() (longest *hit) {
	for i := range h {
		o := &h[i].Outage
		if o.N < minOutage || o.N < sureOutage && 4*o.N < h[i].n {
			continue
		}
		if longest == nil || o.Lasted() > longest.Outage.Lasted() {
			longest = &h[i]
		}
	}
	return longest
}

func sum(all []uint64) (n uint64) {
	for _, v := range all {
		n += v
	}
	return n
}

// minShare is one in how many tries has to be for a lost answer to be worth a
// finding: the last try of an outage is one at times.
const minShare = 10

// answersLost are the stream's tries that answer-lost has. A receiver that takes
// packets in order alone answers what comes late twice: reordering says it.
func (st *stream) answersLost() uint64 {
	n := st.req.Places[record.Answer]
	n -= min(n, st.AnswersAfter) // lost-after-tap says it
	if n == 0 || minShare*n < st.tries() || st.req.Reordered > 0 || st.late() {
		return 0
	}
	return n
}

// answerLost says that requests arrived and were sent again all the same.
func answerLost(f *Facts) []record.Finding {
	var h hits
	var partly uint64
	for st := range f.whole() {
		if n := st.answersLost(); n > 0 {
			more := record.Evidence{{Key: "tries", Value: n}}
			if l := &st.req.AckLatency; l.Count > 0 {
				more = append(more, record.Fact{Key: "ack_p99_ns", Value: l.Quantile(0.99)})
			}
			if t := st.s.AckTimeout[st.index]; t > 0 {
				more = append(more, record.Fact{Key: "ack_timeout_ns", Value: t})
			}
			h.add(st, n, times(n), more)
			h.tried(record.AnsweredTry)
			partly += st.Partly
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	title := host(h[0].from()) + " sent again what " + endpoint(h[0].to()) + " had received, " + times(n) + ": the answer was lost, or came too late"
	if len(h) > 1 {
		title = "Requests were sent again " + times(n) + " although they had been received, in " + h.between() + ": the answers were lost, or came too late"
	}
	detail := "No request was lost there."
	if partly > 0 {
		detail = "The first packet sent again had arrived before. What came behind it was not all acknowledged, and may have been lost."
	}
	if x := &h[0]; x.req.AckLatency.Count > 0 {
		detail += " Of " + x.name() + ", ACKs take " + duration(x.req.AckLatency.Quantile(0.5)) + " in the median and " + duration(x.req.AckLatency.Quantile(0.99)) + " at the 99th percentile"
		if t := x.s.AckTimeout[x.index]; t > 0 {
			detail += ", and its timeout is " + duration(t)
		}
		detail += "."
	}
	detail += " Look at the way back: ACKs have a DSCP and a queue of their own at times. Where nothing is dropped there, the ACK timeout is too short for how long answers take under load." + h.worst()
	return h.finding(record.Warning, "answer-lost", title, detail, record.Evidence{{Key: "tries", Value: n}})
}
