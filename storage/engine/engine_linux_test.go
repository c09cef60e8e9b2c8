package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == parentArg {
		os.Exit(parent(os.Args[2]))
	}
	os.Exit(enginetest.Main(m))
}

// open connects to an engine.
func open(t *testing.T, p engine.Endpoint, native bool) clickhouse.Conn {
	t.Helper()
	o := &clickhouse.Options{
		Addr: []string{p.Addr}, Protocol: clickhouse.HTTP,
		Auth:        clickhouse.Auth{Username: p.User, Password: p.Password},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
	}
	if native {
		o.Addr, o.Protocol = []string{p.Native}, clickhouse.Native
	}
	c, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func exec(t *testing.T, c clickhouse.Conn, sql string) {
	t.Helper()
	if err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// insert adds n rows in a batch that is acknowledged.
func insert(t *testing.T, c clickhouse.Conn, n int) {
	t.Helper()
	b, err := c.PrepareBatch(t.Context(), "INSERT INTO d.x")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range n {
		if err := b.Append(uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Send(); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, c clickhouse.Conn) (n uint64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), "SELECT count() FROM d.x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const createX = "CREATE TABLE d.x (k UInt64) ENGINE = MergeTree ORDER BY k"

// config is the configuration of an engine that comes back quickly.
func config(dir string) engine.Config {
	cfg := engine.DefaultConfig()
	cfg.Dir, cfg.Owner = dir, "the test"
	cfg.BackoffMin = 10 * time.Millisecond
	return cfg
}

func stop(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that is bound to come.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited a minute for %s", what)
}

// back waits until an engine answers again whose process was pid.
func back(t *testing.T, e *engine.Engine, pid int) {
	t.Helper()
	eventually(t, "another process", func() bool { p := e.PID(); return p != 0 && p != pid })
}

// TestStopAndStart: rows survive a stop in order, in a directory whose name needs
// quoting wherever it is written, and nothing of the run is left.
func TestStopAndStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a 'b" <c> & $d %e é`)
	enginetest.Need(t)
	var log bytes.Buffer
	e, err := engine.New(config(dir), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Health(t.Context()); err == nil {
		t.Error("healthy before it was started")
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err == nil {
		t.Error("started twice")
	}
	first := e.Endpoint()
	c := open(t, first, false)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, createX)
	insert(t, c, 1000)
	if err := e.Health(t.Context()); err != nil {
		t.Error(err)
	}
	c.Close() // or ClickHouse waits for it, and gives up in the end
	stop(t, e)
	stop(t, e)
	if s := log.String(); strings.Contains(s, first.Password) || strings.Contains(s, "level=WARN") || !strings.Contains(s, "answers") {
		t.Errorf("logged: %s", s)
	}
	if err := e.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("health after the stop: %v", err)
	}
	select {
	case <-e.Done():
	default:
		t.Error("not done")
	}
	for _, gone := range []string{"run", "data/status"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is left behind", gone)
		}
	}

	e = enginetest.StartConfig(t, config(dir))
	if n := count(t, open(t, e.Endpoint(), false)); n != 1000 {
		t.Errorf("%d rows", n)
	}
	if e.Endpoint().Password != first.Password {
		t.Error("the password has changed, which clients outside have")
	}
}

// TestChildKilled: a process that is killed, aborts or hangs is replaced, at the
// same address, with every acknowledged row.
func TestChildKilled(t *testing.T) {
	e := enginetest.StartConfig(t, config(t.TempDir()))
	addr := e.Endpoint().Addr
	c := open(t, e.Endpoint(), false)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, createX)
	for round := range 3 {
		insert(t, c, 100)
		pid := e.PID()
		process, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		back(t, e, pid)
		if n := count(t, open(t, e.Endpoint(), false)); n != uint64(round+1)*100 {
			t.Errorf("%d rows after %d kills", n, round+1)
		}
	}
	if e.Restarts() != 3 || e.Endpoint().Addr != addr {
		t.Errorf("%d restarts, at %s and then at %s", e.Restarts(), addr, e.Endpoint().Addr)
	}
}

// TestUnhealthy: a process that lives and does not answer is replaced.
func TestUnhealthy(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.HealthInterval = 50 * time.Millisecond
	e := enginetest.StartConfig(t, cfg)
	pid := e.PID()
	c := open(t, e.Endpoint(), false)
	_ = c.Exec(t.Context(), "SYSTEM STOP LISTEN HTTP") // the answer may not come
	back(t, e, pid)
}

// TestStrangers: what comes to the port from others does no harm that lasts.
func TestStrangers(t *testing.T) {
	e := enginetest.StartConfig(t, config(t.TempDir()))
	p := e.Endpoint()

	t.Run("password", func(t *testing.T) {
		pid := e.PID()
		for _, auth := range [][2]string{{p.User, "wrong"}, {p.User, ""}, {"nobody", ""}, {"admin", "admin"}} {
			q := p
			q.User, q.Password = auth[0], auth[1]
			if err := open(t, q, false).Ping(t.Context()); err == nil {
				t.Errorf("%v were let in", auth)
			}
		}
		if err := e.Health(t.Context()); err != nil || e.PID() != pid {
			t.Errorf("after wrong passwords: %v, process %d and then %d", err, pid, e.PID())
		}
	})

	t.Run("default", func(t *testing.T) {
		q := p
		q.User, q.Password = "default", ""
		c := open(t, q, false)
		for _, sql := range []string{
			"SELECT * FROM file('/etc/passwd', LineAsString, 'x String')",
			"INSERT INTO FUNCTION file('/tmp/rocelens-test', LineAsString, 'x String') SELECT '1'",
			"SELECT * FROM url('http://127.0.0.1:1/', LineAsString, 'x String')",
			"CREATE DATABASE mine",
			"CREATE TABLE default.mine (x UInt8) ENGINE = Memory",
			"SELECT name FROM system.users",
			"SELECT query FROM system.processes",
			"KILL QUERY WHERE 1",
			"SYSTEM SHUTDOWN",
		} {
			if err := c.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "privileges") {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})

	t.Run("garbage", func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, garbage := range []string{
			"\x00\x01\x02\x03", "GET", "\r\n\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", strings.Repeat("A", 1<<17),
			"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
			"\x16\x03\x01\x02\x00\x01\x00", "random",
		} {
			if garbage == "random" {
				b := make([]byte, 4096)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				garbage = string(b)
			}
			var conn net.Conn
			eventually(t, "the port", func() bool {
				var err error
				conn, err = net.Dial("tcp", e.Endpoint().Addr)
				return err == nil
			})
			_, _ = conn.Write([]byte(garbage))
			_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
			conn.Close()
		}
		eventually(t, "an answer", func() bool { return e.Health(t.Context()) == nil })
		t.Logf("%d restarts", e.Restarts())
		select {
		case <-e.Done():
			t.Error(e.Err())
		default:
		}
	})
}

// TestMemoryLimit: a query that wants more than there is fails, and nothing else.
func TestMemoryLimit(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.MaxMemory = engine.MinMemory
	e := enginetest.StartConfig(t, cfg)
	pid := e.PID()
	err := open(t, e.Endpoint(), false).Exec(t.Context(), "SELECT uniqExact(number) FROM numbers(100000000) FORMAT Null")
	if err == nil || !strings.Contains(err.Error(), "memory limit") {
		t.Error(err)
	}
	if err := e.Health(t.Context()); err != nil || e.PID() != pid {
		t.Errorf("%v, process %d and then %d", err, pid, e.PID())
	}
}

// TestCompilesNothing: ClickHouse does not need memory that it can write and run.
func TestCompilesNothing(t *testing.T) {
	c := open(t, enginetest.StartConfig(t, config(t.TempDir())).Endpoint(), false)
	const question = "SELECT sum((number * 3 + 7) % 11 + number % 13), min(number) FROM numbers(1000) GROUP BY number % 7 FORMAT Null"
	for range 6 { // by default it compiles the fourth time
		if err := c.Exec(t.Context(), question); err != nil {
			t.Fatal(err)
		}
	}
	var compiled uint64
	if err := c.QueryRow(t.Context(), "SELECT sum(value) FROM system.events WHERE event = 'CompileFunction'").Scan(&compiled); err != nil {
		t.Fatal(err)
	}
	if compiled > 0 {
		t.Errorf("%d functions were compiled", compiled)
	}
}

// TestTwo: engines in two directories run side by side, and one asks the other
// through a Distributed table.
func TestTwo(t *testing.T) {
	var engines [2]*engine.Engine
	var wg sync.WaitGroup
	enginetest.Need(t)
	for i := range engines {
		cfg := config(t.TempDir())
		cfg.Native = true
		e, err := engine.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		engines[i] = e
		wg.Go(func() {
			if err := e.Start(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() { stop(t, e) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, e := range engines {
		c := open(t, e.Endpoint(), true)
		exec(t, c, "CREATE DATABASE d")
		exec(t, c, createX)
		insert(t, c, 10*(i+1))
	}
	p := engines[1].Endpoint()
	var n uint64
	sql := fmt.Sprintf("SELECT count() FROM remote('%s', d.x, '%s', '%s')", p.Native, p.User, p.Password)
	if err := open(t, engines[0].Endpoint(), false).QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 20 {
		t.Errorf("%d rows of the other, %v", n, err)
	}
}

// TestStartFails: each reason why an engine can't start is said in words.
func TestStartFails(t *testing.T) {
	enginetest.Need(t)
	used := enginetest.StartConfig(t, config(t.TempDir()))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	usedDir := strings.TrimSuffix(used.CredentialsFile(), "/credentials")
	for _, c := range []struct {
		name string
		set  func(*engine.Config)
		want []string
	}{
		{"directory in use", func(c *engine.Config) { c.Dir = usedDir },
			[]string{usedDir, "in use by the test, process " + fmt.Sprint(os.Getpid())}},
		{"port in use", func(c *engine.Config) { c.Listen = taken.Addr().String() },
			[]string{taken.Addr().String(), "in use by another program"}},
		{"directory is a file", func(c *engine.Config) { c.Dir = file }, []string{file, "not a directory"}},
		{"directory is a device", func(c *engine.Config) { c.Dir = "/dev/null" }, []string{"/dev/null is not a directory"}},
		{"directory is below a file", func(c *engine.Config) { c.Dir = filepath.Join(file, "x") }, []string{file, "not a directory"}},
		{"directory can't be made", func(c *engine.Config) { c.Dir = "/proc/rocelens" }, []string{"/proc/rocelens", "directory"}},
		{"no library", func(c *engine.Config) { c.Library = filepath.Join(file, "x") }, []string{"library of ClickHouse", file}},
		{"library is no library", func(c *engine.Config) { c.Library = file }, []string{"can't be loaded", file}},
		{"library of everybody", func(c *engine.Config) { c.Library = open }, []string{"written by everybody", "chmod"}},
		{"too slow", func(c *engine.Config) { c.StartTimeout = time.Nanosecond }, []string{"did not answer within 1ns"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t.TempDir())
			c.set(&cfg)
			e, err := engine.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = e.Start(t.Context())
			if err == nil {
				stop(t, e)
				t.Fatal("it starts")
			}
			for _, s := range c.want {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is missing in: %v", s, err)
				}
			}
			select {
			case <-e.Done():
			default:
				t.Error("not done")
			}
		})
	}
	if err := used.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCancelledStart: a start that is given up leaves no process.
func TestCancelledStart(t *testing.T) {
	enginetest.Need(t)
	dir := t.TempDir()
	for _, after := range []time.Duration{0, 20 * time.Millisecond} {
		e, err := engine.New(config(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err = e.Start(ctx)
		cancel()
		if after == 0 && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("started without time: %v", err)
		}
		if err == nil { // it was fast
			stop(t, e)
		}
	}
	enginetest.StartConfig(t, config(dir)) // the directory is free
}

// BenchmarkStart is an engine that is started until it answers, and stopped, in a
// directory that it has used before.
func BenchmarkStart(b *testing.B) {
	enginetest.Need(b)
	dir := b.TempDir()
	var stopping time.Duration
	for b.Loop() {
		e, err := engine.New(config(dir), nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		if err := e.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		stopping += time.Since(begin)
	}
	stop := stopping.Seconds() * 1000 / float64(b.N)
	b.ReportMetric(stop, "stop-ms")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)-stop, "start-ms")
}
