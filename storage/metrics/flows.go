// Package metrics keeps what records say as Prometheus metrics: sums over all
// flows, by interface, priority and version of RoCE. Single flows are in the
// store; here no label has more values than there are interfaces.
package metrics

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Flows sums up what flows did. It is a prometheus.Collector.
type Flows struct {
	name  func(input, iface int32) string
	began time.Time

	mu     sync.Mutex
	rows   map[rowKey]*row
	values []int64
}

// rowKey is what flows are told apart by.
type rowKey struct {
	iface    string
	priority int8 // -1 without one
	version  record.Version
}

// row is what flows of a key did. Sums are signed: what was counted can be taken
// back later (record.FlowInterval).
type row struct {
	counts [numCounts]count
	hists  [numHists]histogram
}

// count is a sum that is never seen to fall: what is taken back is not counted
// again until the sum is as high as it was.
type count struct{ sum, most int64 }

func (c *count) add(n int64) {
	c.sum += n
	c.most = max(c.most, c.sum)
}

// histogram is a sketch.Histogram for ever.
type histogram struct {
	count   uint64
	sum     int64 // ns
	buckets *[sketch.NumBuckets]uint64
}

func (h *histogram) merge(o *sketch.Histogram) {
	if o.Count == 0 {
		return
	}
	if h.buckets == nil {
		h.buckets = new([sketch.NumBuckets]uint64)
	}
	// The buckets' sum, which can be less than Count where one of them is full, is
	// what Prometheus takes for the count.
	o.Each(func(b int, n uint32) {
		h.buckets[b] += uint64(n)
		h.count += uint64(n)
	})
	h.sum += o.Sum
}

// NewFlows returns sums without any flow. name is what an interface of an input
// is called.
func NewFlows(name func(input, iface int32) string) *Flows {
	return &Flows{name: name, began: time.Now(), rows: make(map[rowKey]*row)}
}

// Add takes intervals, and keeps nothing of the list. It may be called from
// several goroutines.
func (f *Flows) Add(list []record.FlowInterval) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		x := &list[i]
		k := rowKey{label(f.name(x.Input, x.Interface)), x.Priority, x.Version}
		r := f.rows[k]
		if r == nil {
			r = new(row)
			f.rows[k] = r
		}
		for j := range counters {
			c := &counters[j]
			f.values = c.read(f.values[:0], x)
			for n, v := range f.values {
				r.counts[c.first+n].add(v)
			}
		}
		for j := range histograms {
			r.hists[j].merge(histograms[j].read(x))
		}
	}
}

// label is the name of an interface, or a path, as the value of a label: that must be
// UTF-8, which names need not be.
func label(name string) string { return capture.PathText(name) }

// labels are those of all metrics of flows.
var labels = []string{"interface", "priority", "version"}

// Describe is of prometheus.Collector.
func (f *Flows) Describe(ch chan<- *prometheus.Desc) {
	for i := range counters {
		ch <- counters[i].desc
	}
	for i := range histograms {
		ch <- histograms[i].desc
	}
}

// Collect is of prometheus.Collector.
func (f *Flows) Collect(ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, r := range f.rows {
		priority := "none"
		if k.priority >= 0 {
			priority = strconv.Itoa(int(k.priority))
		}
		values := []string{k.iface, priority, k.version.String()}
		for j := range counters {
			c := &counters[j]
			for n := range max(len(c.values), 1) {
				list := slices.Clone(values)
				if len(c.values) > 0 {
					list = append(list, c.values[n])
				}
				ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(r.counts[c.first+n].most)*c.unit, list...)
			}
		}
		for j := range histograms {
			ch <- f.histogram(histograms[j].desc, &r.hists[j], values)
		}
	}
}

// Classic buckets end at powers of two nanoseconds, 512 ns to 8.6 s, which are
// ends of the sketch's buckets too.
const (
	firstPower = 9
	lastPower  = 33
)

// nativeSchema is that of native histograms with as many buckets an octave as
// the sketch: what is in one of the sketch's is counted where its middle is.
const nativeSchema = 3

func (f *Flows) histogram(desc *prometheus.Desc, h *histogram, values []string) prometheus.Metric {
	classic := make(map[float64]uint64, lastPower-firstPower+1)
	native := make(map[int]int64)
	zero := uint64(0)
	seen, power := uint64(0), firstPower
	for b := range sketch.NumBuckets {
		low, high := sketch.Bounds(b)
		for ; power <= lastPower && low >= 1<<power; power++ {
			classic[float64(int64(1)<<power)/1e9] = seen
		}
		if h.buckets == nil || h.buckets[b] == 0 {
			continue
		}
		n := h.buckets[b]
		seen += n
		if high == 0 {
			zero = n
			continue
		}
		middle := (float64(low) + float64(high)) / 2e9
		native[int(math.Ceil(math.Log2(middle)*(1<<nativeSchema)))] += int64(n)
	}
	sum := float64(h.sum) / 1e9
	return bothHistogram{
		prometheus.MustNewConstHistogram(desc, h.count, sum, classic, values...),
		prometheus.MustNewConstNativeHistogram(desc, h.count, sum, native, nil, zero, nativeSchema, 1e-9, f.began, values...),
	}
}
