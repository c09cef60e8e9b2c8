package finding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// psns is "PSN 7" or "PSN 7 to 9".
func psns(r record.Range) string {
	s := "PSN " + strconv.FormatUint(uint64(r.First), 10)
	if r.Last != r.First {
		s += " to " + strconv.FormatUint(uint64(r.Last), 10)
	}
	return s
}

// psnRange is that as evidence.
func psnRange(r record.Range) record.Evidence {
	return record.Evidence{{Key: "first", Value: uint64(r.First)}, {Key: "last", Value: uint64(r.Last)}}
}

// gaveUp are the requesters that gave up, unanswered or refused.
func gaveUp(f *Facts, rnr bool) (h hits) {
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.RetryExhausted)
		if !ok || d.RNR != rnr {
			continue
		}
		st, ok := f.wholeStream(e)
		if !ok {
			continue
		}
		more := record.Evidence{{Key: "unanswered", Value: psnRange(d.Unanswered)}}
		say := psns(d.Unanswered) + " unanswered"
		if d.HasAcked {
			more = append(more, record.Fact{Key: "last_acked", Value: uint64(d.LastAcked)})
			say = "acknowledged up to PSN " + strconv.FormatUint(uint64(d.LastAcked), 10) + ", " + say
		}
		more = append(more, record.Fact{Key: "tries", Value: uint64(d.Tries)}, record.Fact{Key: "spacing_ns", Value: d.Spacing},
			record.Fact{Key: "frame", Value: e.Frame})
		say += ", sent again " + times(uint64(d.Tries))
		if d.Spacing > 0 && d.Tries > 1 {
			say += " about " + duration(d.Spacing) + " apart"
		}
		if quiet := e.Time - st.resp.Last; st.resp.Packets > 0 && quiet > 0 && !rnr {
			say += ", with nothing from there for " + duration(quiet)
			more = append(more, record.Fact{Key: "quiet_ns", Value: quiet})
		}
		h = append(h, hit{stream: st, n: 1, more: more, say: say, first: e.Frame, has: true})
	}
	return h
}

// each says it of the first few of several, one sentence a stream.
func (h hits) each() string {
	s := ""
	for i := range h[:min(len(h), maxNamed)] {
		s += " " + h[i].name() + ": " + h[i].say + "."
	}
	if n := len(h) - maxNamed; n > 0 {
		s += " And " + plural(uint64(n), "more stream") + "."
	}
	return s
}

// passed says where those requests went, if it is the same for all.
func passed(h hits) string {
	var n [record.NumPlaces]uint64
	for i := range h {
		for p, k := range h[i].req.Places {
			n[p] += k
		}
	}
	switch sum(n[:]) {
	case 0:
	case n[record.AfterTap]:
		return " The requests passed this tap each time: they were lost behind it, or their answers before it."
	case n[record.BeforeTap]:
		return " Requests were missing at this tap each time: they were lost before it."
	}
	return ""
}

// retryExhausted says who gave up for want of an answer.
func retryExhausted(f *Facts) []record.Finding {
	h := gaveUp(f, false)
	if len(h) == 0 {
		return nil
	}
	unseen := 0 // requesters whose answers are not in the capture
	for i := range h {
		if h[i].s.Failure == record.FailedUnseen {
			unseen++
		}
	}
	const died = "work completion status 12, IBV_WC_RETRY_EXC_ERR (NCCL prints \"error 12\", \"transport retry counter exceeded\")"
	title := h.who() + " gave up on " + h.whom() + ": retries exhausted without an answer"
	detail := "The application gets " + died + ", and the QP is dead." + h.each() + passed(h)
	const ready = "status 13, IBV_WC_RNR_RETRY_EXC_ERR: the responder had no receive buffer, and the network did its work"
	switch {
	case unseen == len(h):
		title = h.who() + " gave up on " + h.whom() + ": retries exhausted, with answers that are not in this capture"
		detail = "If there were none, the application gets " + died + ". If they were RNR NAKs, it gets " + ready + ". The QP is dead." + h.each() + passed(h)
	case unseen > 0:
		detail += " Of " + count(uint64(unseen)) + " of them the answers are not in this capture. If they were RNR NAKs, it is " + ready + "."
	}
	detail += f.afterwards(h) + " See whether the responder was up at that moment and its QP existed (a QP that is gone drops what comes, without a word), then the path: link state, routes, a " +
		"firewall on UDP 4791, an MTU that is too small, a pause storm." + h.story(f)
	return h.finding(record.Critical, "retry-exhausted", title, detail, record.Evidence{{Key: "requesters", Value: uint64(len(h))}})
}

