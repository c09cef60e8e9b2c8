package filter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rocelens/rocelens/decode"
)

// operand is a value of an expression, or the values of a field: what load
// pushes onto the machine's.
type operand struct {
	kind kind
	load func(m *machine)
	// constant is the value of one that is the same for every packet.
	constant *value
	// field is set for the values of a field as they are, flat and flat6 where
	// the packet has them by itself.
	field *decode.Field
	flat  flat
	flat6 flat6
	// search is set for a protocol: it pushes what contains and matches look
	// at, the header and all that is inside of it.
	search func(m *machine)
	// computed says that a test of the operand alone is for a value other than
	// zero, and not for its being there.
	computed bool
	function string // that it is the result of
}

// compiler makes tests of a syntax tree.
type compiler struct {
	expr  string
	loc   *time.Location
	needs needs
	err   *Error
}

func (c *compiler) failAt(n *node, format string, args ...any) {
	c.err = &Error{Expr: c.expr, Off: n.off, Len: n.end - n.off, Msg: fmt.Sprintf(format, args...)}
	panic(failed{})
}

// compile makes a test of a tree.
func (c *compiler) compile(n *node) (t test, err *Error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(failed); !ok {
				panic(r)
			}
			t, err = nil, c.err
		}
	}()
	return c.test(n), nil
}

// lookUp finds what a word names: a field, or else a protocol. A point ahead of
// a word says that it is a name, a colon that it is none.
func (c *compiler) lookUp(n *node) (*decode.Field, *decode.Proto) {
	name := strings.TrimPrefix(n.text, ".")
	if f := decode.FieldByName(name); f != nil {
		return f, nil
	}
	return nil, decode.ProtoByName(name)
}

// literal says that a node is made of constants alone, which take their kind
// from what they are compared with.
func (c *compiler) literal(n *node) bool {
	switch n.kind {
	case nodeString, nodeChar:
		return true
	case nodeWord:
		if n.text[0] == '.' {
			return false
		}
		f, p := c.lookUp(n)
		return f == nil && p == nil
	case nodeNegate, nodeBinary, nodeRange:
		for _, k := range n.kids {
			if !c.literal(k) {
				return false
			}
		}
		return true
	}
	return false
}

// noField says that a word is none of a field, and which was probably meant.
func (c *compiler) noField(n *node) {
	name := strings.TrimPrefix(n.text, ".")
	before, _, minus := strings.Cut(name, "-")
	switch {
	case n.kind != nodeWord || isDigit(n.text[0]):
		c.failAt(n, "a field is needed here, or a protocol: a filter compares what packets have")
	case minus && c.isField(before):
		c.failAt(n, "a minus needs a blank ahead of it: it is part of names and addresses")
	}
	c.unknown(n, "there is no field or protocol "+clip(name))
}

// unknown fails at a name that there is none of.
func (c *compiler) unknown(n *node, msg string) {
	c.err = &Error{Expr: c.expr, Off: n.off, Len: n.end - n.off, Msg: msg, suggest: func() string {
		if near := nearestName(strings.TrimPrefix(n.text, ".")); near != "" {
			return ": did you mean " + near + "?"
		}
		return " (rocelens fields lists them)"
	}}
	panic(failed{})
}

func (c *compiler) isField(name string) bool {
	return decode.FieldByName(name) != nil || decode.ProtoByName(name) != nil
}

// nearestName is the field or protocol that a name is most like.
func nearestName(name string) string {
	if len(name) > maxNameLen {
		return ""
	}
	best, distance := "", 1+len(name)/3
	for _, p := range decode.ProtoNames() {
		if d := decode.EditDistance(strings.ToLower(name), p); d < distance || d == distance && p < best {
			best, distance = p, d
		}
	}
	near := decode.NearestField(name)
	if near != "" && (best == "" || strings.Contains(name, ".") || decode.EditDistance(name, near) < distance) {
		return near
	}
	return best
}

// operand compiles a value. A literal in it is of kind k, or a value of field.
func (c *compiler) operand(n *node, k kind, field *decode.Field) operand {
	switch n.kind {
	case nodeString, nodeChar:
		return c.constant(n, k, field)
	case nodeWord:
		if c.literal(n) {
			return c.constant(n, k, field)
		}
		if f, _ := c.lookUp(n); f == nil && k == kindString {
			c.failAt(n, "%s is a protocol: put quotes around text", n.text)
		}
		return c.named(n)
	case nodeNegate:
		return c.negate(n, k)
	case nodeBinary:
		return c.binary(n, k)
	case nodeSlice:
		return c.slice(n)
	case nodeLayer:
		return c.layer(n)
	case nodeRaw:
		return c.raw(n)
	case nodeCall:
		return c.call(n, k)
	}
	c.failAt(n, "this is a test, and no value")
	return operand{}
}

// constant is a literal that is one value.
func (c *compiler) constant(n *node, k kind, field *decode.Field) operand {
	l := c.readLiteral(n, k, field)
	if l.prefix >= 0 {
		c.failAt(n, "a network has no place here: use == or in, or write an address")
	}
	if len(l.named) > 1 {
		c.failAt(n, "%s names several values: use == or !=, or write the number", clip(n.text))
	}
	v := l.v
	return operand{kind: k, constant: &v, load: func(m *machine) { m.vals = append(m.vals, v) }}
}

