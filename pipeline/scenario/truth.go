package scenario

// Truth is what happened, as the simulation knows it. Times are nanoseconds of
// capture time. Frames are numbered from 1 as in the file; 0 says that there is
// none. PSNs are those on the wire, 24 bits.
type Truth struct {
	Scenario string `json:"scenario"`
	// About is the scenario's line in the list.
	About string `json:"about"`
	Seed  uint64 `json:"seed"`
	// Frames and Bytes are those in the file, Bytes before any cut.
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
	First  int64  `json:"first"` // time of the first frame
	Last   int64  `json:"last"`

	Network NetworkTruth `json:"network"`
	Tap     TapTruth     `json:"tap"`
	Totals  Totals       `json:"totals"`
	// SessionCount is how many there are, and Sessions are they: none of them
	// in the large captures for benchmarks if there are more than 1,000.
	SessionCount int             `json:"session_count"`
	Sessions     []*SessionTruth `json:"sessions"`
}

// NetworkTruth is where the tap stood.
type NetworkTruth struct {
	Speed    uint64 `json:"speed"`
	LatencyA int64  `json:"latency_a"` // ns between a and the tap
	LatencyB int64  `json:"latency_b"`
	Vantage  string `json:"vantage"` // of stream a: requester, responder or between
	IPID     string `json:"ip_id"`   // rising, zero, constant or none
}

// TapTruth is what was captured of what passed.
type TapTruth struct {
	Direction string `json:"direction"` // both, a_to_b or b_to_a
	Tunnel    string `json:"tunnel,omitempty"`
	VLAN      uint16 `json:"vlan,omitempty"`
	Priority  uint8  `json:"priority,omitempty"`
	Snaplen   int    `json:"snaplen,omitempty"`
	Sample    int    `json:"sample,omitempty"`
	Twice     string `json:"twice,omitempty"` // how the copies differ
	Copies    uint64 `json:"copies"`          // frames that are a second copy made by the mirror
	Lost      uint64 `json:"lost"`            // frames that the mirror lost or left out
	// Counted says that the file itself tells Lost, as a count of drops.
	Counted bool  `json:"counted,omitempty"`
	From    int64 `json:"from,omitempty"` // nothing before
	To      int64 `json:"to,omitempty"`
}

// Totals are sums over all sessions.
type Totals struct {
	RequestsSeen   uint64 `json:"requests_seen"` // without copies and corrupt ones
	AnswersSeen    uint64 `json:"answers_seen"`
	FirstSeen      uint64 `json:"first_seen"`
	Fills          uint64 `json:"fills"`
	Repeats        uint64 `json:"repeats"`
	Late           uint64 `json:"late"`
	Wasted         uint64 `json:"wasted"`
	DropsBefore    uint64 `json:"drops_before_tap"`
	DropsAfter     uint64 `json:"drops_after_tap"`
	Tries          uint64 `json:"tries"`
	TriesVisible   uint64 `json:"tries_visible"`
	Episodes       uint64 `json:"episodes"`
	NAKs           uint64 `json:"naks"`      // sequence NAKs sent
	NAKsSeen       uint64 `json:"naks_seen"` // of them in the file
	RNRs           uint64 `json:"rnrs"`
	RNRsSeen       uint64 `json:"rnrs_seen"`
	CESeen         uint64 `json:"ce_seen"`
	CNPs           uint64 `json:"cnps"`
	CNPsSeen       uint64 `json:"cnps_seen"`
	CorruptSeen    uint64 `json:"corrupt_seen"`
	NetworkCopies  uint64 `json:"network_copies_seen"`
	CaptureLosses  uint64 `json:"capture_losses"`
	MessagesDone   uint64 `json:"messages_done"`
	SessionsFailed uint64 `json:"sessions_failed"`
}

