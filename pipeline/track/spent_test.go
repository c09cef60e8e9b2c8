package track_test

import (
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
			w := c.truth.Sessions[0].Streams[0].Waits
			total := w.Sending + w.Application + w.Window + w.Credits + w.RNR + w.Recovery + w.Congestion + w.Pause
			for _, x := range []struct {
				limit record.Limit
				truth int64
			}{
				{record.LimitSending, w.Sending}, {record.LimitApplication, w.Application}, {record.LimitWindow, w.Window},
				{record.LimitCredits, w.Credits}, {record.LimitRNR, w.RNR}, {record.LimitRecovery, w.Recovery}, {record.LimitCNPs, w.Congestion}, {record.LimitPause, w.Pause},
			} {
				got, truth := float64(s.On(x.limit))/float64(s.Total), float64(x.truth)/float64(total)
				t.Logf("%s: %.3f of the time, in truth %.3f", x.limit, got, truth)
				if d := got - truth; d > 0.1 || d < -0.1 {
					t.Errorf("%s: %.3f of the time, in truth %.3f", x.limit, got, truth)
				}
			}
		})
	}
	if seen != len(limits) {
		t.Errorf("%d scenarios of limits, not %d", seen, len(limits))
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
