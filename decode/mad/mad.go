// Package mad decodes the bodies of connection management datagrams: what two
// queue pairs tell each other before and after they exchange data.
//
// Package decode reads the header that all management datagrams begin with;
// this one takes the bytes behind it. Layouts are those of the InfiniBand
// Architecture Specification, volume 1, chapter 12, as the Linux kernel's
// ibta_vol1_c12.h has them. All numbers are big-endian.
package mad

// Class is the management class of connection management.
const Class = 0x07

// BodyLen is the length of a datagram's body in bytes: 256 without the common
// header's 24. A shorter one was cut.
const BodyLen = 232

// Attribute is the attribute ID of the common header: which message it is.
type Attribute uint16

// The messages of connection management.
const (
	REQ     Attribute = 0x10 // request for communication
	MRA     Attribute = 0x11 // message receipt acknowledgement: the answer takes longer
	REJ     Attribute = 0x12 // reject
	REP     Attribute = 0x13 // reply
	RTU     Attribute = 0x14 // ready to use
	DREQ    Attribute = 0x15 // disconnection request
	DREP    Attribute = 0x16 // disconnection reply
	SIDRReq Attribute = 0x17 // service ID resolution request: which QP serves this?
	SIDRRep Attribute = 0x18 // service ID resolution response
	LAP     Attribute = 0x19 // load alternate path
	APR     Attribute = 0x1a // alternate path response
)

var attributeNames = [...]string{"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"}

// Known says whether a is one of connection management's messages.
func (a Attribute) Known() bool { return a >= REQ && a <= APR }

func (a Attribute) String() string {
	if !a.Known() {
		return "unknown"
	}
	return attributeNames[a-REQ]
}

// Parts is a set of parts of a message.
type Parts uint16

// The parts. A part is there if all of its bytes were captured.
const (
	HasLocalID   Parts = 1 << iota // LocalID
	HasRemoteID                    // RemoteID
	HasServiceID                   // ServiceID
	HasQPN                         // QPN, and REP's EECN
	HasStartPSN                    // StartPSN
	HasTransport                   // REQ: Transport, ExtendedTransport and all that lies before them, retries and timeouts included
	HasPrimary                     // REQ: Primary
	HasAlternate                   // REQ and LAP: Alternate
	HasReason                      // REJ: MsgRejected and Reason
	HasStatus                      // SIDR_REP and APR: Status
	HasIP                          // REQ and SIDR_REQ: IP is RDMA-CM's header, and Consumer what follows it
)

// Message is one message of connection management: a flat struct that the
// caller owns and reuses. Which messages have a field, its comment says; the
// rest is zero, and so is what was not captured. Timeouts are exponents, see
// Timeout. Slices are parts of the bytes that Decode was given.
type Message struct {
	Attribute Attribute
	// Truncated says that the body is shorter than BodyLen. What was captured
	// is valid.
	Truncated bool
	Has       Parts

	LocalID  uint32 // communication ID of the sender; SIDR: the request ID
	RemoteID uint32 // communication ID of the receiver; all but REQ and SIDR

	ServiceID ServiceID // REQ, SIDR_REQ, SIDR_REP
	VendorID  uint32    // REQ: 24 bits
	CAGUID    uint64    // REQ, REP: of the sender's adapter
	QKey      uint32    // REQ, REP, SIDR_REP
	QPN       uint32    // REQ, REP, SIDR_REP: of the sender; DREQ, LAP: of the receiver
	EECN      uint32    // REQ, REP: of the sender, reliable datagram; the target QPN in a REP for XRC
	RemoteEEC uint32    // REQ
	StartPSN  uint32    // REQ, REP: the PSN that the receiver of the message will begin to send with

	ResponderResources uint8 // REQ, REP: READs and atomics that the sender answers at a time
	InitiatorDepth     uint8 // REQ, REP: READs and atomics that the sender has outstanding at most

	RemoteResponseTimeout uint8 // REQ, LAP: how long the receiver may take to answer
	LocalResponseTimeout  uint8 // REQ: how long the sender may take
	Transport             uint8 // REQ: 0 RC, 1 UC, 2 RD, 3 see ExtendedTransport
	ExtendedTransport     uint8 // REQ: 1 XRC
	RetryCount            uint8 // REQ: 0 to 7
	RNRRetry              uint8 // REQ, REP: how often the receiver may try again, 0 to 6, 7 is for ever
	MaxCMRetries          uint8 // REQ: 0 to 15
	MTU                   uint8 // REQ: code of the path MTU, see PathMTU
	PKey                  uint16
	EndToEnd              bool // REQ, REP: flow control
	RDC                   bool // REQ: an RD channel exists
	SRQ                   bool // REQ, REP: the sender has a shared receive queue

	Primary   Path // REQ
	Alternate Path // REQ, LAP

	TargetAckDelay uint8 // REP: exponent as a timeout's
	Failover       uint8 // REP: 0 accepted, 1 not supported, 2 not accepted

	MsgRejected    uint8  // REJ: 0 REQ, 1 REP, 2 other; MRA likewise: the message that it acknowledges
	Reason         Reason // REJ
	Status         uint8  // SIDR_REP, see SIDRStatus; APR: 0 is success
	ServiceTimeout uint8  // MRA: how long the answer may still take

	Info    []byte // REJ, SIDR_REP, APR: additional information, up to its length field
	Private []byte // all: private data, up to the end of the message

	IP       IPHeader // with HasIP
	Consumer []byte   // with HasIP: the private data behind it
}