// who gave up: "10.0.0.1", "4 QPs of 10.0.0.1" or "4 requesters".
func (h hits) who() string {
	for i := range h {
		if h[i].from().Addr != h[0].from().Addr {
			return plural(uint64(len(h)), "requester")
		}
	}
	if len(h) == 1 {
		return host(h[0].from())
	}
	return plural(uint64(len(h)), "QP") + " of " + host(h[0].from())
}

// whom they gave up on: "10.0.0.2/0x12", "10.0.0.2" or "3 hosts".
func (h hits) whom() string {
	hosts := make(map[decode.Addr]bool)
	for i := range h {
		hosts[h[i].to().Addr] = true
	}
	switch {
	case len(h) == 1:
		return endpoint(h[0].to())
	case len(hosts) == 1:
		return host(h[0].to())
	}
	return plural(uint64(len(hosts)), "host")
}

// ends tell sessions apart, whichever of a QP's lives it is.
type ends struct{ a, b record.Endpoint }

func endsOf(s *record.Session) ends { return ends{s.A, s.B} }

// afterwards says whether other QPs of the hosts that did not answer sent
// anything after that: whether it is the host, or the QP.
func (f *Facts) afterwards(h hits) string {
	if f.alone || f.live { // others are not there to look at
		return ""
	}
	type peer struct {
		name  string
		since int64 // its last packet to any of them
		until int64 // when the last requester gave up on it
		given int   // requesters that did
		other bool  // it was talked to meanwhile on other sessions
		alive bool  // it sent something on other sessions after that
		late  bool  // or on those
	}
	peers := make(map[decode.Addr]*peer)
	var order []*peer
	given := make(map[ends]bool, len(h))
	for i := range h {
		x := &h[i]
		given[endsOf(x.s)] = true
		p := peers[x.to().Addr]
		if p == nil {
			p = &peer{name: host(x.to())}
			peers[x.to().Addr] = p
			order = append(order, p)
		}
		p.since, p.until = max(p.since, x.resp.Last), max(p.until, x.first.Time)
		p.given++
	}
	for _, s := range f.Sessions.Figures() {
		for _, side := range [...]struct {
			end      *record.Endpoint
			sent, to *record.Direction
		}{{&s.A, &s.AToB, &s.BToA}, {&s.B, &s.BToA, &s.AToB}} {
			p := peers[side.end.Addr]
			if p == nil || side.sent.Packets == 0 {
				continue
			}
			after := side.sent.Last > p.until
			if given[endsOf(s)] {
				p.late = p.late || after
				continue
			}
			p.other = p.other || side.to.Last > p.since
			p.alive = p.alive || after
		}
	}
	var alive, silent []string
	for _, p := range order {
		switch {
		case p.alive:
			alive = append(alive, p.name)
		case (p.other || p.given > 1) && !p.late:
			silent = append(silent, p.name)
		}
	}
	s := ""
	if len(alive) > 0 {
		s += " Other QPs of " + listed(alive) + " still sent after that: the host and its link were up, so look at the QP and its process first."
	}
	if len(silent) > 0 {
		s += " Nothing came after that from any QP of " + listed(silent) + ": look at the host, its NIC and its link first."
	}
	return s
}

// story is the command that tells the worst of them, where the reader does not
// look at it already, and there is a file.
func (h hits) story(f *Facts) string {
	if f.alone || f.live {
		return ""
	}
	return " `rocelens session --qp " + hex(uint64(h[0].to().QPN), 1) + " --addr " + host(h[0].to()) + " FILE` tells the whole of it."
}

// rnrExhausted says who gave up because the responder was never ready.
func rnrExhausted(f *Facts) []record.Finding {
	h := gaveUp(f, true)
	if len(h) == 0 {
		return nil
	}
	return h.finding(record.Critical, "rnr-exhausted", h.who()+" gave up on "+h.whom()+": never ready (RNR retries exhausted)",
		"The application gets work completion status 13, IBV_WC_RNR_RETRY_EXC_ERR, and the QP is dead."+h.each()+
			" The network did its work: the responder's application posted no receive buffer in time. See what kept it, post more receives, or allow more RNR retries (7 is for ever).",
		record.Evidence{{Key: "requesters", Value: uint64(len(h))}})
}

// remoteCodes are the NAKs that end a QP: what the requester's completion
// says, and what to look at.
var remoteCodes = map[string]struct{ name, status, check string }{
	"invalid_request": {"invalid request (NAK 0x61)", "9, IBV_WC_REM_INV_REQ_ERR",
		"An operation that the responder's QP does not allow or know, a message that is longer than its receive buffer, or packets out of the order of First, Middle, Last."},
	"remote_access": {"remote access error (NAK 0x62)", "10, IBV_WC_REM_ACCESS_ERR",
		"The R_Key, the address range or the permissions do not fit: a memory region that was deregistered too early, or registered without remote write, read or atomic access."},
	"remote_operational": {"remote operational error (NAK 0x63)", "11, IBV_WC_REM_OP_ERR",
		"The responder could not do it: look for errors of its QP and its device (Soft-RoCE sends this where a SEND is longer than the receive buffer)."},
	"invalid_rd_request": {"invalid RD request (NAK 0x64)", "16, IBV_WC_REM_INV_RD_REQ_ERR", "The EE contexts of the reliable datagram channel do not fit."},
}

