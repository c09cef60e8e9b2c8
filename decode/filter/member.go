package filter

import (
	"cmp"
	"slices"
	"sort"
)

// numberRange is lo..hi, both in.
type numberRange struct{ lo, hi uint64 }

// set is what in asks about: numbers as ranges, sorted, and whatever else.
type set struct {
	numbers []numberRange
	others  []func(m *machine, v *value) bool
}

// member compiles x in {...}.
func (c *compiler) member(n *node) test {
	if c.literal(n.kids[0]) {
		c.noField(n.kids[0])
	}
	l := c.operand(n.kids[0], kindNumber, nil)
	s := &set{}
	for _, e := range n.kids[1:] {
		c.element(s, l, e)
	}
	t := c.inSet(l, s, quantified(n, false), false)
	if n.negated {
		return func(m *machine) bool { return !t(m) }
	}
	return t
}

// element adds an element to a set.
func (c *compiler) element(s *set, l operand, e *node) {
	if e.kind == nodeRange {
		lo, hi := c.end(l, e.kids[0]), c.end(l, e.kids[1])
		if l.kind.scalar() && lo.constant != nil && hi.constant != nil && !lo.constant.neg && !hi.constant.neg {
			s.numbers = append(s.numbers, numberRange{lo.constant.num, hi.constant.num})
			return
		}
		s.others = append(s.others, between(comparer(l.kind, l.kind), lo, hi))
		return
	}
	if c.literal(e) && e.kind != nodeNegate && e.kind != nodeBinary {
		lit := c.readLiteral(e, l.kind, l.field)
		switch {
		case len(lit.named) > 1:
			for _, v := range lit.named {
				s.numbers = append(s.numbers, numberRange{v, v})
			}
		case lit.prefix >= 0 && l.kind == kindIPv4:
			mask := uint64(0xffffffff) << (32 - lit.prefix) & 0xffffffff
			s.numbers = append(s.numbers, numberRange{lit.v.num & mask, lit.v.num | ^mask&0xffffffff})
		case lit.prefix >= 0:
			s.others = append(s.others, func(_ *machine, v *value) bool { return comparePrefix(v.b, lit.v.b, lit.prefix) == 0 })
		case l.kind.scalar() && !lit.v.neg:
			s.numbers = append(s.numbers, numberRange{lit.v.num, lit.v.num})
		default:
			s.others = append(s.others, func(_ *machine, v *value) bool { return compareBytes(v, &lit.v) == 0 })
		}
		return
	}
	o := c.end(l, e)
	s.others = append(s.others, between(comparer(l.kind, l.kind), o, o))
}

// end is a value that stands in a set.
func (c *compiler) end(l operand, e *node) operand {
	o := c.operand(e, l.kind, l.field)
	if o.kind != l.kind {
		c.failAt(e, "this is %s, and can't be in a set that %s is looked for in", o.kind, l.kind)
	}
	return o
}

// between says whether a value is between any value of lo and any of hi.
func between(compare func(a, b *value) int, lo, hi operand) func(m *machine, v *value) bool {
	beyond := func(m *machine, o operand, at, sign int) bool {
		base := len(m.vals)
		o.load(m)
		found := false
		for i := base; i < len(m.vals) && !found; i++ {
			found = sign*compare(&m.vals[at], &m.vals[i]) >= 0
		}
		m.vals = m.vals[:base]
		return found
	}
	return func(m *machine, v *value) bool {
		at := len(m.vals)
		m.vals = append(m.vals, *v) // loading may move the others
		is := beyond(m, lo, at, 1) && beyond(m, hi, at, -1)
		m.vals = m.vals[:at]
		return is
	}
}

// has says whether a number is in the set.
func (s *set) has(v uint64) bool {
	i := sort.Search(len(s.numbers), func(i int) bool { return s.numbers[i].hi >= v })
	return i < len(s.numbers) && s.numbers[i].lo <= v
}

// inSet says whether an operand's values are in a set, or with not, are none of
// it.
func (c *compiler) inSet(l operand, s *set, all, not bool) test {
	s.sort()
	ask := judge(l, all, func(m *machine, v *value) bool {
		if len(s.numbers) > 0 && !v.neg && s.has(v.num) {
			return !not
		}
		for _, other := range s.others {
			if other(m, v) {
				return !not
			}
		}
		return not
	})
	if len(s.others) > 0 {
		return ask
	}
	return flatly(l.flat, all, ask, func(v uint64) bool { return s.has(v) != not })
}

// sort sorts the ranges, and merges those that overlap.
func (s *set) sort() {
	s.numbers = slices.DeleteFunc(s.numbers, func(r numberRange) bool { return r.lo > r.hi })
	slices.SortFunc(s.numbers, func(a, b numberRange) int { return cmp.Compare(a.lo, b.lo) })
	merged := s.numbers[:0]
	for _, r := range s.numbers {
		if n := len(merged); n > 0 && r.lo <= merged[n-1].hi {
			merged[n-1].hi = max(merged[n-1].hi, r.hi)
			continue
		}
		merged = append(merged, r)
	}
	s.numbers = merged
}
