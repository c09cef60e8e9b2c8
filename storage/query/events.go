package query

import (
	"context"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
)

// Events asks what happened, in order of time.
type Events struct {
	Range
	Where
	Session string // of one, "" for all
	Kind    string // of one kind, "" for all
	Limit   int
}

// Event is a row of events.
type Event struct {
	Probe     string             `json:"probe"`
	Run       string             `json:"run"`
	Tap       string             `json:"tap"`
	Time      time.Time          `json:"time"`
	Kind      string             `json:"kind"`
	Session   string             `json:"session"`
	Stream    string             `json:"stream"` // a or b, or ""
	Interface string             `json:"interface"`
	Frame     uint64             `json:"frame"`
	Count     uint64             `json:"count"`
	PSN       int32              `json:"psn"` // -1 for none
	PSNLast   int32              `json:"psn_last"`
	Cause     string             `json:"cause"`
	Place     string             `json:"place"`
	Mode      string             `json:"mode"`
	Figures   map[string]float64 `json:"figures"`
	Words     map[string]string  `json:"words"`
}

// Statement is the SQL of the question.
func (q Events) Statement(o *schema.Options) (*Statement, error) {
	t := schema.Events().Table
	var b builder
	b.Table = t.Name
	if err := b.during(t, q.Range); err != nil {
		return nil, err
	}
	b.place(q.Where)
	b.equal("session", q.Session)
	b.equal("kind", q.Kind)
	return b.limited(`SELECT probe, run, tap, time, kind, session, stream, interface, frame, count, psn, psn_last, cause, place, mode, figures, words
FROM `+o.Name(t)+` AS s`+b.conditions()+`
ORDER BY time, probe, run, tap, frame, kind, session`, q.Limit, defaultLimit)
}

// Events answers the question.
func (s *Store) Events(ctx context.Context, q Events) (*Answer[Event], error) {
	return answer[Event](ctx, s, q)
}

// Findings asks what is wrong, the worst first. Those count whose time and the
// question's have something in common.
type Findings struct {
	Range
	Where
	Session  string          // that they are about, "" for all
	Severity record.Severity // the least, 0 for all
	Limit    int
}

// Finding is a row of findings.
type Finding struct {
	Probe    string    `json:"probe"`
	Run      string    `json:"run"`
	Tap      string    `json:"tap"`
	Time     time.Time `json:"time"`
	Until    time.Time `json:"until"`
	Severity string    `json:"severity"`
	Code     string    `json:"code"`
	Title    string    `json:"title"`
	Detail   string    `json:"detail"`
	Evidence string    `json:"evidence"` // JSON
	Sessions []string  `json:"sessions"`
	Related  string    `json:"related"` // JSON
}

// Statement is the SQL of the question.
func (q Findings) Statement(o *schema.Options) (*Statement, error) {
	t := schema.Findings().Table
	var b builder
	b.Table = t.Name
	if err := b.overlaps(q.Range, "time", "until"); err != nil {
		return nil, err
	}
	b.place(q.Where)
	if q.Session != "" {
		b.and("has(sessions, " + b.text("session", q.Session) + ")")
	}
	rank := "indexOf(['info', 'warning', 'critical'], toString(severity))"
	if q.Severity != 0 {
		b.and(rank + " >= " + b.number("severity", "UInt8", uint64(q.Severity)))
	}
	return b.limited(`SELECT probe, run, tap, time, until, severity, code, title, detail, evidence, sessions, related
FROM `+o.Name(t)+` AS s`+b.conditions()+`
ORDER BY `+rank+` DESC, time, code, probe, run`, q.Limit, defaultLimit)
}

// overlaps asks for a time between two columns that has something in common with
// the range.
func (b *builder) overlaps(r Range, begin, end string) error {
	if err := r.validate(); err != nil {
		return err
	}
	b.From, b.To = r.From, r.To
	if !r.From.IsZero() {
		b.and(end + " >= " + b.time("from", r.From))
	}
	if !r.To.IsZero() {
		b.and(begin + " < " + b.time("to", r.To))
	}
	return nil
}

// Findings answers the question.
func (s *Store) Findings(ctx context.Context, q Findings) (*Answer[Finding], error) {
	return answer[Finding](ctx, s, q)
}
