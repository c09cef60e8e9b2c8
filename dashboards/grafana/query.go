package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// Types of the plugins that answer queries.
const (
	clickHouseType = "grafana-clickhouse-datasource"
	prometheusType = "prometheus"
)

func clickHouse() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr(clickHouseType), Uid: cog.ToPtr("${" + inputClickHouse + "}")}
}

func prometheusSource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr(prometheusType), Uid: cog.ToPtr("${" + inputPrometheus + "}")}
}

// Formats of the plugin's answers: for its backend as numbers, for its editor as words.
const (
	asTimeSeries   = 0
	asTable        = 1
	typeTimeSeries = "timeseries"
	typeTable      = "table"
)

// sqlQuery is a query as the ClickHouse plugin keeps it in a board. Without the version
// it is taken for one of plugin 3.
type sqlQuery struct {
	Datasource    common.DataSourceRef `json:"datasource"`
	EditorType    string               `json:"editorType"`
	Format        int                  `json:"format"`
	PluginVersion string               `json:"pluginVersion"`
	QueryType     string               `json:"queryType"`
	RawSQL        string               `json:"rawSql"`
	RefID         string               `json:"refId"`
}

// sql is a query of ClickHouse whose rows are shown as a table.
func sql(text string) *sqlQuery {
	return &sqlQuery{
		Datasource: clickHouse(), EditorType: "sql", Format: asTable, PluginVersion: PluginVersion, QueryType: typeTable, RawSQL: text, RefID: "A",
	}
}

// sqlSeries is one whose first column is the time. With a column of text after
// it, each of its values is a series.
func sqlSeries(text string) *sqlQuery {
	q := sql(text)
	q.Format, q.QueryType = asTimeSeries, typeTimeSeries
	return q
}

func (q *sqlQuery) ref(id string) *sqlQuery { q.RefID = id; return q }

// Build and those below make it a query of the SDK.
func (q *sqlQuery) Build() (variants.Dataquery, error) { return q, nil }

// ImplementsDataqueryVariant is of variants.Dataquery.
func (*sqlQuery) ImplementsDataqueryVariant() {}

// DataqueryType is of variants.Dataquery.
func (*sqlQuery) DataqueryType() string { return clickHouseType }

// Validate is of variants.Dataquery.
func (*sqlQuery) Validate() error { return nil }

// Equals is of variants.Dataquery.
func (q *sqlQuery) Equals(other variants.Dataquery) bool {
	o, ok := other.(*sqlQuery)
	return ok && o != nil && q.RawSQL == o.RawSQL && q.Format == o.Format && q.RefID == o.RefID
}

// promRange is a query of Prometheus over the time of the board, and promNow one of its
// end.
func promRange(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(prometheusSource()).Expr(expr).LegendFormat(legend).
		EditorMode(prometheus.QueryEditorModeCode).Range().RefId("A")
}

func promNow(expr string) *prometheus.DataqueryBuilder {
	return promRange(expr, "__auto").Instant()
}
