// Package sketch keeps distributions of durations in little memory: histograms
// with logarithmic buckets, which merge by adding.
package sketch

import (
	"math"
	"math/bits"
	"slices"
)

// Buckets are eight an octave: bucket b, for b from 8 on, holds the values v
// with v>>(b/8-1) = 8+b%8. Values below 8 have a bucket each. A quantile that
// is read off a bucket's middle is within 1/16 (6.25 %) of the true one.
const perOctave = 8

// NumBuckets is the number of buckets that there are.
const NumBuckets = perOctave * 61

// Bucket is the bucket of a duration in nanoseconds; negative ones count as 0.
func Bucket(ns int64) int {
	if ns < perOctave {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - 4
	return (shift+1)*perOctave + int(ns>>shift) - perOctave
}

// Bounds are the least and the greatest duration of a bucket.
func Bounds(bucket int) (low, high int64) {
	if bucket < perOctave {
		return int64(bucket), int64(bucket)
	}
	shift := bucket/perOctave - 1
	low = int64(perOctave+bucket%perOctave) << shift
	return low, low + 1<<shift - 1
}

// Histogram is a distribution of durations. The zero value is empty and takes
// no memory beyond itself, and nor does one whose values are all in one bucket.
type Histogram struct {
	Count    uint64
	Sum      int64 // ns
	Min, Max int64 // exact; valid where Count is not 0
	// Buckets are kept from the lowest used one, base, to the highest; none where
	// all values are in base.
	base    uint16
	buckets []uint32
}

// Add counts a duration in nanoseconds.
func (h *Histogram) Add(ns int64) {
	ns = max(ns, 0)
	if h.Count == 0 {
		h.Min, h.Max = ns, ns
	}
	h.add(Bucket(ns), 1)
	h.Sum += ns
	h.Min, h.Max = min(h.Min, ns), max(h.Max, ns)
}

// add counts n values in a bucket.
func (h *Histogram) add(bucket int, n uint64) {
	switch {
	case h.Count == 0:
		h.base = uint16(bucket)
	case len(h.buckets) > 0 || bucket != int(h.base):
		h.spread(bucket, n)
	}
	h.Count += n
}

// spread counts n values in a bucket where there are several.
func (h *Histogram) spread(bucket int, n uint64) {
	if len(h.buckets) == 0 {
		h.buckets = append(h.buckets, full(h.Count))
	}
	i := bucket - int(h.base)
	if i < 0 {
		had := len(h.buckets)
		h.buckets = slices.Grow(h.buckets, -i)[:had-i]
		copy(h.buckets[-i:], h.buckets[:had])
		clear(h.buckets[:-i])
		h.base, i = uint16(bucket), 0
	}
	for i >= len(h.buckets) {
		h.buckets = append(h.buckets, 0)
	}
	h.buckets[i] = full(uint64(h.buckets[i]) + n)
}

// Reset empties the histogram, and keeps its memory for what comes.
func (h *Histogram) Reset() { *h = Histogram{buckets: h.buckets[:0]} }

// Clone is a copy that shares no memory with the histogram.
func (h *Histogram) Clone() Histogram {
	c := *h
	c.buckets = append([]uint32(nil), h.buckets...)
	return c
}

// full is a count as a bucket holds it, which stays full.
func full(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

// Merge adds what o counted.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count == 0 {
		return
	}
	if h.Count == 0 {
		h.Min, h.Max = o.Min, o.Max
	}
	sum := h.Count + o.Count
	o.Each(func(bucket int, n uint32) { h.add(bucket, uint64(n)) })
	h.Count = sum
	h.Sum += o.Sum
	h.Min, h.Max = min(h.Min, o.Min), max(h.Max, o.Max)
}

// Since is what h counted beyond o, which is what it was at an earlier time. Min
// and Max are then as exact as the buckets are.
func (h *Histogram) Since(o *Histogram) Histogram {
	var had [NumBuckets]uint32
	o.Each(func(bucket int, n uint32) { had[bucket] = n })
	var out Histogram
	h.Each(func(bucket int, n uint32) {
		if n <= had[bucket] {
			return
		}
		low, high := Bounds(bucket)
		if out.Count == 0 {
			out.Min = max(low, h.Min)
		}
		out.Max = min(high, h.Max)
		out.add(bucket, uint64(n-had[bucket]))
	})
	if out.Count > 0 {
		out.Sum = h.Sum - min(h.Sum, o.Sum)
	}
	return out
}

// Each calls do with each bucket that is not empty, in ascending order.
func (h *Histogram) Each(do func(bucket int, n uint32)) {
	if len(h.buckets) == 0 && h.Count > 0 {
		do(int(h.base), full(h.Count))
	}
	for i, n := range h.buckets {
		if n > 0 {
			do(int(h.base)+i, n)
		}
	}
}

// Quantile is the duration below which the share q (0 to 1) of the values
// lies, within 1/16 of the true one; 0 where there are none.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(h.Count)))
	rank = min(max(rank, 1), h.Count)
	if len(h.buckets) == 0 {
		return h.middle(int(h.base))
	}
	seen := uint64(0)
	for i, n := range h.buckets {
		if seen += uint64(n); seen >= rank {
			return h.middle(int(h.base) + i)
		}
	}
	return h.Max
}

// middle is the middle of a bucket, as far as values are there.
func (h *Histogram) middle(bucket int) int64 {
	low, high := Bounds(bucket)
	return min(max(low+(high-low)/2, h.Min), h.Max)
}
