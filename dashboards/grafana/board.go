package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// What is asked of who imports a board by hand.
const (
	inputClickHouse = "DS_ROCELENS_CLICKHOUSE"
	inputPrometheus = "DS_ROCELENS_PROMETHEUS"
	inputDatabase   = "VAR_DATABASE"
)

// tag is that of all boards.
const tag = "rocelens"

// The UIDs of the boards. They are in links, and stay as they are.
const (
	uidOverview = "rocelens-overview"
	uidLoss     = "rocelens-loss"
	uidPFC      = "rocelens-pfc"
	uidECN      = "rocelens-ecn"
	uidSession  = "rocelens-session"
	uidProbe    = "rocelens-probe"
)

// builder makes a classic board. The SDK prefers those of the next schema, which Grafana
// 11 does not read.
type builder = dashboard.DashboardBuilder //nolint:staticcheck // see above

// made are the boards by UID, as they are made.
var made = map[string]func() *builder{
	uidOverview: overview, uidLoss: loss, uidPFC: pfc, uidECN: ecn, uidSession: session, uidProbe: probe,
}

// board is one without panels.
func board(uid, title, about string, variables ...variable) *builder {
	b := dashboard.NewDashboardBuilder(title) //nolint:staticcheck // see builder
	return b.Uid(uid).Description(about).Tags([]string{tag}).
		Time("now-1h", "now").Refresh("1m").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Variables(variables).Link(otherBoards()).Annotation(storms()).Annotation(wrong())
}

type input struct {
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Type        string `json:"type"`
	PluginID    string `json:"pluginId,omitempty"`
	PluginName  string `json:"pluginName,omitempty"`
	Value       string `json:"value,omitempty"`
}

type requirement struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// importable is a board with what Grafana asks when it is imported.
type importable struct {
	Inputs   []input       `json:"__inputs"`
	Requires []requirement `json:"__requires"`
	dashboard.Dashboard
}

// Make builds a board and returns its JSON, as it is kept in this package.
func Make(uid string) ([]byte, error) {
	build, ok := made[uid]
	if !ok {
		return nil, fmt.Errorf("there is no board %q", uid)
	}
	d, err := build().Build()
	if err != nil {
		return nil, fmt.Errorf("board %s: %w", uid, err)
	}
	for i := range d.Links {
		d.Links[i].Placement = nil // the SDK's default hides them in a menu
	}
	kinds := []string{}
	for i := range d.Panels {
		id := uint32(i + 1)
		if row := d.Panels[i].RowPanel; row != nil {
			row.Id = id
			continue
		}
		p := d.Panels[i].Panel
		p.Id = &id
		if !slices.Contains(kinds, p.Type) {
			kinds = append(kinds, p.Type)
		}
	}
	slices.Sort(kinds)
	requires := []requirement{
		{"grafana", "grafana", "Grafana", GrafanaVersion},
		{"datasource", clickHouseType, "ClickHouse", PluginVersion},
		{"datasource", prometheusType, "Prometheus", ""},
	}
	for _, k := range kinds {
		requires = append(requires, requirement{"panel", k, k, ""})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(importable{Requires: requires, Dashboard: d, Inputs: []input{
		{Name: inputClickHouse, Label: "ClickHouse", Description: "The store of rocelens: its flows, sessions, events and findings", Type: "datasource", PluginID: clickHouseType, PluginName: "ClickHouse"},
		{Name: inputPrometheus, Label: "Prometheus", Description: "What scrapes rocelens monitor", Type: "datasource", PluginID: prometheusType, PluginName: "Prometheus"},
		{Name: inputDatabase, Label: "Database", Description: "The ClickHouse database that rocelens writes to", Type: "constant", Value: defaultDatabase},
	}})
	return b.Bytes(), err
}
