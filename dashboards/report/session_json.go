package report

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// sessionJSON is a session as the JSON report has it. Sessions are turned into
// this one by one while they are written.
type sessionJSON struct {
	ID           string        `json:"id"`
	Service      string        `json:"service"`
	Version      string        `json:"version"`
	Application  *string       `json:"application"`
	Pairing      pairingJSON   `json:"pairing"`
	State        string        `json:"state"`
	FailedStream string        `json:"failed_stream,omitempty"`
	Vantage      *string       `json:"vantage"`
	Incarnation  uint32        `json:"incarnation"`
	VNI          *uint32       `json:"vni,omitempty"`
	First        int64         `json:"first"`
	Last         int64         `json:"last"`
	FirstFrame   *Frame        `json:"first_frame"`
	LastFrame    *Frame        `json:"last_frame"`
	PathMTU      *uint32       `json:"path_mtu"`
	CM           *cmJSON       `json:"cm,omitempty"`
	A            endpointJSON  `json:"a"`
	B            endpointJSON  `json:"b"`
	AToB         directionJSON `json:"a_to_b"`
	BToA         directionJSON `json:"b_to_a"`
}

type pairingJSON struct {
	Method     string  `json:"method"`
	Confidence float64 `json:"confidence"`
}

type endpointJSON struct {
	Addr string  `json:"addr"`
	QPN  *uint32 `json:"qpn"`
	// AckTimeout is what this end waits for an answer to its requests.
	AckTimeout *int64 `json:"ack_timeout_ns"`
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

// directionJSON is what one side sent. What a pointer holds is null where the
// direction is not in the capture.
type directionJSON struct {
	Packets         uint64             `json:"packets"`
	WireBytes       uint64             `json:"wire_bytes"`
	PayloadBytes    uint64             `json:"payload_bytes"`
	GoodputBytes    *uint64            `json:"goodput_bytes"`
	First           *int64             `json:"first"`
	Last            *int64             `json:"last"`
	Messages        *messagesJSON      `json:"messages"`
	Acks            uint64             `json:"acks"`
	Naks            naksJSON           `json:"naks"`
	RNRNaks         uint64             `json:"rnr_naks"`
	Retransmitted   *retransmittedJSON `json:"retransmitted"`
	Wasted          *amountJSON        `json:"wasted"`
	ReadResponses   readResponsesJSON  `json:"read_responses"`
	Episodes        *uint64            `json:"episodes"`
	Tries           map[string]uint64  `json:"tries"`
	Places          map[string]uint64  `json:"places"`
	Modes           map[string]uint64  `json:"modes"`
	Lost            *lostJSON          `json:"lost"`
	Reordered       *uint64            `json:"reordered"`
	Undecided       *uint64            `json:"undecided"`
	Duplicates      duplicatesJSON     `json:"duplicates"`
	Silences        *uint64            `json:"silences"`
	SilenceTime     *int64             `json:"silence_ns"`
	RNRTime         *int64             `json:"rnr_wait_ns"`
	ECN             ECN                `json:"ecn"`
	DSCP            map[string]uint64  `json:"dscp"`
	CNPsReceived    uint64             `json:"cnps_received"`
	ICRCBad         uint64             `json:"icrc_bad"`
	Truncated       uint64             `json:"truncated"`
	ProtocolErrors  uint64             `json:"protocol_errors"`
	AckLatency      *latencyJSON       `json:"ack_latency_ns"`
	MessageLatency  *latencyJSON       `json:"message_latency_ns"`
	LatencyByKind   map[string]any     `json:"message_latency_by_kind_ns,omitempty"`
	NakReaction     *latencyJSON       `json:"nak_reaction_ns"`
	PeakOutstanding *amountJSON        `json:"peak_outstanding"`
	SourcePort      *uint16            `json:"source_port,omitempty"`
	PortChanges     uint64             `json:"source_port_changes"`
}

type messagesJSON struct {
	Send      uint64 `json:"send"`
	Write     uint64 `json:"write"`
	Read      uint64 `json:"read"`
	Atomic    uint64 `json:"atomic"`
	Completed uint64 `json:"completed"`
}

type naksJSON struct {
	Sequence          uint64 `json:"sequence"`
	InvalidRequest    uint64 `json:"invalid_request"`
	RemoteAccess      uint64 `json:"remote_access"`
	RemoteOperational uint64 `json:"remote_operational"`
	InvalidRDRequest  uint64 `json:"invalid_rd_request"`
}

type retransmittedJSON struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	Fills   uint64 `json:"fills"`
	Repeats uint64 `json:"repeats"`
}

type amountJSON struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

type readResponsesJSON struct {
	Packets       uint64 `json:"packets"`
	Retransmitted uint64 `json:"retransmitted"`
	LostBeforeTap uint64 `json:"lost_before_tap"`
}

type lostJSON struct {
	BeforeTap uint64 `json:"before_tap"`
	AfterTap  uint64 `json:"after_tap"`
	Capture   uint64 `json:"capture"`
	Corrupt   uint64 `json:"corrupt"`
}

type duplicatesJSON struct {
	Capture uint64 `json:"capture"`
	Network uint64 `json:"network"`
}

type latencyJSON struct {
	Count uint64 `json:"count"`
	Min   int64  `json:"min"`
	P50   int64  `json:"p50"`
	P90   int64  `json:"p90"`
	P99   int64  `json:"p99"`
	Max   int64  `json:"max"`
}

