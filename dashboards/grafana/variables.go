package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/rocelens/rocelens/storage/schema"
)

type variable = cog.Builder[dashboard.VariableModel]

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: cog.ToPtr(true),
		Text:     dashboard.StringOrArrayOfString{String: &text}, Value: dashboard.StringOrArrayOfString{String: &value},
	}
}

func everything() dashboard.VariableOption { return option("All", "$__all") }

// databaseVariable is where the tables are. Who imports a board by hand is asked.
func databaseVariable() variable {
	name := "${" + inputDatabase + "}"
	return databaseBuilder{dashboard.NewConstantVariableBuilder("database").Label("Database").
		Description("The ClickHouse database that rocelens writes to").Value(dashboard.StringOrMap{String: &name}), option(name, name)}
}

// databaseBuilder adds the current value, which the SDK's builder of constants
// lacks.
type databaseBuilder struct {
	*dashboard.ConstantVariableBuilder
	current dashboard.VariableOption
}

// Build is of cog.Builder.
func (b databaseBuilder) Build() (dashboard.VariableModel, error) {
	m, err := b.ConstantVariableBuilder.Build()
	m.Current = &b.current
	return m, err
}

// choice is a variable whose values a query of ClickHouse finds in the time of
// the board.
func choice(name, label, about, query string) variable {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Description(about).Datasource(clickHouse()).
		Query(dashboard.StringOrMap{Map: map[string]any{"editorType": "sql", "queryType": "sql", "rawSql": query, "refId": "var"}}).Definition(query).
		Multi(true).IncludeAll(true).Current(everything()).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc)
}

// inSessions are the values of an expression in sessions of the time.
func inSessions(expression, more string) string {
	return "SELECT DISTINCT " + expression + " AS value FROM " + tables().Name(schema.Sessions().Table) + " AS s WHERE s.last >= " + from + " AND s.first < " + to + more
}

func placeVariables() []variable {
	return []variable{databaseVariable(), placeVariable("probe", "Probe", "Who captured"), placeVariable("tap", "Tap", "Where: the file or the interface")}
}

// placeVariable has the values of a column of where things were seen: pauses have
// no sessions.
func placeVariable(column, label, about string) variable {
	pauses := schema.PauseIntervals().Table
	return choice(column, label, about, "SELECT DISTINCT value FROM ("+inSessions(column, "")+
		"\nUNION ALL SELECT DISTINCT "+column+" AS value FROM "+tables().Name(pauses)+" AS s WHERE "+during(pauses, from, to)+") ORDER BY value LIMIT 1000")
}

func flowVariables() []variable {
	return append(placeVariables(),
		choice("host", "Host", "Sender or receiver", inSessions("arrayJoin(array("+address("a_addr")+", "+address("b_addr")+"))", " ORDER BY value LIMIT 1000")),
		priorityVariable(),
		choice("application", "Application", "What the service id or the port says", inSessions(application, " ORDER BY value LIMIT 1000")))
}

// priorityVariable narrows both data sources.
func priorityVariable() variable {
	values := "0,1,2,3,4,5,6,7,none"
	return dashboard.NewCustomVariableBuilder("priority").Label("Priority").Description("Of the VLAN tag, or what the configuration says of the DSCP").
		Values(dashboard.StringOrMap{String: &values}).Multi(true).IncludeAll(true).Current(everything())
}

// instanceVariable is the monitor that Prometheus asks.
func instanceVariable() variable {
	query := "label_values(rocelens_build_info, instance)"
	return dashboard.NewQueryVariableBuilder("instance").Label("Monitor").Description("The rocelens monitor that Prometheus scrapes").Datasource(prometheusSource()).
		Query(dashboard.StringOrMap{Map: map[string]any{"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"}}).Definition(query).
		Multi(true).IncludeAll(true).Current(everything()).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc)
}
