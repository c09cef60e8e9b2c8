package finding

import "github.com/rocelens/rocelens/pipeline/record"

// lossSeverity is how bad it is to lose so many packets, worst being the
// largest share of a stream that lost minHarmful of them.
func lossSeverity(worst float64) record.Severity {
	if worst >= harmfulLoss {
		return record.Critical
	}
	return record.Warning
}

// senders is how many different hosts sent what the hits are about.
func (h hits) senders() uint64 {
	seen := make(map[string]bool)
	for i := range h {
		seen[host(h[i].from())] = true
	}
	return uint64(len(seen))
}

// lostBeforeTap says what was missing when it should have passed the tap, and
// was sent again.
func lostBeforeTap(f *Facts) []record.Finding {
	var h hits
	var sent, corrupt, responses uint64
	worst := 0.0
	for st := range f.whole() {
		n := st.req.Lost.BeforeTap + st.req.ReadResponses.LostBeforeTap
		if n == 0 || !st.reliable() {
			continue
		}
		all := st.req.Packets + n
		h.add(st, n, count(n)+", "+percent(n, all), record.Evidence{
			{Key: "lost", Value: n}, {Key: "share", Value: share(n, all)}, {Key: "read_responses", Value: st.req.ReadResponses.LostBeforeTap},
		})
		x := &h[len(h)-1]
		x.first, x.has = st.firstMissing()
		sent, corrupt, responses = sent+all, corrupt+min(st.req.Lost.Corrupt, st.req.Lost.BeforeTap), responses+st.req.ReadResponses.LostBeforeTap
		if n >= minHarmful {
			worst = max(worst, share(n, all))
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	from := host(h[0].from())
	if senders := h.senders(); senders > 1 {
		from = plural(senders, "sender")
	}
	title := plural(n, "packet") + isAre(n, " was", " were")
	if corrupt == n {
		title += " damaged between " + from + " and this tap"
	} else {
		title += " lost between " + from + " and this tap"
	}
	title += " (" + percent(n, sent) + ")"
	if len(h) == 1 {
		title += ", on the way to " + endpoint(h[0].to())
	} else {
		title += ", in " + h.between()
	}
	detail := isAre(n, "It was missing here, and was sent again.", "They were missing here, and were sent again.")
	switch {
	case corrupt == n:
		detail = isAre(n, "It", "They") + " came with a wrong ICRC, which receivers drop, and" + isAre(n, " was", " were") + " sent again: see icrc-bad."
	case corrupt > 0:
		detail = count(n-corrupt) + " of them" + isAre(n-corrupt, " was", " were") + " missing here, " + count(corrupt) + " came with a wrong ICRC, which receivers drop: see icrc-bad. All were sent again."
	}
	switch {
	case responses == n:
		detail += isAre(n, " It is a READ response.", " All of them are READ responses.")
	case responses > 0:
		detail += " " + count(responses) + " of them " + isAre(responses, "is a READ response", "are READ responses") + "."
	}
	if corrupt < n {
		detail += f.doubt()
	}
	detail += vantages(h, true) + h.worst() + " Check on each hop from the sender to this tap: "
	if corrupt < n {
		detail += "egress drops of switches in the traffic class of RoCE (is it lossless for the DSCP or priority of these packets?), and "
	}
	detail += "FCS and FEC errors of links."
	return h.finding(lossSeverity(worst), "lost-before-tap", title, detail, record.Evidence{
		{Key: "lost", Value: n}, {Key: "share", Value: share(n, sent)}, {Key: "read_responses", Value: responses}, {Key: "corrupt", Value: corrupt},
	})
}

// firstMissing is the first try for what the requester sent and this tap missed:
// its own for its requests, and the other side's for its READ responses.
func (st *stream) firstMissing() (first record.FrameRef, has bool) {
	if st.req.Lost.BeforeTap > 0 {
		first, has = st.FirstTry(record.LostBeforeTry, record.BrokeOffTry)
	}
	if st.req.ReadResponses.LostBeforeTap > 0 {
		other := streamOf(st.s, 1-st.index)
		if at, ok := other.FirstTry(record.ResponseBeforeTry); ok && (!has || at.Before(first)) {
			first, has = at, true
		}
	}
	return first, has
}

// vantages is where the tap was, where that narrows the loss down.
func vantages(h hits, before bool) string {
	atSender, atReceiver := 0, 0
	for i := range h {
		switch x := &h[i]; {
		case x.s.Vantage == record.VantageRequester && x.index == 0, x.s.Vantage == record.VantageResponder && x.index == 1:
			atSender++
		case x.s.Vantage == record.VantageRequester, x.s.Vantage == record.VantageResponder:
			atReceiver++
		}
	}
	switch {
	case before && atSender == len(h):
		return " No router is between the sender and this tap, so look at its host, its NIC, and the links and switches up to here."
	case !before && atReceiver == len(h):
		return " No router is between this tap and the receiver, so look at the links and switches from here on, its NIC and its host."
	}
	return ""
}

// lostAfterTap says what passed the tap and did not arrive.
func lostAfterTap(f *Facts) []record.Finding {
	var h hits
	var sent, reads, answers uint64
	worst := 0.0
	receivers := make(map[string]bool)
	for st := range f.whole() {
		n := st.req.Lost.AfterTap
		if n == 0 {
			continue
		}
		all := max(st.req.Packets, n)
		if st.ReadsAfter > 0 { // what was lost may have been an answer
			all += st.resp.ReadResponses.Packets
		}
		h.add(st, n, count(n)+", "+percent(n, all), record.Evidence{{Key: "lost", Value: n}, {Key: "share", Value: share(n, all)}})
		h.tried(record.LostAfterTry)
		sent, reads, answers = sent+all, reads+min(n, st.ReadsAfter), answers+min(n, st.AnswersAfter)
		if n >= minHarmful {
			worst = max(worst, share(n, all))
		}
		receivers[host(st.to())] = true
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	lost := "At least " + plural(n, "packet") + isAre(n, " was", " were") + " lost "
	to := host(h[0].to())
	if len(receivers) > 1 {
		to = plural(uint64(len(receivers)), "receiver")
	}
	title := lost + "between this tap and " + to + " (" + percent(n, sent) + ")"
	switch {
	case len(h) > 1:
		title += ", in " + h.between()
	case answers == n:
		title = lost + "between this tap and " + host(h[0].from()) + " (" + percent(n, sent) + "): READ or atomic answers of " + endpoint(h[0].to())
	case reads == n:
		title = lost + "behind this tap (" + percent(n, sent) + "): READ or atomic requests of " + endpoint(h[0].from()) + ", or the answers of " + endpoint(h[0].to())
	default:
		title += ", on the way from " + endpoint(h[0].from())
	}
	detail := isAre(n, "It", "They") + " passed here and did not arrive."
	if reads < n {
		detail += isAre(n, " A NAK asked for it again", " NAKs asked for them again") + ": once for a gap, however long, so there may be more."
	}
	switch {
	case answers == n:
		detail += " The requester asked for " + isAre(n, "it", "them") + " again."
	case reads == n:
		detail += " Whether a request was lost on its way there or an answer on its way back, this does not tell."
	case reads > 0:
		detail += " " + count(reads) + " of them are READ or atomic requests on their way there, or the answers on their way back."
	}
	if reads == 0 {
		detail += vantages(h, false)
	}
	detail += h.worst() + " Check on each hop behind this tap: egress drops of switches in the traffic class of RoCE, FCS and FEC errors of links, and the " +
		"receiver's own drop counters (out of buffer, PCIe back-pressure)."
	return h.finding(lossSeverity(worst), "lost-after-tap", title, detail, record.Evidence{
		{Key: "lost", Value: n}, {Key: "share", Value: share(n, sent)}, {Key: "reads", Value: reads}, {Key: "answers", Value: answers},
	})
}

// manyDestinations are the QPs that send UD packets to more than one QP, or
// can be expected to: a QP numbers its packets whoever they are for, so that
// what a flow misses may have gone elsewhere.
func manyDestinations(f *Facts) map[string]bool {
	flows := make(map[string]int)
	for _, s := range f.Sessions.Figures() {
		if s.Service == record.UD && s.AToB.Packets > 0 {
			flows[endpoint(&s.A)]++
		}
	}
	many := make(map[string]bool)
	for qp, n := range flows {
		if n > 1 {
			many[qp] = true
		}
	}
	return many
}

// missing says what of UC and UD did not come: nobody asks for it again, so
// nothing tells the network's losses from the capture's.
func missing(f *Facts) []record.Finding {
	var h hits
	var sent uint64
	var many map[string]bool
	severity, elsewhere := record.Info, false
	for st := range f.whole() {
		n := st.req.Lost.BeforeTap
		if n == 0 || st.reliable() {
			continue
		}
		all := st.req.Packets + n
		h.add(st, n, count(n)+", "+percent(n, all), record.Evidence{
			{Key: "service", Value: st.s.Service.String()}, {Key: "missing", Value: n}, {Key: "share", Value: share(n, all)},
		})
		sent += all
		if many == nil {
			many = manyDestinations(f)
		}
		if st.s.Service == record.UD && (many[endpoint(st.from())] || st.from().QPN <= 1 || 2*n > all) {
			elsewhere = true
		} else {
			severity = record.Warning
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	title := plural(n, "packet") + " of " + endpoint(h[0].from()) + " to " + endpoint(h[0].to())
	if len(h) > 1 {
		title = plural(n, "packet") + " of " + plural(uint64(len(h)), "flow")
	}
	title += " (" + services(h) + ") never came to this tap (" + percent(n, sent) + " of them)"
	detail := "Their PSNs are missing. UC and UD have no answers and send nothing again, so it can't be told whether the network lost them or the mirror: compare with the receiver's " +
		"counters, or with a capture at another place."
	if _, lost, known := f.Mirrors.Lost(); known && lost > 0 {
		detail += " " + plural(lost, "frame") + isAre(lost, " is", " are") + " missing between the mirror and this capture (mirror-gaps), and these may be among them."
	} else if known {
		detail += " The mirror's sequence numbers have no gap, so they were not lost between it and this capture."
	}
	if elsewhere {
		detail += " A UD QP numbers its packets whoever they are for, so some may have gone to other receivers."
	}
	return h.finding(severity, "uc-ud-missing", title, detail+h.worst(), record.Evidence{{Key: "missing", Value: n}, {Key: "share", Value: share(n, sent)}})
}

func services(h hits) string {
	uc, ud := false, false
	for i := range h {
		uc, ud = uc || h[i].s.Service == record.UC, ud || h[i].s.Service == record.UD
	}
	switch {
	case uc && ud:
		return "UC and UD"
	case ud:
		return "UD"
	}
	return "UC"
}
