package query_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

// daySize is how much there is in the day that the speed of questions is measured
// on.
type daySize struct{ rows, flows, sessions, pauses, events int }

// fullDay is that of the benchmark, and burst for how many intervals of a second
// a flow is active at a time.
var fullDay = daySize{rows: 10_000_000, flows: 10_000, sessions: 200_000, pauses: 1_000_000, events: 1_000_000}

const burst = 20

// make fills the tables with a day, by statements alone.
func (d daySize) make(t testing.TB, m *made) {
	t.Helper()
	slots := d.rows / (d.flows * burst) // each flow has one burst in each
	if slots < 24 {
		t.Fatalf("%d rows are too few for a day of %d flows", d.rows, d.flows)
	}
	day := strconv.FormatInt(storetest.Day/1e9, 10)
	n := strconv.Itoa
	fill := func(table *schema.Table, rows int, with string, columns [][2]string) {
		t.Helper()
		var names, values []string
		for _, c := range columns {
			names, values = append(names, schema.Quote(c[0])), append(values, c[1]+" AS "+schema.Quote(c[0]))
		}
		const piece = 1_000_000 // no statement takes minutes
		for from := 0; from < rows; from += piece {
			m.exec(t, "INSERT INTO "+m.o.Name(table)+" ("+strings.Join(names, ", ")+")\nWITH "+with+"\nSELECT "+strings.Join(values, ",\n    ")+
				"\nFROM numbers("+n(from)+", "+n(min(piece, rows-from))+") SETTINGS max_insert_threads = 1, max_threads = 1")
		}
	}
	buckets := func(from string, count string) string {
		return "mapFromArrays(arrayMap(i -> toUInt16(" + from + " + i), range(" + count + ")), arrayMap(i -> toUInt64(1 + bitAnd(bitShiftRight(h, 3 * i), 7)), range(" + count + ")))"
	}
	place := [][2]string{{"probe", "'leaf-1'"}, {"run", "'0123456789abcdef0123456789abcdef'"}, {"tap", "'mirror0'"}}
	flows := append(slices.Clone(place), [][2]string{
		{"time", "fromUnixTimestamp64Nano((" + day + " + second) * 1000000000, 'UTC')"}, {"length_ns", "1000000000"},
		{"flow", "hf"}, {"version", "'v2'"}, {"service", "'RC'"}, {"packets", "n"},
		{"flow_start", "fromUnixTimestamp64Nano(" + day + " * 1000000000 + f * 1000000, 'UTC')"},
		{"src", "toIPv6('10.0.' || toString(intDiv(f, 200) % 50) || '.' || toString(f % 200))"},
		{"dst", "toIPv6('10.1.' || toString(intDiv(f, 200) % 50) || '.' || toString(f % 199))"},
		{"src_qpn", "257 + f"}, {"dst_qpn", "256 + f"}, {"vni", "-1"}, {"incarnation", "1"}, {"pairing", "'ack'"}, {"application", "'nvme-rdma'"},
		{"interface", "if(f % 2, 'swp1', 'swp2')"}, {"src_mac", "'02:00:00:00:00:' || lower(hex(toUInt8(f % 200)))"}, {"dst_mac", "'02:01:00:00:00:' || lower(hex(toUInt8(f % 199)))"},
		{"src_port", "49152 + f % 16384"}, {"dscp", "[26, 26, 26, 46][f % 4 + 1]"}, {"priority", "3"},
		{"wire_bytes", "n * 1114"}, {"payload_bytes", "n * 1024"}, {"goodput_bytes", "n * 1024"},
		{"ect0", "n - if(congested, intDiv(n, 50), 0)"}, {"ce", "if(congested, intDiv(n, 50), 0)"}, {"acks", "intDiv(n, 16)"},
		{"writes", "intDiv(n, 64)"}, {"messages_completed", "intDiv(n, 64)"},
		{"retransmitted_packets", "if(bad, 8 + h % 24, 0)"}, {"retransmitted_bytes", "retransmitted_packets * 1024"}, {"tries", "bad"}, {"lost_before_tap", "if(bad, 1 + h % 3, 0)"},
		{"cnps_received", "if(congested, 1 + intDiv(n, 400), 0)"}, {"peak_packets", "128"}, {"peak_bytes", "131072"},
		{"rare", "if(bad, map('fills', toInt64(8), 'tries_nak', 1, 'episodes', 1), map())"},
		{"ack_latency", buckets("72 + hf % 48", "12")}, {"write_latency", buckets("96 + hf % 48", "9")},
		{"np_delay", buckets("101", "if(congested, 6, 0)")},
	}...)
	fill(schema.FlowIntervals().Table, slots*d.flows*burst,
		n(d.flows*burst)+" AS inSlot, 86400 / "+n(slots)+" AS slotLength, intDiv(number, inSlot) AS slot, intDiv(number % inSlot, "+n(burst)+") AS f, "+
			"toUInt64(slot * slotLength + cityHash64(f, slot) % toUInt64(slotLength - "+n(burst)+") + number % "+n(burst)+") AS second, "+
			"cityHash64(number) AS h, cityHash64(f) AS hf, 50 + hf % 5000 + h % 500 AS n, bitShiftRight(h, 20) % 20 = 0 AS bad, bitShiftRight(h, 30) % 10 = 0 AS congested",
		flows)
	fill(schema.PauseIntervals().Table, d.pauses, "cityHash64(number) AS h, h % 64 AS port",
		append(slices.Clone(place), [][2]string{
			{"time", "fromUnixTimestamp64Nano(" + day + " * 1000000000 + number * " + n(86_400_000_000_000/d.pauses) + ", 'UTC')"},
			{"interface", "'swp' || toString(port)"}, {"src_mac", "'02:01:00:00:00:' || lower(hex(toUInt8(port)))"}, {"type", "'pfc'"}, {"priority", "3 + port % 2"},
			{"paused_ns", "1000 + h % 100000"}, {"frames", "1 + h % 3"}, {"quanta", "65535"}, {"end", "'xon'"}, {"storm", "port = 7"},
		}...))
	fill(schema.Sessions().Table, d.sessions, "cityHash64(number) AS h, intDiv(number * 86400000, "+n(d.sessions)+") * 1000000 AS begin",
		append(slices.Clone(place), [][2]string{
			{"updated", "last"}, {"final", "true"}, {"session", sessionID("number")}, {"version", "'v2'"}, {"service", "'RC'"}, {"vni", "-1"},
			{"a_addr", "toIPv6('10.0.' || toString(intDiv(h, 200) % 50) || '.' || toString(h % 200))"}, {"a_qpn", "256 + 2 * number"},
			{"b_addr", "toIPv6('10.1.' || toString(intDiv(h, 200) % 50) || '.' || toString(h % 199))"}, {"b_qpn", "257 + 2 * number"},
			{"first", "fromUnixTimestamp64Nano(" + day + " * 1000000000 + begin, 'UTC')"}, {"last", "first + toIntervalSecond(60)"}, {"a_packets", "h % 100000"}, {"b_packets", "h % 5000"},
		}...))
	fill(schema.Events().Table, d.events, "cityHash64(number) AS h",
		append(slices.Clone(place), [][2]string{
			{"time", "fromUnixTimestamp64Nano(" + day + " * 1000000000 + number * " + n(86_400_000_000_000/d.events) + ", 'UTC')"},
			{"kind", "['nak', 'try', 'episode', 'cnp', 'ce', 'storm'][h % 6 + 1]"}, {"session", "if(kind = 'storm', '', " + sessionID("intDiv(number * "+n(d.sessions)+", "+n(d.events)+")") + ")"},
			{"interface", "if(kind = 'storm', 'swp7', '')"}, {"count", "1"}, {"psn", "h % 16777216"}, {"psn_last", "psn"},
			{"words", "if(kind = 'storm', map('src_mac', '02:01:00:00:00:07', 'type', 'pfc', 'priorities', '4'), map())"},
		}...))
}

