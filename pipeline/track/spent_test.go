package track_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// limits are what scenarios are limited by.
var limits = map[string]record.Limit{
	"limit_sending":        record.LimitSending,
	"limit_application":    record.LimitApplication,
	"limit_one_by_one":     record.LimitWindow,
	"limit_window":         record.LimitWindow,
	"limit_window_packets": record.LimitWindow,
	"limit_reads":          record.LimitWindow,
	"limit_credits":        record.LimitCredits,
	"limit_rnr":            record.LimitRNR,
	"limit_recovery":       record.LimitRecovery,
	"limit_cnps":           record.LimitCNPs,
	"limit_pause":          record.LimitPause,
}

// TestLimits holds what requesters spent their time on against what they know
// of it themselves.
func TestLimits(t *testing.T) {
	seen := 0
	for _, sc := range withRoCE() {
		if !strings.HasPrefix(sc.Name, "limit_") {
			continue
		}
		want, ok := limits[sc.Name]
		if !ok {
			t.Errorf("%s: what is it limited by?", sc.Name)
		}
		seen++
		t.Run(sc.Name, func(t *testing.T) {
			c := simulate(t, &sc, 1)
			r := c.analyse(t)
			s := r.Sessions.At(0).AToB.Spent
			if s == nil {
				t.Fatal("no account")
			}
			if got, share := s.Most(); got != want || share < 0.5 {
				t.Errorf("%s, %.2f of its time, for %s: %+v", got, share, want, s)
			}
			for _, x := range overclaimed(s, c.truth.Sessions[0].Streams[0].Waits, 0.1) {
				t.Error(x)
			}
		})
	}
	if seen != len(limits) {
		t.Errorf("%d scenarios of limits, not %d", seen, len(limits))
	}
}

// overclaimed is what is said of more of the time than is true, and what is
// missing and not said to be unclear.
func overclaimed(s *record.Spent, w *scenario.Waits, most float64) (list []string) {
	truth := map[record.Limit]int64{
		record.LimitSending: w.Sending, record.LimitApplication: w.Application, record.LimitWindow: w.Window, record.LimitCredits: w.Credits,
		record.LimitRNR: w.RNR, record.LimitRecovery: w.Recovery, record.LimitCNPs: w.Congestion, record.LimitPause: w.Pause,
	}
	total := int64(0)
	for _, n := range truth {
		total += n
	}
	part := func(n, of int64) float64 { return float64(n) / float64(max(of, 1)) }
	unclear := part(s.Unclear, s.Total)
	for l := range record.NumLimits {
		got, want := part(s.On(l), s.Total), part(truth[l], total)
		switch {
		case l == record.LimitUnclear:
		case got > want+most:
			list = append(list, fmt.Sprintf("%s: %.3f of the time, in truth %.3f: %+v, %+v", l, got, want, *s, *w))
		case got+unclear < want-most:
			list = append(list, fmt.Sprintf("%s: %.3f of the time and %.3f unclear, in truth %.3f: %+v, %+v", l, got, unclear, want, *s, *w))
		}
	}
	return list
}

// TestLimitsOfAll: in no scenario something is named that the requester did not
// wait for. That it sent is no more than that nothing of all this shows, and what
// a recovery is differs: the requester does not know of it from the first sign on.
func TestLimitsOfAll(t *testing.T) {
	for _, sc := range withRoCE() {
		c := simulate(t, &sc, 1)
		r := c.analyse(t)
		for i, m := range match(r, c.truth) {
			for side, f := range m.flows {
				if f == nil || f.sent.Spent == nil || side >= len(c.truth.Sessions[i].Streams) || c.truth.Sessions[i].Streams[side].Waits == nil {
					continue
				}
				w := c.truth.Sessions[i].Streams[side].Waits
				s := f.sent.Spent
				total := w.Sending + w.Application + w.Window + w.Credits + w.RNR + w.Recovery + w.Congestion + w.Pause
				for _, x := range []struct {
					limit record.Limit
					truth int64
				}{
					{record.LimitApplication, w.Application}, {record.LimitWindow, w.Window}, {record.LimitCredits, w.Credits},
					{record.LimitRNR, w.RNR}, {record.LimitPause, w.Pause}, {record.LimitStalled, 0},
				} {
					if got, want := float64(s.On(x.limit))/float64(max(s.Total, 1)), float64(x.truth)/float64(max(total, 1)); got > want+0.3 {
						t.Errorf("%s, session %d: %s: %.3f of the time, in truth %.3f: %+v, %+v", sc.Name, i, x.limit, got, want, *s, *w)
					}
				}
			}
		}
	}
}

