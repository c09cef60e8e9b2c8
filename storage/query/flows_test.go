package query_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

// The flows whose questions have answers that are known: two taps, each with
// intervals of some flows over four hours, and the values that histograms were
// made of.
const (
	knownFlows = 12
	knownHours = 4
)

type known struct {
	origin    schema.Origin
	intervals []record.FlowInterval
	latency   [][]int64 // of ACKs, by interval
	delay     [][]int64 // np_delay
	pauses    []record.PauseInterval
}

func mac(n int) decode.MAC { return decode.MAC{2, 0, 0, 0, 0, byte(n)} }

// flowNumber names the flow that an interval is of, in tests.
func flowNumber(iv *record.FlowInterval) int { return int(iv.DestQPN - 0x100) }

// makeKnown makes the records of a probe.
func makeKnown(probe string, seed uint64) *known {
	r := rand.New(rand.NewPCG(seed, 7))
	k := &known{origin: schema.Origin{Probe: probe, Run: "run-" + probe, Inputs: []schema.Input{{Tap: "tap0", Interfaces: []string{"swp1"}}}}}
	durations := func(n int, middle float64) (all []int64, h sketch.Histogram) {
		for range n {
			v := int64(math.Exp(r.NormFloat64()*1.5 + middle))
			all = append(all, v)
			h.Add(v)
		}
		return all, h
	}
	for range 3000 {
		f := r.IntN(knownFlows)
		src, dst := netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", f)), netip.MustParseAddr("10.0.1.1")
		if f%3 == 0 {
			src, dst = netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", f+1)), netip.MustParseAddr("2001:db8::ffff:1")
		}
		iv := record.FlowInterval{
			Start: storetest.Day + r.Int64N(knownHours*3600)*1e9, Length: 1e9, Version: record.V2, Service: record.RC,
			Src: decode.AddrOf(src), Dst: decode.AddrOf(dst), DestQPN: uint32(0x100 + f), HasPeer: true, PeerQPN: uint32(0x200 + f), FlowStart: storetest.Day,
			DSCP: uint8(26 + f%2*20), Priority: int8(3 + f%2), DstMAC: mac(f % 4),
			Packets: 1 + r.Uint64N(1000), WireBytes: r.Uint64N(1e6), PayloadBytes: r.Uint64N(1e6), GoodputBytes: r.Uint64N(1e6), Acks: r.Uint64N(50),
			RNRNaks: r.Uint64N(2), Naks: [5]uint64{r.Uint64N(2), 1}, MessagesCompleted: r.Uint64N(9), CNPsSent: r.Uint64N(3), CNPsReceived: r.Uint64N(3), PeakBytes: r.Uint64N(1e5),
		}
		if f < knownFlows-2 { // the last two have nothing to complain of
			iv.RetransmittedPackets, iv.RetransmittedBytes = r.Uint64N(4), r.Uint64N(4000)
			iv.LostBeforeTap, iv.LostAfterTap = r.Int64N(4)-1, r.Int64N(3)
			iv.ECN = [4]uint64{3: r.Uint64N(iv.Packets)}
		}
		latency, lh := durations(r.IntN(30), 10+float64(f)/4)
		delay, dh := durations(r.IntN(4), 9)
		iv.AckLatency, iv.NPDelay = lh, dh
		k.intervals = append(k.intervals, iv)
		k.latency, k.delay = append(k.latency, latency), append(k.delay, delay)
	}
	// MAC 0 pauses priority 3, MAC 1 priorities 4 and 3, MAC 2 everything, MAC 3
	// nothing.
	for range 300 {
		p := record.PauseInterval{Start: record.FrameRef{Time: storetest.Day + r.Int64N(knownHours*3600e9)}, Paused: r.Int64N(1e6), Frames: 1 + r.Uint64N(3), Storm: r.IntN(5) == 0}
		switch n := r.IntN(4); n {
		case 0:
			p.Pauser, p.Priority = record.Pauser{MAC: mac(0), PFC: true}, 3
		case 1, 2:
			p.Pauser, p.Priority = record.Pauser{MAC: mac(1), PFC: true}, uint8(2+n)
		case 3:
			p.Pauser = record.Pauser{MAC: mac(2)}
		}
		k.pauses = append(k.pauses, p)
	}
	return k
}

