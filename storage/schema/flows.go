package schema

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

type interval = record.FlowInterval

// FlowIntervals is the table flow_intervals.
func FlowIntervals() *Rows[interval] {
	return rows(Table{
		Name: "flow_intervals",
		Doc: "What one flow did in one interval: the packets of one sender to one QP. The counters of all intervals of a flow sum up to " +
			"those of its session. What is found out later than it happened counts where it was found out, and what turns out to be " +
			"something else is taken back there: counters of type Int64 can be negative.",
		Questions: []string{"the worst flows of a time", "one flow over a week", "lag by DSCP", "percentiles over any flows and times"},
		Engine:    "MergeTree",
		Partition: "toMonday(time)",
		Order:     []string{"toStartOfHour(time)", "flow", "time"},
		Keep:      KeepIntervals,
		Shard:     "cityHash64(least(src, dst), greatest(src, dst))",
	}, slices.Concat(flowKeys(), flowCounters(), flowHistograms()))
}

// flowKeys say which flow it is, when and where.
func flowKeys() []field[interval] {
	return []field[interval]{
		placed("tap", docTap, func(o *Origin, r *interval) string { return o.tap(r.Input) }),
		when("time", "When the interval begins", func(r *interval) int64 { return r.Start }),
		i64("length_ns", codecZSTD, "How long it is", func(r *interval) int64 { return r.Length }),
		u64("flow", codecZSTD, docFlow, flowOfInterval),
		when("flow_start", "Time of the first packet of this life of the flow", func(r *interval) int64 { return r.FlowStart }),
		stringed("version", docVersion, func(r *interval) record.Version { return r.Version }),
		stringed("service", docService, func(r *interval) record.Service { return r.Service }),
		addr("src", "The sender. "+docAddr, func(r *interval) decode.Addr { return r.Src }),
		addr("dst", "The receiver", func(r *interval) decode.Addr { return r.Dst }),
		u32("src_qpn", codecZSTD, "QPN of the sender, 0 where it is not known", func(r *interval) uint32 {
			if r.HasSrcQPN {
				return r.SrcQPN
			}
			return r.PeerQPN
		}),
		u32("dst_qpn", codecZSTD, "QPN of the receiver", func(r *interval) uint32 { return r.DestQPN }),
		i32("vni", codecZSTD, docVNI, func(r *interval) int32 { return vni(r.HasVNI, r.VNI) }),
		u32("incarnation", codecZSTD, docIncarnation, func(r *interval) uint32 { return r.Incarnation }),
		stringed("pairing", "How the flow the other way was found: cm, ack, port, only or none", func(r *interval) record.PairingMethod { return r.Pairing }),
		named("application", docApplication, func(r *interval) string { return r.Application }),
		placed("interface", "Where the first packet of the interval was captured", func(o *Origin, r *interval) string { return cmp.Or(r.InterfaceName, o.iface(r.Input, r.Interface)) }),
		word("src_mac", "MAC of the sender or of the router before the tap; zeros where there is none or there are many", func(r *interval) decode.MAC { return r.SrcMAC }, sayMAC),
		word("dst_mac", "MAC of the receiver or of the router behind the tap; likewise", func(r *interval) decode.MAC { return r.DstMAC }, sayMAC),
		u16("src_port", codecZSTD, "UDP source port of the last packet", func(r *interval) uint16 { return r.SourcePort }),
		u8("dscp", codecZSTD, "DSCP of most packets, CNPs aside", func(r *interval) uint8 { return r.DSCP }),
		i8("priority", codecZSTD, "Priority of most packets: of the VLAN tag, or what the DSCP stands for, or -1", func(r *interval) int8 { return r.Priority }),
	}
}

// flowCounters are the columns of what is counted often, and a last one of what
// is 0 in most intervals.
func flowCounters() []field[interval] {
	return []field[interval]{
		u64("packets", codecZSTD, "Packets sent, copies aside", func(r *interval) uint64 { return r.Packets }),
		u64("wire_bytes", codecZSTD, "All bytes of them", func(r *interval) uint64 { return r.WireBytes }),
		u64("payload_bytes", codecZSTD, "Payload of them", func(r *interval) uint64 { return r.PayloadBytes }),
		u64("goodput_bytes", codecZSTD, "Payload of PSNs seen for the first time", func(r *interval) uint64 { return r.GoodputBytes }),
		u64("not_ect", codecZSTD, "Packets by ECN: not ECN-capable", func(r *interval) uint64 { return r.ECN[0] }),
		u64("ect0", codecZSTD, "Packets by ECN: ECT(0)", func(r *interval) uint64 { return r.ECN[2] }),
		u64("ect1", codecZSTD, "Packets by ECN: ECT(1)", func(r *interval) uint64 { return r.ECN[1] }),
		u64("ce", codecZSTD, "Packets by ECN: CE, congestion experienced", func(r *interval) uint64 { return r.ECN[3] }),
		u64("acks", codecZSTD, "ACKs sent", func(r *interval) uint64 { return r.Acks }),
		u64("naks", codecZSTD, "NAKs sent, of all codes", func(r *interval) (n uint64) {
			for _, v := range r.Naks {
				n += v
			}
			return n
		}),
		u64("rnr_naks", codecZSTD, "RNR NAKs sent", func(r *interval) uint64 { return r.RNRNaks }),
		u64("read_responses", codecZSTD, "Responses to READs and atomics sent", func(r *interval) uint64 { return r.ReadResponses }),
		u64("sends", codecZSTD, "SENDs requested, each once", func(r *interval) uint64 { return r.MessagesSent[record.Send] }),
		u64("writes", codecZSTD, "WRITEs requested", func(r *interval) uint64 { return r.MessagesSent[record.Write] }),
		u64("reads", codecZSTD, "READs requested", func(r *interval) uint64 { return r.MessagesSent[record.Read] }),
		u64("atomics", codecZSTD, "Atomics requested", func(r *interval) uint64 { return r.MessagesSent[record.Atomic] }),
		u64("messages_completed", codecZSTD, "Requests seen to be completed", func(r *interval) uint64 { return r.MessagesCompleted }),
		u64("retransmitted_packets", codecZSTD, "Packets sent again", func(r *interval) uint64 { return r.RetransmittedPackets }),
		u64("retransmitted_bytes", codecZSTD, "Payload of them", func(r *interval) uint64 { return r.RetransmittedBytes }),
		i64("tries", codecZSTD, "Steps back to send again", func(r *interval) (n int64) {
			for _, v := range r.Tries {
				n += v
			}
			return n
		}),
		i64("lost_before_tap", codecZSTD, "Packets lost before the tap", func(r *interval) int64 { return r.LostBeforeTap }),
		i64("lost_after_tap", codecZSTD, "Packets lost behind the tap, at least", func(r *interval) int64 { return r.LostAfterTap }),
		u64("cnps_sent", codecZSTD, "CNPs sent, which are among the packets", func(r *interval) uint64 { return r.CNPsSent }),
		u64("cnps_received", codecZSTD, "CNPs that told this sender to slow down", func(r *interval) uint64 { return r.CNPsReceived }),
		u64("peak_packets", codecZSTD, "Peak of packets sent and not yet acknowledged", func(r *interval) uint64 { return r.PeakPackets }),
		u64("peak_bytes", codecZSTD, "Peak of bytes sent and not yet acknowledged", func(r *interval) uint64 { return r.PeakBytes }),
		counters("rare", "What is 0 in most intervals, by name", countRare),
	}
}