// SessionTruth is one connection, in one life.
type SessionTruth struct {
	ID      int      `json:"id"`
	Service Service  `json:"service"`
	A       SideInfo `json:"a"`
	B       SideInfo `json:"b"`
	PathMTU int      `json:"path_mtu"`
	// Life counts the sessions with the same addresses and QPNs, from 1.
	Life int      `json:"life"`
	CM   *CMTruth `json:"cm,omitempty"`
	// AckTimeout is 4.096 us times 2 to the power of its code, in ns.
	AckTimeout int64 `json:"ack_timeout"`
	RetryCount int   `json:"retry_count"`
	RNRRetry   int   `json:"rnr_retry"`
	// State is done, failed, refused, unanswered or open (the simulation ended
	// first). Why says what failed: retry_exceeded, rnr_retry_exceeded,
	// remote_access_error, ...
	State   string         `json:"state"`
	Why     string         `json:"why,omitempty"`
	Start   int64          `json:"start"`
	End     int64          `json:"end"`
	Streams []*StreamTruth `json:"streams"`
}

// SideInfo is one end of a session.
type SideInfo struct {
	Addr     string `json:"addr"`
	MAC      string `json:"mac"`
	QPN      uint32 `json:"qpn"`
	StartPSN uint32 `json:"start_psn"`
	SRQ      uint32 `json:"srq,omitempty"`
	UDPPort  uint16 `json:"udp_port,omitempty"`

	Counters Counters `json:"counters"`
}

// Counters are what the side's card would count for this session, under the
// names that mlx5 gives them.
type Counters struct {
	OutOfSequence    uint64 `json:"out_of_sequence"`   // requests beyond the expected PSN that arrived
	DuplicateRequest uint64 `json:"duplicate_request"` // requests before it
	PacketSeqErr     uint64 `json:"packet_seq_err"`    // NAKs 0x60 that arrived
	ImpliedNAKSeqErr uint64 `json:"implied_nak_seq_err"`
	LocalAckTimeout  uint64 `json:"local_ack_timeout_err"`
	RNRNAKRetryErr   uint64 `json:"rnr_nak_retry_err"` // RNR NAKs that arrived
	OutOfBuffer      uint64 `json:"out_of_buffer"`     // requests refused for want of a buffer
	ICRCErrors       uint64 `json:"rx_icrc_encapsulated"`
	ECNMarked        uint64 `json:"np_ecn_marked_roce_packets"`
	CNPSent          uint64 `json:"np_cnp_sent"`
	CNPHandled       uint64 `json:"rp_cnp_handled"`
	ReadRequests     uint64 `json:"rx_read_requests"` // that were executed, duplicates among them
	WriteRequests    uint64 `json:"rx_write_requests"`
	AtomicRequests   uint64 `json:"rx_atomic_requests"`
}

// CMTruth is how the connection was made.
type CMTruth struct {
	Result    string    `json:"result"` // connected, refused, unanswered
	ServiceID uint64    `json:"service_id"`
	Messages  []CMFrame `json:"messages"`
}

// CMFrame is one message of connection management.
type CMFrame struct {
	Message string `json:"message"` // REQ, REP, RTU, REJ, DREQ, DREP
	From    string `json:"from"`    // a or b
	Time    int64  `json:"time"`    // of sending
	Frame   uint64 `json:"frame"`
	Again   bool   `json:"again,omitempty"` // a retransmission
}

// StreamTruth is one requester's PSN space, and the answers to it.
type StreamTruth struct {
	Requester string `json:"requester"` // a or b
	StartPSN  uint32 `json:"start_psn"`
	NextPSN   uint32 `json:"next_psn"` // one past the highest that was sent
	PSNs      uint64 `json:"psns"`     // how many were taken
	// UnackedPSN is the oldest PSN that was never acknowledged, NextPSN if all
	// were. Services without acknowledgements have NextPSN.
	UnackedPSN uint32 `json:"unacked_psn"`
	Sent       Sent   `json:"sent"`
	Seen       Seen   `json:"seen"`

	Messages      []*MessageTruth `json:"messages"`
	Drops         []*Loss         `json:"drops"`
	Corruptions   []*Loss         `json:"corruptions"`
	Duplicates    []*Hit          `json:"duplicates"` // made by the network
	Reorders      []*Hit          `json:"reorders"`
	CaptureLosses []*Missed       `json:"capture_losses"`
	Tries         []*Try          `json:"tries"`
	Episodes      []*Episode      `json:"episodes"`
	NAKs          []*NAK          `json:"naks"`
	CE            []*Hit          `json:"ce"`
	CNPs          []*CNP          `json:"cnps"`
	Rates         []Rate          `json:"rates,omitempty"`
}

