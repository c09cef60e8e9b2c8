package writer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/disktest"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/storetest"
	"github.com/rocelens/rocelens/storage/writer"
)

// probe writes flow intervals and knows what it wrote.
type probe struct {
	w       *writer.Writer
	origin  schema.Origin
	flows   *storetest.Flows
	rows    uint64
	packets uint64
	said    enginetest.Log
}

func newProbe(t *testing.T, c writer.Inserter, q writer.Queue, change func(*writer.Config)) *probe {
	t.Helper()
	p := &probe{origin: storetest.Origin, flows: storetest.NewFlows(10_000_000, 1000)}
	p.origin.Run = runs.NewID()
	cfg := config()
	cfg.Run, cfg.MaxRows, cfg.BackoffMin, cfg.BackoffMax = p.origin.Run, perBatch, 10*time.Millisecond, 100*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	var err error
	if p.w, err = writer.New(cfg, schema.DefaultOptions(), c, q, slog.New(slog.NewTextHandler(&p.said, nil))); err != nil {
		t.Fatal(err)
	}
	p.w.Start(&p.origin)
	return p
}

// perBatch are the rows of a batch.
const perBatch = 500

// write writes so many batches.
func (p *probe) write(t *testing.T, batches int) {
	t.Helper()
	rows := make([]record.FlowInterval, perBatch)
	for range batches {
		p.flows.Next(rows)
		for i := range rows {
			p.packets += rows[i].Packets
		}
		p.rows += perBatch
		if err := p.w.Intervals(t.Context(), &p.origin, rows); err != nil {
			t.Fatal(err)
		}
	}
}

