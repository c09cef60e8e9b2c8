package groundtruth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts by host or by QP. A count of zero is no entry.
type tally map[string]int

func (t tally) add(key string, n int) {
	if n != 0 {
		t[key] += n
	}
}

func (t tally) total() int {
	sum := 0
	for _, n := range t {
		sum += n
	}
	return sum
}

// within says that t counts nothing that limit does not count as well.
func (t tally) within(limit tally) bool {
	for k, n := range t {
		if n > limit[k] {
			return false
		}
	}
	return true
}

func (t tally) equal(u tally) bool { return maps.Equal(t, u) }

func (t tally) String() string {
	if len(t) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", k, t[k])
	}
	return b.String()
}
