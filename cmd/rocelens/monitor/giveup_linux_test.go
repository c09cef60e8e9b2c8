package monitor_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// clickhouse is the process of the engine in a directory, which this one has started.
func clickhouse(t *testing.T, dir string) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		for _, pid := range strings.Fields(string(text)) {
			if line, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(line), dir) {
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	t.Fatal("there is no ClickHouse")
	return 0
}

// TestStoreGivesUp: an embedded ClickHouse that can't be started any more is opened
// anew once it can. What comes meanwhile is in the spool, a metric says so, and in the
// end all of it is in the store once, in one run.
func TestStoreGivesUp(t *testing.T) {
	enginetest.Need(t)
	lib := enginetest.Library(t)
	link := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv(engine.LibraryEnv, link)
	file := unpacked(t, capturetest.Get(t, "loss_before_write_1pct").Path)
	path, write := growing(t)
	const header = 24
	write(file[:header])
	dir := t.TempDir()
	d, err := dsn.Parse("embedded:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	var log enginetest.Log
	s := start(t, func(c *monitor.Config) {
		c.Follow.Paths, c.Follow.Poll, c.Follow.Tick, c.Follow.Late = []string{path}, time.Millisecond, 10*time.Millisecond, 200*time.Millisecond
		c.Store.DSN, c.Store.Probe, c.Store.Spool.Path = d, "leaf-1", filepath.Join(dir, "monitor.spool")
		c.Store.Writer.MaxAge, c.Store.Writer.BackoffMax = 200*time.Millisecond, time.Second
		c.Store.Engine.MaxFailures, c.Store.Engine.BackoffMax = 2, c.Store.Engine.BackoffMin
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	wait := func(what string, ok func(got map[string]float64) bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			got := s.scrape(t)
			if ok(got) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v rows wait, up is %v: %s", what, got["rocelens_spool_rows"], got["rocelens_store_up"], log.String())
			}
		}
	}
	written := func(packets float64) func(map[string]float64) bool {
		return func(got map[string]float64) bool {
			return got["rocelens_packets_total"] >= packets && got["rocelens_store_rows_total"] > 0 && got["rocelens_spool_rows"] == 0 && got["rocelens_store_up"] == 1
		}
	}
	packets := of(t, capturetest.Get(t, "loss_before_write_1pct").Path)["rocelens_packets_total"]
	write(file[header:])
	wait("rows are not written", written(packets))

	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(clickhouse(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	write(shifted(file, 60))
	wait("it does not give up", func(got map[string]float64) bool {
		return strings.Contains(log.String(), "does not start any more") && got["rocelens_packets_total"] >= 2*packets && got["rocelens_spool_rows"] > 0 && got["rocelens_store_up"] == 0
	})
	if code, text := s.get(t, "/readyz"); code != 200 || text != "it captures\n" {
		t.Errorf("%d %s", code, text)
	}
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	wait("it is not opened anew", written(2*packets))
	write(shifted(file, 120))
	wait("it does not go on", written(3*packets))
	if err := s.stop(); err != nil {
		t.Error(err)
	}

	st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close(context.Background())
	var sum uint64
	var runs string
	if err := st.Row(t.Context(), []any{&sum, &runs}, `SELECT sum(packets),
		(SELECT arrayStringConcat(groupArray(state), ' ') FROM rocelens.runs FINAL) FROM rocelens.flow_intervals`); err != nil {
		t.Fatal(err)
	}
	if float64(sum) != 3*packets || runs != "finished" {
		t.Errorf("%d packets, want %v; runs are %s", sum, 3*packets, runs)
	}
}
