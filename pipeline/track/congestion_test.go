package track_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// marksAndCNPs is what the truth has of one direction's congestion, by the
// definitions and from the frames that are in the file.
type marksAndCNPs struct {
	data, acks, cnps, told, unmarked uint64
	delay, wait, spacing             sketch.Histogram
}

func congestionTruth(s *scenario.SessionTruth, side int) (x marksAndCNPs) {
	type seen struct {
		time  int64
		frame uint64
		cnp   bool
		ack   bool
	}
	var list []seen
	for j, st := range s.Streams {
		reads := len(st.Messages) > 0 && st.Messages[0].Kind == scenario.Read
		for _, h := range st.CE {
			if h.Where != scenario.BeforeTap || h.Frame == 0 {
				continue
			}
			switch {
			case h.Kind == "cnp":
				if h.From == sideName(side) {
					x.cnps++
				}
			case h.Kind == "request" && j == side, h.Kind == "answer" && j != side && reads:
				x.data++
				list = append(list, seen{time: h.Time, frame: h.Frame})
			case h.Kind == "answer" && j != side:
				x.acks++
				list = append(list, seen{time: h.Time, frame: h.Frame, ack: true})
			}
		}
		for _, n := range st.CNPs {
			if n.Frame != 0 && n.From != sideName(side) {
				list = append(list, seen{time: n.Time, frame: n.Frame, cnp: true})
			}
		}
	}
	slices.SortFunc(list, func(a, b seen) int { return cmp.Compare(a.frame, b.frame) })
	first, last, ack, before := int64(-1), int64(-1), int64(-1), int64(-1)
	for _, e := range list {
		switch {
		case e.ack:
			ack = e.time
		case !e.cnp:
			last = e.time
			if first < 0 {
				first = e.time
			}
		default:
			switch {
			case first >= 0:
				x.wait.Add(e.time - first)
				x.delay.Add(e.time - last)
			case last >= 0 && e.time-last <= 1_000_000:
				x.delay.Add(e.time - last)
			case ack < 0 || ack < before:
				x.unmarked++
			}
			if before >= 0 {
				x.spacing.Add(e.time - before)
			}
			x.told++
			first, before = -1, e.time
		}
	}
	return x
}

// sameTimes compares a histogram with the truth's: number, sum and both ends are
// exact, and quantiles are within what a histogram promises.
func sameTimes(c *complaints, what string, found, truth *sketch.Histogram) {
	equal(c, what+", number", found.Count, truth.Count)
	equal(c, what+", sum", found.Sum, truth.Sum)
	equal(c, what+", least", found.Min, truth.Min)
	equal(c, what+", most", found.Max, truth.Max)
	equal(c, what+", median", found.Quantile(0.5), truth.Quantile(0.5))
}

// TestCongestion holds marks, CNPs and the times between them against the truth
// of every scenario that has some.
func TestCongestion(t *testing.T) {
	scenarios := 0
	for _, sc := range withRoCE() {
		c := simulate(t, &sc, 1)
		if c.truth.Totals.CESeen+c.truth.Totals.CNPsSeen == 0 {
			for s := range c.analyse(t).Sessions.All() {
				if s.AToB.Congestion != nil || s.BToA.Congestion != nil {
					t.Errorf("%s: congestion without marks and CNPs", sc.Name)
				}
			}
			continue
		}
		scenarios++
		t.Run(sc.Name, func(t *testing.T) {
			list := new(complaints)
			r := c.analyse(t)
			matched := match(r, c.truth)
			for i, s := range c.truth.Sessions {
				for side := range 2 {
					list.at = fmt.Sprintf("session %d side %s", s.ID, sideName(side))
					want := congestionTruth(s, side)
					fl := matched[i].flows[side]
					if fl == nil {
						other := matched[i].flows[1-side]
						if x := other.s.BToA.Congestion; want.told > 0 && (x == nil || x.Marks != record.MarksHidden || x.Reaction != record.ReactionUnknown) {
							list.add("CNPs to a side that is not in the file: %+v", x)
						}
						continue
					}
					x := fl.sent.Congestion
					if x == nil {
						equal(list, "marks and CNPs", 0, want.data+want.acks+want.cnps+want.told)
						continue
					}
					equal(list, "data marked", x.DataMarked, want.data)
					equal(list, "ACKs marked", x.AcksMarked, want.acks)
					equal(list, "CNPs marked", x.CNPsMarked, want.cnps)
					equal(list, "CNPs", x.CNPs, want.told)
					equal(list, "CNPs without a mark", x.Unmarked, want.unmarked)
					sameTimes(list, "np_delay", &x.NPDelay, &want.delay)
					sameTimes(list, "mark_wait", &x.MarkWait, &want.wait)
					sameTimes(list, "CNP spacing", &x.Spacing, &want.spacing)
					equal(list, "reaction known", x.Reaction == record.NoCNP, want.told == 0)
				}
			}
			for _, s := range list.list {
				t.Error(s)
			}
		})
	}
	if scenarios < 14 {
		t.Errorf("only %d scenarios have marks or CNPs", scenarios)
	}
}