// TestLimitsElsewhere moves the tap: what it can't tell there it says, and it
// names nothing that is wrong.
func TestLimitsElsewhere(t *testing.T) {
	for _, sc := range withRoCE() {
		want, ok := limits[sc.Name]
		if !ok {
			continue
		}
		for _, a := range []time.Duration{3, 10, 20} {
			spec, err := sc.Spec(scenario.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			spec.Network.LatencyA, spec.Network.LatencyB = a*time.Microsecond, (20-a)*time.Microsecond+100
			s := simulateSpec(t, spec).analyse(t).Sessions.At(0).AToB.Spent
			got, share := s.Most()
			t.Logf("%s, %d us from the requester: %s, %.2f of its time: %+v", sc.Name, a, got, share, *s)
			if got != want && got != record.LimitUnclear {
				t.Errorf("%s, %d us from the requester: %s, %.2f of its time, for %s: %+v", sc.Name, a, got, share, want, *s)
			}
		}
	}
}

// TestLimitsNotNamed: what looks like a limit to a hasty look, and is none.
func TestLimitsNotNamed(t *testing.T) {
	times := func(n int, m ...scenario.Message) (list []scenario.Message) {
		for range n {
			list = append(list, m...)
		}
		return list
	}
	for _, x := range []struct {
		name   string
		work   scenario.Work
		to, at time.Duration // from the tap to the responder, and from the requester to it
		never  []record.Limit
	}{
		// A link that is full, and messages of next to no bytes among others.
		{"data and flags", scenario.Work{Messages: times(400, scenario.Message{Kind: scenario.Write, Len: 4096}, scenario.Message{Kind: scenario.WriteImm, Len: 0}), Depth: 64},
			10 * time.Microsecond, 100, []record.Limit{record.LimitApplication, record.LimitStalled}},
		// A message each 2.1 us, five of which are on their way at a time.
		{"steady", scenario.Work{Messages: times(2000, scenario.Message{Kind: scenario.Write, Len: 1024}), Every: 2100},
			5 * time.Microsecond, 100, []record.Limit{record.LimitWindow}},
		{"steady and far", scenario.Work{Messages: times(500, scenario.Message{Kind: scenario.Write, Len: 1024}), Every: 63 * time.Microsecond},
			100 * time.Microsecond, 100, []record.Limit{record.LimitWindow}},
		// Four messages at a time, and a tap next to the responder.
		{"far from the requester", scenario.Work{Messages: times(400, scenario.Message{Kind: scenario.Write, Len: 4096}), Depth: 4},
			100, 100 * time.Microsecond, []record.Limit{record.LimitApplication, record.LimitStalled}},
	} {
		spec := &scenario.Spec{Name: x.name, Seed: 1, Sessions: []scenario.Session{{
			A: scenario.Side{QPN: 0x101, StartPSN: 7}, B: scenario.Side{Host: 1, QPN: 0x202, StartPSN: 9}, PathMTU: 4096, Work: [2]scenario.Work{x.work},
			Requester: scenario.Requester{Window: 1 << 12},
		}}}
		spec.Network.LatencyA, spec.Network.LatencyB = x.at, x.to
		s := simulateSpec(t, spec).analyse(t).Sessions.At(0).AToB.Spent
		for _, l := range x.never {
			if part := float64(s.On(l)) / float64(s.Total); part > 0.4 {
				t.Errorf("%s: %s for %.2f of the time: %+v", x.name, l, part, *s)
			}
		}
	}
}
