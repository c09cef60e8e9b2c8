package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

const second = int64(1e9)

func end(last uint64, qpn uint32) record.Endpoint {
	return record.Endpoint{Addr: decode.Addr{Lo: 0xffff_0a000000 | last}, Kind: decode.AddrIPv4, QPN: qpn, HasQPN: true}
}

// session is one of 10,000 packets in two seconds with nothing wrong.
func session(id string, a, b record.Endpoint) record.Session {
	s := record.Session{
		ID: id, Service: record.RC, Version: record.V2, A: a, B: b,
		Pairing: record.Pairing{Method: record.PairAck, Confidence: 1},
	}
	s.AToB = record.Direction{Packets: 10_000, Last: 2 * second}
	s.BToA = record.Direction{Packets: 500, Acks: 500, Last: 2 * second}
	return s
}

func frame(n uint64) record.FrameRef { return record.FrameRef{Number: n, Time: int64(n) * 1000} }

func event(n uint64, session string, d record.Detail) record.Event {
	return record.Event{Time: int64(n) * 1000, Session: session, Frame: frame(n), Count: 1, Detail: d}
}

// TestSessionRules has records of sessions with one thing wrong each.
func TestSessionRules(t *testing.T) {
	type all struct {
		s      []record.Session
		events []record.Event
	}
	clean := func() *all { return &all{s: []record.Session{session("s", end(1, 0x11), end(2, 0x12))}} }
	for _, tc := range []struct {
		name string
		set  func(r *all)
		want string
		has  []string
	}{
		{"nothing", func(*all) {}, "", nil},
		{"go-back-N", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted = record.Retransmitted{Packets: 40, Bytes: 40960, Fills: 12, Repeats: 28}
			d.Wasted = record.Amount{Packets: 28, Bytes: 28672}
			d.Tries = [record.NumCauses]uint64{record.CauseNak: 11, record.CauseTimeout: 1}
			d.Places[record.BeforeTap] = 12
			d.Modes[record.GoBackN] = 12
			d.Lost.BeforeTap = 12
			d.SilenceTime = second / 10
			r.s[0].BToA.Naks[decode.NakSequence] = 11
			r.events = []record.Event{
				event(30, "s", record.Nak{Code: "sequence"}),
				event(31, "s", &record.Try{Cause: record.CauseNak, Place: record.BeforeTap, Mode: record.GoBackN}),
				event(50, "s", &record.Try{Cause: record.CauseTimeout, Place: record.BeforeTap, Mode: record.GoBackN, Silence: second / 10}),
			}
		}, "critical lost-before-tap, warning go-back-n, warning ack-timeout", []string{
			"10.0.0.1 sent 40 packets again to 10.0.0.2/0x12 (0.4 % of the requests): it went back 12 times, 11 on a NAK and 1 on a timeout.",
			"In all of them packets were missing at this tap.", "12 packets were seen to be lost, and 3.3 were sent again for each.", "28 of the packets sent again had passed this tap before",
			"12 packets were lost between 10.0.0.1 and this tap (0.1 %), on the way to 10.0.0.2/0x12.",
			"10.0.0.1 waited for 10.0.0.2/0x12 until its ACK timer ran out, once: 100.0 ms, 5.0 % of the time.", "or was not acted on. Packets were missing at this tap.",
		}},
		{"behind the tap, NAKs ignored", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets = 300
			d.Tries = [record.NumCauses]uint64{record.CauseNak: 5, record.CauseTimeout: 15}
			d.Places[record.AfterTap] = 20
			d.Modes[record.GoBack0] = 20
			d.Lost.AfterTap = 5
			d.SilenceTime = second
			r.s[0].BToA.Naks[decode.NakSequence] = 20
			r.s[0].Vantage = record.VantageResponder
		}, "critical ack-timeout, warning lost-after-tap, warning go-back-n", []string{
			"In all of them everything had passed this tap.", "Only 5 of 20 sequence NAKs set a requester going", "was the first packet of the message 20 times",
			"At least 5 packets were lost between this tap and 10.0.0.2 (0.1 %), on the way from 10.0.0.1/0x11", "No router is between this tap and the receiver",
		}},
		{"answers lost behind the tap", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets, d.Tries[record.CauseRead], d.Modes[record.GoBackN], d.Places[record.Answer], d.Lost.AfterTap = 1, 1, 1, 1, 1
			r.s[0].BToA.ReadResponses.Packets = 99_999
			r.events = []record.Event{event(9, "s", &record.Try{Cause: record.CauseRead, Place: record.Answer, LostAfter: 1, Opcode: "RC_RDMA_READ_REQUEST"})}
		}, "warning lost-after-tap, warning go-back-n", []string{
			"At least 1 packet was lost between this tap and 10.0.0.1 (<0.1 %): READ or atomic answers of 10.0.0.2/0x12. It passed here and did not arrive. The requester asked for it again.",
		}},
		{"selective repeat", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets, d.Tries[record.CauseNak], d.Modes[record.Selective], d.Lost.BeforeTap = 3, 3, 3, 3
		}, "warning lost-before-tap, info selective-repeat", []string{"3 packets were sent again in 10.0.0.1/0x11 to 10.0.0.2/0x12, and no more than what was missing"}},
		{"the answer was lost", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets, d.Tries[record.CauseTimeout], d.Places[record.Answer], d.Modes[record.GoBackN] = 3, 3, 3, 3
			r.s[0].AckTimeout[0] = 67_108_864
			d.AckLatency.Add(1_000_000)
		}, "warning go-back-n, warning ack-timeout, warning answer-lost", []string{
			"10.0.0.1 sent again what 10.0.0.2/0x12 had received, 3 times", "and its timeout is 67.1 ms", "ACKs take 1.0 ms in the median",
		}},
		{"READ responses, of B", func(r *all) {
			r.s[0].BToA.ReadResponses = record.ReadResponses{Packets: 1000, Retransmitted: 4, LostBeforeTap: 2}
			r.s[0].AToB.Tries[record.CauseRead] = 2
			r.s[0].AToB.Places[record.BeforeTap] = 2
			r.s[0].AToB.Modes[record.GoBackN] = 2
			r.s[0].AToB.Retransmitted.Packets = 2
		}, "warning lost-before-tap, warning go-back-n", []string{
			"2 packets were lost between 10.0.0.2 and this tap", "All of them are READ responses.", "it went back twice, for a missing READ response",
		}},
		{"all corrupt", func(r *all) {
			r.s[0].AToB.Lost = record.Lost{BeforeTap: 2, Corrupt: 2}
		}, "warning lost-before-tap", []string{
			"2 packets were damaged between 10.0.0.1 and this tap (<0.1 %), on the way to 10.0.0.2/0x12. They came with a wrong ICRC, which receivers drop, and were sent again: " +
				"see icrc-bad. Check on each hop from the sender to this tap: FCS and FEC errors of links.",
		}},
		{"never ready, of one host", func(r *all) {
			r.s = append(r.s, session("t", end(1, 0x13), end(3, 0x14)))
			r.events = []record.Event{
				event(70, "s", record.RetryExhausted{Unanswered: record.Range{First: 5, Last: 5}, Tries: 3, RNR: true}),
				event(77, "t", record.RetryExhausted{Unanswered: record.Range{First: 6, Last: 6}, Tries: 3, RNR: true}),
			}
		}, "critical rnr-exhausted", []string{"2 QPs of 10.0.0.1 gave up on 2 hosts: never ready (RNR retries exhausted)"}},
		{"two senders, one corrupt", func(r *all) {
			r.s[0].AToB.Lost = record.Lost{BeforeTap: 1, Corrupt: 1}
			r.s[0].BToA.Lost.BeforeTap = 2
			r.s[0].BToA.Packets = 10_000
		}, "warning lost-before-tap", []string{
			"3 packets were lost between 2 senders and this tap (<0.1 %), in both directions of 10.0.0.2/0x12 to 10.0.0.1/0x11",
			"2 of them were missing here, 1 came with a wrong ICRC, which receivers drop: see icrc-bad. All were sent again.", "Most of all: 10.0.0.2/0x12 to 10.0.0.1/0x11 (2, <0.1 %), 10.0.0.1/0x11 to 10.0.0.2/0x12 (1, <0.1 %).",
		}},
		{"RNR", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets, d.Tries[record.CauseRNR], d.Places[record.Refused], d.Modes[record.GoBackN], d.RNRTime = 8, 4, 4, 4, second
			r.s[0].BToA.RNRNaks = 4
			r.events = []record.Event{{Session: "s", Frame: frame(9), Count: 4, Detail: record.RNRNak{Timer: second / 8}}}
		}, "critical rnr-stall", []string{
			"10.0.0.2/0x12 was not ready 4 times (RNR NAK): 10.0.0.1 waited 1.000 s, 50.0 % of the time.",
			"The NAKs asked for a wait of 500.0 ms in all; 1.000 s passed until",
		}},
		{"RNR and losses", func(r *all) {
			d := &r.s[0].AToB
			d.Retransmitted.Packets, d.RNRTime, d.Wasted.Packets, d.Lost.AfterTap = 9, second/100, 8, 1
			d.Tries = [record.NumCauses]uint64{record.CauseRNR: 4, record.CauseNak: 1}
			r.s[0].BToA.RNRNaks = 4
			r.events = []record.Event{event(9, "s", &record.Try{Cause: record.CauseRNR, Resent: record.Amount{Packets: 6}, Wasted: record.Amount{Packets: 6}})}
		}, "warning go-back-n, warning lost-after-tap, warning rnr-stall", []string{
			"10.0.0.1 sent 3 packets again", "it went back once, on a NAK", " 2 of the packets sent again had passed this tap before",
		}},
		{"retries exhausted", func(r *all) {
			r.s[0].State = record.StateFailed
			r.events = []record.Event{event(77, "s", record.RetryExhausted{
				Unanswered: record.Range{First: 1234, Last: 1300}, LastAcked: 1233, HasAcked: true, Tries: 7, Spacing: 540_000_000,
			})}
		}, "critical retry-exhausted", []string{
			"10.0.0.1 gave up on 10.0.0.2/0x12: retries exhausted", "status 12, IBV_WC_RETRY_EXC_ERR", "error 12",
			"10.0.0.1/0x11 to 10.0.0.2/0x12: acknowledged up to PSN 1233, PSN 1234 to 1300 unanswered, sent again 7 times about 540.0 ms apart.",
		}},
		{"two gave up, one without any answer, one refused", func(r *all) {
			r.s = append(r.s, session("t", end(1, 0x13), end(2, 0x14)))
			r.s[1].State = record.StateUnanswered
			r.events = []record.Event{
				event(70, "s", record.RetryExhausted{Unanswered: record.Range{First: 5, Last: 5}, Tries: 1}),
				event(77, "t", record.RetryExhausted{Unanswered: record.Range{First: 6, Last: 6}, Tries: 1}),
				event(78, "t", record.RetryExhausted{Unanswered: record.Range{First: 7, Last: 7}, Tries: 3, RNR: true}),
				event(79, "nobody", record.RetryExhausted{}),
			}
		}, "critical retry-exhausted, critical rnr-exhausted", []string{
			"2 QPs of 10.0.0.1 gave up on 10.0.0.2: retries", "PSN 6 unanswered, sent again once.", "10.0.0.1 gave up on 10.0.0.2/0x14: never ready",
		}},
		{"gave up, and the host lives", func(r *all) {
			r.s = append(r.s, session("t", end(3, 0x13), end(2, 0x14)))
			r.s[0].BToA.Last = second
			r.events = []record.Event{event(1_500_000, "s", record.RetryExhausted{Tries: 7})}
		}, "critical retry-exhausted", []string{
			", with nothing from there for 500.0 ms.", "Other QPs of 10.0.0.2 still sent after that: the host and its link were up",
		}},
		{"gave up on several hosts, which are silent", func(r *all) {
			r.s = append(r.s, session("t", end(3, 0x13), end(2, 0x14)), session("u", end(3, 0x13), end(4, 0x14)))
			for i := range r.s {
				r.s[i].BToA.Last = second
			}
			r.events = []record.Event{event(1_500_000, "s", record.RetryExhausted{Tries: 7}), event(1_600_000, "u", record.RetryExhausted{Tries: 7})}
		}, "critical retry-exhausted", []string{
			"2 requesters gave up on 2 hosts: retries", "Nothing came after that from any QP of 10.0.0.2: look at the host, its NIC and its link first.",
		}},
		{"gave up, and others were idle", func(r *all) {
			r.s = append(r.s, session("t", end(3, 0x13), end(2, 0x14)))
			r.s[0].BToA.Last, r.s[1].AToB.Last, r.s[1].BToA.Last = second, second/2, second/2
			r.events = []record.Event{event(1_500_000, "s", record.RetryExhausted{Tries: 7})}
		}, "critical retry-exhausted", []string{"with nothing from there for 500.0 ms. See whether"}},
		{"gave up, and the answers are not in the capture", func(r *all) {
			s := &r.s[0]
			s.State, s.Failure, s.OneSided, s.Pairing, s.BToA = record.StateFailed, record.FailedUnseen, true, record.Pairing{}, record.Direction{}
			r.events = []record.Event{event(70, "s", record.RetryExhausted{Tries: 3})}
		}, "critical retry-exhausted, info one-sided", []string{
			"10.0.0.1 gave up on 10.0.0.2/0x12: retries exhausted, with answers that are not in this capture", "If there were none, the application gets work completion status 12",
			"If they were RNR NAKs, it gets status 13, IBV_WC_RNR_RETRY_EXC_ERR", "Or it said nothing at all: a requester gave up.",
		}},
		{"one of two, and its answers are not in the capture", func(r *all) {
			r.s = append(r.s, session("t", end(1, 0x13), end(3, 0x14)))
			r.s[1].State, r.s[1].Failure = record.StateFailed, record.FailedUnseen
			r.events = []record.Event{event(70, "s", record.RetryExhausted{Tries: 3}), event(71, "t", record.RetryExhausted{Tries: 3})}
		}, "critical retry-exhausted", []string{"2 QPs of 10.0.0.1 gave up on 2 hosts: retries exhausted without an answer", "Of 1 of them the answers are not in this capture."}},
		{"refused for good", func(r *all) {
			request := frame(8)
			r.events = []record.Event{event(9, "s", record.Nak{Code: "remote_access", PSN: 99, Opcode: "RC_RDMA_READ_REQUEST", Request: &request})}
		}, "critical remote-error", []string{
			"10.0.0.2/0x12 refused a request of 10.0.0.1: remote access error (NAK 0x62).", "remote access error (NAK 0x62) at PSN 99, drawn by RC RDMA READ REQUEST in frame 8.",
			"The requester's application gets work completion status 10, IBV_WC_REM_ACCESS_ERR", "`rocelens session --qp 0x12 --addr 10.0.0.2 FILE`",
		}},
		{"two of them", func(r *all) {
			r.events = []record.Event{event(9, "s", record.Nak{Code: "invalid_request"}), event(10, "s", record.Nak{Code: "remote_operational"})}
		}, "critical remote-error", []string{
			"2 requests refused for good: invalid request (NAK 0x61), remote operational error (NAK 0x63)", "For invalid request (NAK 0x61) the requester's application gets work completion status 9",
		}},
		{"connection refused", func(r *all) {
			r.events = []record.Event{event(3, "s", record.Reject{Reason: 10, Text: "stale connection"})}
			r.events[0].Stream = 1
		}, "warning connection-refused", []string{"10.0.0.2 refused a connection from 10.0.0.1: reason 10, stale connection", "without a disconnect"}},
		{"connection refused, and made", func(r *all) {
			r.s[0].CM = &record.CM{ServiceID: 5, RejectReason: 8}
			made := session("t", end(1, 0x13), end(2, 0x14))
			made.CM = &record.CM{ServiceID: 5, Replied: 9}
			r.s = append(r.s, made)
			r.events = []record.Event{event(3, "s", record.Reject{Reason: 8, Text: "nobody listens"})}
		}, "info connection-refused", []string{"The same service took other connections in this capture"}},
		{"connections refused", func(r *all) {
			r.events = []record.Event{event(3, "s", record.Reject{Reason: 8, Text: "invalid service id"}), event(4, "s", record.Reject{Reason: 8, Text: "invalid service id"})}
		}, "warning connection-refused", []string{"2 connections refused: reason 8, invalid service id", "See whether the service runs"}},
		{"connection unanswered", func(r *all) {
			r.events = []record.Event{event(3, "s", record.Connect{Requests: 16}), event(4, "s", record.Connect{Requests: 1, Answered: true})}
		}, "warning connection-unanswered", []string{"10.0.0.1 asked 10.0.0.2 for a connection 16 times, without an answer"}},
		{"unanswered", func(r *all) {
			x := session("t", end(1, 0x13), end(2, 0x14))
			x.State, x.Pairing, x.BToA = record.StateUnanswered, record.Pairing{}, record.Direction{}
			r.s = append(r.s, x)
		}, "warning unanswered", []string{"No answer to any of 10,000 request packets from 10.0.0.1/0x13 to 10.0.0.2/0x14"}},
		{"no time to answer", func(r *all) {
			r.s[0].BToA.AckLatency.Add(30_000_000)
			x := session("t", end(1, 0x13), end(2, 0x14))
			x.State, x.Pairing, x.BToA, x.AToB.First = record.StateUnanswered, record.Pairing{}, record.Direction{}, 2*second-100_000_000
			r.s = append(r.s, x)
		}, "", nil},
		{"one direction alone", func(r *all) {
			s := &r.s[0]
			s.OneSided, s.Pairing, s.BToA, s.B.HasQPN = true, record.Pairing{}, record.Direction{}, true
			s.A.HasQPN = false
		}, "info one-sided", []string{"Only the packets from 10.0.0.1/? to 10.0.0.2/0x12 are in this capture"}},
		{"answers alone", func(r *all) {
			s := &r.s[0]
			s.OneSided, s.Pairing, s.AToB, s.BToA = true, record.Pairing{}, s.BToA, record.Direction{}
			s.AToB.Naks[decode.NakSequence], s.AToB.RNRNaks = 4, 1
		}, "warning rnr-stall, info one-sided", []string{"4 NAKs here say that requests were lost, or overtaken, on their way to 10.0.0.1.", "10.0.0.1/0x11 was not ready once (RNR NAK)"}},
		{"not matched", func(r *all) {
			r.s[0].Pairing, r.s[0].BToA = record.Pairing{}, record.Direction{}
			x := session("t", end(2, 0), end(1, 0x11))
			x.Pairing, x.BToA = record.Pairing{}, record.Direction{}
			r.s = append(r.s, x)
		}, "info unpaired", []string{"2 flows could not be matched"}},
		{"UD", func(r *all) {
			r.s[0].Service, r.s[0].Pairing, r.s[0].BToA = record.UD, record.Pairing{}, record.Direction{}
			r.s[0].AToB.Lost.BeforeTap = 100
		}, "warning uc-ud-missing", []string{"100 packets of 10.0.0.1/0x11 to 10.0.0.2/0x12 (UD) never came to this tap (1.0 % of them)"}},
		{"lost by the capture", func(r *all) { r.s[0].AToB.Lost.Capture = 5 }, "info capture-loss", []string{"5 packets are missing from the capture, and not lost by the network"}},
		{"late", func(r *all) { r.s[0].AToB.Reordered = 5 }, "info reordering", []string{"5 packets came late"}},
		{"late, and sent again", func(r *all) {
			d := &r.s[0].AToB
			d.Reordered, d.Tries[record.CauseNak], d.Modes[record.GoBackN], d.Retransmitted.Packets = 5, 4, 4, 9
		}, "warning go-back-n, warning reordering", []string{"and were sent again for it 4 times"}},
		{"undecided", func(r *all) { r.s[0].AToB.Undecided = 1 }, "info undecided", []string{"1 packet out of order"}},
		{"silence", func(r *all) {
			r.events = []record.Event{event(9, "s", record.Silence{Lasted: 67_000_000, Pending: 3}), event(19, "s", record.Silence{Lasted: second})}
		}, "info silence", []string{"10.0.0.1/0x11 to 10.0.0.2/0x12 stood still twice in the middle of its traffic, for 1.067 s in all"}},
		{"silences that are no surprise", func(r *all) {
			r.s[0].AckTimeout[0] = 80_000_000
			r.s[0].BToA.AckLatency.Add(5_000_000)
			e := event(19, "s", record.Silence{Lasted: 40_000_000})
			e.Stream = 1
			r.events = []record.Event{event(9, "s", record.Silence{Lasted: 67_000_000, Pending: 3}), e, event(20, "s", record.Silence{Lasted: 1_000_000})}
		}, "", nil},
		{"one waits, all stand still", func(r *all) {
			r.s = append(r.s, session("t", end(3, 0x21), end(4, 0x22)))
			r.s[0].AToB.Tries[record.CauseTimeout], r.s[0].AToB.SilenceTime, r.s[0].AToB.Modes[record.GoBackN] = 1, second, 1
			try := event(2_000_000, "s", &record.Try{Cause: record.CauseTimeout, Silence: second})
			still := event(2_100_000, "t", record.Silence{Lasted: second})
			r.events = []record.Event{try, still, event(3_000_000, "t", record.Silence{Lasted: second})}
		}, "critical ack-timeout, warning go-back-n, info silence", []string{
			"Meanwhile 1 other stream stood still, for 1.000 s in all", "10.0.0.3/0x21 to 10.0.0.4/0x22 stood still once in the middle",
		}},
		{"an outage", func(r *all) {
			d := &r.s[0].AToB
			d.Tries[record.CauseTimeout], d.Modes[record.GoBackN], d.SilenceTime = 5, 5, second/10
			try := func(ms uint64, psn uint32, place record.Place) record.Event {
				return event(1000*ms, "s", &record.Try{PSN: psn, Cause: record.CauseTimeout, Place: place, Silence: 20_000_000})
			}
			r.events = []record.Event{
				try(100, 5, record.AfterTap), try(500, 7, record.AfterTap), try(520, 7, record.AfterTap), try(540, 7, record.AfterTap), try(560, 7, record.Answer),
			}
		}, "warning go-back-n, warning ack-timeout", []string{
			"10.0.0.1/0x11 to 10.0.0.2/0x12 began again 3 times in a row at PSN 7, for 60.0 ms: no answer came meanwhile.", "a link that flapped",
		}},
		{"heavy loss, and no outage", func(r *all) {
			d := &r.s[0].AToB
			d.Tries[record.CauseTimeout], d.Modes[record.GoBackN], d.SilenceTime = 20, 20, second/10
			for i, psn := range []uint32{1, 2, 2, 2, 3, 4, 4, 5} {
				r.events = append(r.events, event(uint64(1000*i), "s", &record.Try{PSN: psn, Cause: record.CauseTimeout, Place: record.BeforeTap, Silence: 1000}))
			}
		}, "warning go-back-n, warning ack-timeout", nil},
		{"rules broken", func(r *all) {
			e := event(9, "s", record.ProtocolError{Rule: "opcode order", Got: "RC_SEND_MIDDLE", Want: "RC_SEND_FIRST"})
			e.Count = 5
			r.events = []record.Event{event(8, "s", record.ProtocolError{Rule: "payload of PMTU"}), e}
		}, "warning protocol-error", []string{"broken 6 times: opcode order (5), payload of PMTU (1)", "opcode order: RC_SEND_MIDDLE instead of RC_SEND_FIRST."}},
	} {
		r := clean()
		tc.set(r)
		f := facts()
		f.Sessions = record.SessionsOf(r.s...)
		told(f, r.events)
		found := withoutPauses(finding.Find(f))
		var got []string
		said := ""
		for _, x := range found {
			got = append(got, x.Severity.String()+" "+x.Code)
			said += x.Title + ". " + x.Detail + " "
			documented(t, &x)
			if len(x.Sessions) == 0 {
				t.Errorf("%s: %s names no session", tc.name, x.Code)
			}
		}
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, s, tc.want)
		}
		for _, s := range tc.has {
			if !strings.Contains(said, s) {
				t.Errorf("%s: %q is not in %q", tc.name, s, said)
			}
		}
		if strings.Contains(said, "flapped") && !strings.Contains(strings.Join(tc.has, ""), "flapped") {
			t.Errorf("%s: an outage in %q", tc.name, said)
		}
		if strings.Contains(said, "  ") {
			t.Errorf("%s: two spaces in %q", tc.name, said)
		}
	}
}