// sessionID is an expression for the id of a session with a number.
func sessionID(number string) string { return "'v2/' || hex(cityHash64(" + number + "))" }

// question is one that has to be answered fast.
type question struct {
	name string
	of   interface {
		Statement(*schema.Options) (*query.Statement, error)
	}
	hour  bool          // it is about an hour, and may read 5 % of what there is
	limit time.Duration // of the answer
}

// questions are those that are asked of it.
func (d daySize) questions(t testing.TB, m *made) []question {
	t.Helper()
	hour := query.Range{From: utc(14, 0), To: utc(15, 0)}
	day := query.Range{From: utc(0, 0), To: utc(24, 0)}
	one := d.sessions * 29 / 48 // a session of half past two
	var flow uint64
	if err := m.Row(t.Context(), []any{&flow}, "SELECT cityHash64(toUInt64("+strconv.Itoa(d.flows/2)+"))"); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := m.Row(t.Context(), []any{&id}, "SELECT "+sessionID(fmt.Sprintf("toUInt64(%d)", one))); err != nil {
		t.Fatal(err)
	}
	all := []question{
		{"session by QPN", query.Sessions{QPN: uint32(256 + 2*one), HasQPN: true}, true, 300},
		{"events of a session", query.Events{Range: hour, Session: id}, true, 300},
		{"storms", query.Storms{Range: hour}, true, 300},
		{"flow's hour", query.FlowSeries{Range: hour, Flow: flow}, true, 300},
		{"flow's day", query.FlowSeries{Range: day, Flow: flow}, false, 300},
		{"flow's day, intervals", query.FlowSeries{Range: day, Flow: flow, Source: query.Intervals, Step: time.Second}, false, 300},
		{"lag by DSCP", query.LagByDSCP(hour, query.Where{}), true, 300},
		{"totals by tap", query.Totals{Range: hour, By: query.PerTap}, true, 300},
		{"percentiles of an hour, intervals", query.Percentiles{Range: hour, Source: query.Intervals}, true, 600},
		{"percentiles of a day, hours", query.Percentiles{Range: day, Source: query.Hours}, false, 600},
	}
	lag := query.LagByDSCP(hour, query.Where{})
	lag.Source = query.Intervals
	all = append(all, question{"lag by DSCP, intervals", lag, true, 300})
	for by := range query.ByCE + 1 {
		all = append(all,
			question{"worst flows by " + by.String(), query.WorstFlows{Range: hour, By: by}, true, 300},
			question{"worst flows by " + by.String() + ", intervals", query.WorstFlows{Range: hour, By: by, Source: query.Intervals}, true, 300})
	}
	for i := range all {
		all[i].limit *= time.Millisecond
	}
	return all
}

