package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// told is the text of a story, after a change to its first session's.
func told(t *testing.T, change func(c *Chapter), opt Options) string {
	t.Helper()
	in, c := withSessions()
	r := made(in, c)
	var s *record.Session
	for i := range r.Sessions.Len() {
		if r.Sessions.At(i).ID == "lossy" {
			s = r.Sessions.At(i)
		}
	}
	st := NewStory(r, []*record.Session{s})
	if change != nil {
		change(&st.Sessions[0])
	}
	var b bytes.Buffer
	opt.Location = time.UTC
	if err := StoryText(&b, st, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStory: the session's events alone, each where it belongs, with what
// passed between them.
func TestStory(t *testing.T) {
	got := told(t, func(c *Chapter) {
		c.Traffic = []pipeline.Traffic{{Packets: [2]uint64{15, 2}, Payload: [2]uint64{15360, 0}}, {}, {Packets: [2]uint64{0, 3}}, {}}
	}, Options{})
	for _, s := range []string{
		"Session         10.10.0.1/0x64 > 10.10.0.2/0x8c, RC, nvme-rdma\nPaired          the connection manager named both QPs\n",
		"A to B 10.10.0.1 sent 10,240 packets, 10.0 MB of data, 134 sent again, 21 lost before this tap B to A",
		"   +0.001000 s              1         first packet: the connection was there before",
		"... 15 packets to 10.10.0.2 (15.4 kB), 2 back\n",
		"   +0.500000 s   +499.0 ms  500       NAK from 10.10.0.2: PSN 16224848 is missing, 240.0 µs after\n",
		"   +0.501000 s     +1.0 ms  501         10.10.0.1 sends again from PSN 16224848 on the NAK, 3.4 ms\n",
		"... 3 packets to 10.10.0.1\n",
		"                                      all sent again up to PSN 16224853, 70.0 ms after",
		"   +2.000000 s    +1.499 s  2000      last packet; the capture goes on for 500.0 ms\n\nMeaning\ncritical  [lost-before-tap] 21 packets were lost between 10.10.0.1 and this tap",
	} {
		if !strings.Contains(got, s) && !strings.Contains(flat(got), s) {
			t.Errorf("%q is not in\n%s", s, got)
		}
	}
	if strings.Contains(got, "gave up") || strings.Contains(got, glue) {
		t.Errorf("another session's events, or glue, in\n%s", got)
	}
	for _, width := range []int{80, 100, 120} {
		for _, line := range strings.Split(told(t, nil, Options{Width: width}), "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns, not %d: %s", n, width, line)
			}
		}
	}
}

