package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/rocelens/rocelens/storage/schema"
)

// probe is the board of the probes themselves: whether what they say is all.
func probe() *builder {
	return board(uidProbe, "RoCE: probe health", "Do the probes see everything, and does the store get it?",
		append(placeVariables(), instanceVariable())...).
		WithPanel(number("Probes", "Monitors that Prometheus reaches.", "none", units.Short).Span(quarter).Thresholds(plain()).
			WithTarget(promNow("count(rocelens_build_info" + ofProbe + ")"))).
		WithPanel(number("Interfaces down", "Interfaces that probes should capture from and that are away or down.", "no probe", units.Short).Span(quarter).Thresholds(levels(1)).
			WithTarget(promNow("count(rocelens_capture_up" + ofProbe + ") - sum(rocelens_capture_up" + ofProbe + ")"))).
		WithPanel(number("Spool", "Rows that wait on disk for the store, as a share of the room for them: when it is full, rows are lost.", "no store", units.PercentUnit).Span(quarter).Thresholds(levels(0.1, 0.5, 0.9)).
			WithTarget(promNow("max(rocelens_spool_bytes" + ofProbe + " / (rocelens_spool_max_bytes" + ofProbe + " > 0))"))).
		WithPanel(number("Rows lost", "Rows of the store that were dropped in the time of the board.", "no store", units.Short).Span(quarter).Decimals(0).Thresholds(levels(some)).
			WithTarget(promNow(`sum(increase(rocelens_store_rows_total{instance=~"$instance",result="dropped"}[$__range]))`))).
		WithPanel(curves("Captured", "Frames that were captured and read, by interface.", "no probe", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_capture_frames_total", ofProbe, byInterface), "{{instance}} {{interface}}"))).
		WithPanel(bars("Dropped", "Frames that were lost because the ring was full. More --buffer, a --snaplen, or more probes help.", "no probe", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_capture_dropped_frames_total", ofProbe, byInterface), "{{instance}} {{interface}}"))).
		WithPanel(bars("Lost by the mirror", "RoCE packets that the mirror or the capture lost and not the network, by the gaps that it left; and packets that came cut short.", "no metrics", units.PacketsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_capture_lost_packets_total", ofProbe, byInterface), "{{instance}} {{interface}} lost")).
			WithTarget(promRange(rate("rocelens_truncated_packets_total", ofProbe, byInterface), "{{instance}} {{interface}} cut short").RefId("B"))).
		WithPanel(curves("Rows to the store", "Rows that the store has, by table.", "no store", units.RowsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(`sum by (table) (rate(rocelens_store_rows_total{instance=~"$instance",result="written"}[$__rate_interval]))`, "{{table}}"))).
		WithPanel(curves("Waiting for the store", "Rows that wait on disk. A line that rises means a store that is away or too slow.", "no store", units.Short, prometheusSource()).Span(third).
			WithTarget(promRange("sum by (instance) (rocelens_spool_rows"+ofProbe+")", "{{instance}}"))).
		WithPanel(bars("Failed inserts", "Inserts that failed and were tried again, by table.", "no store", units.Short, prometheusSource()).Span(third).
			WithTarget(promRange("sum by (table) (increase(rocelens_store_failed_inserts_total"+ofProbe+"[$__rate_interval]))", "{{table}}"))).
		WithPanel(curves("Sessions in memory", "Sessions that are followed. A flow without another direction counts as one.", "no probe", units.Short, prometheusSource()).Span(third).
			WithTarget(promRange("sum by (instance) (rocelens_sessions"+ofProbe+")", "{{instance}}"))).
		WithPanel(bars("Forgotten", "Sessions that went, and packets that were not followed, for want of memory: raise --max-memory.", "no probe", units.EventsPerSecond, prometheusSource()).Span(third).
			WithTarget(promRange(rate("rocelens_evicted_sessions_total", ofProbe, "instance"), "{{instance}} sessions")).
			WithTarget(promRange(rate("rocelens_refused_packets_total", ofProbe, "instance"), "{{instance}} packets").RefId("B"))).
		WithPanel(bars("Late", "Of monitors that read files: how many files are there and not begun, and how many were lost, whole or in part.", "no monitor reads files", units.Short, prometheusSource()).Span(third).
			WithTarget(promRange("sum by (instance) (rocelens_capture_files_waiting"+ofProbe+")", "{{instance}} waiting")).
			WithTarget(promRange("sum by (instance, how) (increase(rocelens_capture_lost_files_total"+ofProbe+"[$__rate_interval]))", "{{instance}} {{how}}").RefId("B"))).
		WithPanel(curves("Memory", "Resident memory of the probe.", "no probe", units.BytesIEC, prometheusSource()).
			WithTarget(promRange("sum by (instance) (process_resident_memory_bytes"+ofProbe+" and on (instance) rocelens_build_info)", "{{instance}}"))).
		WithPanel(curves("Processors", "Processors that the probe keeps busy.", "no probe", units.Short, prometheusSource()).
			WithTarget(promRange("sum by (instance) (rate(process_cpu_seconds_total"+ofProbe+"[$__rate_interval]) and on (instance) rocelens_build_info)", "{{instance}}"))).
		WithPanel(rows("Counters of runs", "What each run captured, stored, left out and forgot, as the store has it: the last value in the time of the board. capture_drops and store_rows_dropped should be 0; sessions_forgotten are those that were pushed out of memory.", "no run told any", counters()))
}

// counters are the last values of the counters that runs wrote to the store.
func counters() string {
	t := schema.ProbeStats().Table
	return `SELECT name, of, probe, tap, max(value) AS value, max(s.time) AS last, run
FROM ` + tables().Name(t) + ` AS s
WHERE s.time >= ` + from + ` AND s.time < ` + to + " AND " + only("probe", "probe IN (${probe:singlequote})") + " AND " + only("tap", "(tap = '' OR tap IN (${tap:singlequote}))") + `
GROUP BY name, of, probe, tap, run
HAVING value > 0
ORDER BY indexOf(array('store_rows_dropped', 'capture_drops', 'sessions_forgotten', 'not_stored'), toString(name)) = 0, name, of, probe, tap
LIMIT 500`
}
