package schema

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Session is a row of sessions: what is known of a session at a time.
type Session struct {
	*record.Session
	Updated int64 // ns since the epoch
	Final   bool  // nothing more will come
}

type direction = record.Direction

// Sessions is the table sessions.
func Sessions() *Rows[Session] {
	return rows(Table{
		Name: "sessions",
		Doc: "A session, or a UD flow: what is known of it so far, and all that was counted of it. There is one row for each probe, run and " +
			"session; the newest replaces those before it, which are there until ClickHouse merges them: read the table with FINAL. Side a " +
			"began the session. Columns that begin with a_ are of what side a sent, or of the stream of its requests.",
		Questions: []string{"a session by QPN or address", "totals of a run"},
		Engine:    "ReplacingMergeTree(updated)",
		Partition: "toYYYYMM(first)",
		Order:     []string{"a_addr", "a_qpn", "session", "probe", "run"},
		Indexes: []Index{
			{"b_addr", "b_addr", bloom},
			{"a_qpn", "a_qpn", bloom},
			{"b_qpn", "b_qpn", bloom},
			{"session", "session", bloom},
		},
		Keep:  KeepRecords,
		Shard: shardSession,
	}, slices.Concat(sessionKeys(),
		directionFields("a", func(r *Session) *direction { return &r.AToB }),
		directionFields("b", func(r *Session) *direction { return &r.BToA })))
}

// bloom is an index for values that are looked for: of a thousand granules that do
// not have one, one is read, and its neighbours with FINAL. shardSession spreads
// what is of sessions.
const (
	bloom        = "bloom_filter(0.001)"
	shardSession = "cityHash64(session)"
)

func sessionKeys() []field[Session] {
	return []field[Session]{
		placed("tap", docTap, func(o *Origin, r *Session) string { return o.tap(r.First.Input) }),
		when("updated", "When this was known, in time of the capture", func(r *Session) int64 { return r.Updated }),
		boolean("final", "Nothing more will come of it in this run", func(r *Session) bool { return r.Final }),
		text("session", docSession, func(r *Session) string { return r.ID }),
		stringed("version", docVersion, func(r *Session) record.Version { return r.Version }),
		stringed("service", docService, func(r *Session) record.Service { return r.Service }),
		i32("vni", codecZSTD, docVNI, func(r *Session) int32 { return vni(r.HasVNI, r.VNI) }),
		u32("incarnation", codecZSTD, docIncarnation, func(r *Session) uint32 { return r.Incarnation }),
		addr("a_addr", "Address of side a. "+docAddr, func(r *Session) decode.Addr { return r.A.Addr }),
		u32("a_qpn", codecZSTD, "QPN of side a, 0 where it is not known", func(r *Session) uint32 { return r.A.QPN }),
		addr("b_addr", "Address of side b", func(r *Session) decode.Addr { return r.B.Addr }),
		u32("b_qpn", codecZSTD, "QPN of side b, 0 where it is not known", func(r *Session) uint32 { return r.B.QPN }),
		u64("a_flow", codecZSTD, "The flow from a to b, as in flow_intervals", func(r *Session) uint64 { return flowOfSession(r.Session, r.A, r.B) }),
		u64("b_flow", codecZSTD, "The flow from b to a; 0 where the QPN of a is not known", func(r *Session) uint64 {
			if r.Service == record.UD || !r.A.HasQPN {
				return 0
			}
			return flowOfSession(r.Session, r.B, r.A)
		}),
		stringed("pairing", "How the two flows were found to belong together: cm, ack, port, only or none", func(r *Session) record.PairingMethod { return r.Pairing.Method }),
		f32("confidence", codecZSTD, "How sure that is, 0 to 1", func(r *Session) float32 { return float32(r.Pairing.Confidence) }),
		stringed("state", "open, closed, failed or unanswered", func(r *Session) record.State { return r.State }),
		stringed("failure", "Why it failed, or empty", func(r *Session) record.Failure { return r.Failure }),
		named("failed_stream", "Whose requests failed, a or b, or empty", func(r *Session) string {
			if r.State != record.StateFailed {
				return ""
			}
			return streamName(r.FailedStream)
		}),
		boolean("one_sided", "Nothing from b to a is in the capture", func(r *Session) bool { return r.OneSided }),
		stringed("vantage", "Where the tap was: requester, responder, between, or empty", func(r *Session) record.Vantage { return r.Vantage }),
		named("application", docApplication, func(r *Session) string { return r.Application }),
		when("first", "Time of the first packet", func(r *Session) int64 { return r.First.Time }),
		when("last", "Time of the last packet", func(r *Session) int64 { return r.Last.Time }),
		u64("first_frame", codecZSTD, "Number of the first frame in its input, from 1", func(r *Session) uint64 { return r.First.Number }),
		u32("path_mtu", codecZSTD, "Path MTU in bytes, 0 where nothing tells it", func(r *Session) uint32 { return r.PathMTU }),
		i64("a_ack_timeout_ns", codecZSTD, "ACK timeout of side a, 0 where nothing tells it", func(r *Session) int64 { return r.AckTimeout[0] }),
		i64("b_ack_timeout_ns", codecZSTD, "ACK timeout of side b, 0 where nothing tells it", func(r *Session) int64 { return r.AckTimeout[1] }),
		boolean("cm", "Connection management was seen", func(r *Session) bool { return r.CM != nil }),
		u64("cm_service_id", codecZSTD, "Service id of the REQ", ofCM(func(c *record.CM) uint64 { return c.ServiceID })),
		u32("cm_requests", codecZSTD, "REQs seen, repetitions included", ofCM(func(c *record.CM) uint32 { return c.Requests })),
		u8("cm_retry_count", codecZSTD, "Retry count of both sides", ofCM(func(c *record.CM) uint8 { return c.RetryCount })),
		u16("cm_reject_reason", codecZSTD, "Why the connection was rejected, 0 where it was not", ofCM(func(c *record.CM) uint16 { return c.RejectReason })),
		when("cm_requested", "Time of the first REQ, or the epoch", ofCM(func(c *record.CM) int64 { return c.Requested })),
		when("cm_established", "Time of the RTU, or the epoch", ofCM(func(c *record.CM) int64 { return c.Established })),
		when("cm_disconnected", "Time of the DREQ, or the epoch", ofCM(func(c *record.CM) int64 { return c.Disconnected })),
	}
}

