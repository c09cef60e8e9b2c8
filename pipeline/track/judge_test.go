package track_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// complaints are the ways in which a result differs from the truth.
type complaints struct {
	list []string
	at   string // what is looked at
}

func (c *complaints) add(format string, args ...any) {
	c.list = append(c.list, c.at+": "+fmt.Sprintf(format, args...))
}

// equal complains where what was found is not the truth.
func equal[T comparable](c *complaints, what string, found, truth T) {
	if found != truth {
		c.add("%s: found %v, truth %v", what, found, truth)
	}
}

// within complains where less or more was found than can be.
func within(c *complaints, what string, found, least, most uint64) {
	if found < least || found > most {
		c.add("%s: found %d, truth %d to %d", what, found, least, most)
	}
}

// judge compares a result with the truth. Where the tap can't know, it must
// not invent.
func judge(r *pipeline.Result, truth *scenario.Truth) []string {
	c := new(complaints)
	matched := match(r, truth)
	for i, s := range truth.Sessions {
		c.at = fmt.Sprintf("session %d", s.ID)
		judgeSession(c, truth, s, &matched[i])
		for j := range s.Streams {
			c.at = fmt.Sprintf("session %d stream %c", s.ID, 'a'+j)
			if st := matched[i].stream(r, j); st != nil {
				judgeStream(c, truth, s, j, st)
			}
		}
	}
	c.at = "all"
	judgeStrangers(c, r, truth)
	judgeCounters(c, r, truth)
	return c.list
}

// captured counts what the file has of what a side of a session sent.
func captured(s *scenario.SessionTruth, side int) (packets uint64, exact bool) {
	exact = true
	for j, st := range s.Streams {
		if j == side {
			packets += st.Seen.Requests
		} else {
			packets += st.Seen.Answers
		}
		exact = exact && len(st.Messages) > 0 == (st.Sent.First > 0)
		for _, l := range st.Corruptions {
			if l.Where == scenario.BeforeTap && l.Frame != 0 && (l.Kind == "request") == (j == side) {
				packets++
			}
		}
		for _, n := range st.CNPs {
			if n.Frame != 0 && n.From == sideName(side) {
				packets++
			}
		}
	}
	return packets, exact
}

func sideName(side int) string { return [...]string{"a", "b"}[side] }

// judgeSession compares what both streams share.
func judgeSession(c *complaints, truth *scenario.Truth, s *scenario.SessionTruth, f *found) {
	var both [2]uint64
	for side := range 2 {
		n, exact := captured(s, side)
		both[side] = n
		fl := f.flows[side]
		switch {
		case fl == nil && n > 0 && len(s.Streams) > 0:
			c.add("what %s sent was not found, %d packets", sideName(side), n)
		case fl != nil && exact:
			equal(c, "packets of "+sideName(side), fl.sent.Packets, n)
		}
		if fl == nil {
			continue
		}
		if s.Service == "" || len(s.Streams) == 0 {
			continue
		}
		equal(c, "service", fl.s.Service.String(), string(s.Service))
		from, to := ends(s, side)
		mine, other := fl.s.A, fl.s.B
		if fl.stream == 1 {
			mine, other = other, mine
		}
		if mine.HasQPN && mine.QPN != from.QPN || other.HasQPN && other.QPN != to.QPN {
			c.add("paired wrongly: %#x with %#x, truth %#x with %#x", mine.QPN, other.QPN, from.QPN, to.QPN)
		}
		judgeMarks(c, s, side, fl)
		equal(c, "protocol errors of "+sideName(side), fl.sent.ProtocolErrors, 0)
		if truth.Tap.Twice != "" {
			equal(c, "duplicates of the mirror", fl.sent.Duplicates.Capture, n)
		} else {
			equal(c, "duplicates of the mirror", fl.sent.Duplicates.Capture, 0)
		}
		equal(c, "duplicates of the network, sent by "+sideName(side), fl.sent.Duplicates.Network, copies(s, side))
	}
	if both[0] > 0 && both[1] > 0 && !f.paired() {
		c.add("not paired")
	}
	for _, fl := range f.flows {
		if fl != nil {
			equal(c, "state", fl.s.State, state(truth, s))
			equal(c, "one-sided", fl.s.OneSided, oneSided(truth, s))
			equal(c, "failure", fl.s.Failure, failure(truth, s))
			break
		}
	}
}

