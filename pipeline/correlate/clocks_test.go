package correlate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestOneWay: with packets of one direction alone clocks can't be told from
// delays, and that is said; losses are found all the same.
func TestOneWay(t *testing.T) {
	for name, network := range map[string]scenario.Network{"ipv4": {}, "ipv6": {IPv6: true}, "routers": {RoutersA: 1}} {
		t.Run(name, func(t *testing.T) {
			spec := work(network, losses()...)
			for i := range spec.Sessions { // long enough to tell drift
				spec.Sessions[i].Work[0].Every *= 40
				spec.Sessions[i].Work[1].Every *= 40
			}
			l := look(t, spec, apart, func(p *[3]scenario.Point) { p[scenario.AtB].Only = scenario.AtoB }, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
			l.checkHops(t)
			if len(l.res.Clocks) != 1 || l.res.Clocks[0].Uncertainty >= 0 || len(l.res.Hops) != 1 || l.res.Hops[0].DelayKnown {
				t.Errorf("clocks %+v, hops %d", l.res.Clocks, len(l.res.Hops))
			}
			// How much longer than the fastest packets took is known.
			h := &l.res.Hops[0]
			c := l.res.Clocks[0]
			if want := apart[2].ppm; c.Drift < want-5 || c.Drift > want+5 {
				t.Errorf("drift %.2f, true is %.2f", c.Drift, want)
			}
			if h.DelayMin < -2000 || h.DelayMin > 2000 {
				t.Errorf("the fastest is %d ns above the fastest", h.DelayMin)
			}
		})
	}
}

// TestSameClock: with one clock order and delays are known without estimates.
func TestSameClock(t *testing.T) {
	cfg := correlate.DefaultConfig()
	cfg.SameClock = true
	l := look(t, work(scenario.Network{IPv6: true}, losses()...), [3]clock{}, func(p *[3]scenario.Point) { p[scenario.AtB].Only = scenario.AtoB }, cfg, scenario.AtB, scenario.AtA)
	l.checkHops(t)
	l.checkDelays(t)
	if p := l.res.Paths[0]; !slices.Equal(p.Taps, []int{1, 0}) || p.Sureness != correlate.ByDelay {
		t.Errorf("path %+v", p)
	}
	// Where they have none, packets of both directions say so.
	l = look(t, work(scenario.Network{}), apart, nil, cfg, scenario.AtA, scenario.AtB)
	if l.res.Clocks[0].Contradicted == 0 {
		t.Error("different clocks pass for one")
	}
}

// TestUnsteady: time stamps that come late and are coarse.
func TestUnsteady(t *testing.T) {
	clocks := apart
	for i := range clocks {
		clocks[i].jitter = 4 * time.Microsecond
	}
	l := look(t, work(scenario.Network{}, losses()...), clocks, func(p *[3]scenario.Point) {
		for i := range p {
			p[i].Resolution = time.Microsecond
		}
	}, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
	l.checkHops(t)
}

// TestSteppedClock: a clock that is set while it captures is noticed, and
// packets are found again all the same where IP IDs tell them apart.
func TestSteppedClock(t *testing.T) {
	l := look(t, work(scenario.Network{}, losses()...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	stepped := &frames{}
	for i := range l.caught[2].list {
		f := l.caught[2].list[i]
		if i > len(l.caught[2].list)/2 {
			f.Time -= int64(time.Second)
		}
		stepped.list = append(stepped.list, f)
	}
	r, err := correlate.Run(context.Background(), 2, opener(l.caught[0], stepped), correlate.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if r.Clocks[0].Method != correlate.Spread {
		t.Errorf("clocks %+v", r.Clocks)
	}
	var matched, all uint64
	for _, h := range r.Hops {
		matched, all = matched+h.Matched, all+h.Upstream
	}
	if matched*100 < all*95 {
		t.Errorf("%d of %d matched", matched, all)
	}
	found := correlate.Find(r, []string{"a", "b"})
	if !slices.ContainsFunc(found, func(f record.Finding) bool { return f.Code == "clock-unsteady" }) {
		t.Errorf("%+v", found)
	}
}

// TestOddStamps: a few packets with a wrong time do not move the clocks.
func TestOddStamps(t *testing.T) {
	l := look(t, work(scenario.Network{}, losses()...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	odd := &frames{}
	for i := range l.caught[2].list {
		f := l.caught[2].list[i]
		if i%1500 == 700 {
			f.Time -= int64(300 * time.Millisecond)
		}
		odd.list = append(odd.list, f)
	}
	p := *l
	p.res = mustRun(t, correlate.DefaultConfig(), l.caught[0], odd)
	p.checkClocks(t)
	p.checkHops(t)
}

// TestTwice: a capture given twice, by another name.
func TestTwice(t *testing.T) {
	l := look(t, work(scenario.Network{}, losses()...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	r := mustRun(t, correlate.DefaultConfig(), l.caught[0], l.caught[0])
	for _, h := range r.Hops {
		if h.Lost.Network()+h.Appeared > 0 || h.Delay.Max != 0 {
			t.Errorf("%+v", h)
		}
	}
	if c := r.Clocks[0]; c.Method != correlate.TwoWay || c.Offset != 0 || c.RoundTrip != 0 {
		t.Errorf("%+v", c)
	}
}
