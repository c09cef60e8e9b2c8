package decode

// Note is what the tracker of sessions says of one packet: which session it is
// of, what it is there, and what went on when it came. It is flat, and filled
// by others: decoding a packet needs no other packet, a note needs all.
//
// Some of it is known only later in the capture, so notes are read when all of
// it was followed.
type Note struct {
	// Session is the name of the packet's session, "" where it is of none:
	// management, and corrupt packets of which nothing else was seen.
	Session string
	// Stream is the requester whose PSNs the packet is about, 0 for side A of
	// the session and 1 for B.
	Stream  uint8
	Role    Role
	Verdict Verdict
	Flags   NoteFlags
	// Rule is the rule of the transport that the packet breaks, as
	// protocol_error events name it, "" where it breaks none.
	Rule string

	// Pass is how often the stream had stepped back when the packet came. It
	// is valid for requests, and stays 0 in services without acknowledgements.
	Pass uint32
	// Try is which try of its episode the packet is of, from 1; 0 where it is
	// of none. Those below are the try's, Silence and Mode included.
	Try uint32
	// TryID tells the tries of a capture apart: packets with the same one are of
	// the same try. It counts from 1, and is 0 where Try is.
	TryID   uint32
	Cause   NoteCause
	Place   NotePlace
	Mode    NoteMode
	Silence int64 // ns, before the try's first packet

	// AckLatency is on the answer that is the first to cover a request that
	// was sent once: the time since that request, in nanoseconds. Where it
	// covers several, it is that of the oldest. Valid with NoteAckLatency.
	AckLatency int64
	// MessageLatency is on the answer that completes a message: the time since
	// the message's first packet. Where it completes several, it is the
	// longest. Valid with NoteMessageLatency.
	MessageLatency int64
}

// Role is what a packet is in its session.
type Role uint8

// The roles.
const (
	RoleNone       Role = iota // there is no note
	RoleRequest                //
	RoleResponse               // to a READ or an atomic
	RoleAck                    //
	RoleNak                    // of any code
	RoleRNRNak                 //
	RoleCNP                    //
	RoleManagement             // to QP 0 or 1
	RoleUnknown                // an opcode that means nothing, or a BTH that was cut off
	numRoles
)

var roleNames = [numRoles]string{"", "request", "response", "ack", "nak", "rnr_nak", "cnp", "management", "unknown"}

func (r Role) String() string { return roleNames[r] }

// Verdict is what a packet was when it came.
type Verdict uint8

// The verdicts. Only requests and responses have a place in a sequence; all
// else is VerdictOther, if it is neither a copy nor corrupt.
const (
	VerdictOther   Verdict = iota
	VerdictNew             // beyond all that was seen
	VerdictRepeat          // sent again, and seen before
	VerdictFill            // sent again, and never seen before
	VerdictLate            // overtaken by packets that were sent after it, or undecided whether so
	VerdictCopy            // the packet was there before, and nobody sent it again
	VerdictCorrupt         // its ICRC is wrong
	numVerdicts
)

var verdictNames = [numVerdicts]string{"other", "new", "repeat", "fill", "late", "duplicate", "corrupt"}

func (v Verdict) String() string { return verdictNames[v] }

// NoteFlags are what else is known of a packet.
type NoteFlags uint8

// The flags.
const (
	NoteFirstOfTry     NoteFlags = 1 << iota // it is the packet with which the requester stepped back
	NoteWasted                               // sent again although the tap had seen it in the pass before
	NoteNamesLoss                            // a NAK of a packet that went by the tap: lost behind it
	NoteRefusal                              // a sequence NAK that only repeats an RNR NAK
	NoteByNetwork                            // of a copy: the network made it, not the capture
	NoteAckLatency                           // AckLatency is valid
	NoteMessageLatency                       // MessageLatency is valid
)

// NoteCause is why a requester stepped back.
type NoteCause uint8

// The causes.
const (
	CauseNak NoteCause = iota
	CauseRNR
	CauseRead
	CauseTimeout
	CauseUnknown
	numCauses
)

var causeNames = [numCauses]string{"nak", "rnr", "read", "timeout", "unknown"}

func (c NoteCause) String() string { return causeNames[c] }

// NotePlace is where the packets went that a try sends again.
type NotePlace uint8

// The places.
const (
	PlaceBeforeTap NotePlace = iota
	PlaceAfterTap
	PlaceAnswer
	PlaceRefused
	PlaceUnknown
	numPlaces
)

var placeNames = [numPlaces]string{"before_tap", "after_tap", "answer", "refused", "unknown"}

func (p NotePlace) String() string { return placeNames[p] }

// NoteMode is what a requester sent again.
type NoteMode uint8

// The modes.
const (
	ModeUnknown NoteMode = iota // the pass was broken off
	ModeGoBackN
	ModeSelective
	ModeGoBack0
	numModes
)

var modeNames = [numModes]string{"unknown", "go_back_n", "selective", "go_back_0"}

func (m NoteMode) String() string { return modeNames[m] }

// Retransmission says whether the packet was sent again: a repeat or a fill.
func (n *Note) Retransmission() bool { return n.Verdict == VerdictRepeat || n.Verdict == VerdictFill }

// Has says whether a flag is set.
func (n *Note) Has(f NoteFlags) bool { return n.Flags&f != 0 }

// AppendText appends in a few words what is notable about the packet, nothing
// where nothing is: "repeat, try 1 (nak, before_tap)".
func (n *Note) AppendText(dst []byte) []byte {
	start := len(dst)
	say := func(words ...string) {
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		for _, w := range words {
			dst = append(dst, w...)
		}
	}
	switch n.Verdict {
	case VerdictOther, VerdictNew:
	case VerdictCopy:
		say("duplicate by the ", n.copiedBy())
	default:
		say(n.Verdict.String())
	}
	if n.Has(NoteFirstOfTry) {
		say("steps back")
	}
	if n.Try > 0 {
		say("try ")
		dst = appendUint(dst, uint64(n.Try))
		dst = append(append(append(dst, " ("...), n.Cause.String()...), ", "...)
		dst = append(append(dst, n.Place.String()...), ')')
	}
	if n.Has(NoteNamesLoss) {
		say("names a packet that went by")
	}
	if n.Has(NoteRefusal) {
		say("refusal")
	}
	if n.Rule != "" {
		say("breaks ", n.Rule)
	}
	return dst
}

func (n *Note) copiedBy() string {
	if n.Has(NoteByNetwork) {
		return "network"
	}
	return "capture"
}
