package scenario

import (
	"fmt"
	"time"
)

// All stands for every session, stream, PSN or transmission in a Fault.
const All = -1

// Spec is what to simulate. Scenarios are functions that return one, and tests
// can make their own.
type Spec struct {
	Name     string
	Seed     uint64
	Network  Network
	Tap      Tap
	Sessions []Session
	Faults   []Fault
	Pausing  Pausing
	// Limit ends the simulation if it has not come to an end by itself.
	Limit time.Duration
}

// Pausing is flow control: the second host stops priority 3 of the first one,
// time and again, and lets it go on.
type Pausing struct {
	Start, Length, Every time.Duration
	Times                int // 0 for no flow control
}

// Network is what is the same for all packets. The zero value is 100 Gbit/s
// with the tap in the middle, 1 us from either side.
type Network struct {
	Speed    uint64        // of every port, bits a second
	LatencyA time.Duration // between side a and the tap
	LatencyB time.Duration // between the tap and side b
	RoutersA uint8         // on the way from side a to the tap, which take from the TTL
	RoutersB uint8
	IPv6     bool
	RoCEv1   bool // over Ethernet with a GRH, not over IP
	IPID     IPID
	// UDPPort is the source port of everything. If it is 0, ports are those
	// that the kernel takes: of the flow label of REQ, or else of the product
	// of both QPNs.
	UDPPort uint16
	// Queue is how long a packet waits at most on each hop, where packets are
	// captured at several points.
	Queue time.Duration
	// LinkLocal gives the first host a link-local address, with IPv6.
	LinkLocal bool
}

// IPID is how a host numbers its IPv4 packets.
type IPID uint8

// The ways to number.
const (
	IPIDRising IPID = iota
	IPIDZero
	IPIDConstant
)

// Service is the transport service of a session.
type Service string

// The services.
const (
	RC  Service = "RC"
	UC  Service = "UC"
	UD  Service = "UD"
	XRC Service = "XRC"
)

// Session is one connection with the work of both its sides. A UD session has
// one side that sends.
type Session struct {
	Service Service
	A, B    Side
	PathMTU int // bytes of payload: 256, 512, 1024, 2048 or 4096
	Start   time.Duration
	// After makes it a later life: it starts Start after session After-1 ended.
	After int
	CM    CM
	// Close sends DREQ and DREP when the work is done.
	Close bool
	Work  [2]Work // of a and of b

	Requester Requester
	Responder Responder
	Marking   Marking
}

// Side is one end of a session.
type Side struct {
	Host     int // 0 is the first one
	QPN      uint32
	StartPSN uint32 // of its requests
	SRQ      uint32 // XRC: the shared receive queue of the other side's requests
}

func (s *Session) side(i int) *Side {
	if i == 0 {
		return &s.A
	}
	return &s.B
}

// check refuses work that the service can't do.
func (s *Session) check() error {
	for _, w := range s.Work {
		for _, m := range w.Messages {
			switch {
			case s.Service == UC && m.answered():
				return fmt.Errorf("an unreliable connection has no %s", m.Kind)
			case s.Service == UD && (m.Kind != Send && m.Kind != SendImm || m.Len > s.PathMTU):
				return fmt.Errorf("a %s of %d bytes is no datagram", m.Kind, m.Len)
			}
		}
	}
	return nil
}

// CM is how the connection is made.
type CM uint8

// The ways to connect.
const (
	NoCM        CM = iota // QPNs were exchanged where the tap does not see it
	Connect               // REQ, REP, RTU
	ConnectLate           // likewise, and the first REP is lost: REQ is sent again
	Refused               // REQ, REJ
	Unanswered            // REQ, and nothing comes back
)

// Work is what one side asks the other for.
type Work struct {
	Messages []Message
	Every    time.Duration // between messages; 0 posts all at the start
	Depth    int           // messages outstanding at most; 0 for no limit
	Delay    time.Duration // before the first one
}

// MessageKind is what a message does.
type MessageKind string

// The kinds of messages.
const (
	Send     MessageKind = "send"
	SendImm  MessageKind = "send_imm"
	SendInv  MessageKind = "send_inv"
	Write    MessageKind = "write"
	WriteImm MessageKind = "write_imm"
	Read     MessageKind = "read"
	CmpSwap  MessageKind = "cmp_swap"
	FetchAdd MessageKind = "fetch_add"
)

// Message is one request message.
type Message struct {
	Kind MessageKind
	Len  int // bytes; atomics have 8 of their own
}

func (m Message) atomic() bool   { return m.Kind == CmpSwap || m.Kind == FetchAdd }
func (m Message) answered() bool { return m.Kind == Read || m.atomic() }

// Mode is how a requester repairs a loss.
type Mode string

// The modes, as the tracker calls them.
const (
	GoBackN   Mode = "go_back_n"
	GoBack0   Mode = "go_back_0"
	Selective Mode = "selective"
)

// Requester says how requesters behave. The zero value gets defaults.
type Requester struct {
	Mode       Mode
	Window     int // PSNs outstanding at most
	MaxReads   int // READs and atomics outstanding at most
	AckEvery   int // asks for an ACK every so many packets as well as at the end of a message
	AckTimeout uint8
	RetryCount int // NoRetry for none
	RNRRetry   int // 7 is for ever; NoRetry for none
	// React is from a NAK's arrival to the first packet sent again.
	React time.Duration
	// NoImpliedNAK waits for the timer where a response is missing, as
	// Soft-RoCE does.
	NoImpliedNAK bool
	// SkipAcked leaves out packets that were acknowledged after the step back.
	// Without it only a jump to the very maximum is made.
	SkipAcked bool
	// IgnoreCNP goes on at its rate, as Soft-RoCE does.
	IgnoreCNP bool
}

