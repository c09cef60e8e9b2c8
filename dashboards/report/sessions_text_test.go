package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

func ipEnd(last uint64, qpn uint32) record.Endpoint {
	return record.Endpoint{Addr: decode.Addr{Lo: 0xffff_0a0a0000 | last}, Kind: decode.AddrIPv4, QPN: qpn, HasQPN: true}
}

// ip6End has the longest address that there is.
func ip6End(last uint64, qpn uint32) record.Endpoint {
	return record.Endpoint{Addr: decode.Addr{Hi: 0x2001_1db8_aaaa_bbbb, Lo: 0xcccc_dddd_eeee_0000 | last}, Kind: decode.AddrIPv6, QPN: qpn, HasQPN: true}
}

// withSessions is a report of four sessions: two that lost packets, one that
// failed, one with nothing wrong.
func withSessions() (in []capture.Input, c *pipeline.Result) {
	in, c = base()
	at := func(n uint64) record.FrameRef {
		return record.FrameRef{Number: n, Time: c.First + int64(n)*1_000_000, Offset: int64(n) * 1000}
	}
	lossy := record.Session{
		ID: "lossy", Service: record.RC, Version: record.V2, A: ipEnd(1, 0x64), B: ipEnd(2, 0x8c), First: at(1), Last: at(2000),
		Application: "nvme-rdma", Pairing: record.Pairing{Method: record.PairCM, Confidence: 1}, Incarnation: 1,
	}
	lossy.AToB = record.Direction{
		Packets: 10_240, GoodputBytes: 10_000_000, PayloadBytes: 10_100_000, First: at(1).Time, Last: at(2000).Time,
		Retransmitted: record.Retransmitted{Packets: 134, Bytes: 137_216, Fills: 21, Repeats: 113}, Wasted: record.Amount{Packets: 113},
		Tries: [record.NumCauses]uint64{record.CauseNak: 20, record.CauseTimeout: 1}, Places: [record.NumPlaces]uint64{record.BeforeTap: 21},
		Modes: [record.NumModes]uint64{record.GoBackN: 21}, Lost: record.Lost{BeforeTap: 21}, Episodes: 21, SilenceTime: 67_100_000,
	}
	for i := range int64(100) {
		lossy.AToB.AckLatency.Add(100_000 + 1000*i)
	}
	lossy.BToA = record.Direction{Packets: 161, Acks: 140, Naks: [5]uint64{20}, First: at(1).Time, Last: at(2000).Time}
	failed := record.Session{
		ID: "failed", Service: record.RC, Version: record.V2, A: ip6End(1, 0xffffff), B: ip6End(2, 0xfffffe), First: at(3), Last: at(1900),
		Pairing: record.Pairing{Method: record.PairAck, Confidence: 1}, State: record.StateFailed, Incarnation: 2,
	}
	failed.AToB = record.Direction{
		Packets: 107, GoodputBytes: 100_000, First: at(3).Time, Last: at(1900).Time, Retransmitted: record.Retransmitted{Packets: 7, Repeats: 7},
		Tries: [record.NumCauses]uint64{record.CauseTimeout: 7}, Places: [record.NumPlaces]uint64{record.AfterTap: 7}, Modes: [record.NumModes]uint64{record.GoBackN: 7},
		SilenceTime: 1_780_000_000,
	}
	clean := record.Session{ID: "clean", Service: record.UD, Version: record.V1, A: ipEnd(3, 1), B: ipEnd(4, 2), First: at(0), Last: at(0)}
	clean.AToB = record.Direction{Packets: 1}
	another := lossy
	another.ID, another.A, another.B = "another", ipEnd(1, 0x65), ipEnd(2, 0x8d)
	c.Sessions = record.SessionsOf(clean, lossy, failed, another)
	detect := int64(240_000)
	c.Events = []record.Event{
		{Time: at(500).Time, Session: "lossy", Frame: at(500), Count: 1, Detail: record.Nak{Code: "sequence", PSN: 16224848, Detect: &detect}},
		{Time: at(501).Time, Session: "lossy", Frame: at(501), Count: 1, Detail: &record.Try{
			PSN: 16224848, Cause: record.CauseNak, Place: record.BeforeTap, Mode: record.GoBackN, Resent: record.Amount{Packets: 6, Bytes: 6144}, React: 3_400_000, HasReact: true, Number: 1,
		}},
		{Time: at(570).Time, Session: "lossy", Frame: at(570), Count: 1, Detail: &record.Episode{
			Tries: 1, Range: record.Range{First: 16224848, Last: 16224853}, Resent: record.Amount{Packets: 6}, Lost: 1, Took: 70_000_000, Recovered: true,
		}},
		{Time: at(1900).Time, Session: "failed", Frame: at(1900), Count: 1, Detail: record.RetryExhausted{
			Unanswered: record.Range{First: 1234, Last: 1300}, LastAcked: 1233, HasAcked: true, Tries: 7, Spacing: 254_000_000,
		}},
	}
	c.Signs = c.Events
	for s := range c.Sessions.All() {
		s.AToB.Marks = new(record.Marks)
		for i := range c.Events {
			if e := &c.Events[i]; e.Session == s.ID && record.Marked(e.Detail) {
				s.AToB.Marks.Add(e)
			}
		}
	}
	return in, c
}

