// Package logs writes log lines as text or JSON, and not the same message again
// and again: what is left out is counted, and said.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A message may be there so often in a window. What follows is counted, and the
// number said when the window is over. Messages are told apart by their text and
// level, not by their attributes: a table or an interface more makes no message more.
const (
	often  = 5
	window = 10 * time.Second
	// maxMessages is of how many messages it is known how often they were there:
	// the texts are constants, and not as many.
	maxMessages = 1 << 10
)

// Log is where lines go, and how they look. Both can be changed while others log.
type Log struct {
	level slog.LevelVar
	json  atomic.Bool
	root  *handler
	// window and after are those of the constant and of time; tests have others.
	window time.Duration
	after  func(time.Duration, func())

	mu       sync.Mutex
	messages map[message]*times
}

type message struct {
	level slog.Level
	text  string
}

// times is how often a message was there in its window.
type times struct{ said, leftOut int }

// New returns a log of text, from slog.LevelInfo on.
func New(w io.Writer) *Log {
	l := &Log{window: window, messages: make(map[message]*times)}
	l.after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	w = &oneByOne{w: w}
	opts := &slog.HandlerOptions{Level: &l.level}
	l.root = &handler{log: l, text: slog.NewTextHandler(w, opts), json: slog.NewJSONHandler(w, opts)}
	return l
}

// oneByOne lets two handlers share a writer.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneByOne) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

// Logger writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(l.root) }

// Set says from which level on lines are written, and whether as JSON.
func (l *Log) Set(level Level, format Format) {
	l.level.Set(slog.Level(level))
	l.json.Store(format == JSON)
}

// Flush says what was left out and not said yet.
func (l *Log) Flush() {
	l.mu.Lock()
	var all []message
	for m := range l.messages {
		all = append(all, m)
	}
	l.mu.Unlock()
	for _, m := range all {
		l.close(m)
	}
}

// may says whether a message may be written once more.
func (l *Log) may(m message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.messages[m]
	if n == nil {
		if len(l.messages) >= maxMessages {
			return true
		}
		n = new(times)
		l.messages[m] = n
		l.after(l.window, func() { l.close(m) })
	}
	if n.said >= often {
		n.leftOut++
		return false
	}
	n.said++
	return true
}

// close ends the window of a message.
func (l *Log) close(m message) {
	l.mu.Lock()
	n := l.messages[m]
	delete(l.messages, m)
	l.mu.Unlock()
	if n != nil && n.leftOut > 0 {
		r := slog.NewRecord(time.Now(), m.level, m.text, 0)
		r.AddAttrs(slog.Int("left_out", n.leftOut))
		_ = l.root.write(context.Background(), r) // there is nowhere to say that it can't be said
	}
}

// handler is a slog.Handler. It has both forms ready, since the format may change
// while a logger with attributes is in use.
type handler struct {
	log        *Log
	text, json slog.Handler
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.log.level.Level()
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.log.may(message{r.Level, r.Message}) {
		return nil
	}
	return h.write(ctx, r)
}

func (h *handler) write(ctx context.Context, r slog.Record) error {
	if h.log.json.Load() {
		return h.json.Handle(ctx, r)
	}
	return h.text.Handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.log, h.text.WithAttrs(attrs), h.json.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.log, h.text.WithGroup(name), h.json.WithGroup(name)}
}

// Format is a flag of how lines look.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Formats are their names.
func Formats() []string { return []string{string(Text), string(JSON)} }

func (f *Format) String() string { return string(*f) }

// Set is of pflag.Value.
func (f *Format) Set(s string) error {
	if v := Format(s); v != Text && v != JSON {
		return fmt.Errorf("%q is no format of a log: use %s", s, strings.Join(Formats(), " or "))
	}
	*f = Format(s)
	return nil
}

// Type is of pflag.Value.
func (*Format) Type() string { return "FORMAT" }

// Level is a flag of the least level that is written.
type Level slog.Level

// Levels are their names.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

func (l *Level) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Set is of pflag.Value.
func (l *Level) Set(s string) error {
	for i, v := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if s == Levels()[i] {
			*l = Level(v)
			return nil
		}
	}
	return fmt.Errorf("%q is no level of a log: use %s", s, strings.Join(Levels(), ", "))
}

// Type is of pflag.Value.
func (*Level) Type() string { return "LEVEL" }
