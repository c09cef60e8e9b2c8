package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// counter is a metric of flows, or several with a label.
type counter struct {
	name, help string
	label      string
	values     []string // of the label
	unit       float64  // in the base unit
	// read adds the values, one for each of the label's.
	read func(to []int64, x *record.FlowInterval) []int64

	desc  *prometheus.Desc
	first int // in row.counts
}

// histogramOf is a distribution of durations of flows.
type histogramOf struct {
	name, help string
	read       func(x *record.FlowInterval) *sketch.Histogram

	desc *prometheus.Desc
}

const (
	numCounts = 64
	numHists  = 6 + int(record.NumMessageKinds)
)

// namesOf are the names of n values.
func namesOf[T ~uint8](n T, name func(T) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name(T(i))
	}
	return list
}

func one[T int64 | uint64](read func(x *record.FlowInterval) T) func(to []int64, x *record.FlowInterval) []int64 {
	return func(to []int64, x *record.FlowInterval) []int64 { return append(to, int64(read(x))) }
}

var counters, histograms = tables()

func tables() ([]counter, [numHists]histogramOf) {
	list := []counter{
		{name: "packets_total", help: "RoCE packets of sessions, copies and management (QP 1) aside, by what they are: request, read_response, ack (with NAKs) or cnp.",
			label: "class", values: []string{"request", "read_response", "ack", "cnp"}, read: classes},
		{name: "bytes_total", help: "Bytes of RoCE packets on the wire.", read: one(func(x *record.FlowInterval) uint64 { return x.WireBytes })},
		{name: "payload_bytes_total", help: "Payload of RoCE packets.", read: one(func(x *record.FlowInterval) uint64 { return x.PayloadBytes })},
		{name: "goodput_bytes_total", help: "Payload of PSNs seen for the first time.", read: one(func(x *record.FlowInterval) uint64 { return x.GoodputBytes })},
		{name: "messages_total", help: "Request messages, each once, by kind.", label: "kind", values: namesOf(record.NumMessageKinds, record.MessageKind.String),
			read: func(to []int64, x *record.FlowInterval) []int64 { return signed(to, x.MessagesSent[:]...) }},
		{name: "messages_completed_total", help: "Request messages that were seen to be completed.", read: one(func(x *record.FlowInterval) uint64 { return x.MessagesCompleted })},
		{name: "icrc_errors_total", help: "RoCE packets with a wrong ICRC, of senders that had a right one before: others are taken for computing none.", read: one(func(x *record.FlowInterval) uint64 { return x.ICRCBad })},
		{name: "truncated_packets_total", help: "RoCE packets whose frame was cut short.", read: one(func(x *record.FlowInterval) uint64 { return x.Truncated })},
		{name: "naks_total", help: "NAKs by code.", label: "code", values: []string{"sequence", "invalid_request", "remote_access", "remote_operational", "invalid_rd_request"},
			read: func(to []int64, x *record.FlowInterval) []int64 { return signed(to, x.Naks[:]...) }},
		{name: "rnr_naks_total", help: "RNR NAKs: the responder was not ready.", read: one(func(x *record.FlowInterval) uint64 { return x.RNRNaks })},
		{name: "rnr_wait_seconds_total", help: "Time from RNR NAKs to the first packet sent again.", unit: 1e-9, read: one(func(x *record.FlowInterval) int64 { return x.RNRTime })},
		{name: "retransmitted_packets_total", help: "Packets sent again.", read: one(func(x *record.FlowInterval) uint64 { return x.RetransmittedPackets })},
		{name: "retransmitted_bytes_total", help: "Payload sent again.", read: one(func(x *record.FlowInterval) uint64 { return x.RetransmittedBytes })},
		{name: "wasted_packets_total", help: "Packets sent again although the tap had seen them.", read: one(func(x *record.FlowInterval) uint64 { return x.WastedPackets })},
		{name: "retries_total", help: "Steps back of requesters, by cause.", label: "cause", values: namesOf(record.NumCauses, record.Cause.String),
			read: func(to []int64, x *record.FlowInterval) []int64 { return append(to, x.Tries[:]...) }},
		{name: "retries_by_place_total", help: "Steps back that are over, by where the packets went.", label: "place", values: namesOf(record.NumPlaces, record.Place.String),
			read: func(to []int64, x *record.FlowInterval) []int64 { return append(to, x.Places[:]...) }},
		{name: "lost_packets_total", help: "Packets lost, by where: before_tap, after_tap (at least so many), or answer (READ responses, before the tap).",
			label: "place", values: []string{"before_tap", "after_tap", "answer"},
			read: func(to []int64, x *record.FlowInterval) []int64 {
				return append(to, x.LostBeforeTap, x.LostAfterTap, x.ReadResponsesLost)
			}},
		{name: "capture_lost_packets_total", help: "Packets that the mirror or the capture lost, and not the network.", read: one(func(x *record.FlowInterval) uint64 { return x.LostCapture })},
		{name: "reordered_packets_total", help: "Packets that came late.", read: one(func(x *record.FlowInterval) int64 { return x.Reordered })},
		{name: "duplicate_packets_total", help: "Copies of packets, by who made them: capture (the mirror) or network.", label: "by", values: []string{"capture", "network"},
			read: func(to []int64, x *record.FlowInterval) []int64 {
				return append(to, x.DuplicatesCapture, x.DuplicatesNetwork)
			}},
		{name: "silences_total", help: "Long pauses in the middle of a stream.", read: one(func(x *record.FlowInterval) uint64 { return x.Silences })},
		{name: "silence_seconds_total", help: "Time of silences and of the waits before timeouts.", unit: 1e-9, read: one(func(x *record.FlowInterval) int64 { return x.SilenceTime })},
		{name: "protocol_errors_total", help: "Packets that break a rule of the transport.", read: one(func(x *record.FlowInterval) uint64 { return x.ProtocolErrors })},
		{name: "ecn_packets_total", help: "The same packets by ECN codepoint.", label: "codepoint", values: []string{"not_ect", "ect1", "ect0", "ce"},
			read: func(to []int64, x *record.FlowInterval) []int64 { return signed(to, x.ECN[:]...) }},
		{name: "marked_packets_total", help: "Packets marked CE, by what they are, without those with a wrong ICRC.", label: "class", values: []string{"data", "ack", "cnp"},
			read: func(to []int64, x *record.FlowInterval) []int64 {
				return signed(to, x.DataMarked, x.AcksMarked, x.CNPsMarked)
			}},
		{name: "cnps_unmarked_total", help: "CNPs without a mark before them.", read: one(func(x *record.FlowInterval) uint64 { return x.CNPsUnmarked })},
		{name: "slowdowns_total", help: "How often senders became slow after a CNP.", read: one(func(x *record.FlowInterval) uint64 { return x.Slowed })},
		{name: "recoveries_total", help: "How often senders were as fast again as before a CNP.", read: one(func(x *record.FlowInterval) uint64 { return x.Recovered })},
	}
	n := 0
	for i := range list {
		c := &list[i]
		c.name = "rocelens_" + c.name
		names := labels
		if c.label != "" {
			names = append(append([]string(nil), labels...), c.label)
		}
		c.desc = prometheus.NewDesc(c.name, c.help, names, nil)
		if c.unit == 0 {
			c.unit = 1
		}
		c.first = n
		n += max(len(c.values), 1)
	}
	if n > numCounts {
		panic("numCounts is too small")
	}
	hists := [numHists]histogramOf{
		{name: "ack_latency_seconds", help: "First transmission of a packet to the first answer that advances past it.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.AckLatency }},
		{name: "nak_reaction_seconds", help: "NAK at the tap to the first packet sent again.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.NakReaction }},
		{name: "np_delay_seconds", help: "ECN lag: the last marked data packet to the CNP.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.NPDelay }},
		{name: "mark_wait_seconds", help: "ECN lag: the first marked data packet since the CNP before, to the CNP.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.MarkWait }},
		{name: "cnp_to_slow_seconds", help: "ECN lag: a CNP to the end of the first slow window.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.ToSlow }},
		{name: "slow_to_recover_seconds", help: "ECN lag: the first slow window to the first that is not.", read: func(x *record.FlowInterval) *sketch.Histogram { return &x.ToRecover }},
	}
	for k := range record.NumMessageKinds {
		hists[6+k] = histogramOf{
			name: k.String() + "_latency_seconds", help: "First packet of a " + k.String() + " request to the answer that completes it.",
			read: func(x *record.FlowInterval) *sketch.Histogram { return &x.Latency[k] },
		}
	}
	for i := range hists {
		h := &hists[i]
		h.name = "rocelens_" + h.name
		h.desc = prometheus.NewDesc(h.name, h.help, labels, nil)
	}
	return list, hists
}

// classes are the packets of an interval by class.
func classes(to []int64, x *record.FlowInterval) []int64 {
	acks := x.Acks + x.RNRNaks
	for _, n := range x.Naks {
		acks += n
	}
	answers := acks + x.ReadResponses + x.CNPsSent
	return signed(to, x.Packets-min(x.Packets, answers), x.ReadResponses, acks, x.CNPsSent)
}

func signed(to []int64, list ...uint64) []int64 {
	for _, n := range list {
		to = append(to, int64(n))
	}
	return to
}

// bothHistogram is a histogram with classic and native buckets: who scrapes takes
// what it knows.
type bothHistogram struct{ classic, native prometheus.Metric }

func (h bothHistogram) Desc() *prometheus.Desc { return h.classic.Desc() }

func (h bothHistogram) Write(m *dto.Metric) error {
	if err := h.native.Write(m); err != nil {
		return err
	}
	var c dto.Metric
	if err := h.classic.Write(&c); err != nil {
		return err
	}
	m.Histogram.Bucket = c.Histogram.Bucket
	return nil
}
