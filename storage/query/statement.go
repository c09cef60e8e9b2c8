package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Statement is the SQL of a question with its parameters, which it has as
// {name:Type}.
type Statement struct {
	SQL    string
	Params []Param
	// Table is the table that is read most of, and From and To what Answer says.
	Table    string
	From, To time.Time

	limit int // the last parameter is one more
}

// Param is the value of a parameter, as text.
type Param struct{ Name, Value string }

var paramForm = regexp.MustCompile(`\{([a-z0-9_]+):([A-Za-z0-9(), ']+)\}`)

// Expand puts expressions in place of parameters: those in with by what is
// there, as in "from": "$__fromTime", and the others by their values.
func (s *Statement) Expand(with map[string]string) (string, error) {
	left := make(map[string]bool, len(with))
	for name := range with {
		left[name] = true
	}
	sql := paramForm.ReplaceAllStringFunc(s.SQL, func(p string) string {
		m := paramForm.FindStringSubmatch(p)
		if e, ok := with[m[1]]; ok {
			delete(left, m[1])
			return e
		}
		i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == m[1] })
		return "CAST(" + schema.Text(s.Params[i].Value) + ", " + schema.Text(m[2]) + ")"
	})
	for name := range left {
		return "", fmt.Errorf("the statement has no parameter %q", name)
	}
	return sql, nil
}

// Range is a span of time, To itself is outside. Zero times are no bounds.
type Range struct{ From, To time.Time }

func (r Range) validate() error {
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
		return fmt.Errorf("the time from %v to %v is empty", r.From.Format(time.RFC3339Nano), r.To.Format(time.RFC3339Nano))
	}
	return nil
}

// Where narrows a question to what some probe, run or tap saw. Empty fields
// narrow nothing.
type Where struct {
	Probe, Run, Tap string
	// Filter adds a condition that is true, the parameter filter. A board puts its
	// own in its place with Expand, over the columns of the table, which SQL calls
	// s.
	Filter bool
}

// Source is the table that flows are read from.
type Source uint8

// The sources.
const (
	// Auto is the coarsest table that holds sixty rows of a flow in the time.
	Auto      Source = iota
	Intervals        // flow_intervals
	Minutes          // flow_1m
	Hours            // flow_1h
)

// SourceNames are the names of the sources, by number.
func SourceNames() []string { return []string{"auto", "intervals", "minutes", "hours"} }

func (s Source) String() string { return nameOf(SourceNames(), s) }

// step is how long a row of a roll-up is.
func (s Source) step() time.Duration {
	switch s {
	case Minutes:
		return time.Minute
	case Hours:
		return time.Hour
	}
	return 0
}

// pick is the source that answers a question about a time.
func (s Source) pick(r Range) Source {
	const enough = 60
	switch {
	case s != Auto:
		return s
	case r.From.IsZero() || r.To.IsZero() || r.To.Sub(r.From) >= enough*time.Hour:
		return Hours
	case r.To.Sub(r.From) >= enough*time.Minute:
		return Minutes
	}
	return Intervals
}

func (s Source) table() *schema.Table {
	intervals := schema.FlowIntervals().Table
	switch s {
	case Minutes:
		return schema.Rollups(intervals)[0]
	case Hours:
		return schema.Rollups(intervals)[1]
	}
	return intervals
}

// nameOf is the name with a number.
func nameOf[N ~uint8](names []string, n N) string {
	if int(n) < len(names) {
		return names[n]
	}
	return "unknown"
}

