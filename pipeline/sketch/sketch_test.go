package sketch_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/pipeline/sketch"
)

func TestBucketsCoverEveryDuration(t *testing.T) {
	next := int64(0)
	for b := range sketch.NumBuckets {
		low, high := sketch.Bounds(b)
		if low != next {
			t.Fatalf("bucket %d begins at %d, expected %d", b, low, next)
		}
		if sketch.Bucket(low) != b || sketch.Bucket(high) != b {
			t.Fatalf("bucket %d: %d and %d are in %d and %d", b, low, high, sketch.Bucket(low), sketch.Bucket(high))
		}
		next = high + 1
	}
	if next != math.MinInt64 { // one past the greatest
		t.Errorf("the buckets end at %d", next-1)
	}
	if sketch.Bucket(-5) != 0 {
		t.Error("a negative duration is not in bucket 0")
	}
}

func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h, a, b sketch.Histogram
	var values []int64
	for i := range 20_000 {
		v := int64(math.Exp(r.NormFloat64()*2 + 11))
		values = append(values, v)
		h.Add(v)
		if i%3 == 0 {
			a.Add(v)
		} else {
			b.Add(v)
		}
	}
	slices.Sort(values)
	a.Merge(&b)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		rank := max(int(math.Ceil(q*float64(len(values)))), 1)
		want, got := values[rank-1], h.Quantile(q)
		if off := math.Abs(float64(got-want)) / float64(want); off > 1.0/16 {
			t.Errorf("quantile %g is %d, expected %d", q, got, want)
		}
		if a.Quantile(q) != got {
			t.Errorf("quantile %g is %d after merging, %d before", q, a.Quantile(q), got)
		}
	}
	if h.Min != values[0] || h.Max != values[len(values)-1] || h.Count != 20_000 || h.Sum != a.Sum {
		t.Error("minimum, maximum, count or sum is wrong")
	}
}

func TestEmpty(t *testing.T) {
	var h, o sketch.Histogram
	h.Merge(&o)
	if h.Quantile(0.5) != 0 || h.Count != 0 {
		t.Error("an empty histogram has values")
	}
	o.Add(7)
	h.Merge(&o)
	if h.Quantile(0.5) != 7 || h.Min != 7 {
		t.Errorf("got %d, expected 7", h.Quantile(0.5))
	}
}

// TestReset: a histogram that was emptied is as good as a new one, and a clone
// keeps what it had.
func TestReset(t *testing.T) {
	var old sketch.Histogram
	for _, v := range []int64{1, 1 << 40, 77} {
		old.Add(v)
	}
	kept := old.Clone()
	old.Reset()
	var fresh sketch.Histogram
	if old.Count != 0 || old.Sum != 0 || old.Quantile(0.5) != 0 {
		t.Errorf("%d values after a reset", old.Count)
	}
	for _, v := range []int64{1000, 1000, 50, 200_000, 3} { // one bucket, then below and above
		old.Add(v)
		fresh.Add(v)
		for b := range sketch.NumBuckets {
			if n, want := countIn(&old, b), countIn(&fresh, b); n != want {
				t.Fatalf("%d in bucket %d, not %d, after a reset and %d values", n, b, want, fresh.Count)
			}
		}
	}
	if old.Min != 3 || old.Max != 200_000 {
		t.Errorf("from %d to %d", old.Min, old.Max)
	}
	if kept.Count != 3 || countIn(&kept, sketch.Bucket(77)) != 1 || countIn(&kept, sketch.Bucket(1<<40)) != 1 || countIn(&kept, sketch.Bucket(1000)) != 0 {
		t.Error("the clone has changed")
	}
	if n := testing.AllocsPerRun(10, func() {
		old.Reset()
		for v := range int64(20) {
			old.Add(v * v * v)
		}
	}); n != 0 {
		t.Errorf("%g allocations where there is room", n)
	}
}

func countIn(h *sketch.Histogram, bucket int) (count uint32) {
	h.Each(func(b int, n uint32) {
		if b == bucket {
			count = n
		}
	})
	return count
}

// TestSince: what was added since is what is left.
func TestSince(t *testing.T) {
	var h, want sketch.Histogram
	for i := range int64(1000) {
		h.Add(i * 97)
	}
	before := h.Clone()
	if got := h.Since(&before); got.Count != 0 || got.Sum != 0 {
		t.Errorf("nothing was added: %+v", got)
	}
	for i := range int64(500) {
		v := 50_000 + i*1013
		h.Add(v)
		want.Add(v)
	}
	got := h.Since(&before)
	if got.Count != want.Count || got.Sum != want.Sum || got.Max != want.Max {
		t.Errorf("%d, %d up to %d, want %d, %d up to %d", got.Count, got.Sum, got.Max, want.Count, want.Sum, want.Max)
	}
	counts := func(h *sketch.Histogram) map[int]uint32 {
		m := make(map[int]uint32)
		h.Each(func(bucket int, n uint32) { m[bucket] = n })
		return m
	}
	if a, b := counts(&got), counts(&want); !maps.Equal(a, b) {
		t.Errorf("%v, want %v", a, b)
	}
	if low, high := sketch.Bounds(sketch.Bucket(want.Min)); got.Min < low || got.Min > high {
		t.Errorf("the least is %d, and was %d", got.Min, want.Min)
	}
}