// TestStoryEnds: how a session failed, who did it, and for how long nothing
// more came.
func TestStoryEnds(t *testing.T) {
	for _, tc := range []struct {
		set         func(s *record.Session)
		events      []record.Detail
		has, hasNot []string
	}{
		{func(s *record.Session) { s.State, s.Failure = record.StateFailed, record.FailedRemoteAccess },
			[]record.Detail{record.Nak{Code: "remote_access", PSN: 9, Opcode: "RC_RDMA_WRITE"}, record.Failed{Why: "nak", Code: "remote_access"}},
			[]string{
				"RC, nvme-rdma, 10.10.0.2 refused a request: remote access error", "10.10.0.2 refused PSN 9 for good: remote access error, drawn by RC RDMA WRITE",
				"last packet: 10.10.0.2 refused a request: remote access error; the capture goes on for 500.0 ms",
			}, []string{"gave up", "that ended it"}},
		{func(s *record.Session) { s.State, s.Failure, s.FailedStream = record.StateFailed, record.FailedRNR, 1 },
			[]record.Detail{record.RetryExhausted{RNR: true, Tries: 3}, record.Failed{Why: "rnr_exhausted"}},
			[]string{"RC, nvme-rdma, 10.10.0.2 gave up, 10.10.0.1 was never ready", "last packet: 10.10.0.2 gave up, 10.10.0.1 was never ready;"}, nil},
		{func(s *record.Session) { s.State, s.Failure = record.StateFailed, record.FailedRetries },
			[]record.Detail{record.RetryExhausted{Tries: 7}}, []string{"RC, nvme-rdma, 10.10.0.1 gave up Paired", "never answered by 10.10.0.2, sent again 7 times"}, []string{"never ready"}},
		{func(s *record.Session) {
			s.State, s.Failure, s.OneSided = record.StateFailed, record.FailedUnseen, true
			s.Pairing, s.BToA = record.Pairing{}, record.Direction{}
		}, []record.Detail{record.RetryExhausted{Tries: 7}}, []string{
			"RC, nvme-rdma, other direction not in this capture, 10.10.0.1 gave up", "never answered by 10.10.0.2, or refused each time (its answers are not in this capture)",
		}, []string{"not found"}},
		{func(s *record.Session) {
			s.State = record.StateUnanswered
			s.Pairing, s.BToA = record.Pairing{}, record.Direction{}
		}, nil, []string{"RC, nvme-rdma, no answer"}, []string{"not found", "not in this capture"}},
		{func(s *record.Session) { s.Pairing, s.BToA = record.Pairing{}, record.Direction{} }, nil, []string{"RC, nvme-rdma, other direction not found"}, nil},
		{func(s *record.Session) {
			s.Service, s.Pairing, s.BToA = record.UC, record.Pairing{}, record.Direction{}
		}, nil, []string{"UC, nvme-rdma Time"}, nil},
		{func(s *record.Session) { s.AToB.Lost.AfterTap = 3 }, nil, []string{"21 lost before this tap, at least 3 or their answers lost behind it"}, nil},
		{func(s *record.Session) { s.AToB.Lost, s.AToB.Messages.Sent[record.Write] = record.Lost{AfterTap: 3}, 1 }, nil, []string{"134 sent again, at least 3 lost behind this tap"}, nil},
		{func(s *record.Session) { s.BToA.RNRNaks = 3 }, nil, []string{"10.10.0.2 sent 161 packets (answers: 140 ACK, 20 NAK, 3 RNR NAK)"}, nil},
		{func(s *record.Session) { s.BToA.Messages.Sent[record.Read] = 2 }, nil, []string{"10.10.0.2 sent 161 packets (messages: 2 READ; answers: 140 ACK, 20 NAK)"}, nil},
	} {
		got := flat(told(t, func(c *Chapter) {
			c.Events, c.Findings = nil, nil
			tc.set(c.Session)
			for _, d := range tc.events {
				e := record.Event{Time: c.Session.Last.Time, Frame: c.Session.Last, Count: 1, Detail: d, Stream: c.Session.FailedStream}
				c.Events = append(c.Events, e)
			}
		}, Options{Width: 120}))
		for _, s := range tc.has {
			if !strings.Contains(got, s) {
				t.Errorf("%q is not in\n%s", s, got)
			}
		}
		for _, s := range tc.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%q is in\n%s", s, got)
			}
		}
	}
}

