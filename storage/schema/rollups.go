package schema

import (
	"slices"
	"strings"
)

// Rollups are the tables that sum up flow_intervals.
func Rollups(intervals *Table) []*Table {
	minutes := rollup(intervals, "flow_1m", "minute", "toStartOfMinute", "toStartOfHour(time)", KeepMinutes)
	hours := rollup(minutes, "flow_1h", "hour", "toStartOfHour", "toDate(time)", KeepHours)
	return []*Table{minutes, hours}
}

// rollupKeys are the columns that rows of a roll-up differ in, in the order of
// its key. The first three find rows.
var rollupKeys = [...]string{"flow", "time", "flow_start", "version", "service", "dscp", "priority", "tap", "interface", "probe", "run"}

// ofFlow are the columns that all rows of a flow have in common.
var ofFlow = [...]string{"src", "dst", "dst_qpn", "vni"}

// rollup sums a table up over times of one length.
func rollup(from *Table, name, length, round, first string, keep Class) *Table {
	t := &Table{
		Name: name,
		Doc: "flow_intervals, summed up for each " + length + ", flow, DSCP, priority and tap, as they come in. Rows of the same key are " +
			"added up when ClickHouse merges them, so sum them up when you read them.",
		Questions: from.Questions,
		Engine:    "AggregatingMergeTree",
		Partition: "toYYYYMM(time)",
		Order:     append([]string{first}, rollupKeys[:]...),
		Primary:   3,
		Keep:      keep,
		Shard:     from.Shard,
		From:      from,
	}
	add := func(c Column, typ, sum string) {
		c.Type, c.Default = typ, ""
		t.Columns = append(t.Columns, c)
		t.sums = append(t.sums, sum)
	}
	for _, c := range from.Columns {
		of := func(function string) {
			typ := c.Type
			if inner, ok := innerType(typ); ok {
				typ = inner
			}
			if typ == typeCounters {
				typ = "Map(String, Int64)" // what sumMap makes of it
			}
			add(c, "SimpleAggregateFunction("+function+", "+typ+")", function+"(s."+c.Name+")")
		}
		switch {
		case c.Name == "time":
			c.Doc = "When the " + length + " begins"
			add(c, typeSecond, round+"(s.time)")
			t.Columns[len(t.Columns)-1].Codec = codecSecond
		case slices.Contains(rollupKeys[:], c.Name):
			add(c, c.Type, "s."+c.Name)
		case slices.Contains(ofFlow[:], c.Name):
			of("any")
		case c.Name == "loaded" || c.Name == "src_qpn" || c.Name == "peak_packets" || c.Name == "peak_bytes":
			of("max")
		case c.Name == "length_ns":
			c.Doc = "Length of the intervals that are summed up"
			of("sum")
		case strings.Contains(c.Type, "Map("):
			of("sumMap")
		case strings.Contains(c.Type, "Int64"):
			of("sum")
		}
	}
	return t
}

// innerType is what a SimpleAggregateFunction is of.
func innerType(typ string) (string, bool) {
	rest, ok := strings.CutPrefix(typ, "SimpleAggregateFunction(")
	if !ok {
		return "", false
	}
	_, inner, ok := strings.Cut(strings.TrimSuffix(rest, ")"), ", ")
	return inner, ok
}
