package report

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rocelens/rocelens/pipeline/words"
)

// glue is a space that no line is broken at; Text replaces it by a plain one.
const glue = "\u00a0"

// Short names, with words that stay together.
func count(n uint64) string { return words.Count(n) }
func plural(n uint64, noun string) string {
	return strings.Replace(words.Plural(n, noun), " ", glue, 1)
}
func times(n uint64) string    { return glued(words.Times(n)) }
func duration(ns int64) string { return glued(words.Duration(ns)) }

func glued(s string) string { return strings.ReplaceAll(s, " ", glue) }

// share is part of whole in per cent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return glued(words.Percent(part, whole))
}

func scaled(v float64, unit string) string { return glued(words.Scaled(v, unit)) }

// byteSize is a number of bytes for people, in powers of ten as links have them.
func byteSize(n uint64) string {
	if n < 1000 {
		return plural(n, "byte")
	}
	return scaled(float64(n), "B")
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
