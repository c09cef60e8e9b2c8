package report

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// sessionEncoder appends sessions as the JSON report has them.
type sessionEncoder struct {
	encoder
	tries, places, modes, kinds []named
}

// named is a counter by its name. Objects that are made of counters have them
// in the order of the names.
type named struct {
	name  string
	index int
}

// inOrder are the counters of a kind in the order of their names.
func inOrder[K interface {
	~uint8
	fmt.Stringer
}](n K) []named {
	all := make([]named, n)
	for i := range all {
		all[i] = named{K(i).String(), i}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return all
}

func newSessionEncoder() sessionEncoder {
	return sessionEncoder{
		tries: inOrder(record.NumCauses), places: inOrder(record.NumPlaces), modes: inOrder(record.NumModes), kinds: inOrder(record.NumMessageKinds),
	}
}

// session appends s.
func (e *sessionEncoder) session(s *record.Session) {
	e.begin()
	e.string("id", s.ID)
	e.string("service", s.Service.String())
	e.string("version", s.Version.String())
	e.knownString("application", s.Application)
	e.object("pairing")
	e.string("method", s.Pairing.Method.String())
	e.ratio("confidence", s.Pairing.Confidence)
	e.end()
	e.string("state", s.State.String())
	if s.State == record.StateFailed {
		e.string("failed_stream", streamName(s.FailedStream))
	}
	if s.Failure != record.NoFailure {
		e.string("failed_why", s.Failure.String())
	}
	if s.OneSided {
		e.bool("one_sided", true)
	}
	e.knownString("vantage", s.Vantage.String())
	e.uint("incarnation", uint64(s.Incarnation))
	if s.HasVNI {
		e.uint("vni", uint64(s.VNI))
	}
	e.int("first", s.First.Time)
	e.int("last", s.Last.Time)
	e.frame("first_frame", newFrame(s.First))
	e.frame("last_frame", newFrame(s.Last))
	e.knownInt("path_mtu", int64(s.PathMTU))
	if s.CM != nil {
		e.value("cm", newCM(s.CM))
	}
	e.endpoint("a", &s.A, s.AckTimeout[0])
	e.endpoint("b", &s.B, s.AckTimeout[1])
	e.direction("a_to_b", s, &s.AToB, &s.BToA)
	e.direction("b_to_a", s, &s.BToA, &s.AToB)
	e.end()
}

// endpoint has what that end waits for an answer to its requests.
func (e *sessionEncoder) endpoint(key string, end *record.Endpoint, timeout int64) {
	e.object(key)
	e.key("addr")
	e.b = append(end.Append(append(e.b, '"')), '"')
	if end.HasQPN {
		e.uint("qpn", uint64(end.QPN))
	} else {
		e.null("qpn")
	}
	e.knownInt("ack_timeout_ns", timeout)
	e.end()
}

// direction is what one side sent. Null is what can't be told because the
// direction is not in the capture.
func (e *sessionEncoder) direction(key string, s *record.Session, d, other *record.Direction) {
	seen := seen(s, d)
	figure := func(key string, v uint64) {
		if seen {
			e.uint(key, v)
		} else {
			e.null(key)
		}
	}
	figures := func(key string, list ...figureOf) {
		if seen {
			e.figures(key, list...)
		} else {
			e.null(key)
		}
	}
	counters := func(key string, names []named, counts []uint64) {
		if !seen {
			e.null(key)
			return
		}
		e.object(key)
		for _, n := range names {
			e.uint(n.name, counts[n.index])
		}
		e.end()
	}
	m := &d.Messages.Sent

	e.object(key)
	e.uint("packets", d.Packets)
	e.uint("wire_bytes", d.WireBytes)
	e.uint("payload_bytes", d.PayloadBytes)
	figure("goodput_bytes", d.GoodputBytes)
	if d.Packets > 0 {
		e.int("first", d.First)
		e.int("last", d.Last)
	} else {
		e.null("first")
		e.null("last")
	}
	figures("messages", figureOf{"send", m[record.Send]}, figureOf{"write", m[record.Write]}, figureOf{"read", m[record.Read]},
		figureOf{"atomic", m[record.Atomic]}, figureOf{"completed", d.Messages.Completed})
	e.uint("acks", d.Acks)
	e.figures("naks", figureOf{"sequence", d.Naks[decode.NakSequence]}, figureOf{"invalid_request", d.Naks[decode.NakInvalidRequest]},
		figureOf{"remote_access", d.Naks[decode.NakRemoteAccess]}, figureOf{"remote_operational", d.Naks[decode.NakRemoteOperational]},
		figureOf{"invalid_rd_request", d.Naks[decode.NakInvalidRDRequest]})
	e.uint("rnr_naks", d.RNRNaks)
	figures("retransmitted", figureOf{"packets", d.Retransmitted.Packets}, figureOf{"bytes", d.Retransmitted.Bytes},
		figureOf{"fills", d.Retransmitted.Fills}, figureOf{"repeats", d.Retransmitted.Repeats})
	figures("wasted", figureOf{"packets", d.Wasted.Packets}, figureOf{"bytes", d.Wasted.Bytes})
	e.figures("read_responses", figureOf{"packets", d.ReadResponses.Packets}, figureOf{"retransmitted", d.ReadResponses.Retransmitted},
		figureOf{"lost_before_tap", d.ReadResponses.LostBeforeTap})
	figure("episodes", d.Episodes)
	counters("tries", e.tries, d.Tries[:])
	counters("places", e.places, d.Places[:])
	counters("modes", e.modes, d.Modes[:])
	figures("lost", figureOf{"before_tap", d.Lost.BeforeTap}, figureOf{"after_tap", d.Lost.AfterTap},
		figureOf{"capture", d.Lost.Capture}, figureOf{"corrupt", d.Lost.Corrupt})
	figure("reordered", d.Reordered)
	figure("undecided", d.Undecided)
	e.figures("duplicates", figureOf{"capture", d.Duplicates.Capture}, figureOf{"network", d.Duplicates.Network})
	figure("silences", d.Silences)
	figure("silence_ns", uint64(d.SilenceTime))
	figure("rnr_wait_ns", uint64(d.RNRTime))
	e.figures("ecn", figureOf{"not_ect", d.ECN[0]}, figureOf{"ect0", d.ECN[2]}, figureOf{"ect1", d.ECN[1]}, figureOf{"ce", d.ECN[3]})
	e.dscp("dscp", d.DSCP)
	e.rare(d)
	e.uint("cnps_received", d.CNPsReceived)
	e.congestion(d, other)
	e.uint("icrc_bad", d.ICRCBad)
	e.uint("truncated", d.Truncated)
	if d.HeadersCut > 0 {
		e.uint("headers_cut", d.HeadersCut)
	}
	e.uint("protocol_errors", d.ProtocolErrors)
	e.latency("ack_latency_ns", &d.AckLatency)
	e.latency("message_latency_ns", &d.MessageLatency)
	if seen {
		e.byKind(d)
	}
	e.latency("nak_reaction_ns", &d.NakReaction)
	e.spent(d.Spent)
	figures("peak_outstanding", figureOf{"packets", d.PeakPackets}, figureOf{"bytes", d.PeakBytes})
	if d.Packets > 0 && s.Version == record.V2 {
		e.uint("source_port", uint64(d.SourcePort))
	}
	e.uint("source_port_changes", d.PortChanges)
	e.end()
}

// figureOf is a figure and its key.
type figureOf struct {
	key string
	n   uint64
}

// figures is an object of figures.
func (e *sessionEncoder) figures(key string, all ...figureOf) {
	e.object(key)
	for i := range all {
		e.uint(all[i].key, all[i].n)
	}
	e.end()
}

// rare has what most sessions don't have, and is left out there: CNPs by DSCP,
// VLAN tags, and P_Keys other than the default.
func (e *sessionEncoder) rare(d *record.Direction) {
	if len(d.CNPDSCP) > 0 {
		e.dscp("cnp_dscp", d.CNPDSCP)
	}
	if len(d.Priorities) > 1 || len(d.Priorities) == 1 && d.Priorities[0].Tagged {
		e.object("vlan_priorities")
		for _, tagged := range []bool{true, false} { // in the order of the keys
			for _, c := range d.Priorities {
				switch {
				case c.Tagged != tagged:
				case tagged:
					e.uint(strconv.Itoa(int(c.Priority)), c.Packets)
				default:
					e.uint("untagged", c.Packets)
				}
			}
		}
		e.end()
	}
	if len(d.PKeys) > 0 {
		all := slices.Clone(d.PKeys)
		slices.SortFunc(all, func(a, b record.PKeyCount) int { return cmp.Compare(a.PKey, b.PKey) })
		e.object("p_keys")
		for _, c := range all {
			e.uint(fmt.Sprintf("0x%04x", c.PKey), c.Packets)
		}
		e.end()
	}
}

// dscp has a key for each DSCP, in the order of the keys.
func (e *sessionEncoder) dscp(key string, all []record.DSCPCount) {
	e.object(key)
	if len(all) > 1 {
		all = slices.Clone(all)
		slices.SortFunc(all, func(a, b record.DSCPCount) int {
			return strings.Compare(strconv.Itoa(int(a.DSCP)), strconv.Itoa(int(b.DSCP)))
		})
	}
	for _, c := range all {
		e.uint(strconv.Itoa(int(c.DSCP)), c.Packets)
	}
	e.end()
}

// latency is null without a sample.
func (e *sessionEncoder) latency(key string, h *sketch.Histogram) {
	if h.Count == 0 {
		e.null(key)
		return
	}
	e.object(key)
	e.uint("count", h.Count)
	e.int("min", h.Min)
	e.int("p50", h.Quantile(0.5))
	e.int("p90", h.Quantile(0.9))
	e.int("p99", h.Quantile(0.99))
	e.int("max", h.Max)
	e.end()
}

// byKind has the kinds of messages that have a latency; without one it is left
// out.
func (e *sessionEncoder) byKind(d *record.Direction) {
	begun := false
	for _, k := range e.kinds {
		h := &d.Latency[k.index]
		if h.Count == 0 {
			continue
		}
		if !begun {
			e.object("message_latency_by_kind_ns")
			begun = true
		}
		e.latency(k.name, h)
	}
	if begun {
		e.end()
	}
}

// cmJSON is what the connection manager's messages said.
type cmJSON struct {
	ServiceID    string  `json:"service_id"`
	SourcePort   *uint16 `json:"source_port,omitempty"`
	DestPort     *uint16 `json:"dest_port,omitempty"`
	Service      string  `json:"service"`
	PathMTU      *uint32 `json:"path_mtu"` // these three are null where the REQ was not seen, or cut
	AckTimeout   *int64  `json:"ack_timeout_ns"`
	RetryCount   *uint8  `json:"retry_count"`
	Requests     uint32  `json:"requests"`
	Requested    *int64  `json:"requested"`
	Replied      *int64  `json:"replied"`
	Established  *int64  `json:"established"`
	Disconnected *int64  `json:"disconnected"`
	RejectReason uint16  `json:"reject_reason,omitempty"`
	Private      string  `json:"private_data,omitempty"` // hexadecimal
	A            cmEnd   `json:"a"`
	B            *cmEnd  `json:"b"` // null without a REP
}

type cmEnd struct {
	StartPSN           *uint32 `json:"start_psn"`
	RNRRetry           uint8   `json:"rnr_retry"`
	ResponderResources uint8   `json:"responder_resources"`
	InitiatorDepth     uint8   `json:"initiator_depth"`
}

type amountJSON struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// known is v, nil where it has no value.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func newCM(c *record.CM) *cmJSON {
	out := &cmJSON{
		ServiceID: fmt.Sprintf("0x%016x", c.ServiceID), SourcePort: known(c.SourcePort), DestPort: known(c.DestPort), Service: c.Service.String(),
		PathMTU: known(c.PathMTU), Requests: c.Requests,
		Requested: known(c.Requested), Replied: known(c.Replied), Established: known(c.Established), Disconnected: known(c.Disconnected),
		RejectReason: c.RejectReason, Private: hex.EncodeToString(c.Private),
	}
	if c.PathMTU != 0 {
		timeout, retries := c.AckTimeout, c.RetryCount
		out.AckTimeout, out.RetryCount = &timeout, &retries
	}
	end := func(i int) cmEnd {
		e := cmEnd{RNRRetry: c.RNRRetry[i], ResponderResources: c.ResponderResources[i], InitiatorDepth: c.InitiatorDepth[i]}
		if c.HasStartPSN[i] {
			psn := c.StartPSN[i]
			e.StartPSN = &psn
		}
		return e
	}
	out.A = end(0)
	if c.Replied != 0 {
		b := end(1)
		out.B = &b
	}
	return out
}

