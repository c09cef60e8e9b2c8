package groundtruth_test

import (
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// quantity is something that is counted at the tap and elsewhere.
type quantity struct {
	name  string
	title string
	// how says in a sentence what is compared, for docs/ground-truth.md.
	how  string
	want func(testing.TB, *analysed) tally
	got  func(testing.TB, *analysed) tally
}

var (
	rnrNaks = quantity{
		name: "rnr", title: "RNR NAKs",
		how: "RNR NAKs that a host sent, and its `send_rnr_err`.",
		want: func(_ testing.TB, a *analysed) tally {
			return a.truth.counter("send_rnr_err")
		},
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add(host(ip(d.from)), int(d.RNRNaks))
			}
			return sum
		},
	}
	sequenceNaks = quantity{
		name: "naks", title: "sequence NAKs",
		how: "NAKs with code PSN sequence error that a host sent, refusals included, and its `out_of_seq_request`.",
		want: func(_ testing.TB, a *analysed) tally {
			return a.truth.counter("out_of_seq_request")
		},
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add(host(ip(d.from)), int(d.Naks[decode.NakSequence]))
			}
			return sum
		},
	}
	tries = quantity{
		name: "tries", title: "tries",
		how: "Steps back of a requester and its `completer_retry_err`. Of the tries that RNR NAKs cause the counter has the first of each " +
			"refused request, because a sequence NAK follows the RNR NAK; the tap's are counted likewise.",
		want: func(_ testing.TB, a *analysed) tally {
			return a.truth.counter("completer_retry_err")
		},
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add(host(ip(d.from)), d.tries())
			}
			for h, n := range refusedRequests(a) {
				sum.add(h, n)
			}
			return sum
		},
	}
	lostBefore = quantity{
		name: "lost-before", title: "packets lost before the tap",
		how: "Requests, and packets of UC and UD, that were dropped or altered ahead of the tap, by the QP that they went to.",
		want: func(tb testing.TB, a *analysed) tally {
			return countDrops(a.truth.before(tb), classRequest, classUnreliable)
		},
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add(d.toKey(), int(d.Lost.BeforeTap))
			}
			return sum
		},
	}
	responsesLost = quantity{
		name: "responses-lost", title: "READ responses and atomic acknowledges lost before the tap",
		how: "Responses that were dropped ahead of the tap, by the QP that they went to.",
		want: func(tb testing.TB, a *analysed) tally {
			return countDrops(a.truth.before(tb), classResponse)
		},
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add(d.toKey(), int(d.ReadResponses.LostBeforeTap))
			}
			return sum
		},
	}
	ceMarks = quantity{
		name: "ce", title: "CE marks",
		how:  "Packets of sessions with ECN bits CE, by source, and what netem, fq_codel or the switch marked ahead of the tap.",
		want: marks,
		got: func(_ testing.TB, a *analysed) tally {
			sum := make(tally)
			for _, d := range sides(a.res) {
				sum.add("CE", int(d.ECN[ecnCE]))
			}
			return sum
		},
	}
)

// ecnCE is both ECN bits: congestion experienced.
const ecnCE = 3

// refusedRequests counts the different PSNs that RNR NAKs sent requesters back
// to, by the requester's host.
func refusedRequests(a *analysed) tally {
	type refusal struct {
		session string
		stream  uint8
		psn     uint32
	}
	hosts := make(map[refusal]string)
	ends := make(map[string]*record.Session)
	for i := range a.res.Sessions.Len() {
		ends[a.res.Sessions.At(i).ID] = a.res.Sessions.At(i)
	}
	for i := range a.res.Events {
		e := &a.res.Events[i]
		try, ok := e.Detail.(*record.Try)
		s := ends[e.Session]
		if !ok || try.Cause != record.CauseRNR || s == nil {
			continue
		}
		requester := s.A
		if e.Stream == 1 {
			requester = s.B
		}
		hosts[refusal{e.Session, e.Stream, try.PSN}] = host(ip(requester))
	}
	sum := make(tally)
	for _, h := range hosts {
		sum.add(h, 1)
	}
	return sum
}

func countDrops(list []drop, classes ...packetClass) tally {
	sum := make(tally)
	for _, d := range list {
		for _, c := range classes {
			if d.class == c {
				sum.add(d.key(), 1)
			}
		}
	}
	return sum
}
