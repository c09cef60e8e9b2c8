package schema

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// Tables are all tables in the order in which they are made.
func Tables() []*Table {
	intervals := FlowIntervals().Table
	all := append([]*Table{
		Sessions().Table, intervals, Events().Table, PauseIntervals().Table, Findings().Table, ProbeStats().Table,
	}, Rollups(intervals)...)
	return append(all, Runs().Table) // last, for it says that all are there
}

// Version is that of the tables. It rises with the first change after a release.
const Version = 1

const versionWords = ". Made by rocelens, schema "

// Comment is the table's comment. That of runs has the version.
func (t *Table) Comment() string {
	if t.Name != runsName {
		return t.Doc
	}
	return strings.TrimSuffix(t.Doc, ".") + versionWords + strconv.Itoa(Version)
}

// VersionIn is the version in the comment of runs, 0 where there is none.
func VersionIn(comment string) int {
	_, v, _ := strings.Cut(comment, versionWords)
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0
	}
	return n
}

// Quote is a name as SQL has it.
func Quote(name string) string { return "`" + escape.Replace(name) + "`" }

// Text is a string as SQL has it.
func Text(s string) string { return "'" + escape.Replace(s) + "'" }

var escape = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "\\`", "\n", `\n`)

// Name is a table's name with its database, as it is read and written.
func (o *Options) Name(t *Table) string { return Quote(o.Database) + "." + Quote(t.Name) }

// Local is the name of the table that holds the rows: on a cluster, those of one
// of its servers.
func (o *Options) Local(t *Table) string { return Quote(o.Database) + "." + Quote(o.LocalName(t)) }

// LocalName is Local without the database.
func (o *Options) LocalName(t *Table) string {
	if o.Cluster == "" {
		return t.Name
	}
	return t.Name + "_local"
}

// ViewName is the view that fills a roll-up.
func (t *Table) ViewName() string { return t.Name + "_view" }

// OnCluster is what follows a name in DDL.
func (o *Options) OnCluster() string {
	if o.Cluster == "" {
		return ""
	}
	return " ON CLUSTER " + Quote(o.Cluster)
}

// CreateDatabase is the statement that makes the database.
func (o *Options) CreateDatabase() string {
	return "CREATE DATABASE IF NOT EXISTS " + Quote(o.Database) + o.OnCluster()
}

// Create are the statements that make a table: the table itself, on a cluster
// the Distributed table before it, and the view that fills a roll-up.
func (o *Options) Create(t *Table) []string {
	all := []string{o.createLocal(t)}
	if o.Cluster != "" {
		all = append(all, o.createDistributed(t))
	}
	if t.From != nil {
		all = append(all, o.createView(t))
	}
	return all
}

