package track_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/pipeline/track"
)

// taken are the intervals that a sink took.
type taken struct {
	mu   sync.Mutex
	list []record.FlowInterval
}

func (x *taken) of(length int64) track.Intervals {
	return track.Intervals{Length: length, Sink: x.sink}
}

func (x *taken) sink(list []record.FlowInterval) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range list {
		x.list = append(x.list, list[i])
		r := &x.list[len(x.list)-1]
		for _, h := range histograms(r) {
			*h = h.Clone()
		}
	}
}

func histograms(r *record.FlowInterval) []*sketch.Histogram {
	list := []*sketch.Histogram{&r.AckLatency, &r.NakReaction, &r.NPDelay, &r.MarkWait, &r.ToSlow, &r.ToRecover}
	for k := range r.Latency {
		list = append(list, &r.Latency[k])
	}
	return list
}

// intervalKey is what tells flows apart, in an interval and in a session.
type intervalKey struct {
	version  record.Version
	kind     decode.AddrKind
	src, dst decode.Addr
	hasVNI   bool
	hasSrcQP bool
	vni      uint32
	qpn      uint32
	srcQP    uint32
	start    int64
}

func intervalKeyOf(r *record.FlowInterval) intervalKey {
	return intervalKey{r.Version, r.Kind, r.Src, r.Dst, r.HasVNI, r.HasSrcQPN, r.VNI, r.DestQPN, r.SrcQPN, r.FlowStart}
}

func (k intervalKey) compare(o intervalKey) int {
	return cmp.Or(cmp.Compare(k.start, o.start), cmp.Compare(k.src.Hi, o.src.Hi), cmp.Compare(k.src.Lo, o.src.Lo), cmp.Compare(k.dst.Hi, o.dst.Hi),
		cmp.Compare(k.dst.Lo, o.dst.Lo), cmp.Compare(k.qpn, o.qpn), cmp.Compare(k.srcQP, o.srcQP), cmp.Compare(k.vni, o.vni), cmp.Compare(k.kind, o.kind))
}

// sorted puts the intervals of each flow together, in the order in which they
// came.
func (x *taken) sorted() []record.FlowInterval {
	slices.SortStableFunc(x.list, func(a, b record.FlowInterval) int { return intervalKeyOf(&a).compare(intervalKeyOf(&b)) })
	return x.list
}

// identity are the fields that are no counters.
var identity = map[string]bool{
	"Start": true, "Length": true, "Version": true, "Kind": true, "HasVNI": true, "HasSrcQPN": true, "HasPeer": true, "Src": true, "Dst": true,
	"VNI": true, "DestQPN": true, "SrcQPN": true, "FlowStart": true, "PeerQPN": true, "Incarnation": true, "Pairing": true, "Service": true,
	"Application": true, "Input": true, "Interface": true, "InterfaceName": true, "SrcMAC": true, "DstMAC": true, "DSCP": true, "Tagged": true, "Priority": true,
	"SourcePort": true, "OtherDSCP": true, "First": true, "Last": true,
}

// sumUp adds the counters of r to those of all.
func sumUp(all, r *record.FlowInterval) {
	peakPackets, peakBytes := max(all.PeakPackets, r.PeakPackets), max(all.PeakBytes, r.PeakBytes)
	a, b := reflect.ValueOf(all).Elem(), reflect.ValueOf(r).Elem()
	for i := range a.NumField() {
		if !identity[a.Type().Field(i).Name] {
			add(a.Field(i), b.Field(i))
		}
	}
	all.PeakPackets, all.PeakBytes = peakPackets, peakBytes
}

func add(a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Uint64:
		a.SetUint(a.Uint() + b.Uint())
	case reflect.Int64:
		a.SetInt(a.Int() + b.Int())
	case reflect.Array:
		for i := range a.Len() {
			add(a.Index(i), b.Index(i))
		}
	default:
		a.Addr().Interface().(*sketch.Histogram).Merge(b.Addr().Interface().(*sketch.Histogram))
	}
}

