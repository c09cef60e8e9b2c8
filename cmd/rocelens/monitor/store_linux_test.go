package monitor_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// TestStore: what a capture that is replayed twice did is in the store once each
// time; the second time the store is away until the monitor has ended, and the next
// monitor sends what is in the spool.
func TestStore(t *testing.T) {
	enginetest.Need(t)
	network(t)
	path := ""
	for _, c := range capturetest.Committed(t) {
		if c.Name == "loss_before_write_1pct" {
			path = c.Path
		}
	}
	want := of(t, path)
	dir := t.TempDir()
	d, err := dsn.Parse("embedded:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	var log enginetest.Log
	watch := func(replays bool) {
		t.Helper()
		s := start(t, func(c *monitor.Config) {
			c.Store.DSN, c.Store.Probe, c.Store.Spool.Path = d, "leaf-1", filepath.Join(dir, "monitor.spool")
			c.Store.Writer.MaxAge = 200 * time.Millisecond
			c.StopTimeout = 5 * time.Second
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		if replays {
			if replay(t, path) == 0 {
				t.Fatal("nothing was sent")
			}
			for deadline := time.Now().Add(20 * time.Second); s.scrape(t)["rocelens_packets_total"] < want["rocelens_packets_total"]; time.Sleep(100 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("packets are missing in the metrics")
				}
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
	sums := func() (packets, again, states string) { // and what else there is, which must agree
		t.Helper()
		st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close(context.Background())
		if err := st.Row(t.Context(), []any{&packets, &again, &states}, `SELECT toString(sum(packets)), toString(sum(retransmitted_packets)),
			(SELECT arrayStringConcat(arraySort(groupArray(state)), ' ') FROM rocelens.runs FINAL) FROM rocelens.flow_intervals WHERE probe = 'leaf-1' AND interface = 'vb'`); err != nil {
			t.Fatal(err)
		}
		return packets, again, states
	}
	others := func(times uint64) {
		t.Helper()
		st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close(context.Background())
		var sessions, packets, tries, ended uint64
		if err := st.Row(t.Context(), []any{&sessions, &packets, &tries, &ended}, `SELECT count(), sum(a_packets + b_packets),
			(SELECT count() FROM rocelens.events WHERE kind = 'try'), countIf(final) FROM rocelens.sessions FINAL`); err != nil {
			t.Fatal(err)
		}
		if float64(packets) != float64(times)*want["rocelens_packets_total"] || float64(tries) != float64(times)*want["tries"] || sessions != times || ended != times {
			t.Errorf("%d sessions, %d ended, %d packets, %d tries", sessions, ended, packets, tries)
		}
	}
	twice := func(name string, times float64) string { return strconv.FormatFloat(times*want[name], 'f', 0, 64) }

	watch(true)
	if packets, again, states := sums(); packets != twice("rocelens_packets_total", 1) || again != twice("rocelens_retransmitted_packets_total", 1) || states != "finished" {
		t.Errorf("%s packets, %s sent again, runs %s", packets, again, states)
	}

	others(1)

	// Somebody else has the store's directory.
	other := enginetest.Start(t, dir, false)
	watch(true)
	if err := other.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the store is away", "rows stay in the spool"} {
		if !strings.Contains(log.String(), what) {
			t.Errorf("it does not say %q: %s", what, log.String())
		}
	}
	if packets, _, _ := sums(); packets != twice("rocelens_packets_total", 1) {
		t.Errorf("%s packets while the store was away", packets)
	}
	watch(false)
	others(2)
	if packets, again, states := sums(); packets != twice("rocelens_packets_total", 2) || again != twice("rocelens_retransmitted_packets_total", 2) || states != "finished finished" {
		t.Errorf("%s packets, %s sent again, runs %s", packets, again, states)
	}
}

// TestStoreTunnels: what comes in VLANs, VXLAN and ERSPAN is in the metrics and in
// the store as the file has it.
func TestStoreTunnels(t *testing.T) {
	enginetest.Need(t)
	network(t)
	dir := t.TempDir()
	d, err := dsn.Parse("embedded:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *monitor.Config) {
		c.Store.DSN, c.Store.Probe, c.Store.Spool.Path = d, "leaf-1", filepath.Join(dir, "monitor.spool")
		c.Store.Writer.MaxAge = 200 * time.Millisecond
		c.StopTimeout = 10 * time.Second
	})
	want := make(map[string]float64)
	for _, name := range []string{"vlan100_rc_write", "vxlan_rc_write", "erspan2_vlan_rc_write", "erspan3_rc_read"} {
		path := capturetest.Get(t, name).Path
		if replay(t, path) == 0 {
			t.Fatalf("%s can't be sent", name)
		}
		one := of(t, path)
		if one["rocelens_packets_total"] == 0 {
			t.Fatalf("%s has no packets", name)
		}
		for k, n := range one {
			want[k] += n
		}
		for deadline := time.Now().Add(30 * time.Second); s.scrape(t)["rocelens_packets_total"] < want["rocelens_packets_total"]; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: packets are missing in the metrics", name)
			}
		}
	}
	got := s.scrape(t)
	for name, n := range want {
		if strings.HasPrefix(name, "rocelens_") && got[name] != n {
			t.Errorf("%s is %v, not %v", name, got[name], n)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close(context.Background())
	var packets, payload, wire, sessions, ofSessions uint64
	if err := st.Row(t.Context(), []any{&packets, &payload, &wire, &sessions, &ofSessions}, `SELECT sum(packets), sum(payload_bytes), sum(wire_bytes),
		(SELECT count() FROM rocelens.sessions FINAL), (SELECT sum(a_packets + b_packets) FROM rocelens.sessions FINAL) FROM rocelens.flow_intervals`); err != nil {
		t.Fatal(err)
	}
	total := want["rocelens_packets_total"]
	if float64(packets) != total || float64(payload) != want["rocelens_payload_bytes_total"] || float64(wire) != want["rocelens_bytes_total"] || sessions == 0 || float64(ofSessions) != total {
		t.Errorf("%d packets, %d bytes of payload, %d on the wire, %d sessions with %d packets; want %v", packets, payload, wire, sessions, ofSessions, want)
	}
}
