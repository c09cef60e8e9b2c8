package correlate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// apart are clocks like those of real captures: two hosts a third of a second
// apart that drift, and a switch that thinks that it is 1970.
var apart = [3]clock{{}, {offset: -56 * 365 * 24 * time.Hour, ppm: 80}, {offset: 350 * time.Millisecond, ppm: -60}}

// lossKey names a lost packet.
func lossKey(op uint8, qp, psn uint32, id uint16) string {
	return fmt.Sprintf("%02x qp %d psn %d id %d", op, qp, psn, id)
}

// wayTruth is what the wire did between two of the points that were looked at,
// in one direction: one hop or two.
type wayTruth struct {
	lost                                     []string
	marked, corrupted, duplicated, overtaken uint64
	hops                                     []*scenario.HopTruth
}

func (l *lined) between(from, to int) wayTruth {
	var w wayTruth
	for at := from; at != to; {
		for i := range l.truth.Hops {
			h := &l.truth.Hops[i]
			if h.From != at || (h.To > h.From) != (to > from) {
				continue
			}
			for _, p := range h.Lost {
				w.lost = append(w.lost, lossKey(p.Op, p.DestQP, p.PSN, p.IPID))
			}
			w.marked += h.Marked
			w.corrupted += h.Corrupted
			w.duplicated += h.Duplicated
			w.overtaken += h.Overtaken
			w.hops = append(w.hops, h)
			at = h.To
			break
		}
	}
	slices.Sort(w.lost)
	return w
}

// found are the losses that were found on a hop.
func (l *lined) found(hop int) (keys []string) {
	for _, x := range l.res.Losses {
		if x.Hop == hop {
			keys = append(keys, lossKey(uint8(x.Opcode), l.res.Flows[x.Flow].DestQP, x.PSN, x.IPID))
		}
	}
	slices.Sort(keys)
	return keys
}

// checkHops holds each hop against the truth.
func (l *lined) checkHops(t *testing.T) {
	t.Helper()
	total := 0
	for i := range l.res.Hops {
		h := &l.res.Hops[i]
		w := l.between(l.taps[h.Up], l.taps[h.Down])
		total += len(w.lost)
		if got := l.found(i); !slices.Equal(got, w.lost) {
			t.Errorf("hop %d to %d: lost\n%v, the wire lost\n%v", h.Up, h.Down, got, w.lost)
		}
		if h.Marked != w.marked || h.Unmarked != 0 || h.Corrupted != w.corrupted {
			t.Errorf("hop %d to %d: %d marked, %d corrupted; the wire did that to %d and %d", h.Up, h.Down, h.Marked, h.Corrupted, w.marked, w.corrupted)
		}
	}
	lost := 0
	for _, h := range l.truth.Hops {
		lost += len(h.Lost)
	}
	if total != lost && len(l.taps) == 3 {
		t.Errorf("the hops lost %d packets, the wire %d", total, lost)
	}
}

// checkClocks holds the clocks against the truth, at both ends of the captures:
// what a tap's time becomes may be off by no more than is said.
func (l *lined) checkClocks(t *testing.T) {
	t.Helper()
	for _, c := range l.res.Clocks {
		a, b := l.clocks[l.taps[c.A]], l.clocks[l.taps[c.B]]
		if c.Method != correlate.TwoWay {
			t.Errorf("taps %d and %d: clocks by %v", c.A, c.B, c.Method)
			continue
		}
		// The true time at which A's clock shows At.
		const epoch = 1767603600 * 1e9
		now := float64(c.At-int64(a.offset)-epoch) / (1 + a.ppm/1e6)
		want := int64(b.offset) - int64(a.offset) + int64(now*(b.ppm-a.ppm)/1e6)
		if d := c.Offset - want; d > c.Uncertainty || d < -c.Uncertainty {
			t.Errorf("taps %d and %d: offset %d ± %d, true is %d", c.A, c.B, c.Offset, c.Uncertainty, want)
		}
		drift := ((1+b.ppm/1e6)/(1+a.ppm/1e6) - 1) * 1e6
		if d := c.Drift - drift; d > c.DriftUncertainty || d < -c.DriftUncertainty {
			t.Errorf("taps %d and %d: drift %.3f ± %.3f, true is %.3f", c.A, c.B, c.Drift, c.DriftUncertainty, drift)
		}
	}
}

// checkDelays holds delays against the truth, within what is said of them.
func (l *lined) checkDelays(t *testing.T) {
	t.Helper()
	for i := range l.res.Hops {
		h := &l.res.Hops[i]
		w := l.between(l.taps[h.Up], l.taps[h.Down])
		if len(w.hops) != 1 || h.Delay.Count == 0 {
			continue
		}
		true_ := slices.Clone(w.hops[0].Delay)
		slices.Sort(true_)
		if !h.DelayKnown {
			t.Errorf("hop %d to %d: delays are not known", h.Up, h.Down)
		}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			got, want := h.Delay.Quantile(q), true_[int(q*float64(len(true_)-1))]
			if q == 0 {
				got = h.DelayMin
			}
			if d := got - want; d > h.DelayError+want/16+2 || -d > h.DelayError+want/16+2 {
				t.Errorf("hop %d to %d: quantile %g is %d ± %d, true is %d", h.Up, h.Down, q, got, h.DelayError, want)
			}
		}
	}
}

