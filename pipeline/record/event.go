package record

// Event is a thing that happened on a session. Which of its figures are
// meaningful depends on the kind; a kind's figures are its Detail.
type Event struct {
	Time    int64 // ns
	Session string
	// Stream is 0 for the requests of A and the answers to them, 1 for those
	// of B.
	Stream uint8
	Frame  FrameRef
	Count  uint64 // of a run of the same, else 1
	Detail Detail
}

// Detail are the figures of one kind of event.
type Detail interface{ Kind() EventKind }

// EventKind names what happened.
type EventKind string

// The kinds of events.
const (
	KindConnect        EventKind = "connect"
	KindReject         EventKind = "reject"
	KindDisconnect     EventKind = "disconnect"
	KindNewSession     EventKind = "new_session"
	KindClosed         EventKind = "closed"
	KindFailed         EventKind = "failed"
	KindNak            EventKind = "nak"
	KindRNRNak         EventKind = "rnr_nak"
	KindTry            EventKind = "try"
	KindEpisode        EventKind = "episode"
	KindSilence        EventKind = "silence"
	KindRetryExhausted EventKind = "retry_exhausted"
	KindCaptureLoss    EventKind = "capture_loss"
	KindReorder        EventKind = "reorder"
	KindDuplicate      EventKind = "duplicate"
	KindCorrupt        EventKind = "corrupt"
	KindUndecided      EventKind = "undecided"
	KindProtocolError  EventKind = "protocol_error"
)

// Range is a range of PSNs, both ends included, modulo 2^24.
type Range struct {
	First uint32 `json:"first"`
	Last  uint32 `json:"last"`
}

// Connect says that a connection was asked for, and whether an answer came.
type Connect struct {
	Answered bool   `json:"answered"`
	Requests uint32 `json:"requests"` // REQs sent, repetitions included
	Took     int64  `json:"took_ns"`  // REQ to REP
	Service  uint64 `json:"service_id"`
}

// Reject says that a connection was refused.
type Reject struct {
	Reason uint16 `json:"reason"`
	Text   string `json:"text"`
}

// Disconnect says that one side ended the connection.
type Disconnect struct {
	Answered bool `json:"answered"`
}

// NewSession says that a QPN began another life.
type NewSession struct {
	Why      string `json:"why"` // cm, psn_jump or service
	Previous string `json:"previous"`
}

// Closed says that the session ended in order, or gave way to a new life of its
// QPN.
type Closed struct {
	Why string `json:"why"` // disconnect, new_life or evicted
}

// Failed says that the requester gave up.
type Failed struct {
	Why  string `json:"why"` // retry_exhausted, rnr_exhausted or nak
	Code string `json:"code,omitempty"`
}

// Nak is a negative acknowledgement.
type Nak struct {
	Code    string    `json:"code"` // sequence, invalid_request, remote_access, remote_operational, ...
	PSN     uint32    `json:"psn"`
	Opcode  string    `json:"opcode,omitempty"` // of the request that drew it, where it was seen
	Request *FrameRef `json:"request,omitempty"`
	Refusal bool      `json:"refusal,omitempty"`   // a sequence NAK that only repeats an RNR NAK
	Detect  *int64    `json:"detect_ns,omitempty"` // from the first packet out of order
}

// RNRNak says that the responder was not ready.
type RNRNak struct {
	PSN   uint32 `json:"psn"`
	Timer int64  `json:"timer_ns"` // the wait that it asks for
}

// Try is one step back.
type Try struct {
	PSN   uint32 // r, where it begins again
	Cause Cause
	Place Place
	Mode  Mode
	// Partly says, with Place Answer, that not all of what was sent before was
	// acknowledged: what came behind r may have been lost.
	Partly bool
	From   uint32 // the position before
	Max    uint32 // the maximum before
	// Silence is how long the requester had sent nothing, React how long
	// after the NAK, the response or the end of the RNR timer it began.
	Silence, React int64
	HasReact       bool
	Resent         Amount
	Wasted         Amount
	LostBefore     uint64
	LostAfter      uint64
	Number         uint32 // of the episode's tries, from 1
	Opcode         string // of the first packet sent again
}

