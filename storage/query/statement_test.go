package query_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

var update = flag.Bool("update", false, "write the statements in testdata anew; read them before keeping them")

type asked interface {
	Statement(*schema.Options) (*query.Statement, error)
}

// TestStatements holds the SQL of each question against testdata.
func TestStatements(t *testing.T) {
	r := query.Range{From: utc(1, 0), To: utc(1, 30)}
	w := query.Where{Probe: "leaf-1", Run: "r", Tap: "mirror0"}
	o := schema.DefaultOptions()
	var got strings.Builder
	for _, q := range []struct {
		name string
		of   asked
	}{
		{"sessions", query.Sessions{Range: r, Where: w, ID: "x", QPN: 0x8c, HasQPN: true, Addr: netip.MustParseAddr("10.0.0.1")}},
		{"events", query.Events{Range: r, Where: w, Session: "x", Kind: "nak"}},
		{"findings", query.Findings{Range: r, Where: w, Session: "x", Severity: record.Warning}},
		{"worst flows", query.WorstFlows{Range: r, Where: w, By: query.ByLost, MinPackets: 100}},
		{"worst flows by pause", query.WorstFlows{Range: r, Where: w, By: query.ByPause}},
		{"flow", query.FlowSeries{Range: r, Where: w, Flow: 7, Source: query.Minutes}},
		{"storms", query.Storms{Range: r, Where: w}},
		{"lag by DSCP", query.LagByDSCP(r, w)},
		{"totals of a time", query.Totals{Range: r, Where: w, By: query.PerTap, Source: query.Hours}},
		{"totals", query.Totals{Where: w, By: query.PerRun}},
	} {
		st, err := q.of.Statement(&o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "-- %s\n%s\n\n", q.name, st.SQL)
	}
	path := filepath.Join("testdata", "statements.sql")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-as written +as made); -update writes it:\n%s", path, diff)
	}
}