// work is traffic of an RC connection in both directions.
func work(network scenario.Network, faults ...scenario.Fault) *scenario.Spec {
	writes := func(n int) []scenario.Message {
		var list []scenario.Message
		for range n {
			list = append(list, scenario.Message{Kind: scenario.Write, Len: 8192}, scenario.Message{Kind: scenario.Send, Len: 700}, scenario.Message{Kind: scenario.Read, Len: 4000})
		}
		return list
	}
	network.Queue = 20 * time.Microsecond
	network.LatencyA, network.LatencyB = 3*time.Microsecond, 5*time.Microsecond
	s := &scenario.Spec{Name: "correlate", Seed: 7, Network: network, Faults: faults}
	for i := range 2 {
		s.Sessions = append(s.Sessions, scenario.Session{
			A: scenario.Side{Host: 0, QPN: uint32(0x100 + i), StartPSN: 0xfffff0}, B: scenario.Side{Host: 1, QPN: uint32(0x200 + i), StartPSN: 77},
			Start: time.Duration(i) * time.Millisecond,
			Work: [2]scenario.Work{
				{Messages: writes(150), Every: 300 * time.Microsecond, Depth: 8},
				{Messages: writes(50), Every: 900 * time.Microsecond, Depth: 8},
			},
			Requester: scenario.Requester{AckTimeout: 10},
		})
	}
	return s
}

func rate(a scenario.Action, w scenario.Where, share float64, subject scenario.Subject) scenario.Fault {
	return scenario.Fault{Action: a, Where: w, Session: scenario.All, Stream: scenario.All, Subject: subject, Index: scenario.All, Transmission: scenario.All, Rate: share, Delay: 40 * time.Microsecond}
}

// losses are on both hops, of requests and of answers.
func losses() []scenario.Fault {
	return []scenario.Fault{
		rate(scenario.Drop, scenario.BeforeTap, 0.01, scenario.Requests), rate(scenario.Drop, scenario.AfterTap, 0.02, scenario.Requests),
		rate(scenario.Drop, scenario.AfterTap, 0.01, scenario.Answers),
	}
}

// TestLosses: each packet that the wire lost is found where it was lost,
// whatever the clocks say and whether or not IP IDs tell packets apart.
func TestLosses(t *testing.T) {
	for name, network := range map[string]scenario.Network{
		"ipv4": {}, "ipv6": {IPv6: true}, "constant": {IPID: scenario.IPIDConstant}, "zero": {IPID: scenario.IPIDZero},
		"rocev1": {RoCEv1: true}, "routers": {RoutersA: 1, RoutersB: 2},
	} {
		for _, taps := range [][]int{{scenario.AtA, scenario.AtTap, scenario.AtB}, {scenario.AtB, scenario.AtA, scenario.AtTap}, {scenario.AtA, scenario.AtB}, {scenario.AtTap, scenario.AtA}} {
			t.Run(fmt.Sprint(name, taps), func(t *testing.T) {
				l := look(t, work(network, losses()...), apart, nil, correlate.DefaultConfig(), taps...)
				l.checkHops(t)
				l.checkClocks(t)
				l.checkDelays(t)
				for _, p := range l.res.Paths {
					order := make([]int, 0, 3)
					for _, tap := range p.Taps {
						order = append(order, l.taps[tap])
					}
					if !p.Sureness.Sure() || !slices.IsSorted(order) && !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) || len(order) != len(taps) || p.Conflicts > 0 {
						t.Errorf("path %v, %v, %d conflicts", order, p.Sureness, p.Conflicts)
					}
				}
				for i, tap := range l.res.Taps {
					if tap.Missed+tap.Answered+tap.Duplicates+tap.Unplaced > 0 {
						t.Errorf("tap %d: %+v", i, tap)
					}
				}
			})
		}
	}
}

// TestScenarios: the losses of every scenario are found, also where its tap
// sees a part of the traffic only.
func TestScenarios(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		spec, err := sc.Spec(scenario.Options{Seed: 1})
		if err != nil || spec == nil {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
			var found, lost []string
			for i := range l.res.Hops {
				found = append(found, l.found(i)...)
			}
			for _, way := range [][2]int{{scenario.AtA, scenario.AtB}, {scenario.AtB, scenario.AtA}} {
				lost = append(lost, l.between(way[0], way[1]).lost...)
			}
			var outside uint64
			for i := range l.res.Hops {
				outside += l.res.Hops[i].Outside
			}
			missing := without(lost, found)
			if false := without(found, lost); len(false) > 0 || uint64(len(missing)) > outside {
				t.Errorf("%d lost, found are %d\nthat were not lost: %v\nnot found: %v (%d outside)", len(lost), len(found), false, missing, outside)
			}
		})
	}
}

// without are the strings of a that are not in b, each as often as it is missing.
func without(a, b []string) (rest []string) {
	n := make(map[string]int)
	for _, x := range b {
		n[x]++
	}
	for _, x := range a {
		if n[x]--; n[x] < 0 {
			rest = append(rest, x)
		}
	}
	return rest
}