func (k *known) load(t testing.TB, m *made) {
	t.Helper()
	load(t, m, schema.FlowIntervals(), &k.origin, k.intervals)
	load(t, m, schema.PauseIntervals(), &k.origin, k.pauses)
}

// in calls do with the intervals of a range, by their indices.
func (k *known) in(r query.Range, do func(i int, iv *record.FlowInterval)) {
	for i := range k.intervals {
		if at := time.Unix(0, k.intervals[i].Start); (r.From.IsZero() || !at.Before(r.From)) && (r.To.IsZero() || at.Before(r.To)) {
			do(i, &k.intervals[i])
		}
	}
}

// spread holds a Distribution against the values themselves.
func spread(t *testing.T, what string, d query.Distribution, values []int64) {
	t.Helper()
	if d.Count != uint64(len(values)) {
		t.Errorf("%s: %d values, want %d", what, d.Count, len(values))
		return
	}
	slices.Sort(values)
	for q, got := range map[float64]int64{0.5: d.P50, 0.99: d.P99, 0.999: d.P999} {
		want := int64(0)
		if len(values) > 0 {
			want = values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
		}
		if off := math.Abs(float64(got - want)); off > float64(want)/16 || got < 0 {
			t.Errorf("%s: quantile %g is %d, want %d", what, q, got, want)
		}
	}
}

// hourRange is the second hour, and ranges are those that questions are asked
// about: less than an hour, an hour, and all there is.
var (
	hourRange = query.Range{From: utc(1, 0), To: utc(2, 0)}
	ranges    = []query.Range{{From: utc(1, 7).Add(3 * time.Second), To: utc(1, 41)}, hourRange, {}}
)

