package finding_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestAnswerLate: what it takes to say that answers were late, and that each of
// it is needed. Where it is said, other findings do not say it again.
func TestAnswerLate(t *testing.T) {
	const timer, ms = 64_000_000, 1_000_000
	stream := func(latencies ...int64) record.Session {
		s := session("s", end(1, 0x11), end(2, 0x12))
		d := &s.AToB
		d.Retransmitted.Packets, d.Tries[record.CauseTimeout], d.Modes[record.GoBackN], d.Places[record.Answer] = 200, 4, 4, 4
		d.Marks = &record.Marks{Waited: 4 * timer}
		d.Marks.Timeouts[record.Answer] = 4
		s.AckTimeout[0] = timer
		for _, ns := range latencies {
			for range 50 {
				d.AckLatency.Add(ns * ms)
			}
		}
		return s
	}
	for _, tc := range []struct {
		name      string
		latencies []int64
		set       func(*record.Session)
		want      string
	}{
		{"long ones as long as half the timer", []int64{1, 40}, func(*record.Session) {}, "answer-late"},
		{"none that long", []int64{1, 20}, func(*record.Session) {}, "go-back-n ack-timeout answer-lost"},
		{"half arrived", []int64{1, 40}, func(s *record.Session) {
			s.AToB.Marks.Timeouts = [record.NumPlaces]uint64{record.Answer: 2, record.AfterTap: 2}
		}, "answer-late"},
		{"less than half", []int64{1, 40}, func(s *record.Session) {
			s.AToB.Marks.Timeouts = [record.NumPlaces]uint64{record.Answer: 1, record.AfterTap: 3}
		}, "go-back-n ack-timeout answer-lost"},
		{"less than half, and the median beyond the timer", []int64{80}, func(s *record.Session) {
			s.AToB.Marks.Timeouts = [record.NumPlaces]uint64{record.Answer: 1, record.AfterTap: 3}
		}, "answer-late"},
		{"none", []int64{80}, func(s *record.Session) {
			s.AToB.Marks.Timeouts = [record.NumPlaces]uint64{record.AfterTap: 4}
			s.AToB.Places = s.AToB.Marks.Timeouts
		}, "go-back-n ack-timeout"},
		{"packets missing in one", []int64{80}, func(s *record.Session) {
			s.AToB.Marks.Timeouts = [record.NumPlaces]uint64{record.Answer: 3, record.BeforeTap: 1}
		}, "go-back-n ack-timeout answer-lost"},
		{"a NAK", []int64{80}, func(s *record.Session) { s.BToA.Naks[decode.NakSequence] = 1 }, "go-back-n ack-timeout answer-lost"},
		{"another cause", []int64{80}, func(s *record.Session) {
			s.AToB.Tries[record.CauseRead], s.AToB.Modes[record.GoBackN] = 1, 5
		}, "go-back-n ack-timeout answer-lost"},
		{"a packet lost", []int64{80}, func(s *record.Session) { s.AToB.Lost.BeforeTap = 1 }, "lost-before-tap go-back-n ack-timeout answer-lost"},
		{"a response lost", []int64{80}, func(s *record.Session) { s.BToA.ReadResponses.LostBeforeTap = 1 }, "lost-before-tap go-back-n ack-timeout answer-lost"},
		{"a bad ICRC on the way back", []int64{80}, func(s *record.Session) { s.BToA.ICRCBad = 1 }, "go-back-n ack-timeout answer-lost"},
		{"no known timer, and tries sooner than answers", []int64{80}, func(s *record.Session) { s.AckTimeout[0] = 0 }, "answer-late"},
		{"too few latencies", nil, func(s *record.Session) { s.AToB.AckLatency.Add(80 * ms) }, "go-back-n ack-timeout answer-lost"},
	} {
		s := stream(tc.latencies...)
		tc.set(&s)
		f := facts()
		f.Sessions = record.SessionsOf(s)
		var got []string
		for _, x := range withoutPauses(finding.Find(f)) {
			got = append(got, x.Code)
			if x.Code != "answer-late" {
				continue
			}
			documented(t, &x)
			if x.Evidence.Get("timeouts") != uint64(4) || x.Evidence.Get("packets") != uint64(200) || x.Evidence.Get("waited_ns") != int64(4*timer) {
				t.Errorf("%s: %+v", tc.name, x.Evidence)
			}
		}
		// In the order of the rules: severities are not what this is about.
		order := "lost-before-tap go-back-n ack-timeout answer-late answer-lost"
		var sorted []string
		for _, c := range strings.Fields(order) {
			for _, g := range got {
				if g == c {
					sorted = append(sorted, c)
				}
			}
		}
		if s := strings.Join(sorted, " "); s != tc.want || len(sorted) != len(got) {
			t.Errorf("%s: %v, want %q", tc.name, got, tc.want)
		}
	}
}