// NoRetry is a retry count of none.
const NoRetry = -1

// Responder says how responders behave.
type Responder struct {
	Delay time.Duration // from a request to its answer; ACKs due meanwhile become one
	// Refuse are the messages that find no receive buffer, and Reject those
	// that the responder answers with an error.
	Refuse []Refusal
	Reject []Rejection
	// OutOfOrder keeps packets beyond a gap. KeepQuiet sends no NAK for it, as
	// receivers with adaptive routing do.
	OutOfOrder bool
	KeepQuiet  bool
	// NAKAfterRNR sends a NAK 0x60 when a packet follows one that was refused,
	// as Soft-RoCE does.
	NAKAfterRNR bool
	// ResumeMiddle answers a READ that is asked for again from its middle with
	// MIDDLE and LAST, never FIRST, as Soft-RoCE does.
	ResumeMiddle bool
	// CNPInterval is the least time between CNPs, to one QP or as CNPPer says.
	// NoCNP sends none.
	CNPInterval time.Duration
	CNPPer      CNPPer
	NoCNP       bool
	// Credits is what ACKs say of receive buffers beyond the messages that they
	// acknowledge, as the code of AETH, 1 to 30; 0 says nothing. There are always
	// that many.
	Credits uint8
}

// CNPPer is what a responder keeps its CNPs apart for.
type CNPPer uint8

// The ways to pace CNPs.
const (
	PerQP CNPPer = iota
	PerDestination
	PerPort
)

// Refusal makes the responder answer a message with RNR NAKs.
type Refusal struct {
	Stream  int
	Message int // index
	Times   int
	Timer   uint8 // code, 0 to 31
}

// Rejection makes the responder answer a message with an error NAK.
type Rejection struct {
	Stream  int
	Message int
	Code    uint8 // 0x61, 0x62 or 0x63
}

// Action is what a fault does to a packet.
type Action string

// The actions.
const (
	Drop      Action = "drop"
	Corrupt   Action = "corrupt"   // its ICRC no longer fits
	Duplicate Action = "duplicate" // it comes twice
	Delay     Action = "delay"     // it is overtaken
	MarkCE    Action = "mark"      // congestion experienced
)

// Where is the part of the way on which a fault lies, seen in the packet's
// direction.
type Where string

// The parts.
const (
	BeforeTap Where = "before_tap"
	AfterTap  Where = "after_tap"
)

// Subject says which packets a fault is about.
type Subject uint8

// The subjects. CNPs and connection management are never hit by AnyData.
const (
	Requests Subject = iota
	Answers
	AnyData
	CNPs
	MADs
	Everything
)

// Fault is something that the wire does. A packet has to fit all of it.
type Fault struct {
	Action  Action
	Where   Where
	Session int // index, or All
	Stream  int // 0 for a's requests and what answers them, 1 for b's, or All
	Subject Subject
	// Index is the first PSN that it is about, counted from the stream's first
	// one, or All. Count is how many there are, 0 for one.
	Index, Count int
	// Transmission is which sending of a PSN is hit: 0 for the first, or All.
	Transmission int
	Every        int     // of the packets that fit, each so many-th, 0 for each
	Rate         float64 // likewise by chance, 0 for each
	Limit        int     // how often at most, 0 for no limit
	From, To     time.Duration
	Delay        time.Duration
	matched      int
	done         int
}

// Tap says what is captured. The zero value captures everything.
type Tap struct {
	Only     Direction
	From, To time.Duration // nothing before and after; To 0 is no end
	Sample   int           // each so many-th frame, 0 for all
	Thin     float64       // share of the frames that the mirror loses
	ThinReqs int           // each so many-th request is lost by the mirror
	ThinList []Thinned     // frames that the mirror loses
	Snaplen  int
	VLAN     uint16
	Priority uint8
	Tunnel   Tunnel
	Twice    Twice
	// CountDrops makes the file say how many frames the mirror lost.
	CountDrops bool
}

// Thinned names a request that the mirror loses.
type Thinned struct {
	Session, Stream, Index int
}

// Direction is which packets the tap sees.
type Direction uint8

// The directions. All packets from side a to side b are AtoB, answers among
// them.
const (
	BothWays Direction = iota
	AtoB
	BtoA
)

// Tunnel is what the mirror wraps frames in.
type Tunnel string

// The tunnels. VXLAN and Geneve are the network's own, ERSPAN is the mirror's.
const (
	NoTunnel Tunnel = ""
	VXLAN    Tunnel = "vxlan"
	Geneve   Tunnel = "geneve"
	ERSPAN   Tunnel = "erspan2"
)

// Twice makes the mirror hand on each frame twice.
type Twice string

// The ways in which the copies differ.
const (
	Once       Twice = ""
	Identical  Twice = "identical"
	OtherVLAN  Twice = "vlan"
	OtherRoute Twice = "route" // MACs and TTL, as ahead of a router and behind it
)
