package correlate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// apart are clocks like those of real captures: two hosts a third of a second
// apart that drift, and a switch that thinks that it is 1970.
var apart = [3]clock{{}, {offset: -56 * 365 * 24 * time.Hour, ppm: 80}, {offset: 350 * time.Millisecond, ppm: -60}}

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
	all, seen := 0, 0
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
			if wrong := without(found, lost); len(wrong) > 0 || uint64(len(missing)) > outside {
				t.Errorf("%d lost, found are %d\nthat were not lost: %v\nnot found: %v (%d outside)", len(lost), len(found), wrong, missing, outside)
			}
			if !strings.HasPrefix(sc.Name, "retry_") { // nothing comes through any more
				all, seen = all+len(lost), seen+len(found)
			}
		})
	}
	// The rest was lost behind the last packet that came through.
	if all == 0 || seen*100 < all*99 {
		t.Errorf("of %d losses %d were found", all, seen)
	}
}

// TestFaults: what the wire does to packets other than losing them is found on
// the hop where it does it.
func TestFaults(t *testing.T) {
	faults := []scenario.Fault{ // what is lost is not marked
		rate(scenario.Drop, scenario.AfterTap, 0.01, scenario.Requests),
		rate(scenario.MarkCE, scenario.BeforeTap, 0.05, scenario.AnyData), rate(scenario.MarkCE, scenario.AfterTap, 0.2, scenario.AnyData),
		rate(scenario.Corrupt, scenario.AfterTap, 0.01, scenario.AnyData), rate(scenario.Duplicate, scenario.BeforeTap, 0.01, scenario.AnyData),
		rate(scenario.Delay, scenario.AfterTap, 0.02, scenario.AnyData),
	}
	l := look(t, work(scenario.Network{}, faults...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
	l.checkHops(t)
	for i := range l.res.Hops {
		h := &l.res.Hops[i]
		w := l.between(l.taps[h.Up], l.taps[h.Down])
		if h.Duplicated != w.duplicated || h.Reordered != w.overtaken {
			t.Errorf("hop %d to %d: %d copied, %d overtaken; the wire did that to %d and %d", h.Up, h.Down, h.Duplicated, h.Reordered, w.duplicated, w.overtaken)
		}
		if h.Marked+h.Corrupted+h.Duplicated+h.Reordered == 0 {
			t.Errorf("hop %d to %d: nothing happened", h.Up, h.Down)
		}
	}
}

// TestMissed: what a capture loses is not lost by the network: a tap between
// two others shows it, and at the last one the answers do.
func TestMissed(t *testing.T) {
	for name, at := range map[string]int{"middle": scenario.AtTap, "end": scenario.AtB} {
		t.Run(name, func(t *testing.T) {
			spec := work(scenario.Network{}, rate(scenario.Drop, scenario.BeforeTap, 0.01, scenario.Requests))
			l := look(t, spec, apart, func(p *[3]scenario.Point) { p[at].Thin = 0.02 }, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
			missed := l.truth.Missed[at]
			tap := l.res.Taps[at]
			if missed < 20 {
				t.Fatalf("only %d missed", missed)
			}
			lost := 0
			for i := range l.truth.Hops {
				lost += len(l.truth.Hops[i].Lost)
			}
			var again, open, answered, appeared uint64
			for _, h := range l.res.Hops {
				again, open, answered, appeared = again+h.Lost.SentAgain, open+h.Lost.Open, answered+h.Lost.Answered, appeared+h.Appeared
			}
			switch at {
			case scenario.AtTap:
				if tap.Missed+open+uint64(lost) < missed || tap.Missed > missed || again+open > uint64(lost)+2 {
					t.Errorf("the tap missed %d, %d are said; %d lost, said are %d and %d", missed, tap.Missed, lost, again, open)
				}
			case scenario.AtB:
				// Requests that it missed were answered, unless they were sent
				// again because of others; what it sent it was the first to miss.
				if answered == 0 || appeared == 0 || again+answered+appeared+open != missed+uint64(lost) {
					t.Errorf("the tap missed %d, %d are said to be answered, %d appeared, %d open; %d lost, %d sent again", missed, answered, appeared, open, lost, again)
				}
			}
		})
	}
}

// TestEdges: what one tap saw while the other one was not capturing is no loss.
func TestEdges(t *testing.T) {
	spec := work(scenario.Network{}, losses()...)
	l := look(t, spec, apart, func(p *[3]scenario.Point) {
		p[scenario.AtA].From, p[scenario.AtA].To = 5*time.Millisecond, 35*time.Millisecond
		p[scenario.AtB].From, p[scenario.AtB].To = 12*time.Millisecond, 42*time.Millisecond
	}, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	for i := range l.res.Hops {
		h := &l.res.Hops[i]
		w := l.between(l.taps[h.Up], l.taps[h.Down])
		if wrong := without(l.found(i), w.lost); len(wrong) > 0 || h.Appeared > 0 || h.Outside < 100 {
			t.Errorf("hop %d to %d: %v were not lost, %d appeared, %d outside", h.Up, h.Down, wrong, h.Appeared, h.Outside)
		}
		if len(l.found(i)) == 0 {
			t.Errorf("hop %d to %d: no loss found", h.Up, h.Down)
		}
	}
	l.checkClocks(t)
}

// TestLateTap: a tap in the middle that begins later and ends earlier did not
// miss what passed meanwhile.
func TestLateTap(t *testing.T) {
	l := look(t, work(scenario.Network{}, losses()...), apart, func(p *[3]scenario.Point) {
		p[scenario.AtTap].From, p[scenario.AtTap].To = 10*time.Millisecond, 30*time.Millisecond
	}, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
	if n := l.res.Taps[1].Missed; n > 0 {
		t.Errorf("%d missed", n)
	}
	var found, lost []string
	for i := range l.res.Hops {
		found = append(found, l.found(i)...)
		w := l.between(l.taps[l.res.Hops[i].Up], l.taps[l.res.Hops[i].Down])
		lost = append(lost, w.lost...)
		if l.res.Hops[i].Appeared > 0 {
			t.Errorf("%d appeared", l.res.Hops[i].Appeared)
		}
	}
	if wrong := without(found, lost); len(wrong) > 0 || len(found) < 20 {
		t.Errorf("%d found, %v were not lost", len(found), wrong)
	}
}

// failing is a capture that can't be read to its end.
type failing struct {
	frames
	left int
}

var errFailing = errors.New("no more")

func (f *failing) ReadBatch(b *capture.Batch) error {
	if f.left--; f.left < 0 {
		return errFailing
	}
	return f.frames.ReadBatch(b)
}

// TestStopped: where the second reading ends early, what was read by then is
// reported, and nothing that was not read is called lost.
func TestStopped(t *testing.T) {
	l := look(t, work(scenario.Network{}, losses()...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	for tap := range 2 {
		opened := 0
		whole := opener(l.caught[scenario.AtA], l.caught[scenario.AtB])
		r, err := correlate.Run(context.Background(), 2, func(i int) (capture.Source, error) {
			src, err := whole(i)
			if i == tap {
				if opened++; opened == 2 {
					return &failing{frames: frames{list: src.(*frames).list}, left: 2}, nil
				}
			}
			return src, err
		}, correlate.DefaultConfig())
		if !errors.Is(err, errFailing) || r == nil {
			t.Fatalf("%v, %v", r, err)
		}
		p := *l
		p.res = r
		for i := range r.Hops {
			h := &r.Hops[i]
			w := l.between(l.taps[h.Up], l.taps[h.Down])
			if wrong := without(p.found(i), w.lost); len(wrong) > 0 || h.Appeared > 0 || h.Matched == 0 {
				t.Errorf("hop %d to %d: %v were not lost, %d appeared, %d matched", h.Up, h.Down, wrong, h.Appeared, h.Matched)
			}
		}
	}
}

// TestTunnels: a mirror wraps packets, tags them or cuts them, and they are
// found again.
func TestTunnels(t *testing.T) {
	for name, tap := range map[string]scenario.Tap{
		"vxlan": {Tunnel: scenario.VXLAN}, "geneve": {Tunnel: scenario.Geneve}, "erspan": {Tunnel: scenario.ERSPAN, VLAN: 9}, "vlan": {VLAN: 100, Priority: 3},
		"snapped": {Snaplen: 90}, "twice": {Twice: scenario.Identical}, "route": {Twice: scenario.OtherRoute},
	} {
		for kind, network := range map[string]scenario.Network{"ipv4": {}, "ipv6": {IPv6: true}} {
			t.Run(name+kind, func(t *testing.T) {
				spec := work(network, losses()...)
				spec.Tap = tap
				l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtTap, scenario.AtA, scenario.AtB)
				l.checkHops(t)
				l.checkClocks(t)
				for _, h := range l.res.Hops {
					if h.Duplicated > 0 || h.Appeared > 0 {
						t.Errorf("hop %d to %d: %d copied, %d appeared", h.Up, h.Down, h.Duplicated, h.Appeared)
					}
				}
			})
		}
	}
}

// TestDeterminism: the same captures give the same result.
func TestDeterminism(t *testing.T) {
	spec := func() *scenario.Spec { return work(scenario.Network{IPv6: true}, losses()...) }
	var first string
	for i := range 3 {
		l := look(t, spec(), apart, nil, correlate.DefaultConfig(), scenario.AtB, scenario.AtA, scenario.AtTap)
		if s := fmt.Sprintf("%+v", l.res); i == 0 {
			first = s
		} else if s != first {
			t.Fatalf("run %d differs", i)
		}
	}
}

// TestApart: a tap without a packet in common is left out, the first one too.
func TestApart(t *testing.T) {
	spec := work(scenario.Network{}, losses()...)
	l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	other := work(scenario.Network{IPv6: true})
	far := &frames{}
	if _, _, err := scenario.RunPoints(other, [3]scenario.Point{{Sink: far}, {}, {}}); err != nil {
		t.Fatal(err)
	}
	r, err := correlate.Run(context.Background(), 3, opener(far, l.caught[0], l.caught[2]), correlate.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if r.Taps[0].RoCE == 0 || r.Taps[1].Aligned != true || r.Taps[2].Aligned != true || len(r.Losses) != len(l.res.Losses) {
		t.Errorf("%d losses, without it %d; %+v", len(r.Losses), len(l.res.Losses), r.Taps)
	}
	found := correlate.Find(r, []string{"x", "y", "z"})
	if !slices.ContainsFunc(found, func(f record.Finding) bool { return f.Code == "tap-apart" && strings.HasPrefix(f.Title, "x ") }) {
		t.Errorf("%+v", found)
	}
}

// TestStall: a queue stands still for a while, as under PFC, and its packets are
// found again without IP IDs, too.
func TestStall(t *testing.T) {
	stall := rate(scenario.Delay, scenario.AfterTap, 0, scenario.Everything)
	stall.From, stall.To, stall.Delay = 10*time.Millisecond, 10100*time.Microsecond, 2*time.Millisecond
	for name, network := range map[string]scenario.Network{"ipv4": {}, "ipv6": {IPv6: true}} {
		t.Run(name, func(t *testing.T) {
			l := look(t, work(network, append(losses(), stall)...), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
			l.checkHops(t)
			l.checkClocks(t)
			worst := int64(0)
			for _, h := range l.res.Hops {
				worst = max(worst, h.Delay.Max)
			}
			if worst < int64(stall.Delay)/2 {
				t.Errorf("%d ns at most", worst)
			}
		})
	}
}

// TestLongWay: many packets of one kind are on their way at once, over ten
// milliseconds, and are told apart without IP IDs.
func TestLongWay(t *testing.T) {
	spec := work(scenario.Network{IPv6: true}, losses()...)
	spec.Network.LatencyB = 10 * time.Millisecond
	for i := range spec.Sessions {
		spec.Sessions[i].Requester.AckTimeout = 13 // 33 ms
	}
	l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
	l.checkHops(t)
	l.checkClocks(t)
	l.checkDelays(t)
}
