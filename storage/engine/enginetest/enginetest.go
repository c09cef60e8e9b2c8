// Package enginetest starts real engines for tests.
package enginetest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/storage/engine"
)

// Main is for TestMain of a package that starts engines: the test's program is
// what is started again as ClickHouse.
func Main(m *testing.M) int {
	if code, is := engine.Child(os.Args, os.Stderr); is {
		return code
	}
	return m.Run()
}

// Need skips a test where there is no ClickHouse to start. Under CI=true it
// fails.
func Need(t testing.TB) {
	t.Helper()
	if err := engine.Available(t.Context(), t.TempDir()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// Start starts an engine for the time of the test, in a directory of its own or,
// if dir is not empty, in that. With native it listens for ClickHouse's own
// protocol as well.
func Start(t testing.TB, dir string, native bool) *engine.Engine {
	t.Helper()
	Need(t)
	cfg := engine.DefaultConfig()
	cfg.Dir, cfg.Native, cfg.Owner = dir, native, t.Name()
	if dir == "" {
		cfg.Dir = t.TempDir()
	}
	return StartConfig(t, cfg)
}

// StartConfig is Start with any configuration. What the engine logged is printed
// if the test fails.
func StartConfig(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	Need(t)
	var said said
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the engine's log:\n%s", said.all())
		}
	})
	e, err := engine.New(cfg, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// said keeps what several goroutines log.
type said struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *said) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
