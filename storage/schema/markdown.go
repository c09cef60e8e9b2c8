package schema

import (
	"fmt"
	"strings"
	"time"
)

// Markdown is docs/schema.md, made from the tables.
func Markdown() string {
	var b strings.Builder
	b.WriteString(docHead)
	o := DefaultOptions()
	b.WriteString("| table | a row is | kept for |\n|---|---|---|\n")
	tables := Tables()
	for _, t := range tables {
		first, _, _ := strings.Cut(t.Doc, ". ")
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", t.Name, t.Name, cell(strings.TrimSuffix(first, ".")), o.kept(t))
	}
	b.WriteString(docMiddle)
	for _, t := range tables {
		o.tableMarkdown(&b, t)
	}
	return b.String()
}

// kept is how long rows of a table are kept, in words.
func (o *Options) kept(t *Table) string {
	d, ok := o.Keep[t.Keep]
	if !ok {
		return "ever"
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

func (o *Options) tableMarkdown(b *strings.Builder, t *Table) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", t.Name, t.Doc)
	fmt.Fprintf(b, "For: %s.\n\n", strings.Join(t.Questions, "; "))
	if t.From != nil {
		fmt.Fprintf(b, "Filled from `%s` by the view `%s`.\n\n", t.From.Name, t.ViewName())
	}
	fmt.Fprintf(b, "`%s`, sorted by `%s`", t.Engine, strings.Join(t.Order, ", "))
	if t.Partition != "" {
		fmt.Fprintf(b, ", partitioned by `%s`", t.Partition)
	}
	fmt.Fprintf(b, "; on a cluster by `%s`", t.Shard)
	for i, x := range t.Indexes {
		fmt.Fprintf(b, "%s `%s`", []string{"; index on", ","}[min(i, 1)], x.Expr)
	}
	b.WriteString(".\n\n| column | type | codec | |\n|---|---|---|---|\n")
	for i := range t.Columns {
		c := &t.Columns[i]
		fmt.Fprintf(b, "| `%s` | `%s` | `%s` | %s |\n", c.Name, c.Type, c.Codec, cell(c.Doc))
	}
}

// cell is text inside a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

const docHead = `# Tables

<!-- Written by "go test ./storage/schema -run Markdown -update" from the tables in storage/schema. Change them there. -->

What is in the [store](store.md). All tables are in one database, ` + "`rocelens`" + ` unless the DSN says otherwise.

`

var docMiddle = `
Days count from when a row was loaded, not from when its packets were captured: old captures can be loaded. ClickHouse
drops a part as a whole when the last of its rows may go, so rows can stay for a week longer, those of tables that
are partitioned by month for a month.

On disk a row of ` + "`flow_intervals`" + ` takes 17 bytes without histograms and 33 with those of ACK and message latency, a dozen buckets each; one
of ` + "`flow_1m`" + ` 72 and one of ` + "`flow_1h`" + ` 90. That is what a million simulated intervals of 10,000 flows took after merging.

Times are UTC, with nanoseconds. Columns that end in ` + "`_ns`" + ` are durations.

## Histograms

Columns of type ` + "`Map(UInt16, UInt64)`" + ` are distributions of durations: how many fell into which bucket. Buckets are eight an
octave. Bucket b holds b ns alone where b is below 8, and else, with s = b/8 - 1 rounded down, from (8 + b%8) << s up to
the next bucket's. A quantile that is the middle of its bucket is within 1/16 (6.25 %) of the true one.

Histograms merge by adding, over times, flows, probes and tables alike, so that percentiles of anything are one query:

` + "```sql" + `
` + QuantilesQuery + `
` + "```" + `

` + "`WHERE`" + ` and ` + "`GROUP BY`" + ` are free. On ` + "`flow_1m`" + ` and ` + "`flow_1h`" + ` it is the same query, over fewer rows.
`

// QuantilesQuery is p50, p99 and p99.9 of ACK latency over all flow intervals.
var QuantilesQuery = `SELECT arrayMap(b -> ` + BucketMiddle("b") + `,
    quantilesExactWeighted(0.5, 0.99, 0.999)(bucket, n)) AS ns
FROM rocelens.flow_intervals ARRAY JOIN mapKeys(ack_latency) AS bucket, mapValues(ack_latency) AS n`

// BucketMiddle is the expression for the middle of a bucket in ns, given that
// for its number.
func BucketMiddle(bucket string) string {
	shift := "greatest(intDiv(" + bucket + ", 8), 1) - 1"
	return "if(" + bucket + " < 8, " + bucket + ", bitShiftLeft(toUInt64(8 + " + bucket + " % 8), " + shift + ") + intDiv(bitShiftLeft(toUInt64(1), " + shift + ") - 1, 2))"
}