// TestStoryRuns: what happens again and again is told once.
func TestStoryRuns(t *testing.T) {
	at := func(c *Chapter, n int) record.FrameRef {
		return record.FrameRef{Number: uint64(n), Time: c.Session.First.Time + int64(n)*1_000_000}
	}
	for _, tc := range []struct {
		name   string
		events func(c *Chapter)
		has    []string
		hasNot []string
	}{
		{"RNR", func(c *Chapter) {
			for i := range 40 {
				d := record.Detail(record.RNRNak{PSN: 7, Timer: 1000})
				if i%2 == 1 {
					d = &record.Try{PSN: 7, Cause: record.CauseRNR, Number: 1, Resent: record.Amount{Packets: 2}}
				}
				c.Events = append(c.Events, record.Event{Time: at(c, i).Time, Frame: at(c, i), Count: 1, Detail: d})
			}
		}, []string{"was not ready for PSN 7 (RNR NAK): wait 1.0 µs", "... and so on for 39.0 ms: 20 RNR NAKs in all, 20 times it went back and sent 40 packets again", "sends again from PSN 7 after the RNR NAK"}, nil},
		{"retries", func(c *Chapter) {
			for i := range 10 {
				c.Events = append(c.Events, record.Event{
					Time: at(c, i).Time, Frame: at(c, i), Count: 1, Detail: &record.Try{PSN: 7, Cause: record.CauseTimeout, Place: record.Answer, Number: uint32(i + 1), Silence: 5, Resent: record.Amount{Packets: 1}},
				})
			}
			c.Events = append(c.Events,
				record.Event{Time: at(c, 10).Time, Frame: at(c, 10), Detail: record.RetryExhausted{Unanswered: record.Range{First: 7, Last: 7}, Tries: 10}},
				record.Event{Time: at(c, 10).Time, Frame: at(c, 10), Detail: record.Failed{Why: "retry_exhausted"}})
		}, []string{"... and so on for 9.0 ms: 10 times it went back and sent 10 packets again", "10.10.0.1 gave up: PSN 7 never answered by 10.10.0.2, sent again 10 times"}, []string{"gave up: retries"}},
		{"tries that wait for their episode", func(c *Chapter) {
			c.Events = []record.Event{
				{Time: at(c, 1).Time, Frame: at(c, 1), Detail: record.Nak{Code: "sequence", PSN: 7}},
				{Time: at(c, 2).Time, Frame: at(c, 2), Detail: &record.Try{PSN: 7, Cause: record.CauseNak, Number: 1}},
				{Time: at(c, 2).Time, Frame: at(c, 2), Detail: &record.Episode{Tries: 2, Range: record.Range{First: 7, Last: 9}, Recovered: true}},
				{Time: at(c, 3).Time, Frame: at(c, 3), Detail: &record.Try{PSN: 7, Cause: record.CauseTimeout, Silence: 1_000_000, Number: 2}},
			}
		}, []string{"10.10.0.1 sends again from PSN 7 on a timeout, after 1.0 ms of silence; lost before this tap all sent again up to PSN 9, 0 ns after the first sign, in 2 tries"}, nil},
		{"too much to tell", func(c *Chapter) {
			for i := range 300 {
				c.Events = append(c.Events, record.Event{Time: at(c, i).Time, Frame: at(c, i), Detail: record.Nak{Code: "sequence", PSN: uint32(i)}})
			}
		}, []string{"... 102 lines are left out here; --format json has all events", "PSN 299 is missing"}, []string{"PSN 150 is missing"}},
		{"an outage", func(c *Chapter) {
			c.Events = append(c.Events, record.Event{Time: at(c, 10).Time, Frame: at(c, 10), Detail: &record.Episode{
				Tries: 8, Range: record.Range{First: 7, Last: 9}, Cause: record.CauseTimeout, Took: 90_000_000, Recovered: true,
			}})
			for i := range 8 {
				c.Events = append(c.Events, record.Event{Time: at(c, 10+10*i).Time, Frame: at(c, 10+10*i), Count: 1, Detail: &record.Try{
					PSN: 7, Cause: record.CauseTimeout, Silence: 10_000_000, Resent: record.Amount{Packets: 3}, Number: uint32(i + 1),
				}})
			}
		}, []string{
			"... and so on for 70.0 ms: 8 times it went back and sent 24 packets again", "all sent again up to PSN 9, 90.0 ms after the first sign, in 8 tries",
		}, nil},
		{"an outage without an end", func(c *Chapter) {
			c.Events = append(c.Events, record.Event{Time: at(c, 10).Time, Frame: at(c, 10), Detail: &record.Episode{Tries: 1, Range: record.Range{First: 7, Last: 9}}},
				record.Event{Time: at(c, 10).Time, Frame: at(c, 10), Count: 1, Detail: &record.Try{PSN: 7, Cause: record.CauseTimeout, Silence: 10_000_000, Number: 1}})
		}, []string{"it did not get through up to PSN 9"}, nil},
		{"all kinds", func(c *Chapter) {
			request := record.FrameRef{Number: 5}
			for i, d := range []record.Detail{
				record.Connect{Answered: true, Took: 1000, Requests: 1}, record.Connect{Requests: 3}, record.Reject{Reason: 28, Text: "consumer reject"}, record.Disconnect{},
				record.NewSession{Why: "psn_jump"}, record.Closed{Why: "new_life"}, record.Failed{Why: "rnr_exhausted"}, record.Nak{Code: "remote_access", PSN: 1, Opcode: "RC_SEND_ONLY", Request: &request},
				record.Nak{Code: "sequence", PSN: 2, Refusal: true}, record.Silence{Lasted: 5, Pending: 2}, record.CaptureLoss{Range: record.Range{First: 1, Last: 2}}, record.Reorder{PSN: 3, Behind: 2, Late: 9}, record.Reorder{PSN: 4, Behind: 1},
				record.Duplicate{PSN: 4}, record.Corrupt{PSN: 5}, record.Undecided{PSN: 6, Why: "no IP IDs"}, record.ProtocolError{Rule: "order", PSN: 7, Got: "a", Want: "b"},
			} {
				c.Events = append(c.Events, record.Event{Time: at(c, i).Time, Frame: at(c, i), Count: 1, Detail: d})
			}
		}, []string{
			"10.10.0.1 asked 10.10.0.2 for a connection, granted after 1.0 µs", "for a connection 3 times, without an answer", "refused: reason 28, consumer reject", "disconnect (DREQ), not answered",
			"a new life of these QPNs begins: the PSNs jumped", "closed: its QPN began another life", "10.10.0.1 gave up: the responder was never ready", "10.10.0.2 refused PSN 1 for good: remote access error, drawn by RC SEND ONLY in frame 5",
			"which repeats the RNR NAK", "had sent nothing for 5 ns, with 2 packets not acknowledged", "PSN 1 to 2 not captured", "PSN 3 came late, by 9 ns, overtaken by 2 packets", "PSN 4 came late, overtaken by 1 packet", "PSN 4 was captured twice",
			"wrong ICRC, PSN 5", "sent again can't be told: no IP IDs", "rule broken at PSN 7: order (a instead of b)",
		}, nil},
	} {
		got := told(t, func(c *Chapter) {
			c.Events, c.Findings = nil, nil
			tc.events(c)
		}, Options{Width: 120})
		for _, s := range tc.has {
			if !strings.Contains(got, s) && !strings.Contains(flat(got), s) {
				t.Errorf("%s: %q is not in\n%s", tc.name, s, got)
			}
		}
		for _, s := range tc.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q is in\n%s", tc.name, s, got)
			}
		}
		if !strings.Contains(got, "Meaning         nothing went wrong that this capture shows\n") {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}

