package finding

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline/words"
)

// Short names for what nearly every finding says.
func count(n uint64) string               { return words.Count(n) }
func plural(n uint64, noun string) string { return words.Plural(n, noun) }
func times(n uint64) string               { return words.Times(n) }
func percent(part, whole uint64) string   { return words.Percent(part, whole) }
func duration(ns int64) string            { return words.Duration(ns) }
func bitRate(v float64) string            { return words.Scaled(v, "bit/s") }

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
