package finding

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// minLateSamples is how many ACK latencies it takes to say how long answers take.
const minLateSamples = 8

// timer is the requester's ACK timeout, or what it waited before its tries.
func (st *stream) timer() int64 {
	if t := st.s.AckTimeout[st.index]; t > 0 {
		return t
	}
	if n := st.req.Tries[record.CauseTimeout]; n > 0 {
		return st.wait() / int64(n)
	}
	return 0
}

// late says that a requester went back on timeouts alone, and nothing is seen to
// be lost: no NAK, nothing missing, and where nothing was sent twice answers
// that take as long as its timer. Requests are known to have arrived in half of
// the tries or more, and long answers take half the timer; or in one try, and
// answers take longer than the timer in the median.
func (st *stream) late() bool {
	n := st.req.Tries[record.CauseTimeout]
	l, at := &st.req.Lost, &st.Timeouts
	latency := &st.req.AckLatency
	switch {
	case n == 0 || st.tries() != n || st.GaveUp > 0 || !st.reliable():
		return false
	case l.BeforeTap+l.AfterTap+l.Corrupt+st.resp.ReadResponses.LostBeforeTap+st.resp.ICRCBad+st.resp.Naks[decode.NakSequence] > 0:
		return false
	case sum(at[:]) != n || at[record.BeforeTap] > 0 || at[record.Answer] == 0 || latency.Count < minLateSamples:
		return false
	}
	timer := st.timer()
	return latency.Quantile(0.5) >= timer || 2*at[record.Answer] >= n && 2*latency.Quantile(0.99) >= timer
}

// answerLate says where timers ran out although nothing was lost.
func answerLate(f *Facts) []record.Finding {
	var h hits
	var again, answered, marked, data, sent uint64
	for st := range f.whole() {
		if !st.late() {
			continue
		}
		n, w := st.req.Tries[record.CauseTimeout], st.wait()
		latency := &st.req.AckLatency
		ce, of := st.marked()
		if of == 0 {
			of = dataOf(st.req, st.resp)
		}
		a := st.again().Packets
		again, answered, marked, data, sent = again+a, answered+st.Timeouts[record.Answer], marked+ce, data+of, sent+st.requests()
		h.add(st, n, times(n)+", ACKs up to "+duration(latency.Quantile(0.99)), record.Evidence{
			{Key: "timeouts", Value: n}, {Key: "waited_ns", Value: w}, {Key: "packets", Value: a}, {Key: "ack_p50_ns", Value: latency.Quantile(0.5)},
			{Key: "ack_p99_ns", Value: latency.Quantile(0.99)}, {Key: "ack_timeout_ns", Value: st.timer()}, {Key: "marked", Value: ce},
		})
		h.tried(record.TimeoutTry)
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	severity, waited, cost := h.waitCost()
	title := "ACK timers ran out " + times(n) + " and no packet is seen to be lost: answers came late (" + h.between() + ")" + cost
	x := &h[0]
	detail := "Of " + x.name() + ", ACKs take " + duration(x.req.AckLatency.Quantile(0.5)) + " in the median and " + duration(x.req.AckLatency.Quantile(0.99)) +
		" at the 99th percentile, and the timer is " + duration(x.timer()) + ". No NAK came, nothing is missing, and in " + part(answered, n) + " requests are known to have arrived. " +
		plural(again, "packet") + isAre(again, " was", " were") + " sent again in vain (" + percent(again, sent) + " of the requests)."
	if marked > 0 {
		detail += " " + percent(marked, data) + " of this data is marked CE: it waits in queues."
	}
	detail += h.worst()
	stalled := f.stood()
	detail += stalled + " It is queues that are too deep, on the way there or back, or a host that is slow to answer. Raise the ACK timeout well above what answers take under load, or see to the queues: who sends to the " +
		"same host at the same time, and the ECN thresholds on the way there."
	return h.finding(severity, "answer-late", title, detail, record.Evidence{
		{Key: "timeouts", Value: n}, {Key: "waited_ns", Value: waited}, {Key: "packets", Value: again}, {Key: "share", Value: share(again, max(sent, again))},
		{Key: "answered", Value: answered}, {Key: "marked", Value: marked},
	})
}

// part is "all of the tries" or "5 of the 7 tries".
func part(n, of uint64) string {
	switch {
	case n != of:
		return count(n) + " of the " + count(of) + " tries"
	case n == 1:
		return "that try"
	}
	return "all of the tries"
}

// stood is what to say of streams that stood still while others waited for
// their timers.
func (f *Facts) stood() string {
	n := uint64(len(f.behind.streams))
	if n == 0 {
		return ""
	}
	return " Meanwhile " + plural(n, "other stream") + " stood still, for " + duration(f.behind.lasted) + " in all: a job whose members wait for one another stalls as a whole."
}