func scenarioNamed(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return &sc
}

// TestSlowAndRecovered: a sender that is told to slow down does so and recovers
// when the truth says, as exactly as windows of 32 packets can tell.
func TestSlowAndRecovered(t *testing.T) {
	for _, name := range []string{"cnp_at_requester", "cnp_at_responder"} {
		for seed := range uint64(4) {
			c := simulate(t, scenarioNamed(t, name), seed)
			s := c.truth.Sessions[0]
			rates := s.Streams[0].Rates
			back := slices.IndexFunc(rates, func(r scenario.Rate) bool { return r.Share >= 0.9 })
			if len(rates) == 0 || rates[0].Share != 0.5 || back < 0 {
				t.Fatalf("%s: the sender does not do what this test is about: %v", name, rates)
			}
			// One packet of 1,024 bytes of payload, with all around it, at 100 Gbit/s.
			const packet = 91
			window := func(share float64) int64 { return int64(33 * packet / share) }
			latency := c.truth.Network.LatencyA
			var slow, recovered *record.Event
			r := c.analyse(t)
			for i := range r.Events {
				switch e := &r.Events[i]; e.Detail.(type) {
				case record.Slow:
					slow = e
				case record.Recovered:
					recovered = e
				}
			}
			if slow == nil || recovered == nil {
				t.Fatalf("%s: slow %v, recovered %v", name, slow, recovered)
			}
			check := func(what string, found, truth, slack int64) {
				t.Helper()
				if found < truth || found > truth+slack {
					t.Errorf("%s: %s at %d, truth %d, and at most %d later", name, what, found-c.truth.First, truth-c.truth.First, slack)
				}
			}
			check("slow", slow.Time, rates[0].Time+latency, 2*window(0.5))
			check("recovered", recovered.Time, rates[back].Time+latency, 2*window(0.875))
			d := slow.Detail.(record.Slow)
			if got, want := d.Took, slow.Time-s.Streams[0].CNPs[0].Time; got != want {
				t.Errorf("%s: cnp_to_slow %d, truth %d", name, got, want)
			}
			if got, want := recovered.Detail.(record.Recovered).Took, recovered.Time-slow.Time; got != want {
				t.Errorf("%s: slow_to_recover %d, truth %d", name, got, want)
			}
			x := r.Sessions.At(0).AToB.Congestion
			if x.Reaction != record.ReactionSlowed || x.Slowed != 1 || x.Recovered != 1 || x.Depth < 0.49 || x.Depth > 0.51 {
				t.Errorf("%s: %v, slowed %d, recovered %d, depth %.3f", name, x.Reaction, x.Slowed, x.Recovered, x.Depth)
			}
		}
	}
}

// TestRateUnknown: what can't be seen is not said to be nothing.
func TestRateUnknown(t *testing.T) {
	for name, want := range map[string]struct {
		marks    record.MarkSight
		reaction record.Reaction
	}{
		"cnp_slow_application": {record.MarksSeen, record.ReactionUnknown},
		"cnp_one_way":          {record.MarksHidden, record.ReactionUnknown},
		"cnp_at_requester":     {record.MarksNone, record.ReactionSlowed},
		"ce_no_cnp":            {record.MarksSeen, record.NoCNP},
		"cnp_often":            {record.MarksSeen, record.ReactionSlowed},
	} {
		r := simulate(t, scenarioNamed(t, name), 1).analyse(t)
		s := r.Sessions.At(0)
		x := s.AToB.Congestion
		if x == nil {
			x = s.BToA.Congestion
		}
		if x == nil || x.Marks != want.marks || x.Reaction != want.reaction {
			t.Errorf("%s: %+v, want marks %v and reaction %v", name, x, want.marks, want.reaction)
		}
	}
}

// TestPacing: what CNPs are kept apart for is told, over the shards of several
// pairs of addresses.
func TestPacing(t *testing.T) {
	for name, want := range map[string]record.Pacing{
		"cnp_pacing_qp":          {Known: true, QP: true},
		"cnp_pacing_destination": {Known: true, Destination: true},
		"cnp_pacing_port":        {Known: true, Port: true},
		"cnp_often":              {Known: true, QP: true, Destination: true, Port: true},
		"cnp_unpaced":            {},
	} {
		for seed := range uint64(3) {
			r := simulate(t, scenarioNamed(t, name), seed).analyse(t)
			for s := range r.Sessions.All() {
				p := s.AToB.Congestion.Pacing
				if p.Known && (p.Interval < 45_000 || p.Interval > 60_000) {
					t.Errorf("%s: an interval of %d ns, truth 50 us", name, p.Interval)
				}
				if p.Interval = 0; p != want {
					t.Errorf("%s: %s: %+v, want %+v", name, s.ID, p, want)
				}
			}
		}
	}
}

