package finding

import (
	"strconv"
	"strings"
	"time"
)

// duration is a length of time for people, to three digits or so.
func duration(ns int64) string {
	d := time.Duration(ns)
	f := func(unit time.Duration, digits int, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64) + " " + name
	}
	switch {
	case d < time.Microsecond:
		return strconv.FormatInt(ns, 10) + " ns"
	case d < time.Millisecond:
		return f(time.Microsecond, 1, "µs")
	case d < time.Second:
		return f(time.Millisecond, 1, "ms")
	case d < time.Minute:
		return f(time.Second, 2, "s")
	case d < time.Hour:
		d = d.Round(time.Second)
		return strconv.Itoa(int(d/time.Minute)) + " min " + strconv.Itoa(int(d%time.Minute/time.Second)) + " s"
	}
	d = d.Round(time.Minute)
	return strconv.Itoa(int(d/time.Hour)) + " h " + strconv.Itoa(int(d%time.Hour/time.Minute)) + " min"
}

// timeShare is part of a length of time for people, "" where that is not known.
func timeShare(part, whole int64) string {
	if whole <= 0 || part < 0 {
		return ""
	}
	return percent(uint64(min(part, whole)), uint64(whole))
}

// counted is a number of things, and what to say of them.
type counted struct {
	n    uint64
	name string
}

// enumerate is "12 on a NAK and 3 on a timeout": what there is none of is left
// out.
func enumerate(say func(counted) string, all ...counted) string {
	parts := parts(say, all)
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// clauses is that for parts that have commas of their own.
func clauses(say func(counted) string, all ...counted) string {
	return strings.Join(parts(say, all), "; ")
}

func parts(say func(counted) string, all []counted) []string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, say(c))
		}
	}
	return parts
}

// isAre is the verb for a number of things.
func isAre(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
