package filter

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/decode"
)

// literal is a constant, read as a value of some kind.
type literal struct {
	v value
	// prefix is how many bits of an address count, -1 for all.
	prefix int
	// named are the numbers that a name stands for; there may be several.
	named []uint64
}

// readLiteral reads a word, string or character as a value of a kind. field is
// the field that it is compared with, or nil.
func readLiteral(k kind, field *decode.Field, n *node, loc *time.Location) (l literal, err error) {
	l.prefix = -1
	word, value := n.text, n.value
	if len(word) > 1 && word[0] == ':' && word[1] != ':' { // which only says that it is no name
		word = word[1:]
	}
	if n.kind == nodeWord {
		value = word
	}
	switch k {
	case kindNumber, kindBool:
		if n.kind == nodeChar {
			l.v.num = uint64(n.value[0])
			break
		}
		if n.kind == nodeWord {
			if l.v.num, err = parseNumber(word); err == nil {
				if k == kindBool && l.v.num > 1 {
					l.v.num = 1
				}
				if k == kindNumber && field != nil && width(field) > 0 && l.v.num > most(field) {
					return l, fmt.Errorf("%s is more than %s can be, at most %d", clip(word), field.Name, most(field))
				}
				return l, nil
			}
			if yes := strings.EqualFold(word, "true"); k == kindBool && (yes || strings.EqualFold(word, "false")) {
				if yes {
					l.v.num = 1
				}
				return l, nil
			}
			if word == "" || isDigit(word[0]) {
				return l, err
			}
		}
		if l.named, err = numbersNamed(field, value, k); err != nil {
			return l, err
		}
		l.v.num = l.named[0]
	case kindDuration:
		if n.kind != nodeWord {
			return l, fmt.Errorf("a duration has no quotes: write 0.001 or 1ms")
		}
		l.v, err = parseDuration(word)
	case kindTime:
		l.v, err = parseTime(value, loc)
	case kindIPv4, kindIPv6:
		if n.kind != nodeWord {
			return l, fmt.Errorf("an address has no quotes: write %s", clip(value))
		}
		l.v, l.prefix, err = parseAddr(k, word)
	case kindEther:
		if n.kind != nodeWord {
			return l, fmt.Errorf("an address has no quotes: write %s", clip(value))
		}
		if l.v.b, err = parseBytes(word); err == nil && len(l.v.b) != 6 {
			err = fmt.Errorf("a MAC address has 6 bytes, %s has %d", clip(word), len(l.v.b))
		}
	case kindBytes:
		if n.kind != nodeWord { // text, as it is encoded
			l.v.b = []byte(value)
			break
		}
		l.v.b, err = parseBytes(word)
	case kindString:
		l.v.b = []byte(value)
	}
	return l, err
}

// parseNumber reads a number as Wireshark has them: decimal, 0x, 0 for octal,
// 0b.
func parseNumber(s string) (uint64, error) {
	base, digits := 10, s
	switch {
	case len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X"):
		base, digits = 16, s[2:]
	case len(s) > 2 && (s[:2] == "0b" || s[:2] == "0B"):
		base, digits = 2, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, s[1:]
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err == nil {
		return v, nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s does not fit in 64 bits", clip(s))
	}
	if a, b, ok := strings.Cut(s, "-"); ok && a != "" && b != "" {
		return 0, fmt.Errorf("%s is no number: a range is %s..%s, and a minus needs a blank ahead of it", clip(s), clip(a), clip(b))
	}
	return 0, fmt.Errorf("%s is no number: write 10, 0xa, 012 or 0b1010", clip(s))
}

// units are what may stand behind a duration. Without one it is seconds.
var units = []struct {
	name string
	ns   uint64
}{
	{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}, {"h", 3600e9}, {"m", 60e9},
}

// parseDuration reads 0.001, 1ms, 2.5us.
func parseDuration(s string) (v value, err error) {
	unit, text := uint64(1e9), s
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			unit, text = u.ns, rest
			break
		}
	}
	whole, fraction, point := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || point && fraction == "" || len(fraction) > 0 && strings.Trim(fraction, "0123456789") != "" {
		return v, fmt.Errorf("%s is no duration: write seconds as in 0.001, or a unit: 1ms, 2.5us, 100ns, 1s", clip(s))
	}
	whole64, ok := multiply(value{num: n}, value{num: unit})
	if !ok || whole64.num > 1<<62 {
		return v, fmt.Errorf("%s is longer than a duration can be", clip(s))
	}
	ns := whole64.num
	for scale := unit; fraction != ""; fraction = fraction[1:] {
		d := uint64(fraction[0] - '0')
		if scale /= 10; scale == 0 {
			if d != 0 {
				return v, fmt.Errorf("%s is more exact than a nanosecond", clip(s))
			}
			continue
		}
		ns += d * scale
	}
	return value{num: ns}, nil
}

