package engine_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// TestProgram: a clickhouse in PATH that is new enough is used before the library
// in the directory. The one here has the command line of ClickHouse, which it
// checks, and is the library behind it.
func TestProgram(t *testing.T) {
	lib := enginetest.Library(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	script := fmt.Sprintf(`#!/bin/sh
echo "$*" >> '%[1]s'
case "$1 $2" in
"--version ") echo "ClickHouse local version 26.7.2.1 (official build)." ;;
"server --config-file") exec '%[2]s' __clickhouse '%[3]s' "$3" http ;;
*) exit 1 ;;
esac
`, asked, self, lib)
	if err := os.WriteFile(filepath.Join(bin, "clickhouse"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libchdb.so"), []byte("not this"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv(engine.LibraryEnv, "")
	e := enginetest.StartConfig(t, config(dir))
	pid := e.PID()
	c := open(t, e.Endpoint(), false)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, createX)
	insert(t, c, 10)
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	back(t, e, pid)
	if n := count(t, open(t, e.Endpoint(), false)); n != 10 {
		t.Errorf("%d rows", n)
	}
	stop(t, e)
	text, err := os.ReadFile(asked)
	if want := "server --config-file " + filepath.Join(dir, "run", "config.xml"); err != nil || strings.Count(string(text), want) != 2 {
		t.Errorf("it was asked: %s (%v)", text, err)
	}
}

// TestCrashLoop: a ClickHouse that does not come up again is given up after the
// tries that the configuration allows, and the reason is told.
func TestCrashLoop(t *testing.T) {
	lib := enginetest.Library(t)
	cfg := config(t.TempDir())
	cfg.Library = filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.Symlink(lib, cfg.Library); err != nil {
		t.Fatal(err)
	}
	cfg.MaxFailures = 3
	cfg.BackoffMax = cfg.BackoffMin
	var log enginetest.Log
	e, err := engine.New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := e.PID()
	if err := os.Remove(cfg.Library); err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func() bool {
		select {
		case <-e.Done():
			return true
		default:
			return false
		}
	})
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "can't be loaded") {
		t.Error(err)
	}
	if err := e.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "can't be loaded") {
		t.Errorf("health: %v", err)
	}
	// Of a try that does not come nothing is said.
	if text := log.String(); strings.Count(text, "again_in=") != cfg.MaxFailures || strings.Count(text, "does not start any more") != 1 {
		t.Error(text)
	}
}
