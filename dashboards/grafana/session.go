package grafana

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// session is the board of one queue pair.
func session() *builder {
	const once = "Counts at each tap that saw the session: choose one."
	return board(uidSession, "RoCE: session", "One session: how fast, how late, how much in flight, what happened to it.",
		append(placeVariables(), findVariable(), sessionVariable())...).
		WithPanel(rows("Session", "Who talks to whom, how that was found, and sums over all of it, for each run and tap.", "choose a session above", sessionFacts()).Height(6).
			OverrideByRegexp("goodput .*", unit(units.BytesSI)).OverrideByRegexp("(ACK|message) p99.*|ACK timeout.*", unit(units.Nanoseconds))).
		WithPanel(flowPanel("Throughput", "Bytes on the wire. "+once, units.BitsPerSecondSI, "8 * wire_bytes / $__interval_s")).
		WithPanel(flowPanel("ACK latency, p99", "First transmission of a packet to the first answer that advances past it.", units.Nanoseconds, "nullIf(ack_latency_p99, 0)")).
		WithPanel(flowPanel("In flight, peak", "Most bytes that were sent and not yet acknowledged. A flat top is a full window.", units.BytesSI, "peak_bytes")).
		WithPanel(flowPanel("Sent again", "Packets sent again. "+once, units.Short, "retransmitted_packets").DrawStyle("bars").FillOpacity(70)).
		WithPanel(flowTargets(lines("Lost", "Packets lost, before the tap and behind it. Less than nothing takes back what was counted too early. "+once, sentNothing, units.Short, clickHouse()), "lost_before_tap + lost_after_tap").DrawStyle("bars").FillOpacity(70)).
		WithPanel(flowPanel("Told to slow down", "CNPs received. "+once, units.Short, "cnps_received").DrawStyle("bars").FillOpacity(70)).
		WithPanel(rows("Events", "What happened, in order.", "nothing happened", `SELECT time, kind, stream, cause, place, mode, count, psn, psn_last, toString(figures) AS figures, toString(words) AS words, frame, tap, probe
FROM (
`+ask(query.Events{Range: anyTime, Where: anywhere, Session: "x"}, ofPlace, "session", chosen)+`
)`).OverrideByName("time", wide(220))).
		WithPanel(rows("What is wrong", "Findings about the session, the worst first.", "nothing was found", `SELECT severity, time, code, title, detail
FROM (
`+ask(query.Findings{Range: anyTime, Where: anywhere, Session: "x"}, ofFinding, "session", chosen)+`
)`).
			OverrideByName("severity", append(coloured(severities), wide(90)...)).OverrideByName("time", wide(180)).OverrideByName("code", wide(170)).
			OverrideByName("detail", []dashboard.DynamicConfigValue{property("custom.inspect", true)}).DataLinks(toFinding(nil)))
}

// chosen is the session of the board.
const chosen = "${session:singlequote}"

// findVariable is by what sessions are looked for.
func findVariable() variable {
	return dashboard.NewTextBoxVariableBuilder("find").Label("Find").Description("An address, a QPN, both as 10.0.0.1/0x8c, the number of a flow or the id of a session; empty for all").
		DefaultValue(dashboard.StringOrMap{String: cog.ToPtr("")})
}

// wanted is what is looked for, whatever somebody types: in small letters, without blanks around it or
// its slash, which may be written as in the list, and without zeros before a hexadecimal number. Quotes of
// Grafana would leave a backslash as it is.
const wanted = `replaceRegexpOne(replaceRegexpOne(trimBoth(replaceRegexpAll(lower(decodeURLComponent('${find:percentencode}')), '\\s+', ' ')), ' ?/ ?| qp ', '/'), '(^|/)0x0*([0-9a-f])', '\\10x\\2')`

// nothing is what finds nothing, for links of rows that are about no session: without it they would lead to
// the newest of all.
const nothing = "none"

