package monitor_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rocelens/rocelens/cmd/benchlive/sender"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

const (
	soakRate     = 2000 // frames a second
	soakSessions = 32
)

// usage is what the test's process has, with what the monitor in it has, but for its
// connections to the store: it keeps as many as it once needed at a time.
type usage struct {
	heap                           uint64
	goroutines, descriptors, conns int
}

func usageNow(t *testing.T, store *enginetest.Proxy) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := store.Open()
	return usage{m.HeapAlloc, runtime.NumGoroutine() - n*enginetest.ProxiedGoroutines, len(open) - n*enginetest.ProxiedDescriptors, n}
}

// TestSoak runs a monitor for as long as SOAK says, at a steady rate, while its
// ClickHouse is stopped and started twice: nothing grows, every interval is there,
// and nothing is lost, and nothing twice.
func TestSoak(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("SOAK=20m runs it")
	}
	length, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil || length < 30*time.Second {
		t.Fatalf("SOAK=%s: %v: use 30s or more", os.Getenv("SOAK"), err)
	}
	dir := t.TempDir()
	proxy := enginetest.NewProxy(t)
	ch := enginetest.Start(t, dir, true)
	proxy.To(ch.Endpoint().Native)
	network(t)
	p := ch.Endpoint()
	d, err := dsn.Parse("clickhouse://" + p.User + ":" + p.Password + "@" + proxy.Addr() + "/rocelens")
	if err != nil {
		t.Fatal(err)
	}
	var log enginetest.Log
	s := start(t, func(c *monitor.Config) {
		c.Store.DSN, c.Store.Probe, c.Store.Spool.Path = d, "leaf-1", filepath.Join(t.TempDir(), "monitor.spool")
		c.Store.Writer.MaxAge = time.Second
		c.StopTimeout = 30 * time.Second
		c.Pipeline.Track.Intervals.Length = int64(time.Second)
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	stop := func() {
		proxy.Refuse(true)
		if err := ch.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	again := func() {
		outside(t, func() { ch = enginetest.Start(t, dir, true) })
		proxy.To(ch.Endpoint().Native)
	}
	var before, after usage
	steps := []struct {
		at float64 // part of the time
		do func()
	}{
		{0.2, func() { before = usageNow(t, proxy) }}, {0.25, stop}, {0.4, again}, {0.55, stop}, {0.7, again}, {0.95, func() { after = usageNow(t, proxy) }},
	}
	traffic, err := sender.Open("va", soakSessions)
	if err != nil {
		t.Fatal(err)
	}
	sent, quiet := 0, 0 // quiet is seconds in which nothing was sent: the machine was busy, or ClickHouse was being started
	began := time.Now()
	last := began
	for len(steps) > 0 || time.Since(began) < length {
		part := min(100*time.Millisecond, max(length-time.Since(began), time.Millisecond))
		n, err := traffic.Steady(soakRate, part)
		if err != nil {
			t.Fatal(err)
		}
		sent += n
		if len(steps) > 0 && time.Since(began).Seconds() >= steps[0].at*length.Seconds() {
			steps[0].do()
			steps = steps[1:]
		}
		if now := time.Now(); n > 0 {
			quiet += int(now.Sub(last) / time.Second)
			last = now
		}
	}
	if err := traffic.Close(); err != nil {
		t.Error(err)
	}
	var got map[string]float64
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if got = s.scrape(t); got["rocelens_packets_total"] >= float64(sent) {
			break
		}
	}
	if got["rocelens_packets_total"] != float64(sent) || got["rocelens_capture_dropped_frames_total"] != 0 || got["rocelens_icrc_errors_total"] != 0 || got["rocelens_retransmitted_packets_total"] != 0 {
		t.Errorf("%d were sent, %v packets came, %v frames were dropped, %v ICRCs are bad, %v were sent again",
			sent, got["rocelens_packets_total"], got["rocelens_capture_dropped_frames_total"], got["rocelens_icrc_errors_total"], got["rocelens_retransmitted_packets_total"])
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	t.Logf("%d frames in %v, %d quiet seconds; %+v, then %+v", sent, time.Since(began).Round(time.Second), quiet, before, after)
	const mib = 1 << 20
	if after.heap > before.heap+before.heap/4+8*mib || after.goroutines > before.goroutines+4 || after.descriptors > before.descriptors+4 || after.conns > client.DefaultConfig().Conns {
		t.Errorf("%+v, and %+v at the end", before, after)
	}
	outside(t, func() { judgeStored(t, d, sent, quiet) })
	if t.Failed() {
		t.Log(log.String())
	}
}

// outside runs f on a thread that is not in the test's network.
func outside(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// judgeStored holds what is in the store against what was sent.
func judgeStored(t *testing.T, d *dsn.DSN, sent, quiet int) {
	t.Helper()
	st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer st.Close(context.Background())
	var packets, sessions, ofSessions, flows, twice, missing uint64
	if err := st.Row(t.Context(), []any{&packets, &flows, &twice, &missing}, `SELECT sum(n), count(), toUInt64(sum(rows - times)), toUInt64(max(span - times))
		FROM (SELECT sum(packets) AS n, count() AS rows, uniqExact(time) AS times, dateDiff('second', min(time), max(time)) + 1 AS span
			FROM rocelens.flow_intervals WHERE packets > 0 GROUP BY flow)`); err != nil {
		t.Error(err)
		return
	}
	if packets != uint64(sent) || flows != 2*soakSessions || twice != 0 || missing > uint64(quiet)+2 {
		t.Errorf("%d were sent, %d packets of %d flows are in the store, %d intervals twice, %d missing, %d quiet seconds", sent, packets, flows, twice, missing, quiet)
	}
	if err := st.Row(t.Context(), []any{&sessions, &ofSessions}, `SELECT count(), sum(a_packets + b_packets) FROM rocelens.sessions FINAL`); err != nil {
		t.Error(err)
		return
	}
	if sessions != soakSessions || ofSessions != uint64(sent) {
		t.Errorf("%d sessions in the store, with %d packets of %d", sessions, ofSessions, sent)
	}
}
