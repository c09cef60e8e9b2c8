package alerts

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// ruleFile and those below are what Prometheus reads.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval"`
	Rules    []rule `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// MakePrometheus makes the rules as Prometheus reads them.
func MakePrometheus() ([]byte, error) { return prometheusRules(Groups()) }

func prometheusRules(groups []Group) ([]byte, error) {
	var f ruleFile
	for i := range groups {
		g := &groups[i]
		out := ruleGroup{Name: g.Name, Interval: duration(interval)}
		for _, r := range g.Recordings {
			out.Rules = append(out.Rules, rule{Record: r.Name, Expr: r.Expr})
		}
		for i := range g.Alerts {
			a := &g.Alerts[i]
			r := rule{Alert: a.Name, Expr: a.Expr(), Labels: map[string]string{"severity": a.Severity}, Annotations: a.annotations()}
			if a.For > 0 {
				r.For = duration(a.For)
			}
			out.Rules = append(out.Rules, r)
		}
		f.Groups = append(f.Groups, out)
	}
	return marshal("Rules of Prometheus for what rocelens monitor tells: see docs/alerts.md.", &f)
}

// marshal writes YAML that says what it is.
func marshal(about string, what any) ([]byte, error) {
	b := bytes.NewBufferString("# " + about + "\n# Written by \"go test ./dashboards/alerts -update\" from the table in dashboards/alerts.\n")
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(what); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}