// known is v, nil where it has no value.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func newSession(s *record.Session) *sessionJSON {
	out := &sessionJSON{
		ID: s.ID, Service: s.Service.String(), Version: s.Version.String(), Application: known(s.Application),
		Pairing: pairingJSON{s.Pairing.Method.String(), s.Pairing.Confidence},
		State:   s.State.String(), Vantage: known(s.Vantage.String()), Incarnation: s.Incarnation,
		First: s.First.Time, Last: s.Last.Time, FirstFrame: newFrame(s.First), LastFrame: newFrame(s.Last), PathMTU: known(s.PathMTU),
		A: newEndpoint(&s.A, s.AckTimeout[0]), B: newEndpoint(&s.B, s.AckTimeout[1]),
		AToB: newDirection(s, &s.AToB), BToA: newDirection(s, &s.BToA),
	}
	if s.HasVNI {
		vni := s.VNI
		out.VNI = &vni
	}
	if s.State == record.StateFailed {
		out.FailedStream = streamName(s.FailedStream)
	}
	if s.CM != nil {
		out.CM = newCM(s.CM)
	}
	return out
}

func newEndpoint(e *record.Endpoint, timeout int64) endpointJSON {
	out := endpointJSON{Addr: string(e.Append(nil)), AckTimeout: known(timeout)}
	if e.HasQPN {
		qpn := e.QPN
		out.QPN = &qpn
	}
	return out
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

func newDirection(s *record.Session, d *record.Direction) directionJSON {
	out := directionJSON{
		Packets: d.Packets, WireBytes: d.WireBytes, PayloadBytes: d.PayloadBytes,
		Acks: d.Acks, RNRNaks: d.RNRNaks,
		Naks: naksJSON{
			d.Naks[decode.NakSequence], d.Naks[decode.NakInvalidRequest], d.Naks[decode.NakRemoteAccess],
			d.Naks[decode.NakRemoteOperational], d.Naks[decode.NakInvalidRDRequest],
		},
		ReadResponses: readResponsesJSON(d.ReadResponses), Duplicates: duplicatesJSON(d.Duplicates),
		ECN: ECN{NotECT: d.ECN[0], ECT1: d.ECN[1], ECT0: d.ECN[2], CE: d.ECN[3]}, DSCP: make(map[string]uint64, len(d.DSCP)),
		CNPsReceived: d.CNPsReceived, ICRCBad: d.ICRCBad, Truncated: d.Truncated, ProtocolErrors: d.ProtocolErrors,
		AckLatency: newLatency(&d.AckLatency), MessageLatency: newLatency(&d.MessageLatency), NakReaction: newLatency(&d.NakReaction),
		PortChanges: d.PortChanges,
	}
	for _, c := range d.DSCP {
		out.DSCP[strconv.Itoa(int(c.DSCP))] += c.Packets
	}
	if d.Packets > 0 {
		first, last := d.First, d.Last
		out.First, out.Last = &first, &last
		if s.Version == record.V2 {
			port := d.SourcePort
			out.SourcePort = &port
		}
	}
	if !seen(s, d) {
		return out
	}
	v := *d // its own copy, which the pointers below keep alive for no longer than out
	m := &v.Messages.Sent
	out.GoodputBytes, out.Episodes, out.Reordered, out.Undecided = &v.GoodputBytes, &v.Episodes, &v.Reordered, &v.Undecided
	out.Silences, out.SilenceTime, out.RNRTime = &v.Silences, &v.SilenceTime, &v.RNRTime
	out.Messages = &messagesJSON{m[record.Send], m[record.Write], m[record.Read], m[record.Atomic], v.Messages.Completed}
	out.Retransmitted = (*retransmittedJSON)(&v.Retransmitted)
	out.Wasted = (*amountJSON)(&v.Wasted)
	out.Lost = (*lostJSON)(&v.Lost)
	out.PeakOutstanding = &amountJSON{v.PeakPackets, v.PeakBytes}
	out.Tries, out.Places, out.Modes = named[record.Cause](v.Tries[:]), named[record.Place](v.Places[:]), named[record.Mode](v.Modes[:])
	for k := range d.Latency {
		if l := newLatency(&d.Latency[k]); l != nil {
			if out.LatencyByKind == nil {
				out.LatencyByKind = make(map[string]any)
			}
			out.LatencyByKind[record.MessageKind(k).String()] = l
		}
	}
	return out
}

// seen says whether the requests of a side can be judged: not where its
// packets are not in the capture, or were not matched with this session.
func seen(s *record.Session, d *record.Direction) bool {
	return d.Packets > 0 || s.Service == record.UD || s.Pairing.Method != record.PairNone
}

// named are counters by the name of what they count.
func named[K interface {
	~uint8
	fmt.Stringer
}](counts []uint64) map[string]uint64 {
	m := make(map[string]uint64, len(counts))
	for i, n := range counts {
		m[K(i).String()] = n
	}
	return m
}

// newLatency is nil without a sample.
func newLatency(h *sketch.Histogram) *latencyJSON {
	if h.Count == 0 {
		return nil
	}
	return &latencyJSON{Count: h.Count, Min: h.Min, P50: h.Quantile(0.5), P90: h.Quantile(0.9), P99: h.Quantile(0.99), Max: h.Max}
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
