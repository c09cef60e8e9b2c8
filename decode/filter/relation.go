package filter

// test compiles a test: a comparison, tests joined, or a value that stands for
// one.
func (c *compiler) test(n *node) test {
	switch n.kind {
	case nodeLogic:
		return c.logic(n)
	case nodeNot:
		t := c.test(n.kids[0])
		return func(m *machine) bool { return !t(m) }
	case nodeRelation:
		return c.relation(n)
	case nodeIn:
		return c.member(n)
	}
	if c.literal(n) {
		c.noField(n)
	}
	return c.there(n)
}

func (c *compiler) logic(n *node) test {
	kids := make([]test, len(n.kids))
	for i, k := range n.kids {
		kids[i] = c.test(k)
	}
	first, second := kids[0], kids[1]
	switch {
	case n.text == "&&" && len(kids) == 2:
		return func(m *machine) bool { return first(m) && second(m) }
	case n.text == "||" && len(kids) == 2:
		return func(m *machine) bool { return first(m) || second(m) }
	case n.text == "^^":
		return func(m *machine) bool {
			odd := false
			for _, t := range kids {
				odd = odd != t(m)
			}
			return odd
		}
	}
	or := n.text == "||"
	return func(m *machine) bool {
		for _, t := range kids {
			if t(m) == or {
				return or
			}
		}
		return !or
	}
}

// there is a value alone: whether a field is there, and of what was computed,
// whether it is other than zero.
func (c *compiler) there(n *node) test {
	o := c.operand(n, kindNumber, nil)
	if o.function != "" && o.kind != kindBool {
		c.failAt(n, "%s() gives %s: compare it with something, as in %s(...) > 0", o.function, o.kind, o.function)
	}
	ask := func(m *machine) bool {
		base := len(m.vals)
		o.load(m)
		found := m.vals[base:]
		m.vals = m.vals[:base]
		if !o.computed && o.function == "" {
			return len(found) > 0
		}
		for i := range found {
			if truth(o.kind, &found[i]) {
				return true
			}
		}
		return false
	}
	if o.flat != nil {
		return func(m *machine) bool {
			_, _, n := o.flat(m.p)
			if n == askTable {
				return ask(m)
			}
			return n > 0
		}
	}
	return ask
}

// op is a comparison of two values.
type op uint8

const (
	opEq op = iota
	opNe
	opLt
	opLe
	opGt
	opGe
)

// ops are the comparisons, and whether they must hold for all values or for any
// if nothing else is said.
var ops = map[string]struct {
	op  op
	all bool
}{
	"==": {opEq, false}, "===": {opEq, true}, "!=": {opNe, true}, "!==": {opNe, false},
	"<": {opLt, false}, "<=": {opLe, false}, ">": {opGt, false}, ">=": {opGe, false},
}

// flipped is the comparison with its sides changed over.
func (o op) flipped() op {
	return [...]op{opEq: opEq, opNe: opNe, opLt: opGt, opLe: opGe, opGt: opLt, opGe: opLe}[o]
}

// holds says whether the comparison holds for an order, as cmp.Compare has it.
func (o op) holds(order int) bool {
	switch o {
	case opEq:
		return order == 0
	case opNe:
		return order != 0
	case opLt:
		return order < 0
	case opLe:
		return order <= 0
	case opGt:
		return order > 0
	}
	return order >= 0
}

// holdsFor is holds for numbers without a sign.
func (o op) holdsFor(a, b uint64) bool {
	switch o {
	case opEq:
		return a == b
	case opNe:
		return a != b
	case opLt:
		return a < b
	case opLe:
		return a <= b
	case opGt:
		return a > b
	}
	return a >= b
}

// quantified is whether a comparison must hold for all values.
func quantified(n *node, all bool) bool {
	switch n.quantifier {
	case "any":
		return false
	case "all":
		return true
	}
	return all
}

// judge is what a test is of the values of one operand: whether all or any pass.
func judge(o operand, all bool, pass func(m *machine, v *value) bool) test {
	load := o.load
	return func(m *machine) bool {
		base := len(m.vals)
		load(m)
		end := len(m.vals)
		result := all && end > base
		for i := base; i < end; i++ {
			if pass(m, &m.vals[i]) != all {
				result = !all
				break
			}
		}
		m.vals = m.vals[:base]
		return result
	}
}

