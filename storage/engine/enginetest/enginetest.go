// Package enginetest starts real engines for tests.
package enginetest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
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

// Library is the path of the library that `make engine` has fetched, or that the
// environment names.
func Library(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(engine.LibraryEnv); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(cache, "rocelens", "chdb-*", "libchdb.so"))
	if len(paths) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no library: run make engine")
		}
		t.Skip("no library: run make engine")
	}
	return paths[len(paths)-1]
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
	var log Log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the engine's log:\n%s", log.String())
		}
	})
	e, err := engine.New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
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
