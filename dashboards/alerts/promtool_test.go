package alerts_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/alerts"
)

// ruleTests is a file of promtool's tests.
type ruleTests struct {
	RuleFiles []string   `yaml:"rule_files"`
	Every     string     `yaml:"evaluation_interval"`
	Tests     []ruleTest `yaml:"tests"`
}

type ruleTest struct {
	Name   string
	Every  string `yaml:"interval"`
	Series []struct {
		Series, Values string
	} `yaml:"input_series"`
	Alerts []struct {
		At       string           `yaml:"eval_time"`
		Name     string           `yaml:"alertname"`
		Expected []map[string]any `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// split is what the name of a test says: the alert, and what becomes of it.
func (r *ruleTest) split(t *testing.T) (alert, kind string) {
	t.Helper()
	parts := strings.SplitN(r.Name, ": ", 3)
	if len(parts) != 3 {
		t.Fatalf("%q does not say which alert does what, and why", r.Name)
	}
	return parts[0], parts[1]
}

// testFiles are those in testdata, by path.
func testFiles(t *testing.T) map[string]*ruleTests {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.test.yml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	all := make(map[string]*ruleTests)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := new(ruleTests)
		if err := yaml.Unmarshal(data, f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[path] = f
	}
	return all
}

func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	capturetest.Need(t, "promtool")
	out, err := exec.Command("promtool", args...).CombinedOutput()
	return string(out), err
}

// TestRules: Prometheus's own tool takes the rules, and the alerts fire, with the texts
// that are expected, or are silent.
func TestRules(t *testing.T) {
	if out, err := promtool(t, "check", "rules", filepath.Join("rules", alerts.PrometheusFile)); err != nil || !strings.Contains(out, "SUCCESS") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := promtool(t, append([]string{"test", "rules"}, slices.Sorted(maps.Keys(testFiles(t)))...)...); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCases: each alert has a test in which it fires, and one in which it is silent
// just below its threshold.
func TestCases(t *testing.T) {
	seen := make(map[string]bool)
	for path, f := range testFiles(t) {
		for i := range f.Tests {
			r := &f.Tests[i]
			alert, kind := r.split(t)
			if seen[r.Name] {
				t.Errorf("%s: %s twice", path, r.Name)
			}
			seen[r.Name], seen[alert+": "+kind] = true, true
			fired := 0
			for _, a := range r.Alerts {
				if a.Name != alert {
					t.Errorf("%s: %s asks for %s", path, r.Name, a.Name)
				}
				fired += len(a.Expected)
			}
			if len(r.Alerts) == 0 || (fired > 0) != (kind == "fires") || !slices.Contains([]string{"fires", "near", "not"}, kind) {
				t.Errorf("%s: %s has %d times, and expects %d alerts", path, r.Name, len(r.Alerts), fired)
			}
		}
	}
	for _, g := range alerts.Groups() {
		for i := range g.Alerts {
			for _, kind := range []string{"fires", "near"} {
				if name := g.Alerts[i].Name + ": " + kind; !seen[name] {
					t.Errorf("no test is %q", name)
				}
			}
		}
	}
}

// TestSilence: tests in which an alert is silent fail where the reason is taken away:
// those near the threshold with one that is a quarter nearer, the others without the
// conditions beside the threshold and without waiting.
func TestSilence(t *testing.T) {
	for kind, change := range map[string]func(*alerts.Alert){
		"near": func(a *alerts.Alert) {
			switch {
			case a.Threshold == 0: // anything at all
				a.Threshold = -0.5
			case a.Below:
				a.Threshold /= 0.75
			default:
				a.Threshold *= 0.75
			}
		},
		"not": func(a *alerts.Alert) {
			a.Provided, a.For = nil, 0
		},
	} {
		groups := alerts.Groups()
		for i := range groups {
			for j := range groups[i].Alerts {
				change(&groups[i].Alerts[j])
			}
		}
		rules, err := alerts.PrometheusOf(groups)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		only := &ruleTests{RuleFiles: []string{"rules.yml"}, Every: alerts.Interval.String()}
		for _, f := range testFiles(t) {
			only.Tests = append(only.Tests, slices.DeleteFunc(f.Tests, func(r ruleTest) bool { _, k := r.split(t); return k != kind })...)
		}
		tests, err := yaml.Marshal(only)
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"rules.yml": rules, "test.yml": tests} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := promtool(t, "test", "rules", filepath.Join(dir, "test.yml"))
		if err == nil {
			t.Errorf("%s: all are silent still: %s", kind, out)
		}
		for i := range only.Tests {
			if name := only.Tests[i].Name; !strings.Contains(out, fmt.Sprintf("name: %s,\n", name)) {
				t.Errorf("%q says nothing: it is silent even without a reason\n%s", name, out)
			}
		}
	}
}
