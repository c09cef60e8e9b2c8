package record

// Service is the transport service.
type Service uint8

// The services.
const (
	ServiceUnknown Service = iota
	RC
	UC
	RD
	UD
	XRC
)

func (s Service) String() string { return [...]string{"unknown", "RC", "UC", "RD", "UD", "XRC"}[s] }

// Version is how the transport is carried.
type Version uint8

// The versions.
const (
	V1 Version = iota // ethertype 0x8915
	V2                // UDP
	IB                // native InfiniBand
)

func (v Version) String() string { return [...]string{"v1", "v2", "ib"}[v] }

// PairingMethod is how two flows were found to be one session.
type PairingMethod uint8

// The methods, the least sure first.
const (
	PairNone PairingMethod = iota // the other direction was not found
	PairOnly                      // one candidate each way, and nothing against it
	PairPort                      // the UDP source port is the one that both QPNs give
	PairAck                       // answers fall into the window of one candidate alone
	PairCM                        // REQ and REP name both
)

func (m PairingMethod) String() string {
	return [...]string{"none", "only", "port", "ack", "cm"}[m]
}

// State is what became of a session.
type State uint8

// The states.
const (
	StateOpen       State = iota // to the end of the capture
	StateClosed                  // disconnected, or its QPN began a new life
	StateFailed                  // the requester gave up, or the responder refused for good
	StateUnanswered              // requests without any answer, where answers would be seen
)

func (s State) String() string { return [...]string{"open", "closed", "failed", "unanswered"}[s] }

// Failure is why a session failed.
type Failure uint8

// The failures. Those from FailedInvalidRequest on are NAKs, in the order of
// their codes.
const (
	NoFailure        Failure = iota
	FailedRetries            // retries exhausted without an answer
	FailedRNR                // RNR retries exhausted
	FailedUnseen             // one or the other: answers are not in the capture
	FailedConnection         // the connection was refused
	FailedInvalidRequest
	FailedRemoteAccess
	FailedRemoteOperational
	FailedInvalidRDRequest
	numFailures
)

func (f Failure) String() string {
	return [...]string{
		"", "retry_exhausted", "rnr_exhausted", "gave_up", "connection_refused",
		"invalid_request", "remote_access", "remote_operational", "invalid_rd_request",
	}[f]
}

// FailureNames are those of all failures.
func FailureNames() []string {
	names := make([]string, 0, numFailures)
	for f := NoFailure + 1; f < numFailures; f++ {
		names = append(names, f.String())
	}
	return names
}

// Refused says that the responder ended the session, with a NAK.
func (f Failure) Refused() bool { return f >= FailedInvalidRequest }

// Vantage is where the tap was.
type Vantage uint8

// The vantages.
const (
	VantageUnknown   Vantage = iota
	VantageRequester         // no router between A and the tap
	VantageResponder         // none between the tap and B
	VantageBetween           // routers on both sides
)

func (v Vantage) String() string {
	return [...]string{"", "requester", "responder", "between"}[v]
}

// MessageKind is what a request message does.
type MessageKind uint8

// The kinds of messages.
const (
	Send MessageKind = iota
	Write
	Read
	Atomic
	NumMessageKinds
)

func (k MessageKind) String() string { return [...]string{"send", "write", "read", "atomic"}[k] }

// Cause is why a requester went back.
type Cause uint8

// The causes; the first that fits is a try's.
const (
	CauseNak Cause = iota
	CauseRNR
	CauseRead
	CauseTimeout
	CauseUnknown
	NumCauses
)

func (c Cause) String() string { return [...]string{"nak", "rnr", "read", "timeout", "unknown"}[c] }

// Place is where the packets of a try went.
type Place uint8

// The places.
const (
	BeforeTap Place = iota
	AfterTap
	Answer
	Refused
	PlaceUnknown
	NumPlaces
)

func (p Place) String() string {
	return [...]string{"before_tap", "after_tap", "answer", "refused", "unknown"}[p]
}

// Mode is what a requester sent again.
type Mode uint8

// The modes.
const (
	ModeUnknown Mode = iota // the pass was broken off
	GoBackN                 // everything up to the old maximum
	Selective               // only what was missing
	GoBack0                 // from the first packet of the message
	NumModes
)

func (m Mode) String() string {
	return [...]string{"unknown", "go_back_n", "selective", "go_back_0"}[m]
}
