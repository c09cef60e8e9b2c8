package schema

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Column is a column of a table.
type Column struct {
	Name string
	// Type, Codec and Default are as ClickHouse writes them itself, so that what
	// a server has can be compared with them.
	Type    string
	Codec   string
	Default string // expression; a column that has one is filled by the server
	Doc     string // one sentence or two; the column's comment
}

// The types and codecs that many columns have.
const (
	typeTime      = "DateTime64(9, 'UTC')"
	typeSecond    = "DateTime('UTC')"
	typeWord      = "LowCardinality(String)"
	typeHistogram = "Map(UInt16, UInt64)"
	typeCounters  = "Map(LowCardinality(String), Int64)"

	codecZSTD   = "ZSTD(1)"
	codecTime   = "DoubleDelta, ZSTD(1)" // the rows of a flow are an interval apart
	codecSecond = "Delta(4), ZSTD(1)"
	codecCount  = "T64, ZSTD(1)"      // counters are small numbers in wide columns
	codecRun    = "Delta(8), ZSTD(1)" // rises with the order of the table
)

// Index is a data-skipping index.
type Index struct{ Name, Expr, Type string }

// Table is a table of the store, or a roll-up of one.
type Table struct {
	Name string
	Doc  string // what a row is, in sentences
	// Questions are those that keys and indexes are chosen for.
	Questions []string
	Columns   []Column
	// Engine is the engine on a single server, as in ReplacingMergeTree(updated).
	Engine    string
	Partition string
	Order     []string
	Primary   int // how many of Order are in the index in memory, 0 for all
	Indexes   []Index
	// Keep is the class of data that it holds, for how long that is kept.
	Keep Class
	// Shard is what rows are spread over a cluster by.
	Shard string
	// From is the table that a roll-up sums up, nil for others.
	From *Table
	// sums are the expressions of a roll-up's columns over the rows s of From;
	// those without a function are what it groups by.
	sums []string
}

// Inserted are the columns that an insert names, in its order.
func (t *Table) Inserted() []Column {
	var in []Column
	for _, c := range t.Columns {
		if c.Default == "" {
			in = append(in, c)
		}
	}
	return in
}

// Class is a class of data, kept for a time of its own.
type Class string

// The classes.
const (
	KeepForever   Class = ""
	KeepIntervals Class = "intervals" // flow_intervals as they come
	KeepMinutes   Class = "minutes"   // and per minute
	KeepHours     Class = "hours"     // and per hour
	KeepRecords   Class = "records"   // sessions, events, pauses, findings
	KeepStats     Class = "stats"     // the probe's own counters
)

// Classes are those of data that goes after a time.
func Classes() []Class {
	return []Class{KeepIntervals, KeepMinutes, KeepHours, KeepRecords, KeepStats}
}

// Options say where the tables are and how they are kept.
type Options struct {
	Database string
	// Cluster is the name of a cluster, or "" for a single server. On a cluster
	// tables are replicated, and those that are used are Distributed over them.
	Cluster string
	// Keep says how long data of a class is kept after it was loaded, in whole
	// hours. Classes that are not in it are kept for ever.
	Keep map[Class]time.Duration
	// Window is how many blocks a table remembers to tell one that is sent
	// again.
	Window int
}

// DefaultDatabase is where the tables are, unless the DSN says otherwise.
const DefaultDatabase = "rocelens"

const day = 24 * time.Hour

// DefaultOptions are the options for a single server.
func DefaultOptions() Options {
	return Options{
		Database: DefaultDatabase,
		Keep: map[Class]time.Duration{
			KeepIntervals: 30 * day,
			KeepMinutes:   90 * day,
			KeepHours:     730 * day,
			KeepRecords:   365 * day,
			KeepStats:     30 * day,
		},
		Window: 10_000,
	}
}

// maxKeep is the longest that data can be said to be kept: DateTime ends in
// 2106.
const maxKeep = 50 * 365 * day

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	for _, n := range []struct{ what, name string }{{"database", o.Database}, {"cluster", o.Cluster}} {
		if n.name == "" && n.what == "cluster" {
			continue
		}
		if !validName(n.name) {
			return fmt.Errorf("%s %q: use letters, digits and underscores, at most %d, as in %s", n.what, n.name, maxName, DefaultDatabase)
		}
	}
	for _, c := range Classes() {
		if d, ok := o.Keep[c]; ok && (d < time.Hour || d > maxKeep || d%time.Hour != 0) {
			return fmt.Errorf("%s can't be kept for %v: use whole hours, from 1h to %v", c, d, maxKeep)
		}
	}
	for c := range o.Keep {
		if !slices.Contains(Classes(), c) {
			return fmt.Errorf("there is no class of data %q to keep", c)
		}
	}
	if o.Window < 100 || o.Window > maxWindow {
		return fmt.Errorf("a deduplication window of %d: use 100 to %d", o.Window, maxWindow)
	}
	return nil
}

// maxWindow bounds what a server has to remember for a table.
const maxWindow = 1_000_000

const maxName = 64

// validName says whether a name needs no quoting anywhere. Others are possible
// in ClickHouse, and make paths and macros go wrong.
func validName(s string) bool {
	if s == "" || len(s) > maxName || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
