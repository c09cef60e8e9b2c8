package schema

// Run is a row of runs: what became of a run, and of one attempt to load it.
type Run struct {
	Updated int64 // ns since the epoch
	State   RunState
	// Attempt names the attempt, so that what a failed one sent is not taken for
	// what the next one sends.
	Attempt string
	Tool    string // the version of rocelens
	Inputs  []string
	Options string // as JSON
	Rows    uint64 // that were written
	Dropped uint64 // that were not
}

// RunState is what became of a run.
type RunState uint8

// The states.
const (
	RunBegun    RunState = iota
	RunFinished          // all of its records are in the store
	RunRemoved           // its records were taken out again
	RunBroken            // not all of them are, and nobody loads it any more
)

func (s RunState) String() string { return [...]string{"begun", "finished", "removed", "broken"}[s] }

const runsName = "runs"

// Runs is the table runs.
func Runs() *Rows[Run] {
	return rows(Table{
		Name: runsName,
		Doc: "One run of rocelens over its inputs. The id of a run of files is a hash of them and of the options, so that the same is not " +
			"loaded twice. The newest row of a run counts: read the table with FINAL.",
		Questions: []string{"whether this is in the store already"},
		Engine:    "ReplacingMergeTree(updated)",
		Order:     []string{"run", "probe"},
		Shard:     "cityHash64(run)",
	}, []field[Run]{
		placed("tap", "The tap of the run, or empty where it has several", func(o *Origin, _ *Run) string {
			if len(o.Inputs) != 1 {
				return ""
			}
			return o.Inputs[0].Tap
		}),
		when("updated", "When this was so", func(r *Run) int64 { return r.Updated }),
		stringed("state", "begun, finished, removed or broken (off)", func(r *Run) RunState { return r.State }),
		text("attempt", "Which attempt to load it", func(r *Run) string { return r.Attempt }),
		named("tool", "Version of rocelens", func(r *Run) string { return r.Tool }),
		texts("inputs", "What it read", func(r *Run) []string { return r.Inputs }),
		text("options", "How, a JSON object", func(r *Run) string { return r.Options }),
		u64("rows", codecZSTD, "Rows written", func(r *Run) uint64 { return r.Rows }),
		u64("dropped", codecZSTD, "Rows that could not be written", func(r *Run) uint64 { return r.Dropped }),
	})
}