// TestRunsAreOneEvent: marks and CNPs with little between them are one event
// with a count.
func TestRunsAreOneEvent(t *testing.T) {
	c := simulate(t, scenarioNamed(t, "cnp_often"), 1)
	var marks, cnps uint64
	n := 0
	for _, e := range c.analyse(t).Events {
		switch e.Detail.(type) {
		case *record.CE:
			marks += e.Count
			n++
		case *record.CNP:
			cnps += e.Count
			n++
		}
	}
	if marks != c.truth.Totals.CESeen || cnps != c.truth.Totals.CNPsSeen || n != 2 {
		t.Errorf("%d events with %d marks and %d CNPs, truth %d and %d", n, marks, cnps, c.truth.Totals.CESeen, c.truth.Totals.CNPsSeen)
	}
}

// TestMarksCopiedOrCorrupt: the mirror's copies and packets that arrive
// damaged do not count.
func TestMarksCopiedOrCorrupt(t *testing.T) {
	sc := scenarioNamed(t, "cnp_at_responder")
	spec, err := sc.Spec(scenario.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	spec.Tap.Twice = scenario.OtherVLAN
	twice := simulateSpec(t, spec)
	x := twice.analyse(t).Sessions.At(0).AToB.Congestion
	want := congestionTruth(twice.truth.Sessions[0], 0)
	if x.DataMarked != want.data || x.CNPs != want.told || x.NPDelay.Sum != want.delay.Sum {
		t.Errorf("captured twice: %d marks, %d CNPs, np_delay %d in all; truth %d, %d, %d", x.DataMarked, x.CNPs, x.NPDelay.Sum, want.data, want.told, want.delay.Sum)
	}

	c := simulate(t, sc, 1)
	frame := c.truth.Sessions[0].Streams[0].CE[0].Frame
	c.frames[frame-1].Data[100] ^= 1 // payload: the ICRC no longer fits
	if x := c.analyse(t).Sessions.At(0).AToB.Congestion; x.DataMarked != want.data-1 {
		t.Errorf("one of %d marked packets is corrupt: %d marks", want.data, x.DataMarked)
	}
}

// TestCNPsBeforePairing: CNPs that come before it is known whose they are say
// nothing of marks and rates.
func TestCNPsBeforePairing(t *testing.T) {
	c := simulate(t, scenarioNamed(t, "cnp_one_way"), 1)
	for s := range c.only(func(i int, _ *capture.Frame) bool { return uint64(i+1) == c.truth.Sessions[0].Streams[0].CNPs[0].Frame }).analyse(t).Sessions.All() {
		x := s.BToA.Congestion
		if s.BToA.CNPsReceived != 1 || x == nil || x.Marks != record.MarksHidden || x.Reaction != record.ReactionUnknown || x.CNPs != 0 {
			t.Errorf("a lone CNP: %d, %+v", s.BToA.CNPsReceived, x)
		}
	}
}

// TestIgnored: of a sender that does not mind CNPs nobody says that it slowed
// down. Its port is its own: two that share one slow each other down. Where
// requests and responses go both ways and are lost at the same time, chance may
// look so, in one of a hundred directions at most.
func TestIgnored(t *testing.T) {
	said, told := 0, 0
	check := func(name string, c *simulated) {
		for s := range c.analyse(t).Sessions.All() {
			for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
				if x := d.Congestion; x != nil && x.CNPs > 0 {
					if told++; x.Reaction == record.ReactionSlowed {
						said++
						t.Logf("%s: %s: %d times slow after %d CNPs, to %.2f", name, s.ID, x.Slowed, x.CNPs, x.Depth)
					}
				}
			}
		}
	}
	for seed := range uint64(20) {
		check("cnp_ignored", simulate(t, scenarioNamed(t, "cnp_ignored"), seed))
	}
	for seed := range uint64(400) { // so many that a share of them says something
		spec := randomSpec(seed)
		for i := range spec.Sessions {
			s := &spec.Sessions[i]
			s.Requester.IgnoreCNP = true
			s.A.Host, s.B.Host = 2*i, 2*i+1
		}
		check(fmt.Sprint("random ", seed), simulateSpec(t, spec))
	}
	if 100*said > told || told < 200 {
		t.Errorf("of %d directions that get CNPs %d slow down, it is said", told, said)
	}
}
