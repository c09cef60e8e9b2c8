// Package alerts has the alerts of rocelens: one table of them, as rules of
// Prometheus and as rules that Grafana evaluates itself.
package alerts

import (
	"embed"
	"strconv"
	"strings"
	"time"
)

// DatasourceUID is the data source that Grafana's rules ask: the Prometheus that is
// written with the boards.
const DatasourceUID = "rocelens-prometheus"

// Folder is Grafana's folder of the rules. It is not that of the boards: Grafana
// makes the folder of rules first, by its title and with a UID of its own, and then
// that of the boards, by its UID.
const Folder = "RoCE alerts"

// interval is how often rules are evaluated. Grafana wants a multiple of ten seconds.
const interval = 30 * time.Second

// Severities, as those of findings.
const (
	critical = "critical" // traffic is harmed, or nobody watches: look now
	warning  = "warning"  // look today
	info     = "info"     // it may be meant so
)

// Recording is a rule that keeps what an expression says under a name.
type Recording struct {
	Name, Expr string
	About      string // for the documentation
}

// Alert is a rule that fires while a value is beyond a threshold.
type Alert struct {
	Name string
	ID   string // the end of the UID in Grafana, which stays as it is

	// Value is what is compared, in PromQL, and Provided what has to be so besides:
	// enough packets, say. They may use recordings of the group.
	Value     string
	Provided  []string
	Below     bool // it fires below the threshold, and else above
	Threshold float64
	For       time.Duration // for how long, before it fires

	Severity string
	// Summary and Description are templates of Prometheus, with $labels and $value.
	Summary, Description string
	Runbook              string // below docs

	// Board and Panel are the UID of a board and the number of the panel in it that
	// shows the value, which is called PanelTitle.
	Board      string
	Panel      int
	PanelTitle string

	When string // it fires, in words
	Why  string // this threshold and this time
}

// Group has rules that are evaluated one after the other.
type Group struct {
	Name       string
	Recordings []Recording
	Alerts     []Alert
}

// Groups are all rules.
func Groups() []Group { return []Group{traffic(), probes()} }

// compared is the value that is compared, where there is any.
func (a *Alert) compared() string {
	return strings.Join(append([]string{a.Value}, a.Provided...), " and ")
}

// Expr is what fires, in PromQL.
func (a *Alert) Expr() string {
	sign := " > "
	if a.Below {
		sign = " < "
	}
	return "(" + a.compared() + ")" + sign + strconv.FormatFloat(a.Threshold, 'f', -1, 64)
}

// docs is where runbooks are.
const docs = "https://github.com/rocelens/rocelens/blob/main/docs/"

func (a *Alert) annotations() map[string]string {
	return map[string]string{"summary": a.Summary, "description": a.Description, "runbook_url": docs + a.Runbook}
}

// inlined is an expression that needs no recording.
func (g *Group) inlined(expr string) string {
	for i := len(g.Recordings) - 1; i >= 0; i-- { // later ones may use earlier ones
		expr = strings.ReplaceAll(expr, g.Recordings[i].Name, "("+g.Recordings[i].Expr+")")
	}
	return expr
}

// duration is one as Prometheus and Grafana write it: of one unit.
func duration(d time.Duration) string {
	switch {
	case d%time.Minute == 0 && d > 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	default:
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
}

//go:embed rules
var files embed.FS

// The names of the files that are carried.
const (
	PrometheusFile = "rocelens.rules.yml"
	GrafanaFile    = "rocelens-grafana.yaml"
)

// Prometheus are the rules as Prometheus reads them.
func Prometheus() ([]byte, error) { return files.ReadFile("rules/" + PrometheusFile) }

// Grafana are the rules as Grafana's file provisioning reads them.
func Grafana() ([]byte, error) { return files.ReadFile("rules/" + GrafanaFile) }
