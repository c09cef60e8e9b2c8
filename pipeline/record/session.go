package record

import (
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Session is one connection between two queue pairs and all that was seen of
// it, or a flow whose other half was not found. A UD flow is one too: A is the
// sender, with the QPN that DETH gives.
type Session struct {
	ID      string // stable: version, VNI, both ends, incarnation
	Service Service
	Version Version
	VNI     uint32 // of the tunnel that it is inside, where HasVNI
	HasVNI  bool
	// Incarnation counts the lives of the same pair of QPNs, from 1.
	Incarnation uint32

	A, B    Endpoint // A is who began: the active side of CM, or the sender of the first request seen
	Pairing Pairing
	State   State
	Vantage Vantage
	// Application is what the service id or the port says, "" where unknown.
	Application string
	CM          *CM // what CM said, nil where it was not seen

	First, Last FrameRef
	// PathMTU is in bytes, 0 where nothing tells it.
	PathMTU uint32
	// AckTimeout is A's and B's, in nanoseconds, 0 where nothing tells it.
	AckTimeout [2]int64

	AToB, BToA Direction
	// FailedStream is the requester that gave up or was refused, 0 for A and 1
	// for B, and Failure why, in StateFailed.
	FailedStream uint8
	Failure      Failure
	// OneSided says that nothing of what should come back is in the capture:
	// no packet at all from B's address to A's. Whether A got answers can't be
	// told then.
	OneSided bool
}

// Endpoint is one end of a session.
type Endpoint struct {
	Addr   decode.Addr
	Kind   decode.AddrKind
	QPN    uint32
	HasQPN bool // false where the QPN of that end is not known
}

// Append appends the address alone.
func (e Endpoint) Append(dst []byte) []byte { return e.Addr.Append(dst, e.Kind) }

// AppendID appends address and QPN: 10.0.0.1/0x8c, the QPN as ? where it is
// not known.
func (e Endpoint) AppendID(dst []byte) []byte {
	dst = append(e.Addr.Append(dst, e.Kind), '/')
	if !e.HasQPN {
		return append(dst, '?')
	}
	return strconv.AppendUint(append(dst, "0x"...), uint64(e.QPN), 16)
}

// Pairing says how the two flows of a session were found to belong together.
type Pairing struct {
	Method     PairingMethod
	Confidence float64 // 0 to 1
}

// Direction is what one side of a session sent. Messages, Goodput,
// Retransmitted, Wasted, Episodes, Tries, Places, Lost, Reordered, Undecided,
// Gaps, Silences, both latencies, Marks and the peaks are of the stream whose
// requester that side is.
type Direction struct {
	Packets      uint64
	WireBytes    uint64
	PayloadBytes uint64
	// GoodputBytes is the payload of PSNs seen for the first time. READ data
	// counts for the side that sent the data.
	GoodputBytes uint64
	First, Last  int64 // time of the first and last packet; valid where Packets is not 0

	Messages Messages
	Acks     uint64    // opcode Acknowledge with syndrome ACK
	Naks     [5]uint64 // by decode.NakCode
	RNRNaks  uint64

	Retransmitted Retransmitted
	Wasted        Amount // sent again although the tap had seen them in the pass before
	ReadResponses ReadResponses

	Episodes  uint64
	Tries     [NumCauses]uint64
	Places    [NumPlaces]uint64
	Modes     [NumModes]uint64
	Lost      Lost
	Reordered uint64
	Undecided uint64 // out of order or there twice, and nothing tells whether sent again
	// Gaps is how often requests of the stream, or the responses to its READs,
	// came behind some that had never been seen until then, and Jumped how many
	// PSNs those are.
	Gaps, Jumped uint64
	Duplicates   Duplicates
	// DuplicateRequests are those of Duplicates.Network that are requests.
	DuplicateRequests uint64
	Silences          uint64
	SilenceTime       int64 // ns, of the silences and of the waits before timeouts
	RNRTime           int64 // ns, from RNR NAKs to the first packet sent again

	ECN          [4]uint64 // by decode.Packet.ECN
	DSCP         []DSCPCount
	CNPDSCP      []DSCPCount // of them, CNPs
	Priorities   []PriorityCount
	PKeys        []PKeyCount // without CNPs; nil where all have the default, 0xffff
	CNPsReceived uint64      // CNPs that told this side to slow down
	Congestion   *Congestion // nil where none of its packets was marked and no CNP told it to slow down
	// Spent is what this side's requester did with its time, nil where it was not
	// busy, or its answers are not in the capture.
	Spent     *Spent
	ICRCBad   uint64
	Truncated uint64
	// HeadersCut counts packets whose frame ends within a header that following the
	// session takes. What they are about is not followed from the first one on.
	HeadersCut uint64

	AckLatency     sketch.Histogram
	MessageLatency sketch.Histogram
	Latency        [NumMessageKinds]sketch.Histogram // MessageLatency by kind
	NakReaction    sketch.Histogram                  // NAK at the tap to the first packet sent again

	// Marks are those of the stream's events, nil without any.
	Marks *Marks

	// Peaks of what was sent and not yet acknowledged.
	PeakPackets, PeakBytes uint64
	ProtocolErrors         uint64
	// SourcePort is the UDP source port of the last packet, PortsSeen how
	// often it changed.
	SourcePort  uint16
	MigReq      MigReq // of its packets, CNPs aside
	PortChanges uint64
}

// MigReq says what the bit of that name is in packets: both bits where some
// have it and some have not, 0 where nothing tells.
type MigReq uint8

// The values.
const (
	MigReqClear MigReq = 1 << iota
	MigReqSet
)

// DSCPCount counts packets of one DSCP.
type DSCPCount struct {
	DSCP    uint8
	Packets uint64
}

// PriorityCount counts packets of one priority of VLAN tags, or without a tag.
type PriorityCount struct {
	Tagged   bool
	Priority uint8
	Packets  uint64
}

// PKeyCount counts packets of one P_Key.
type PKeyCount struct {
	PKey    uint16
	Packets uint64
}

// Amount is packets and the payload bytes in them.
type Amount struct{ Packets, Bytes uint64 }

// Messages counts request messages by kind, each once, and those that were
// seen to be completed.
type Messages struct {
	Sent      [NumMessageKinds]uint64
	Completed uint64
}

// Retransmitted is what was sent again: fills are PSNs that the tap had not
// seen before, repeats are those that it had.
type Retransmitted struct {
	Packets, Bytes uint64
	Fills, Repeats uint64
}

// ReadResponses are the READ and atomic responses that a side sent.
type ReadResponses struct {
	Packets       uint64
	Retransmitted uint64
	LostBeforeTap uint64
}

// Lost is where packets went. AfterTap is a lower bound.
type Lost struct {
	BeforeTap uint64
	AfterTap  uint64
	Capture   uint64 // by the mirror or the capture, not by the network
	Corrupt   uint64 // arrived with a wrong ICRC
}

// Duplicates are packets that were there twice.
type Duplicates struct {
	Capture uint64 // by the mirror
	Network uint64
}

// CM is what the connection manager's messages said of a session.
type CM struct {
	ServiceID uint64
	// SourcePort and DestPort are RDMA-CM's, 0 where the service id is none of
	// RDMA-CM's.
	SourcePort, DestPort uint16
	Service              Service
	// StartPSN is what A and B begin to send with: each side is told by the
	// other, so A's is in the REP and B's in the REQ.
	StartPSN    [2]uint32
	HasStartPSN [2]bool
	PathMTU     uint32 // bytes, 0 where the REQ was not seen or cut
	AckTimeout  int64  // ns, A's local ACK timeout; B uses the same
	NoAckTimer  bool   // the REQ says 0 for it: no timer
	RetryCount  uint8  // both sides'; valid where PathMTU is not 0
	PKey        uint16 // likewise
	// RNRRetry is how often A and B may try again: like StartPSN, each side is
	// told by the other.
	RNRRetry [2]uint8
	// ResponderResources and InitiatorDepth are what A and B say of themselves:
	// READs and atomics that the side answers at a time, and has outstanding.
	ResponderResources [2]uint8
	InitiatorDepth     [2]uint8
	Requests           uint32 // REQs seen, repetitions included
	Requested          int64  // time of the first REQ, 0 where it was not seen
	Replied            int64  // of the REP
	Established        int64  // of the RTU
	Disconnected       int64  // of the DREQ
	RejectReason       uint16 // 0 where it was not rejected
	Private            []byte // the application's private data of the REQ, at most 92 bytes
}