// TestExpand: macros of a board come in the place of parameters, values in that
// of the others.
func TestExpand(t *testing.T) {
	o := schema.DefaultOptions()
	st, err := query.WorstFlows{Range: hourRange, Where: query.Where{Tap: `it's \`, Filter: true}}.Statement(&o)
	if err != nil {
		t.Fatal(err)
	}
	if sql, err := st.Expand(nil); err != nil || !strings.Contains(sql, "AND CAST('true', 'Bool')\n") {
		t.Errorf("a filter that nothing is put in the place of: %v\n%s", err, sql)
	}
	sql, err := st.Expand(map[string]string{"from": "$__fromTime", "to": "$__toTime", "filter": "probe IN ('a')"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"s.time >= $__fromTime\n", "toStartOfHour(s.time) >= toStartOfHour($__fromTime)", "s.time < $__toTime\n", `tap = CAST('it\'s \\', 'String')`, "LIMIT CAST('21', 'UInt64')", "    AND probe IN ('a')\n"} {
		if !strings.Contains(sql, want) {
			t.Errorf("no %s in\n%s", want, sql)
		}
	}
	if regexp.MustCompile(`\{[a-z_]+:`).MatchString(sql) {
		t.Errorf("parameters are left in\n%s", sql)
	}
	if _, err := st.Expand(map[string]string{"form": "x"}); err == nil || !strings.Contains(err.Error(), `no parameter "form"`) {
		t.Errorf("a macro for nothing: %v", err)
	}
}

// TestRefused: what can't be answered is said before the store is asked.
func TestRefused(t *testing.T) {
	o := schema.DefaultOptions()
	turned := query.Range{From: utc(2, 0), To: utc(1, 0)}
	for _, c := range []struct {
		of   asked
		want string
	}{
		{query.Sessions{}, "which session?"},
		{query.Sessions{QPN: 1 << 24, HasQPN: true}, "QPN 16777216: use a number from 0 to 16777215"},
		{query.Sessions{ID: "x", Range: turned}, "is empty"},
		{query.Events{Range: turned}, "is empty"},
		{query.Findings{Range: turned}, "is empty"},
		{query.WorstFlows{Range: turned}, "is empty"},
		{query.WorstFlows{Range: query.Range{From: utc(1, 0), To: utc(1, 0)}}, "is empty"},
		{query.WorstFlows{By: 9}, "no measure 9"},
		{query.WorstFlows{By: query.ByPause, Source: query.Hours}, "which hours have not: use the source intervals"},
		{query.WorstFlows{Limit: -1}, "a limit of -1 rows: use 1 to 100000"},
		{query.WorstFlows{Limit: query.MaxLimit + 1}, "use 1 to 100000"},
		{query.FlowSeries{Source: query.Minutes, Step: time.Second}, "a step of 1s: from flow_1m, use multiples of 1m0s"},
		{query.FlowSeries{Source: query.Hours, Step: 90 * time.Minute}, "use multiples of 1h0m0s"},
		{query.FlowSeries{Source: query.Intervals, Step: -1}, "use multiples of 1ms"},
		{query.Percentiles{Of: []string{"packets"}}, `no histogram "packets": use ack_latency, `},
		{query.Percentiles{By: 99}, "no group 99"},
		{query.Totals{By: query.PerDSCP}, "say which"},
		{query.Storms{Range: turned}, "is empty"},
	} {
		_, err := c.of.Statement(&o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.of, err, c.want)
		}
	}
	for _, name := range append(query.SourceNames(), "x") {
		if s, err := query.ParseSource(name); (err == nil) != (name != "x") || err == nil && s.String() != name {
			t.Errorf("source %s: %v %v", name, s, err)
		}
	}
	for _, name := range append(query.MeasureNames(), "x") {
		if s, err := query.ParseMeasure(name); (err == nil) != (name != "x") || err == nil && s.String() != name {
			t.Errorf("measure %s: %v %v", name, s, err)
		}
	}
	for _, name := range append(query.GroupNames(), "x") {
		if s, err := query.ParseGroup(name); (err == nil) != (name != "x") || err == nil && s.String() != name {
			t.Errorf("group %s: %v %v", name, s, err)
		}
	}
}

// TestSources: the table that answers suits the time, and what it answers about
// is whole steps of it.
func TestSources(t *testing.T) {
	o := schema.DefaultOptions()
	at := func(s string) time.Time {
		tm, err := time.Parse(time.RFC3339Nano, "2026-01-"+s+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, c := range []struct{ from, to, table, aboutFrom, aboutTo string }{
		{"01T10:00:00.5", "01T10:59:59", "flow_intervals", "01T10:00:00.5", "01T10:59:59"},
		{"01T10:00:00.5", "01T11:00:00.5", "flow_1m", "01T10:00:00", "01T11:01:00"},
		{"01T10:00:00", "01T11:00:00", "flow_1m", "01T10:00:00", "01T11:00:00"},
		{"01T10:20:00", "03T22:20:00", "flow_1h", "01T10:00:00", "03T23:00:00"},
		{"01T10:20:00", "03T22:19:00", "flow_1m", "01T10:20:00", "03T22:19:00"},
	} {
		st, err := query.WorstFlows{Range: query.Range{From: at(c.from), To: at(c.to)}}.Statement(&o)
		if err != nil {
			t.Fatal(err)
		}
		if st.Table != c.table || !st.From.Equal(at(c.aboutFrom)) || !st.To.Equal(at(c.aboutTo)) {
			t.Errorf("%+v: %s, %v to %v", c, st.Table, st.From, st.To)
		}
	}
}

// TestForeignText: what is asked for is compared, whatever characters it has,
// over both protocols.
func TestForeignText(t *testing.T) {
	e := enginetest.Start(t, "", true).Endpoint()
	m := open(t, client.FromEngine(e), schema.DefaultDatabase)
	native := client.FromEngine(e)
	native.HTTP, native.Addrs = false, []string{e.Native}
	texts := []string{`'`, `\`, `\'`, `a' OR '1'='1`, "tab\tnew\nline\rnul\x00", `{tap:String}`, `{from:DateTime}`, `ü€😀`, `?`, `$1`, `@p`, "`", `"`, `--`, `/*`, `\N`, `NULL`, " "}
	for i, s := range texts {
		load(t, m, schema.FlowIntervals(), &schema.Origin{Probe: "p", Run: "r", Inputs: []schema.Input{{Tap: s}}},
			[]record.FlowInterval{{Start: storetest.Day, Length: 1e9, Packets: uint64(i + 1)}})
		load(t, m, schema.Events(), &storetest.Origin, []record.Event{{Session: s, Time: storetest.Day, Detail: record.Closed{}, Count: uint64(i + 1)}})
	}
	other := open(t, native, schema.DefaultDatabase)
	for protocol, m := range map[string]*made{"HTTP": m, "native": other} {
		for i, s := range texts {
			a, err := m.Totals(t.Context(), query.Totals{Range: hourZero, Where: query.Where{Tap: s}, By: query.PerTap})
			if err != nil || len(a.Rows) != 1 || a.Rows[0].Group != "p "+s || a.Rows[0].Packets != uint64(i+1) {
				t.Errorf("%s, tap %q: %+v %v", protocol, s, a, err)
			}
			e, err := m.Events(t.Context(), query.Events{Session: s})
			if err != nil || len(e.Rows) != 1 || e.Rows[0].Session != s || e.Rows[0].Count != uint64(i+1) {
				t.Errorf("%s, session %q: %+v %v", protocol, s, e, err)
			}
		}
		a, err := m.Totals(t.Context(), query.Totals{Range: hourZero, By: query.PerTap})
		if err != nil || len(a.Rows) != len(texts) || a.More {
			t.Errorf("%s: %d taps: %v", protocol, len(a.Rows), err)
		}
		a, err = m.Totals(t.Context(), query.Totals{Range: hourZero, By: query.PerTap, Limit: len(texts) - 1})
		if err != nil || len(a.Rows) != len(texts)-1 || !a.More {
			t.Errorf("%s: %d taps with a limit: %v", protocol, len(a.Rows), err)
		}
		none, err := m.WorstFlows(t.Context(), query.WorstFlows{})
		if err != nil || len(none.Rows) != 0 || none.More {
			t.Errorf("%s: worst flows where nothing is wrong: %+v %v", protocol, none, err)
		}
	}
}

var hourZero = query.Range{From: utc(0, 0), To: utc(1, 0)}

// TestTimeout: an answer that takes too long ends with a sentence.
func TestTimeout(t *testing.T) {
	m := start(t)
	k := makeKnown("p", 1)
	k.load(t, m)
	m.exec(t, "RENAME TABLE rocelens.flow_intervals TO rocelens.kept")
	m.exec(t, "CREATE VIEW rocelens.flow_intervals AS SELECT * FROM rocelens.kept WHERE sleepEachRow(0.0009) = 0")
	s := query.New(m.Client, m.o, time.Second)
	begin := time.Now()
	_, err := s.WorstFlows(t.Context(), query.WorstFlows{Source: query.Intervals})
	if err == nil || !strings.Contains(err.Error(), "the answer from flow_intervals takes longer than 1s: ask for a shorter time") {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

// TestNoTables: that a store has no tables is said.
func TestNoTables(t *testing.T) {
	m := connect(t, client.FromEngine(enginetest.Start(t, "", false).Endpoint()), "elsewhere")
	for range 2 {
		_, err := m.WorstFlows(t.Context(), query.WorstFlows{})
		if err == nil || err.Error() != "database elsewhere has no tables of rocelens, or not all of them: rocelens store migrate makes them" {
			t.Error(err)
		}
		m.exec(t, m.o.CreateDatabase())
	}
	if !slices.Contains(query.Histograms(), "ack_latency") || len(query.Histograms()) != 10 {
		t.Errorf("histograms: %v", query.Histograms())
	}
}
