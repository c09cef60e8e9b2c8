package writer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/storetest"
	"github.com/rocelens/rocelens/storage/writer"
)

// writing has in it, as JSON, what a child that writes is told.
const writing = "ROCELENS_TEST_WRITING"

// task is to write batches, numbered and with as many packets, by way of a spool, until killed.
type task struct {
	Engine engine.Endpoint
	Spool  string
	Run    string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(writing); text != "" {
		fmt.Fprintln(os.Stderr, writeForever(text))
		os.Exit(1)
	}
	os.Exit(enginetest.Main(m))
}

// writeForever prints the number of each batch that it was told is kept.
func writeForever(text string) error {
	var x task
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return err
	}
	ctx := context.Background()
	c, err := client.Open(ctx, client.FromEngine(x.Engine))
	if err != nil {
		return err
	}
	s, err := spool.Open(spool.Config{Path: x.Spool, MaxBytes: 256 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	cfg := config()
	cfg.Run, cfg.MaxRows = x.Run, perBatch
	w, err := writer.New(cfg, schema.DefaultOptions(), c, spool.NewQueue(s), nil)
	if err != nil {
		return err
	}
	origin := storetest.Origin
	origin.Run = x.Run
	w.Start(&origin)
	rows := make([]record.FlowInterval, perBatch)
	storetest.NewFlows(10_000_000, 1000).Next(rows)
	for n := uint64(1); ; n++ {
		for i := range rows {
			rows[i].Packets = n
		}
		if err := w.Intervals(ctx, &origin, rows); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, n); err != nil {
			return err
		}
	}
}

// TestKilledWriter: a program that writes by way of a spool is killed, and so are
// those that come after it; the last one sends all that they were told is kept, and
// each batch is in the store once.
func TestKilledWriter(t *testing.T) {
	e := enginetest.Start(t, "", false)
	c := open(t, e.Endpoint(), false)
	path := filepath.Join(t.TempDir(), "spool")
	kept := map[string]int{} // batches, by run
	for i := range 3 {
		x := task{e.Endpoint(), path, runs.NewID()}
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), writing+"="+string(text))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for kept[x.Run] < 8+6*i && lines.Scan() {
			kept[x.Run]++
		}
		_ = cmd.Process.Kill()
		for lines.Scan() {
			kept[x.Run]++
		}
		if err := cmd.Wait(); err == nil || kept[x.Run] < 8 {
			t.Fatalf("it ended after %d batches: %v", kept[x.Run], err)
		}
	}
	s := openSpool(t, path)
	defer s.Close()
	left := s.Size().Batches
	last := newProbe(t, c, spool.NewQueue(s), nil)
	if counts, err := closed(t, last.w); err != nil || counts.Left() != 0 || counts.Total().Dropped != 0 {
		t.Errorf("%+v %v", counts, err)
	}
	if s.Size().Batches != 0 {
		t.Errorf("%d batches are left", s.Size().Batches)
	}
	// The last batch may be kept without that the program could say so.
	for run, n := range kept {
		of := " WHERE run = '" + run + "'"
		got := sum(t, c, "SELECT count() FROM rocelens.flow_intervals"+of) / perBatch
		if got != uint64(n) && got != uint64(n)+1 {
			t.Errorf("%d batches of run %s are there, %d were kept", got, run, n)
		}
		for sql, want := range map[string]uint64{
			"SELECT count() FROM rocelens.flow_intervals":            got * perBatch,
			"SELECT uniqExact(packets) FROM rocelens.flow_intervals": got,
			"SELECT sum(packets) FROM rocelens.flow_intervals":       got * (got + 1) / 2 * perBatch,
			"SELECT sum(packets) FROM rocelens.flow_1m":              got * (got + 1) / 2 * perBatch,
			"SELECT sum(packets) FROM rocelens.flow_1h":              got * (got + 1) / 2 * perBatch,
		} {
			if n := sum(t, c, sql+of); n != want {
				t.Errorf("%s%s: %d, want %d", sql, of, n, want)
			}
		}
	}
	t.Logf("%v batches; %d were left for the last program", kept, left)
	if left == 0 {
		t.Error("nothing was left to be sent")
	}
}