// estimate is how many rows of each table a statement reads.
func estimate(t testing.TB, m *made, q question) map[string]uint64 {
	t.Helper()
	st, err := q.of.Statement(&m.o)
	if err != nil {
		t.Fatal(err)
	}
	sql, err := st.Expand(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]uint64{}
	err = m.Query(t.Context(), func(rows driver.Rows) error {
		for rows.Next() {
			var database, table string
			var parts, n, marks uint64
			if err := rows.Scan(&database, &table, &parts, &n, &marks); err != nil {
				return err
			}
			read[table] += n
		}
		return rows.Err()
	}, "EXPLAIN ESTIMATE "+sql)
	if err != nil {
		t.Fatalf("%s: %v", q.name, err)
	}
	return read
}

// readsLittle: a question about an hour of a day reads 5 % of the day's flow
// intervals at most, and 5 % of each table that has a tenth as many rows or more.
func (d daySize) readsLittle(t testing.TB, m *made) {
	t.Helper()
	for _, q := range d.questions(t, m) {
		sum := uint64(0)
		for table, n := range estimate(t, m, q) {
			var all uint64
			if err := m.Row(t.Context(), []any{&all}, "SELECT count() FROM rocelens."+table); err != nil {
				t.Fatal(err)
			}
			t.Logf("%-40s %9d of %9d rows of %s, %.1f %%", q.name, n, all, table, 100*float64(n)/float64(all))
			if q.hour && all*10 >= uint64(d.rows) && n*20 > all {
				t.Errorf("%s reads %d of %d rows of %s", q.name, n, all, table)
			}
			sum += n
		}
		if sum == 0 || q.hour && sum*20 > uint64(d.rows) {
			t.Errorf("%s reads %d rows, of %d of flows in the day", q.name, sum, d.rows)
		}
	}
}

