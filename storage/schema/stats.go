package schema

// Stat is a row of probe_stats: a counter of the probe itself at a time.
type Stat struct {
	Time  int64 // ns since the epoch
	Input int32 // the input that it is about, or -1
	Name  string
	Of    string // what of it: a table, a reason, an interface
	Value uint64 // since the run began
}

// ProbeStats is the table probe_stats.
func ProbeStats() *Rows[Stat] {
	return rows(Table{
		Name: "probe_stats",
		Doc: "A counter of the probe itself: what it captured, wrote, and had to drop. Values count from the beginning of the run: what " +
			"happened in a time is the difference of two.",
		Questions: []string{"what was dropped, when and by whom", "whether a probe is alive"},
		Engine:    "MergeTree",
		Partition: "toMonday(time)",
		Order:     []string{"name", "of", "probe", "run", "tap", "time"},
		Keep:      KeepStats,
		Shard:     "cityHash64(run)",
	}, []field[Stat]{
		placed("tap", docTap+", or empty where it is about none of them", func(o *Origin, r *Stat) string { return o.tap(r.Input) }),
		when("time", "When it was read", func(r *Stat) int64 { return r.Time }),
		named("name", "Which counter", func(r *Stat) string { return r.Name }),
		named("of", "What of it: a table, a reason, an interface", func(r *Stat) string { return r.Of }),
		u64("value", codecCount, "Its value", func(r *Stat) uint64 { return r.Value }),
	})
}
