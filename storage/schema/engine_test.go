package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/schema"
)

// store is an engine with all tables.
func store(t testing.TB, o schema.Options) clickhouse.Conn {
	t.Helper()
	p := enginetest.Start(t, "", false).Endpoint()
	c, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{p.Addr}, Protocol: clickhouse.HTTP, Auth: clickhouse.Auth{Username: p.User, Password: p.Password},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, s := range statements(o) {
		if err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return c
}

// insert sends a batch, with a token by which a second time is known.
func insert[R any](t testing.TB, c clickhouse.Conn, b *schema.Batch[R], token string) {
	t.Helper()
	o := schema.DefaultOptions()
	data, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(schema.InsertSettings(token)))
	if err := c.InsertFormat(ctx, "Native", o.Insert(b.Table()), bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}

// query runs a query and returns its rows as JSON, one a line.
func query(t testing.TB, c clickhouse.Conn, sql string) string {
	t.Helper()
	r, err := c.QueryFormat(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{
		"output_format_json_quote_64bit_integers": 0, "output_format_json_quote_64bit_floats": 0,
	})), "JSONEachRow", sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var origin = schema.Origin{Probe: "leaf-1", Run: "r1", Inputs: []schema.Input{{Tap: "a.pcap", Interfaces: []string{"eth0"}}, {Tap: "b.pcap"}}}

func addr(s string) decode.Addr { return decode.AddrOf(netip.MustParseAddr(s)) }

// at is a time of 2026 in ns.
const at = int64(1_767_225_600) * 1e9 // 2026-01-01T00:00:00Z

// TestRows writes a row into each table and reads it back as ClickHouse sees it.
func TestRows(t *testing.T) {
	c := store(t, schema.DefaultOptions())

	iv := record.FlowInterval{
		Start: at + 3e9, Length: 1e9, Version: record.V2, Kind: decode.AddrIPv4, Src: addr("10.0.0.1"), Dst: addr("2001:db8::2"), DestQPN: 0x8c,
		FlowStart: at + 1, HasPeer: true, PeerQPN: 0x64, Incarnation: 2, Pairing: record.PairAck, Service: record.RC, Application: "nvme-rdma",
		SrcMAC: decode.MAC{2, 0, 0, 0, 0, 1}, DSCP: 26, Priority: -1, SourcePort: 49152, Packets: 7, LostBeforeTap: -1, ECN: [4]uint64{1, 2, 3, 4},
		Tries: [record.NumCauses]int64{record.CauseTimeout: 2}, LostCorrupt: 5, PeakPackets: 9,
	}
	iv.AckLatency.Add(3)
	iv.AckLatency.Add(1000)
	iv.AckLatency.Add(1001)
	flows := schema.FlowIntervals().Batch()
	flows.Append(&origin, []record.FlowInterval{iv, {Start: at, Length: 1e9, Input: 1, HasVNI: true, VNI: 7, Priority: 3}})
	insert(t, c, flows, "t1")

	s := &record.Session{
		ID: "v2/x", Service: record.RC, Version: record.V2, A: record.Endpoint{Addr: addr("10.0.0.1"), QPN: 0x64, HasQPN: true},
		B: record.Endpoint{Addr: addr("2001:db8::2"), QPN: 0x8c, HasQPN: true}, State: record.StateFailed, FailedStream: 1, Failure: record.FailedRNR,
		First: record.FrameRef{Time: at, Number: 3}, CM: &record.CM{ServiceID: 0x1234, RetryCount: 7},
	}
	s.AToB.Packets, s.BToA.Naks[2], s.AToB.DSCP = 70, 4, []record.DSCPCount{{DSCP: 26, Packets: 69}, {DSCP: 48, Packets: 1}}
	sessions := schema.Sessions().Batch()
	sessions.Append(&origin, []schema.Session{{Session: s, Updated: at + 5e9, Final: true}})
	insert(t, c, sessions, "t2")

	delay := int64(17)
	events := schema.Events().Batch()
	events.Append(&origin, []record.Event{
		{Time: at, Session: "v2/x", Stream: 1, Count: 3, Frame: record.FrameRef{Number: 12}, Detail: record.Nak{Code: "sequence", PSN: 99, Detect: &delay}},
		{Time: at, Session: "v2/x", Detail: &record.Try{PSN: 5, Cause: record.CauseTimeout, Place: record.Answer, Mode: record.GoBackN, Silence: 9, Resent: record.Amount{Packets: 2, Bytes: 8}}},
		{Time: at, Detail: &record.Storm{Pauser: record.Pauser{Name: "swp1", PFC: true}, Priorities: []record.StormPriority{{Priority: 3, Paused: 5}, {Priority: 4, Paused: 6}}, Ended: true}},
	})
	insert(t, c, events, "t3")

	pauses := schema.PauseIntervals().Batch()
	pauses.Append(&origin, []record.PauseInterval{{Pauser: record.Pauser{MAC: decode.MAC{0xaa, 1, 2, 3, 4, 5}, PFC: true}, Priority: 3, Start: record.FrameRef{Time: at + 1}, Paused: 123, End: record.PauseExpired, Storm: true}})
	insert(t, c, pauses, "t4")

	f, err := schema.NewFinding(&record.Finding{Severity: record.Critical, Code: "pfc-storm", Title: "it's \"bad\"\n", Evidence: record.Evidence{{Key: "n", Value: uint64(3)}}, Sessions: []string{"a", "b"}}, at, at+1)
	if err != nil {
		t.Fatal(err)
	}
	findings := schema.Findings().Batch()
	findings.Append(&origin, []schema.Finding{f})
	insert(t, c, findings, "t5")

	stats := schema.ProbeStats().Batch()
	stats.Append(&origin, []schema.Stat{{Time: at, Input: -1, Name: "rows_dropped", Of: "events", Value: 1 << 63}})
	insert(t, c, stats, "t6")

	runs := schema.Runs().Batch()
	runs.Append(&origin, []schema.Run{{Updated: at, State: schema.RunFinished, Attempt: "x", Inputs: []string{"a.pcap", "b.pcap"}, Options: "{}", Rows: 8}})
	insert(t, c, runs, "t7")

	for _, q := range []struct{ sql, want string }{
		{`SELECT probe, run, tap, interface, toString(time) AS t, length_ns, version, service, toString(src) AS src, toString(dst) AS dst, src_qpn, dst_qpn, vni,
			incarnation, pairing, application, src_mac, src_port, dscp, priority, packets, not_ect, ect1, ect0, ce, tries, lost_before_tap, peak_packets, rare, ack_latency
			FROM rocelens.flow_intervals WHERE packets > 0`,
			`{"probe":"leaf-1","run":"r1","tap":"a.pcap","interface":"eth0","t":"2026-01-01 00:00:03.000000000","length_ns":1000000000,"version":"v2","service":"RC",` +
				`"src":"::ffff:10.0.0.1","dst":"2001:db8::2","src_qpn":100,"dst_qpn":140,"vni":-1,"incarnation":2,"pairing":"ack","application":"nvme-rdma",` +
				`"src_mac":"02:00:00:00:00:01","src_port":49152,"dscp":26,"priority":-1,"packets":7,"not_ect":1,"ect1":2,"ect0":3,"ce":4,"tries":2,"lost_before_tap":-1,"peak_packets":9,` +
				`"rare":{"lost_corrupt":5,"tries_timeout":2},"ack_latency":{"3":1,"63":2}}`},
		{`SELECT tap, interface, vni, priority, src_mac, rare, ack_latency FROM rocelens.flow_intervals WHERE packets = 0`,
			`{"tap":"b.pcap","interface":"","vni":7,"priority":3,"src_mac":"00:00:00:00:00:00","rare":{},"ack_latency":{}}`},
		{`SELECT session, toString(updated) AS u, final, service, toString(a_addr) AS a, a_qpn, b_qpn, state, failure, failed_stream, cm, cm_service_id, cm_retry_count, a_packets, b_packets,
			a_dscp, a_counters, b_counters, a_flow = (SELECT any(flow) FROM rocelens.flow_intervals WHERE packets > 0) AS same, first_frame FROM rocelens.sessions FINAL`,
			`{"session":"v2\/x","u":"2026-01-01 00:00:05.000000000","final":true,"service":"RC","a":"::ffff:10.0.0.1","a_qpn":100,"b_qpn":140,"state":"failed","failure":"rnr_exhausted",` +
				`"failed_stream":"b","cm":true,"cm_service_id":4660,"cm_retry_count":7,"a_packets":70,"b_packets":0,"a_dscp":{"26":69,"48":1},"a_counters":{},"b_counters":{"naks_remote_access":4},"same":1,"first_frame":3}`},
		{`SELECT tap, kind, session, stream, interface, frame, count, psn, psn_last, cause, place, mode, mapSort(figures) AS figures, words FROM rocelens.events ORDER BY kind`,
			`{"tap":"a.pcap","kind":"nak","session":"v2\/x","stream":"b","interface":"","frame":12,"count":3,"psn":99,"psn_last":99,"cause":"","place":"","mode":"","figures":{"detect_ns":17,"refusal":0},"words":{"code":"sequence"}}
{"tap":"a.pcap","kind":"storm","session":"","stream":"","interface":"swp1","frame":0,"count":1,"psn":-1,"psn_last":-1,"cause":"","place":"","mode":"","figures":{"ended":1,"frames":0,"lasted_ns":0,"paused_ns":6},"words":{"src_mac":"00:00:00:00:00:00","type":"pfc","priorities":"3,4"}}
{"tap":"a.pcap","kind":"try","session":"v2\/x","stream":"a","interface":"","frame":0,"count":1,"psn":5,"psn_last":5,"cause":"timeout","place":"answer","mode":"go_back_n","figures":{"from":0,"lost_after_tap":0,"lost_before_tap":0,"max":0,"number":0,"resent_bytes":8,"resent_packets":2,"silence_ns":9,"wasted_bytes":0,"wasted_packets":0},"words":{}}`},
		{`SELECT tap, interface, src_mac, type, priority, paused_ns, end, storm FROM rocelens.pause_intervals`,
			`{"tap":"a.pcap","interface":"eth0","src_mac":"aa:01:02:03:04:05","type":"pfc","priority":3,"paused_ns":123,"end":"expired","storm":true}`},
		{`SELECT tap, severity, code, title, evidence, sessions, related FROM rocelens.findings`,
			`{"tap":"","severity":"critical","code":"pfc-storm","title":"it's \"bad\"\n","evidence":"{\"n\":3}","sessions":["a","b"],"related":"[]"}`},
		{`SELECT tap, name, of, value FROM rocelens.probe_stats`, `{"tap":"","name":"rows_dropped","of":"events","value":9223372036854775808}`},
		{`SELECT state, attempt, inputs, options, rows FROM rocelens.runs FINAL`, `{"state":"finished","attempt":"x","inputs":["a.pcap","b.pcap"],"options":"{}","rows":8}`},
		{`SELECT count() AS n FROM rocelens.flow_intervals WHERE loaded > now() - 600`, `{"n":2}`},
	} {
		if got := query(t, c, q.sql); got != q.want {
			t.Errorf("%s\ngot  %s\nwant %s", q.sql, got, q.want)
		}
	}
}

// TestRollups: what the views sum up is what the intervals sum up to, minute by
// minute and hour by hour, and stays that when a batch is sent twice.
func TestRollups(t *testing.T) {
	o := schema.DefaultOptions()
	c := store(t, o)
	b := schema.FlowIntervals().Batch()
	r := rand.New(rand.NewPCG(1, 2))
	type key struct {
		dst  uint64
		hour int64
	}
	packets, rare, peak := map[key]uint64{}, map[key]int64{}, map[key]uint64{}
	latency := map[key]*sketch.Histogram{}
	var all sketch.Histogram
	const batches = 4
	for n := range batches {
		b.Reset()
		for range 2000 {
			iv := record.FlowInterval{
				Start: at + r.Int64N(3*3600)*1e9, Length: 1e9, Src: addr("10.0.0.1"), Dst: decode.Addr{Lo: r.Uint64N(5)}, DestQPN: 7, DSCP: uint8(r.IntN(2)),
				Packets: r.Uint64N(1000), Reordered: r.Int64N(5) - 2, PeakPackets: r.Uint64N(50),
			}
			k := key{iv.Dst.Lo, iv.Start / 3600e9}
			if latency[k] == nil {
				latency[k] = new(sketch.Histogram)
			}
			for range r.IntN(20) {
				iv.AckLatency.Add(r.Int64N(1 << r.IntN(40)))
			}
			latency[k].Merge(&iv.AckLatency)
			all.Merge(&iv.AckLatency)
			packets[k] += iv.Packets
			rare[k] += iv.Reordered
			peak[k] = max(peak[k], iv.PeakPackets)
			b.Append(&origin, []record.FlowInterval{iv})
		}
		for range 1 + n%2 {
			insert(t, c, b, fmt.Sprint("batch ", n))
		}
	}
	for _, table := range []string{"flow_intervals", "flow_1m", "flow_1h"} {
		got := strings.Split(query(t, c, `SELECT toUInt64(reinterpretAsUInt128(reverse(reinterpretAsString(dst)))) AS dst, toUnixTimestamp(toStartOfHour(time)) AS hour,
			sum(packets) AS packets, sum(rare['reordered']) AS reordered, max(peak_packets) AS peak, sumMap(ack_latency) AS latency
			FROM rocelens.`+table+` GROUP BY dst, hour ORDER BY dst, hour`), "\n")
		if len(got) != len(packets) {
			t.Errorf("%s: %d flows and hours, want %d", table, len(got), len(packets))
		}
		for _, line := range got {
			var row struct {
				Dst       uint64
				Hour      int64
				Packets   uint64
				Reordered int64
				Peak      uint64
				Latency   map[int]uint64
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			k := key{row.Dst, row.Hour / 3600}
			if row.Packets != packets[k] || row.Reordered != rare[k] || row.Peak != peak[k] {
				t.Errorf("%s %v: %d packets, %d reordered, peak %d, want %d, %d, %d", table, k, row.Packets, row.Reordered, row.Peak, packets[k], rare[k], peak[k])
			}
			want := map[int]uint64{}
			latency[k].Each(func(bucket int, n uint32) { want[bucket] = uint64(n) })
			if fmt.Sprint(row.Latency) != fmt.Sprint(want) {
				t.Errorf("%s %v: latencies %v, want %v", table, k, row.Latency, want)
			}
		}
		// The query of the docs gives what the histogram itself says.
		var p struct{ NS []int64 }
		sql := strings.ReplaceAll(schema.QuantilesQuery, "flow_intervals", table)
		if err := json.Unmarshal([]byte(query(t, c, sql)), &p); err != nil {
			t.Fatal(err)
		}
		if want := []int64{all.Quantile(0.5), all.Quantile(0.99), all.Quantile(0.999)}; !slices.Equal(p.NS, want) {
			t.Errorf("%s: percentiles %v, want %v", table, p.NS, want)
		}
	}
	if got := query(t, c, "SELECT count() AS n FROM rocelens.flow_1h"); got == `{"n":0}` {
		t.Error("nothing in flow_1h")
	}
}

// TestBucketMiddle: SQL and Go agree on every bucket.
func TestBucketMiddle(t *testing.T) {
	c := store(t, schema.DefaultOptions())
	var row struct{ Middles []int64 }
	sql := fmt.Sprintf("SELECT arrayMap(b -> %s, range(%d)) AS middles", schema.BucketMiddle("b"), sketch.NumBuckets)
	if err := json.Unmarshal([]byte(query(t, c, sql)), &row); err != nil {
		t.Fatal(err)
	}
	if len(row.Middles) != sketch.NumBuckets {
		t.Fatalf("%d buckets", len(row.Middles))
	}
	for b, got := range row.Middles {
		if low, high := sketch.Bounds(b); got != low+(high-low)/2 {
			t.Errorf("bucket %d: middle %d of %d to %d", b, got, low, high)
		}
	}
}

// TestClusterSyntax: ClickHouse can at least read what it can't run here, and
// accepts what rows are spread by.
func TestClusterSyntax(t *testing.T) {
	c := store(t, schema.DefaultOptions())
	o := schema.DefaultOptions()
	o.Cluster = "rails"
	for _, s := range statements(o) {
		if err := c.Exec(t.Context(), "EXPLAIN AST "+s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, table := range schema.Tables() {
		if err := c.Exec(t.Context(), "SELECT "+table.Shard+" FROM rocelens."+table.Name); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}
