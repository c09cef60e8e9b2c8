// Package boardtest reads the boards as Grafana does, for tests: what they ask, and what is
// sent to ClickHouse and to Prometheus for it.
package boardtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana"
)

// Query is a query of a board.
type Query struct {
	Name   string // of the board, and what in it asks
	Source string // type of the plugin
	Text   string
	Series bool // it is for series over time

	points int           // of the panel, at most; 0 for as many as it is wide
	least  time.Duration // that a step of the panel is long
}

// Queries are all of all boards: of panels, variables and annotations.
func Queries(t testing.TB) []Query {
	t.Helper()
	var all []Query
	for _, uid := range grafana.UIDs() {
		b := Parse(t, uid)
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all = append(all, Query{uid + " " + p.Title + " " + q.RefID, q.Datasource.Type, q.RawSQL + q.Expr, q.Format == 0, p.MaxDataPoints, p.least(t)})
			}
		}
		for _, v := range b.Templating.List {
			if q, ok := v.Query.(map[string]any); ok {
				text, _ := q["rawSql"].(string)
				if text == "" {
					text, _ = q["query"].(string)
				}
				all = append(all, Query{Name: uid + " $" + v.Name, Source: v.Datasource.Type, Text: text})
			}
		}
		for _, a := range b.Annotations.List {
			all = append(all, Query{Name: uid + " @" + a.Name, Source: a.Datasource.Type, Text: a.Target.RawSQL})
		}
	}
	return all
}

// Board is what tests read of a board.
type Board struct {
	UID, Title, Description string
	Tags                    []string
	SchemaVersion           int
	Links                   []struct{ Type, Title string }
	Panels                  []Panel
	Templating              struct {
		List []struct {
			Type, Name, Label, Description string
			Query                          any
			Datasource                     Source
			Hide                           int
		}
	}
	Annotations struct {
		List []struct {
			Name       string
			Datasource Source
			Target     Target
		}
	}
}

// Source is a data source.
type Source struct{ Type, UID string }

// Target is a query as the board has it.
type Target struct {
	Datasource    Source
	RefID         string `json:"refId"`
	RawSQL        string `json:"rawSql"`
	EditorType    string
	QueryType     string
	PluginVersion string
	Expr          string
	Format        int
	LegendFormat  string
}

// Panel is one of a board.
type Panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               Source
	Interval                 string
	MaxDataPoints            int
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []Target
	Links                    []struct{ Title, URL string }
	FieldConfig              struct {
		Defaults struct {
			Unit, NoValue string
			Links         []struct{ Title, URL string }
			Thresholds    *struct{ Steps []struct{ Color string } }
			Custom        struct{ ThresholdsStyle struct{ Mode string } }
		}
		Overrides []struct {
			Matcher struct{ ID, Options string }
		}
	}
}

// least is how long a step of the panel is at least.
func (p *Panel) least(t testing.TB) time.Duration {
	if p.Interval == "" {
		return 0
	}
	d, err := time.ParseDuration(p.Interval)
	if err != nil {
		t.Fatalf("%s: %v", p.Title, err)
	}
	return d
}

// Parse reads a board.
func Parse(t testing.TB, uid string) *Board {
	t.Helper()
	data, err := grafana.Board(uid)
	if err != nil {
		t.Fatal(err)
	}
	var b Board
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

// Screen is what a board shows: its time, how long a step is, and the values of its variables. Those
// that it does not name have the value All.
type Screen struct {
	From, To  time.Time
	Interval  time.Duration
	Rates     time.Duration // what rates are of; all the time of the screen if 0
	Variables map[string][]string
}

// wide is how many points a panel has at most on a large screen.
const wide = 1800

// Of is the screen with steps as long as Grafana makes them for a query.
func (s *Screen) Of(q Query) *Screen {
	points := q.points
	if points == 0 {
		points = wide
	}
	of := *s
	of.Interval = max((s.To.Sub(s.From) / time.Duration(points)).Truncate(time.Second), time.Second, q.least)
	return &of
}

// MacroArgs splits what is in the parentheses at the beginning of s, as the plugin does:
// at commas that are in no further parentheses.
func MacroArgs(s string) (args []string, length int) {
	depth, begin := 0, 1
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return append(args, s[begin:i]), i + 1
			}
		case ',':
			if depth == 1 {
				args, begin = append(args, s[begin:i]), i+1
			}
		}
	}
	return nil, 0
}