// TestWorstFlows: the worst flows by every measure, from every table, are those
// that the intervals say.
func TestWorstFlows(t *testing.T) {
	m := start(t)
	all := []*known{makeKnown("leaf-1", 1), makeKnown("leaf-2", 2)}
	for _, k := range all {
		k.load(t, m)
	}
	type sum struct {
		query.WorstFlow
		latency []int64
	}
	for _, r := range ranges {
		sums := map[string]*sum{}
		for _, k := range all {
			k.in(r, func(i int, iv *record.FlowInterval) {
				key := fmt.Sprint(k.origin.Probe, flowNumber(iv))
				s := sums[key]
				if s == nil {
					s = &sum{WorstFlow: query.WorstFlow{Probe: k.origin.Probe, Tap: "tap0", PausedNS: k.paused(r, iv)}}
					s.Service, s.VNI, s.SrcQPN, s.DstQPN = "RC", -1, iv.PeerQPN, iv.DestQPN
					s.Src, s.Dst = unmapped(iv.Src), unmapped(iv.Dst)
					sums[key] = s
				}
				s.Packets += iv.Packets
				s.WireBytes += iv.WireBytes
				s.GoodputBytes += iv.GoodputBytes
				s.RetransmittedPackets += iv.RetransmittedPackets
				s.LostBeforeTap += iv.LostBeforeTap
				s.LostAfterTap += iv.LostAfterTap
				s.CE += iv.ECN[3]
				s.CNPsReceived += iv.CNPsReceived
				s.latency = append(s.latency, k.latency[i]...)
			})
		}
		measures := map[query.Measure]func(f *query.WorstFlow) float64{
			query.ByRetransmitted: func(f *query.WorstFlow) float64 { return float64(f.RetransmittedPackets) },
			query.ByLost:          func(f *query.WorstFlow) float64 { return float64(f.LostBeforeTap + f.LostAfterTap) },
			query.ByLatency:       func(f *query.WorstFlow) float64 { return float64(f.AckLatency.P99) },
			query.ByPause:         func(f *query.WorstFlow) float64 { return float64(f.PausedNS) },
			query.ByCE:            func(f *query.WorstFlow) float64 { return float64(f.CE) / float64(f.Packets) },
		}
		for by := range query.ByCE + 1 {
			sources := []query.Source{query.Auto, query.Intervals, query.Minutes, query.Hours}
			if by == query.ByPause {
				sources = sources[:2]
			}
			for _, source := range sources {
				a, err := m.WorstFlows(t.Context(), query.WorstFlows{Range: r, By: by, Source: source, Limit: 100})
				if err != nil {
					t.Fatal(err)
				}
				if widened := a.From != r.From || a.To != r.To; widened {
					if by == query.ByPause || source == query.Intervals || r == hourRange {
						t.Errorf("by %v from %v: about %v to %v", by, source, a.From, a.To)
					}
					continue // of other intervals too
				}
				what := fmt.Sprintf("by %v from %s, %v to %v", by, a.Table, r.From, r.To)
				want := 0
				for _, s := range sums {
					s.CEShare = float64(s.CE) / float64(s.Packets)
					if by == query.ByLatency && len(s.latency) > 0 || by != query.ByLatency && measures[by](&s.WorstFlow) > 0 {
						want++
					}
				}
				if len(a.Rows) != want || want < 10 {
					t.Errorf("%s: %d flows, want %d", what, len(a.Rows), want)
				}
				if !slices.IsSortedFunc(a.Rows, func(x, y query.WorstFlow) int { return cmp.Compare(measures[by](&y), measures[by](&x)) }) {
					t.Errorf("%s: the worst is not the first", what)
				}
				for _, got := range a.Rows {
					s := sums[fmt.Sprint(got.Probe, got.DstQPN-0x100)]
					if s == nil {
						t.Errorf("%s: a flow from nowhere: %+v", what, got)
						continue
					}
					if by == query.ByPause {
						spread(t, what, got.AckLatency, nil)
					} else {
						spread(t, what, got.AckLatency, s.latency)
					}
					if got.Flow == 0 {
						t.Errorf("%s: no number", what)
					}
					got.Flow, got.AckLatency = 0, query.Distribution{}
					if by != query.ByPause {
						got.PausedNS = s.PausedNS
					}
					if got != s.WorstFlow {
						t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, s.WorstFlow)
					}
				}
			}
		}
	}
	// A limit, and the least number of packets.
	a, err := m.WorstFlows(t.Context(), query.WorstFlows{Limit: 3})
	if err != nil || len(a.Rows) != 3 || !a.More {
		t.Errorf("three flows: %+v %v", a, err)
	}
	a, err = m.WorstFlows(t.Context(), query.WorstFlows{MinPackets: 1e9})
	if err != nil || len(a.Rows) != 0 || a.More {
		t.Errorf("flows of a billion packets: %+v %v", a, err)
	}
}

func unmapped(a decode.Addr) string {
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(a.Hi>>(56-8*i)), byte(a.Lo>>(56-8*i))
	}
	return netip.AddrFrom16(b).Unmap().String()
}

// paused is how long the receiver's MAC paused the flow of an interval.
func (k *known) paused(r query.Range, iv *record.FlowInterval) (ns int64) {
	for _, p := range k.pauses {
		at := time.Unix(0, p.Start.Time)
		if !r.From.IsZero() && at.Before(r.From) || !r.To.IsZero() && !at.Before(r.To) {
			continue
		}
		if p.MAC == iv.DstMAC && (!p.PFC || int8(p.Priority) == iv.Priority) {
			ns += p.Paused
		}
	}
	return ns
}

