package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Status is what is in a store.
type Status struct {
	Engine   string `json:"engine"` // ClickHouse's version
	Database string `json:"database"`
	Cluster  string `json:"cluster,omitempty"`
	// Schema is the version of the tables, 0 where there are none, and Known the
	// one that this rocelens makes.
	Schema int           `json:"schema"`
	Known  int           `json:"schema_known"`
	Tables []TableStatus `json:"tables"`
	Probes []ProbeStatus `json:"probes"`
	// Dropped are the rows that probes could not write, by table.
	Dropped []DroppedRows `json:"dropped"`
}

// TableStatus is what is in a table. Of replicas one counts.
type TableStatus struct {
	Table       string    `json:"table"`
	Rows        uint64    `json:"rows"`
	Parts       uint64    `json:"parts"`
	Bytes       uint64    `json:"bytes"` // on disk
	BytesPerRow float64   `json:"bytes_per_row"`
	Oldest      time.Time `json:"oldest,omitzero"` // zero without rows
	Newest      time.Time `json:"newest,omitzero"`
}

// ProbeStatus is what a probe wrote, as its runs say.
type ProbeStatus struct {
	Probe    string    `json:"probe"`
	Runs     uint64    `json:"runs"`
	Open     uint64    `json:"open"` // of them, that were not finished
	Rows     uint64    `json:"rows"`
	Dropped  uint64    `json:"dropped"`
	LastSeen time.Time `json:"last_seen"` // when a run last said how it is
}

// DroppedRows are rows that are not in the store.
type DroppedRows struct {
	Table string `json:"table"`
	Rows  uint64 `json:"rows"`
}

// statDropped is the counter of dropped rows in probe_stats.
const statDropped = "store_rows_dropped"

// timeOf is the column with the time of a table's rows, by which the index finds
// the oldest and the newest without reading rows.
func timeOf(t *schema.Table) string {
	for _, name := range []string{"time", "first", "updated"} {
		for i := range t.Columns {
			if t.Columns[i].Name == name {
				return name
			}
		}
	}
	return "loaded"
}

// Status asks what is in the store. That there are no tables is no error.
func (s *Store) Status(ctx context.Context) (*Status, error) {
	st := &Status{Database: s.options.Database, Cluster: s.options.Cluster, Known: schema.Version}
	type engineRow struct {
		Version string `json:"version"`
		Comment string `json:"comment"`
		Tables  uint64 `json:"tables"`
	}
	runs := schema.Runs().Table
	var b builder
	database, name := b.text("database", s.options.Database), b.text("name", runs.Name)
	b.SQL = "SELECT version() AS version, anyIf(comment, name = " + name + ") AS comment, countIf(name = " + name + ") AS tables\nFROM system.tables WHERE database = " + database
	rows, err := rowsOf[engineRow](ctx, s, &b.Statement)
	if err != nil {
		return nil, err
	}
	st.Engine, st.Schema = rows[0].Version, schema.VersionIn(rows[0].Comment)
	if rows[0].Tables == 0 {
		return st, nil
	}
	if st.Tables, err = s.tables(ctx); err != nil {
		return nil, err
	}
	st.Probes, err = rowsOf[ProbeStatus](ctx, s, &Statement{Table: runs.Name, SQL: `SELECT probe, count() AS runs, countIf(state != '` + schema.RunFinished.String() + `') AS open,
    sum(s.rows) AS rows, sum(s.dropped) AS dropped, max(updated) AS last_seen
FROM ` + s.options.Name(runs) + ` AS s FINAL
WHERE state != '` + schema.RunRemoved.String() + `'
GROUP BY probe ORDER BY probe`})
	if err != nil {
		return nil, err
	}
	stats := schema.ProbeStats().Table
	// Counters count from the beginning of a run.
	st.Dropped, err = rowsOf[DroppedRows](ctx, s, &Statement{Table: stats.Name, SQL: `SELECT table, sum(most) AS rows
FROM
(
    SELECT of AS table, max(value) AS most
    FROM ` + s.options.Name(stats) + `
    WHERE name = '` + statDropped + `'
    GROUP BY table, probe, run, tap
)
GROUP BY table HAVING rows > 0 ORDER BY table`})
	return st, err
}

