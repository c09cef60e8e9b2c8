// Package grafana has the Grafana boards of rocelens: it builds them, carries
// them as JSON, and writes what Grafana's file provisioning reads.
package grafana

import (
	"embed"
	"maps"
	"slices"

	"github.com/rocelens/rocelens/storage/schema"
)

// PluginVersion is the version of the ClickHouse plugin that the queries were
// written for. Macros and queries are as its documentation has them.
const PluginVersion = "4.21.2"

// GrafanaVersion is the oldest Grafana that this plugin and the boards work with.
const GrafanaVersion = "11.6.0"

// OverviewUID is the UID of the board to begin with.
const OverviewUID = uidOverview

const defaultDatabase = schema.DefaultDatabase

//go:embed boards/*.json
var files embed.FS

// UIDs are those of the boards.
func UIDs() []string { return slices.Sorted(maps.Keys(made)) }

// Board is the JSON of a board, to be imported by hand: Grafana asks for its data
// sources.
func Board(uid string) ([]byte, error) { return files.ReadFile("boards/" + uid + ".json") }
