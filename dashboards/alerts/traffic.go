package alerts

import "time"

// What values are told apart by. The job and the instance are the monitor, as
// Prometheus names it: there may be several.
const (
	byInstance  = "sum by (job, instance) "
	byInterface = "sum by (job, instance, interface) "
	byPriority  = "sum by (job, instance, interface, priority) "
)

// Recordings of traffic, level:metric:operations as Prometheus recommends.
const (
	requests      = "interface_priority:rocelens_request_packets:rate5m"
	retransmitted = "interface_priority:rocelens_retransmitted_packets:rate5m"
	sentAgain     = "interface_priority:rocelens_retransmitted_packets_per_request_packets:ratio_rate5m"
	rnrWait       = "interface_priority:rocelens_rnr_wait_seconds:rate5m"
	marks         = "instance:rocelens_marked_data_packets:rate5m"
	cnps          = "instance:rocelens_cnps:rate5m"
	slowdowns     = "instance:rocelens_slowdowns:rate5m"
	completed     = "instance:rocelens_messages_completed_per_messages:ratio_rate5m"
)

// beyond is the reason of most alerts for their time.
const beyond = "For longer than the five minutes of the rate, so that one burst fires nothing."

// traffic are alerts about what flows do.
func traffic() Group {
	return Group{
		Name: "rocelens-traffic",
		Recordings: []Recording{
			{requests, byPriority + `(rate(rocelens_packets_total{class="request"}[5m]))`, "request packets a second"},
			{retransmitted, byPriority + "(rate(rocelens_retransmitted_packets_total[5m]))", "packets sent again, a second"},
			{sentAgain, retransmitted + " / (" + requests + " > 0)", "share of the request packets that are sent again"},
			{rnrWait, byPriority + "(rate(rocelens_rnr_wait_seconds_total[5m]))", "seconds a second for which streams wait after RNR NAKs, all together"},
			{marks, byInstance + `(rate(rocelens_marked_packets_total{class="data"}[5m]))`, "data packets marked CE, a second"},
			{cnps, byInstance + `(rate(rocelens_packets_total{class="cnp"}[5m]))`, "CNPs a second"},
			{slowdowns, byInstance + "(rate(rocelens_slowdowns_total[5m]))", "senders that became slow, a second"},
			{completed, byInstance + "(rate(rocelens_messages_completed_total[5m])) / (" + byInstance + "(rate(rocelens_messages_total[5m])) > 0)", "share of the messages that were seen to be completed: near 1 where the monitor sees both directions"},
		},
		Alerts: []Alert{
			{
				Name: "RocelensPFCStorm", ID: "pfc-storm", Severity: critical,
				Value: "time() - max by (job, instance, interface) (rocelens_pause_storm_last_timestamp_seconds)", Below: true, Threshold: 600,
				Summary:     "PFC storm at {{ $labels.interface }} of {{ $labels.instance }}",
				Description: "A station at interface {{ $labels.interface }}, which {{ $labels.instance }} watches, keeps the other end of its link paused, or did so in the last ten minutes. What has to pass that link waits, and so does what queues behind it. Find out who pauses: a host that hangs or is too slow, or a switch whose own way out is paused.",
				Runbook:     "findings.md#pfc-storm", Board: "rocelens-pfc", Panel: 2, PanelTitle: "Storms",
				When: "the monitor found a storm in the last ten minutes, or one goes on",
				Why:  "At once: what a storm is, the monitor has judged (`--storm-share` of `--storm-window`, 90 % of 200 ms). Short pauses, as flow control is there for, are none. Without `--link-speed` nothing is known of storms.",
			},
			{
				Name: "RocelensRetransmissions", ID: "retransmissions", Severity: warning,
				Value: sentAgain, Provided: []string{requests + " > 100"}, Threshold: 0.001, For: 10 * time.Minute,
				Summary:     "{{ $value | humanizePercentage }} of the requests are sent again at {{ $labels.interface }} of {{ $labels.instance }}, priority {{ $labels.priority }}",
				Description: "Requesters whose packets pass interface {{ $labels.interface }} of {{ $labels.instance }} with priority {{ $labels.priority }} send {{ $value | humanizePercentage }} of them again. A lossless network has none. Find out on which side of the tap packets are lost, and whether after NAKs or timeouts.",
				Runbook:     "findings.md#go-back-n", Board: "rocelens-loss", Panel: 9, PanelTitle: "Requests sent again",
				When: "more than 0.1 % of the request packets of a priority are sent again, at 100 requests a second or more",
				Why:  beyond + " One loss costs a window of packets with go-back-N, so few requests say little.",
			},
			{
				Name: "RocelensRetransmissionsSevere", ID: "retransmissions-severe", Severity: critical,
				Value: sentAgain, Provided: []string{requests + " > 1000"}, Threshold: 0.01, For: 2 * time.Minute,
				Summary:     "{{ $value | humanizePercentage }} of the requests are sent again at {{ $labels.interface }} of {{ $labels.instance }}, priority {{ $labels.priority }}",
				Description: "Requesters whose packets pass interface {{ $labels.interface }} of {{ $labels.instance }} with priority {{ $labels.priority }} send {{ $value | humanizePercentage }} of them again: applications are slower for it. Find out on which side of the tap packets are lost, and whether after NAKs or timeouts.",
				Runbook:     "findings.md#go-back-n", Board: "rocelens-loss", Panel: 9, PanelTitle: "Requests sent again",
				When: "more than 1 % of the request packets of a priority are sent again, at 1,000 requests a second or more",
				Why:  "That is 3,000 packets in five minutes, which no single loss costs: it need not be waited for long.",
			},
			{
				Name: "RocelensRNRStall", ID: "rnr-stall", Severity: warning,
				Value: rnrWait, Threshold: 0.1, For: 10 * time.Minute,
				Summary:     "Receivers have no buffer posted: RNR waits at {{ $labels.interface }} of {{ $labels.instance }}, priority {{ $labels.priority }}",
				Description: "Streams at interface {{ $labels.interface }} of {{ $labels.instance }} with priority {{ $labels.priority }} stand still for {{ $value | humanizeDuration }} in each second, all together, because receivers answered with RNR NAKs. It is neither loss nor congestion: look at the receiving applications.",
				Runbook:     "findings.md#rnr-stall", Board: "rocelens-loss", Panel: 6, PanelTitle: "Standing still",
				When: "the streams of a priority wait after RNR NAKs for more than 0.1 s in each second, all together",
				Why:  beyond + " It is a tenth of the time of one stream, from where on the finding is critical, or 150 waits of 0.64 ms a second: receivers that use an RNR NAK here and there as their flow control are far from it.",
			},
			{
				Name: "RocelensICRCErrors", ID: "icrc-errors", Severity: warning,
				Value: byInterface + "(increase(rocelens_icrc_errors_total[15m]))", Threshold: 2.5,
				Summary:     "Corrupt packets at {{ $labels.interface }} of {{ $labels.instance }}",
				Description: "{{ $value | humanize }} RoCE packets with a wrong ICRC came to interface {{ $labels.interface }} of {{ $labels.instance }} in 15 minutes. They were changed between their senders and the tap, by a device or a cable, and their receivers drop them.",
				Runbook:     "findings.md#icrc-bad", Board: "rocelens-loss", Panel: 8, PanelTitle: "Corrupt packets",
				When: "three packets or more with a wrong ICRC in 15 minutes at an interface",
				Why:  "Links drop what they damage, by their own checksum: a healthy network shows none at all. At once, as such errors are rare and matter; but not of one or two. Senders that compute no ICRC are not counted. (2.5, as `increase` makes up for the ends of the 15 minutes.)",
			},
			{
				Name: "RocelensMarksWithoutCNPs", ID: "marks-without-cnps", Severity: info,
				Value: cnps + " / " + marks, Provided: []string{marks + " > 100", completed + " > 0.5"}, Below: true, Threshold: 0.0001, For: 15 * time.Minute,
				Summary:     "Packets are marked CE and no CNP answers, seen by {{ $labels.instance }}",
				Description: "Switches mark data packets that {{ $labels.instance }} sees, and receivers send less than one CNP for 10,000 marks: nobody tells the senders to slow down. Where DCQCN is not used that is as it should be: silence this alert there. Where it is, look at the receivers' settings for the priority, and at the way of the CNPs.",
				Runbook:     "findings.md#ecn-no-reaction", Board: "rocelens-ecn", Panel: 2, PanelTitle: "Marks and CNPs",
				When: "less than one CNP for 10,000 marked data packets, at 100 marks a second or more, where answers to half of the messages or more are seen",
				Why:  "Receivers pace CNPs, to one in 4 to 50 µs, which leaves one for a few thousand marks even where all packets of 400 Gbit/s are marked. A monitor that sees one direction alone says nothing. All interfaces of a monitor together, as CNPs may come by another one, with another priority.",
			},
			{
				Name: "RocelensCNPsIgnored", ID: "cnps-ignored", Severity: info,
				Value: slowdowns + " / " + cnps, Provided: []string{cnps + " > 100", completed + " > 0.5"}, Below: true, Threshold: 0.0001, For: 15 * time.Minute,
				Summary:     "CNPs slow no sender down, seen by {{ $labels.instance }}",
				Description: "Receivers send CNPs, which {{ $labels.instance }} sees, and after less than one in 10,000 of them a sender becomes slower. Look whether the senders have DCQCN enabled for the priority. Senders that something else holds back need not become slower.",
				Runbook:     "findings.md#cnp-ignored", Board: "rocelens-ecn", Panel: 3, PanelTitle: "Slow and fast again",
				When: "less than one slow-down for 10,000 CNPs, at 100 CNPs a second or more, where answers to half of the messages or more are seen",
				Why:  "A slow-down is counted where the rate falls below 80 %. Senders in balance may stay above that for long, hence no more than `info`.",
			},
		},
	}
}