// Path is one path between the two ends.
type Path struct {
	LocalLID, RemoteLID uint16
	LocalGID, RemoteGID [16]byte // RoCEv2 over IPv4: the address mapped into IPv6
	FlowLabel           uint32   // 20 bits
	PacketRate          uint8    // 6 bits, code of the static rate
	TrafficClass        uint8
	HopLimit            uint8
	SL                  uint8
	SubnetLocal         bool
	AckTimeout          uint8 // local ACK timeout
}

// Decode overwrites m with what body, the bytes behind the common MAD header,
// says as message a. Any bytes will do: what is missing at the end is zero, and
// Has says what is not. It returns false, and leaves m empty but for its
// Attribute, if a is none of connection management's messages. Bytes beyond
// BodyLen are ignored.
func (m *Message) Decode(a Attribute, body []byte) bool {
	*m = Message{Attribute: a}
	if !a.Known() {
		return false
	}
	if len(body) > BodyLen {
		body = body[:BodyLen]
	}
	m.Truncated = len(body) < BodyLen
	b := reader(body)
	m.LocalID = b.u32(0)
	m.has(b, 4, HasLocalID)
	if a != REQ && a != SIDRReq && a != SIDRRep {
		m.RemoteID = b.u32(4)
		m.has(b, 8, HasRemoteID)
	}
	switch a {
	case REQ:
		m.req(b)
	case REP:
		m.rep(b)
	case RTU, DREP:
		m.Private = b.span(8, BodyLen)
	case REJ:
		m.rej(b)
	case MRA:
		m.MsgRejected, m.ServiceTimeout = b.u8(8)>>6, b.u8(9)>>3
		m.Private = b.span(10, BodyLen)
	case DREQ:
		m.QPN = b.u24(8)
		m.has(b, 11, HasQPN)
		m.Private = b.span(12, BodyLen)
	case LAP:
		m.lap(b)
	case APR:
		m.Status = b.u8(9)
		m.has(b, 10, HasStatus)
		m.Info = b.span(12, 12+min(int(b.u8(8)), infoLen))
		m.Private = b.span(84, BodyLen)
	case SIDRReq:
		m.PKey = b.u16(4)
		m.ServiceID = ServiceID(b.u64(8))
		m.has(b, 16, HasServiceID)
		m.Private = b.span(16, BodyLen)
		m.ip()
	case SIDRRep:
		m.sidrRep(b)
	}
	return true
}

// infoLen is the room for additional information in bytes.
const infoLen = 72

// has notes that a part is there whose last byte lies before end.
func (m *Message) has(b reader, end int, p Parts) {
	if len(b) >= end {
		m.Has |= p
	}
}

// reader reads fields of a body; one that is not all there is zero.
type reader []byte

func (b reader) u8(off int) uint8 {
	if off >= len(b) {
		return 0
	}
	return b[off]
}

func (b reader) u16(off int) uint16 {
	if off+2 > len(b) {
		return 0
	}
	return uint16(b[off])<<8 | uint16(b[off+1])
}

func (b reader) u24(off int) uint32 {
	if off+3 > len(b) {
		return 0
	}
	return uint32(b[off])<<16 | uint32(b[off+1])<<8 | uint32(b[off+2])
}

func (b reader) u32(off int) uint32 {
	if off+4 > len(b) {
		return 0
	}
	return uint32(b[off])<<24 | uint32(b[off+1])<<16 | uint32(b[off+2])<<8 | uint32(b[off+3])
}

func (b reader) u64(off int) uint64 {
	if off+8 > len(b) {
		return 0
	}
	return uint64(b.u32(off))<<32 | uint64(b.u32(off+4))
}

func (b reader) gid(off int) (g [16]byte) {
	if off+16 <= len(b) {
		copy(g[:], b[off:])
	}
	return g
}

// span is what there is of the bytes from off to end, nil if there is none.
func (b reader) span(off, end int) []byte {
	if end = min(end, len(b)); off >= end {
		return nil
	}
	return b[off:end:end]
}
