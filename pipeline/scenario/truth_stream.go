package scenario

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
	Waits         *Waits          `json:"waits,omitempty"`
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
	// Start is when it was first seen at the tap, if its first packet was, End when the answer
	// that completes it was, of a READ the last response in order, or, where it was complete
	// without that, the last one to come; 0 where that is not in the file.
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
	// it, or that it is where the requester must have begun to send again.
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
	From  string `json:"from,omitempty"` // of a CNP: a or b
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
	Mode   Mode   `json:"mode"` // go_back_n, go_back_0 (to the start of the message) or selective
	// Cause is why the requester did it: rnr, nak, read or timeout. AtTap is
	// what a tap can say of it: unknown where no answers are captured, timeout
	// where the NAK is not in the file.
	Cause string `json:"cause"`
	AtTap string `json:"cause_at_tap"`
	// Place is by what really happened to the packets of the pass before:
	// before_tap (a request from r on was lost ahead of the tap, or a READ's
	// response was), after_tap (a request was lost behind it), answer (an ACK
	// was lost, or a response behind the tap, or the answer was late), refused
	// (an RNR NAK), unknown (see Reordered).
	Place string `json:"place"`
	// PlaceVisible is false where the capture does not show it; PlaceWhy says
	// why.
	PlaceVisible bool   `json:"place_visible"`
	PlaceWhy     string `json:"place_why,omitempty"`
	// Reordered says that nothing was lost: a receiver took reordering for loss.
	Reordered bool `json:"reordered,omitempty"`
	// LostBefore and LostAfter are the requests from r on that were lost in the
	// pass before, ahead of the tap and behind it, LostVisible those ahead of it that show at this
	// step back (see Loss), LostDeduced those that can be known
	// otherwise. LostAnswers are answers.
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
	from uint64 // FirstPSN
	edge bool   // the pass before was captured up to the end of a message
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
