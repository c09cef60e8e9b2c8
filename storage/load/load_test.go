package load_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/load"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

func open(t *testing.T, e *engine.Engine) *storage.Store {
	t.Helper()
	p := e.Endpoint()
	d, err := dsn.Parse("http://" + p.User + "@" + p.Addr + "/rocelens")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Credentials(func(name string) string {
		if name == dsn.PasswordEnv {
			return p.Password
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	s, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func config(patience time.Duration) load.Config {
	cfg := load.DefaultConfig()
	cfg.Writer.MaxRows = 1000
	cfg.Writer.BackoffMax = 200 * time.Millisecond
	cfg.QueueBytes = 1 << 20
	cfg.Patience = patience
	return cfg
}

// fill loads a day's intervals, and returns how many.
func fill(l *load.Load) (n int) {
	flows := storetest.NewFlows(20_000, 100)
	rows := make([]record.FlowInterval, 16)
	for {
		k := flows.Next(rows)
		if k == 0 {
			return n
		}
		l.Intervals(rows[:k])
		n += k
	}
}

// TestAway: a store that goes away and does not come back is given up after a
// while, though reading had to wait for it; what is missing is said; and the same
// can be loaded again once it is back.
func TestAway(t *testing.T) {
	dir := t.TempDir()
	e := enginetest.Start(t, dir, false)
	s := open(t, e)
	l, err := load.Begin(t.Context(), s, config(time.Second), storetest.Origin, schema.Run{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	want := fill(l)
	if _, err = l.Finish(); err == nil || !strings.Contains(err.Error(), "the store took nothing for too long") || !strings.Contains(err.Error(), "rows") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("given up after %v", took)
	}

	s = open(t, enginetest.Start(t, dir, false))
	count := func() (n uint64) {
		t.Helper()
		if err := s.Row(t.Context(), []any{&n}, "SELECT count() FROM rocelens.flow_intervals"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var busy *runs.BusyError
	if _, err := load.Begin(t.Context(), s, config(time.Minute), storetest.Origin, schema.Run{}, nil); !errors.As(err, &busy) {
		t.Errorf("at once: %v", err)
	}
	if err := s.Exec(t.Context(), "ALTER TABLE rocelens.runs UPDATE loaded = loaded - 100 WHERE 1 SETTINGS mutations_sync = 2"); err != nil { // as if a minute had passed
		t.Fatal(err)
	}
	if l, err = load.Begin(t.Context(), s, config(time.Minute), storetest.Origin, schema.Run{}, nil); err != nil {
		t.Fatal(err)
	}
	fill(l)
	if rows, err := l.Finish(); err != nil || rows < uint64(want) {
		t.Errorf("%d rows, %v", rows, err)
	}
	if n := count(); n != uint64(want) {
		t.Errorf("%d rows of %d", n, want)
	}
	var finished *runs.FinishedError
	if _, err := load.Begin(t.Context(), s, config(time.Minute), storetest.Origin, schema.Run{}, nil); !errors.As(err, &finished) {
		t.Errorf("once more: %v", err)
	}
}

// TestAbort: what is broken off can be loaded again at once.
func TestAbort(t *testing.T) {
	s := open(t, enginetest.Start(t, "", false))
	l, err := load.Begin(t.Context(), s, config(time.Minute), storetest.Origin, schema.Run{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(l)
	l.Abort()
	if l, err = load.Begin(t.Context(), s, config(time.Minute), storetest.Origin, schema.Run{}, nil); err != nil {
		t.Fatal(err)
	}
	want := fill(l)
	if _, err := l.Finish(); err != nil {
		t.Error(err)
	}
	var n uint64
	if err := s.Row(t.Context(), []any{&n}, "SELECT count() FROM rocelens.flow_intervals"); err != nil || n != uint64(want) {
		t.Errorf("%d rows of %d, %v", n, want, err)
	}
}
