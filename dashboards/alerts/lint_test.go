package alerts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/dashboards/alerts"
	"github.com/rocelens/rocelens/dashboards/grafana"
)

// provisioned is what Grafana's documentation of file provisioning has of alert
// rules, as far as it is used.
type provisioned struct {
	APIVersion int `yaml:"apiVersion"`
	Groups     []struct {
		OrgID    int    `yaml:"orgId"`
		Name     string `yaml:"name"`
		Folder   string `yaml:"folder"`
		Interval string `yaml:"interval"`
		Rules    []struct {
			UID          string            `yaml:"uid"`
			Title        string            `yaml:"title"`
			Condition    string            `yaml:"condition"`
			Data         []query           `yaml:"data"`
			DashboardUID string            `yaml:"dashboardUid"`
			PanelID      int               `yaml:"panelId"`
			NoDataState  string            `yaml:"noDataState"`
			ExecErrState string            `yaml:"execErrState"`
			For          string            `yaml:"for"`
			Annotations  map[string]string `yaml:"annotations"`
			Labels       map[string]string `yaml:"labels"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

type query struct {
	RefID         string `yaml:"refId"`
	DatasourceUID string `yaml:"datasourceUid"`
	Range         struct {
		From, To int
	} `yaml:"relativeTimeRange"`
	Model struct {
		RefID      string `yaml:"refId"`
		Datasource struct {
			Type, UID string
		} `yaml:"datasource"`
		// of Prometheus
		Expr           string `yaml:"expr"`
		Instant, Range bool
		EditorMode     string `yaml:"editorMode"`
		// of expressions
		Type, Expression string
		Conditions       []struct {
			Evaluator struct {
				Type   string
				Params []float64
			}
		}
	} `yaml:"model"`
}

// read are the rules that are carried for Grafana.
func read(t *testing.T) *provisioned {
	t.Helper()
	data, err := alerts.Grafana()
	if err != nil {
		t.Fatal(err)
	}
	p := new(provisioned)
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLint: what Grafana refuses, and what it takes without a word and a reader would
// not.
func TestLint(t *testing.T) {
	p := read(t)
	groups := alerts.Groups()
	if p.APIVersion != 1 || len(p.Groups) != len(groups) {
		t.Fatalf("version %d, %d groups", p.APIVersion, len(p.Groups))
	}
	uid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	seen := map[string]bool{}
	once := func(what string) {
		t.Helper()
		if seen[what] {
			t.Errorf("%s twice", what)
		}
		seen[what] = true
	}
	for i, g := range p.Groups {
		once("group " + g.Name)
		every := wait(t, g.Interval)
		if g.OrgID != 1 || g.Name != groups[i].Name || g.Folder != alerts.Folder || every <= 0 || every%(10*time.Second) != 0 || len(g.Rules) != len(groups[i].Alerts) {
			t.Errorf("group %s of %d in %q, every %s, with %d rules", g.Name, g.OrgID, g.Folder, g.Interval, len(g.Rules))
		}
		for j, r := range g.Rules {
			a := &groups[i].Alerts[j]
			once("uid " + r.UID)
			once("title " + r.Title)
			if !uid.MatchString(r.UID) || r.Title != a.Name {
				t.Errorf("%s: UID %s, title %s", a.Name, r.UID, r.Title)
			}
			if d := wait(t, r.For); d != a.For || d%every != 0 {
				t.Errorf("%s waits for %s, and is evaluated every %s", a.Name, r.For, g.Interval)
			}
			if r.NoDataState != "OK" || r.ExecErrState != "Error" || r.Labels["severity"] != a.Severity || len(r.Labels) != 1 {
				t.Errorf("%s: without data %s, with an error %s, %v", a.Name, r.NoDataState, r.ExecErrState, r.Labels)
			}
			if len(r.Data) != 2 || r.Condition != "B" {
				t.Fatalf("%s has %d queries, and the condition %s", a.Name, len(r.Data), r.Condition)
			}
			lintQueries(t, a, r.Data)
			for _, key := range []string{"summary", "description", "runbook_url"} {
				if r.Annotations[key] == "" {
					t.Errorf("%s has no %s", a.Name, key)
				}
			}
			// Grafana expands ${...} of its environment in labels, and may come to do so here.
			if text := r.Annotations["summary"] + r.Annotations["description"]; len(r.Annotations) != 3 || strings.Contains(text, "$value ") || strings.Contains(text, "${") {
				t.Errorf("%s: %q", a.Name, r.Annotations)
			}
		}
	}
}

// lintQueries: the first asks Prometheus for the value now, the second compares it.
func lintQueries(t *testing.T, a *alerts.Alert, data []query) {
	value, beyond := &data[0], &data[1]
	for i, want := range []struct{ ref, source, kind string }{{"A", alerts.DatasourceUID, "prometheus"}, {"B", "__expr__", "__expr__"}} {
		q := &data[i]
		if q.RefID != want.ref || q.Model.RefID != want.ref || q.DatasourceUID != want.source || q.Model.Datasource.UID != want.source || q.Model.Datasource.Type != want.kind || q.Range.From <= q.Range.To {
			t.Errorf("%s: %+v", a.Name, q)
		}
	}
	if m := &value.Model; !m.Instant || m.Range || m.EditorMode != "code" || m.Expr == "" || strings.Contains(m.Expr, ":") || strings.Contains(m.Expr, "$") {
		t.Errorf("%s asks %+v", a.Name, m)
	}
	sign := "gt"
	if a.Below {
		sign = "lt"
	}
	m := &beyond.Model
	if m.Type != "threshold" || m.Expression != value.RefID || len(m.Conditions) != 1 || m.Conditions[0].Evaluator.Type != sign || !slices.Equal(m.Conditions[0].Evaluator.Params, []float64{a.Threshold}) {
		t.Errorf("%s compares %+v", a.Name, m)
	}
}

func wait(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s) // those of Prometheus with one unit, up to hours, are the same
	if err != nil {
		t.Error(err)
	}
	return d
}

// TestTable: names are Prometheus's, texts say where, and times fit together.
func TestTable(t *testing.T) {
	ids := map[string]bool{}
	name := regexp.MustCompile(`^Rocelens[A-Z][A-Za-z]+$`)
	recording := regexp.MustCompile(`^(instance|interface|interface_priority):rocelens_[a-z_]+:[a-z0-9_]+$`)
	for _, g := range alerts.Groups() {
		for _, r := range g.Recordings {
			if !recording.MatchString(r.Name) || r.About == "" {
				t.Errorf("%s: %q", r.Name, r.About)
			}
		}
		for i := range g.Alerts {
			a := &g.Alerts[i]
			if !name.MatchString(a.Name) || ids[a.ID] || !slices.Contains([]string{"critical", "warning", "info"}, a.Severity) || a.When == "" || a.Why == "" {
				t.Errorf("%s, %s: severity %q, when %q, why %q", a.Name, a.ID, a.Severity, a.When, a.Why)
			}
			ids[a.ID] = true
			if a.For%alerts.Interval != 0 {
				t.Errorf("%s waits for %v", a.Name, a.For)
			}
			if !strings.Contains(a.Summary, "{{ $labels.instance }}") || strings.HasSuffix(a.Summary, ".") || !strings.Contains(a.Description, "{{ $labels.instance }}") || !strings.HasSuffix(a.Description, ".") {
				t.Errorf("%s: %q, %q", a.Name, a.Summary, a.Description)
			}
			by := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(g.Inlined(a.Value))
			if len(by) < 2 {
				t.Errorf("%s is not told apart by anything", a.Name)
				continue
			}
			labels := strings.Split(by[1], ", ")
			// What is named there is what it is told apart by.
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(a.Summary+a.Description, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("%s names the %s, and is not by it", a.Name, m[1])
				}
			}
			// A series of its own for each of them would fire apart and say the same.
			for _, l := range labels {
				if l != "job" && !strings.Contains(a.Summary+a.Description, "$labels."+l+" ") {
					t.Errorf("%s is by %s, and does not say which", a.Name, l)
				}
			}
		}
	}
}

// TestRunbooks: runbooks are there.
func TestRunbooks(t *testing.T) {
	anchors := map[string]bool{}
	strip := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, file := range []string{"findings.md", "monitor.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				anchors[file+"#"+strings.ReplaceAll(strip.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")] = true
			}
		}
	}
	for _, g := range alerts.Groups() {
		for i := range g.Alerts {
			if a := &g.Alerts[i]; !anchors[a.Runbook] {
				t.Errorf("%s: there is no %s in docs", a.Name, a.Runbook)
			}
		}
	}
}

// TestPanels: alerts are linked to the panels that they are meant to be, which show what the
// alerts are about.
func TestPanels(t *testing.T) {
	for _, g := range alerts.Groups() {
		for i := range g.Alerts {
			a := &g.Alerts[i]
			data, err := grafana.Board(a.Board)
			if err != nil {
				t.Errorf("%s: %v", a.Name, err)
				continue
			}
			var b struct {
				Panels []struct {
					ID      int
					Title   string
					Targets []struct{ Expr string }
				}
			}
			if err := json.Unmarshal(data, &b); err != nil {
				t.Fatal(err)
			}
			title, at, shows := "", 0, ""
			for _, p := range b.Panels {
				if p.ID == a.Panel {
					title = p.Title
				}
				if p.ID == a.Panel || p.ID == a.Panel-1 { // what a share is of may be in the panel before it
					for _, q := range p.Targets {
						shows += q.Expr + "\n"
					}
				}
				if p.Title == a.PanelTitle && at == 0 {
					at = p.ID
				}
			}
			if title != a.PanelTitle {
				t.Errorf("%s: panel %d of %s is %q; %q has the number %d", a.Name, a.Panel, a.Board, title, a.PanelTitle, at)
			}
			for _, counter := range regexp.MustCompile(`rocelens_\w+_total(?:{[^}]*})?`).FindAllString(g.Inlined(a.Value), -1) {
				name, labels, _ := strings.Cut(strings.TrimSuffix(counter, "}"), "{")
				if !regexp.MustCompile(name + `{[^}]*` + regexp.QuoteMeta(labels) + `}`).MatchString(shows) {
					t.Errorf("%s is about %s, which neither %q nor the panel before it shows:\n%s", a.Name, counter, title, shows)
				}
			}
		}
	}
}
