package correlate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

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
		// What was lost before anything came through, or after the last, is not
		// judged.
		got := l.found(i)
		if wrong, missing := without(got, w.lost), without(w.lost, got); len(wrong) > 0 || uint64(len(missing)) > h.Outside {
			t.Errorf("hop %d to %d: lost %d, the wire %d\nwrong: %v\nmissing: %v\n%d outside", h.Up, h.Down, len(got), len(w.lost), wrong, missing, h.Outside)
		}
		if h.Outside > 20 {
			t.Errorf("hop %d to %d: %d outside", h.Up, h.Down, h.Outside)
		}
		// What was marked and then lost on the way to the second tap, or looks like
		// another packet, is not seen to be marked.
		exact := len(l.taps) == 3 && l.res.ByTime == 0
		if h.Marked != w.marked && exact || h.Marked > w.marked || h.Unmarked != 0 || h.Corrupted != w.corrupted && len(l.taps) == 3 {
			t.Errorf("hop %d to %d: %d marked, %d corrupted; the wire did that to %d and %d", h.Up, h.Down, h.Marked, h.Corrupted, w.marked, w.corrupted)
		}
	}
	lost := 0
	for _, h := range l.truth.Hops {
		lost += len(h.Lost)
	}
	if total != lost && len(l.taps) == 3 { // there is a hop for each part of the way
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
			if q == 1 && l.res.ByTime > 0 {
				continue // it may be that of another packet
			}
			if d := got - want; d > h.DelayError+want/16+2 || -d > h.DelayError+want/16+2 {
				t.Errorf("hop %d to %d: quantile %g is %d ± %d, true is %d", h.Up, h.Down, q, got, h.DelayError, want)
			}
		}
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