// TestRowsRead is of the day of the benchmark at a scale of one to eight, granules
// included. The benchmark does the same at full size.
func TestRowsRead(t *testing.T) {
	const scale = 8
	m := connect(t, client.FromEngine(enginetest.Start(t, "", false).Endpoint()), schema.DefaultDatabase)
	m.create(t, func(s string) string {
		return strings.Replace(s, "SETTINGS ", fmt.Sprintf("SETTINGS index_granularity = %d, ", 8192/scale), 1)
	})
	d := daySize{rows: fullDay.rows / scale, flows: fullDay.flows / scale, sessions: fullDay.sessions / scale, pauses: fullDay.pauses / scale, events: fullDay.events / scale}
	d.make(t, m)
	d.readsLittle(t, m)
}

// BenchmarkQuestions asks the questions of a day of ten million flow intervals, or
// of as many as ROCELENS_BENCH_ROWS says.
func BenchmarkQuestions(b *testing.B) {
	d := fullDay
	if s := os.Getenv("ROCELENS_BENCH_ROWS"); s != "" {
		var err error
		if d.rows, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	m := start(b)
	begin := time.Now()
	d.make(b, m)
	b.Logf("%d rows made in %v", d.rows, time.Since(begin))
	if d.rows >= fullDay.rows { // else granules are large beside an hour
		d.readsLittle(b, m)
	}
	for _, q := range d.questions(b, m) {
		b.Run(q.name, func(b *testing.B) {
			least := time.Hour
			for b.Loop() {
				begin := time.Now()
				q.ask(b, m)
				least = min(least, time.Since(begin))
			}
			b.ReportMetric(float64(least)/1e6, "ms-least")
			b.ReportMetric(0, "B/op")
		})
	}
	for _, table := range schema.Tables() {
		var n, bytes uint64
		if err := m.Row(b.Context(), []any{&n, &bytes}, "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'rocelens' AND table = '"+table.Name+"'"); err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %d rows, %.1f bytes a row", table.Name, n, float64(bytes)/float64(max(n, 1)))
	}
}

// ask asks and fails where there is no answer.
func (q question) ask(t testing.TB, m *made) {
	t.Helper()
	n := 0
	var err error
	switch of := q.of.(type) {
	case query.Sessions:
		n, err = count(m.Sessions(t.Context(), of))
	case query.Events:
		n, err = count(m.Events(t.Context(), of))
	case query.Storms:
		n, err = count(m.Storms(t.Context(), of))
	case query.FlowSeries:
		n, err = count(m.FlowSeries(t.Context(), of))
	case query.Percentiles:
		n, err = count(m.Percentiles(t.Context(), of))
	case query.Totals:
		n, err = count(m.Totals(t.Context(), of))
	case query.WorstFlows:
		n, err = count(m.WorstFlows(t.Context(), of))
	default:
		err = fmt.Errorf("unknown question %T", of)
	}
	if err != nil || n == 0 {
		t.Fatalf("%s: %d rows: %v", q.name, n, err)
	}
}

func count[T any](a *query.Answer[T], err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(a.Rows), nil
}
