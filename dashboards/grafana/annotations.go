package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/rocelens/rocelens/storage/query"
)

func annotation(name, colour, text string) *dashboard.AnnotationQueryBuilder {
	return dashboard.NewAnnotationQueryBuilder().Name(name).Datasource(clickHouse()).Enable(true).IconColor(colour).Target(sql(text).ref("annotation"))
}

// storms marks the time of each storm.
func storms() *dashboard.AnnotationQueryBuilder {
	return annotation("Storms", "red", `SELECT time, fromUnixTimestamp64Nano(toUnixTimestamp64Nano(time) + toInt64(figures['lasted_ns']), 'UTC') AS timeEnd,
    concat('Storm from ', words['src_mac'], ' on ', interface, if(words['priorities'] = '', '', concat(', priority ', words['priorities']))) AS text, 'storm' AS tags
FROM (
`+ask(query.Events{Range: anyTime, Where: anywhere, Kind: "storm", Limit: 100}, ofPlace)+`
)`)
}

// wrong marks the time of each finding that is at least a warning.
func wrong() *dashboard.AnnotationQueryBuilder {
	return annotation("Findings", "orange", `SELECT time, until AS timeEnd, title AS text, code AS tags
FROM (
`+ask(query.Findings{Range: anyTime, Where: anywhere, Severity: 2, Limit: 100}, ofFinding)+`
)`)
}
