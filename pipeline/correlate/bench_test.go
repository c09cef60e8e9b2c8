package correlate_test

import (
	"context"
	"testing"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// bulkPair are captures of the same packets at two taps, one in a thousand of
// them lost in between.
func bulkPair(tb testing.TB, o scenario.Options) (up, down *frames) {
	tb.Helper()
	sc, err := scenario.Find("bulk_write")
	if err != nil {
		tb.Fatal(err)
	}
	up, down = &frames{}, &frames{}
	if _, err := sc.Run(o, up); err != nil {
		tb.Fatal(err)
	}
	for i := range up.list {
		f := up.list[i]
		if i%1000 == 7 {
			continue
		}
		f.Time += 350_000_000 + int64(i%7)*300
		down.list = append(down.list, f)
	}
	return up, down
}

// TestAllocations: a packet costs no allocation. What is allocated is for flows,
// for samples and for room that is used again.
func TestAllocations(t *testing.T) {
	const less, more = 60_000, 120_000
	measure := func(packets int) float64 {
		up, down := bulkPair(t, scenario.Options{Packets: packets, Sessions: 20, Payload: 256})
		return testing.AllocsPerRun(1, func() {
			if _, err := correlate.Run(context.Background(), 2, opener(up, down), correlate.DefaultConfig()); err != nil {
				t.Fatal(err)
			}
		})
	}
	a, b := measure(less), measure(more)
	t.Logf("%.0f and %.0f allocations", a, b)
	if per := (b - a) / (2 * (more - less)); per > 0.01 {
		t.Errorf("%.0f allocations for %d packets, %.0f for %d: %.3f a packet", a, less, b, more, per)
	}
}

// BenchmarkRun correlates captures of the same million packets at two taps.
func BenchmarkRun(b *testing.B) {
	up, down := bulkPair(b, scenario.Options{Packets: 1_000_000, Payload: 256})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := correlate.Run(context.Background(), 2, opener(up, down), correlate.DefaultConfig()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(up.list)+len(down.list)), "ns/packet")
}
