package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/query"
)

// ecn is the board of congestion control: marks, CNPs, and how long it takes until
// they do something.
func ecn() *builder {
	return board(uidECN, "RoCE: ECN lag", "How much is marked, and how long it takes from marks to CNPs, from those until the sender is slow, and until it is as fast as before.",
		append(flowVariables(), instanceVariable())...).
		WithPanel(limits(curves("Marked CE by interface", "Share of packets marked CE.", "no traffic", units.PercentUnit, prometheusSource()), 0.01, 0.05, 0.2).Span(third).
			WithTarget(promRange(share(summed(`rate(rocelens_ecn_packets_total{instance=~"$instance",priority=~"$priority",codepoint="ce"}[$__rate_interval])`, byInterface), rate("rocelens_ecn_packets_total", ofFlows, byInterface)), "{{instance}} {{interface}}"))).
		WithPanel(bars("Marks and CNPs", "Marked data packets, CNPs, and those of them without a mark before: marks that were made behind the tap.", "no metrics", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(`sum(rate(rocelens_marked_packets_total{instance=~"$instance",priority=~"$priority",class="data"}[$__rate_interval]))`, "marked data")).
			WithTarget(promRange(`sum(rate(rocelens_packets_total{instance=~"$instance",priority=~"$priority",class="cnp"}[$__rate_interval]))`, "CNPs").RefId("B")).
			WithTarget(promRange(rate("rocelens_cnps_unmarked_total", ofFlows, ""), "CNPs without a mark").RefId("C"))).
		WithPanel(bars("Slow and fast again", "How often senders became slow after a CNP, and as fast again. CNPs without any slow-down are not minded.", "no metrics", units.EventsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_slowdowns_total", ofFlows, ""), "slow")).
			WithTarget(promRange(rate("rocelens_recoveries_total", ofFlows, ""), "fast again").RefId("B"))).
		WithPanel(lag("Mark to CNP", "From the last marked data packet to the CNP: what the receiver takes.", "rocelens_np_delay_seconds")).
		WithPanel(lag("First mark to CNP", "From the first marked data packet since the CNP before: what the receiver's pacing adds.", "rocelens_mark_wait_seconds")).
		WithPanel(lag("CNP to slow", "From a CNP to the end of the first slow window: what the sender takes.", "rocelens_cnp_to_slow_seconds")).
		WithPanel(lag("Slow to fast again", "From the first slow window to the first that is not.", "rocelens_slow_to_recover_seconds")).
		WithPanel(durations("Lag by DSCP", "Mark to CNP, first mark to CNP, CNP to slow, and slow to fast again, for each class.", "no CNPs", query.Lag()...).Span(half)).
		WithPanel(curves("Marked CE by DSCP", "Share of packets marked CE, for each class. Minute by minute.", "no traffic", units.PercentUnit, clickHouse()).Height(9).Interval("1m").
			WithTarget(sqlSeries(markedByDSCP()))).
		WithPanel(worst("Flows with most marks", "Flows by the share of their packets that are marked CE. A row leads to its session.", query.ByCE))
}

// lag is a panel of a histogram's quantiles.
func lag(title, about, histogram string) seriesPanel {
	return curves(title, about, "no CNPs", units.Seconds, prometheusSource()).Span(quarter).
		WithTarget(promRange(quantile(0.5, histogram), "p50")).
		WithTarget(promRange(quantile(0.99, histogram), "p99").RefId("B"))
}

// markedByDSCP are shares of marked packets over time.
func markedByDSCP() string {
	return `SELECT $__timeInterval(s.time) AS time, concat('DSCP ', toString(dscp)) AS class, sum(ce) / greatest(sum(packets), 1) AS marked
FROM ` + tables().Name(minutes()) + ` AS s
WHERE ` + during(minutes(), fromMinute, toMinute) + " AND " + ofFlow + `
GROUP BY time, class
HAVING sum(packets) > 0
ORDER BY time, class`
}
