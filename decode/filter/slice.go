package filter

import (
	"math"
	"strconv"
	"strings"
)

// span of a slice: from is where it begins, negative from the end. to is the
// length, or with inclusive the last offset; with open it goes on to the end.
type sliceRange struct {
	from, to        int
	inclusive, open bool
}

// end is behind the last byte of a range that begins at from, in size bytes; ok
// is false where it is not whole in there.
func (r *sliceRange) end(from, size int) (end int, ok bool) {
	switch {
	case r.open:
		end = size
	case r.inclusive && r.to < 0:
		end = size + r.to + 1
	case r.inclusive:
		end = r.to + 1
	default:
		end = from + r.to
	}
	return end, from >= 0 && from < end && end <= size
}

// maxRanges is how many parts a slice may have.
const maxRanges = 64

// ranges reads what is between brackets, or behind #.
func (c *compiler) ranges(n *node) (rs []sliceRange) {
	bad := func(part, why string) {
		c.failAt(n, "%s is no range%s: write [0:3] for three bytes, [0-2], [2], [:3] or [3:]", clip(strings.TrimSpace(part)), why)
	}
	parts := strings.Split(n.text, ",")
	if len(parts) > maxRanges {
		c.failAt(n, "more than %d ranges", maxRanges)
	}
	for _, part := range parts {
		s := strings.TrimSpace(part)
		var r sliceRange
		ok := true
		if a, b, colon := strings.Cut(s, ":"); colon {
			a, b = strings.TrimSpace(a), strings.TrimSpace(b)
			if a != "" {
				r.from, ok = parseOffset(a)
			}
			if b == "" {
				r.open = true
				ok = ok && a != ""
			} else if ok {
				if r.to, ok = parseOffset(b); ok && r.to <= 0 {
					bad(part, ", what is behind : is a length of 1 or more")
				}
			}
		} else if i := strings.Index(s[min(1, len(s)):], "-"); i >= 0 {
			r.inclusive = true
			r.from, ok = parseOffset(strings.TrimSpace(s[:i+1]))
			if ok {
				r.to, ok = parseOffset(strings.TrimSpace(s[i+2:]))
			}
			switch {
			case ok && (r.from < 0) != (r.to < 0):
				bad(part, ", one end is counted from the end and the other is not")
			case ok && r.from > r.to:
				bad(part, ", it ends before it begins")
			}
		} else {
			r.from, ok = parseOffset(s)
			r.to = 1
		}
		if !ok {
			bad(part, "")
		}
		rs = append(rs, r)
	}
	return rs
}

// parseOffset reads an offset. Frames are shorter than 2 GiB.
func parseOffset(s string) (int, bool) {
	digits := strings.TrimPrefix(s, "-")
	v, err := parseNumber(digits)
	if err != nil && strings.Trim(digits, "0123456789") == "" && digits != "" { // 08
		v, err = strconv.ParseUint(digits, 10, 64)
	}
	if err != nil || v > math.MaxInt32 {
		return 0, false
	}
	if digits != s {
		return -int(v), true
	}
	return int(v), true
}

// slice is a part of a value's bytes.
func (c *compiler) slice(n *node) operand {
	of := n.kids[0]
	if c.literal(of) {
		c.noField(of)
	}
	return c.sliceOf(n, c.operand(of, kindBytes, nil))
}

func (c *compiler) sliceOf(n *node, o operand) operand {
	if !o.kind.hasBytes() {
		c.failAt(n.kids[0], "this is %s, and has no bytes to take a part of: use @ ahead of it for those in the frame", o.kind)
	}
	rs := c.ranges(n)
	return operand{kind: kindBytes, load: func(m *machine) {
		base := len(m.vals)
		o.load(m)
		kept := m.vals[:base]
		for i := base; i < len(m.vals); i++ {
			if b, ok := cut(m, m.vals[i].b, rs); ok {
				kept = append(kept, value{b: b})
			}
		}
		m.vals = kept
	}}
}

// cut takes the ranges out of b; ok is false where one is not in it.
func cut(m *machine, b []byte, rs []sliceRange) (part []byte, ok bool) {
	start := len(m.text)
	for i := range rs {
		r := &rs[i]
		from := r.from
		if from < 0 {
			from += len(b)
		}
		end, ok := r.end(from, len(b))
		if !ok {
			m.text = m.text[:start]
			return nil, false
		}
		if len(rs) == 1 {
			return b[from:end:end], true
		}
		m.text = append(m.text, b[from:end]...)
	}
	return m.text[start:len(m.text):len(m.text)], true
}
