package report

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// glue is a space that no line is broken at; Text replaces it by a plain one.
const glue = "\u00a0"

// count is n with thousands separators: 1,234,567.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 packet", "2 packets", "1,000 packets".
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1" + glue + noun
	}
	return count(n) + glue + noun + "s"
}

// share is part of whole in per cent. It says 0 and 100 only where that is
// exact, because "100.0 %" hides the one packet that differs.
func share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	s := strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64)
	switch {
	case part > 0 && s == "0.0":
		return "<0.1" + glue + "%"
	case part < whole && s == "100.0":
		return ">99.9" + glue + "%"
	}
	return s + glue + "%"
}

// scaled writes v with three digits or so and the prefix that suits it.
func scaled(v float64, unit string) string {
	for _, prefix := range [...]string{"", "k", "M", "G", "T"} {
		// 999.5 would be written as 1000.
		if v < 999.5 {
			digits := 0
			if v < 99.95 && prefix != "" {
				digits = 1
			}
			return strconv.FormatFloat(v, 'f', digits, 64) + glue + prefix + unit
		}
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + glue + "P" + unit
}

// byteSize is a number of bytes for people, in powers of ten as links have them.
func byteSize(n uint64) string {
	if n < 1000 {
		return plural(n, "byte")
	}
	return scaled(float64(n), "B")
}

// duration is a length of time for people, to three or four digits.
func duration(ns int64) string {
	const day = 24 * time.Hour
	d := time.Duration(ns)
	f := func(unit time.Duration, digits int, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64) + glue + name
	}
	switch {
	case d < time.Microsecond:
		return strconv.FormatInt(ns, 10) + glue + "ns"
	case d < time.Millisecond:
		return f(time.Microsecond, 1, "µs")
	case d < time.Second:
		return f(time.Millisecond, 1, "ms")
	case d < time.Minute:
		return f(time.Second, 3, "s")
	case d < time.Hour:
		d = d.Round(time.Second)
		return strconv.Itoa(int(d/time.Minute)) + " min " + strconv.Itoa(int(d%time.Minute/time.Second)) + " s"
	case d >= 2*day:
		d = d.Round(time.Hour)
		return strconv.Itoa(int(d/day)) + " d " + strconv.Itoa(int(d%day/time.Hour)) + " h"
	}
	d = d.Round(time.Minute)
	return strconv.Itoa(int(d/time.Hour)) + " h " + strconv.Itoa(int(d%time.Hour/time.Minute)) + " min"
}

// span writes first and last as a range, the day once if it is the same.
func span(first, last int64, loc *time.Location) string {
	const day, clock = "2006-01-02", "15:04:05.000000"
	a, b := time.Unix(0, first).In(loc), time.Unix(0, last).In(loc)
	end := b.Format(clock + " MST")
	if a.Format(day) != b.Format(day) {
		end = b.Format(day+" ") + end
	}
	return a.Format(day+" "+clock) + " to " + end
}

// wrap breaks s at its spaces, which are single ones, so that no line is wider than width columns, first
// after the lead, then after as many spaces as the lead is wide.
func wrap(lead, s string, width int) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	var b strings.Builder
	b.WriteString(lead)
	col, start := len(indent), true
	for _, word := range strings.Split(s, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case start:
		case col+1+n > width:
			b.WriteString("\n" + indent)
			col = len(indent)
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
		start = false
	}
	b.WriteByte('\n')
	return b.String()
}
