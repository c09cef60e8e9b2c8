package correlate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestRandom: traffic, faults and clocks drawn by chance. What was lost where
// must be found to the packet, and the clocks be within what is said of them.
// ROCELENS_SEEDS runs more of them.
func TestRandom(t *testing.T) {
	seeds := uint64(20)
	if n, err := strconv.ParseUint(os.Getenv("ROCELENS_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			network := scenario.Network{
				IPv6: rng.IntN(3) == 0, IPID: scenario.IPID(rng.IntN(3)), RoutersA: uint8(rng.IntN(2)), RoutersB: uint8(rng.IntN(2)),
			}
			var faults []scenario.Fault
			for _, where := range []scenario.Where{scenario.BeforeTap, scenario.AfterTap} {
				if rng.IntN(4) > 0 {
					faults = append(faults, rate(scenario.Drop, where, 0.03*rng.Float64(), []scenario.Subject{scenario.Requests, scenario.Answers, scenario.AnyData}[rng.IntN(3)]))
				}
				if rng.IntN(2) == 0 {
					faults = append(faults, rate(scenario.MarkCE, where, rng.Float64(), scenario.AnyData))
				}
			}
			spec := work(network, faults...)
			spec.Seed = seed
			spec.Network.LatencyA = time.Duration(1+rng.IntN(1<<rng.IntN(16))) * time.Nanosecond
			spec.Network.LatencyB = time.Duration(1+rng.IntN(1<<rng.IntN(16))) * time.Nanosecond
			spec.Network.Queue = time.Duration(1 + rng.IntN(1<<rng.IntN(17)))
			var clocks [3]clock
			for i := range clocks {
				clocks[i] = clock{offset: time.Duration(rng.Int64N(1<<rng.IntN(61))) - time.Duration(rng.Int64N(1<<rng.IntN(60))), ppm: 200*rng.Float64() - 100}
			}
			taps := rng.Perm(3)[:2+rng.IntN(2)]
			l := look(t, spec, clocks, nil, correlate.DefaultConfig(), taps...)
			l.checkHops(t)
			l.checkClocks(t)
			checkSums(t, l.res, "")
			for _, h := range l.res.Hops {
				if h.Reordered+h.Duplicated > 0 { // the wire does neither here
					t.Errorf("hop %d to %d: %d overtaken, %d copied", h.Up, h.Down, h.Reordered, h.Duplicated)
				}
			}
			if t.Failed() {
				t.Logf("taps %v, network %+v, faults %+v, clocks %+v, %+v", taps, spec.Network, faults, clocks, l.res.Clocks)
			}
		})
	}
}
