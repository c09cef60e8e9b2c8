package correlate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestChaos: captures that were torn apart: frames lost, doubled, changed, cut
// and out of order, with times from anywhere. Nothing panics, and all figures
// add up.
func TestChaos(t *testing.T) {
	for _, network := range []scenario.Network{{}, {IPv6: true}, {IPID: scenario.IPIDZero}} {
		l := look(t, work(network, losses()...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
		for seed := range uint64(25) {
			rng := rand.New(rand.NewPCG(seed, 3))
			var taps []*frames
			for range 2 + rng.IntN(3) {
				taps = append(taps, tear(rng, l.caught[rng.IntN(3)]))
			}
			cfg := correlate.DefaultConfig()
			cfg.Window = time.Duration(1) << (10 + rng.IntN(25))
			cfg.MaxLosses = rng.IntN(50)
			cfg.InOrder, cfg.SameClock = rng.IntN(3) == 0, rng.IntN(3) == 0
			r, err := correlate.Run(context.Background(), len(taps), opener(taps...), cfg)
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, r, fmt.Sprint("seed ", seed))
		}
	}
}

// tear spoils a part of a capture.
func tear(rng *rand.Rand, of *frames) *frames {
	from := rng.IntN(len(of.list) / 2)
	list := of.list[from : from+min(3000, len(of.list)-from)]
	out := &frames{}
	badly := rng.IntN(40)
	for i := range list {
		f := list[i]
		if rng.IntN(1000) < 20*badly/10 {
			switch rng.IntN(7) {
			case 0:
				continue
			case 1:
				out.list = append(out.list, f)
			case 2:
				f.Data = append([]byte(nil), f.Data...)
				f.Data[rng.IntN(len(f.Data))] ^= byte(1 + rng.IntN(255))
			case 3:
				f.Data = f.Data[:rng.IntN(len(f.Data))]
			case 4:
				f.Time += rng.Int64N(1<<rng.IntN(62)) - rng.Int64N(1<<rng.IntN(62))
			case 5:
				f = list[rng.IntN(len(list))]
			case 6:
				f.OrigLen = rng.Uint32()
			}
		}
		f.Number = uint64(len(out.list) + 1)
		out.list = append(out.list, f)
	}
	return out
}

// checkSums holds the figures of a result against each other.
func checkSums(t *testing.T, r *correlate.Result, what string) {
	t.Helper()
	type sum struct{ up, matched, lost, answered, appeared, outside, marked uint64 }
	of := func(c *correlate.Counts) sum {
		return sum{c.Upstream, c.Matched, c.Lost.Network(), c.Lost.Answered, c.Appeared, c.Outside, c.Marked}
	}
	sums := make([]sum, len(r.Hops))
	for i := range r.Flows {
		for k := range r.Flows[i].Hops {
			h := &r.Flows[i].Hops[k]
			x, s := of(&h.Counts), &sums[h.Hop]
			s.up, s.matched, s.lost, s.answered = s.up+x.up, s.matched+x.matched, s.lost+x.lost, s.answered+x.answered
			s.appeared, s.outside, s.marked = s.appeared+x.appeared, s.outside+x.outside, s.marked+x.marked
		}
	}
	lost := uint64(len(r.Losses)) + r.LossesLeftOut
	for i := range r.Hops {
		h := &r.Hops[i]
		if x := of(&h.Counts); x != sums[i] || x.up != x.matched+x.lost+x.answered || h.Delay.Count != x.matched || h.Marked+h.Unmarked > x.matched || h.Reordered > x.matched {
			t.Errorf("%s: hop %d: %+v, its flows %+v", what, i, x, sums[i])
		}
		lost -= h.Lost.Network() + h.Lost.Answered
	}
	if lost != 0 {
		t.Errorf("%s: the list of losses is off by %d", what, int64(lost))
	}
	for i := range r.Losses {
		if i > 0 && r.Losses[i].Time < r.Losses[i-1].Time {
			t.Errorf("%s: losses are out of order", what)
		}
	}
	correlate.Find(r, []string{"a", "b", "c", "d"}[:len(r.Taps)])
}

// TestMemory: with too little memory packets wait less long, and that is
// counted; figures still add up.
func TestMemory(t *testing.T) {
	var all frames
	sc, err := scenario.Find("bulk_write")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sc.Run(scenario.Options{Packets: 150_000, Sessions: 100, Payload: 256}, &all); err != nil {
		t.Fatal(err)
	}
	few := &frames{}
	for i := range all.list {
		if i%19 == 0 { // of all sessions
			few.list = append(few.list, all.list[i])
		}
	}
	cfg := correlate.DefaultConfig()
	cfg.SameClock = true
	cfg.Window = time.Hour
	cfg.MaxMemory = 16 << 20
	cfg.MaxLosses = 10
	r, err := correlate.Run(context.Background(), 2, opener(&all, few), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, r, "little memory")
	if r.Shortened == 0 || r.Window >= int64(cfg.Window) || r.Window <= 0 {
		t.Errorf("%d packets waited less long, the least %d ns", r.Shortened, r.Window)
	}
	cfg.MaxMemory = 1 << 30
	if r, err = correlate.Run(context.Background(), 2, opener(&all, few), cfg); err != nil {
		t.Fatal(err)
	}
	if r.Shortened > 0 || r.Window != int64(cfg.Window) {
		t.Errorf("with enough memory %d packets waited less long", r.Shortened)
	}
}

// TestRefusals: what can't be done is refused.
func TestRefusals(t *testing.T) {
	def := correlate.DefaultConfig()
	for name, c := range map[string]struct {
		taps int
		edit func(*correlate.Config)
	}{
		"one tap": {1, func(*correlate.Config) {}}, "too many": {17, func(*correlate.Config) {}}, "window": {2, func(c *correlate.Config) { c.Window = 0 }},
		"memory": {2, func(c *correlate.Config) { c.MaxMemory = 1 }}, "losses": {2, func(c *correlate.Config) { c.MaxLosses = -1 }},
	} {
		cfg := def
		c.edit(&cfg)
		if r, err := correlate.Run(context.Background(), c.taps, opener(&frames{}, &frames{}), cfg); err == nil || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	// Empty captures have nothing in common.
	r, err := correlate.Run(context.Background(), 2, opener(&frames{}, &frames{}), def)
	if err != nil || len(r.Hops) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := correlate.Run(ctx, 2, opener(&frames{list: make([]capture.Frame, 1)}, &frames{}), def); err == nil || r != nil {
		t.Errorf("interrupted: %v, %v", r, err)
	}
}
