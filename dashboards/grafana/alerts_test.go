package grafana_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/dashboards/alerts"
)

var windowForm = regexp.MustCompile(`\[\d+m\]`)

// hurried are rules that look ten seconds back, and are evaluated each second: the
// same expressions, for a test that does not last for a quarter of an hour.
func hurried(rules string) string {
	return strings.ReplaceAll(windowForm.ReplaceAllString(rules, "[10s]"), "interval: 30s", "interval: 1s")
}

// ruled is a rule as Prometheus tells of it.
type ruled struct {
	Name, Query, Health, LastError, Type string
	LastEvaluation                       time.Time
	Alerts                               []struct {
		State  string
		Labels map[string]string
	}
}

// rules are those of a Prometheus, once all were evaluated after a time.
func (p *prom) rules(t *testing.T, after time.Time) map[string]*ruled {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get(p.url + "/api/v1/rules")
		if err != nil {
			continue // it does not answer yet
		}
		var a struct {
			Data struct {
				Groups []struct{ Rules []*ruled }
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&a)
		if e := resp.Body.Close(); err != nil || e != nil {
			continue
		}
		all, late := make(map[string]*ruled), false
		for _, g := range a.Data.Groups {
			for _, r := range g.Rules {
				all[r.Name] = r
				late = late || !r.LastEvaluation.After(after)
			}
		}
		if len(all) > 0 && !late {
			return all
		}
	}
	t.Fatal("rules are not evaluated")
	return nil
}

// byGrafana are the queries and comparisons of Grafana's rules, as PromQL.
func byGrafana(t *testing.T) map[string]string {
	t.Helper()
	data, err := alerts.Grafana()
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Groups []struct {
			Rules []struct {
				Title string
				Data  []struct {
					Model struct {
						Expr       string
						Conditions []struct {
							Evaluator struct {
								Type   string
								Params []float64
							}
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			e := r.Data[1].Model.Conditions[0].Evaluator
			all[r.Title] = fmt.Sprintf("(%s) %s %v", r.Data[0].Model.Expr, map[string]string{"gt": ">", "lt": "<"}[e.Type], e.Params[0])
		}
	}
	return all
}

// TestAlerts runs the rules in a real Prometheus, with native histograms and without:
// what is well fires nothing, and what is wrong is seen by Prometheus's rules and by
// Grafana's.
func TestAlerts(t *testing.T) {
	text, err := alerts.Prometheus()
	if err != nil {
		t.Fatal(err)
	}
	grafanas := byGrafana(t)
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native %v", native), func(t *testing.T) {
			t.Parallel() // they wait most of the time
			m := newMonitor(t)
			m.healthy = true
			well := []string{"clean_mixed", "clean_bidirectional", "cnp", "pfc_toggle"}
			m.see(t, well...) // so that all series are there before they rise
			path := filepath.Join(t.TempDir(), alerts.PrometheusFile)
			if err := os.WriteFile(path, []byte(hurried(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			p := startPrometheus(t, strings.TrimPrefix(m.URL, "http://"), native, path)
			p.knows(t, "rocelens_build_info")
			m.see(t, well...)
			p.knows(t, `sum(rate(rocelens_packets_total[10s])) > 0`)
			rules := p.rules(t, time.Now())
			for name, r := range rules {
				if r.Health != "ok" || r.LastError != "" {
					t.Errorf("%s: %s: %s", name, r.Health, r.LastError)
				}
				// A scrape that a busy machine is late with is a probe that is down.
				if len(r.Alerts) > 0 && name != "RocelensProbeDown" {
					t.Errorf("%s fires, and all is well: %v", name, r.Alerts)
				}
			}

			m.healthy = false
			m.mu.Lock()
			m.inputs[0].Interfaces[0].Down = true
			m.mu.Unlock()
			waiting := map[string]bool{} // for what is wrong
			for _, name := range []string{
				"RocelensPFCStorm", "RocelensRetransmissions", "RocelensRetransmissionsSevere", "RocelensICRCErrors", "RocelensMarksWithoutCNPs",
				"RocelensInterfaceDown", "RocelensCaptureDrops", "RocelensFilesLost", "RocelensRowsLost",
			} {
				waiting[name+" of Prometheus"], waiting[name+" of Grafana"] = true, true
			}
			m.see(t, "pfc_storm")
			wrong := []string{"corrupt"}
			for range 5 { // so much that rates are above what alerts begin at
				wrong = append(wrong, "loss_before", "ce_no_cnp", "ce_no_cnp")
			}
			for deadline := time.Now().Add(60 * time.Second); len(waiting) > 0 && time.Now().Before(deadline); {
				m.see(t, wrong...)
				for name, r := range p.rules(t, time.Time{}) {
					if len(r.Alerts) > 0 {
						delete(waiting, name+" of Prometheus")
					}
				}
				for name, expr := range grafanas {
					rows, err := p.query(hurried(expr))
					if err != nil {
						t.Fatalf("%s: %v\n%s", name, err, expr)
					}
					if len(rows) > 0 {
						delete(waiting, name+" of Grafana")
					}
				}
			}
			if len(waiting) > 0 {
				t.Errorf("these see nothing wrong: %q", slices.Sorted(maps.Keys(waiting)))
			}

			m.Close()
			p.knows(t, "("+rules["RocelensProbeDown"].Query+")")
			p.knows(t, grafanas["RocelensProbeDown"])
		})
	}
}