// sessionVariable is a choice of those that were found, the newest first.
func sessionVariable() variable {
	text := `SELECT session, concat(any(a_at), ' QP ', any(a_no), ' - ', any(b_at), ' QP ', any(b_no), ' ', any(service)) AS text
FROM
(
    SELECT session, last, service, ` + address("a_addr") + " AS a_at, " + numbered("a_qpn") + " AS a_no, " + inHex("a_qpn") + ` AS a_hex,
        ` + address("b_addr") + " AS b_at, " + numbered("b_qpn") + " AS b_no, " + inHex("b_qpn") + ` AS b_hex
    FROM ` + tables().Name(schema.Sessions().Table) + ` AS s
    WHERE s.last >= ` + from + " AND s.first < " + to + " AND " + ofPlace + ` AND (` + wanted + ` = ''
        OR has(array(lower(session), toString(a_flow), toString(b_flow), a_at, b_at, a_no, b_no, a_hex, b_hex,
            concat(a_at, '/', a_no), concat(a_at, '/', a_hex), concat(b_at, '/', b_no), concat(b_at, '/', b_hex)), ` + wanted + `))
)
GROUP BY session
ORDER BY max(last) DESC, session
LIMIT 200`
	return dashboard.NewQueryVariableBuilder("session").Label("Session").Description("Both ends, by address and QPN").Datasource(clickHouse()).
		Query(dashboard.StringOrMap{Map: map[string]any{"editorType": "sql", "queryType": "sql", "rawSql": text, "refId": "var"}}).Definition(text).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged)
}

// sessionFacts is what is known of the session.
func sessionFacts() string {
	columns := []string{
		"service", "application", "state", "failure", "pairing", "concat(a_addr, ' QP ', " + numbered("a_qpn") + ") AS a", "concat(b_addr, ' QP ', " + numbered("b_qpn") + ") AS b",
		"vantage", `path_mtu AS "path MTU"`, "cm", "first", "last",
	}
	for _, side := range []string{"a", "b"} {
		for _, c := range [][2]string{
			{"packets", "packets"}, {"goodput_bytes", "goodput"}, {"retransmitted_packets", "sent again"}, {"lost_before_tap", "lost before"}, {"lost_after_tap", "lost behind"},
			{"cnps_received", "CNPs"}, {"ack_latency_p99", "ACK p99"}, {"message_latency_p99", "message p99"}, {"ack_timeout_ns", "ACK timeout"},
		} {
			columns = append(columns, side+"_"+c[0]+` AS "`+c[1]+" "+side+`"`)
		}
	}
	return "SELECT " + strings.Join(append(columns, "probe", "tap", "run"), ", ") + "\nFROM (\n" +
		ask(query.Sessions{Range: anyTime, Where: anywhere, ID: "x"}, ofPlace, "session", chosen) + "\n)"
}

// flowPanel is an expression over what the flows of the session did in each
// step, for both directions.
func flowPanel(title, about, unit, expression string) seriesPanel {
	return flowTargets(curves(title, about, sentNothing, unit, clickHouse()), expression)
}

const sentNothing = "nothing was sent"

func flowTargets(panel seriesPanel, expression string) seriesPanel {
	return panel.Span(third).Interval("1s").
		WithTarget(sqlSeries(flowSteps("a", "b", expression))).
		WithTarget(sqlSeries(flowSteps("b", "a", expression)).ref("B"))
}

// flowSteps are those of the flow from one side to the other, with those between them in which
// nothing was sent: a line would be drawn over them. A flow of a session that is not there has none.
func flowSteps(side, other, expression string) string {
	number := "(SELECT any(" + side + "_flow) FROM " + tables().Name(schema.Sessions().Table) + " WHERE session = " + chosen + ")"
	return `SELECT time, ` + expression + ` AS "` + side + " to " + other + `"
FROM (
` + ask(query.FlowSeries{Range: anyTime, Where: anywhere, Source: query.Intervals, Flow: 1}, ofPlace, "flow", number, "step_ns", "toInt64($__interval_s * 1000000000)") + `
)
ORDER BY time WITH FILL STEP toIntervalSecond($__interval_s)`
}
