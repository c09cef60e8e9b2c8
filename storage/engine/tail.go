package engine

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	tailLines = 40  // kept of what a process prints
	tailWidth = 500 // bytes kept of a line
)

// tail keeps the last lines that are written to it.
type tail struct {
	secret string // never kept

	mu    sync.Mutex
	lines []string
	part  []byte // of a line whose end has not come; at most tailWidth
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if n := tailWidth + len(t.secret) - len(t.part); n > 0 {
			t.part = append(t.part, line[:min(n, len(line))]...)
		}
		if ended {
			t.keep()
		}
		rest = after
	}
	return len(p), nil
}

// frame matches a line of ClickHouse's stack traces, which push out what matters
// and say nothing without its symbols.
var frame = regexp.MustCompile(`^\d+\. .* @ 0x[0-9a-f]+$|^\(version [0-9.]+( \(official build\))?\)$`)

// keep makes a line of the part.
func (t *tail) keep() {
	s := strings.ToValidUTF8(string(t.part), "?")
	t.part = t.part[:0]
	if t.secret != "" {
		s = strings.ReplaceAll(s, t.secret, "[password]")
	}
	s = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	if s = strings.TrimSpace(s); s == "" || frame.MatchString(s) {
		return
	}
	if len(s) > tailWidth {
		s = strings.ToValidUTF8(s[:tailWidth], "") + "..."
	}
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, s)
}

// last returns the last n lines.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.part) > 0 {
		t.keep()
	}
	return append([]string(nil), t.lines[max(0, len(t.lines)-n):]...)
}
