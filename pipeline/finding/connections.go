package finding

import (
	"slices"
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// rejectHints are what to look at for the common reasons of a REJ (IBTA volume
// 1, 12.6.7.2), whose texts say what they mean.
var rejectHints = map[uint16]string{
	8:  "See whether the service runs, and has the port that was asked for.",
	10: "Look for an earlier session of that QP without a disconnect: the responder still has it.",
	12: "Check the address and the GID index.",
	26: "Compare the MTUs of both ends and of the path.",
	28: "The application's own log tells why: authentication, limits, versions.",
}

// refused says which connections CM rejected.
func refused(f *Facts) []record.Finding {
	var h hits
	reasons := make(map[uint16]bool)
	hints := ""
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.Reject)
		if !ok {
			continue
		}
		st, ok := f.stream(e)
		if !ok {
			continue
		}
		st.index = 0 // A is who asked, whoever sent the REJ
		say := "reason " + strconv.Itoa(int(d.Reason)) + ", " + d.Text
		h = append(h, hit{
			stream: st, n: max(e.Count, 1), say: say, first: e.Frame, has: true,
			more: record.Evidence{{Key: "reason", Value: uint64(d.Reason)}, {Key: "text", Value: d.Text}, {Key: "frame", Value: e.Frame}},
		})
		if hint := rejectHints[d.Reason]; hint != "" && !reasons[d.Reason] {
			hints += " " + hint
		}
		reasons[d.Reason] = true
	}
	if len(h) == 0 {
		return nil
	}
	n := h.sum()
	title := host(h[0].to()) + " refused a connection from " + host(h[0].from()) + ": " + h[0].say
	if n > 1 {
		title = plural(n, "connection") + " refused"
		if len(reasons) == 1 {
			title += ": " + h[0].say
		}
	}
	severity, also := record.Info, " The same service took other connections in this capture: it was stopped since, or not started yet."
	accepted := f.accepted()
	for i := range h {
		if s := h[i].s; s.CM == nil || !accepted[serviceOf(s)] {
			severity, also = record.Warning, ""
		}
	}
	return h.finding(severity, "connection-refused", title,
		"The connection manager's REJ says so."+h.each()+hints+also, record.Evidence{{Key: "connections", Value: n}})
}

// service is one that takes connections, at its host.
type service struct {
	host decode.Addr
	id   uint64
}

func serviceOf(s *record.Session) service { return service{s.B.Addr, s.CM.ServiceID} }

// accepted are the services that took a connection.
func (f *Facts) accepted() map[service]bool {
	all := make(map[service]bool)
	for _, s := range f.Sessions.Notable() {
		if s.CM != nil && s.CM.Replied != 0 && s.CM.RejectReason == 0 {
			all[serviceOf(s)] = true
		}
	}
	return all
}

// unansweredConnect says which connections were asked for in vain.
func unansweredConnect(f *Facts) []record.Finding {
	var h hits
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.Connect)
		if !ok || d.Answered || f.sampling.most {
			continue
		}
		st, ok := f.stream(e)
		if !ok || st.s.CM != nil && st.s.CM.RejectReason != 0 {
			continue
		}
		st.index = 0
		say := plural(uint64(d.Requests), "request")
		h = append(h, hit{
			stream: st, n: uint64(d.Requests), say: say, first: e.Frame, has: true,
			more: record.Evidence{{Key: "requests", Value: uint64(d.Requests)}, {Key: "service_id", Value: hex(d.Service, 16)}, {Key: "frame", Value: e.Frame}},
		})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := host(h[0].from()) + " asked " + host(h[0].to()) + " for a connection " + times(h[0].n) + ", without an answer"
	if len(h) > 1 {
		title = plural(uint64(len(h)), "connection") + " asked for without an answer"
	}
	return h.finding(record.Warning, "connection-unanswered", title,
		"CM's REQ was seen, and neither REP nor REJ."+h.worst()+" See whether the other host is up and reachable for RoCE (the same address, VLAN and GID type, UDP 4791 not filtered), whether its CM "+
			"service runs, and whether this tap would see the way back.",
		record.Evidence{{Key: "connections", Value: uint64(len(h))}})
}

// minUnanswered is how many request packets without an answer are worth a
// finding, if none was sent again: fewer may just be the last of the capture.
const minUnanswered = 5

// minUnansweredTime is for how long, in nanoseconds, at least, and
// answersLonger how many times the longest answer elsewhere.
const (
	minUnansweredTime = 10_000_000
	answersLonger     = 4
)

// longestAnswer is the longest that any request waited for its answer.
func (f *Facts) longestAnswer() (longest int64) {
	for s := range f.Sessions.All() {
		for _, d := range [...]*record.Direction{&s.AToB, &s.BToA} {
			if l := &d.AckLatency; l.Count > 0 {
				longest = max(longest, l.Max)
			}
			if l := &d.MessageLatency; l.Count > 0 {
				longest = max(longest, l.Max)
			}
		}
	}
	return longest
}

