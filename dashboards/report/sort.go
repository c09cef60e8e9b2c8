package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// DefaultTop is how many sessions text lists.
const DefaultTop = 20

// Sort is the order of the sessions in text.
type Sort uint8

// The orders. All but SortStart put the highest first.
const (
	SortRetransmitted Sort = iota // packets sent again, what failed before everything
	SortBytes                     // on the wire
	SortLatency                   // 99th percentile of the ACK latency
	SortCNPs                      // CNPs that told it to slow down
	SortStart                     // the earliest first
)

var sorts = [...]string{"retransmitted", "bytes", "latency", "cnps", "start"}

// SortNames are all orders.
func SortNames() []string { return append([]string(nil), sorts[:]...) }

// ParseSort is the order of a name.
func ParseSort(s string) (Sort, error) {
	if i := slices.Index(sorts[:], s); i >= 0 {
		return Sort(i), nil
	}
	return 0, fmt.Errorf("unknown order %q: use %s", s, strings.Join(sorts[:], ", "))
}

func (s Sort) String() string { return sorts[s] }

// text says what comes first.
func (s Sort) text() string {
	return [...]string{
		"the most sent again first", "the most bytes first", "the slowest ACKs first (99th percentile)", "the most CNPs first", "the earliest first",
	}[s]
}

// sortKey is what a session is ordered by, the first figure before
// the second.
type sortKey struct {
	first, second, third int64
	index                int
}

// key is a session's place in this order.
func (s Sort) key(x *record.Session, index int) sortKey {
	a, b := &x.AToB, &x.BToA
	k := sortKey{index: index}
	switch s {
	case SortBytes:
		k.first = int64(a.WireBytes + b.WireBytes)
	case SortLatency:
		k.first = max(a.AckLatency.Quantile(0.99), b.AckLatency.Quantile(0.99))
	case SortCNPs:
		k.first = int64(a.CNPsReceived + b.CNPsReceived)
	case SortStart:
		k.first = -x.First.Time
	default:
		if x.State == record.StateFailed || x.State == record.StateUnanswered {
			k.first = 1
		}
		k.second = int64(again(a) + again(b))
		k.third = int64(a.WireBytes + b.WireBytes)
	}
	return k
}

// again is how many packets a side sent again: requests and READ responses.
func again(d *record.Direction) uint64 {
	return d.Retransmitted.Packets + d.ReadResponses.Retransmitted
}

// top are the first n sessions in an order, as indices.
func (s Sort) top(all record.Sessions, n int) []int {
	n = min(n, all.Len())
	var keys []sortKey
	keep := func() {
		slices.SortFunc(keys, func(a, b sortKey) int {
			return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.second, a.second), cmp.Compare(b.third, a.third), cmp.Compare(a.index, b.index))
		})
		keys = keys[:min(len(keys), n)]
	}
	add := func(one *record.Session, i int) {
		if keys = append(keys, s.key(one, i)); len(keys) >= 2*n+1024 {
			keep()
		}
	}
	if s == SortLatency {
		i := 0
		for one := range all.All() {
			add(one, i)
			i++
		}
	} else {
		for i, one := range all.Figures() {
			add(one, i)
		}
	}
	keep()
	out := make([]int, 0, len(keys))
	for _, k := range keys {
		out = append(out, k.index)
	}
	return out
}
