package metrics

import (
	"fmt"
	"io"
	"strings"
)

const preface = `# Prometheus metrics

<!-- Written by "go test ./storage/metrics -update" from the table in storage/metrics. Change it there. -->

What flows did, summed up over all of them. Single flows and sessions are in the [store](store.md).

All of these have the labels ` + "`interface`" + ` (where a packet was captured), ` + "`priority`" + ` (of the VLAN tag, or what the
configuration says of the DSCP; ` + "`none`" + ` without either) and ` + "`version`" + ` (how RoCE is carried: v1, v2 or ib). So there are as
many series as there are interfaces, times the priorities in use.

What is found out late counts when it is found out. What was counted and turns out to be something else is not taken
back, since counters must not fall: it is set off against what comes.

## Counters

`

const histogramPreface = `
## Histograms

Durations in seconds. Each has classic buckets, which end at powers of two from 512 ns to 8.6 s, and native ones (schema 3,
eight an octave): who scrapes takes what it knows. A value counts in the native bucket of the middle of the
range of nanoseconds that it was counted in before, which is within 1/16 of it.

`

const rest = `
## Flow control, sessions, findings, capture, store

| metric | labels | |
|---|---|---|
| ` + "`rocelens_pauses_total`" + ` | ` + "`interface`, `type`, `priority`" + ` | Pauses that have ended, by who may not send: a priority with pfc, all with 802.3x |
| ` + "`rocelens_pause_frames_total`" + ` | likewise | Frames that asked for them |
| ` + "`rocelens_paused_seconds_total`" + ` | likewise | For how long; 0 where the speed of the link is not known (` + "`--link-speed`" + `) |
| ` + "`rocelens_pause_storms_total`" + ` | ` + "`interface`" + ` | Storms that were found |
| ` + "`rocelens_pause_storms_open`" + ` | ` + "`interface`" + ` | Storms that were found and go on: until 600 ms after the last pause of a priority of theirs (three times ` + "`--storm-window`" + `) |
| ` + "`rocelens_pause_storm_last_timestamp_seconds`" + ` | ` + "`interface`" + ` | When there was a storm last, by the clock of the monitor, and now while one goes on; not there before the first one |
| ` + "`rocelens_sessions`" + ` | | Sessions in memory; a flow without another direction counts as one |
| ` + "`rocelens_evicted_sessions_total`" + ` | | Sessions that were forgotten for want of memory (` + "`--max-memory`" + `): what they do later counts as sessions of their own |
| ` + "`rocelens_refused_packets_total`" + ` | | Packets of flows that had but one while memory was scarce, and that were not followed |
| ` + "`rocelens_icrc_packets_total`" + ` | ` + "`result`" + ` | All RoCE packets, copies and management too, by their ICRC: good, bad, or unverifiable, as of frames that were cut. Those of senders that compute none are bad |
| ` + "`rocelens_management_packets_total`" + ` | | RoCE packets of management, to QP 0 and 1 |
| ` + "`rocelens_malformed_packets_total`" + ` | | Packets with headers that contradict one another |
| ` + "`rocelens_findings_total`" + ` | ` + "`code`, `severity`" + ` | [Findings](monitor.md#findings) that were told |
| ` + "`rocelens_findings_left_out_total`" + ` | ` + "`of`" + ` | Sessions with trouble and events that no finding was made of, for want of memory |
| ` + "`rocelens_recordings_total`" + ` | ` + "`result`" + ` | [Recordings](monitor.md#recordings) of evidence: written, failed (no file), skipped (too many at a time) |
| ` + "`rocelens_recordings_cut_total`" + ` | | Recordings that were written and lack frames, for want of room on disk or in memory |
| ` + "`rocelens_recordings_deleted_total`" + ` | | Recordings that were deleted to make room for new ones |
| ` + "`rocelens_recordings_bytes`" + ` | | Bytes that recordings take on disk; not there while the directory can't be read |
| ` + "`rocelens_recordings_max_bytes`" + ` | | Bytes that they may take |
| ` + "`rocelens_recorder_memory_bytes`" + ` | | Bytes that the frames in memory take |
| ` + "`rocelens_recorder_span_seconds`" + ` | | For how long the frames in memory go back |
| ` + "`rocelens_capture_frames_total`" + ` | ` + "`interface`" + ` | Frames that were captured and read |
| ` + "`rocelens_capture_bytes_total`" + ` | ` + "`interface`" + ` | Their bytes on the wire |
| ` + "`rocelens_capture_dropped_frames_total`" + ` | ` + "`interface`" + ` | Frames that were lost because the ring was full |
| ` + "`rocelens_capture_up`" + ` | ` + "`interface`" + ` | 1 where the interface is there and up, or the files can be read |
| ` + "`rocelens_capture_files_total`" + ` | ` + "`interface`" + ` | With ` + "`-r`" + `: files that reading began with |
| ` + "`rocelens_capture_files_waiting`" + ` | ` + "`interface`" + ` | Files that are there and not begun |
| ` + "`rocelens_capture_lost_files_total`" + ` | ` + "`interface`, `how`" + ` | Files of which something is lost: gone before they were read (missed), gone or damaged meanwhile (cut), or continued after newer ones (grown) |
| ` + "`rocelens_capture_steps_back_total`" + ` | | Times at which the time of what was captured went back by more than ten seconds: a clock was put back |
| ` + "`rocelens_store_rows_total`" + ` | ` + "`table`, `result`" + ` | Rows that the store has (written) and that are lost (dropped) |
| ` + "`rocelens_store_failed_inserts_total`" + ` | ` + "`table`" + ` | Inserts that failed and were tried again |
| ` + "`rocelens_store_up`" + ` | | Whether the store took what was sent last: 1, or 0 while it is away and rows wait on disk |
| ` + "`rocelens_spool_rows`" + ` | | Rows that wait on disk for the store |
| ` + "`rocelens_spool_bytes`" + ` | | Bytes that they take |
| ` + "`rocelens_spool_max_bytes`" + ` | | Bytes that they may take: three quarters of ` + "`--spool-size`" + `, as taking rows out needs room as well |
| ` + "`rocelens_build_info`" + ` | ` + "`version`, `goversion`" + ` | 1 |

A frame of flow control counts once for each priority that it stops. The metrics of Go programs and of processes
(` + "`go_*`, `process_*`" + `) are there as well.
`

// Markdown writes docs/metrics.md.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(preface + "| metric | further label | |\n|---|---|---|\n")
	for i := range counters {
		c := &counters[i]
		label := ""
		if c.label != "" {
			label = fmt.Sprintf("`%s`: %s", c.label, strings.Join(c.values, ", "))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, label, c.help)
	}
	b.WriteString(histogramPreface + "| metric | |\n|---|---|\n")
	for i := range histograms {
		fmt.Fprintf(&b, "| `%s` | %s |\n", histograms[i].name, histograms[i].help)
	}
	b.WriteString(rest)
	_, err := io.WriteString(w, b.String())
	return err
}
