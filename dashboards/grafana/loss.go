package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/query"
)

// loss is the board of retransmissions: why, where packets were lost, what it
// costs and whom.
func loss() *builder {
	return board(uidLoss, "RoCE: retransmits and loss", "Why packets are sent again, where they were lost, what it costs, and whom.",
		append(flowVariables(), instanceVariable())...).
		WithPanel(bars("Retries by cause", "Steps back of requesters: after a NAK, an RNR NAK, a repeated READ, or a timeout. Timeouts cost most.", "no metrics", units.EventsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_retries_total", ofFlows, "cause"), "{{cause}}"))).
		WithPanel(bars("Retries by place", "Where the packets went: before the tap, behind it, on the way back (answer), refused by the receiver, or unknown.", "no metrics", units.EventsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_retries_by_place_total", ofFlows, "place"), "{{place}}"))).
		WithPanel(bars("Lost packets by place", "Packets lost before the tap, behind it (at least so many), and READ responses lost before it.", "no metrics", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_lost_packets_total", ofFlows, "place"), "{{place}}"))).
		WithPanel(curves("Cost", "Share of the payload on the wire that had been sent before, and of it what the tap had seen already: repeated for nothing.", "no traffic", units.PercentUnit, prometheusSource()).Span(third).
			WithTarget(promRange(share(rate("rocelens_retransmitted_bytes_total", ofFlows, ""), rate("rocelens_payload_bytes_total", ofFlows, "")), "payload sent again")).
			WithTarget(promRange(share(rate("rocelens_wasted_packets_total", ofFlows, ""), rate("rocelens_retransmitted_packets_total", ofFlows, "")), "of it for nothing").RefId("B"))).
		WithPanel(curves("NAK reaction", "NAK at the tap to the first packet sent again.", "no NAKs", units.Seconds, prometheusSource()).Span(third).
			WithTarget(promRange(quantile(0.5, "rocelens_nak_reaction_seconds"), "p50")).
			WithTarget(promRange(quantile(0.99, "rocelens_nak_reaction_seconds"), "p99").RefId("B"))).
		WithPanel(curves("Standing still", "Seconds per second, summed over all streams: waits after RNR NAKs (the receiver had no buffer) and silences before timeouts.", "no metrics", units.Seconds, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_rnr_wait_seconds_total", ofFlows, ""), "RNR")).
			WithTarget(promRange(rate("rocelens_silence_seconds_total", ofFlows, ""), "silence").RefId("B"))).
		WithPanel(bars("NAKs", "NAKs by code, and RNR NAKs. All but sequence and RNR end the connection.", "no metrics", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_naks_total", ofFlows, "code"), "{{code}}")).
			WithTarget(promRange(rate("rocelens_rnr_naks_total", ofFlows, ""), "rnr").RefId("B"))).
		WithPanel(bars("Corrupt packets", "RoCE packets with a wrong ICRC, by interface: a bad cable, optic, or memory of a device.", "no metrics", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_icrc_errors_total", ofFlows, byInterface), "{{instance}} {{interface}}"))).
		WithPanel(limits(curves("Requests sent again", "Share of the request packets of a priority that are retransmissions, by interface: what the alerts RocelensRetransmissions and RocelensRetransmissionsSevere are about, which begin at the dashed lines.", "no requests", units.PercentUnit, prometheusSource()), 0.001, 0.01).Span(third).
			WithTarget(promRange(share(rate("rocelens_retransmitted_packets_total", ofFlows, byPriority), summed(`rate(rocelens_packets_total{instance=~"$instance",priority=~"$priority",class="request"}[$__rate_interval])`, byPriority)), "{{instance}} {{interface}} priority {{priority}}"))).
		WithPanel(worst("Flows that send most again", "Flows by packets sent again, the worst first. A row leads to its session.", query.ByRetransmitted)).
		WithPanel(worst("Flows that lose most", "Flows by packets lost, before the tap and behind it. Those of one host, or through one port, have one cause.", query.ByLost)).
		WithPanel(rows("Loss between hosts", "Pairs of hosts by packets lost. A single bad pair is a host or a link; one host in all of them is its link.", "nothing was lost", lossBetween()).
			OverrideByName("Sent", unit(units.BytesSI)).OverrideByName("Sent again", unit(units.BytesSI)).Span(half).DataLinks(toSession("Receiver"))).
		WithPanel(durations("NAK reaction and ACK latency by DSCP", "How long requesters take to react to a NAK, and answers to come, for each class.", "no answers", "nak_reaction", "ack_latency").Span(half))
}

// lossBetween are pairs of hosts by what was lost between them.
func lossBetween() string {
	return `SELECT ` + address("src") + ` AS Sender, ` + address("dst") + ` AS Receiver, sum(lost_before_tap) AS "Before the tap", sum(lost_after_tap) AS "Behind it",
    sum(wire_bytes) AS Sent, sum(retransmitted_bytes) AS "Sent again"
FROM ` + tables().Name(minutes()) + ` AS s
WHERE ` + during(minutes(), fromMinute, toMinute) + " AND " + ofFlow + `
GROUP BY src, dst
HAVING "Before the tap" + "Behind it" > 0
ORDER BY "Before the tap" + "Behind it" DESC, src, dst
LIMIT 20`
}

// durations is a table of how durations are spread, by DSCP.
func durations(title, about, empty string, of ...string) tablePanel {
	return rows(title, about, empty, `SELECT group AS DSCP, of, count, p50, p99, p999
FROM (
`+ask(query.Percentiles{Range: anyTime, Where: anywhere, Source: query.Minutes, By: query.PerDSCP, Of: of}, ofFlow)+`
)`).OverrideByRegexp("p[0-9]+", unit(units.Nanoseconds)).OverrideByName("count", unit(units.Short))
}
