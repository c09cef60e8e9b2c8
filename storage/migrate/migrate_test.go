package migrate_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
)

var update = flag.Bool("update", false, "write the tables of this version into testdata anew; never those of a released one")

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// open connects to an engine, over HTTP or natively.
func open(t *testing.T, native bool) *client.Client {
	t.Helper()
	p := enginetest.Start(t, "", native).Endpoint()
	cfg := client.FromEngine(p)
	if native {
		cfg.HTTP, cfg.Addrs = false, []string{p.Native}
	}
	return connect(t, cfg)
}

func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func exec(t *testing.T, c *client.Client, sql string) {
	t.Helper()
	if err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t *testing.T, c *client.Client, sql string) (n uint64) {
	t.Helper()
	if err := c.Row(t.Context(), []any{&n}, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func config() migrate.Config { return migrate.Config{Options: schema.DefaultOptions()} }

// run brings the tables up to date, and sees that there is nothing more to do
// after that.
func run(t *testing.T, c *client.Client, cfg migrate.Config) []string {
	t.Helper()
	done, err := migrate.Run(t.Context(), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	again, err := migrate.Run(t.Context(), c, cfg)
	if err != nil || len(again) > 0 {
		t.Fatalf("a second time: %v %v", again, err)
	}
	return done
}

// TestEmpty: a server without the database gets all tables, over both protocols.
func TestEmpty(t *testing.T) {
	for _, native := range []bool{false, true} {
		c := open(t, native)
		plan, err := migrate.Plan(t.Context(), c, config())
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, c, "SELECT count() FROM system.databases WHERE name = 'rocelens'"); n != 0 {
			t.Error("a plan alone has made something")
		}
		alone, err := migrate.PlanNew(config())
		if diff := cmp.Diff(alone, plan); err != nil || diff != "" {
			t.Errorf("planned with and without a server: %v\n%s", err, diff)
		}
		if diff := cmp.Diff(plan, run(t, c, config())); diff != "" {
			t.Errorf("planned and done differ:\n%s", diff)
		}
		if n := count(t, c, "SELECT count() FROM system.tables WHERE database = 'rocelens'"); n != uint64(len(schema.Tables())+2) {
			t.Errorf("%d tables and views", n)
		}
	}
}

// TestReleased: the tables of every released version are brought up to date.
func TestReleased(t *testing.T) {
	o := schema.DefaultOptions()
	now := o.CreateDatabase()
	for _, table := range schema.Tables() {
		now += ";\n\n" + strings.Join(o.Create(table), ";\n\n")
	}
	now += ";\n"
	current := filepath.Join("testdata", fmt.Sprintf("v%d.sql", schema.Version))
	if *update {
		if err := os.WriteFile(current, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "v*.sql"))
	if err != nil || len(files) != schema.Version {
		t.Fatalf("%d versions in testdata, and this is version %d: %v", len(files), schema.Version, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if f == current {
			if diff := cmp.Diff(string(text), now); diff != "" {
				t.Errorf("%s (-as recorded +as now): before a release -update writes it, after one the version rises\n%s", f, diff)
			}
		}
		c := open(t, false)
		for _, s := range strings.Split(strings.TrimSuffix(string(text), ";\n"), ";\n\n") {
			exec(t, c, s)
		}
		if done := run(t, c, config()); f == current && len(done) > 0 {
			t.Errorf("tables just made are not what they should be: %v", done)
		}
	}
}

// TestDifferences: whatever an older version can have lacked is there afterwards,
// rows stay, and columns that others added too.
func TestDifferences(t *testing.T) {
	c := open(t, false)
	run(t, c, config())
	exec(t, c, "INSERT INTO rocelens.flow_intervals (probe, flow, packets, time) VALUES ('old', 1, 7, '2026-01-01 00:00:00')")
	for _, s := range []string{
		"DROP VIEW rocelens.flow_1m_view", // which reads the columns that go
		"ALTER TABLE rocelens.flow_intervals DROP COLUMN rare",
		"ALTER TABLE rocelens.flow_intervals DROP COLUMN probe",
		"ALTER TABLE rocelens.flow_intervals ADD COLUMN mine String",
		"ALTER TABLE rocelens.flow_intervals MODIFY COLUMN packets CODEC(LZ4)",
		"ALTER TABLE rocelens.flow_intervals MODIFY SETTING non_replicated_deduplication_window = 5",
		"ALTER TABLE rocelens.sessions DROP INDEX b_qpn",
		"ALTER TABLE rocelens.sessions MODIFY COMMENT 'other'",
		"ALTER TABLE rocelens.events MODIFY COLUMN kind COMMENT 'other'",
		"ALTER TABLE rocelens.findings MODIFY COLUMN loaded DEFAULT now() + 1",
		"ALTER TABLE rocelens.flow_1h_view MODIFY COMMENT 'other'",
		"ALTER TABLE rocelens.flow_1h_view MODIFY QUERY SELECT s.flow AS flow FROM rocelens.flow_1m AS s",
		"DROP TABLE rocelens.probe_stats",
		"ALTER TABLE rocelens.runs MODIFY COMMENT 'One run. Made by rocelens, schema 0'",
	} {
		exec(t, c, s)
	}
	done := strings.Join(run(t, c, config()), "\n")
	for _, want := range []string{
		"flow_intervals` ADD COLUMN IF NOT EXISTS `rare`", "flow_intervals` ADD COLUMN IF NOT EXISTS `probe` ", "MODIFY COLUMN `packets`",
		"MODIFY SETTING non_replicated_deduplication_window = 10000", "ADD INDEX IF NOT EXISTS `b_qpn`", "`sessions` MODIFY COMMENT",
		"MODIFY COLUMN `kind`", "MODIFY COLUMN `loaded`", "`flow_1h_view` MODIFY QUERY", "CREATE TABLE IF NOT EXISTS `rocelens`.`probe_stats`",
		"CREATE MATERIALIZED VIEW IF NOT EXISTS `rocelens`.`flow_1m_view`", "`runs` MODIFY COMMENT",
	} {
		if !strings.Contains(done, want) {
			t.Errorf("nothing was done about %s", want)
		}
	}
	if n := count(t, c, "SELECT sum(packets) FROM rocelens.flow_intervals WHERE mine = ''"); n != 7 {
		t.Errorf("%d packets, want 7", n)
	}
	// And it works: a row goes all the way.
	exec(t, c, "INSERT INTO rocelens.flow_intervals (probe, flow, packets, time, rare) VALUES ('new', 1, 9, '2026-01-01 01:00:00', map('gaps', 3))")
	if n := count(t, c, "SELECT sum(packets) FROM rocelens.flow_1h WHERE rare['gaps'] = 3"); n != 9 {
		t.Errorf("%d packets in the hour, want 9", n)
	}
}

// TestKeep: how long rows are kept changes where that was asked for, and is left
// alone otherwise.
func TestKeep(t *testing.T) {
	c := open(t, false)
	run(t, c, config())
	ttl := func() (s string) {
		if err := c.Row(t.Context(), []any{&s}, "SELECT engine_full FROM system.tables WHERE database = 'rocelens' AND name = 'flow_intervals'"); err != nil {
			t.Fatal(err)
		}
		return s
	}
	cfg := config()
	cfg.Keep[schema.KeepIntervals] = 48 * time.Hour
	run(t, c, cfg)
	if !strings.Contains(ttl(), "TTL loaded + toIntervalHour(720)") {
		t.Errorf("changed unasked: %s", ttl())
	}
	cfg.SetKeep = map[schema.Class]bool{schema.KeepHours: true}
	run(t, c, cfg)
	if !strings.Contains(ttl(), "TTL loaded + toIntervalHour(720)") {
		t.Errorf("changed with another class: %s", ttl())
	}
	cfg.SetKeep = map[schema.Class]bool{schema.KeepIntervals: true}
	run(t, c, cfg)
	if !strings.Contains(ttl(), "TTL loaded + toIntervalHour(48)") {
		t.Errorf("not changed: %s", ttl())
	}
	delete(cfg.Keep, schema.KeepIntervals)
	run(t, c, cfg)
	if strings.Contains(ttl(), "TTL") {
		t.Errorf("still there: %s", ttl())
	}
}

// TestTogether: probes that start at the same time make the tables together, and
// bring them up to date together.
func TestTogether(t *testing.T) {
	p := enginetest.Start(t, "", false).Endpoint()
	const probes = 6
	clients := make([]*client.Client, probes)
	for i := range clients {
		clients[i] = connect(t, client.FromEngine(p))
	}
	all := func(what string) {
		var wg sync.WaitGroup
		for i, c := range clients {
			wg.Go(func() {
				if _, err := migrate.Run(t.Context(), c, config()); err != nil {
					t.Errorf("%s, probe %d: %v", what, i, err)
				}
			})
		}
		wg.Wait()
		if plan, err := migrate.Plan(t.Context(), clients[0], config()); err != nil || len(plan) > 0 {
			t.Errorf("%s: left to do: %v %v", what, plan, err)
		}
	}
	all("an empty server")
	exec(t, clients[0], "DROP VIEW rocelens.flow_1m_view")
	exec(t, clients[0], "ALTER TABLE rocelens.flow_intervals DROP COLUMN rare")
	exec(t, clients[0], "ALTER TABLE rocelens.events MODIFY COLUMN kind COMMENT 'other'")
	exec(t, clients[0], "DROP TABLE rocelens.findings")
	all("an older schema")
}

// TestRefused: what can't be brought up to date is said in a sentence, and left
// alone.
func TestRefused(t *testing.T) {
	c := open(t, false)
	run(t, c, config())
	exec(t, c, "ALTER TABLE rocelens.runs MODIFY COMMENT 'One run. Made by rocelens, schema "+strconv.Itoa(schema.Version+1)+"'")
	exec(t, c, "DROP TABLE rocelens.events")
	_, err := migrate.Run(t.Context(), c, config())
	var newer *migrate.NewerError
	if !errors.As(err, &newer) || newer.Version != schema.Version+1 || !strings.Contains(err.Error(), "upgrade rocelens here") {
		t.Errorf("a newer schema: %v", err)
	}
	if n := count(t, c, "SELECT count() FROM system.tables WHERE database = 'rocelens' AND name = 'events'"); n != 0 {
		t.Error("an older rocelens made a table in a newer schema")
	}

	for _, other := range []struct{ sql, want string }{
		{"CREATE TABLE other.events (a String) ENGINE = Log", `engine "Log"`},
		{"CREATE TABLE other.events (a String) ENGINE = MergeTree ORDER BY a", `sorting key "a"`},
		{"CREATE TABLE other.pause_intervals (probe UInt8) ENGINE = MergeTree ORDER BY probe", `sorting key`},
		{"CREATE TABLE other.runs (run UInt8, probe String, updated UInt64) ENGINE = ReplacingMergeTree(updated) ORDER BY (run, probe)", "column probe of type String"},
	} {
		exec(t, c, "DROP DATABASE IF EXISTS other")
		exec(t, c, "CREATE DATABASE other")
		exec(t, c, other.sql)
		cfg := config()
		cfg.Database = "other"
		if _, err := migrate.Run(t.Context(), c, cfg); err == nil || !strings.Contains(err.Error(), other.want) || !strings.Contains(err.Error(), "another database") {
			t.Errorf("%s: %v, want %s", other.sql, err, other.want)
		}
	}
	cfg := config()
	cfg.Database = "a b"
	if _, err := migrate.Run(t.Context(), c, cfg); err == nil || !strings.Contains(err.Error(), "use letters") {
		t.Errorf("a database with a space: %v", err)
	}
}