// parseName is the number of a name.
func parseName[N ~uint8](what string, names []string, name string) (N, error) {
	if i := slices.Index(names, name); i >= 0 {
		return N(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q: use %s", what, name, strings.Join(names, ", "))
}

// ParseSource is the source of a name.
func ParseSource(s string) (Source, error) { return parseName[Source]("source", SourceNames(), s) }

// builder collects the parameters and conditions of a statement.
type builder struct {
	Statement
	where []string
}

// param adds a parameter, and returns how SQL has it. With the same name it is
// the same parameter.
func (b *builder) param(name, typ, value string) string {
	if !slices.ContainsFunc(b.Params, func(p Param) bool { return p.Name == name }) {
		b.Params = append(b.Params, Param{name, value})
	}
	return "{" + name + ":" + typ + "}"
}

func (b *builder) text(name, value string) string { return b.param(name, "String", value) }

func (b *builder) number(name, typ string, n uint64) string {
	return b.param(name, typ, strconv.FormatUint(n, 10))
}

// and adds a condition.
func (b *builder) and(cond string) { b.where = append(b.where, cond) }

// equal adds a condition on a column, unless the value is empty.
func (b *builder) equal(column, value string) {
	if value != "" {
		b.and(column + " = " + b.text(column, value))
	}
}

// place adds the conditions of w.
func (b *builder) place(w Where) {
	b.equal("probe", w.Probe)
	b.equal("run", w.Run)
	b.equal("tap", w.Tap)
	if w.Filter {
		b.and(b.param("filter", "Bool", "true"))
	}
}

// conditions are all, and some more, as the text that follows FROM.
func (b *builder) conditions(more ...string) string {
	all := slices.Concat(b.where, more)
	if len(all) == 0 {
		return ""
	}
	return "\nWHERE " + strings.Join(all, "\n    AND ")
}

// during bounds the column time of a table, which SQL calls s, by the range.
func (b *builder) during(t *schema.Table, r Range) error {
	if err := r.validate(); err != nil {
		return err
	}
	b.From, b.To = r.From, r.To
	var from, to string
	if !r.From.IsZero() {
		from = b.time("from", r.From)
	}
	if !r.To.IsZero() {
		to = b.time("to", r.To)
	}
	b.between(t, from, to)
	return nil
}

// between bounds the column time, and with it the hour or day that the table is
// sorted by: the index that has the time itself too takes no notice of them
// otherwise. Bounds are expressions, or empty.
func (b *builder) between(t *schema.Table, from, to string) {
	hour := func(time string) string { return strings.Replace(t.Order[0], "time", time, 1) }
	if from != "" {
		b.and("s.time >= " + from)
		b.and(hour("s.time") + " >= " + hour(from))
	}
	if to != "" {
		b.and("s.time < " + to)
		b.and(hour("s.time") + " <= " + hour(to+" - toIntervalNanosecond(1)"))
	}
}

func (b *builder) time(name string, t time.Time) string {
	return b.param(name, "DateTime64(9, 'UTC')", fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()))
}

// flows picks the table for flows of a time, which SQL calls s, and bounds it. A roll-up is read for
// whole steps.
func (b *builder) flows(o *schema.Options, s Source, r Range) (from string, err error) {
	if err := r.validate(); err != nil {
		return "", err
	}
	s = s.pick(r)
	t := s.table()
	b.Table = t.Name
	step := s.step()
	if step == 0 {
		return o.Name(t) + " AS s", b.during(t, r)
	}
	var first, last string
	if !r.From.IsZero() {
		r.From = r.From.Truncate(step)
		first = b.param("from", "DateTime('UTC')", strconv.FormatInt(r.From.Unix(), 10))
	}
	if !r.To.IsZero() {
		if to := r.To.Truncate(step); to.Before(r.To) {
			r.To = to.Add(step)
		}
		last = b.param("to", "DateTime('UTC')", strconv.FormatInt(r.To.Unix(), 10))
	}
	b.between(t, first, last)
	b.From, b.To = r.From, r.To
	return o.Name(t) + " AS s", nil
}

// limited ends the statement with a limit, one more than asked for by which it
// is seen that there are more.
func (b *builder) limited(sql string, limit, byDefault int) (*Statement, error) {
	n, err := limitOf(limit, byDefault)
	if err != nil {
		return nil, err
	}
	b.limit = n
	b.SQL = sql + "\nLIMIT " + b.number("limit", "UInt64", uint64(n)+1)
	return &b.Statement, nil
}

// address is an expression for an address as people write it.
func address(column string) string {
	return `replaceRegexpOne(toString(` + column + `), '^::ffff:([0-9.]+)$', '\\1')`
}

// levels are the quantiles of a Distribution.
const levels = "0.5, 0.99, 0.999"

// merged is an expression for the quantiles in ns of a column of histograms,
// added up over the rows of a group.
func merged(column string) string {
	return "arrayMap(b -> " + schema.BucketMiddle("b") + ", quantilesExactWeightedArray(" + levels + ")(mapKeys(" + column + "), mapValues(" + column + ")))"
}

// alone is an expression for those of one row.
func alone(column string) string {
	return "arrayMap(b -> " + schema.BucketMiddle("b") + ", arrayReduce('quantilesExactWeighted(" + levels + ")', mapKeys(" + column + "), mapValues(" + column + ")))"
}

// distribution are the columns of a Distribution, given how many values there
// are and the array of quantiles.
func distribution(name, count, quantiles string) string {
	return count + " AS " + name + "_count, " +
		quantiles + "[1] AS " + name + "_p50, " + quantiles + "[2] AS " + name + "_p99, " + quantiles + "[3] AS " + name + "_p999"
}

// Distribution says how durations are spread. Quantiles are in ns, each within
// 1/16 of the true one, and 0 where Count is 0.
type Distribution struct {
	Count uint64 `json:"count"`
	P50   int64  `json:"p50"`
	P99   int64  `json:"p99"`
	P999  int64  `json:"p999"`
}
