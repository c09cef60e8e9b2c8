package query_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

// TestStatus: what is said of a store is what was put into it, from nothing on.
func TestStatus(t *testing.T) {
	m := connect(t, client.FromEngine(enginetest.Start(t, "", false).Endpoint()), schema.DefaultDatabase)
	st, err := m.Status(t.Context())
	if err != nil || st.Schema != 0 || st.Known != schema.Version || st.Engine == "" || st.Tables != nil {
		t.Errorf("a store without tables: %+v %v", st, err)
	}
	m.create(t, func(s string) string { return s })
	st, err = m.Status(t.Context())
	if err != nil || st.Schema != schema.Version || len(st.Tables) != len(schema.Tables()) || len(st.Probes) != 0 || len(st.Dropped) != 0 {
		t.Errorf("a store without rows: %+v %v", st, err)
	}
	for _, table := range st.Tables {
		if table != (query.TableStatus{Table: table.Table}) {
			t.Errorf("without rows: %+v", table)
		}
	}
	if r, err := m.Span(t.Context(), query.Where{}); err != nil || r != (query.Range{}) {
		t.Errorf("without rows, from %v to %v: %v", r.From, r.To, err)
	}

	k := makeKnown("leaf-1", 1)
	k.load(t, m)
	first, last := int64(math.MaxInt64), int64(0)
	for _, iv := range k.intervals {
		first, last = min(first, iv.Start), max(last, iv.Start)
	}
	other := storetest.Origin
	other.Probe = "leaf-2"
	at := storetest.Day
	// The newest row of a run counts, and removed ones do not.
	load(t, m, schema.Runs(), &storetest.Origin, []schema.Run{{Updated: at, State: schema.RunBegun}, {Updated: at + 5e9, State: schema.RunFinished, Rows: 7, Dropped: 1}})
	load(t, m, schema.Runs(), &other, []schema.Run{{Updated: at, State: schema.RunBegun, Rows: 2}})
	gone := other
	gone.Run = "gone"
	load(t, m, schema.Runs(), &gone, []schema.Run{{Updated: at, State: schema.RunRemoved, Rows: 100}})
	load(t, m, schema.ProbeStats(), &storetest.Origin, []schema.Stat{
		{Time: at, Input: -1, Name: "store_rows_dropped", Of: "events", Value: 3}, {Time: at + 1, Input: -1, Name: "store_rows_dropped", Of: "events", Value: 5},
		{Time: at, Input: -1, Name: "store_rows_dropped", Of: "runs"}, {Time: at, Input: -1, Name: "store_rows_written", Of: "events", Value: 1000},
	})
	load(t, m, schema.ProbeStats(), &other, []schema.Stat{{Time: at, Input: -1, Name: "store_rows_dropped", Of: "events", Value: 10}})
	if st, err = m.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range st.Tables {
		switch table.Table {
		case "flow_intervals":
			if table.Rows != uint64(len(k.intervals)) || table.Parts == 0 || table.Bytes < 10_000 || math.Abs(table.BytesPerRow*float64(table.Rows)-float64(table.Bytes)) > 1 ||
				table.Oldest.UnixNano() != first || table.Newest.UnixNano() != last {
				t.Errorf("%+v, want %d rows from %d to %d", table, len(k.intervals), first, last)
			}
		case "pause_intervals":
			if table.Rows != uint64(len(k.pauses)) {
				t.Errorf("%+v, want %d rows", table, len(k.pauses))
			}
		case "flow_1h":
			if table.Rows == 0 || table.Oldest.UnixNano()%3600e9 != 0 {
				t.Errorf("%+v", table)
			}
		case "sessions":
			if table.Rows != 0 || !table.Oldest.IsZero() {
				t.Errorf("%+v", table)
			}
		}
	}
	begin := time.Unix(0, at).UTC()
	if diff := cmp.Diff([]query.ProbeStatus{
		{Probe: "leaf-1", Runs: 1, Rows: 7, Dropped: 1, LastSeen: begin.Add(5 * time.Second)},
		{Probe: "leaf-2", Runs: 1, Open: 1, Rows: 2, LastSeen: begin},
	}, st.Probes); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]query.DroppedRows{{Table: "events", Rows: 15}}, st.Dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	// On a cluster, parts are those of its servers. This one knows of none.
	o := m.o
	o.Cluster = "rails"
	if _, err := query.New(m.Client, o, query.DefaultTimeout).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "Requested cluster 'rails' not found") {
		t.Errorf("of a cluster that there is not: %v", err)
	}
	r, err := m.Span(t.Context(), query.Where{})
	for i := range k.pauses {
		first, last = min(first, k.pauses[i].Start.Time), max(last, k.pauses[i].Start.Time)
	}
	hour := time.Unix(0, first).UTC().Truncate(time.Hour) // of flow_1h
	if err != nil || !r.From.Equal(hour) || r.To.UnixNano() != last+1 {
		t.Errorf("from %v to %v, want %v to %v: %v", r.From, r.To, hour, time.Unix(0, last+1).UTC(), err)
	}
	// That there was nothing in a capture is of no time, and others are not asked for.
	if err := m.Exec(t.Context(), "INSERT INTO "+m.o.Name(schema.Findings().Table)+" (probe, tap, time, code) VALUES ('leaf-3', 'empty.pcap', '2100-01-01 00:00:00', 'no-roce')"); err != nil {
		t.Fatal(err)
	}
	if again, err := m.Span(t.Context(), query.Where{}); err != nil || again != r {
		t.Errorf("from %v to %v with an empty capture: %v", again.From, again.To, err)
	}
	for _, c := range []struct {
		where query.Where
		year  int
	}{{query.Where{Probe: "leaf-3"}, 2100}, {query.Where{Tap: "empty.pcap"}, 2100}, {query.Where{Probe: "leaf-3", Tap: "nowhere"}, 1}} {
		if r, err := m.Span(t.Context(), c.where); err != nil || r.From.Year() != c.year || r.To.Year() != c.year {
			t.Errorf("%+v: from %v to %v: %v", c.where, r.From, r.To, err)
		}
	}
}
