package grafana_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/storage/storetest"
)

// fill fills the tables with a day.
func (l *lab) fill(t testing.TB, d storetest.DaySize) {
	t.Helper()
	if err := d.Fill(&l.store.Options, func(sql string) error { return l.store.Exec(t.Context(), sql) }); err != nil {
		t.Fatal(err)
	}
}

// hour is a board that shows an hour of the day, with a session of that hour. Tables are
// sorted by hours of the clock, and most hours of a board reach into two of them.
func (l *lab) hour(t testing.TB, d storetest.DaySize) *boardtest.Screen {
	t.Helper()
	from := time.Unix(0, storetest.Day).UTC().Add(14*time.Hour + 30*time.Minute)
	ids := l.ask(t, "SELECT "+storetest.SessionID(fmt.Sprintf("toUInt64(%d)", d.Sessions*15/24))+" AS id").Data
	return &boardtest.Screen{
		From: from, To: from.Add(time.Hour),
		Variables: map[string][]string{"database": {"rocelens"}, "find": {""}, "session": {ids[0].Text("id")}},
	}
}

// scaled is how many times less there is in the day of the tests than in that of the
// benchmark.
const scaled = 40

// cost: no query about an hour reads much more than the two hours of the clock that it
// reaches into.
func (l *lab) cost(t *testing.T, queries map[string]boardtest.Query, names []string) {
	day := storetest.FullDay.Scaled(scaled)
	l.fill(t, day)
	s := l.hour(t, day)
	const granules = 3 * 8192 // of the index, at the ends of the time, of flows and of pauses
	for _, name := range names {
		a := l.ask(t, s.Of(queries[name]).SQL(t, queries[name].Text))
		// Sessions are found by their columns and not by time: there are few of them.
		if most := uint64(day.Rows/12 + day.Pauses/12 + day.Sessions + granules); a.Statistics.RowsRead > most {
			t.Errorf("%s reads %d rows, and should read %d at most", name, a.Statistics.RowsRead, most)
		}
		if len(a.Data) == 0 {
			t.Errorf("%s has nothing to read in the day", name)
		}
	}
}

// idle: where a flow sends nothing for a while, a panel of its session says so, instead of
// nothing, over which a line would be drawn.
func (l *lab) idle(t *testing.T, queries map[string]boardtest.Query) {
	q := queries["rocelens-session Throughput A"]
	s := l.hour(t, storetest.FullDay.Scaled(scaled)).Of(q)
	sent, silent := 0, 0
	var last time.Time
	for _, r := range l.ask(t, s.SQL(t, q.Text)).Data {
		at, err := time.Parse("2006-01-02 15:04:05.000000000", r.Text("time"))
		if err != nil {
			t.Fatal(err)
		}
		if !last.IsZero() && at.Sub(last) != s.Interval {
			t.Fatalf("from %v to %v is no step of %v", last, at, s.Interval)
		}
		last = at
		if r.Number("a to b") > 0 {
			sent++
		} else {
			silent++
		}
	}
	if sent == 0 || silent == 0 {
		t.Errorf("%d steps with traffic and %d without", sent, silent)
	}
}

// BenchmarkPanels asks what the boards ask, about an hour of a day of ten million flow
// intervals, or of as many as ROCELENS_BENCH_ROWS says.
func BenchmarkPanels(b *testing.B) {
	day := storetest.FullDay
	if s := os.Getenv("ROCELENS_BENCH_ROWS"); s != "" {
		var err error
		if day.Rows, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	l := newLab(b)
	begin := time.Now()
	l.fill(b, day)
	b.Logf("%d rows made in %v", day.Rows, time.Since(begin).Round(time.Second))
	all := l.hour(b, day)
	// The same with variables chosen, which adds conditions.
	chosen := *all
	chosen.Variables = map[string][]string{
		"probe": {"leaf-1"}, "tap": {"mirror0"}, "host": {"10.0.0.1", "10.1.0.1"}, "priority": {"3"}, "application": {"nvme-rdma"}, "find": {"10.0.0.1"},
	}
	for _, name := range []string{"database", "session"} {
		chosen.Variables[name] = all.Variables[name]
	}
	queries, names := boardtest.Named(b, "grafana-clickhouse-datasource")
	type took struct {
		name        string
		least, mean time.Duration
	}
	var each []took
	for _, variables := range []struct {
		what string
		*boardtest.Screen
	}{{"all", all}, {"chosen", &chosen}} {
		done := map[string]bool{} // queries that several boards have
		for _, name := range names {
			sql := variables.Of(queries[name]).SQL(b, queries[name].Text)
			if done[sql] || variables.what == "chosen" && sql == all.Of(queries[name]).SQL(b, queries[name].Text) {
				continue
			}
			done[sql] = true
			t := took{name: variables.what + "/" + strings.TrimPrefix(name, "rocelens-")}
			b.Run(t.name, func(b *testing.B) {
				t.least, t.mean = time.Hour, 0
				rows, n := uint64(0), 0
				for b.Loop() {
					begin := time.Now()
					rows = l.ask(b, sql).Statistics.RowsRead
					d := time.Since(begin)
					t.least, t.mean = min(t.least, d), t.mean+d
					n++
				}
				t.mean /= time.Duration(n)
				b.ReportMetric(float64(t.least)/1e6, "ms-least")
				b.ReportMetric(float64(rows), "rows")
				b.ReportMetric(0, "B/op")
			})
			each = append(each, t)
		}
	}
	slices.SortFunc(each, func(x, y took) int { return cmp.Compare(y.mean, x.mean) })
	for _, t := range each[:min(10, len(each))] {
		b.Logf("%-60s %6.1f ms, at least %.1f ms", t.name, float64(t.mean)/1e6, float64(t.least)/1e6)
	}
}