// sums are the sums of each flow. What is wrong with single records is
// complained of.
func sums(t *testing.T, name string, list []record.FlowInterval, length int64) map[intervalKey]*record.FlowInterval {
	t.Helper()
	all := make(map[intervalKey]*record.FlowInterval)
	for i := range list {
		r := &list[i]
		k := intervalKeyOf(r)
		one := all[k]
		if one == nil {
			one = new(record.FlowInterval)
			all[k] = one
		} else if r.Start <= one.Start {
			t.Fatalf("%s: an interval of %v from %d after one from %d", name, k, r.Start, one.Start)
		}
		one.Start = r.Start
		if r.Start%length != 0 || r.Length != length || r.Packets > 0 && (r.First > r.Last || r.Last >= r.Start+length) {
			t.Fatalf("%s: packets from %d to %d in the interval from %d", name, r.First, r.Last, r.Start)
		}
		if field := wrapped(reflect.ValueOf(*r)); field != "" {
			t.Fatalf("%s: %s of %v wrapped: %+v", name, field, k, r)
		}
		if r.ECN[0]+r.ECN[1]+r.ECN[2]+r.ECN[3] != r.Packets || r.OtherDSCP > r.Packets {
			t.Fatalf("%s: %d packets, and by TOS %v, %d", name, r.Packets, r.ECN, r.OtherDSCP)
		}
		sumUp(one, r)
	}
	for _, one := range all {
		one.Start = 0
	}
	return all
}

// directionKey is the flow from one end of a session to the other.
func directionKey(s *record.Session, d *record.Direction, from, to record.Endpoint) intervalKey {
	return intervalKey{version: s.Version, kind: to.Kind, src: from.Addr, dst: to.Addr, hasVNI: s.HasVNI, vni: s.VNI, qpn: to.QPN, start: d.First}
}

// totalOf is what the intervals of a direction should sum up to.
func totalOf(d *record.Direction) *record.FlowInterval {
	signed := func(n uint64) int64 { return int64(n) }
	r := &record.FlowInterval{
		Packets: d.Packets, WireBytes: d.WireBytes, PayloadBytes: d.PayloadBytes, GoodputBytes: d.GoodputBytes, Truncated: d.Truncated, ECN: d.ECN,
		ICRCBad: d.ICRCBad, PortChanges: d.PortChanges, Acks: d.Acks, Naks: d.Naks, RNRNaks: d.RNRNaks, ReadResponses: d.ReadResponses.Packets,
		ReadResponsesRetransmitted: d.ReadResponses.Retransmitted, ReadResponsesLost: signed(d.ReadResponses.LostBeforeTap),
		MessagesSent: d.Messages.Sent, MessagesCompleted: d.Messages.Completed,
		RetransmittedPackets: d.Retransmitted.Packets, RetransmittedBytes: d.Retransmitted.Bytes, Fills: d.Retransmitted.Fills, Repeats: d.Retransmitted.Repeats,
		WastedPackets: d.Wasted.Packets, WastedBytes: d.Wasted.Bytes, Episodes: d.Episodes,
		LostBeforeTap: signed(d.Lost.BeforeTap), LostAfterTap: signed(d.Lost.AfterTap), LostCapture: d.Lost.Capture, LostCorrupt: d.Lost.Corrupt,
		Reordered: signed(d.Reordered), Undecided: d.Undecided, Gaps: d.Gaps, Jumped: signed(d.Jumped),
		DuplicatesCapture: signed(d.Duplicates.Capture), DuplicatesNetwork: signed(d.Duplicates.Network), DuplicateRequests: signed(d.DuplicateRequests),
		Silences: d.Silences, SilenceTime: d.SilenceTime, RNRTime: d.RNRTime, ProtocolErrors: d.ProtocolErrors,
		PeakPackets: d.PeakPackets, PeakBytes: d.PeakBytes, AckLatency: d.AckLatency, Latency: d.Latency, NakReaction: d.NakReaction,
	}
	for i, n := range d.Tries {
		r.Tries[i] = signed(n)
	}
	for i, n := range d.Places {
		r.Places[i] = signed(n)
	}
	for i, n := range d.Modes {
		r.Modes[i] = signed(n)
	}
	for _, c := range d.CNPDSCP { // without those with a wrong ICRC, which are no CNPs
		r.CNPsSent += c.Packets
	}
	if c := d.Congestion; c != nil {
		r.CNPsReceived, r.CNPsUnmarked = c.CNPs, c.Unmarked
		r.DataMarked, r.AcksMarked, r.CNPsMarked = c.DataMarked, c.AcksMarked, c.CNPsMarked
		r.Slowed, r.Recovered = c.Slowed, c.Recovered
		r.NPDelay, r.MarkWait, r.ToSlow, r.ToRecover = c.NPDelay, c.MarkWait, c.ToSlow, c.ToRecover
	}
	return r
}

