package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// pfc is the board of flow control: who is paused, by whom, and who suffers.
func pfc() *builder {
	return board(uidPFC, "RoCE: PFC storms", "Which links stand still, who stops them, and which flows suffer.",
		append(placeVariables(), priorityVariable(), instanceVariable())...).
		WithPanel(limits(curves("Paused", "Share of the time for which a priority of a link may not send. Zero where the speed of the link is not known.", "no pauses", units.PercentUnit, prometheusSource()), 0.01, 0.1, 0.5).
			Max(1).
			WithTarget(promRange(rate("rocelens_paused_seconds_total", ofPauses, byPriority), "{{instance}} {{interface}} priority {{priority}}"))).
		WithPanel(bars("Storms", "Storms that were found, by interface, in each step of time.", "no storms", units.Short, prometheusSource()).Span(quarter).
			WithTarget(promRange(summed("increase(rocelens_pause_storms_total"+ofProbe+"[$__rate_interval])", byInterface), "{{instance}} {{interface}}"))).
		WithPanel(bars("Pause frames", "Frames that ask for pauses, by interface.", "no pauses", units.PacketsPerSecond, prometheusSource()).Span(quarter).
			WithTarget(promRange(rate("rocelens_pause_frames_total", ofPauses, byInterface), "{{instance}} {{interface}}"))).
		WithPanel(states("Who is stopped, when", "Each line is a priority of a link, told by who stops it; its colour is the share of each step that it stood still: green to 1 %, then yellow, orange from 10 %, red from half of it. Where it is blank nothing was paused. Of pauses that began in the time of the board.", "no pauses", pauseStates())).
		WithPanel(stormRows("Storms by port", "Ports that kept others paused for too long, by priority, the worst first.", "no storms", false)).
		WithPanel(worst("Victims", "Flows by how long their receiver's port, or the router before it, paused their priority on the same tap. A row leads to its session.", query.ByPause)).
		WithPanel(rows("Pause trees and what is wrong with pauses", "Findings about flow control. A pause tree says which link is the root of the others: look there first.", "nothing was found", pauseFindings()).
			OverrideByName("severity", append(coloured(severities), wide(90)...)).OverrideByName("time", wide(180)).OverrideByName("code", wide(170)).
			OverrideByName("session", hidden()).OverrideByName("detail", []dashboard.DynamicConfigValue{property("custom.inspect", true)}).
			DataLinks(toFinding(toSession("session"))).Span(half)).
		WithPanel(stormRows("All that pause", "Every sender of pauses, storm or not.", "no pauses", true).Span(half))
}

// stormRows is a table of ports that pause others, all or those in storms.
func stormRows(title, about, empty string, all bool) tablePanel {
	text := ask(query.Storms{Range: anyTime, Where: anywhere, All: all}, ofPlace)
	return rows(title, about, empty, `SELECT interface, src_mac AS "who pauses", type, if(type = 'pfc', toString(priority), 'all') AS priority, storms, pauses, frames, paused_ns AS paused, storm_ns AS "in storms", longest_ns AS longest, first, last, probe, tap
FROM (
`+text+`
) AS s
WHERE `+only("priority", "(s.type != 'pfc' OR toString(s.priority) IN (${priority:singlequote}))")).
		OverrideByName("paused", unit(units.Nanoseconds)).OverrideByName("in storms", unit(units.Nanoseconds)).OverrideByName("longest", unit(units.Nanoseconds))
}

// pauseStates is the share of each step for which each priority of a link stood still. A
// pause counts in all steps that it reaches into. The step after it is there too, since a timeline
// shows a value until the next one comes. A link that is seen at several taps stood still no longer for it.
func pauseStates() string {
	t := schema.PauseIntervals().Table
	const step = "toInt64($__interval_s * 1000000000)"
	return `SELECT time, port, max(share) AS paused
FROM
(
    SELECT fromUnixTimestamp64Nano(step * ` + step + `, 'UTC') AS time, port, least(sum(overlap) / ` + step + `, 1) AS share
    FROM
    (
        SELECT concat(interface, ' ', if(type = 'pfc', concat('priority ', toString(priority)), 'all'), ' by ', src_mac) AS port, probe, tap,
            toUnixTimestamp64Nano(s.time) AS begins, begins + paused_ns AS ends,
            arrayJoin(range(toUInt64(intDiv(begins, ` + step + `)), toUInt64(intDiv(least(ends, toUnixTimestamp64Nano(` + to + `)), ` + step + `) + 2))) AS step,
            greatest(least(ends, toInt64(step + 1) * ` + step + `) - greatest(begins, toInt64(step) * ` + step + `), 0) AS overlap
        FROM ` + tables().Name(t) + ` AS s
        WHERE ` + during(t, from, to) + " AND " + ofPlace + " AND " + only("priority", "(s.type != 'pfc' OR toString(s.priority) IN (${priority:singlequote}))") + `
    )
    GROUP BY time, port, probe, tap
)
GROUP BY time, port
ORDER BY time, port`
}

// pauseFindings are those about flow control.
func pauseFindings() string {
	return `SELECT severity, time, code, title, detail, ` + firstSession + `
FROM (
` + ask(query.Findings{Range: anyTime, Where: anywhere}, ofFinding) + `
)
WHERE startsWith(code, 'pause-') OR startsWith(code, 'pfc-')`
}