// tables are all of them.
func (s *Store) tables(ctx context.Context) ([]TableStatus, error) {
	tables := schema.Tables()
	var all []string
	for _, t := range tables {
		at := timeOf(t)
		all = append(all, "SELECT '"+t.Name+"' AS table, count() AS rows, toDateTime64(min("+at+"), 9, 'UTC') AS oldest, toDateTime64(max("+at+"), 9, 'UTC') AS newest FROM "+s.options.Name(t))
	}
	parts := "system.parts"
	if s.options.Cluster != "" {
		parts = "cluster(" + schema.Text(s.options.Cluster) + ", system.parts)"
	}
	type partsRow struct {
		Table string `json:"table"`
		Parts uint64 `json:"parts"`
		Bytes uint64 `json:"bytes"`
	}
	type rowsRow struct {
		Table  string    `json:"table"`
		Rows   uint64    `json:"rows"`
		Oldest time.Time `json:"oldest"`
		Newest time.Time `json:"newest"`
	}
	counted, err := rowsOf[rowsRow](ctx, s, &Statement{Table: "all tables", SQL: strings.Join(all, "\nUNION ALL ")})
	if err != nil {
		return nil, err
	}
	var b builder
	b.Table = parts
	b.SQL = "SELECT table, count() AS parts, sum(bytes_on_disk) AS bytes FROM " + parts + " WHERE active AND database = " + b.text("database", s.options.Database) + " GROUP BY table"
	onDisk, err := rowsOf[partsRow](ctx, s, &b.Statement)
	if err != nil {
		return nil, err
	}
	status := make([]TableStatus, len(tables))
	for i, t := range tables {
		row := &status[i]
		row.Table = t.Name
		for _, c := range counted {
			if c.Table == t.Name && c.Rows > 0 {
				row.Rows, row.Oldest, row.Newest = c.Rows, c.Oldest, c.Newest
			}
		}
		for _, p := range onDisk {
			if p.Table == s.options.LocalName(t) {
				row.Parts, row.Bytes = p.Parts, p.Bytes
			}
		}
		if row.Rows > 0 {
			row.BytesPerRow = float64(row.Bytes) / float64(row.Rows)
		}
	}
	return status, nil
}

// Span is the time that the store has records of from somewhere, To itself is
// outside. It is zero where there are none. Findings count only where there is
// nothing else: that there was no RoCE in a capture has no time but that of loading it.
func (s *Store) Span(ctx context.Context, w Where) (Range, error) {
	type span struct {
		Rows   uint64    `json:"rows"`
		Oldest time.Time `json:"oldest"`
		Newest time.Time `json:"newest"`
	}
	var b builder
	b.place(w)
	var all []string
	for _, t := range schema.Tables() {
		if t.Keep == schema.KeepForever || t.Keep == schema.KeepStats {
			continue // when somebody looked
		}
		at := timeOf(t)
		all = append(all, fmt.Sprintf("SELECT %t AS last, toDateTime64(min(%s), 9, 'UTC') AS oldest, toDateTime64(max(%s), 9, 'UTC') AS newest, count() AS n FROM %s AS s%s",
			t.Name == schema.Findings().Table.Name, at, at, s.options.Name(t), b.conditions()))
	}
	b.Table = "all tables"
	b.SQL = "SELECT sum(n) AS rows, min(u.oldest) AS oldest, max(u.newest) AS newest\nFROM\n(\n    " +
		strings.Join(all, "\n    UNION ALL ") + "\n) AS u\nWHERE n > 0\nGROUP BY last ORDER BY last LIMIT 1"
	rows, err := rowsOf[span](ctx, s, &b.Statement)
	if err != nil || len(rows) == 0 || rows[0].Rows == 0 {
		return Range{}, err
	}
	return Range{From: rows[0].Oldest, To: rows[0].Newest.Add(1)}, nil
}