// unanswered says which QPs send requests that nobody answers.
func unanswered(f *Facts) []record.Finding {
	done := make(map[string]bool) // retry-exhausted tells it better
	for i := range f.Signs {
		if e := &f.Signs[i]; e.Detail.Kind() == record.KindRetryExhausted {
			done[e.Session] = true
		}
	}
	var h hits
	enough := int64(-1)
	for st := range f.whole() {
		n := st.requests()
		if st.s.State != record.StateUnanswered || done[st.s.ID] || n == 0 {
			continue
		}
		if st.tries() == 0 { // an answer may just be on its way
			if n < minUnanswered {
				continue
			}
			if enough < 0 {
				enough = max(minUnansweredTime, answersLonger*f.longestAnswer())
			}
			if max(f.Last, st.req.Last)-st.req.First < enough {
				continue
			}
		}
		h = append(h, hit{stream: st, n: n, say: plural(n, "request packet"), more: record.Evidence{{Key: "packets", Value: n}}, first: st.s.First, has: true})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := "No answer to any of " + plural(h[0].n, "request packet") + " from " + endpoint(h[0].from()) + " to " + endpoint(h[0].to())
	if len(h) > 1 {
		title = "No answer at all to the requests of " + plural(uint64(len(h)), "QP")
	}
	return h.finding(record.Warning, "unanswered", title,
		"Other packets do come back from there, and no answer to these."+h.worst()+" Either the responder's QP does not exist or is in error, or the requests are lost behind this tap.",
		record.Evidence{{Key: "qps", Value: uint64(len(h))}})
}

// apart sorts the sessions whose other half was not found into those where
// nothing at all comes back between the two hosts, and those where something
// does and can't be told to belong to them.
func apart(f *Facts) (oneSided, unpaired hits) {
	if f.Forgotten > 0 {
		return nil, nil // the other half may have been forgotten
	}
	for st := range f.streams() {
		s := st.s
		if s.Pairing.Method != record.PairNone || !st.reliable() || s.Service == record.ServiceUnknown || st.req.Packets == 0 || st.resp.Packets > 0 {
			continue
		}
		x := hit{
			stream: st, n: st.req.Packets, say: plural(st.req.Packets, "packet"), more: record.Evidence{{Key: "packets", Value: st.req.Packets}},
			first: s.First, has: true,
		}
		switch {
		case s.OneSided:
			oneSided = append(oneSided, x)
		case s.State != record.StateUnanswered: // which is a finding of its own
			unpaired = append(unpaired, x)
		}
	}
	return oneSided, unpaired
}

// oneSided says that the capture has one direction only.
func oneSided(f *Facts) []record.Finding {
	h, _ := apart(f)
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := "Only the packets from " + endpoint(h[0].from()) + " to " + endpoint(h[0].to()) + " are in this capture, nothing comes back"
	if len(h) > 1 {
		title = "Only one direction of " + plural(uint64(len(h)), "flow") + " is in this capture"
	}
	unsaid := ""
	if slices.ContainsFunc(h, func(x hit) bool { return x.s.State == record.StateFailed }) {
		unsaid = " Or it said nothing at all: a requester gave up."
	}
	return h.finding(record.Info, "one-sided", title,
		"What the other side said was not captured, so causes, latencies and most losses can't be told."+unsaid+h.worst()+saidAlone(h)+" Mirror both directions. On a host, tcpdump sees RDMA only "+
			"where the NIC hands it a copy (a sniffer device, or the RDMA device itself).",
		record.Evidence{{Key: "packets", Value: h.sum()}})
}

// saidAlone is what NAKs say though what they are for is not in the capture.
func saidAlone(h hits) string {
	var n uint64
	for i := range h {
		n += h[i].req.Naks[decode.NakSequence]
	}
	if n == 0 {
		return ""
	}
	to := host(h[0].from())
	if len(h) > 1 {
		to = "those who sent them"
	}
	return " " + plural(n, "NAK") + " here " + isAre(n, "says", "say") + " that requests were lost, or overtaken, on their way to " + to + "."
}

// unpaired says that flows were not matched to sessions.
func unpaired(f *Facts) []record.Finding {
	_, h := apart(f)
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := "The answers to " + endpoint(h[0].from()) + " to " + endpoint(h[0].to()) + " could not be told from other traffic"
	if len(h) > 1 {
		title = plural(uint64(len(h)), "flow") + " could not be matched with the other direction"
	}
	return h.finding(record.Info, "unpaired", title,
		"A BTH names the destination QP alone, so the two directions of a connection are matched by connection set-up, acknowledges and ports. Nothing was sure enough here, and no guess was made."+
			h.worst()+" A capture that has the set-up of the connection, or more of its traffic, settles it.",
		record.Evidence{{Key: "packets", Value: h.sum()}})
}