// sameSums compares records with their histograms by value.
var sameSums = gocmp.Comparer(func(a, b sketch.Histogram) bool {
	if a.Count != b.Count || a.Sum != b.Sum || a.Count > 0 && (a.Min != b.Min || a.Max != b.Max) {
		return false
	}
	return slices.Equal(bucketsOf(&a), bucketsOf(&b))
})

func bucketsOf(h *sketch.Histogram) (list [][2]int) {
	h.Each(func(bucket int, n uint32) { list = append(list, [2]int{bucket, int(n)}) })
	return list
}

// judgeIntervals holds the sums of intervals against sessions. Where some were
// forgotten, there are more flows than sessions.
func judgeIntervals(t *testing.T, name string, x *taken, length int64, sessions record.Sessions, forgotten bool) {
	t.Helper()
	all := sums(t, name, x.sorted(), length)
	for s := range sessions.All() {
		for side, d := range []*record.Direction{&s.AToB, &s.BToA} {
			from, to := s.A, s.B
			if side == 1 {
				from, to = s.B, s.A
			}
			want := totalOf(d)
			k := directionKey(s, d, from, to)
			got := all[k]
			if got == nil && s.Service == record.UD {
				k.hasSrcQP, k.srcQP = true, from.QPN
				got = all[k]
			}
			delete(all, k)
			if got == nil {
				got = new(record.FlowInterval)
			}
			if diff := gocmp.Diff(want, got, sameSums); diff != "" {
				t.Fatalf("%s: session %s, side %d (- session, + sum of intervals):\n%s", name, s.ID, side, diff)
			}
		}
	}
	if !forgotten && len(all) > 0 {
		for k := range all {
			t.Fatalf("%s: %d flows with intervals are in no session: %+v", name, len(all), k)
		}
	}
}

// lengths are those of intervals in tests.
var lengths = []int64{1_000_000, 1_000_000_000}

// TestIntervals: what flows did in each interval sums up to what sessions did,
// in all captures, and how many workers there are changes no record.
func TestIntervals(t *testing.T) {
	for i, c := range capturetest.All(t) {
		if i%underRace != 0 {
			continue
		}
		for _, length := range lengths {
			var x taken
			r := runIntervals(t, c.Path, 2, x.of(length))
			judgeIntervals(t, c.Name, &x, length, r.Sessions, false)
			if i%4 != 0 {
				continue
			}
			for _, workers := range []int{1, 5} {
				var y taken
				runIntervals(t, c.Path, workers, y.of(length))
				if diff := gocmp.Diff(x.list, y.sorted(), sameSums); diff != "" {
					t.Fatalf("%s: %d workers: %s", c.Name, workers, diff)
				}
			}
		}
	}
}

