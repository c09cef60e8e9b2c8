package grafana_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana"
)

// asked is a query of a board.
type asked struct {
	name   string // of the board, and what in it asks
	source string // type of the plugin
	text   string
	format int
}

// queries are all of all boards: of panels, variables and annotations.
func queries(t testing.TB) []asked {
	t.Helper()
	var all []asked
	for _, uid := range grafana.UIDs() {
		b := parse(t, uid)
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all = append(all, asked{uid + " " + p.Title + " " + q.RefID, q.Datasource.Type, q.RawSQL + q.Expr, q.Format})
			}
		}
		for _, v := range b.Templating.List {
			if q, ok := v.Query.(map[string]any); ok {
				text, _ := q["rawSql"].(string)
				if text == "" {
					text, _ = q["query"].(string)
				}
				all = append(all, asked{uid + " $" + v.Name, v.Datasource.Type, text, 1})
			}
		}
		for _, a := range b.Annotations.List {
			all = append(all, asked{uid + " @" + a.Name, a.Datasource.Type, a.Target.RawSQL, a.Target.Format})
		}
	}
	return all
}

// parsed is what the tests read of a board.
type parsed struct {
	UID, Title, Description string
	Tags                    []string
	SchemaVersion           int
	Links                   []struct{ Type, Title string }
	Panels                  []parsedPanel
	Templating              struct {
		List []struct {
			Type, Name, Label, Description string
			Query                          any
			Datasource                     source
			Hide                           int
		}
	}
	Annotations struct {
		List []struct {
			Name       string
			Datasource source
			Target     target
		}
	}
}

type source struct{ Type, UID string }

type target struct {
	Datasource   source
	RefID        string `json:"refId"`
	RawSQL       string `json:"rawSql"`
	EditorType   string
	Expr         string
	Format       int
	LegendFormat string
}

type parsedPanel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []target
	Links                    []struct{ Title, URL string }
	FieldConfig              struct {
		Defaults struct {
			Unit, NoValue string
			Links         []struct{ Title, URL string }
			Thresholds    *struct{ Steps []struct{ Color string } }
		}
		Overrides []struct {
			Matcher struct{ ID, Options string }
		}
	}
}

func parse(t testing.TB, uid string) *parsed {
	t.Helper()
	data, err := grafana.Board(uid)
	if err != nil {
		t.Fatal(err)
	}
	var b parsed
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

// screen is what a board shows: its time and the values of its variables. Those that
// it does not name have the value All.
type screen struct {
	from, to  time.Time
	interval  time.Duration
	variables map[string][]string
}

// macroArgs splits what is in the parentheses at the beginning of s, as the plugin does:
// at commas that are in no further parentheses.
func macroArgs(s string) (args []string, length int) {
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

var variableForm = regexp.MustCompile(`\$\{(\w+)(?::(\w+))?\}|\$(\w+)`)

// sql is a query of ClickHouse as the plugin sends it: first $__conditionalAll, then
// variables, then macros, as they are documented.
func (s *screen) sql(t testing.TB, text string) string {
	t.Helper()
	const conditional = "$__conditionalAll"
	for {
		at := strings.LastIndex(text, conditional+"(")
		if at < 0 {
			break
		}
		args, length := macroArgs(text[at+len(conditional):])
		if len(args) != 2 {
			t.Fatalf("%d arguments of %s", len(args), text[at:])
		}
		condition := args[0]
		if s.variables[strings.TrimPrefix(strings.TrimSpace(args[1]), "$")] == nil {
			condition = "1=1"
		}
		text = text[:at] + condition + text[at+len(conditional)+length:]
	}
	text = variableForm.ReplaceAllStringFunc(text, func(v string) string {
		m := variableForm.FindStringSubmatch(v)
		name := m[1] + m[3]
		if strings.HasPrefix(name, "__") {
			return v
		}
		values, ok := s.variables[name]
		if !ok {
			t.Fatalf("%s has no value", v)
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
	seconds := strconv.Itoa(max(int(s.interval.Seconds()), 1))
	text = regexp.MustCompile(`\$__timeInterval\(([^()]*)\)`).ReplaceAllString(text, "toStartOfInterval(toDateTime($1), INTERVAL "+seconds+" second)")
	for _, m := range [][2]string{
		{"$__fromTime_ms", fmt.Sprintf("fromUnixTimestamp64Milli(%d)", s.from.UnixMilli())},
		{"$__toTime_ms", fmt.Sprintf("fromUnixTimestamp64Milli(%d)", s.to.UnixMilli())},
		{"$__fromTime", fmt.Sprintf("toDateTime(%d)", s.from.Unix())},
		{"$__toTime", fmt.Sprintf("toDateTime(%d)", s.to.Unix())},
		{"$__interval_s", seconds},
	} {
		text = strings.ReplaceAll(text, m[0], m[1])
	}
	if i := strings.IndexByte(text, '$'); i >= 0 && !strings.HasPrefix(text[i:], "$',") { // but for the end of a regular expression
		t.Fatalf("what is this: %s", text[i:])
	}
	return text
}

// promQL is a query of Prometheus as Grafana sends it.
func (s *screen) promQL(text string) string {
	window := strconv.Itoa(int(s.to.Sub(s.from).Seconds())) + "s"
	for _, m := range [][2]string{
		{"$__rate_interval", window}, {"$__range", window},
		{"$instance", "(" + strings.Join(s.variables["instance"], "|") + ")"},
		{"$priority", "(" + strings.Join(s.variables["priority"], "|") + ")"},
	} {
		text = strings.ReplaceAll(text, m[0], m[1])
	}
	return text
}

// named are the queries by name.
func named(t testing.TB, plugin string) (map[string]asked, []string) {
	t.Helper()
	all := map[string]asked{}
	var names []string
	for _, q := range queries(t) {
		if q.source == plugin {
			if _, twice := all[q.name]; twice {
				t.Errorf("two queries are called %s", q.name)
			}
			all[q.name] = q
			names = append(names, q.name)
		}
	}
	slices.Sort(names)
	return all, names
}
