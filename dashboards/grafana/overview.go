package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// overview is the board that says whether anything is wrong, and where. Its numbers are of the
// time of the board: what was wrong for a moment is not gone a minute later.
func overview() *builder {
	return board(uidOverview, "RoCE: fabric overview", "Is anything wrong, and where? Numbers of the whole fabric, what was found, and the flows and receivers to look at.",
		append(flowVariables(), instanceVariable())...).
		WithPanel(number("Goodput", "Payload of PSNs seen for the first time, per second, at the end of the time of the board.", "no traffic", units.BitsPerSecondSI).
			Thresholds(plain()).WithTarget(promNow("8 * " + rate("rocelens_goodput_bytes_total", ofFlows, "")))).
		WithPanel(number("Sent again", "Share of the request packets in the time of the board that are retransmissions. A lossless fabric has none.", "no requests", units.PercentUnit).
			Thresholds(levels(0.0001, 0.001, 0.01)).Links(toBoard("Retransmits and loss", uidLoss)).
			WithTarget(promNow(share(risen("rocelens_retransmitted_packets_total", ofFlows), risen("rocelens_packets_total", `{instance=~"$instance",priority=~"$priority",class="request"}`))))).
		WithPanel(number("Lost packets", "Packets lost in the time of the board, before the tap and behind it.", "no metrics", units.Short).
			Decimals(0).Thresholds(levels(some, 100)).Links(toBoard("Retransmits and loss", uidLoss)).
			WithTarget(promNow(risen("rocelens_lost_packets_total", ofFlows)))).
		WithPanel(number("ACK latency, p99", "First transmission of a packet to the first answer that advances past it, in the time of the board.", "no answers", units.Seconds).
			Thresholds(levels(0.001, 0.01)).WithTarget(promNow(quantileOfAll(0.99, "rocelens_ack_latency_seconds")))).
		WithPanel(number("Marked CE", "Share of the packets in the time of the board that a switch marked as having met congestion.", "no traffic", units.PercentUnit).
			Thresholds(levels(0.01, 0.05, 0.2)).Links(toBoard("ECN lag", uidECN)).
			WithTarget(promNow(share(risen("rocelens_ecn_packets_total", `{instance=~"$instance",priority=~"$priority",codepoint="ce"}`), risen("rocelens_ecn_packets_total", ofFlows))))).
		WithPanel(number("Paused, worst link", "Share of the time for which a priority of a link may not send: of the most paused one, in its worst step of the time of the board, a minute or so. A storm of a second is 2 % of a minute: that there was one, Storms says. A pause counts when it ends.", "no pauses", units.PercentUnit).
			Thresholds(levels(0.01, 0.1, 0.5)).Links(toBoard("PFC storms", uidPFC)).
			WithTarget(promNow("clamp_max(" + worstOf("max("+rate("rocelens_paused_seconds_total", ofPauses, byPriority)+")") + ", 1)"))).
		WithPanel(number("Storms", "Storms of pauses that were found in the time of the board.", "none", units.Short).
			Decimals(0).Thresholds(levels(some)).Links(toBoard("PFC storms", uidPFC)).WithTarget(promNow(risen("rocelens_pause_storms_total", ofProbe)))).
		WithPanel(number("Dropped by probes", "Frames that probes lost in the time of the board because their rings were full: what they say of losses is less certain then.", "no capture", units.Short).
			Decimals(0).Thresholds(levels(some, 1000)).Links(toBoard("Probe health", uidProbe)).WithTarget(promNow(risen("rocelens_capture_dropped_frames_total", ofProbe)))).
		WithPanel(findings("What is wrong", ofFinding)).
		WithPanel(bars("Events", "What happened, by kind, in each step of time.", "nothing happened", units.Short, clickHouse()).Span(third).WithTarget(sqlSeries(eventsByKind()))).
		WithPanel(bars("Findings told", "Findings of monitors, by code, when they were told.", "nothing was found", units.Short, prometheusSource()).Span(third).
			WithTarget(promRange("sum by (code) (increase(rocelens_findings_total"+ofProbe+"[$__rate_interval])) > 0", "{{code}}"))).
		WithPanel(curves("Throughput", "Bytes of RoCE packets on the wire, by interface.", "no traffic", units.BitsPerSecondSI, prometheusSource()).Span(third).
			WithTarget(promRange("8 * "+rate("rocelens_bytes_total", ofFlows, byInterface), "{{instance}} {{interface}}"))).
		WithPanel(worst("Flows that send most again", "Flows by packets sent again, the worst first. A row leads to its session.", query.ByRetransmitted)).
		WithPanel(rows("Busiest receivers", "Hosts by what they were sent. Many senders with many marks on one receiver are an incast.", "no flows", receivers()).
			OverrideByName("Sent", unit(units.BytesSI)).OverrideByName("Marked CE", unit(units.PercentUnit)).OverrideByName("Lost", unit(units.Short)).Span(half).DataLinks(toSession("Receiver"))).
		WithPanel(stormRows("Storms by port", "Ports that kept others paused for too long, by priority.", "no storms", false).Span(half).DataLinks(toBoard("PFC storms", uidPFC)))
}

