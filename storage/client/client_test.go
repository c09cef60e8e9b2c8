package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// TestInsert: a batch arrives over both protocols with every compression, and a
// second time has no effect.
func TestInsert(t *testing.T) {
	p := enginetest.Start(t, "", true).Endpoint()
	o := schema.DefaultOptions()
	flows := storetest.NewFlows(100_000, 100)
	flows.Histograms = true
	rows := make([]record.FlowInterval, 500)
	flows.Next(rows)
	events := []record.Event{{Session: "a", Time: storetest.Day, Detail: record.Nak{Code: "sequence"}}}
	total := uint64(0)
	for i, cfg := range []client.Config{
		{HTTP: true, Compression: "none"}, {HTTP: true, Compression: "lz4"}, {HTTP: true, Compression: "zstd"},
		{Compression: "none"}, {Compression: "lz4"}, {Compression: "zstd"},
	} {
		d := client.FromEngine(p)
		d.HTTP, d.Compression = cfg.HTTP, cfg.Compression
		if !d.HTTP {
			d.Addrs = []string{p.Native}
		}
		c, err := client.Open(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := migrate.Run(t.Context(), c, migrate.Config{Options: o}); err != nil {
			t.Fatal(err)
		}
		intervals := schema.FlowIntervals().Batch()
		intervals.Append(&storetest.Origin, rows)
		other := schema.Events().Batch()
		other.Append(&storetest.Origin, events)
		for range 2 {
			send(t, c, &o, intervals, fmt.Sprint("intervals ", i))
			send(t, c, &o, other, fmt.Sprint("events ", i))
		}
		for _, r := range rows {
			total += r.Packets
		}
		for _, q := range []struct {
			sql  string
			want uint64
		}{
			{"SELECT sum(packets) FROM rocelens.flow_intervals", total},
			{"SELECT sum(packets) FROM rocelens.flow_1h", total},
			{"SELECT count() FROM rocelens.events WHERE words['code'] = 'sequence'", uint64(i + 1)},
			{"SELECT count(DISTINCT ack_latency) FROM rocelens.flow_intervals", uint64(distinct(rows))},
		} {
			var n uint64
			if err := c.Row(t.Context(), []any{&n}, q.sql); err != nil || n != q.want {
				t.Errorf("http %v, %s: %s: %d, want %d (%v)", cfg.HTTP, cfg.Compression, q.sql, n, q.want, err)
			}
		}
	}
}

// distinct is how many different latencies there are.
func distinct(rows []record.FlowInterval) int {
	seen := map[string]bool{}
	for i := range rows {
		var b strings.Builder
		rows[i].AckLatency.Each(func(bucket int, n uint32) { fmt.Fprint(&b, bucket, n, ";") })
		seen[b.String()] = true
	}
	return len(seen)
}

func send[R any](t *testing.T, c *client.Client, o *schema.Options, b *schema.Batch[R], token string) {
	t.Helper()
	block, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(t.Context(), o, b.Table(), token, block); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedBatch: a block that is not what the table wants is refused, and the
// connection can still be used.
func TestDamagedBatch(t *testing.T) {
	p := enginetest.Start(t, "", false).Endpoint()
	cfg := client.FromEngine(p)
	cfg.Compression = "lz4" // by way of columns
	c, err := client.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	o := schema.DefaultOptions()
	if _, err := migrate.Run(t.Context(), c, migrate.Config{Options: o}); err != nil {
		t.Fatal(err)
	}
	b := schema.ProbeStats().Batch()
	b.Append(&storetest.Origin, []schema.Stat{{Name: "x", Value: 3}, {Name: "y", Value: 4}})
	block, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range block {
		if err := c.Insert(t.Context(), &o, b.Table(), "cut", block[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken", n, len(block))
		}
	}
	if err := c.Insert(t.Context(), &o, b.Table(), "long", append(block, 0)); err == nil {
		t.Error("a byte too many was taken")
	}
	if err := c.Insert(t.Context(), &o, schema.Events().Table, "other", block); err == nil {
		t.Error("a block of another table was taken")
	}
	send(t, c, &o, b, "whole")
	var n uint64
	if err := c.Row(t.Context(), []any{&n}, "SELECT sum(value) FROM rocelens.probe_stats"); err != nil || n != 7 {
		t.Errorf("%d, want 7: %v", n, err)
	}
}

// TestOld: servers that are too old are refused in a sentence, over both
// protocols; 18.16 is what Debian has.
func TestOld(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// 18.16 knows neither displayName() nor compression as it is asked for.
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "Code: 46, e.displayText() = DB::Exception: Unknown function displayName, e.what() = DB::Exception")
	}))
	defer old.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := bufio.NewReader(conn).ReadByte(); err != nil {
					return
				}
				// Hello: name, 18, 16, revision 54412, then time zone, display name, patch.
				hello := "\x00\x0aClickHouse\x12\x10\x8c\xa9\x03"
				_, _ = conn.Write([]byte(hello + "\x03UTC\x00\x01"))
				_, _ = conn.Read(make([]byte, 1))
			}()
		}
	}()
	for _, cfg := range []client.Config{
		{HTTP: true, Addrs: []string{old.Listener.Addr().String()}},
		{Addrs: []string{l.Addr().String()}},
	} {
		d := client.DefaultConfig()
		d.HTTP, d.Addrs, d.User = cfg.HTTP, cfg.Addrs, "default"
		_, err := client.Open(t.Context(), d)
		var v *client.VersionError
		if !errors.As(err, &v) || !strings.Contains(err.Error(), "rocelens needs ClickHouse 26.7 or newer") {
			t.Errorf("http %v: %v", cfg.HTTP, err)
		}
	}
}

// TestNoPassword: no error shows it, whatever goes wrong.
func TestNoPassword(t *testing.T) {
	const secret = "hunter2"
	p := enginetest.Start(t, "", false).Endpoint()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Error(w, "your password is "+password, http.StatusInternalServerError)
	}))
	defer echo.Close()
	for _, addr := range []string{p.Addr, "127.0.0.1:1", echo.Listener.Addr().String(), "no.such.host.invalid:1"} {
		for _, secure := range []bool{false, true} {
			d, err := dsn.Parse("http://rocelens:" + secret + "@" + addr)
			if err != nil {
				t.Fatal(err)
			}
			d.Secure = secure
			_, err = client.Open(t.Context(), client.FromDSN(d))
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", addr, err)
			}
			if addr == p.Addr && !secure && (err == nil || !strings.Contains(err.Error(), "does not accept user rocelens")) {
				t.Errorf("a wrong password: %v", err)
			}
		}
	}
}