func (c *compiler) readLiteral(n *node, k kind, field *decode.Field) literal {
	l, err := readLiteral(k, field, n, c.loc)
	if err == nil {
		return l
	}
	if n.kind == nodeWord && strings.Contains(n.text, ".") && isName(n.text) {
		c.unknown(n, err.Error()+"; there is no field "+clip(n.text))
	}
	c.err = &Error{Expr: c.expr, Off: n.off, Len: n.end - n.off, Msg: err.Error()}
	if noName := (*noNameError)(nil); errors.As(err, &noName) {
		c.err.suggest = noName.suggest
	}
	panic(failed{})
}

// isName says whether a word looks like a field's name.
func isName(s string) bool {
	return s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' && !strings.ContainsAny(s, ":-/")
}

// named is a field or a protocol.
func (c *compiler) named(n *node) operand {
	f, p := c.lookUp(n)
	switch {
	case f != nil:
		return c.field(f, nil)
	case p != nil:
		return c.protocol(p, nil)
	}
	c.noField(n)
	return operand{}
}

// ordinals choose headers by which of their kind they are; nil is all.
type ordinals func(n, of int) bool

func (c *compiler) field(f *decode.Field, ord ordinals) operand {
	c.needs.notes = c.needs.notes || f.OfNote
	switch f.Name {
	case "infiniband.icrc.status", "infiniband.icrc.expected", "infiniband.vcrc.status":
		c.needs.icrc = true
	case "frame.time_delta_displayed":
		c.needs.displayed = true
	}
	if isHost(f) {
		return textOf(c.values(f, ord), f)
	}
	o := c.values(f, ord)
	if ord != nil {
		return o
	}
	o.flat, o.flat6 = flats[f.Name], flats6[f.Name]
	if o.flat != nil && !o.kind.hasBytes() {
		ask := o.load
		o.load = func(m *machine) {
			switch a, b, n := o.flat(m.p); n {
			case askTable:
				ask(m)
			case 1:
				m.vals = append(m.vals, value{num: a})
			case 2:
				m.vals = append(m.vals, value{num: a}, value{num: b})
			}
		}
	}
	return o
}

// isHost says that Wireshark has the field as the name of a host, which without
// looking names up is the address as text.
func isHost(f *decode.Field) bool {
	return (f.Type == decode.TypeIPv4 || f.Type == decode.TypeIPv6) && (strings.HasSuffix(f.Name, "_host") || strings.HasSuffix(f.Name, ".host"))
}

// find asks the field table for the values of a field.
func (m *machine) find(f *decode.Field, ord ordinals) {
	m.table()
	if ord == nil {
		m.found = f.Append(m.found[:0], m.x, m.p)
	} else {
		m.found = f.AppendAt(m.found[:0], m.x, m.p, ord)
	}
}

// values are those of a field as the field table has them.
func (c *compiler) values(f *decode.Field, ord ordinals) operand {
	k := fieldKind(f)
	return operand{kind: k, field: f, load: func(m *machine) {
		base := len(m.vals)
		m.find(f, ord)
		for i := range m.found {
			m.push(base, convert(k, &m.found[i]))
		}
	}}
}

// protocol is a protocol's bytes.
func (c *compiler) protocol(p *decode.Proto, ord ordinals) operand {
	c.needs.notes = c.needs.notes || p.OfNote()
	find := func(m *machine) {
		m.table()
		m.found = p.Append(m.found[:0], m.x, m.p, ord)
	}
	return operand{
		kind: kindBytes,
		load: func(m *machine) {
			base := len(m.vals)
			find(m)
			for i := range m.found {
				m.push(base, value{b: m.found[i].Bytes})
			}
		},
		search: func(m *machine) {
			base := len(m.vals)
			find(m)
			for i := range m.found {
				m.push(base, value{b: p.Inside(m.p, &m.found[i])})
			}
		},
	}
}

// raw is the bytes of a field as they are in the frame.
func (c *compiler) raw(n *node) operand {
	of, ord := n.kids[0], ordinals(nil)
	if of.kind == nodeSlice { // @field[0:2]
		inner := *n
		inner.kids = of.kids
		return c.sliceOf(of, c.raw(&inner))
	}
	if of.kind == nodeLayer {
		ord = c.ordinals(of)
		of = of.kids[0]
	}
	if of.kind != nodeWord {
		c.failAt(of, "@ goes with a field alone, as in @ip.src")
	}
	f, p := c.lookUp(of)
	if p != nil {
		return c.protocol(p, ord)
	}
	if f == nil {
		c.noField(of)
	}
	c.field(f, ord) // for its needs
	return operand{kind: kindBytes, load: func(m *machine) {
		base := len(m.vals)
		m.find(f, ord)
		for i := range m.found {
			v := &m.found[i]
			if v.Len > 0 { // else it was computed
				m.push(base, value{b: m.p.Data[v.Off : v.Off+v.Len]})
			}
		}
	}}
}

// layer is a field or protocol of some headers alone.
func (c *compiler) layer(n *node) operand {
	of := n.kids[0]
	if of.kind != nodeWord || c.literal(of) {
		c.failAt(of, "# goes with a field or a protocol, as in ip.addr#2")
	}
	ord := c.ordinals(n)
	f, p := c.lookUp(of)
	switch {
	case f != nil:
		return c.field(f, ord)
	case p != nil:
		return c.protocol(p, ord)
	}
	c.noField(of)
	return operand{}
}

// ordinals are those that stand behind #: a number, or ranges of them.
func (c *compiler) ordinals(n *node) ordinals {
	rs := c.ranges(n)
	return func(i, of int) bool {
		for j := range rs {
			from := rs[j].from
			if from < 0 {
				from += of + 1
			}
			if end, _ := rs[j].end(from, of+1); i >= from && i < end {
				return true
			}
		}
		return false
	}
}