func runIntervals(t *testing.T, path string, workers int, to track.Intervals) *pipeline.Result {
	t.Helper()
	f, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Workers, cfg.Track.Intervals = workers, to
	r, err := pipeline.Run(context.Background(), f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestIntervalsOfScenarios is TestIntervals of simulated captures.
func TestIntervalsOfScenarios(t *testing.T) {
	for _, sc := range withRoCE() {
		c := simulate(t, &sc, 1)
		for _, length := range lengths {
			var x taken
			cfg := pipeline.DefaultConfig()
			cfg.Track.Intervals = x.of(length)
			r, err := pipeline.Run(context.Background(), &reader{list: c.frames}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			judgeIntervals(t, sc.Name, &x, length, r.Sessions, false)
		}
	}
}

// TestIntervalsChangeNothing: who takes intervals gets the same sessions and
// events.
func TestIntervalsChangeNothing(t *testing.T) {
	for _, c := range capturetest.All(t)[:20] {
		var x taken
		with, without := runIntervals(t, c.Path, 2, x.of(1_000_000)), runIntervals(t, c.Path, 2, track.Intervals{})
		if diff := gocmp.Diff(slices.Collect(without.Sessions.All()), slices.Collect(with.Sessions.All()), sameSums); diff != "" {
			t.Fatalf("%s: %s", c.Name, diff)
		}
		if diff := gocmp.Diff(without.Events, with.Events); diff != "" {
			t.Fatalf("%s: %s", c.Name, diff)
		}
	}
}

// TestIntervalsWhenForgotten: flows that are forgotten tell their last interval,
// and what was counted before a flow was forgotten, and after it came again, is
// all that there was.
func TestIntervalsWhenForgotten(t *testing.T) {
	const sessions = 20_000
	var x taken
	tr := track.New(track.Config{MaxMemory: 2 << 20, MaxEvents: 100, Intervals: x.of(1_000_000)})
	g := newTraffic(sessions)
	packets, bytes := uint64(0), uint64(0)
	for range 5 * sessions / 64 {
		list := g.packets()
		tr.Add(list)
		packets += uint64(len(list))
		for _, p := range list {
			bytes += uint64(p.WireLen)
		}
	}
	tr.Close(0)
	all, _, _ := track.Records(track.Config{}, tr)
	if tr.Evicted == 0 {
		t.Fatal("none was forgotten")
	}
	judgeIntervals(t, "forgotten", &x, 1_000_000, all, true)
	for i := range x.list {
		packets -= x.list[i].Packets
		bytes -= x.list[i].WireBytes
	}
	if packets != 0 || bytes != 0 {
		t.Errorf("%d packets and %d bytes are in no interval", packets, bytes)
	}
}

// TestIntervalsOfChaos is TestChaos with intervals, of packets some of which
// come late, and with so many queue pairs in some that flows are forgotten.
func TestIntervalsOfChaos(t *testing.T) {
	forgotten := uint64(0)
	for seed := range uint64(50 / underRace) {
		r := rand.New(rand.NewPCG(seed, 2))
		length := int64(1) << (10 + r.IntN(25))
		late := int64(1) << r.IntN(32)
		var x taken
		cfg := track.Config{MaxEvents: 50, Intervals: x.of(length)}
		c := newChaos(seed)
		batches := 20
		if seed%10 == 0 {
			cfg.MaxMemory, c.qps, batches = 1, 2000, 200
		}
		tr := track.New(cfg)
		had := make(map[int64]bool)
		for range batches {
			list := c.packets()
			for _, p := range list {
				if r.IntN(8) == 0 {
					p.Time -= r.Int64N(late)
				}
				for had[p.Time] { // flows that begin at the same time are not told apart
					p.Time--
				}
				had[p.Time] = true
			}
			tr.Add(list)
		}
		tr.Close(c.now)
		list, _, _ := track.Records(track.Config{}, tr)
		judgeIntervals(t, fmt.Sprintf("seed %d", seed), &x, length, list, tr.Evicted > 0)
		forgotten += tr.Evicted
	}
	if forgotten == 0 {
		t.Error("no flow was forgotten")
	}
}