// relation compiles a comparison.
func (c *compiler) relation(n *node) test {
	left, right := n.kids[0], n.kids[1]
	switch n.text {
	case "contains":
		return c.contains(n)
	case "matches":
		return c.matches(n)
	}
	how := ops[n.text]
	op, all := how.op, quantified(n, how.all)
	if c.literal(left) {
		if c.literal(right) {
			c.noField(left)
		}
		left, right, op = right, left, op.flipped()
	}
	l := c.operand(left, kindNumber, nil)
	if c.literal(right) {
		return c.withLiteral(l, op, all, right)
	}
	r := c.operand(right, l.kind, l.field)
	if !comparable(l.kind, r.kind) {
		c.failAt(n, "%s and %s can't be compared", l.kind, r.kind)
	}
	compare := comparer(l.kind, r.kind)
	return func(m *machine) bool {
		base := len(m.vals)
		l.load(m)
		middle := len(m.vals)
		r.load(m)
		end := len(m.vals)
		result := all && middle > base && end > middle
	pairs:
		for i := base; i < middle; i++ {
			for j := middle; j < end; j++ {
				if op.holds(compare(&m.vals[i], &m.vals[j])) != all {
					result = !all
					break pairs
				}
			}
		}
		m.vals = m.vals[:base]
		return result
	}
}

// withLiteral compares an operand with a constant.
func (c *compiler) withLiteral(l operand, op op, all bool, right *node) test {
	if right.kind == nodeNegate || right.kind == nodeBinary {
		r := c.operand(right, l.kind, nil)
		if r.kind != l.kind {
			c.failAt(right, "%s and %s can't be compared", l.kind, r.kind)
		}
		return c.withValue(l, op, all, *r.constant)
	}
	lit := c.readLiteral(right, l.kind, l.field)
	switch {
	case len(lit.named) > 1 && op != opEq && op != opNe:
		c.failAt(right, "%s names several values: use == or !=, or write the number", clip(right.text))
	case len(lit.named) > 1:
		var s set
		for _, v := range lit.named {
			s.numbers = append(s.numbers, numberRange{v, v})
		}
		return c.inSet(l, &s, all, op == opNe)
	case lit.prefix >= 0 && l.kind == kindIPv4:
		return c.network(l, op, all, lit)
	case lit.prefix >= 0:
		return judge(l, all, func(_ *machine, v *value) bool { return op.holds(comparePrefix(v.b, lit.v.b, lit.prefix)) })
	}
	return c.withValue(l, op, all, lit.v)
}

// withValue compares an operand with one value.
func (c *compiler) withValue(l operand, op op, all bool, v value) test {
	compare := comparer(l.kind, l.kind)
	ask := judge(l, all, func(_ *machine, x *value) bool { return op.holds(compare(x, &v)) })
	switch {
	case l.flat != nil && !v.neg:
		return flatTest(l.flat, all, ask, v.num, op)
	case l.flat6 != nil && (op == opEq || op == opNe):
		get, want := l.flat6, addr6(v.b)
		return func(m *machine) bool {
			a, b, n := get(m.p)
			switch n {
			case 0:
				return false
			case 1:
				return (a == want) == (op == opEq)
			case 2:
				one, other := (a == want) == (op == opEq), (b == want) == (op == opEq)
				return one && other || !all && (one || other)
			}
			return ask(m)
		}
	}
	return ask
}

// flatTest is flatly for a comparison with a number, which most filters are.
func flatTest(get flat, all bool, ask test, want uint64, op op) test {
	return func(m *machine) bool {
		a, b, n := get(m.p)
		switch n {
		case 0:
			return false
		case 1:
			return op.holdsFor(a, want)
		case 2:
			one, other := op.holdsFor(a, want), op.holdsFor(b, want)
			return one && other || !all && (one || other)
		}
		return ask(m)
	}
}

// network compares IPv4 addresses with a network: both without the bits behind
// the prefix.
func (c *compiler) network(l operand, op op, all bool, lit literal) test {
	mask := uint64(0xffffffff) << (32 - lit.prefix) & 0xffffffff
	want := lit.v.num & mask
	ask := judge(l, all, func(_ *machine, v *value) bool { return op.holdsFor(v.num&mask, want) })
	return flatly(l.flat, all, ask, func(v uint64) bool { return op.holdsFor(v&mask, want) })
}

// flatly tests what the packet has by itself, where it has the values.
func flatly(get flat, all bool, ask test, pass func(v uint64) bool) test {
	if get == nil {
		return ask
	}
	return func(m *machine) bool {
		a, b, n := get(m.p)
		switch n {
		case 0:
			return false
		case 1:
			return pass(a)
		case 2:
			one, other := pass(a), pass(b)
			return one && other || !all && (one || other)
		}
		return ask(m)
	}
}

// comparePrefix compares the first bits of two addresses.
func comparePrefix(a, b []byte, bits int) int {
	for i := range min(len(a), len(b)) {
		mask := byte(0xff)
		if left := bits - 8*i; left <= 0 {
			return 0
		} else if left < 8 {
			mask <<= 8 - left
		}
		if x, y := a[i]&mask, b[i]&mask; x != y {
			return int(x) - int(y)
		}
	}
	return 0
}