// Episode is a run of tries until the position reached the old maximum.
type Episode struct {
	Tries     uint32
	Range     Range
	Cause     Cause // of its first try
	Place     Place
	Resent    Amount
	Wasted    Amount
	Lost      uint64
	Detect    *int64 // first packet out of order to NAK
	Took      int64  // first sign to the end
	Recovered bool
}

// Silence is a long pause in the middle of a stream that no step back
// explains.
type Silence struct {
	Lasted  int64  `json:"lasted_ns"`
	PSN     uint32 `json:"psn"`     // of the packet that ended it
	Pending uint32 `json:"pending"` // packets sent and not acknowledged when it began
}

// RetryExhausted says that the same packet was sent again until the requester
// gave up.
type RetryExhausted struct {
	Unanswered Range
	LastAcked  uint32 // the last PSN that was acknowledged
	HasAcked   bool
	Tries      uint32
	Spacing    int64 // ns, the median between tries
	RNR        bool  // refused each time, not unanswered
}

// CaptureLoss is what was skipped, never gone back for, and yet acknowledged.
type CaptureLoss struct {
	Range Range `json:"psn"`
}

// Reorder is a packet that came late.
type Reorder struct {
	PSN    uint32 `json:"psn"`
	Behind uint32 `json:"behind"` // packets that overtook it, at least
	Late   int64  `json:"late_ns"`
}

// Duplicate is the same packet again.
type Duplicate struct {
	PSN     uint32 `json:"psn"`
	Network bool   `json:"network"`
}

// Corrupt is a packet with a wrong ICRC.
type Corrupt struct {
	PSN uint32 `json:"psn"` // as the packet says
}

// Undecided is what was out of order or there twice, and nothing tells whether it was
// sent again.
type Undecided struct {
	PSN uint32 `json:"psn"`
	Why string `json:"why"`
}

// ProtocolError says that a rule of the transport was broken.
type ProtocolError struct {
	Rule string `json:"rule"`
	PSN  uint32 `json:"psn"`
	Got  string `json:"got"`
	Want string `json:"want"`
}

// Kind is KindConnect.
func (Connect) Kind() EventKind { return KindConnect }

// Kind is KindReject.
func (Reject) Kind() EventKind { return KindReject }

// Kind is KindDisconnect.
func (Disconnect) Kind() EventKind { return KindDisconnect }

// Kind is KindNewSession.
func (NewSession) Kind() EventKind { return KindNewSession }

// Kind is KindClosed.
func (Closed) Kind() EventKind { return KindClosed }

// Kind is KindFailed.
func (Failed) Kind() EventKind { return KindFailed }

// Kind is KindNak.
func (Nak) Kind() EventKind { return KindNak }

// Kind is KindRNRNak.
func (RNRNak) Kind() EventKind { return KindRNRNak }

// Kind is KindTry.
func (*Try) Kind() EventKind { return KindTry }

// Kind is KindEpisode.
func (*Episode) Kind() EventKind { return KindEpisode }

// Kind is KindSilence.
func (Silence) Kind() EventKind { return KindSilence }

// Kind is KindRetryExhausted.
func (RetryExhausted) Kind() EventKind { return KindRetryExhausted }

// Kind is KindCaptureLoss.
func (CaptureLoss) Kind() EventKind { return KindCaptureLoss }

// Kind is KindReorder.
func (Reorder) Kind() EventKind { return KindReorder }

// Kind is KindDuplicate.
func (Duplicate) Kind() EventKind { return KindDuplicate }

// Kind is KindCorrupt.
func (Corrupt) Kind() EventKind { return KindCorrupt }

// Kind is KindUndecided.
func (Undecided) Kind() EventKind { return KindUndecided }

// Kind is KindProtocolError.
func (ProtocolError) Kind() EventKind { return KindProtocolError }
