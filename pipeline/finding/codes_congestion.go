package finding

import "github.com/rocelens/rocelens/pipeline/record"

// congestionCodes are those of findings from ECN marks and CNPs.
func congestionCodes() []Code {
	info := []record.Severity{record.Info}
	return []Code{
		{
			Code: "cnp-ce-marked", Severities: []record.Severity{record.Info, record.Warning},
			Summary:  "CNPs that met congestion themselves",
			Meaning:  "CNPs have CE in their IP header: they waited in a queue beyond the threshold for marking. As a warning: at least 8, and one in a hundred of the CNPs of these streams.",
			Check:    "The class of the CNPs: one of their own, with strict priority and without marking; usual is DSCP 48.",
			False:    "A switch that marks all classes on purpose, ahead of one that serves CNPs first: then they do not come late.",
			Evidence: "`marked`, `cnps`, " + streamsWith("`marked`, `cnps`"),
		},
		{
			Code: "cnp-ignored", Severities: info,
			Summary:  "CNPs, and senders that don't become slower",
			Meaning:  "At least two CNPs came for a sender, and its rate did not fall below 80 % of that before within 8 windows of 32 data packets and at most 10 ms, as far as that can be told (`reaction` in the report). It is no fault by itself. Not where the capture is a sample.",
			Check:    "Where DCQCN should be on: the sender's rp_cnp_handled and rp_cnp_ignored, and whether it is enabled for the priority.",
			False:    "A sender that something else holds back (its application, PCIe, a window) was not as fast as it may be, and need not become slower; one that is at its least rate can't. Another QP of the port that ends just then can make up for the rate.",
			Evidence: "`cnps`, `others_heed` (whether other senders become slower), " + streamsWith("`cnps`"),
		},
		{
			Code: "cnp-without-ce", Severities: info,
			Summary:  "CNPs, and no marks that they could be for",
			Meaning:  "No data packet of the sender that is told was marked since the CNP before, nor within a millisecond. That is usual where the tap is ahead of the queue that marks, as next to the sender. CNPs for QPs whose data is not in the capture, or was not matched with them, are among them. Not where the capture is a sample.",
			Check:    "Nothing, where the tap is near the senders. Capture next to the receivers to see how long a mark takes to become a CNP.",
			False:    "A mirror that loses some of the marked packets, or a tap between the queue that marks and the receiver of another path.",
			Evidence: "`cnps`, `no_data` (those for QPs without data), " + streamsWith("`cnps_without_mark`, `cnps`, `marks` as in the report"),
		},
		{
			Code: "congested", Severities: info,
			Summary:  "data that met congestion",
			Meaning:  "Requests or READ responses have CE in their IP header or GRH. The mark is set ahead of the tap, so the congestion is there. The receiver with most of the marks is named, and the share is of the data of those streams that have marks.",
			Check:    "The ECN counters and queue lengths of the switches on the way, from the port towards the receiver on back; who sends to that receiver at the same time.",
			False:    "Marks that a test tool or a traffic generator sets; switches that mark at random or at a threshold that is too low, so that no queue is long.",
			Evidence: "`marked`, `share`, `receivers` (the most marked: `addr`, `marked`, `streams`, `senders`), `receivers_marked`, " + streamsWith("`marked`, `share`"),
		},
		{
			Code: "ecn-no-reaction", Severities: info,
			Summary:  "marks, and no CNP",
			Meaning:  "At least 8 data packets of a stream are marked CE, packets of the receiver for the sender are in the capture, and no CNP is. It is no fault by itself: DCQCN can be off, Soft-RoCE has none, other ways to control congestion need no CNPs, and CNPs can take another way. Not where the capture is a sample.",
			Check:    "Where DCQCN should be on: the receiver's np_ecn_marked_roce_packets and np_cnp_sent, and whether it is enabled for the priority.",
			False:    "DCQCN that is off, Soft-RoCE, other ways to control congestion (TIMELY, HPCC, Swift and what vendors have), CNPs on another path; a capture that ends before the CNP.",
			Evidence: "`marked`, `others_told` (whether other senders get CNPs), " + streamsWith("`marked`, `share`"),
		},
		{
			Code: "microbursts", Severities: info,
			Summary:  "bursts far above the mean rate, where packets are lost, marked or late",
			Meaning:  "Of what goes to a receiver, the fullest window of 10 or 100 µs has at least 16 packets and 4 times the rate of those milliseconds in which there is any traffic to it; and on the way there packets are marked, or packets of two senders at least are lost or run out of time. Windows begin at whole multiples of their length. Not where the capture is a sample.",
			Check:    "The buffer and the ECN thresholds of the port towards the receiver, against what the window brought; message sizes, outstanding messages and rate limits of the senders.",
			False:    "Time stamps of a host's software come in batches, and show bursts that were none on the wire. Packets captured twice count twice. What filled a queue may have been other traffic.",
			Evidence: "`receivers`, `worst` (`receiver`, `mean_bps`, `window_ns`, `rate_bps`, `packets`, `senders` (at least), `start`, and of all its senders `lost`, `marked`, `timeouts`)",
		},
	}
}
