package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
)

// TestStoreQuery holds what store query and store status print against
// testdata/golden/store.
func TestStoreQuery(t *testing.T) {
	saved := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = saved })
	p := enginetest.Start(t, "", false).Endpoint()
	t.Setenv(dsn.UserEnv, p.User)
	t.Setenv(dsn.PasswordEnv, p.Password)
	name := "http://" + p.Addr
	ask := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append([]string{"store"}, args...), nil, &out, &errOut); code != want {
			t.Errorf("%v: exit code %d, %s", args, code, errOut.String())
		}
		if strings.Contains(out.String()+errOut.String(), p.Password) {
			t.Errorf("%v shows the password", args)
		}
		return out.String(), errOut.String()
	}

	// Before there are tables, and before there are rows.
	if out, _ := ask(exitDone, "status", name); !strings.Contains(out, "no tables: rocelens store migrate makes them") {
		t.Error(out)
	}
	if _, err := ask(exitFailed, "query", name, "storms"); !strings.Contains(err, "database rocelens has no tables of rocelens") {
		t.Error(err)
	}
	o := fillStore(t, client.FromEngine(p))
	if out, _ := ask(exitDone, "query", name, "flows", "--tap", "elsewhere"); !strings.HasSuffix(out, "\nnothing\nthere are no records from there\n") {
		t.Error(out)
	}

	out, _ := ask(exitDone, "status", name)
	for _, want := range []string{
		"database " + o.Database + ", ClickHouse 2", "schema 1\n", "\nflow_intervals      3 ", "  2026-01-01 00:00:00  2026-01-01 00:59:00\n",
		"\nprobe   runs  unfinished  rows  dropped  last seen\nleaf-1     1           0     9        2  2026-01-01 01:00:00\n", "could not be written:\ntable   rows\nevents     2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var status struct {
		Schema int
		Tables []struct {
			Table       string
			Rows, Bytes uint64
		}
	}
	out, _ = ask(exitDone, "status", "--format", "json", name)
	if err := json.Unmarshal([]byte(out), &status); err != nil || status.Schema != schema.Version || len(status.Tables) != len(schema.Tables()) || status.Tables[1].Rows != 3 || status.Tables[1].Bytes == 0 {
		t.Errorf("%v: %s", err, out)
	}

	dir := filepath.Join(capturetest.Root(t), "testdata", "golden", "store")
	for file, args := range map[string]string{
		"session":   "session --qp 0x8c --addr 10.0.0.2",
		"sessions":  "session --addr 10.0.0.1",
		"none":      "session --qp 1",
		"flows":     "flows",
		"pause":     "flows --by pause",
		"one":       "flows --by lost --limit 1 --min-packets 10 --source hours --from 00:00 --to 01:00",
		"flow":      "flow --flow 17335323207142402221 --step 1m",
		"storms":    "storms",
		"pauses":    "storms --all --from +0s --to 2026-01-02T00:00",
		"lag":       "lag",
		"latency":   "latency --of ack_latency,write_latency --group tap",
		"totals":    "totals",
		"by_tap":    "totals --group tap --from -1h",
		"events":    "events",
		"naks":      "events --kind nak --session v2/10.0.0.1/0x64-10.0.0.2/0x8c/1",
		"findings":  "findings",
		"critical":  "findings --severity critical",
		"by_probe2": "totals --probe leaf-2",
	} {
		for _, form := range []string{"txt", "json"} {
			q := append([]string{"query", "--format", strings.Replace(form, "txt", "text", 1), name}, strings.Fields(args)...)
			got, _ := ask(exitDone, q...)
			if form == "json" && !json.Valid([]byte(got)) {
				t.Errorf("%s: no JSON: %s", args, got)
			}
			path := filepath.Join(dir, file+"."+form)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("%s (- golden, + got; after checking: go test ./cmd/rocelens -run StoreQuery -update):\n%s", path, d)
			}
		}
	}
}

