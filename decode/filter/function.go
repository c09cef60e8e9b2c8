package filter

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
)

// function compiles a call.
type function = func(c *compiler, n *node) operand

// functionNamed are the functions of the language.
func functionNamed() map[string]function {
	return map[string]function{
		"upper": changeCase('a', 'z'), "lower": changeCase('A', 'Z'), "len": length, "count": count,
		"string": asString, "vals": asName, "dec": asDigits(appendUint), "hex": asDigits(appendHex),
		"max": extreme(1), "min": extreme(-1), "abs": absolute,
		"ip_linklocal": addressTest(netip.Addr.IsLinkLocalUnicast, kindIPv4, kindIPv6),
		"ip_multicast": addressTest(netip.Addr.IsMulticast, kindIPv4, kindIPv6),
		"ip_rfc1918":   addressTest(netip.Addr.IsPrivate, kindIPv4),
		"ip_ula":       addressTest(netip.Addr.IsPrivate, kindIPv6),
	}
}

// call compiles a call, the result of which is compared with a value of kind k.
func (c *compiler) call(n *node, k kind) operand {
	functions := functionNamed()
	compile := functions[n.text]
	if compile == nil {
		names := make([]string, 0, len(functions))
		for name := range functions {
			names = append(names, name)
		}
		slices.Sort(names)
		c.failAt(n, "there is no function %s: there are %s", clip(n.text), strings.Join(names, ", "))
	}
	if len(n.kids) == 0 {
		c.failAt(n, "%s() needs a field in its parentheses", n.text)
	}
	if n.text == "abs" && len(n.kids) == 1 && c.literal(n.kids[0]) {
		v := *c.operand(n.kids[0], k, nil).constant
		v.neg = false
		return constantOperand(k, v)
	}
	o := compile(c, n)
	o.function = n.text
	return o
}

// argument is the only one of a function, and no literal.
func (c *compiler) argument(n *node) operand {
	if len(n.kids) != 1 {
		c.failAt(n, "%s() takes one argument, not %d", n.text, len(n.kids))
	}
	if c.literal(n.kids[0]) {
		c.noField(n.kids[0])
	}
	return c.operand(n.kids[0], kindNumber, nil)
}

func (c *compiler) wrong(n *node, o operand, takes string) {
	c.failAt(n.kids[0], "%s() takes %s, and this is %s", n.text, takes, o.kind)
}

// each is an operand whose values are those of another, changed one by one; ok
// is false for one that is left out.
func each(k kind, of operand, change func(m *machine, v *value) (ok bool)) operand {
	return operand{kind: k, load: func(m *machine) {
		base := len(m.vals)
		of.load(m)
		kept := base
		for i := base; i < len(m.vals); i++ {
			if change(m, &m.vals[i]) {
				m.vals[kept] = m.vals[i]
				kept++
			}
		}
		m.vals = m.vals[:kept]
	}}
}

func changeCase(from, to byte) function {
	return func(c *compiler, n *node) operand {
		o := c.argument(n)
		if o.kind != kindString {
			c.wrong(n, o, "text")
		}
		return each(kindString, o, func(m *machine, v *value) bool {
			start := len(m.text)
			for _, ch := range v.b {
				if ch >= from && ch <= to {
					ch ^= 0x20
				}
				m.text = append(m.text, ch)
			}
			v.b = m.text[start:len(m.text):len(m.text)]
			return true
		})
	}
}

// length is how many bytes a value has.
func length(c *compiler, n *node) operand {
	o := c.argument(n)
	if o.kind.hasBytes() {
		return each(kindNumber, o, func(_ *machine, v *value) bool {
			*v = value{num: uint64(len(v.b))}
			return true
		})
	}
	if o.field == nil || width(o.field) == 0 {
		c.wrong(n, o, "a field, text or bytes")
	}
	w := uint64(width(o.field))
	return each(kindNumber, o, func(_ *machine, v *value) bool {
		*v = value{num: w}
		return true
	})
}

// count is how many values there are; a field that is not there has no count.
func count(c *compiler, n *node) operand {
	o := c.argument(n)
	return operand{kind: kindNumber, load: func(m *machine) {
		base := len(m.vals)
		o.load(m)
		found := uint64(len(m.vals) - base)
		m.vals = m.vals[:base]
		if found > 0 {
			m.vals = append(m.vals, value{num: found})
		}
	}}
}

// asString is a value as text, numbers in decimal.
func asString(c *compiler, n *node) operand {
	o := c.argument(n)
	if o.kind == kindTime || o.kind == kindBytes && o.field == nil {
		c.wrong(n, o, "a number or an address")
	}
	return textOf(o, o.field)
}