// ofCM is a value of CM's facts, 0 where there are none.
func ofCM[T any](get func(*record.CM) T) func(*Session) T {
	return func(r *Session) (v T) {
		if r.CM != nil {
			v = get(r.CM)
		}
		return v
	}
}

func streamName(stream uint8) string {
	if stream == 1 {
		return "b"
	}
	return "a"
}

// directionFields are the columns of what one side sent.
func directionFields(side string, of func(*Session) *direction) []field[Session] {
	count := func(name, doc string, get func(*direction) uint64) field[Session] {
		return u64(side+"_"+name, codecZSTD, doc, func(r *Session) uint64 { return get(of(r)) })
	}
	hist := func(name, doc string, get func(*direction) *sketch.Histogram) field[Session] {
		return histogram(side+"_"+name, doc, func(r *Session) *sketch.Histogram { return get(of(r)) })
	}
	lag := func(name, doc string, get func(*record.Congestion) *sketch.Histogram) field[Session] {
		return hist(name, doc, func(d *direction) *sketch.Histogram {
			if d.Congestion == nil {
				return nil
			}
			return get(d.Congestion)
		})
	}
	return []field[Session]{
		when(side+"_first", "Time of the first packet of this side: flow_start in flow_intervals", func(r *Session) int64 { return of(r).First }),
		count("packets", "Packets sent, copies aside", func(d *direction) uint64 { return d.Packets }),
		count("wire_bytes", "All bytes of them", func(d *direction) uint64 { return d.WireBytes }),
		count("payload_bytes", "Payload of them", func(d *direction) uint64 { return d.PayloadBytes }),
		count("goodput_bytes", "Payload of PSNs seen for the first time", func(d *direction) uint64 { return d.GoodputBytes }),
		count("messages_completed", "Requests seen to be completed", func(d *direction) uint64 { return d.Messages.Completed }),
		count("retransmitted_packets", "Packets sent again", func(d *direction) uint64 { return d.Retransmitted.Packets }),
		count("retransmitted_bytes", "Payload of them", func(d *direction) uint64 { return d.Retransmitted.Bytes }),
		count("lost_before_tap", "Packets lost before the tap", func(d *direction) uint64 { return d.Lost.BeforeTap }),
		count("lost_after_tap", "Packets lost behind the tap, at least", func(d *direction) uint64 { return d.Lost.AfterTap }),
		count("cnps_received", "CNPs that told this side to slow down", func(d *direction) uint64 { return d.CNPsReceived }),
		count("peak_packets", "Peak of packets sent and not yet acknowledged", func(d *direction) uint64 { return d.PeakPackets }),
		count("peak_bytes", "Peak of bytes sent and not yet acknowledged", func(d *direction) uint64 { return d.PeakBytes }),
		dscps(side+"_dscp", "Packets by DSCP", func(r *Session) []record.DSCPCount { return of(r).DSCP }),
		counters(side+"_counters", "All other counters that are not 0, by name", func(r *Session, t *tally) { countDirection(of(r), t) }),
		hist("ack_latency", "First transmission of a packet to the first answer that advances past it", func(d *direction) *sketch.Histogram { return &d.AckLatency }),
		hist("message_latency", "Messages: first packet to the answer that completes it", func(d *direction) *sketch.Histogram { return &d.MessageLatency }),
		hist("send_latency", "SENDs, likewise", func(d *direction) *sketch.Histogram { return &d.Latency[record.Send] }),
		hist("write_latency", "WRITEs, likewise", func(d *direction) *sketch.Histogram { return &d.Latency[record.Write] }),
		hist("read_latency", "READs, likewise", func(d *direction) *sketch.Histogram { return &d.Latency[record.Read] }),
		hist("atomic_latency", "Atomics, likewise", func(d *direction) *sketch.Histogram { return &d.Latency[record.Atomic] }),
		hist("nak_reaction", "NAK at the tap to the first packet sent again", func(d *direction) *sketch.Histogram { return &d.NakReaction }),
		lag("np_delay", "Lag: last marked data packet to the CNP", func(c *record.Congestion) *sketch.Histogram { return &c.NPDelay }),
		lag("mark_wait", "Lag: first marked data packet since the CNP before, to the CNP", func(c *record.Congestion) *sketch.Histogram { return &c.MarkWait }),
		lag("cnp_to_slow", "Lag: CNP to the end of the first slow window", func(c *record.Congestion) *sketch.Histogram { return &c.ToSlow }),
		lag("slow_to_recover", "Lag: from there to the end of the first window that is not slow", func(c *record.Congestion) *sketch.Histogram { return &c.ToRecover }),
	}
}

