package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// The width of a board is 24.
const (
	whole   = 24
	half    = 12
	third   = 8
	quarter = 6
	eighth  = 3
)

// number is a panel with one number. empty is what it says without one.
func number(title, about, empty, unit string) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(about).NoValue(empty).Unit(unit).
		Datasource(prometheusSource()).Span(eighth).Height(4).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
}

// curves is a panel of series over time that are never less than nothing.
func curves(title, about, empty, unit string, source common.DataSourceRef) *timeseries.PanelBuilder {
	return lines(title, about, empty, unit, source).Min(0)
}

// limits draws thresholds across a panel of series.
func limits(p seriesPanel, values ...float64) seriesPanel {
	return p.Thresholds(levels(values...)).ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
}

// lines is a panel of series over time.
func lines(title, about, empty, unit string, source common.DataSourceRef) *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().Title(title).Description(about).NoValue(empty).Unit(unit).
		Datasource(source).Span(half).Height(8).
		FillOpacity(10).LineWidth(1).ShowPoints(common.VisibilityModeAuto).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassicByName)).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{"max", "lastNotNull"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
}

// bars are curves of what happened in each step, on top of each other.
func bars(title, about, empty, unit string, source common.DataSourceRef) *timeseries.PanelBuilder {
	return curves(title, about, empty, unit, source).DrawStyle(common.GraphDrawStyleBars).FillOpacity(70).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// rows is a table with the answer of a query of ClickHouse. Columns without an
// override are numbers or text as they are.
func rows(title, about, empty, query string) *table.PanelBuilder {
	return table.NewPanelBuilder().Title(title).Description(about).NoValue(empty).Unit("none").
		Datasource(clickHouse()).Span(whole).Height(9).CellHeight(common.TableCellHeightSm).ShowHeader(true).Filterable(true).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).
		WithTarget(sql(query))
}

// cells is how many steps a timeline has at most: each is several points wide, so that it
// can be seen and pointed at.
const cells = 240

// states is a timeline of shares of time, a line for each series.
func states(title, about, empty, query string) *statetimeline.PanelBuilder {
	return statetimeline.NewPanelBuilder().Title(title).Description(about).NoValue(empty).Unit("percentunit").
		Datasource(clickHouse()).Span(whole).Height(9).MaxDataPoints(cells).
		MergeValues(true).ShowValue(common.VisibilityModeNever).RowHeight(0.9).FillOpacity(80).LineWidth(0).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(levels(0.01, 0.1, 0.5)).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle)).
		WithTarget(sqlSeries(query))
}

// some is from where on a count is more than nothing: what Prometheus says of a counter's
// rise is no whole number.
const some = 0.5

// levels are thresholds: green, and from each of the values on the next colour.
// They are names, which Grafana shows as suits a light and a dark screen.
func levels(values ...float64) *dashboard.ThresholdsConfigBuilder {
	colours := []string{"yellow", "orange", "red"}
	steps := []dashboard.Threshold{{Color: "green"}}
	for i, v := range values {
		steps = append(steps, dashboard.Threshold{Value: cog.ToPtr(v), Color: colours[i+len(colours)-len(values)]})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// plain are thresholds of what is neither good nor bad.
func plain() *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps([]dashboard.Threshold{{Color: "blue"}})
}

func property(id string, value any) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: id, Value: value}
}

// unit is the property of a column that has one.
func unit(u string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{property("unit", u)}
}

// wide is the property of a column of long text.
func wide(pixels int) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{property("custom.width", pixels)}
}

// hidden is the property of a column that is there for links alone.
func hidden() []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{property("custom.hidden", true)}
}

// coloured is the property of a column of text whose words have colours.
func coloured(colours map[string]string) []dashboard.DynamicConfigValue {
	mapping := make(map[string]any, len(colours))
	for word, colour := range colours {
		mapping[word] = map[string]any{"color": colour, "text": word}
	}
	return []dashboard.DynamicConfigValue{
		property("custom.cellOptions", map[string]any{"type": "color-text"}),
		property("mappings", []any{map[string]any{"type": "value", "options": mapping}}),
	}
}

var severities = map[string]string{"info": "blue", "warning": "orange", "critical": "red"}

type (
	tablePanel  = *table.PanelBuilder
	seriesPanel = *timeseries.PanelBuilder
)