// missed waits until so many inserts have failed.
func (p *probe) missed(t *testing.T, n uint64) {
	t.Helper()
	eventually(t, "an insert that fails", func() bool { return p.w.Counts().Total().Failures >= n })
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// whole closes the writer. All that was written is in the store then, once.
func (p *probe) whole(t *testing.T, c *client.Client) {
	t.Helper()
	counts, err := closed(t, p.w)
	if total := counts.Total(); err != nil || counts["flow_intervals"].Written != p.rows || total.Dropped != 0 {
		t.Errorf("%+v %v\n%s", counts, err, p.said.String())
	}
	p.stored(t, c)
}

func (p *probe) stored(t *testing.T, c *client.Client) {
	t.Helper()
	of := " WHERE run = '" + p.origin.Run + "'"
	for sql, want := range map[string]uint64{
		"SELECT count() FROM rocelens.flow_intervals":      p.rows,
		"SELECT sum(packets) FROM rocelens.flow_intervals": p.packets,
		"SELECT sum(packets) FROM rocelens.flow_1m":        p.packets,
		"SELECT sum(packets) FROM rocelens.flow_1h":        p.packets,
	} {
		if got := sum(t, c, sql+of); got != want {
			t.Errorf("%s: %d, want %d\n%s", sql, got, want, p.said.String())
		}
	}
}

// memory is a queue that holds all of a test.
func memory() writer.Queue { return writer.NewMemory(1<<30, true) }

// TestFailures: the store refuses connections, is slow, has other tables than it
// should for a while, or is sent garbage by somebody; it has each row once in the
// end, over both protocols.
func TestFailures(t *testing.T) {
	enginetest.Need(t)
	cfg := engine.DefaultConfig()
	cfg.Dir, cfg.Native, cfg.BackoffMin, cfg.BackoffMax = t.TempDir(), true, 10*time.Millisecond, 100*time.Millisecond
	e := enginetest.StartConfig(t, cfg)
	direct := open(t, e.Endpoint(), false)
	run := func(sql string) func(*testing.T, *enginetest.Proxy) {
		return func(t *testing.T, _ *enginetest.Proxy) {
			t.Helper()
			works(t, func() error { return direct.Exec(t.Context(), sql) })
		}
	}
	alone := func(sql string) func(*testing.T, *enginetest.Proxy) {
		return func(t *testing.T, p *enginetest.Proxy) {
			t.Helper()
			p.Refuse(true)
			defer p.Refuse(false)
			eventually(t, "the end of all inserts", func() bool {
				return sum(t, direct, "SELECT count() FROM system.processes WHERE query_kind = 'Insert'") == 0
			})
			run(sql)(t, p)
		}
	}
	update := func(t *testing.T, _ *enginetest.Proxy) {
		t.Helper()
		works(t, func() error {
			_, err := migrate.Run(t.Context(), direct, migrate.Config{Options: schema.DefaultOptions()})
			return err
		})
	}
	for _, c := range []struct {
		name        string
		fail, mend  func(*testing.T, *enginetest.Proxy)
		said        string // in the log
		idle        bool   // it fails while no insert runs
		goesOnWhole bool   // no insert need fail
		httpAlone   bool   // the protocol of the embedded ClickHouse
		timeout     time.Duration
	}{
		{
			name: "refuses connections", said: "are sent again",
			fail: func(_ *testing.T, p *enginetest.Proxy) { p.Refuse(true) },
			mend: func(_ *testing.T, p *enginetest.Proxy) { p.Refuse(false) },
		},
		{
			// The rows are there, and nobody hears of it in time.
			name: "slow", said: "deadline exceeded|i/o timeout", timeout: time.Second,
			fail: func(_ *testing.T, p *enginetest.Proxy) { p.Delay(1500 * time.Millisecond) },
			mend: func(_ *testing.T, p *enginetest.Proxy) { p.Delay(0) },
		},
		{name: "older: no such column", said: "src_port", fail: run("ALTER TABLE rocelens.flow_intervals DROP COLUMN IF EXISTS src_port"), mend: update},
		{
			// ClickHouse takes a table's views off before it renames the table and puts
			// them back after it: an insert in between passes them by. So none may run.
			name: "no such table", said: "flow_intervals does not exist", idle: true,
			fail: run("RENAME TABLE IF EXISTS rocelens.flow_intervals TO rocelens.away"), mend: alone("RENAME TABLE IF EXISTS rocelens.away TO rocelens.flow_intervals"),
		},
		{
			name: "a column of another type", goesOnWhole: true,
			fail: run("ALTER TABLE rocelens.flow_intervals MODIFY COLUMN src_port UInt32"), mend: run("ALTER TABLE rocelens.flow_intervals MODIFY COLUMN src_port UInt16"),
		},
		{
			name: "newer: another column", goesOnWhole: true,
			fail: run("ALTER TABLE rocelens.flow_intervals ADD COLUMN IF NOT EXISTS new UInt64 DEFAULT 1"), mend: run("ALTER TABLE rocelens.flow_intervals DROP COLUMN IF EXISTS new"),
		},
		{name: "garbage", goesOnWhole: true, httpAlone: true, fail: garbage(e), mend: func(*testing.T, *enginetest.Proxy) {}},
	} {
		for _, native := range []bool{false, true} {
			if native && c.httpAlone {
				continue
			}
			t.Run(fmt.Sprintf("%s, native %v", c.name, native), func(t *testing.T) {
				way := enginetest.NewProxy(t)
				p := e.Endpoint()
				if native {
					way.To(p.Native)
					p.Native = way.Addr()
				} else {
					way.To(p.Addr)
					p.Addr = way.Addr()
				}
				x := newProbe(t, connect(t, p, native), memory(), func(cfg *writer.Config) { cfg.Timeout = cmp.Or(c.timeout, 10*time.Second) })
				x.write(t, 5)
				first := uint64(1)
				if c.idle {
					first = x.rows
				}
				eventually(t, "the first batch", func() bool { return x.w.Counts().Total().Written >= first })
				c.fail(t, way)
				x.write(t, 5)
				if !c.goesOnWhole {
					x.missed(t, 2)
					said := regexp.MustCompile(c.said)
					eventually(t, c.said+" in the log", func() bool { return said.MatchString(x.said.String()) })
				}
				c.mend(t, way)
				x.write(t, 5)
				x.whole(t, direct)
			})
		}
	}
	if e.Restarts() == 0 {
		t.Error("ClickHouse did not end with the garbage")
	}
}

// garbage sends rubbish to the port of HTTP until ClickHouse ends.
func garbage(e *engine.Engine) func(*testing.T, *enginetest.Proxy) {
	return func(t *testing.T, _ *enginetest.Proxy) {
		t.Helper()
		pid := e.PID()
		eventually(t, "the end of ClickHouse", func() bool {
			c, err := net.Dial("tcp", e.Endpoint().Addr)
			if err == nil {
				_, _ = c.Write([]byte("\x00\x01\x02\x03rubbish\r\n\r\n"))
				c.Close()
				time.Sleep(100 * time.Millisecond)
			}
			return e.PID() != pid
		})
	}
}

// fill takes all of a disk but for so much, and returns what gives it back.
func fill(t *testing.T, dir string, free int64) (giveBack func()) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "other")
	err := os.WriteFile(path, make([]byte, max(int64(s.Bavail)*s.Bsize-free, 0)), 0o600)
	if err != nil && !errors.Is(err, unix.ENOSPC) { // others write as well
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullStore: the disk of the store is full for a while.
func TestFullStore(t *testing.T) {
	enginetest.Need(t)
	dir := disktest.Mount(t, "size=128m", 0)
	e := enginetest.Start(t, dir, false)
	c := open(t, e.Endpoint(), false)
	x := newProbe(t, c, memory(), nil)
	x.write(t, 5)
	eventually(t, "the first batch", func() bool { return x.w.Counts().Total().Written > 0 })
	giveBack := fill(t, dir, 20<<10)
	x.write(t, 20)
	x.missed(t, 4)
	giveBack()
	x.write(t, 5)
	x.whole(t, c)
	if log := x.said.String(); !strings.Contains(strings.ToLower(log), "no space left") && !strings.Contains(log, "NOT_ENOUGH_SPACE") {
		t.Errorf("logged: %s", log)
	}
}

func openSpool(t *testing.T, path string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Config{Path: path, MaxBytes: 64 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gone is a context that has ended.
func gone(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestPasswordChanged: the store gets another password while a probe writes. What
// it can't write then is on disk, and the next one with the new password writes it.
// The log says why, and has no password.
func TestPasswordChanged(t *testing.T) {
	enginetest.Need(t)
	ecfg := engine.DefaultConfig()
	ecfg.Dir = t.TempDir()
	old, err := engine.New(ecfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := old.Endpoint()
	path := filepath.Join(t.TempDir(), "spool")
	s := openSpool(t, path)
	x := newProbe(t, open(t, before, false), spool.NewQueue(s), nil)
	x.write(t, 5)
	eventually(t, "the first batch", func() bool { return x.w.Counts().Total().Written > 0 })
	if err := old.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(old.CredentialsFile()); err != nil { // then a new one is made
		t.Fatal(err)
	}
	ecfg.Listen = before.Addr
	e := enginetest.StartConfig(t, ecfg)
	x.write(t, 5)
	eventually(t, "the refusal", func() bool { return strings.Contains(x.said.String(), "does not accept user") })
	counts, err := x.w.Close(gone(t))
	if left := counts.Left(); err == nil || left == 0 || counts.Total().Dropped != 0 || s.Size().Rows != left {
		t.Errorf("%+v, %d rows in the spool, %v", counts, s.Size().Rows, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now := e.Endpoint()
	if log := x.said.String() + fmt.Sprint(err); now.Password == before.Password || strings.Contains(log, before.Password) || strings.Contains(log, now.Password) {
		t.Errorf("the passwords are the same, or shown: %s", log)
	}
	s = openSpool(t, path)
	defer s.Close()
	c := connect(t, now, false)
	next := newProbe(t, c, spool.NewQueue(s), nil)
	if counts, err := closed(t, next.w); err != nil || counts.Left() != 0 {
		t.Errorf("%+v %v", counts, err)
	}
	x.stored(t, c)
}

// TestFullSpool: the store is away, and then the disk with what waits for it is
// full. What is lost is counted, logged, and told to the store once, by the next program.
func TestFullSpool(t *testing.T) {
	e := enginetest.Start(t, "", false)
	direct := open(t, e.Endpoint(), false)
	way := enginetest.NewProxy(t)
	way.To(e.Endpoint().Addr)
	p := e.Endpoint()
	p.Addr = way.Addr()
	c := connect(t, p, false)
	path := filepath.Join(disktest.Mount(t, "size=4m", 0), "spool")
	s := openSpool(t, path)
	x := newProbe(t, c, spool.NewQueue(s), nil)
	way.Refuse(true)
	x.write(t, 40)
	lost := x.w.Counts()["flow_intervals"].Dropped
	if log := x.said.String(); lost == 0 || lost == x.rows || !strings.Contains(log, "rows are lost") || !strings.Contains(log, "disk of the spool is full") {
		t.Fatalf("%d rows of %d are lost: %s", lost, x.rows, log)
	}
	if _, err := x.w.Close(gone(t)); err == nil {
		t.Error("nothing is said")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	way.Refuse(false)
	told := "SELECT sum(v) FROM (SELECT max(value) AS v FROM rocelens.probe_stats WHERE name = 'store_rows_dropped' AND of = 'flow_intervals' GROUP BY run)"
	for range 3 { // it is told once, however often a program starts
		s = openSpool(t, path)
		next := newProbe(t, c, spool.NewQueue(s), nil)
		counts, err := closed(t, next.w)
		if err != nil || counts.Left() != 0 {
			t.Errorf("%+v %v", counts, err)
		}
		if left, err := s.Dropped(); err != nil || len(left) != 0 || s.Size().Rows != 0 {
			t.Errorf("%v, %d rows, %v", left, s.Size().Rows, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := sum(t, direct, told); n != lost {
			t.Errorf("the store was told of %d rows, %d are lost", n, lost)
		}
	}
	if n := sum(t, direct, "SELECT count() FROM rocelens.flow_intervals WHERE run = '"+x.origin.Run+"'"); n != x.rows-lost {
		t.Errorf("%d rows are there, and %d lost of %d", n, lost, x.rows)
	}
}
