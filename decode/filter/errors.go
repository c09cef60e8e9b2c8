package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says what is wrong with a filter, and where.
type Error struct {
	Expr string // the filter
	Off  int    // byte in Expr
	Len  int    // bytes from there on, 0 for a place between two
	Msg  string

	// suggest ends the message with what was probably meant, where there may be
	// something. It is called when the error is shown: looking for near names
	// takes longer than all else.
	suggest func() string
}

// maxShown is how much of a filter is shown of what is wrong with it, and before
// and behind that.
const maxShown = 60

// Error is the message, and below it the filter with carets under what it is
// about.
func (e *Error) Error() string {
	start, end := e.Off, min(e.Off+min(max(e.Len, 1), maxShown), len(e.Expr))
	from, to := max(0, start-maxShown), min(len(e.Expr), max(end, start)+maxShown)
	for i := 0; i < utf8.UTFMax && from > 0 && !utf8.RuneStart(e.Expr[from]); i++ {
		from--
	}
	for i := 0; i < utf8.UTFMax && to < len(e.Expr) && !utf8.RuneStart(e.Expr[to]); i++ {
		to++
	}
	before, marked := oneLine(e.Expr[from:start]), oneLine(e.Expr[start:max(start, end)])
	text := before + marked + oneLine(e.Expr[max(start, end):to])
	if from > 0 {
		text, before = "..."+text, "..."+before
	}
	if to < len(e.Expr) {
		text += "..."
	}
	msg := e.Msg
	if e.suggest != nil {
		msg += e.suggest()
	}
	return fmt.Sprintf("%s\n  %s\n  %s%s", msg, text, strings.Repeat(" ", utf8.RuneCountInString(before)),
		strings.Repeat("^", max(1, utf8.RuneCountInString(marked))))
}

// clip is text of a filter as messages show it: not all of it where it is long,
// and on one line.
func clip(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return oneLine(s)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '.'
		}
		return r
	}, s)
}

// span is a part of the filter.
type span struct{ off, end int }

func (s span) to(e span) span { return span{s.off, e.end} }
