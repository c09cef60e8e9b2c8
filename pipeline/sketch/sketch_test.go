package sketch_test

import (
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