// seen says whether the requests of a side can be judged: not where its
// packets are not in the capture, or were not matched with this session.
func seen(s *record.Session, d *record.Direction) bool {
	return d.Packets > 0 || s.Service == record.UD || s.Pairing.Method != record.PairNone
}

// hostJSON is what the counters of a host's NIC should show.
type hostJSON struct {
	Host     string            `json:"host"`
	VNI      *uint32           `json:"vni,omitempty"`
	Counters map[string]uint64 `json:"counters"` // mlx5's names
	RXE      map[string]uint64 `json:"rxe"`
	AtLeast  []string          `json:"at_least"` // of counters, those that the card may count more of
}

func newHost(h *hwcounters.Host) *hostJSON {
	out := &hostJSON{Host: string(h.Addr.Append(nil, h.Kind)), Counters: make(map[string]uint64), RXE: make(map[string]uint64), AtLeast: []string{}}
	if h.HasVNI {
		vni := h.VNI
		out.VNI = &vni
	}
	for id, c := range hwcounters.Counters() {
		if c.MLX5 != "" {
			out.Counters[c.MLX5] = h.Counts[id]
			if c.AtLeast {
				out.AtLeast = append(out.AtLeast, c.MLX5)
			}
		}
		if c.RXE != "" {
			out.RXE[c.RXE] = h.Counts[id]
		}
	}
	return out
}