// documented holds a finding against the table of codes.
func documented(t *testing.T, f *record.Finding) {
	t.Helper()
	codes := finding.Codes()
	row := slices.IndexFunc(codes, func(c finding.Code) bool { return c.Code == f.Code })
	if row < 0 || !slices.Contains(codes[row].Severities, f.Severity) {
		t.Errorf("%s with severity %s is not in the table", f.Code, f.Severity)
		return
	}
	for _, e := range f.Evidence {
		if !strings.Contains(codes[row].Evidence, "`"+e.Key+"`") {
			t.Errorf("%s: the evidence %s is not documented", f.Code, e.Key)
		}
		list, _ := e.Value.([]record.Evidence)
		for _, in := range list {
			for _, e := range in {
				if !strings.Contains(codes[row].Evidence, "`"+e.Key+"`") {
					t.Errorf("%s: the evidence %s is not documented", f.Code, e.Key)
				}
			}
		}
	}
	if strings.HasSuffix(f.Title, ".") || !strings.HasSuffix(f.Detail, ".") {
		t.Errorf("%s: title %q, detail %q", f.Code, f.Title, f.Detail)
	}
}

// TestMany: one finding names the worst of many, and bounds its lists.
func TestMany(t *testing.T) {
	f := facts()
	var sessions []record.Session
	for i := range uint64(500) {
		s := session("s"+string(rune('a'+i%26))+string(rune('a'+i/26)), end(i, 0x11), end(1000, uint32(i)))
		s.AToB.Lost.BeforeTap = 1 + i%5
		sessions = append(sessions, s)
	}
	f.Sessions = record.SessionsOf(sessions...)
	all := withoutPauses(finding.Find(f))
	if len(all) != 1 || len(all[0].Sessions) != 100 || all[0].Sessions[0] != "sea" {
		t.Fatalf("%+v", all)
	}
	if got := all[0].Evidence.Get("sessions_affected"); got != uint64(500) {
		t.Errorf("%v sessions", got)
	}
	if list := all[0].Evidence.Get("streams").([]record.Evidence); len(list) != 8 || list[0].Get("lost") != uint64(5) {
		t.Errorf("%v", list)
	}
	if !strings.HasPrefix(all[0].Title, "1,500 packets were lost between 500 senders and this tap (<0.1 %), in 500 sessions") ||
		!strings.Contains(all[0].Detail, "and 497 more streams.") {
		t.Errorf("%s. %s", all[0].Title, all[0].Detail)
	}
}

// TestOfSession: the same words for one session alone.
func TestOfSession(t *testing.T) {
	s := session("s", end(1, 0x11), end(2, 0x12))
	s.AToB.Lost.BeforeTap = 1
	all := finding.OfSession(&s, []record.Event{event(9, "s", record.RetryExhausted{}), event(9, "t", record.RetryExhausted{})})
	if len(all) != 2 || all[0].Code != "retry-exhausted" || all[1].Code != "lost-before-tap" {
		t.Errorf("%+v", all)
	}
	if all := finding.OfSession(&record.Session{}, nil); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