// Sent is what the machines put on the wire.
type Sent struct {
	First   uint64 `json:"first"`
	Again   uint64 `json:"again"`
	Answers uint64 `json:"answers"`
	Payload uint64 `json:"payload"` // bytes, of the first transmissions of requests
}

// Seen is what of it is in the file, copies left out. A packet that was sent
// again counts as a fill below the highest PSN seen where the tap had not seen
// its PSN, as a repeat where it had, and as hidden at that PSN or above.
type Seen struct {
	Requests uint64 `json:"requests"` // all of the below
	First    uint64 `json:"first"`
	Fills    uint64 `json:"fills"`
	Repeats  uint64 `json:"repeats"`
	Hidden   uint64 `json:"hidden"`
	Late     uint64 `json:"late"`    // overtaken by a packet that was sent after it
	Resumed  uint64 `json:"resumed"` // READs asked for again from their middle; they are repeats
	Corrupt  uint64 `json:"corrupt"`
	Copies   uint64 `json:"copies"` // made by the network
	Answers  uint64 `json:"answers"`
	Payload  uint64 `json:"payload"` // bytes of First and Fills
}

// MessageTruth is one request message.
type MessageTruth struct {
	Kind     MessageKind `json:"kind"`
	Bytes    int         `json:"bytes"`
	FirstPSN uint32      `json:"first_psn"`
	LastPSN  uint32      `json:"last_psn"`
	Packets  int         `json:"packets"` // requests: 1 for a READ
	Done     bool        `json:"done"`    // completed, as the requester knows
	// Start is when its first packet was seen at the tap, End when the answer
	// that completes it was; 0 where that is not in the file.
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Latency    int64  `json:"latency"` // End - Start, 0 if either is not known
	StartFrame uint64 `json:"start_frame"`
	EndFrame   uint64 `json:"end_frame"`

	first, last uint64
}

// Loss is a packet that did not arrive as it was sent.
type Loss struct {
	Kind  string `json:"kind"` // request, answer, cnp or cm
	Op    uint8  `json:"opcode"`
	PSN   uint32 `json:"psn"`
	Pass  int    `json:"pass"` // the requester's, 0 for the first
	Nth   int    `json:"nth"`  // how often this PSN was sent before
	Where Where  `json:"where"`
	Time  int64  `json:"time"`
	Frame uint64 `json:"frame"` // of a corrupt packet, or one lost after the tap
	// Visible says that the capture shows it: for a request lost ahead of the
	// tap that it is jumped over in a pass, and that the step back which ends
	// the pass was captured from it on, or before it. Why says why not.
	Visible bool `json:"visible"`
	// Deduced says that it does not show so, but that a NAK in the file names
	// it.
	Deduced bool   `json:"deduced,omitempty"`
	Why     string `json:"why,omitempty"`

	psn   uint64
	kind  kind
	order uint64
}

// Hit is a packet that something was done to.
type Hit struct {
	// Copy is the frame of a duplicate, where Frame is that of the first one.
	Copy  uint64 `json:"copy,omitempty"`
	Kind  string `json:"kind"`
	PSN   uint32 `json:"psn"`
	Pass  int    `json:"pass"`
	Where Where  `json:"where"`
	Time  int64  `json:"time"` // at the tap, or of sending where it was not captured
	Frame uint64 `json:"frame"`

	psn uint64
}

// Missed is a frame that passed the tap and is not in the file.
type Missed struct {
	Kind string `json:"kind"`
	PSN  uint32 `json:"psn"`
	Pass int    `json:"pass"`
	Time int64  `json:"time"`
	// Visible says, of a request, that a later one of its pass was captured
	// and that it was never sent again.
	Visible bool `json:"visible"`

	psn   uint64
	last  uint64 // one past its PSNs
	kind  kind
	order uint64
}

