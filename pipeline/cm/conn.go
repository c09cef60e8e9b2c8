// Package cm follows connection management: the messages on QP 1 by which two
// hosts agree on a connection, and end it. It says which queue pairs belong
// together, what they begin with, and what became of the attempt.
package cm

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/record"
)

// State is how far a connection has come.
type State uint8

// The states. A connection never goes back to an earlier one.
const (
	Requested     State = iota // a REQ or SIDR_REQ was seen, or only messages that tell less
	Replied                    // REP, or a SIDR_REP that names a queue pair
	Established                // RTU
	Rejected                   // REJ, or a SIDR_REP that names none
	Disconnecting              // DREQ
	Disconnected               // DREP
)

func (s State) String() string {
	return [...]string{"requested", "replied", "established", "rejected", "disconnecting", "disconnected"}[s]
}

// Conn is one connection as its messages tell it, or with SIDR one resolution
// of a service ID. It belongs to the Tracker, which goes on writing to it until
// it is evicted; a Conn is never used for another connection.
type Conn struct {
	// A is the active side, the one that sent the REQ, and B the other, if
	// Active is set; else nothing told that, and A is who sent the first
	// message seen. The addresses are those of the packets. A QPN is known from
	// the side's REQ, REP or SIDR_REP, or from a DREQ or LAP of the other side.
	A, B   record.Endpoint
	Active bool

	Version record.Version
	VNI     uint32 // of the tunnel, where HasVNI
	HasVNI  bool

	// SIDR says that this is a service ID resolution: A asks for the QPN of a
	// datagram service.
	SIDR    bool
	Service record.Service // unknown where the REQ was not seen

	ServiceID   mad.ServiceID
	Application string // by the service ID, "" where unknown

	State State
	// CM are the facts for the session's record.
	CM record.CM

	// FlowLabel is that of the REQ's primary path, with HasFlowLabel.
	FlowLabel    uint32
	HasFlowLabel bool

	// QKey is that of SIDR's queue pair.
	QKey uint32
	// RejectedBy is the side that refused, 0 for A and 1 for B, in state
	// Rejected; CM.RejectReason says why, and with SIDR it is SIDRStatus.
	RejectedBy uint8
	SIDRStatus uint8

	// IDs are the communication IDs of A and B, 0 where not known; with SIDR
	// the first is the request ID.
	IDs [2]uint32

	// First and Last are the first and last message of any kind.
	First, Last record.FrameRef

	seen    [mad.APR - mad.REQ + 1]Seen
	private [92]byte
	keys    [2]key // under which it is in the index; valid where the id is not 0

	newer, older *Conn
}

// Seen is how often one kind of message was seen, repetitions included.
type Seen struct {
	Count       uint32
	First, Last record.FrameRef
}

// Seen tells of the messages of one kind, from either side.
func (c *Conn) Seen(a mad.Attribute) Seen {
	if !a.Known() {
		return Seen{}
	}
	return c.seen[a-mad.REQ]
}

// Answered says whether the request drew any answer. Where there was none, and
// the capture shows both directions, the other side is unreachable or silent.
func (c *Conn) Answered() bool {
	return c.State != Requested || c.Seen(mad.MRA).Count > 0
}

// RejectText says in words why the connection was refused, "" in any other
// state than Rejected.
func (c *Conn) RejectText() string {
	switch {
	case c.State != Rejected:
		return ""
	case c.SIDR:
		return mad.SIDRStatus(c.SIDRStatus)
	}
	return mad.Reason(c.CM.RejectReason).String()
}

// SourcePort is the UDP source port that the Linux kernel gives to the
// connection's packets, the same in both directions: from the flow label of
// the REQ, or from both QPNs if that label is 0. It is not known where those
// were not seen, and where there is no UDP. Soft-RoCE in older kernels goes by
// PortOfQPN instead.
func (c *Conn) SourcePort() (port uint16, ok bool) {
	switch {
	case c.Version != record.V2 || !c.HasFlowLabel:
		return 0, false
	case c.FlowLabel != 0:
		return PortOfLabel(c.FlowLabel), true
	}
	return PortOfLabel(LabelOfQPNs(c.A.QPN, c.B.QPN)), c.A.HasQPN && c.B.HasQPN
}

// end is one side of the connection.
func (c *Conn) end(side uint8) *record.Endpoint {
	if side == 0 {
		return &c.A
	}
	return &c.B
}

// learn notes the QPN of one side and says whether it is news.
func (c *Conn) learn(side uint8, qpn uint32) bool {
	e := c.end(side)
	if e.HasQPN || qpn <= 1 { // 0 and 1 are management's own
		return false
	}
	e.QPN, e.HasQPN = qpn, true
	return true
}

// advance moves to a later state.
func (c *Conn) advance(s State) {
	c.State = max(c.State, s)
}

// note counts a message and says whether it is the first of its kind.
func (c *Conn) note(a mad.Attribute, ref record.FrameRef) bool {
	s := &c.seen[a-mad.REQ]
	if s.Count == 0 {
		s.First = ref
	}
	s.Last = ref
	s.Count++
	c.Last = ref
	return s.Count == 1
}

// versionOf is how the transport of a RoCE packet is carried.
func versionOf(k decode.Kind) record.Version {
	switch k {
	case decode.KindRoCEv1:
		return record.V1
	case decode.KindIB:
		return record.IB
	}
	return record.V2
}
