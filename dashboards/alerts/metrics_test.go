package alerts_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rocelens/rocelens/dashboards/alerts"
	"github.com/rocelens/rocelens/storage/metrics"
)

// metric is one that can be scraped.
type metric struct {
	kind   dto.MetricType
	labels []string
	values map[string][]string // of labels
}

// exposed are the metrics of a monitor: the exposition that the tests of
// storage/metrics hold against the code, and what is not in it.
func exposed(t *testing.T) map[string]*metric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "storage", "metrics", "testdata", "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(metrics.NewBuild("test"))
	more, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range more {
		families[f.GetName()] = f
	}
	all := map[string]*metric{"up": {kind: dto.MetricType_GAUGE, values: map[string][]string{}}} // of each target
	for name, f := range families {
		m := &metric{kind: f.GetType(), values: make(map[string][]string)}
		for _, one := range f.GetMetric() {
			for _, l := range one.GetLabel() {
				if !slices.Contains(m.labels, l.GetName()) {
					m.labels = append(m.labels, l.GetName())
				}
				m.values[l.GetName()] = append(m.values[l.GetName()], l.GetValue())
			}
		}
		all[name] = m
	}
	for _, m := range all {
		m.labels = append(m.labels, "job", "instance") // of the target
	}
	return all
}

var (
	usedForm  = regexp.MustCompile(`(?:(\w+)\()?\b(rocelens_\w+|up)\b(?:\{([^}]*)\})?(\[\w+\])?`)
	labelForm = regexp.MustCompile(`(\w+)(=~|=)"([^"]*)"`)
	groupForm = regexp.MustCompile(`by \(([^)]*)\) \((?:\w+\()?(rocelens_\w+|up)\b`)
)

// TestMetrics: what rules ask for is what a monitor tells: metrics of that type,
// with those labels and values.
func TestMetrics(t *testing.T) {
	have := exposed(t)
	used := 0
	for _, g := range alerts.Groups() {
		exprs := map[string]string{}
		for _, r := range g.Recordings {
			exprs[r.Name] = g.Inlined(r.Expr)
		}
		for i := range g.Alerts {
			exprs[g.Alerts[i].Name] = g.Inlined(g.Alerts[i].Expr())
		}
		for rule, expr := range exprs {
			if strings.Contains(expr, ":") { // names of recordings have them, metrics don't
				t.Errorf("%s needs a recording that is not in its group: %s", rule, expr)
			}
			for _, m := range usedForm.FindAllStringSubmatch(expr, -1) {
				used++
				function, name, matchers, window := m[1], m[2], m[3], m[4]
				is, ok := have[name]
				if !ok {
					t.Errorf("%s: there is no %s", rule, name)
					continue
				}
				counts := function == "rate" || function == "increase"
				if counts != (is.kind == dto.MetricType_COUNTER) || counts && window == "" {
					t.Errorf("%s: %s of %s, which is a %v", rule, function, name, is.kind)
				}
				for _, l := range labelForm.FindAllStringSubmatch(matchers, -1) {
					if !slices.Contains(is.labels, l[1]) || l[2] == "=" && !slices.Contains(is.values[l[1]], l[3]) {
						t.Errorf("%s: %s has no %s", rule, name, l[0])
					}
				}
			}
			grouped := groupForm.FindAllStringSubmatch(expr, -1)
			if len(grouped) == 0 {
				t.Errorf("%s sums up nothing: %s", rule, expr)
			}
			for _, m := range grouped {
				for _, l := range strings.Split(m[1], ", ") {
					if is, ok := have[m[2]]; ok && !slices.Contains(is.labels, l) {
						t.Errorf("%s: %s has no label %s", rule, m[2], l)
					}
				}
				if !strings.HasPrefix(m[1], "job, instance") {
					t.Errorf("%s: monitors are not told apart: by (%s)", rule, m[1])
				}
			}
		}
	}
	if used < 40 {
		t.Errorf("only %d uses of metrics were found", used)
	}
}

// TestTestedMetrics: series of the rules' tests are of metrics that there are.
func TestTestedMetrics(t *testing.T) {
	have := exposed(t)
	for path, f := range testFiles(t) {
		for i := range f.Tests {
			for _, s := range f.Tests[i].Series {
				name, labels, _ := strings.Cut(s.Series, "{")
				is, ok := have[name]
				if !ok {
					t.Errorf("%s: %s: there is no %s", path, f.Tests[i].Name, name)
					continue
				}
				var has []string
				for _, l := range labelForm.FindAllStringSubmatch(labels, -1) {
					has = append(has, l[1])
				}
				want := slices.Clone(is.labels)
				slices.Sort(has)
				slices.Sort(want)
				if !slices.Equal(has, want) {
					t.Errorf("%s: %s: %s has the labels %q, not %q", path, f.Tests[i].Name, name, want, has)
				}
			}
		}
	}
}
