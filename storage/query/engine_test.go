package query_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// made is a store with empty tables in an engine.
type made struct {
	*client.Client
	o schema.Options
	*query.Store
	cfg    client.Config
	tokens int // of inserts
}

// connect is a store without tables.
func connect(t testing.TB, cfg client.Config, database string) *made {
	t.Helper()
	c, err := client.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	m := &made{Client: c, o: schema.DefaultOptions(), cfg: cfg}
	m.o.Database = database
	m.Store = query.New(c, m.o, query.DefaultTimeout)
	return m
}

// create makes all tables, with their statements as change leaves them.
func (m *made) create(t testing.TB, change func(sql string) string) {
	t.Helper()
	m.exec(t, m.o.CreateDatabase())
	for _, table := range schema.Tables() {
		for _, s := range m.o.Create(table) {
			m.exec(t, change(s))
		}
	}
}

// open makes a store with all tables in a database, over HTTP or natively.
func open(t testing.TB, cfg client.Config, database string) *made {
	t.Helper()
	m := connect(t, cfg, database)
	m.create(t, func(s string) string { return s })
	return m
}

// start is a store in an engine of its own.
func start(t testing.TB) *made {
	t.Helper()
	return open(t, client.FromEngine(enginetest.Start(t, "", false).Endpoint()), schema.DefaultDatabase)
}

func (m *made) exec(t testing.TB, sql string) {
	t.Helper()
	if err := m.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// load inserts records.
func load[R any](t testing.TB, m *made, table *schema.Rows[R], o *schema.Origin, records []R) {
	t.Helper()
	const batch = 50_000
	for n := 0; n < len(records); n += batch {
		b := table.Batch()
		b.Append(o, records[n:min(n+batch, len(records))])
		data, err := b.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		m.tokens++
		if err := m.Insert(t.Context(), &m.o, table.Table, fmt.Sprint(t.Name(), m.tokens), data); err != nil {
			t.Fatal(err)
		}
	}
}

// utc is a time of the day of storetest.
func utc(hour, minute int) time.Time {
	return time.Unix(0, storetest.Day).UTC().Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}