// countRare counts what has no column of its own: a hundred columns of zeros
// would cost more than all others.
func countRare(r *interval, t *tally) {
	t.count("truncated", int64(r.Truncated))
	t.count("icrc_bad", int64(r.ICRCBad))
	t.count("other_dscp", int64(r.OtherDSCP))
	t.count("port_changes", int64(r.PortChanges))
	t.count("read_responses_retransmitted", int64(r.ReadResponsesRetransmitted))
	t.count("read_responses_lost", r.ReadResponsesLost)
	t.count("fills", int64(r.Fills))
	t.count("repeats", int64(r.Repeats))
	t.count("wasted_packets", int64(r.WastedPackets))
	t.count("wasted_bytes", int64(r.WastedBytes))
	t.count("episodes", int64(r.Episodes))
	t.count("lost_capture", int64(r.LostCapture))
	t.count("lost_corrupt", int64(r.LostCorrupt))
	t.count("reordered", r.Reordered)
	t.count("undecided", int64(r.Undecided))
	t.count("gaps", int64(r.Gaps))
	t.count("jumped", r.Jumped)
	t.count("duplicates_capture", r.DuplicatesCapture)
	t.count("duplicates_network", r.DuplicatesNetwork)
	t.count("duplicate_requests", r.DuplicateRequests)
	t.count("silences", int64(r.Silences))
	t.count("silence_ns", r.SilenceTime)
	t.count("rnr_ns", r.RNRTime)
	t.count("protocol_errors", int64(r.ProtocolErrors))
	t.count("cnps_unmarked", int64(r.CNPsUnmarked))
	t.count("data_marked", int64(r.DataMarked))
	t.count("acks_marked", int64(r.AcksMarked))
	t.count("cnps_marked", int64(r.CNPsMarked))
	t.count("slowed", int64(r.Slowed))
	t.count("recovered", int64(r.Recovered))
	for code, name := range nakCounters {
		t.count(name, int64(r.Naks[code]))
	}
	for c, name := range tryCounters {
		t.count(name, r.Tries[c])
	}
	for p, name := range placeCounters {
		t.count(name, r.Places[p])
	}
	for m, name := range modeCounters {
		t.count(name, r.Modes[m])
	}
}

// flowHistograms are the columns of durations.
func flowHistograms() []field[interval] {
	return []field[interval]{
		histogram("ack_latency", "First transmission of a packet to the first answer that advances past it", func(r *interval) *sketch.Histogram { return &r.AckLatency }),
		histogram("send_latency", "SENDs: first packet to the answer that completes it", func(r *interval) *sketch.Histogram { return &r.Latency[record.Send] }),
		histogram("write_latency", "WRITEs, likewise", func(r *interval) *sketch.Histogram { return &r.Latency[record.Write] }),
		histogram("read_latency", "READs, likewise", func(r *interval) *sketch.Histogram { return &r.Latency[record.Read] }),
		histogram("atomic_latency", "Atomics, likewise", func(r *interval) *sketch.Histogram { return &r.Latency[record.Atomic] }),
		histogram("nak_reaction", "NAK at the tap to the first packet sent again", func(r *interval) *sketch.Histogram { return &r.NakReaction }),
		histogram("np_delay", "Lag: last marked data packet to the CNP", func(r *interval) *sketch.Histogram { return &r.NPDelay }),
		histogram("mark_wait", "Lag: first marked data packet since the CNP before, to the CNP", func(r *interval) *sketch.Histogram { return &r.MarkWait }),
		histogram("cnp_to_slow", "Lag: CNP to the end of the first slow window", func(r *interval) *sketch.Histogram { return &r.ToSlow }),
		histogram("slow_to_recover", "Lag: from there to the end of the first window that is not slow", func(r *interval) *sketch.Histogram { return &r.ToRecover }),
	}
}