// Try is one step back of a requester.
type Try struct {
	Pass int   `json:"pass"` // the pass that it begins, from 1
	Sent int64 `json:"sent"` // when the requester stepped back
	// PSN is r: where the requester went back to. NAKPSN is what the NAK named,
	// where there was one.
	PSN    uint32 `json:"psn"`
	NAKPSN uint32 `json:"nak_psn,omitempty"`
	Mode   Mode   `json:"mode"`
	// Cause is why the requester did it: rnr, nak, read or timeout. AtTap is
	// what a tap can say of it: unknown where no answers are captured, timeout
	// where the NAK is not in the file.
	Cause string `json:"cause"`
	AtTap string `json:"cause_at_tap"`
	// Place is before_tap, after_tap, answer, refused or unknown, by what
	// really happened to the packets of the pass before.
	Place string `json:"place"`
	// PlaceVisible is false where the capture does not show it; PlaceWhy says
	// why.
	PlaceVisible bool   `json:"place_visible"`
	PlaceWhy     string `json:"place_why,omitempty"`
	// Reordered says that nothing was lost: a receiver took reordering for loss.
	Reordered bool `json:"reordered,omitempty"`
	// Lost are the requests from r on that were lost in the pass before, ahead
	// of the tap and behind it, LostVisible those ahead of it that show at this
	// step back (see Loss), LostDeduced those that a NAK gives away. LostAnswers
	// are answers.
	LostBefore  int `json:"lost_before"`
	LostVisible int `json:"lost_visible"`
	LostDeduced int `json:"lost_deduced"`
	LostAfter   int `json:"lost_after"`
	LostAnswers int `json:"lost_answers"`

	// Visible says that a packet of this try was captured below the position
	// that the tap knew of. Why says why not.
	Visible bool   `json:"visible"`
	Why     string `json:"why,omitempty"`
	// Time, Frame and FirstPSN are of its first packet in the file, which need
	// not be the first one sent.
	Time     int64  `json:"time"`
	Frame    uint64 `json:"frame"`
	FirstPSN uint32 `json:"first_psn"`
	// SentAgain is what the requester sent again in it; the others are what of
	// that is in the file. Bytes are of payload, WireBytes of whole frames
	// before a mirror wraps them. Wasted are packets that the tap had seen in
	// the pass before.
	SentAgain int    `json:"sent_again"`
	Packets   int    `json:"packets"`
	Bytes     uint64 `json:"bytes"`
	WireBytes uint64 `json:"wire_bytes"`
	Fills     int    `json:"fills"`
	Repeats   int    `json:"repeats"`
	Wasted    int    `json:"wasted"`
	NAKFrame  uint64 `json:"nak_frame,omitempty"`
	Episode   int    `json:"episode"` // index into Episodes

	r    uint64
	edge bool // the pass before was captured up to the end of a message
}

// Episode is the tries until the requester is where it was.
type Episode struct {
	Tries   []int  `json:"tries"`   // indices
	MaxPSN  uint32 `json:"max_psn"` // the maximum when it began, one past the highest PSN sent
	End     string `json:"end"`     // recovered, failed or open
	Start   int64  `json:"start"`   // the first step back
	Done    int64  `json:"done"`    // when the requester had sent all again
	Visible bool   `json:"visible"` // one of its tries is

	max uint64
}

// NAK is a negative acknowledgement.
type NAK struct {
	Code  uint8  `json:"code"` // 0x60 to 0x63, or the syndrome of an RNR NAK (0x20 to 0x3f)
	PSN   uint32 `json:"psn"`
	Pass  int    `json:"pass"` // the requester's, of the packet that drew it
	Time  int64  `json:"time"` // at the tap, or of sending where it was not captured
	Frame uint64 `json:"frame"`
	Timer int64  `json:"timer,omitempty"` // of an RNR NAK, ns
	// Lost says that it did not reach the requester.
	Lost Where `json:"lost,omitempty"`
	// Quirk says that it is the NAK that follows an RNR NAK without any loss.
	Quirk bool `json:"quirk,omitempty"`
}

// CNP is a congestion notification to this stream's requester, or, where
// Answers is set, to the sender of its READ responses.
type CNP struct {
	From    string `json:"from"` // a or b
	Time    int64  `json:"time"`
	Frame   uint64 `json:"frame"`
	Answers bool   `json:"answers,omitempty"`
}

// Rate is a change of a sender's rate.
type Rate struct {
	Time  int64   `json:"time"`  // at the sender
	Share float64 `json:"share"` // of the line rate
	Why   string  `json:"why"`   // cnp or recovery
}