// TestSessionsText: who, how much and how fast, and what is wrong with whom.
func TestSessionsText(t *testing.T) {
	in, c := withSessions()
	got := render(t, in, c, Options{})
	for _, s := range []string{
		"Sessions        4, the most sent again first\n",
		"    packets      goodput sent again lost before   ACK p50       p99\n",
		", RC,\nlife 2 of these QPNs, 2001:1db8:aaaa:bbbb:cccc:dddd:eeee:1 gave up\n",
		"        107   422 kbit/s      6.5 %\n10.10.0.1/0x64",
		"10.10.0.1/0x64 > 10.10.0.2/0x8c, RC, nvme-rdma\n     10,401  40.0 Mbit/s      1.3 %          21  155.6 µs  199.0 µs\n    critical  [lost-before-tap] 21 packets were lost between 10.10.0.1 and this tap",
		"10.10.0.3/0x1 > 10.10.0.4/0x2, UD, RoCEv1\n          1\n",
		"Events          the one that matters most of 4; rocelens session tells all of one session\n",
		"   +1.900000 s  frame 1900     2001:1db8:aaaa:bbbb:cccc:dddd:eeee:1/0xffffff to\n",
		"PSN 1234 to 1300 never answered by", "sent again 7 times about 254.0 ms apart; last acknowledged PSN 1233",
		"NIC counters    what the hosts'", "  10.10.0.1                             packet_seq_err 40, local_ack_timeout_err 2",
		"out_of_sequence at least 40",
	} {
		if !strings.Contains(got, s) && !strings.Contains(flat(got), s) {
			t.Errorf("%q is not in\n%s", s, got)
		}
	}
	if strings.Contains(got, "lost after") || strings.Contains(got, "p99      CNPs") {
		t.Errorf("a column of nothing in\n%s", got)
	}
	if i, j, k := strings.Index(got, "/0xffffff > "), strings.Index(got, "/0x64 > "), strings.Index(got, "10.10.0.3/"); i > j || j > k {
		t.Errorf("not the worst first\n%s", got)
	}
	if s := "gave up on 2001:"; strings.Count(flat(got), s) != 1 {
		t.Errorf("what the findings say is said again:\n%s", got)
	}
	if s := "left out"; strings.Contains(got, s) {
		t.Errorf("%q is in\n%s", s, got)
	}
	c.Events = c.Events[:3]
	if s := "+0.570000 s frame 570 10.10.0.1/0x64 to 10.10.0.2/0x8c: 10.10.0.1 had sent everything again up to PSN 16224853 after 70.0 ms: 6 packets, 1 lost"; !strings.Contains(flat(render(t, in, c, Options{})), s) {
		t.Errorf("%q is not in\n%s", s, render(t, in, c, Options{}))
	}
	c.EventsLeftOut = 1
	if s := "Events the one that matters most of 4; rocelens session tells all of one session; 1 was left out, a larger --max-events keeps more"; !strings.Contains(flat(render(t, in, c, Options{})), s) {
		t.Errorf("%q is not in\n%s", s, render(t, in, c, Options{}))
	}
	c.Events, c.EventsLeftOut = nil, 1234
	if s := "Events 1,234 of 1,234 were left out, a larger --max-events keeps more"; !strings.Contains(flat(render(t, in, c, Options{})), s) {
		t.Errorf("%q is not in\n%s", s, render(t, in, c, Options{}))
	}
	for _, width := range []int{80, 100, 120} {
		for _, line := range strings.Split(render(t, in, c, Options{Width: width}), "\n") {
			// Two ends with the longest addresses are one word each.
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns, not %d: %s", n, width, line)
			}
		}
	}
}

// TestSessionsOrder: --session-sort and --top.
func TestSessionsOrder(t *testing.T) {
	in, c := withSessions()
	c.Sessions.At(0).AToB.WireBytes = 9
	c.Sessions.At(2).AToB.CNPsReceived = 1
	for _, tc := range []struct {
		sort  string
		first string
		head  string
	}{
		{"retransmitted", "/0xffffff > ", "the most sent again first"}, {"bytes", "10.10.0.3/0x1 > ", "the most bytes first"},
		{"latency", "10.10.0.1/0x64 > ", "the slowest ACKs first"}, {"cnps", "/0xffffff > ", "the most CNPs first"},
		{"start", "10.10.0.3/0x1 > ", "the earliest first"},
	} {
		s, err := ParseSort(tc.sort)
		if err != nil || s.String() != tc.sort {
			t.Fatal(s, err)
		}
		got := render(t, in, c, Options{Top: 1, Sort: s})
		if !strings.Contains(got, "Sessions        4, "+tc.head) || !strings.Contains(got, "3 more are not listed (--top)") {
			t.Errorf("%s: %s", tc.sort, got)
		}
		_, list, _ := strings.Cut(got, "(--top)")
		list, _, _ = strings.Cut(list, "\nEvents")
		if strings.Count(list, " > ") != 1 || !strings.Contains(list, tc.first) {
			t.Errorf("%s: %s", tc.sort, list)
		}
	}
	if _, err := ParseSort("worst"); err == nil || !strings.Contains(err.Error(), "retransmitted, bytes") {
		t.Error(err)
	}
}