// TestStoreQueryEmbedded: an embedded store is started for an answer, and ended.
func TestStoreQueryEmbedded(t *testing.T) {
	enginetest.Need(t)
	name := "embedded:" + filepath.Join(t.TempDir(), "store")
	for _, c := range []struct{ args, want string }{
		{"migrate", "are up to date (schema"}, {"status", ", schema 1\n"}, {"query flows", "\nnothing\n"}, {"query session --qp 1", "sessions\nnothing\n"},
	} {
		args := append([]string{"store"}, strings.Fields(c.args)...)
		args = slices.Insert(args, 2, name)
		var out, errOut bytes.Buffer
		if code := run(t.Context(), args, nil, &out, &errOut); code != exitDone || !strings.Contains(out.String(), c.want) || errOut.Len() > 0 {
			t.Errorf("%v: exit code %d, %s%s", args, code, out.String(), errOut.String())
		}
	}
}

// fillStore makes tables with a few rows in each.
func fillStore(t *testing.T, cfg client.Config) *schema.Options {
	t.Helper()
	c, err := client.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := schema.DefaultOptions()
	if _, err := migrate.Run(t.Context(), c, migrate.Config{Options: o}); err != nil {
		t.Fatal(err)
	}
	const begin = int64(1_767_225_600) * 1e9 // 2026-01-01T00:00:00Z
	const minute = int64(60e9)
	const id = "v2/10.0.0.1/0x64-10.0.0.2/0x8c/1"
	origin := schema.Origin{Probe: "leaf-1", Run: "r1", Inputs: []schema.Input{{Tap: "a.pcap", Interfaces: []string{"swp1"}}}}
	durations := func(all ...int64) (h sketch.Histogram) {
		for _, ns := range all {
			h.Add(ns)
		}
		return h
	}
	end := func(addr string, qpn uint32) record.Endpoint {
		return record.Endpoint{Addr: decode.AddrOf(netip.MustParseAddr(addr)), QPN: qpn, HasQPN: true}
	}
	a, b, third := end("10.0.0.1", 0x64), end("10.0.0.2", 0x8c), end("2001:db8::3", 0x11)
	s := &record.Session{
		ID: id, Version: record.V2, Service: record.RC, A: a, B: b, State: record.StateFailed, Failure: record.FailedRNR,
		First: record.FrameRef{Time: begin, Number: 1}, Last: record.FrameRef{Time: begin + 59*minute, Number: 900},
		AToB: record.Direction{Packets: 800, WireBytes: 900_000, GoodputBytes: 700_000, AckLatency: durations(8000, 9000, 2_000_000), CNPsReceived: 2},
		BToA: record.Direction{Packets: 100, WireBytes: 8_000},
	}
	s.AToB.Retransmitted.Packets, s.AToB.Lost.BeforeTap, s.AToB.Messages.Completed = 12, 3, 90
	other := &record.Session{
		ID: "v2/10.0.0.1/0x65-[2001:db8::3]/0x11/1", Version: record.V2, Service: record.UC, A: end("10.0.0.1", 0x65), B: third, State: record.StateOpen,
		First: record.FrameRef{Time: begin + 1}, Last: record.FrameRef{Time: begin + minute}, AToB: record.Direction{Packets: 5},
	}
	interval := record.FlowInterval{
		Start: begin, Length: 1e9, Version: record.V2, Service: record.RC, Src: a.Addr, Dst: b.Addr, DestQPN: b.QPN, HasPeer: true, PeerQPN: a.QPN, FlowStart: begin,
		DstMAC: decode.MAC{2, 0, 0, 0, 0, 2}, DSCP: 26, Priority: 3, Packets: 500, WireBytes: 600_000, GoodputBytes: 500_000, MessagesCompleted: 60,
		RetransmittedPackets: 8, LostBeforeTap: 3, ECN: [4]uint64{2: 490, 3: 10}, CNPsReceived: 2,
		AckLatency: durations(8000, 9000), NPDelay: durations(4000, 5000),
	}
	interval.Latency[record.Write] = durations(20_000)
	later := interval
	later.Start, later.Packets, later.RetransmittedPackets, later.LostBeforeTap, later.AckLatency = begin+59*minute, 300, 4, 0, durations(2_000_000)
	clean := record.FlowInterval{Start: begin, Length: 1e9, Version: record.V2, Src: third.Addr, Dst: a.Addr, DestQPN: 7, Packets: 5, FlowStart: begin}
	pauser := record.Pauser{Name: "swp1", MAC: decode.MAC{2, 0, 0, 0, 0, 2}, PFC: true}
	pauses := []record.PauseInterval{
		{Pauser: pauser, Priority: 3, Start: record.FrameRef{Time: begin + minute}, Paused: 700e6, Frames: 9, Storm: true},
		{Pauser: pauser, Priority: 4, Start: record.FrameRef{Time: begin + minute}, Paused: 1000, Frames: 1},
		{Pauser: record.Pauser{MAC: decode.MAC{2, 0, 0, 0, 0, 9}}, Start: record.FrameRef{Time: begin + 2*minute}, Paused: 2000, Frames: 2},
	}
	detect := int64(1500)
	events := []record.Event{
		{Time: begin + 2, Session: id, Count: 2, Frame: record.FrameRef{Number: 17}, Detail: record.Nak{Code: "sequence", PSN: 99, Detect: &detect}},
		{Time: begin + 3, Session: id, Detail: &record.Episode{Range: record.Range{First: 5, Last: 9}, Cause: record.CauseNak, Place: record.BeforeTap, Tries: 1, Took: 20_000, Recovered: true}},
		{Time: begin + minute, Detail: &record.Storm{Pauser: pauser, Priorities: []record.StormPriority{{Priority: 3, Paused: 700e6, Frames: 9}}, Lasted: 700e6, Ended: true}},
	}
	var findings []schema.Finding
	for _, f := range []record.Finding{
		{Severity: record.Warning, Code: "loss-before-tap", Title: "3 packets were lost before the tap", Detail: "Check the switch.", Evidence: record.Evidence{{Key: "lost", Value: uint64(3)}}, Sessions: []string{id}},
		{Severity: record.Critical, Code: "pfc-storm", Title: "swp1 paused priority 3 for 700 ms", Detail: "Check its host.\x1b[2J"},
	} {
		row, err := schema.NewFinding(&f, begin, begin+59*minute)
		if err != nil {
			t.Fatal(err)
		}
		findings = append(findings, row)
	}
	loadRecords(t, c, &o, schema.Sessions(), &origin, schema.Session{Session: s, Updated: begin + 59*minute, Final: true}, schema.Session{Session: other, Updated: begin + minute})
	loadRecords(t, c, &o, schema.FlowIntervals(), &origin, interval, later, clean)
	loadRecords(t, c, &o, schema.PauseIntervals(), &origin, pauses...)
	loadRecords(t, c, &o, schema.Events(), &origin, events...)
	loadRecords(t, c, &o, schema.Findings(), &origin, findings...)
	loadRecords(t, c, &o, schema.Runs(), &origin, schema.Run{Updated: begin + 60*minute, State: schema.RunFinished, Rows: 9, Dropped: 2})
	loadRecords(t, c, &o, schema.ProbeStats(), &origin, schema.Stat{Time: begin, Input: -1, Name: "store_rows_dropped", Of: "events", Value: 2})
	return &o
}

func loadRecords[R any](t *testing.T, c *client.Client, o *schema.Options, table *schema.Rows[R], origin *schema.Origin, records ...R) {
	t.Helper()
	b := table.Batch()
	b.Append(origin, records)
	data, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(t.Context(), o, table.Table, fmt.Sprint(table.Table.Name), data); err != nil {
		t.Fatal(err)
	}
}
