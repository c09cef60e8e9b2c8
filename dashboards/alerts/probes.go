package alerts

import "time"

// Recordings of the probes themselves.
const (
	dropped = "interface:rocelens_capture_dropped_frames:rate5m"
	missed  = "interface:rocelens_capture_dropped_frames_per_frames:ratio_rate5m"
	spool   = "instance:rocelens_spool_bytes_per_spool_max_bytes:ratio"
)

// probes are alerts about monitors: whether they see all, and keep it.
func probes() Group {
	return Group{
		Name: "rocelens-probes",
		Recordings: []Recording{
			{dropped, byInterface + "(rate(rocelens_capture_dropped_frames_total[5m]))", "frames a second that the ring had no room for"},
			{missed, dropped + " / (" + byInterface + "(rate(rocelens_capture_frames_total[5m])) + " + dropped + " > 0)", "share of the frames that the ring had no room for"},
			{spool, "max by (job, instance) (rocelens_spool_bytes / (rocelens_spool_max_bytes > 0))", "how full the spool is"},
		},
		Alerts: []Alert{
			{
				Name: "RocelensProbeDown", ID: "probe-down", Severity: critical,
				Value: `min by (job, instance) (up{job=~".*rocelens.*"} or up and on (job, instance) last_over_time(rocelens_build_info[1d]))`, Below: true, Threshold: 1, For: 5 * time.Minute,
				Summary:     "The monitor {{ $labels.instance }} does not answer",
				Description: "Prometheus can't scrape {{ $labels.instance }} (job {{ $labels.job }}): the monitor or its host is down, or not reachable. Nothing of its interfaces is told meanwhile, and no other alert of it fires.",
				Runbook:     "monitor.md#metrics", Board: "rocelens-probe", Panel: 1, PanelTitle: "Probes",
				When: "scrapes fail, of a target whose job has `rocelens` in its name, or that was a monitor within the last day",
				Why:  "A restart, or an update, takes less than five minutes.",
			},
			{
				Name: "RocelensInterfaceDown", ID: "interface-down", Severity: warning,
				Value: "min by (job, instance, interface) (rocelens_capture_up)", Below: true, Threshold: 1, For: 5 * time.Minute,
				Summary:     "{{ $labels.instance }} can't capture from {{ $labels.interface }}",
				Description: "{{ $labels.interface }}, which {{ $labels.instance }} should capture from, is away or down; with -r, its files can't be read. Capturing goes on by itself when it is back.",
				Runbook:     "monitor.md#capturing", Board: "rocelens-probe", Panel: 2, PanelTitle: "Interfaces down",
				When: "an interface is away or down, or files can't be read",
				Why:  "Links that are set anew, and switches that restart, are back within five minutes.",
			},
			{
				Name: "RocelensCaptureDrops", ID: "capture-drops", Severity: warning,
				Value: missed, Threshold: 0.001, For: 10 * time.Minute,
				Summary:     "{{ $labels.instance }} loses {{ $value | humanizePercentage }} of the frames from {{ $labels.interface }}",
				Description: "The ring of {{ $labels.interface }} is full at times, and {{ $labels.instance }} loses {{ $value | humanizePercentage }} of the frames: what it says of losses in the network is less certain. A larger --buffer, a --snaplen, or more probes help.",
				Runbook:     "findings.md#capture-drops", Board: "rocelens-probe", Panel: 6, PanelTitle: "Dropped",
				When: "more than 0.1 % of the frames of an interface are lost because the ring is full",
				Why:  beyond,
			},
			{
				Name: "RocelensFilesLost", ID: "files-lost", Severity: warning,
				Value:       "sum by (job, instance, interface, how) (increase(rocelens_capture_lost_files_total[15m]))",
				Summary:     "{{ $labels.instance }} does not keep up with the files in {{ $labels.interface }}",
				Description: "{{ $labels.instance }} lost files of {{ $labels.interface }}, whole or in part ({{ $labels.how }}), in the last 15 minutes: the ring of files is too short, or the monitor too slow.",
				Runbook:     "monitor.md#following-files", Board: "rocelens-probe", Panel: 13, PanelTitle: "Late",
				When: "with `-r`: a file was lost, whole or in part, in the last 15 minutes",
				Why:  "At once: none is ever lost by a monitor that keeps up.",
			},
			{
				Name: "RocelensSpoolFilling", ID: "spool-filling", Severity: warning,
				Value: "max by (job, instance) (predict_linear(rocelens_spool_bytes[30m], 4 * 3600) / (rocelens_spool_max_bytes > 0))", Provided: []string{spool + " > 0.1"}, Threshold: 1, For: 10 * time.Minute,
				Summary:     "The spool of {{ $labels.instance }} will be full within four hours",
				Description: "Rows of {{ $labels.instance }} wait on disk, for a store that is away or too slow. If it goes on as in the last half hour, the spool is full within four hours, and rows are lost from then on.",
				Runbook:     "monitor.md#the-store", Board: "rocelens-probe", Panel: 3, PanelTitle: "Spool",
				When: "a tenth of the spool is full, and at the pace of the last half hour all of it is within four hours",
				Why:  "A store that restarts fills less than a tenth, or is back within ten minutes.",
			},
			{
				Name: "RocelensSpoolHalfFull", ID: "spool-half-full", Severity: warning,
				Value: spool, Threshold: 0.5, For: time.Minute,
				Summary:     "The spool of {{ $labels.instance }} is {{ $value | humanizePercentage }} full",
				Description: "Rows of {{ $labels.instance }} wait on disk, for a store that is away or too slow, and take {{ $value | humanizePercentage }} of the room that they may take. When it is full, rows are lost.",
				Runbook:     "monitor.md#the-store", Board: "rocelens-probe", Panel: 3, PanelTitle: "Spool",
				When: "more than half of the spool is full",
				Why:  "For those that fill too fast to be foreseen. The spool is near empty while the store takes rows.",
			},
			{
				Name: "RocelensRowsLost", ID: "rows-lost", Severity: critical,
				Value:       `sum by (job, instance, table) (increase(rocelens_store_rows_total{result="dropped"}[15m]))`,
				Summary:     "{{ $labels.instance }} loses rows of the table {{ $labels.table }}",
				Description: "Rows of the table {{ $labels.table }} that {{ $labels.instance }} had for the store were dropped in the last 15 minutes, and are lost: the spool or its disk is full, or the store refused them. The log says why.",
				Runbook:     "monitor.md#the-store", Board: "rocelens-probe", Panel: 4, PanelTitle: "Rows lost",
				When: "rows for the store were dropped in the last 15 minutes",
				Why:  "At once: none is ever dropped while the spool has room.",
			},
		},
	}
}
