package query_test

import (
	"fmt"
	"os"
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

// daySize is a day that questions are asked of.
type daySize storetest.DaySize

var fullDay = daySize(storetest.FullDay)

// make fills the tables with the day.
func (d daySize) make(t testing.TB, m *made) {
	t.Helper()
	if err := storetest.DaySize(d).Fill(&m.o, func(sql string) error { return m.Exec(t.Context(), sql) }); err != nil {
		t.Fatal(err)
	}
}

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
	one := d.Sessions * 29 / 48 // a session of half past two
	var flow uint64
	if err := m.Row(t.Context(), []any{&flow}, "SELECT cityHash64(toUInt64("+strconv.Itoa(d.Flows/2)+"))"); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := m.Row(t.Context(), []any{&id}, "SELECT "+storetest.SessionID(fmt.Sprintf("toUInt64(%d)", one))); err != nil {
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
			if q.hour && all*10 >= uint64(d.Rows) && n*20 > all {
				t.Errorf("%s reads %d of %d rows of %s", q.name, n, all, table)
			}
			sum += n
		}
		if sum == 0 || q.hour && sum*20 > uint64(d.Rows) {
			t.Errorf("%s reads %d rows, of %d of flows in the day", q.name, sum, d.Rows)
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
	d := daySize(storetest.FullDay.Scaled(scale))
	d.make(t, m)
	d.readsLittle(t, m)
}

// BenchmarkQuestions asks the questions of a day of ten million flow intervals, or
// of as many as ROCELENS_BENCH_ROWS says.
func BenchmarkQuestions(b *testing.B) {
	d := fullDay
	if s := os.Getenv("ROCELENS_BENCH_ROWS"); s != "" {
		var err error
		if d.Rows, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	m := start(b)
	begin := time.Now()
	d.make(b, m)
	b.Logf("%d rows made in %v", d.Rows, time.Since(begin))
	if d.Rows >= fullDay.Rows { // else granules are large beside an hour
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
