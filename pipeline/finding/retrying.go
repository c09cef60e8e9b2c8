package finding

import (
	"strconv"

	"github.com/rocelens/rocelens/pipeline/record"
)

// minRetrying is how many tries in a row at one PSN are worth a word where the
// capture ends among them.
const minRetrying = 3

// retriesAtEnd says whether the stream ends with a run of tries at one PSN, as
// far as the capture goes.
func (st *stream) retriesAtEnd() bool {
	r := &st.Retrying
	if r.N < minRetrying || st.GaveUp > 0 || st.s.State != record.StateOpen || st.resp.Packets == 0 {
		return false
	}
	return st.resp.Last < r.Last || r.RNR && r.RNRAt > r.Last && st.resp.Last == r.RNRAt
}

// retryingAtEnd says whose last word in the capture is a run of tries at one
// PSN: whether they gave up it does not show.
func retryingAtEnd(f *Facts) []record.Finding {
	var h hits
	timeouts, rnrs := 0, 0
	for st := range f.whole() {
		r := &st.Retrying
		if !st.retriesAtEnd() {
			continue
		}
		status := "12"
		if r.RNR {
			status = "13"
			rnrs++
		} else {
			timeouts++
		}
		say := "began again " + times(r.N) + " in a row at PSN " + strconv.FormatUint(uint64(r.PSN), 10)
		more := record.Evidence{{Key: "psn", Value: uint64(r.PSN)}, {Key: "tries", Value: r.N}, {Key: "status", Value: status}}
		if left := f.Last - r.Last; f.Last > 0 && left >= 0 {
			say += ", and the capture ends " + duration(left) + " after the last try"
			more = append(more, record.Fact{Key: "left_ns", Value: left})
		}
		h = append(h, hit{stream: st, n: r.N, say: say, more: more, first: r.First, has: true})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := h.who() + " sent " + h.whom() + " the same packet again " + times(h[0].n) + " in a row, and was not seen to get through: it may have given up"
	if len(h) > 1 {
		title = h.who() + " sent " + h.whom() + " the same packets again and again, and were not seen to get through: they may have given up"
	}
	const timeout, rnr = "12, IBV_WC_RETRY_EXC_ERR", "13, IBV_WC_RNR_RETRY_EXC_ERR"
	status := timeout
	switch {
	case timeouts == 0:
		status = rnr
	case rnrs > 0:
		status = timeout + ", or " + rnr + " where RNR NAKs came"
	}
	return h.finding(record.Warning, "retrying-at-end", title,
		"The capture ends too early to tell."+h.each()+" If the retry count was used up, the application gets work completion status "+status+", and the QP is dead: see its log, "+
			"or a capture that goes on for longer."+h.story(f),
		record.Evidence{{Key: "requesters", Value: uint64(len(h))}})
}