// VariableForm is how a query names a variable.
var VariableForm = regexp.MustCompile(`\$\{(\w+)(?::(\w+))?\}|\$(\w+)`)

// SQL is a query of ClickHouse as the plugin sends it: first $__conditionalAll, then
// variables, then macros, as they are documented.
func (s *Screen) SQL(t testing.TB, text string) string {
	t.Helper()
	const conditional = "$__conditionalAll"
	for {
		at := strings.LastIndex(text, conditional+"(")
		if at < 0 {
			break
		}
		args, length := MacroArgs(text[at+len(conditional):])
		if len(args) != 2 {
			t.Fatalf("%d arguments of %s", len(args), text[at:])
		}
		condition := args[0]
		if s.Variables[strings.TrimPrefix(strings.TrimSpace(args[1]), "$")] == nil {
			condition = "1=1"
		}
		text = text[:at] + condition + text[at+len(conditional)+length:]
	}
	text = VariableForm.ReplaceAllStringFunc(text, func(v string) string {
		m := VariableForm.FindStringSubmatch(v)
		name := m[1] + m[3]
		if strings.HasPrefix(name, "__") {
			return v
		}
		values, ok := s.Variables[name]
		if !ok {
			t.Fatalf("%s has no value", v)
		}
		if m[2] == "percentencode" {
			return strings.ReplaceAll(url.QueryEscape(strings.Join(values, ",")), "+", "%20")
		}
		if m[2] != "singlequote" {
			return strings.Join(values, ",")
		}
		quoted := make([]string, len(values))
		for i, x := range values {
			quoted[i] = "'" + strings.ReplaceAll(x, "'", `\'`) + "'"
		}
		return strings.Join(quoted, ",")
	})
	seconds := strconv.Itoa(max(int(s.Interval.Seconds()), 1))
	text = regexp.MustCompile(`\$__timeInterval\(([^()]*)\)`).ReplaceAllString(text, "toStartOfInterval(toDateTime($1), INTERVAL "+seconds+" second)")
	for _, m := range [][2]string{
		{"$__fromTime_ms", fmt.Sprintf("fromUnixTimestamp64Milli(%d)", s.From.UnixMilli())},
		{"$__toTime_ms", fmt.Sprintf("fromUnixTimestamp64Milli(%d)", s.To.UnixMilli())},
		{"$__fromTime", fmt.Sprintf("toDateTime(%d)", s.From.Unix())},
		{"$__toTime", fmt.Sprintf("toDateTime(%d)", s.To.Unix())},
		{"$__interval_s", seconds},
	} {
		text = strings.ReplaceAll(text, m[0], m[1])
	}
	if i := strings.IndexByte(text, '$'); i >= 0 && !strings.HasPrefix(text[i:], "$',") { // but for the end of a regular expression
		t.Fatalf("what is this: %s", text[i:])
	}
	return text
}

// PromQL is a query of Prometheus as Grafana sends it.
func (s *Screen) PromQL(text string) string {
	seconds := func(d time.Duration) string { return strconv.Itoa(max(int(d.Seconds()), 1)) + "s" }
	all := s.To.Sub(s.From)
	for _, m := range [][2]string{
		{"$__rate_interval", seconds(cmp.Or(s.Rates, all))}, {"$__range", seconds(all)}, {"$__interval", seconds(s.Interval)},
		{"$instance", "(" + strings.Join(s.Variables["instance"], "|") + ")"},
		{"$priority", "(" + strings.Join(s.Variables["priority"], "|") + ")"},
	} {
		text = strings.ReplaceAll(text, m[0], m[1])
	}
	return text
}

// Named are the queries of a plugin by name, and the names in order.
func Named(t testing.TB, plugin string) (map[string]Query, []string) {
	t.Helper()
	all := map[string]Query{}
	var names []string
	for _, q := range Queries(t) {
		if q.Source == plugin {
			if _, twice := all[q.Name]; twice {
				t.Errorf("two queries are called %s", q.Name)
			}
			all[q.Name] = q
			names = append(names, q.Name)
		}
	}
	slices.Sort(names)
	return all, names
}