// state is what a session's state looks like at the tap.
func state(truth *scenario.Truth, s *scenario.SessionTruth) record.State {
	closed := s.CM != nil && slices.ContainsFunc(s.CM.Messages, func(m scenario.CMFrame) bool { return m.Message == "DREQ" && m.Frame != 0 })
	heard := s.Service == scenario.UC || s.Service == scenario.UD || s.CM != nil && s.CM.Result == "connected"
	sent := false
	for _, st := range s.Streams {
		heard = heard || st.Seen.Answers > 0
		sent = sent || st.Seen.Requests > 0
	}
	switch {
	case strings.HasPrefix(s.Why, "remote_"):
		return record.StateFailed
	case s.State == "failed" && sent && heard && truth.Last-s.End > 2*s.AckTimeout:
		return record.StateFailed // the file goes on
	case closed || anotherLife(truth, s):
		return record.StateClosed
	case sent && !heard && !oneSided(truth, s):
		return record.StateUnanswered
	}
	return record.StateOpen
}

// oneSided says whether nothing of what should come back is in the capture.
func oneSided(truth *scenario.Truth, s *scenario.SessionTruth) bool {
	var both [2]bool // what a's host sent, and what b's did
	for _, o := range truth.Sessions {
		for side := range 2 {
			if n, _ := captured(o, side); n == 0 {
				continue
			}
			switch from, to := ends(o, side); {
			case from.Addr == s.A.Addr && to.Addr == s.B.Addr:
				both[0] = true
			case from.Addr == s.B.Addr && to.Addr == s.A.Addr:
				both[1] = true
			}
		}
	}
	reliable := s.Service != scenario.UC && s.Service != scenario.UD && s.Service != ""
	replied := s.CM != nil && slices.ContainsFunc(s.CM.Messages, func(m scenario.CMFrame) bool { return m.Message == "REP" && m.Frame != 0 })
	return reliable && both[0] != both[1] && !replied
}

// failure is why a session failed, as far as the tap can know.
func failure(truth *scenario.Truth, s *scenario.SessionTruth) record.Failure {
	if state(truth, s) != record.StateFailed {
		return record.NoFailure
	}
	return map[string]record.Failure{
		"retry_exceeded": record.FailedRetries, "rnr_retry_exceeded": record.FailedRNR,
		"remote_access_error": record.FailedRemoteAccess, "remote_invalid_request": record.FailedInvalidRequest, "remote_operational_error": record.FailedRemoteOperational,
	}[s.Why]
}

// anotherLife says whether the session's QPNs live again.
func anotherLife(truth *scenario.Truth, s *scenario.SessionTruth) bool {
	return slices.ContainsFunc(truth.Sessions, func(o *scenario.SessionTruth) bool {
		return o.Life == s.Life+1 && o.A.Addr == s.A.Addr && o.A.QPN == s.A.QPN && o.B.Addr == s.B.Addr && o.B.QPN == s.B.QPN
	})
}

// copies are the packets of a side of which the file has two that the network
// made.
func copies(s *scenario.SessionTruth, side int) (n uint64) {
	for j, st := range s.Streams {
		for _, h := range st.Duplicates {
			if (h.Kind == "request") == (j == side) && h.Where == scenario.BeforeTap && h.Frame != 0 && h.Copy != 0 {
				n++
			}
		}
	}
	return n
}

// judgeMarks compares CE marks and CNPs of what a side sent.
func judgeMarks(c *complaints, s *scenario.SessionTruth, side int, fl *flowFound) {
	var ce, cnps uint64
	for j, st := range s.Streams {
		for _, h := range st.CE {
			sent := (h.Kind == "request") == (j == side)
			if h.From != "" {
				sent = h.From == sideName(side)
			}
			if h.Where == scenario.BeforeTap && h.Frame != 0 && sent {
				ce++
			}
		}
		for _, n := range st.CNPs {
			if n.Frame != 0 && n.From != sideName(side) {
				cnps++
			}
		}
	}
	equal(c, "CE of "+sideName(side), fl.sent.ECN[3], ce)
	equal(c, "CNPs to "+sideName(side), fl.sent.CNPsReceived, cnps)
}

// judgeStrangers complains of sessions that there were not.
func judgeStrangers(c *complaints, r *pipeline.Result, truth *scenario.Truth) {
	if truth.SessionCount != len(truth.Sessions) {
		return
	}
	known := make(map[flowKey]int)
	for _, s := range truth.Sessions {
		for side := range 2 {
			from, to := ends(s, side)
			known[flowKey{from.Addr, to.Addr, to.QPN}]++
		}
	}
	for k, list := range flows(r) {
		if len(list) > known[k] {
			c.add("%d lives of %v, truth %d", len(list), k, known[k])
		}
	}
	if r.EventsLeftOut > 0 {
		c.add("%d events left out", r.EventsLeftOut)
	}
}
