package finding

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// rank puts findings of one severity that can be compared in the order of what
// they cost: the share of the traffic, or of the time, that is harmed. Those
// that explain one another stay together, in the order of the rules, by the
// dearest of them, since who reads of an effect should have read its cause. The
// others keep their places.
func rank(f *Facts, all []record.Finding) {
	for lo := 0; lo < len(all); {
		hi := lo
		for hi < len(all) && all[hi].Severity == all[lo].Severity {
			hi++
		}
		f.rankEqual(all[lo:hi])
		lo = hi
	}
}

func (f *Facts) rankEqual(all []record.Finding) {
	group := make([]int, len(all)) // the first one of those that explain one another
	for i := range all {
		group[i] = i
	}
	for i := range all {
		for _, r := range all[i].Related {
			k := slices.IndexFunc(all, func(x record.Finding) bool { return x.Code == r.Code })
			if r.Relation == record.SeeAlso || k < 0 || group[k] == group[i] {
				continue
			}
			from, to := max(group[i], group[k]), min(group[i], group[k])
			for j := range group {
				if group[j] == from {
					group[j] = to
				}
			}
		}
	}
	costs := make([]float64, len(all)) // by group
	known := make([]bool, len(all))
	for i := range all {
		if c, ok := f.cost(&all[i]); ok {
			costs[group[i]], known[group[i]] = max(costs[group[i]], c), true
		}
	}
	var places, order []int
	for i := range all {
		if known[group[i]] {
			places, order = append(places, i), append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(costs[group[b]], costs[group[a]]), cmp.Compare(group[a], group[b]), cmp.Compare(a, b))
	})
	sorted := make([]record.Finding, 0, len(order))
	for _, i := range order {
		sorted = append(sorted, all[i])
	}
	for i, at := range places {
		all[at] = sorted[i]
	}
}

// costs says which key of its evidence tells what a finding costs: a share of
// the traffic, or a time that is one of the capture's.
var costs = [...]struct {
	code, key string
}{
	{"icrc-bad", "share"}, {"lost-before-tap", "share"}, {"lost-after-tap", "share"}, {"go-back-n", "share"}, {"uc-ud-missing", "share"},
	{"ack-timeout", "waited_ns"}, {"answer-late", "waited_ns"}, {"rnr-stall", "waited_ns"},
	{"pfc-storm", "lasted_ns"}, {"pause-victims", "waited_ns"},
}

// cost is the share of the traffic or of the time that a finding is about.
func (f *Facts) cost(x *record.Finding) (c float64, ok bool) {
	for _, k := range costs {
		if k.code != x.Code {
			continue
		}
		switch v := x.Evidence.Get(k.key).(type) {
		case float64:
			return v, true
		case int64:
			streams, _ := x.Evidence.Get("streams_affected").(uint64)
			if span := (f.Last - f.First) * int64(max(streams, 1)); span > 0 {
				return min(1, float64(v)/float64(span)), true
			}
		}
	}
	return 0, false
}