// countDirection counts what has no column of its own.
func countDirection(d *direction, t *tally) {
	t.count("acks", int64(d.Acks))
	t.count("rnr_naks", int64(d.RNRNaks))
	t.count("not_ect", int64(d.ECN[0]))
	t.count("ect0", int64(d.ECN[2]))
	t.count("ect1", int64(d.ECN[1]))
	t.count("ce", int64(d.ECN[3]))
	t.count("fills", int64(d.Retransmitted.Fills))
	t.count("repeats", int64(d.Retransmitted.Repeats))
	t.count("wasted_packets", int64(d.Wasted.Packets))
	t.count("wasted_bytes", int64(d.Wasted.Bytes))
	t.count("read_responses", int64(d.ReadResponses.Packets))
	t.count("read_responses_retransmitted", int64(d.ReadResponses.Retransmitted))
	t.count("read_responses_lost", int64(d.ReadResponses.LostBeforeTap))
	t.count("episodes", int64(d.Episodes))
	t.count("lost_capture", int64(d.Lost.Capture))
	t.count("lost_corrupt", int64(d.Lost.Corrupt))
	t.count("reordered", int64(d.Reordered))
	t.count("undecided", int64(d.Undecided))
	t.count("gaps", int64(d.Gaps))
	t.count("jumped", int64(d.Jumped))
	t.count("duplicates_capture", int64(d.Duplicates.Capture))
	t.count("duplicates_network", int64(d.Duplicates.Network))
	t.count("duplicate_requests", int64(d.DuplicateRequests))
	t.count("silences", int64(d.Silences))
	t.count("silence_ns", d.SilenceTime)
	t.count("rnr_ns", d.RNRTime)
	t.count("icrc_bad", int64(d.ICRCBad))
	t.count("truncated", int64(d.Truncated))
	t.count("port_changes", int64(d.PortChanges))
	t.count("protocol_errors", int64(d.ProtocolErrors))
	if c := d.Congestion; c != nil {
		t.count("cnps_unmarked", int64(c.Unmarked))
		t.count("data_marked", int64(c.DataMarked))
		t.count("acks_marked", int64(c.AcksMarked))
		t.count("cnps_marked", int64(c.CNPsMarked))
		t.count("slowed", int64(c.Slowed))
		t.count("recovered", int64(c.Recovered))
	}
	for k, name := range messageCounters {
		t.count(name, int64(d.Messages.Sent[k]))
	}
	for code, name := range nakCounters {
		t.count(name, int64(d.Naks[code]))
	}
	for c, name := range tryCounters {
		t.count(name, int64(d.Tries[c]))
	}
	for p, name := range placeCounters {
		t.count(name, int64(d.Places[p]))
	}
	for m, name := range modeCounters {
		t.count(name, int64(d.Modes[m]))
	}
}