// textOf makes text of an operand's values. field says how numbers of it that
// are no plain ones are written.
func textOf(o operand, field *decode.Field) operand {
	if o.kind == kindString {
		return o
	}
	k := o.kind
	return each(kindString, o, func(m *machine, v *value) bool {
		start := len(m.text)
		switch k {
		case kindNumber, kindBool:
			if v.neg {
				m.text = append(m.text, '-')
			}
			m.text = appendUint(m.text, v.num)
		case kindDuration:
			m.text = decode.AppendSeconds(m.text, int64(twos(*v)))
		default:
			raw := decode.Value{Bytes: v.b}
			m.text = typed(k, field).AppendRaw(m.text, &raw)
		}
		*v = value{b: m.text[start:len(m.text):len(m.text)]}
		return true
	})
}

// typed is a field that writes values of a kind.
func typed(k kind, f *decode.Field) *decode.Field {
	if f != nil {
		return f
	}
	return kindFields[k]
}

// kindFields write addresses and bytes that are no field's.
var kindFields = map[kind]*decode.Field{
	kindIPv4: {Type: decode.TypeIPv4}, kindIPv6: {Type: decode.TypeIPv6}, kindEther: {Type: decode.TypeEther}, kindBytes: {Type: decode.TypeBytes},
}

// asName is the name of a field's value.
func asName(c *compiler, n *node) operand {
	o := c.argument(n)
	if !hasNames(o.field) {
		c.failAt(n.kids[0], "vals() takes a field whose values have names")
	}
	return nameOfValues(o)
}

func nameOfValues(o operand) operand {
	names := newNameTable(o.field)
	return each(kindString, o, func(m *machine, v *value) bool {
		*v = value{b: names.name(m, v.num)}
		return true
	})
}

// asDigits is a number as text.
func asDigits(appendDigits func(dst []byte, n uint64) []byte) function {
	return func(c *compiler, n *node) operand {
		o := c.argument(n)
		if o.kind != kindNumber {
			c.wrong(n, o, "a number")
		}
		return each(kindString, o, func(m *machine, v *value) bool {
			start := len(m.text)
			if v.neg {
				m.text = append(m.text, '-')
			}
			m.text = appendDigits(m.text, v.num)
			*v = value{b: m.text[start:len(m.text):len(m.text)]}
			return true
		})
	}
}

func appendUint(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }

func appendHex(dst []byte, n uint64) []byte { return strconv.AppendUint(append(dst, "0x"...), n, 16) }

// extreme is the largest of all values of all arguments, or with sign -1 the
// smallest.
func extreme(sign int) function {
	return func(c *compiler, n *node) operand {
		var first *operand
		for _, kid := range n.kids {
			if !c.literal(kid) {
				o := c.operand(kid, kindNumber, nil)
				first = &o
				break
			}
		}
		if first == nil {
			c.noField(n.kids[0])
		}
		k := first.kind
		all := make([]operand, len(n.kids))
		for i, kid := range n.kids {
			if all[i] = c.operand(kid, k, first.field); all[i].kind != k {
				c.failAt(kid, "this is %s, and an argument ahead of it is %s", all[i].kind, k)
			}
		}
		compare := comparer(k, k)
		return operand{kind: k, load: func(m *machine) {
			base := len(m.vals)
			for i := range all {
				all[i].load(m)
			}
			if len(m.vals) == base {
				return
			}
			best := base
			for i := base + 1; i < len(m.vals); i++ {
				if sign*compare(&m.vals[i], &m.vals[best]) > 0 {
					best = i
				}
			}
			m.vals = append(m.vals[:base], m.vals[best])
		}}
	}
}

func absolute(c *compiler, n *node) operand {
	o := c.argument(n)
	if o.kind != kindNumber && o.kind != kindDuration {
		c.wrong(n, o, "a number or a duration")
	}
	return each(o.kind, o, func(_ *machine, v *value) bool {
		v.neg = false
		return true
	})
}

// addressTest says yes or no of addresses.
func addressTest(is func(netip.Addr) bool, kinds ...kind) function {
	return func(c *compiler, n *node) operand {
		o := c.argument(n)
		if !slices.Contains(kinds, o.kind) {
			c.wrong(n, o, kinds[0].String())
		}
		return each(kindBool, o, func(_ *machine, v *value) bool {
			a, ok := netip.AddrFromSlice(v.b)
			*v = value{}
			if is(a) {
				v.num = 1
			}
			return ok
		})
	}
}
