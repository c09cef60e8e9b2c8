package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"
)

// clock has windows that end when the test says so.
type clock struct {
	mu  sync.Mutex
	due []func()
}

func (c *clock) after(_ time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, f)
}

func (c *clock) over() {
	c.mu.Lock()
	due := c.due
	c.due = nil
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func testLog() (*Log, *bytes.Buffer, *clock) {
	var b bytes.Buffer
	l, c := New(&b), new(clock)
	l.after = c.after
	return l, &b, c
}

// TestOften: a message is written so often, then counted; others are not in its
// way, and after its window it is written again.
func TestOften(t *testing.T) {
	l, b, c := testLog()
	log := l.Logger()
	for i := range 20 {
		log.With("interface", fmt.Sprint("eth", i)).Warn("it is down", "n", i)
	}
	log.Warn("another one")
	log.Info("it is down") // at another level
	if n := strings.Count(b.String(), "it is down"); n != often+1 || !strings.Contains(b.String(), "interface=eth4 n=4") || !strings.Contains(b.String(), "another one") {
		t.Errorf("%d times: %s", n, b)
	}
	b.Reset()
	c.over()
	if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=WARN msg="it is down" left_out=15`) {
		t.Errorf("what was left out: %q", got)
	}
	b.Reset()
	log.Warn("it is down")
	c.over()
	if got := b.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "left_out") {
		t.Errorf("in the next window: %q", got)
	}
	b.Reset()
	for range 7 {
		log.Warn("the end")
	}
	l.Flush()
	if got := b.String(); strings.Count(got, "\n") != 6 || !strings.Contains(got, "left_out=2") {
		t.Errorf("at the end: %q", got)
	}
}

// TestBounded: messages that are all different are all written, and take no memory
// for ever.
func TestBounded(t *testing.T) {
	l, b, c := testLog()
	for i := range 2 * maxMessages {
		l.Logger().Info(fmt.Sprint("message ", i))
	}
	if n := strings.Count(b.String(), "\n"); n != 2*maxMessages || len(l.messages) != maxMessages {
		t.Errorf("%d lines, %d remembered", n, len(l.messages))
	}
	c.over()
	if len(l.messages) != 0 {
		t.Errorf("%d remembered", len(l.messages))
	}
}

// TestSet: level and format change for loggers that are in use.
func TestSet(t *testing.T) {
	l, b, _ := testLog()
	log := l.Logger().WithGroup("g").With("interface", "eth0")
	log.Debug("not yet")
	log.Info("as text")
	l.Set(Level(slog.LevelDebug), JSON)
	log.Debug("as JSON")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var got struct {
		Msg string
		G   struct{ Interface string }
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `msg="as text" g.interface=eth0`) {
		t.Fatalf("%q", lines)
	}
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil || got.Msg != "as JSON" || got.G.Interface != "eth0" {
		t.Errorf("%v: %s", err, lines[1])
	}
}

// TestHandler: it is what slog asks of handlers.
func TestHandler(t *testing.T) {
	var b *bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		var l *Log
		l, b, _ = testLog()
		l.Set(Level(slog.LevelInfo), JSON)
		return l.root
	}, func(t *testing.T) map[string]any {
		m := make(map[string]any)
		if err := json.Unmarshal(b.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// TestMany: goroutines that log at a time lose nothing but what is counted.
func TestMany(t *testing.T) {
	l, b, c := testLog()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				l.Logger().Info("the same")
			}
		})
	}
	all.Wait()
	c.over()
	if got := b.String(); strings.Count(got, "\n") != often+1 || !strings.Contains(got, fmt.Sprintf("left_out=%d", 800-often)) {
		t.Errorf("%q", got)
	}
}

func TestFlags(t *testing.T) {
	var level Level
	for _, name := range Levels() {
		if err := level.Set(name); err != nil || level.String() != name {
			t.Errorf("%s: %v, %s", name, err, level.String())
		}
	}
	if err := level.Set("loud"); err == nil || err.Error() != `"loud" is no level of a log: use debug, info, warn, error` {
		t.Error(err)
	}
	var format Format
	for _, name := range Formats() {
		if err := format.Set(name); err != nil || format.String() != name {
			t.Errorf("%s: %v, %s", name, err, format.String())
		}
	}
	if err := format.Set("xml"); err == nil || err.Error() != `"xml" is no format of a log: use text or json` {
		t.Error(err)
	}
}
