// Package words writes numbers and lengths of time as people read them, the
// same in findings and in reports, and paths as shells do.
package words

import (
	"strconv"
	"time"
)

// Count is n with thousands separators: 1,234,567.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is "1 packet", "2 packets", "1,000 packets".
func Plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Times is "once", "twice", "3 times".
func Times(n uint64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Count(n) + " times"
}

// Percent is part of whole in per cent, with one decimal. It says 0 and 100
// only where that is exact, because "100.0 %" hides the one packet that
// differs.
func Percent(part, whole uint64) string {
	if whole == 0 {
		return "0.0 %"
	}
	s := strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64)
	switch {
	case part > 0 && s == "0.0":
		s = "<0.1"
	case part < whole && s == "100.0":
		s = ">99.9"
	}
	return s + " %"
}

// Scaled is v with three digits or so and the prefix that suits it: 4.2 GB.
func Scaled(v float64, unit string) string {
	for _, prefix := range [...]string{"", "k", "M", "G", "T"} {
		// 999.5 would be written as 1000.
		if v < 999.5 {
			digits := 0
			if v < 99.95 && prefix != "" {
				digits = 1
			}
			return strconv.FormatFloat(v, 'f', digits, 64) + " " + prefix + unit
		}
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + "P" + unit
}

// Duration is a length of time in nanoseconds, to three or four digits.
func Duration(ns int64) string {
	const day = 24 * time.Hour
	d := time.Duration(ns)
	in := func(unit time.Duration, digits int, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64) + " " + name
	}
	two := func(unit time.Duration, name string, per time.Duration, rest string) string {
		d = d.Round(per)
		return strconv.Itoa(int(d/unit)) + " " + name + " " + strconv.Itoa(int(d%unit/per)) + " " + rest
	}
	switch {
	case d < time.Microsecond:
		return strconv.FormatInt(ns, 10) + " ns"
	case d < time.Millisecond:
		return in(time.Microsecond, 1, "µs")
	case d < time.Second:
		return in(time.Millisecond, 1, "ms")
	case d < time.Minute:
		return in(time.Second, 3, "s")
	case d < time.Hour:
		return two(time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return two(time.Hour, "h", time.Minute, "min")
	}
	return two(day, "d", time.Hour, "h")
}
