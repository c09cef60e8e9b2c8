package filter

// negate is -x.
func (c *compiler) negate(n *node, k kind) operand {
	if c.literal(n.kids[0]) && k != kindNumber && k != kindDuration {
		c.failAt(n, "a minus goes with numbers and durations, and this is to be %s", k)
	}
	o := c.operand(n.kids[0], k, nil)
	if o.kind != kindNumber && o.kind != kindDuration {
		c.failAt(n, "a minus goes with numbers and durations, and this is %s", o.kind)
	}
	load := func(m *machine) {
		base := len(m.vals)
		o.load(m)
		for i := base; i < len(m.vals); i++ {
			m.vals[i] = negate(m.vals[i])
		}
	}
	if o.constant != nil {
		return constantOperand(o.kind, negate(*o.constant))
	}
	return operand{kind: o.kind, load: load, computed: true}
}

func constantOperand(k kind, v value) operand {
	return operand{kind: k, constant: &v, load: func(m *machine) { m.vals = append(m.vals, v) }}
}

// calculation is what an operator makes of two values; ok is false where there
// is no result.
type calculation func(m *machine, a, b *value) (v value, ok bool)

// binary is x op y. Literals in it take the kind of the other side, or where
// both are, that of what the result is compared with.
func (c *compiler) binary(n *node, k kind) operand {
	left, right := n.kids[0], n.kids[1]
	scales := n.text == "*" || n.text == "/" || n.text == "%" // by a number
	var l, r operand
	switch leftLiteral, rightLiteral := c.literal(left), c.literal(right); {
	case leftLiteral && rightLiteral:
		l = c.operand(left, k, nil)
		switch {
		case scales:
			k = kindNumber
		case k == kindTime:
			k = kindDuration
		}
		r = c.operand(right, k, nil)
	case leftLiteral:
		r = c.operand(right, k, nil)
		lk := r.kind
		if scales {
			lk = kindNumber
		}
		l = c.operand(left, lk, r.field)
	default:
		l = c.operand(left, k, nil)
		rk := l.kind
		switch {
		case scales:
			rk = kindNumber
		case l.kind == kindTime:
			rk = kindDuration
		}
		var field = l.field
		if n.text != "&" {
			field = nil // 16777216 may be subtracted from a PSN
		}
		r = c.operand(right, rk, field)
	}
	kind, calc := c.calculation(n, l.kind, r.kind)
	load := func(m *machine) {
		base := len(m.vals)
		l.load(m)
		middle := len(m.vals)
		r.load(m)
		end := len(m.vals)
		for i := base; i < middle; i++ {
			for j := middle; j < end; j++ {
				if v, ok := calc(m, &m.vals[i], &m.vals[j]); ok {
					m.push(end, v)
				}
			}
		}
		m.vals = append(m.vals[:base], m.vals[end:]...)
	}
	if l.constant != nil && r.constant != nil {
		v, ok := calc(&machine{}, l.constant, r.constant)
		if !ok {
			c.failAt(n, "this has no result: it divides by zero, or is too large")
		}
		return constantOperand(kind, v)
	}
	return operand{kind: kind, load: load, computed: true}
}

// calculation is the one for an operator between two kinds, and the kind of its
// result.
func (c *compiler) calculation(n *node, l, r kind) (kind, calculation) {
	numbers := l == kindNumber && r == kindNumber
	switch op := n.text; {
	case op == "&" && numbers:
		return l, func(_ *machine, a, b *value) (value, bool) { return value{num: twos(*a) & twos(*b)}, true }
	case op == "&" && l.hasBytes() && r.hasBytes() && l != kindString && r != kindString && comparable(l, r):
		return l, andBytes
	case op == "+" && (numbers || l == kindDuration && r == kindDuration || l == kindTime && r == kindDuration):
		return l, func(_ *machine, a, b *value) (value, bool) { return add(*a, *b) }
	case op == "-" && (numbers || l == kindDuration && r == kindDuration || l == kindTime && r == kindDuration):
		return l, subtract
	case op == "-" && l == kindTime && r == kindTime:
		return kindDuration, subtract
	case op == "*" && (numbers || l == kindDuration && r == kindNumber):
		return l, func(_ *machine, a, b *value) (value, bool) { return multiply(*a, *b) }
	case op == "/" && (numbers || l == kindDuration && r == kindNumber):
		return l, func(_ *machine, a, b *value) (value, bool) {
			q, _, ok := divide(*a, *b)
			return q, ok
		}
	case op == "%" && (numbers || l == kindDuration && r == kindNumber):
		return l, func(_ *machine, a, b *value) (value, bool) {
			_, rest, ok := divide(*a, *b)
			return rest, ok
		}
	}
	c.failAt(n, "%s between %s and %s has no meaning", n.text, l, r)
	return 0, nil
}

func subtract(_ *machine, a, b *value) (value, bool) { return add(*a, negate(*b)) }

// andBytes is the bitwise AND of as many bytes on both sides.
func andBytes(m *machine, a, b *value) (v value, ok bool) {
	if len(a.b) != len(b.b) {
		return v, false
	}
	start := len(m.text)
	for i := range a.b {
		m.text = append(m.text, a.b[i]&b.b[i])
	}
	v.b = m.text[start:len(m.text):len(m.text)]
	v.num = uint64(be32(v.b)) // of an IPv4 address
	return v, true
}