// timeLayouts are how a point in time may be written; the first have a zone.
// Fractions of a second may follow the seconds in each.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700",
	"2006-01-02 15:04:05 MST", "2006-01-02T15:04:05 MST", "Jan _2, 2006 15:04:05 MST", "Jan _2, 2006 15:04:05 -0700",
	"2006-01-02 15:04:05 -0700",
}

var localLayouts = []string{
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "Jan _2, 2006 15:04:05",
	"Jan _2, 2006 15:04", "Jan _2, 2006",
}

func parseTime(s string, loc *time.Location) (value, error) {
	ok := func(t time.Time) (value, error) {
		if y := t.Year(); y < 1678 || y > 2261 {
			return value{}, fmt.Errorf("the year %d is beyond what a time stamp can hold", y)
		}
		return signed(t.UnixNano()), nil
	}
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if strings.HasSuffix(layout, "MST") {
			if zone, _ := t.Zone(); zone != "UTC" && zone != "GMT" && zone != "UT" {
				return value{}, fmt.Errorf("%s is no zone that has one meaning: use UTC, or an offset such as +0100", zone)
			}
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
		}
		return ok(t)
	}
	for _, layout := range localLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return ok(t)
		}
	}
	return value{}, fmt.Errorf("%q is no time: write \"2026-01-31 14:03:05.25\", \"2026-01-31T14:03:05Z\" or \"Jan 31, 2026 14:03:05\"", clip(s))
}

// parseAddr reads an address, or a network with the length of its prefix.
func parseAddr(k kind, s string) (v value, prefix int, err error) {
	text, length, network := strings.Cut(s, "/")
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Zone() != "":
		return v, 0, fmt.Errorf("%s is not %s; names of hosts are not looked up", clip(s), k)
	case k == kindIPv4 && !a.Is4() || k == kindIPv6 && a.Is4():
		return v, 0, fmt.Errorf("%s is not %s", clip(s), k)
	}
	v.b = a.AsSlice()
	v.num = uint64(be32(v.b))
	if !network {
		return v, -1, nil
	}
	n, err := strconv.ParseUint(length, 10, 8)
	if err != nil || int(n) > 8*len(v.b) {
		return v, 0, fmt.Errorf("/%s: the prefix of %s has up to %d bits", clip(length), k, 8*len(v.b))
	}
	return v, int(n), nil
}

// parseBytes reads bytes: aa:bb, aa-bb, aa.bb, aabb, aabb.ccdd, and 0xff for
// one.
func parseBytes(s string) ([]byte, error) {
	bad := func(why string) ([]byte, error) {
		return nil, fmt.Errorf("%s is not bytes%s: write 0a:0b, 0a-0b, 0a.0b or 0a0b, or text in quotes", clip(s), why)
	}
	text := s
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		if text = s[2:]; len(text) > 2 {
			return bad(", 0x goes with one alone since a number has no byte order")
		}
	}
	sep := strings.IndexAny(text, ":-.")
	groups := []string{text}
	if sep >= 0 {
		groups = strings.Split(text, text[sep:sep+1])
	}
	var b []byte
	for _, g := range groups {
		if len(g) == 1 {
			g = "0" + g
		}
		if g == "" || len(g)%2 != 0 {
			return bad(", a digit is missing or too much")
		}
		for i := 0; i < len(g); i += 2 {
			hi, lo := digit(g[i]), digit(g[i+1])
			if hi > 15 || lo > 15 {
				return bad("")
			}
			b = append(b, byte(hi<<4|lo))
		}
	}
	return b, nil
}

// numbersNamed are the numbers that a name stands for in a field.
func numbersNamed(field *decode.Field, name string, k kind) ([]uint64, error) {
	if !hasNames(field) {
		what := "it"
		if field != nil {
			what = field.Name
		}
		return nil, fmt.Errorf("%s is not %s, and the values of %s have no names", clip(name), k, what)
	}
	var numbers []uint64
	for _, nm := range namesOf(field) {
		if strings.EqualFold(nm.name, name) {
			numbers = append(numbers, nm.num)
		}
	}
	if numbers == nil {
		return nil, &noNameError{field, name}
	}
	return numbers, nil
}

// noNameError says that a value of a field has no such name.
type noNameError struct {
	field *decode.Field
	name  string
}

func (e *noNameError) Error() string {
	return fmt.Sprintf("%q is no name of a value of %s", clip(e.name), e.field.Name)
}

// suggest is the name that was probably meant.
func (e *noNameError) suggest() string {
	if len(e.name) > maxNameLen {
		return ""
	}
	best, distance := "", 1+len(e.name)/2
	for _, nm := range namesOf(e.field) {
		if d := decode.EditDistance(strings.ToLower(e.name), strings.ToLower(nm.name)); d < distance {
			best, distance = nm.name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// maxNameLen is how long a name may be for a near one to be looked for: it takes
// time that grows with both.
const maxNameLen = 100