func (o *Options) createLocal(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s%s\n(\n", o.Local(t), o.OnCluster())
	for i := range t.Columns {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("    " + t.Columns[i].Definition())
	}
	for _, x := range t.Indexes {
		b.WriteString(",\n    " + x.Definition())
	}
	fmt.Fprintf(&b, "\n)\nENGINE = %s\n", o.Engine(t))
	if t.Partition != "" {
		b.WriteString("PARTITION BY " + t.Partition + "\n")
	}
	if t.Primary > 0 {
		fmt.Fprintf(&b, "PRIMARY KEY (%s)\n", strings.Join(t.Order[:t.Primary], ", "))
	}
	fmt.Fprintf(&b, "ORDER BY (%s)\n", strings.Join(t.Order, ", "))
	if ttl := o.TTL(t); ttl != "" {
		b.WriteString("TTL " + ttl + "\n")
	}
	b.WriteString("SETTINGS " + strings.Join(o.Settings(t), ", ") + "\n")
	b.WriteString("COMMENT " + Text(t.Comment()))
	return b.String()
}

// Definition is the column as CREATE TABLE and ADD COLUMN have it.
func (c *Column) Definition() string {
	s := Quote(c.Name) + " " + c.Type
	if c.Default != "" {
		s += " DEFAULT " + c.Default
	}
	return s + " COMMENT " + Text(c.Doc) + " CODEC(" + c.Codec + ")"
}

// Definition is the index as CREATE TABLE and ADD INDEX have it.
func (x *Index) Definition() string {
	return "INDEX " + Quote(x.Name) + " " + x.Expr + " TYPE " + x.Type + " GRANULARITY 1"
}

// Engine is the engine of a table: replicated on a cluster, where the paths are
// the server's own.
func (o *Options) Engine(t *Table) string {
	if o.Cluster == "" {
		return t.Engine
	}
	return "Replicated" + t.Engine
}

// TTL is when rows of a table go, "" where they stay. It counts from when they
// were loaded: an old capture is not to vanish as soon as it is.
func (o *Options) TTL(t *Table) string {
	d, ok := o.Keep[t.Keep]
	if !ok {
		return ""
	}
	return fmt.Sprintf("loaded + toIntervalHour(%d)", d/time.Hour)
}

// Settings are the settings of a table.
func (o *Options) Settings(t *Table) []string {
	window := "non_replicated_deduplication_window"
	if o.Cluster != "" {
		window = "replicated_deduplication_window"
	}
	all := []string{
		fmt.Sprintf("%s = %d", window, o.Window),
		// What was just inserted is one file, and not one for each of a hundred
		// streams: it takes a third less to write. Merges make it wide.
		"min_bytes_for_wide_part = 134217728",
	}
	if t.Keep != KeepForever {
		// A part goes as a whole, when the last of its rows may.
		all = append(all, "ttl_only_drop_parts = 1")
	}
	return all
}

func (o *Options) createDistributed(t *Table) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s%s AS %s\nENGINE = Distributed(%s, %s, %s, %s)\nCOMMENT %s",
		o.Name(t), o.OnCluster(), o.Local(t), Text(o.Cluster), Text(o.Database), Text(o.LocalName(t)), t.Shard, Text(t.Comment()))
}

// View is the query of the view that fills a roll-up, from and to tables of the
// same server.
func (o *Options) View(t *Table) string {
	var sel, group []string
	for i, sum := range t.sums {
		name := Quote(t.Columns[i].Name)
		sel = append(sel, sum+" AS "+name)
		if isKey := !strings.Contains(sum, "("); isKey || t.Columns[i].Name == "time" {
			group = append(group, name)
		}
	}
	return "SELECT\n    " + strings.Join(sel, ",\n    ") + "\nFROM " + o.Local(t.From) + " AS s\nGROUP BY " + strings.Join(group, ", ")
}

func (o *Options) createView(t *Table) string {
	query := o.View(t)
	return fmt.Sprintf("CREATE MATERIALIZED VIEW IF NOT EXISTS %s%s TO %s AS\n%s\nCOMMENT %s",
		Quote(o.Database)+"."+Quote(t.ViewName()), o.OnCluster(), o.Local(t), query, Text(ViewComment(query)))
}

// ViewComment is the comment of a view: a hash of its query by which a changed
// one is known, as servers write queries in another way.
func ViewComment(query string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(query)) // it has no errors
	return fmt.Sprintf("made by rocelens, query %016x", h.Sum64())
}

// Insert is the statement that a batch goes with.
func (o *Options) Insert(t *Table) string {
	var names []string
	for _, c := range t.Inserted() {
		names = append(names, Quote(c.Name))
	}
	return "INSERT INTO " + o.Name(t) + " (" + strings.Join(names, ", ") + ")"
}

// InsertSettings are the settings of an insert. With the same token it has no
// effect a second time, in the table and in what views make of it.
func InsertSettings(token string) map[string]any {
	return map[string]any{
		"insert_deduplication_token":                         token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"insert_deduplicate":                                 1,
		"async_insert":                                       0,
		// An answer comes when all servers of the cluster have the rows.
		"distributed_foreground_insert": 1,
		// Captures can have times from all over the place.
		"throw_on_max_partitions_per_insert_block": 0,
	}
}