// TestStoryJSON: the keys of the report.
func TestStoryJSON(t *testing.T) {
	in, c := withSessions()
	r := made(in, c)
	var b bytes.Buffer
	if err := StoryJSON(&b, NewStory(r, []*record.Session{r.Sessions.At(2)}), Options{}); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Schema   int
		Sessions []struct{ ID string }
		Events   []struct{ Kind, Session string }
		Findings []struct{ Code string }
	}
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if m.Schema != 1 || len(m.Sessions) != 1 || m.Sessions[0].ID != "failed" || len(m.Events) != 1 || m.Events[0].Kind != "retry_exhausted" || m.Findings[0].Code != "retry-exhausted" {
		t.Errorf("%s", b.String())
	}
	for _, f := range []func() error{
		func() error { return StoryJSON(failing{}, NewStory(r, nil), Options{}) },
		func() error { return StoryText(failing{}, NewStory(r, []*record.Session{r.Sessions.At(0)}), Options{}) },
	} {
		if f() == nil {
			t.Error("a failed write is not reported")
		}
	}
}

// TestSelect: a QP by its number, and by its address where that is not enough.
func TestSelect(t *testing.T) {
	s := func(id string, a, b record.Endpoint) record.Session {
		return record.Session{ID: id, Service: record.RC, Version: record.V2, A: a, B: b}
	}
	all := []record.Session{
		s("0", ipEnd(1, 0x11), ipEnd(2, 0x12)), s("1", ipEnd(1, 0x13), ipEnd(3, 0x11)), // 0x11 at two hosts
		s("2", ipEnd(1, 0x20), ipEnd(2, 0x20)),                                         // the same at both ends
		s("3", ipEnd(1, 0x30), ipEnd(2, 0x31)), s("4", ipEnd(1, 0x30), ipEnd(2, 0x32)), // two lives
		s("5", ip6End(1, 0x40), ip6End(2, 0x41)),
	}
	for i := range 30 {
		all = append(all, s("ud", ipEnd(9, uint32(0x100+i)), ipEnd(8, 0x50)))
	}
	for _, tc := range []struct {
		qp   uint32
		addr string
		want string // ids, or a part of the error
	}{
		{0x12, "", "0"}, {0x20, "", "2"}, {0x30, "", "3 4"}, {0x11, "10.10.0.1", "0"}, {0x11, "10.10.0.3", "1"}, {0x11, "10.10.0.2", "0"},
		{0x40, "2001:1DB8:aaaa:bbbb:cccc:dddd:eeee:0001", "5"}, {0x31, "10.10.0.1", "3"},
		{0x11, "", "2 sessions have QP 0x11: say which one is meant with --addr, the address of either end:\n  10.10.0.1/0x11 <> 10.10.0.2/0x12, RC, 0 packets\n"},
		{0x21, "", "no session has QP 0x21; there are:\n  10.10.0.1/0x20 <> 10.10.0.2/0x20"},
		{0x21, "", "and 16 more"}, {0x11, "10.10.0.8", "no session has QP 0x11 at 10.10.0.8; there are:\n  10.10.0.9/0x100"},
		{0x50, "10.10.0.8", "30 sessions have QP 0x50 at 10.10.0.8: name the other end's QP or address instead:\n"},
	} {
		found, err := Select(record.SessionsOf(all...), tc.qp, tc.addr)
		got := ""
		for _, s := range found {
			got = strings.TrimSpace(got + " " + s.ID)
		}
		if err != nil {
			got = err.Error()
		}
		if got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
			t.Errorf("%#x at %q: %s, want %s", tc.qp, tc.addr, got, tc.want)
		}
	}
	if _, err := Select(record.Sessions{}, 1, ""); err == nil || !strings.Contains(err.Error(), "none at all") {
		t.Error(err)
	}
}
