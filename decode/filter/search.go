package filter

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// searchable is an operand that contains and matches look into: text and bytes,
// and of a field whose values have names, these.
func (c *compiler) searchable(n *node, what string) operand {
	if c.literal(n) {
		c.noField(n)
	}
	o := c.operand(n, kindNumber, nil)
	switch {
	case o.search != nil:
		o.load = o.search
	case (o.kind == kindNumber || o.kind == kindBool) && hasNames(o.field):
		return nameOfValues(o)
	case o.kind == kindIPv4 || o.kind == kindIPv6 || !o.kind.hasBytes():
		c.failAt(n, "%s looks into text and bytes, and this is %s: use string() around it", what, o.kind)
	}
	return o
}

// contains compiles x contains y.
func (c *compiler) contains(n *node) test {
	l := c.searchable(n.kids[0], "contains")
	right, all := n.kids[1], quantified(n, false)
	if c.literal(right) {
		r := c.operand(right, l.searchKind(), nil)
		if r.constant == nil {
			c.failAt(right, "contains needs text or bytes behind it")
		}
		want := r.constant.b
		return judge(l, all, func(_ *machine, v *value) bool { return bytes.Contains(v.b, want) })
	}
	r := c.operand(right, l.searchKind(), nil)
	if !r.kind.hasBytes() {
		c.failAt(right, "contains needs text or bytes behind it, and this is %s", r.kind)
	}
	return judge(l, all, func(m *machine, v *value) bool {
		in, base, found := v.b, len(m.vals), false
		r.load(m)
		for i := base; i < len(m.vals) && !found; i++ {
			found = bytes.Contains(in, m.vals[i].b)
		}
		m.vals = m.vals[:base]
		return found
	})
}

// searchKind is as what a literal is read that is looked for in the operand.
func (o operand) searchKind() kind {
	if o.kind == kindString {
		return kindString
	}
	return kindBytes
}

// matches compiles x matches "regular expression".
func (c *compiler) matches(n *node) test {
	l := c.searchable(n.kids[0], "matches")
	right := n.kids[1]
	if right.kind != nodeString {
		c.failAt(right, "matches needs a regular expression in double quotes behind it")
	}
	// Bytes are taken for characters, so that \xb7 stands for one.
	re, err := regexp.Compile("(?i)" + toLatin1(right.value))
	if err != nil {
		c.failAt(right, "%s", explain(err))
	}
	return judge(l, quantified(n, false), func(m *machine, v *value) bool {
		if isASCII(v.b) { // the faster way to the same
			return re.Match(v.b)
		}
		m.chars = latin1{v.b}
		return re.MatchReader(&m.chars)
	})
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// explain says what is wrong with a regular expression.
func explain(err error) string {
	e, ok := err.(*syntax.Error) //nolint:errorlint // regexp.Compile returns just this
	if !ok {
		return clip(err.Error())
	}
	why := fmt.Sprintf("not a regular expression: %s: %q", e.Code, clip(e.Expr))
	if strings.HasPrefix(e.Expr, "(?") || e.Code == syntax.ErrInvalidEscape {
		why += " (Go's expressions have neither look-around nor back references)"
	}
	return why
}

// toLatin1 makes a character of each byte.
func toLatin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// latin1 reads bytes as characters.
type latin1 struct{ b []byte }

// ReadRune is io.RuneReader's.
func (l *latin1) ReadRune() (r rune, size int, err error) {
	if len(l.b) == 0 {
		return 0, 0, io.EOF
	}
	r, l.b = rune(l.b[0]), l.b[1:]
	return r, utf8.RuneLen(r), nil
}