// TestFlowSeries: the steps of a flow's time are those of its intervals, from
// every table.
func TestFlowSeries(t *testing.T) {
	m := start(t)
	all := []*known{makeKnown("leaf-1", 1), makeKnown("leaf-2", 2)}
	for _, k := range all {
		k.load(t, m)
	}
	worst, err := m.WorstFlows(t.Context(), query.WorstFlows{Where: query.Where{Probe: "leaf-1"}, Limit: 1})
	if err != nil || len(worst.Rows) != 1 {
		t.Fatal(worst, err)
	}
	name := worst.Rows[0].FlowName
	for _, c := range []struct {
		source query.Source
		step   time.Duration
		table  string
	}{{query.Auto, time.Hour, "flow_1m"}, {query.Intervals, time.Second, "flow_intervals"}, {query.Minutes, 5 * time.Minute, "flow_1m"}, {query.Hours, time.Hour, "flow_1h"}} {
		r := query.Range{From: utc(0, 0), To: utc(3, 0)}
		for _, where := range []query.Where{{}, {Probe: "leaf-1"}} {
			type sum struct {
				query.FlowPoint
				latency, delay []int64
				taps           map[string]bool
			}
			sums := map[time.Time]*sum{}
			for _, k := range all {
				k.in(r, func(i int, iv *record.FlowInterval) {
					if iv.DestQPN != name.DstQPN || where.Probe != "" && where.Probe != k.origin.Probe {
						return
					}
					at := time.Unix(0, iv.Start).UTC().Truncate(c.step)
					s := sums[at]
					if s == nil {
						s = &sum{FlowPoint: query.FlowPoint{Time: at}, taps: map[string]bool{}}
						sums[at] = s
					}
					s.taps[k.origin.Probe] = true
					s.Taps = uint64(len(s.taps))
					s.Packets += iv.Packets
					s.WireBytes += iv.WireBytes
					s.GoodputBytes += iv.GoodputBytes
					s.MessagesCompleted += iv.MessagesCompleted
					s.Acks += iv.Acks
					s.Naks += iv.Naks[0] + iv.Naks[1]
					s.RNRNaks += iv.RNRNaks
					s.RetransmittedPackets += iv.RetransmittedPackets
					s.LostBeforeTap += iv.LostBeforeTap
					s.LostAfterTap += iv.LostAfterTap
					s.CE += iv.ECN[3]
					s.CNPsSent += iv.CNPsSent
					s.CNPsReceived += iv.CNPsReceived
					s.PeakBytes = max(s.PeakBytes, iv.PeakBytes)
					s.latency, s.delay = append(s.latency, k.latency[i]...), append(s.delay, k.delay[i]...)
				})
			}
			a, err := m.FlowSeries(t.Context(), query.FlowSeries{Range: r, Where: where, Source: c.source, Flow: name.Flow, Step: c.step})
			if err != nil {
				t.Fatal(err)
			}
			if a.Table != c.table || len(a.Rows) != len(sums) || len(sums) < 3 {
				t.Errorf("%v: %d points of %s, want %d of %s", c.source, len(a.Rows), a.Table, len(sums), c.table)
			}
			for i, got := range a.Rows {
				what := fmt.Sprintf("%v at %v", c.source, got.Time)
				s := sums[got.Time]
				if s == nil || i > 0 && !a.Rows[i-1].Time.Before(got.Time) {
					t.Errorf("%s: a point from nowhere, or out of order", what)
					continue
				}
				spread(t, what, got.AckLatency, s.latency)
				spread(t, what, got.NPDelay, s.delay)
				got.AckLatency, got.NPDelay = query.Distribution{}, query.Distribution{}
				if got != s.FlowPoint {
					t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, s.FlowPoint)
				}
			}
		}
	}
}