// remoteError says which requests were refused for good, and what drew it.
func remoteError(f *Facts) []record.Finding {
	var h hits
	var codes []string
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.Nak)
		c, known := remoteCodes[d.Code]
		if !ok || !known {
			continue
		}
		st, ok := f.stream(e)
		if !ok {
			continue
		}
		say := c.name + " at PSN " + strconv.FormatUint(uint64(d.PSN), 10)
		more := record.Evidence{{Key: "code", Value: d.Code}, {Key: "psn", Value: uint64(d.PSN)}, {Key: "frame", Value: e.Frame}}
		if d.Opcode != "" {
			say += ", drawn by " + strings.ReplaceAll(d.Opcode, "_", " ")
			more = append(more, record.Fact{Key: "opcode", Value: d.Opcode})
			if d.Request != nil {
				say += " in frame " + strconv.FormatUint(d.Request.Number, 10)
				more = append(more, record.Fact{Key: "request", Value: *d.Request})
			}
		}
		h = append(h, hit{stream: st, n: max(e.Count, 1), more: more, say: say, first: e.Frame, has: true})
		if !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	if len(h) == 0 {
		return nil
	}
	n := h.sum()
	title := endpoint(h[0].to()) + " refused a request of " + host(h[0].from()) + ": " + remoteCodes[codes[0]].name
	if n > 1 {
		names := make([]string, len(codes))
		for i, c := range codes {
			names[i] = remoteCodes[c].name
		}
		title = plural(n, "request") + " refused for good: " + strings.Join(names, ", ")
	}
	detail := h.each()
	for _, c := range codes {
		r := remoteCodes[c]
		who := "The requester's application"
		if len(codes) > 1 {
			who = "For " + r.name + " the requester's application"
		}
		detail += " " + who + " gets work completion status " + r.status + ", and the QP is dead. " + r.check
	}
	return h.finding(record.Critical, "remote-error", title, strings.TrimSpace(detail)+h.story(f),
		record.Evidence{{Key: "naks", Value: n}, {Key: "codes", Value: codes}})
}

// rnrStall says who was not ready, and what waiting for that cost.
func rnrStall(f *Facts) []record.Finding {
	var h hits
	var timers, wire, spans int64
	most := 0.0
	for st := range f.streams() {
		n := st.resp.RNRNaks
		if n == 0 {
			continue
		}
		say, waited := times(n), st.req.RNRTime
		if f.partly(&st) {
			waited = 0 // what came next may not have been captured
		}
		if waited > 0 {
			say += ", " + duration(waited)
		}
		h.add(st, n, say, record.Evidence{{Key: "rnr_naks", Value: n}, {Key: "waited_ns", Value: waited}}, record.KindRNRNak)
		timers, wire, spans = timers+st.RNRTimers, wire+waited, spans+st.span()
		if span := st.span(); span > 0 {
			most = max(most, float64(waited)/float64(span))
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	severity := record.Warning
	if most >= harmfulWait {
		severity = record.Critical
	}
	title := endpoint(h[0].to()) + " was not ready " + times(n) + " (RNR NAK)"
	who := host(h[0].from())
	if len(h) > 1 {
		title, who = "Responders were not ready "+times(n)+" (RNR NAK), in "+h.between(), "requesters"
	}
	if wire > 0 {
		title += ": " + who + " waited " + duration(wire) + inAll(wire, spans)
	}
	detail := "A SEND, or a WRITE with immediate data, found no receive buffer. This is no loss and no congestion: the receiving application posts too few receives, or too late."
	more := record.Evidence{{Key: "rnr_naks", Value: n}, {Key: "waited_ns", Value: wire}}
	if timers > 0 {
		detail += " The NAKs asked for a wait of " + duration(timers) + " in all"
		if wire > 0 {
			detail += "; " + duration(wire) + " passed until the requester went on"
		}
		detail += "."
		more = append(more, record.Fact{Key: "timers_ns", Value: timers})
	}
	detail += h.worst() + " Post receives earlier or more of them, use a shared receive queue with a limit event, and see whether the receiver's CPU was busy; a shorter RNR timer only makes the wait finer."
	return h.finding(severity, "rnr-stall", title, detail, more)
}