// firstSession is where the link of a finding leads.
const firstSession = "if(empty(sessions), '" + nothing + "', sessions[1]) AS session"

// findings is a table of what is wrong.
func findings(title, filter string) tablePanel {
	return rows(title, "Findings, the worst first: what is wrong, what it means and what to check next.", "nothing was found",
		`SELECT severity, time, code, title, detail, `+firstSession+`, length(sessions) AS "of sessions"
FROM (
`+ask(query.Findings{Range: anyTime, Where: anywhere, Limit: 200}, filter)+`
)`).
		OverrideByName("severity", append(coloured(severities), wide(90)...)).OverrideByName("time", wide(180)).OverrideByName("code", wide(170)).
		OverrideByName("session", hidden()).OverrideByName("detail", []dashboard.DynamicConfigValue{property("custom.inspect", true)}).
		OverrideByName("of sessions", wide(110)).
		DataLinks(toFinding(toSession("session")))
}

// worst is a table of the worst flows by a measure.
func worst(title, about string, by query.Measure) tablePanel {
	source, filter := query.Minutes, ofFlow
	if by == query.ByPause { // those are told by their MACs, which minutes have not
		source, filter = query.Intervals, ofPlace
	}
	return rows(title, about, "no flow has any", `SELECT src, `+numbered("src_qpn")+` AS "src QPN", dst, `+numbered("dst_qpn")+` AS "dst QPN", service, probe, tap, packets, goodput_bytes AS goodput, retransmitted_packets AS "sent again",
    lost_before_tap AS "lost before", lost_after_tap AS "lost behind", ce_share AS "marked CE", cnps_received AS CNPs, paused_ns AS paused, ack_latency_p50 AS "ACK p50", ack_latency_p99 AS "ACK p99", toString(flow) AS flow
FROM (
`+ask(query.WorstFlows{Range: anyTime, Where: anywhere, Source: source, By: by}, filter)+`
)`).
		OverrideByName("goodput", unit(units.BytesSI)).OverrideByName("marked CE", unit(units.PercentUnit)).OverrideByName("paused", unit(units.Nanoseconds)).
		OverrideByRegexp("ACK .*", unit(units.Nanoseconds)).OverrideByName("flow", hidden()).DataLinks(toSession("flow"))
}

// eventsByKind are numbers of events over time.
func eventsByKind() string {
	t := schema.Events().Table
	return `SELECT $__timeInterval(s.time) AS time, toString(kind) AS kind, sum(count) AS events
FROM ` + tables().Name(t) + ` AS s
WHERE ` + during(t, from, to) + " AND " + ofPlace + `
GROUP BY time, kind
ORDER BY time, kind`
}

// receivers are hosts by what they were sent.
func receivers() string {
	return `SELECT ` + address("dst") + ` AS Receiver, uniqExact(src) AS Senders, uniqExact(flow) AS Flows, sum(wire_bytes) AS Sent, sum(ce) / greatest(sum(packets), 1) AS "Marked CE",
    sum(lost_before_tap) + sum(lost_after_tap) AS Lost
FROM ` + tables().Name(minutes()) + ` AS s
WHERE ` + during(minutes(), fromMinute, toMinute) + " AND " + ofFlow + `
GROUP BY dst
HAVING Sent > 0
ORDER BY Sent DESC, dst
LIMIT 20`
}
