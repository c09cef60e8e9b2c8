package schema

import (
	"encoding/json"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Finding is a row of findings: a conclusion, and the time that it is about.
type Finding struct {
	*record.Finding
	From, To int64  // ns since the epoch
	Evidence string // as JSON
}

// NewFinding is the row of a finding about a time.
func NewFinding(f *record.Finding, from, to int64) (Finding, error) {
	b, err := f.Evidence.MarshalJSON()
	return Finding{Finding: f, From: from, To: to, Evidence: string(b)}, err
}

// Findings is the table findings.
func Findings() *Rows[Finding] {
	return rows(Table{
		Name:      "findings",
		Doc:       "A conclusion that an engineer can act on, about all taps of its run. Codes are those of findings.md.",
		Questions: []string{"what is wrong, the worst first", "since when a finding is there"},
		Engine:    "MergeTree",
		Partition: "toYYYYMM(time)",
		Order:     []string{"toStartOfHour(time)", "code", "time"},
		Keep:      KeepRecords,
		Shard:     "cityHash64(run)",
	}, []field[Finding]{
		placed("tap", "The tap of the run, or empty where it has several", func(o *Origin, _ *Finding) string {
			if len(o.Inputs) != 1 {
				return ""
			}
			return o.Inputs[0].Tap
		}),
		when("time", "Begin of the time that it is about", func(r *Finding) int64 { return r.From }),
		when("until", "End of it", func(r *Finding) int64 { return r.To }),
		stringed("severity", "info, warning or critical", func(r *Finding) record.Severity { return r.Severity }),
		named("code", "What kind of finding it is", func(r *Finding) string { return r.Code }),
		text("title", "What is wrong, and how much of it", func(r *Finding) string { return r.Title }),
		text("detail", "What it means and what to check next", func(r *Finding) string { return r.Detail }),
		text("evidence", "What it rests on, a JSON object", func(r *Finding) string { return r.Evidence }),
		texts("sessions", "Ids of the sessions that it is about", func(r *Finding) []string { return r.Sessions }),
		text("related", "Other findings of the run that it has to do with, a JSON array", func(r *Finding) string {
			if len(r.Related) == 0 {
				return "[]"
			}
			b, err := json.Marshal(r.Related)
			if err != nil {
				return "[]"
			}
			return string(b)
		}),
	})
}