// TestPercentiles: percentiles of all groups and tables are those of the values
// themselves, within the error of the buckets.
func TestPercentiles(t *testing.T) {
	m := start(t)
	all := []*known{makeKnown("leaf-1", 1), makeKnown("leaf-2", 2)}
	for _, k := range all {
		k.load(t, m)
	}
	keys := map[query.Group]func(k *known, iv *record.FlowInterval) string{
		query.Ungrouped:   func(*known, *record.FlowInterval) string { return "" },
		query.PerDSCP:     func(_ *known, iv *record.FlowInterval) string { return fmt.Sprint(iv.DSCP) },
		query.PerPriority: func(_ *known, iv *record.FlowInterval) string { return fmt.Sprint(iv.Priority) },
		query.PerService:  func(*known, *record.FlowInterval) string { return "RC" },
		query.PerProbe:    func(k *known, _ *record.FlowInterval) string { return k.origin.Probe },
		query.PerRun:      func(k *known, _ *record.FlowInterval) string { return k.origin.Run },
		query.PerTap:      func(k *known, _ *record.FlowInterval) string { return k.origin.Probe + " tap0" },
	}
	for by := range query.PerTap + 1 {
		for _, r := range []query.Range{hourRange, {}} {
			want := map[string][]int64{}
			for _, k := range all {
				k.in(r, func(i int, iv *record.FlowInterval) {
					key := keys[by](k, iv)
					want[key+" ack_latency"] = append(want[key+" ack_latency"], k.latency[i]...)
					want[key+" np_delay"] = append(want[key+" np_delay"], k.delay[i]...)
				})
			}
			for source := range query.Hours + 1 {
				a, err := m.Percentiles(t.Context(), query.Percentiles{Range: r, By: by, Source: source})
				if err != nil {
					t.Fatal(err)
				}
				if len(a.Rows) != len(want) {
					t.Errorf("by %v from %s: %d rows, want %d", by, a.Table, len(a.Rows), len(want))
				}
				for _, row := range a.Rows {
					key := row.Group + " " + row.Of
					spread(t, fmt.Sprintf("by %v from %s: %s", by, a.Table, key), row.Distribution, want[key])
				}
			}
		}
	}
	a, err := m.Percentiles(t.Context(), query.LagByDSCP(hourRange, query.Where{Run: "run-leaf-2"}))
	if err != nil || len(a.Rows) != 2 || a.Rows[0].Group != "26" || a.Rows[0].Of != "np_delay" || a.Rows[1].Group != "46" {
		t.Errorf("lag: %+v %v", a, err)
	}
}

// TestTotals: the sums of flows are those of the intervals.
func TestTotals(t *testing.T) {
	m := start(t)
	all := []*known{makeKnown("leaf-1", 1), makeKnown("leaf-2", 2)}
	for _, k := range all {
		k.load(t, m)
	}
	for source := range query.Hours + 1 {
		a, err := m.Totals(t.Context(), query.Totals{Range: hourRange, By: query.PerProbe, Source: source})
		if err != nil || len(a.Rows) != 2 {
			t.Fatal(a, err)
		}
		for n, got := range a.Rows {
			var want query.Total
			flows := map[int]bool{}
			first, last := int64(math.MaxInt64), int64(0)
			all[n].in(hourRange, func(_ int, iv *record.FlowInterval) {
				flows[flowNumber(iv)] = true
				want.Packets += iv.Packets
				want.WireBytes += iv.WireBytes
				want.PayloadBytes += iv.PayloadBytes
				want.GoodputBytes += iv.GoodputBytes
				want.MessagesCompleted += iv.MessagesCompleted
				want.RetransmittedPackets += iv.RetransmittedPackets
				want.RetransmittedBytes += iv.RetransmittedBytes
				want.LostBeforeTap += iv.LostBeforeTap
				want.LostAfterTap += iv.LostAfterTap
				want.CE += iv.ECN[3]
				want.CNPsReceived += iv.CNPsReceived
				first, last = min(first, iv.Start), max(last, iv.Start)
			})
			step := map[string]time.Duration{"flow_intervals": 1, "flow_1m": time.Minute, "flow_1h": time.Hour}[a.Table]
			want.Group, want.Flows = all[n].origin.Probe, uint64(len(flows))
			want.First, want.Last = time.Unix(0, first).UTC().Truncate(step), time.Unix(0, last).UTC().Truncate(step)
			if got != want {
				t.Errorf("%s:\ngot  %+v\nwant %+v", a.Table, got, want)
			}
		}
	}
}
