package finding

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// onStreams is the evidence that every finding on sessions has.
const onStreams = "`streams` (the worst: `session`, `from`, `to`, %s), `streams_affected`, `sessions_affected`, and `first` where an event tells it"

// sessionCodes are those of findings from sessions and their events.
func sessionCodes() []Code {
	info, warning, critical := []record.Severity{record.Info}, []record.Severity{record.Warning}, []record.Severity{record.Critical}
	harm := []record.Severity{record.Warning, record.Critical}
	return []Code{
		{
			Code: "ack-timeout", Severities: harm,
			Summary:  "requesters that waited until their ACK timer ran out",
			Meaning:  "A requester went back without a NAK or a response that told it to, after a silence. It happens where the last packets of a burst, a READ's only response or the answer is lost, or where the answer comes later than the timer. Critical where a stream spends a tenth of its time so.",
			Check:    "Where the packets are lost. Then the ACK timeout of the QPs: too short, it fires without a loss; too long, each loss at the end of a message costs that much.",
			False:    "A stop of the whole capture, or of the sender's host, that ends with a repeat looks like a timer. A tap that misses NAKs (a mirror that drops them, another path back) takes what they drew for timeouts.",
			Evidence: "`timeouts`, `waited_ns`, `stalled_streams` and `stalled_ns` (others, which stood still meanwhile), `outage` (the longest run of tries at one PSN without an answer, where there were three or more: `session`, `psn`, `tries`, `lasted_ns`, `first`), " + streamsWith("`timeouts`, `waited_ns`"),
		},
		{
			Code: "answer-late", Severities: harm,
			Summary:  "timers that ran out although nothing is seen to be lost",
			Meaning:  "A requester went back on timeouts alone. No NAK came and nothing is missing; in half of the tries or more an acknowledge shows that the requests had arrived, and ACKs of what was sent once take half as long as the timer or longer at the 99th percentile; or that shows in one try, and ACKs take as long as the timer in the median. So it was answers that came too late, as they do behind deep queues or from a slow host. Such streams are in neither ack-timeout nor go-back-n nor answer-lost. Critical where a stream spends a tenth of its time so.",
			Check:    "The ACK timeout of the QPs against what ACKs take under load; queues on the way there and back: incast, ECN thresholds, and the marks of this data, where it has any.",
			False:    "Where the last packets before each timeout were lost behind the tap without drawing a NAK, and answers are slow besides. How slow answers are is told from packets that were sent once: few of them say little.",
			Evidence: "`timeouts`, `waited_ns`, `packets` (sent again), `share` (of the requests), `answered` (tries whose requests are known to have arrived), `marked` (of their data), " + streamsWith("`timeouts`, `waited_ns`, `packets`, `ack_p50_ns`, `ack_p99_ns`, `ack_timeout_ns`, `marked`"),
		},
		{
			Code: "answer-lost", Severities: warning,
			Summary:  "requests sent again although they had arrived",
			Meaning:  "The tap saw an acknowledge of what was sent again, before or after it: its answer was lost, or came too late. Where all that was sent before is acknowledged, no request was lost. At least one try in ten of a stream, and not where packets came late.",
			Check:    "Drops on the way back, where ACKs may have a DSCP and a queue of their own; the ACK timeout against the ACK latency under load.",
			False:    "A path back that is longer than the timer, and not lossy: that is answer-late, where the latencies that this tap sees tell it. Soft-RoCE goes back at times for what is acknowledged already, because the host was busy.",
			Evidence: "`tries`, " + streamsWith("`tries`, and where known `ack_p99_ns`, `ack_timeout_ns`"),
		},
		{
			Code: "capture-loss", Severities: info,
			Summary:  "packets that the mirror lost, and not the network",
			Meaning:  "They are missing, the receiver acknowledged them, and nobody sent them again. They count in no figure of loss. What else is known of it stands there too: gaps in the sequence numbers of an ERSPAN mirror (mirror-gaps), or none, and the drops that the capturing side counted (capture-drops). Where most packets are missing, see sampled-capture.",
			Check:    "The mirror: oversubscribed or sampling, and whoever captures: buffer and disk.",
			False:    "A receiver that acknowledges what it never got, which would be a fault of its own.",
			Evidence: "`packets`, where known `mirror_missing` (frames, by the mirror's sequence numbers) and `capture_drops` (that the capturing side counted), " + streamsWith("`packets`"),
		},
		{
			Code: "connection-refused", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "connections that the connection manager rejected",
			Meaning:  "A REJ was seen, with the reason. It is an info where the same service took other connections in the capture. 28 is the application's own refusal, 8 means that nobody listens, 10 that the responder believes an earlier connection of that QP to be alive.",
			Check:    "What the reason says. For 10, look for an earlier session of the QP without a disconnect.",
			False:    "An application that tries several services in turn, or one that refuses on purpose, as with a wrong password.",
			Evidence: "`connections`, " + streamsWith("`reason`, `text`, `frame`"),
		},
		{
			Code: "connection-unanswered", Severities: warning,
			Summary:  "connections that were asked for in vain",
			Meaning:  "A REQ was seen, perhaps several times, and neither REP nor REJ. Repetitions of one REQ are one connection.",
			Check:    "Whether the other host is up and reachable for RoCE, and whether this tap sees the way back.",
			False:    "The answer takes another way than past this tap, although other packets of that host pass it. A capture that ends right after the request: at least one repetition or the time for it should be in it.",
			Evidence: "`connections`, " + streamsWith("`requests`, `service_id`, `frame`"),
		},
		{
			Code: "go-back-n", Severities: harm,
			Summary:  "packets sent again, why, and what that cost",
			Meaning:  "Requesters stepped back and sent again from there on, RNR NAKs aside. It says what made them (a NAK, a missing READ response, a timeout), where the packets went, how many packets each loss cost, and how long timers ran. Critical where a stream went back five times or more and sent again one request in twenty. What selective repeat does is not this: see selective-repeat.",
			Check:    "lost-before-tap, lost-after-tap and answer-lost, which say where.",
			False:    "A network that doubles packets, seen with constant IP IDs: a copy far behind looks like a step back.",
			Evidence: "`packets` (sent again), `share` (of the requests), `bytes`, `tries`, `lost` (seen to be lost), `wasted` (sent again although they had passed the tap), `waited_ns`, " + streamsWith("`packets`, `tries`, `lost`"),
		},
		{
			Code: "lost-after-tap", Severities: harm,
			Summary:  "packets lost between the tap and their receiver",
			Meaning:  "The tap saw them, and the receiver's NAK asked for them all the same, or a READ or atomic was sent again; then it may have been the answer that was lost, on its way to the requester. At least so many: a gap draws one NAK, however long it is. Critical where a stream lost five or more, and one in a thousand.",
			Check:    "Each hop from the tap to the receiver: egress drops in the traffic class of RoCE, FCS errors, the receiver's out-of-buffer counters.",
			False:    "A NAK that a receiver sends for a packet that it took from the wire and dropped for want of room is a loss behind the tap too: the receiver's, not a link's. A NAK for packets that only came late to the receiver: reordering behind the tap does not show here.",
			Evidence: "`lost`, `share`, `reads` (READs and atomics among them, or their answers), `answers` (those of which it was the answer), " + streamsWith("`lost`, `share`"),
		},
		{
			Code: "lost-before-tap", Severities: harm,
			Summary:  "packets lost between their sender and the tap",
			Meaning:  "They were missing in a pass that the requester went back for, or a READ's responses were missing and asked for again. Judged pass by pass: a packet that is lost twice is two losses. Critical where a stream lost five or more, and one in a thousand.",
			Check:    "Each hop from the sender to the tap: egress drops in the traffic class of RoCE, PFC and ECN settings for the packets' DSCP or priority, FCS errors.",
			False:    "Packets that the mirror or the capture lost and that the sender also sent again for another reason. A second path to the receiver that this tap does not see, where the NAK is for something else.",
			Evidence: "`lost`, `share`, `read_responses` (of them), `corrupt` (of them: came with a bad ICRC), " + streamsWith("`lost`, `share`, `read_responses`"),
		},
		{
			Code: "one-sided", Severities: info,
			Summary:  "the capture has one direction only",
			Meaning:  "Packets of a reliable connection, and nothing at all that comes back between the two hosts. What needs the answers (causes, latencies, most losses) can't be told.",
			Check:    "The mirror: both directions of the port.",
			False:    "A host that really never answers, as when it is down: then nothing that it sends is in the capture because there is nothing.",
			Evidence: "`packets`, " + streamsWith("`packets`"),
		},
		{
			Code: "protocol-error", Severities: warning,
			Summary:  "the rules of the transport were broken",
			Meaning:  "The order of opcodes, payload against the path MTU, the length that was announced against what was sent, MSNs, PSNs of responses. Each event names the rule, what it asks for and what came.",
			Check:    "The implementation: NIC, firmware, FPGA or software stack.",
			False:    "A mirror that loses packets so that opcodes, lengths or MSNs seem out of order, where nothing else tells of it; a capture that merges two connections with the same QPNs.",
			Evidence: "`packets`, `rules` (`rule`, `packets`), " + streamsWith("`rule`, `got`, `want`, `psn`, `frame`"),
		},
		{
			Code: "remote-error", Severities: critical,
			Summary:  "requests that the responder refused for good",
			Meaning:  "NAK 0x61 (invalid request), 0x62 (remote access error), 0x63 (remote operational error) or 0x64, with the request that drew it where that was seen. It ends the QP.",
			Check:    "R_Key, address range and permissions of the memory region for 0x62; operation, length and order for 0x61; the responder's device for 0x63.",
			False:    "An application that probes what it may do, or that closes connections by it.",
			Evidence: "`naks`, `codes`, " + streamsWith("`code`, `psn`, `frame`, and where seen `opcode`, `request`"),
		},
		{
			Code: "reordering", Severities: []record.Severity{record.Info, record.Warning},
			Summary:  "packets that came late",
			Meaning:  "Their IP IDs say that they were sent earlier than what overtook them. As info: nothing was sent again for it. As warning: a receiver that takes packets in order alone asked for them again, though nothing was lost.",
			Check:    "Packet spraying, adaptive routing, bonds: one path for a QP, or receivers that take packets out of order.",
			False:    "IP IDs that are shared by several queues of a NIC and taken from it in another order than packets leave.",
			Evidence: "`packets`, `tries` (sent again for it), " + streamsWith("`packets`"),
		},
		{
			Code: "retry-exhausted", Severities: critical,
			Summary:  "requesters that gave up for want of an answer",
			Meaning:  "The same packet was sent again until the retry count was used up, and then no more. This is work completion status 12, IBV_WC_RETRY_EXC_ERR, NCCL's \"error 12\". It names the last PSN that was acknowledged, what was not, how often it was sent again, and how far apart. Those tries are in no other finding. Where nothing comes back in the capture, it may have been RNR NAKs, and it says so. It also says whether other QPs of that host still sent something afterwards.",
			Check:    "Whether the responder was up and its QP existed, then the path between them.",
			False:    "A requester that was stopped or reset in the middle of its retries, or whose further packets take another path: after the usual number of tries in a row it looks the same.",
			Evidence: "`requesters`, " + streamsWith("`unanswered` (`first`, `last`), `last_acked` where one was, `tries`, `spacing_ns`, `quiet_ns` (from the last packet of the other side to the last try), `frame`"),
		},
		{
			Code: "retrying-at-end", Severities: warning,
			Summary:  "requesters that may have given up: the capture ends too early to tell",
			Meaning:  "Three tries or more in a row began at the same PSN, on a timeout or after an RNR NAK. Nothing came back after the last of them, or only the next RNR NAK, and the capture ends before it shows whether another try follows. The session is open.",
			Check:    "The application's log: work completion status 12 or 13. A longer capture.",
			False:    "Requesters that went on after the capture's end, and were answered: it is why it is only a warning.",
			Evidence: "`requesters`, " + streamsWith("`psn`, `tries`, `status` (12 or 13, if it gave up), `left_ns` (from the last try to the capture's end)"),
		},
		{
			Code: "rnr-exhausted", Severities: critical,
			Summary:  "requesters that gave up because the responder was never ready",
			Meaning:  "The same request was refused with RNR NAKs until the RNR retry count was used up: work completion status 13, IBV_WC_RNR_RETRY_EXC_ERR.",
			Check:    "The responder's application: receives that are posted too late or not at all.",
			False:    "An application that stops on purpose while its peer waits for a receive.",
			Evidence: "`requesters`, " + streamsWith("`unanswered` (`first`, `last`), `last_acked` where one was, `tries`, `spacing_ns`, `frame`"),
		},
		{
			Code: "rnr-stall", Severities: harm,
			Summary:  "responders that had no receive buffer",
			Meaning:  "RNR NAKs: how many, how long they asked the requester to wait, and how long it took on the wire. Neither loss nor congestion. Critical where a stream spends a tenth of its time so.",
			Check:    "The receiving application: receives posted earlier, more of them, a busy CPU.",
			False:    "Receivers that use RNR NAKs as their flow control, as with a shared receive queue that is filled in time: a few of them cost little.",
			Evidence: "`rnr_naks`, `waited_ns`, `timers_ns`, " + streamsWith("`rnr_naks`, `waited_ns`"),
		},
		{
			Code: "sampled-capture", Severities: warning,
			Summary:  "the capture holds a part of the packets only",
			Meaning:  "One in five requests and READ responses or more is missing and never came, neither late nor again, and one in ten or more comes right behind a gap, in the streams that have three quarters of all packets; or one in three and one in five, in single streams of 64 packets or more. (Of UC, which sends nothing again, half has to be missing; UD does not count. Where so much is sent again that little is missing in the end, one in four has to come behind a gap, and some must be acknowledged that never came.) The network does not lose so much without repairing it: the mirror samples, or is overloaded, or the tap is on one of several paths. For these streams, and where it is nearly all for all of them, no finding is raised that rests on packets being missing, late, again or silent: the figures of sessions hold what was seen. Acknowledges, NAKs, marks and addresses are as good as ever, and the share is about that of all traffic.",
			Check:    "The mirror: sampling switched off, fewer ports, a faster port to the collector. For rates alone, a sample will do.",
			False:    "A path with more than one in five packets lost, and a capture too short to have their repetition.",
			Evidence: "`packets` (requests and READ responses seen), `behind_gaps`, `missing`, `share` where it can be told (of packets that the capture holds), " + streamsWith("`packets`, `behind_gaps`, `missing`"),
		},
		{
			Code: "selective-repeat", Severities: info,
			Summary:  "what was lost was sent again, and nothing else",
			Meaning:  "Every step back of these streams sent the missing packets alone, and then went on where it was.",
			Check:    "lost-before-tap and lost-after-tap, which say where.",
			False:    "A requester that goes back for one packet and has no other to send again.",
			Evidence: "`packets`, " + streamsWith("`packets`, `tries`"),
		},
		{
			Code: "silence", Severities: info,
			Summary:  "streams that stood still, and nothing tells why",
			Meaning:  "A long pause in the middle of a stream that no retransmission at this tap explains: at least 10 ms, the ACK timeout where it is known, and ten times what almost all ACKs take. Where another stream waited for its ACK timer meanwhile, ack-timeout says so instead.",
			Check:    "Whether it is as long as the ACK timeout: then a packet was lost before the tap, last of its pass, and came once. Otherwise whether the sender was paused or busy.",
			False:    "An application that pauses in the middle of a message that it builds as it goes, a host that is busy, a training step. Silences are long against ACKs, so that a stall is likely, but not proven.",
			Evidence: "`silences`, `lasted_ns`, " + streamsWith("`lasted_ns`, `silences`"),
		},
		{
			Code: "uc-ud-missing", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "UC or UD packets that never came",
			Meaning:  "Their PSNs are missing. Nothing is acknowledged or sent again there, so it can't be told whether the network lost them or the mirror. As info: UD alone, from QPs that send to several receivers or whose packets are mostly missing, which may have gone elsewhere.",
			Check:    "The receiver's counters, or a capture at another place.",
			False:    "Datagrams to other receivers, which take PSNs of the same sender; a mirror that loses packets.",
			Evidence: "`missing`, `share`, " + streamsWith("`service`, `missing`, `share`"),
		},
		{
			Code: "unanswered", Severities: warning,
			Summary:  "requests that nobody answers",
			Meaning:  "A QP sends requests, other packets come back between the two hosts, and no answer to these: some were sent again, or there are at least five and the first has waited for 10 ms and four times as long as the longest answer in the capture took. Where a requester gave up, it is retry-exhausted instead.",
			Check:    "Whether the responder's QP exists; losses behind the tap.",
			False:    "Answers that take another way than past this tap, although other packets between the two hosts come back here.",
			Evidence: "`qps`, " + streamsWith("`packets`"),
		},
		{
			Code: "undecided", Severities: info,
			Summary:  "out of order or there twice, and it can't be told whether sent again",
			Meaning:  "Without rising IP IDs a packet that comes late, a copy of one, and one that is sent again look alike. A packet that is the same as one at most 10 ms before is undecided where nothing asks for it (no NAK, no refusal, no missing response), it comes less than 1 ms after the request before it (or half the ACK timeout, where that is known to be shorter), and the one after it does not go on from there. They count neither as loss nor as reordering, copies or retransmissions.",
			Check:    "Nothing, or a capture at the sender.",
			False:    "None: it says what can't be told.",
			Evidence: "`packets`, " + streamsWith("`packets`"),
		},
		{
			Code: "unpaired", Severities: info,
			Summary:  "flows that were not matched with the other direction",
			Meaning:  "Packets go both ways between the two hosts, and nothing tells surely enough which flows belong to one connection. No guess is made.",
			Check:    "A capture that has the connection's set-up, or more of its traffic.",
			False:    "Flows of connections whose other direction is not in the capture, while other connections of the same hosts are.",
			Evidence: "`packets`, " + streamsWith("`packets`"),
		},
	}
}

func streamsWith(keys string) string { return strings.Replace(onStreams, "%s", keys, 1) }
