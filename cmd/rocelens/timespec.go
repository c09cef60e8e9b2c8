package main

import (
	"fmt"
	"strings"
	"time"
)

// timeSpec is a value of --from or --to: a moment, or one that the capture
// decides.
type timeSpec struct {
	text string // as given; empty if it was not
	base timeBase
	at   time.Time     // baseMoment; of baseClock the time of day
	off  time.Duration // baseFirst and baseLast, not negative
}

// timeBase is what a timeSpec counts from.
type timeBase uint8

const (
	baseMoment timeBase = iota // a date and a time
	baseClock                  // a time on the day of the first frame
	baseFirst                  // so long after the first frame
	baseLast                   // so long before the last frame
)

// The notations of a moment and of a time of day. Seconds may have a fraction.
var (
	momentLayouts = [...]string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}
	clockLayouts  = [...]string{"15:04:05", "15:04"}
)

const timeHelp = "use 14:03, 14:03:05.2, 2026-01-31 14:03:05, an RFC 3339 time, +10s (after the first frame) or -1m (before the last)"

// parseTime reads a timeSpec. Times without a zone are in loc.
func parseTime(s string, loc *time.Location) (timeSpec, error) {
	spec := timeSpec{text: s}
	if s == "" {
		return spec, nil
	}
	if sign := s[0]; sign == '+' || sign == '-' {
		d, err := time.ParseDuration(s[1:])
		if err != nil || strings.HasPrefix(s[1:], "-") || strings.HasPrefix(s[1:], "+") {
			return spec, fmt.Errorf("%q is not a length of time: write +10s, +1m30s or -250ms", s)
		}
		spec.off, spec.base = d, baseFirst
		if sign == '-' {
			spec.base = baseLast
		}
		return spec, nil
	}
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			spec.at = t
			return spec, nil
		}
	}
	for _, layout := range clockLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			spec.at, spec.base = t, baseClock
			return spec, nil
		}
	}
	return spec, fmt.Errorf("%q is not a time: %s", s, timeHelp)
}

// given says whether there is a limit at all.
func (s timeSpec) given() bool { return s.text != "" }

// needsLast says whether the capture must be read to its end to resolve it.
func (s timeSpec) needsLast() bool { return s.given() && s.base == baseLast }

// resolve is the moment in nanoseconds since the epoch, for a capture whose
// first and last frames have these times.
func (s timeSpec) resolve(first, last int64, loc *time.Location) int64 {
	switch s.base {
	case baseFirst:
		return first + int64(s.off)
	case baseLast:
		return last - int64(s.off)
	case baseClock:
		y, m, d := time.Unix(0, first).In(loc).Date()
		h, min, sec := s.at.Clock()
		return time.Date(y, m, d, h, min, sec, s.at.Nanosecond(), loc).UnixNano()
	}
	return s.at.UnixNano()
}
