package record

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// FlowInterval is what one flow, the packets of one sender to one QP, did in
// one interval. There is one for each flow and each interval in which something
// was counted of it, so that Start and the identity of the flow are a key; an
// interval of a flow comes after its earlier ones.
//
// The counters of all intervals of a flow sum up to those of its Direction in
// the Session, and histograms merge to its histograms: the peaks are the
// greatest of the intervals'. What is found out later than it happened counts
// where it was found out: a loss in the interval of the packet that shows it,
// what only the end of the capture shows in the last one. What was counted
// before, and turned out to be something else, is taken back in the same way:
// those counters are signed, and can be negative in an interval.
//
// Times are nanoseconds since the epoch, sizes bytes. "This side" is the
// flow's sender.
type FlowInterval struct {
	// Start is a whole multiple of Length. The interval ends before Start+Length.
	Start, Length int64

	// The flow is known by Version, Kind, Src, Dst, the VNI with HasVNI, DestQPN,
	// with HasSrcQPN the SrcQPN, and, as a QPN lives several lives, FlowStart:
	// the time of its first packet. They never change. A Session has the same
	// times in AToB.First, for the flow from A to B, and in BToA.First.
	Version   Version
	Kind      decode.AddrKind // what Src and Dst are
	HasVNI    bool
	HasSrcQPN bool // DETH says which QP sent: UD
	HasPeer   bool
	Src, Dst  decode.Addr
	VNI       uint32 // of the tunnel that it is inside, where HasVNI
	DestQPN   uint32
	SrcQPN    uint32 // UD
	FlowStart int64

	// What is known when the interval is over, and may be known better later: the
	// QPN of this side, which is that of the flow the other way, with HasPeer,
	// and how it was found.
	PeerQPN     uint32
	Incarnation uint32 // counts the lives of the same pair of QPNs, from 1
	Pairing     PairingMethod
	Service     Service
	// Application is what the service id or the port says, "" where unknown.
	Application string

	// Where the first packet of the interval was captured, with what MACs: all
	// zero where there are none, or more pairs of MACs than are told apart. An
	// interval without packets has those of the packet in which it began.
	Input, Interface int32  // indices into capture.Source.Inputs, and its Interfaces
	InterfaceName    string // as the capture has it, or ""
	SrcMAC, DstMAC   decode.MAC
	// DSCP is that of most packets, CNPs aside where there are others, and
	// OtherDSCP how many have another one. Priority is that of most packets: of
	// the VLAN tag with Tagged, else what the user says of the DSCP, -1 without
	// either.
	DSCP       uint8
	Tagged     bool
	Priority   int8
	SourcePort uint16 // UDP, of the last packet
	OtherDSCP  uint64

	// First and Last are the times of the first and last packet, valid where
	// Packets is not 0. A packet that came late may be from before Start.
	First, Last int64

	// What this side sent, copies aside.
	Packets, WireBytes, PayloadBytes uint64
	// GoodputBytes is the payload of PSNs seen for the first time. READ data
	// counts for the side that sent the data.
	GoodputBytes uint64
	Truncated    uint64    // packets whose frame was cut short
	ECN          [4]uint64 // packets by decode.Packet.ECN: not ECT, ECT(1), ECT(0), CE
	ICRCBad      uint64    // packets with a wrong ICRC
	PortChanges  uint64    // of SourcePort

	// The answers that this side sent.
	Acks          uint64    // opcode Acknowledge with syndrome ACK
	Naks          [5]uint64 // by decode.NakCode
	RNRNaks       uint64
	ReadResponses uint64 // of READs and atomics
	// ReadResponsesRetransmitted and ReadResponsesLost, ahead of the tap, are of
	// those.
	ReadResponsesRetransmitted uint64
	ReadResponsesLost          int64

	// The rest is of the stream of this side's requests.
	MessagesSent      [NumMessageKinds]uint64 // requests, each once
	MessagesCompleted uint64

	// Retransmitted packets are fills, of PSNs that the tap had not seen before,
	// or repeats. Wasted are those that the tap had seen in the pass before.
	RetransmittedPackets, RetransmittedBytes uint64
	Fills, Repeats                           uint64
	WastedPackets, WastedBytes               uint64

	Episodes uint64
	Tries    [NumCauses]int64
	Places   [NumPlaces]int64 // of the tries that are over
	Modes    [NumModes]int64  // likewise

	// Where packets were lost. LostAfterTap is a lower bound; LostCorrupt are those
	// of LostBeforeTap that arrived with a wrong ICRC, LostCapture what the mirror
	// or the capture lost, and not the network.
	LostBeforeTap, LostAfterTap int64
	LostCapture, LostCorrupt    uint64
	Reordered                   int64
	Undecided                   uint64 // as Direction has it
	Gaps                        uint64 // how often packets came behind some that had never been seen
	Jumped                      int64  // how many PSNs those are
	// Duplicates that the mirror made, and the network; DuplicateRequests are those
	// of the latter that are requests.
	DuplicatesCapture, DuplicatesNetwork, DuplicateRequests int64
	Silences                                                uint64
	SilenceTime                                             int64 // ns, of the silences and of the waits before timeouts
	RNRTime                                                 int64 // ns, from RNR NAKs to the first packet sent again
	ProtocolErrors                                          uint64

	// CNPsSent are among Packets. CNPsReceived told this side to slow down, once
	// it was known that they are for it (before that they count as sent alone),
	// and CNPsUnmarked of them came without a mark before.
	CNPsSent, CNPsReceived, CNPsUnmarked uint64
	// Packets of this side that are marked CE, without copies and those with a
	// wrong ICRC: requests and READ responses, acknowledgements, CNPs.
	DataMarked, AcksMarked, CNPsMarked uint64
	// Slowed is how often this side became slow after a CNP, Recovered how often
	// it was as fast again as before.
	Slowed, Recovered uint64

	// Peaks of what was sent and not yet acknowledged, right after a request.
	PeakPackets, PeakBytes uint64

	// Histograms of durations in ns. Their buckets are those of package sketch.
	AckLatency  sketch.Histogram
	Latency     [NumMessageKinds]sketch.Histogram // of messages
	NakReaction sketch.Histogram                  // NAK at the tap to the first packet sent again
	NPDelay     sketch.Histogram                  // last marked data packet to the CNP
	MarkWait    sketch.Histogram                  // first one since the CNP before, to the CNP
	ToSlow      sketch.Histogram                  // CNP to the end of the first slow window
	ToRecover   sketch.Histogram                  // from there to the end of the first window that is not
}
