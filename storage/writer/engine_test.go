package writer_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
	"github.com/rocelens/rocelens/storage/writer"
)

// connect connects to an engine, natively or over HTTP.
func connect(t testing.TB, p engine.Endpoint, native bool) *client.Client {
	t.Helper()
	cfg := client.FromEngine(p)
	if native {
		cfg.HTTP, cfg.Addrs, cfg.Compression = false, []string{p.Native}, "lz4"
	}
	var c *client.Client
	works(t, func() (err error) {
		c, err = client.Open(t.Context(), cfg)
		return err
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// works does it until it works. A connection of ClickHouse's own protocol that is
// reset at the wrong moment ends the embedded ClickHouse, which is there again some
// seconds later.
func works(t testing.TB, do func() error) {
	t.Helper()
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not done in %v: %v", patience, err)
		}
	}
}

// open is connect, and all tables are made.
func open(t testing.TB, p engine.Endpoint, native bool) *client.Client {
	t.Helper()
	c := connect(t, p, native)
	if _, err := migrate.Run(t.Context(), c, migrate.Config{Options: schema.DefaultOptions()}); err != nil {
		t.Fatal(err)
	}
	return c
}

func config() writer.Config {
	cfg := writer.DefaultConfig()
	cfg.Run, cfg.Attempt, cfg.BackoffMax = storetest.Origin.Run, "1", time.Second
	return cfg
}

func sum(t *testing.T, c *client.Client, sql string) (n uint64) {
	t.Helper()
	works(t, func() error { return c.Row(t.Context(), []any{&n}, sql) })
	return n
}

// closed closes a writer and waits for the store.
func closed(t *testing.T, w *writer.Writer) (writer.Counts, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return w.Close(ctx)
}

// TestKilledEngine: ClickHouse is killed again and again while rows come, over
// both protocols; in the end every row is there once, in the roll-ups too.
func TestKilledEngine(t *testing.T) {
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native %v", native), func(t *testing.T) {
			enginetest.Need(t)
			ecfg := engine.DefaultConfig()
			ecfg.Dir, ecfg.Native, ecfg.BackoffMin = t.TempDir(), native, 10*time.Millisecond
			e := enginetest.StartConfig(t, ecfg)
			c := open(t, e.Endpoint(), native)
			cfg := config()
			cfg.MaxRows, cfg.Timeout = 1000, 10*time.Second
			w, err := writer.New(cfg, schema.DefaultOptions(), c, writer.NewMemory(1<<30, true), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Start(&storetest.Origin)
			flows := storetest.NewFlows(10_000_000, 1000)
			rows := make([]record.FlowInterval, 500)
			packets, written := uint64(0), uint64(0)
			for i := range 60 {
				if i%20 == 10 {
					if pid := e.PID(); pid != 0 {
						_ = kill(pid)
					}
				}
				n := flows.Next(rows)
				for j := range rows[:n] {
					packets += rows[j].Packets
				}
				written += uint64(n)
				if err := w.Intervals(t.Context(), &storetest.Origin, rows[:n]); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			counts, err := closed(t, w)
			if err != nil || counts["flow_intervals"].Written != written || counts.Total().Failures == 0 {
				t.Errorf("%+v %v", counts, err)
			}
			for sql, want := range map[string]uint64{
				"SELECT count() FROM rocelens.flow_intervals":                                                   written,
				"SELECT sum(packets) FROM rocelens.flow_intervals":                                              packets,
				"SELECT sum(packets) FROM rocelens.flow_1m":                                                     packets,
				"SELECT sum(packets) FROM rocelens.flow_1h":                                                     packets,
				"SELECT toUInt64(max(value) > 0) FROM rocelens.probe_stats WHERE name = 'store_inserts_failed'": 1,
			} {
				if got := sum(t, c, sql); got != want {
					t.Errorf("%s: %d, want %d", sql, got, want)
				}
			}
		})
	}
}

// BenchmarkWrite writes flow intervals of 10,000 flows into the embedded
// ClickHouse: bare, and with roll-ups and histograms.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name    string
		rollups bool
		hists   bool
	}{{"raw", false, false}, {"histograms", false, true}, {"rollups", true, false}, {"all", true, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkWrite(b, c.rollups, c.hists) })
	}
}

func benchmarkWrite(b *testing.B, rollups, hists bool) {
	e := enginetest.Start(b, "", false)
	c := open(b, e.Endpoint(), false)
	if !rollups {
		for _, v := range []string{"flow_1m_view", "flow_1h_view"} {
			if err := c.Exec(b.Context(), "DROP VIEW rocelens."+v); err != nil {
				b.Fatal(err)
			}
		}
	}
	flows := storetest.NewFlows(10_000_000, 10_000)
	flows.Histograms = hists
	const chunk = 50_000
	chunks := make([][]record.FlowInterval, 4)
	for i := range chunks {
		chunks[i] = make([]record.FlowInterval, chunk)
		flows.Next(chunks[i])
	}
	cfg := config()
	cfg.MaxRows = 2 * chunk
	written := 0
	began, cpu, server := time.Now(), storetest.CPU(), storetest.ProcessCPU(e.PID())
	for n := 0; b.Loop(); n++ {
		cfg.Attempt = fmt.Sprint(n)
		w, err := writer.New(cfg, schema.DefaultOptions(), c, writer.NewMemory(256<<20, true), nil)
		if err != nil {
			b.Fatal(err)
		}
		w.Start(&storetest.Origin)
		for range 5 { // a million rows
			for _, rows := range chunks {
				if err := w.Intervals(b.Context(), &storetest.Origin, rows); err != nil {
					b.Fatal(err)
				}
				written += len(rows)
			}
		}
		if counts, err := w.Close(b.Context()); err != nil || counts["flow_intervals"].Written != uint64(20*chunk) {
			b.Fatal(counts, err)
		}
	}
	b.ReportMetric(float64(written)/time.Since(began).Seconds(), "rows/s")
	b.ReportMetric(float64((storetest.CPU()-cpu).Nanoseconds())/float64(written), "own-cpu-ns/row")
	b.ReportMetric(float64((storetest.ProcessCPU(e.PID())-server).Nanoseconds())/float64(written), "server-cpu-ns/row")
	b.ReportMetric(0, "ns/op")
}

// kill ends a process at once.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
