package record

import "github.com/rocelens/rocelens/pipeline/sketch"

// Congestion is what ECN marks and CNPs say of what one side sent, and of how
// it took them. It counts neither copies nor packets with a wrong ICRC.
type Congestion struct {
	Marks MarkSight
	// DataMarked are the requests and READ responses of this side that are
	// marked CE at the tap, AcksMarked its acknowledgements, CNPsMarked the CNPs
	// that it sent.
	DataMarked, AcksMarked, CNPsMarked uint64
	// CNPs told this side to slow down, after the other direction of the
	// session was known, and Unmarked of them came without a mark before.
	CNPs, Unmarked uint64

	NPDelay  sketch.Histogram // last marked data packet to the CNP
	MarkWait sketch.Histogram // first one since the CNP before
	Spacing  sketch.Histogram // between CNPs
	Pacing   Pacing

	Reaction Reaction
	// Slowed is how often this side became slow after a CNP, Recovered how
	// often it was as fast again as before. Depth is the lowest rate as a share
	// of the rate before, 0 where it was never slow.
	Slowed, Recovered uint64
	Depth             float64
	ToSlow            sketch.Histogram // CNP to the end of the first slow window
	ToRecover         sketch.Histogram // from there to the end of the first window that is not
}

// MarkSight says what the tap sees of the marks that CNPs are about.
type MarkSight uint8

// What can be.
const (
	MarksNone   MarkSight = iota // there are CNPs, and no mark: it is set behind the tap
	MarksSeen                    // some
	MarksHidden                  // the data is not in the capture, or was not matched with the CNPs
)

func (m MarkSight) String() string { return [...]string{"none", "seen", "hidden"}[m] }

// Pacing is what the times between CNPs fit: a least time for each QP, for each
// destination, or for the whole port of their sender. They fit several where
// nothing tells them apart, as with a single QP.
type Pacing struct {
	Known                 bool // there were enough of them
	QP, Destination, Port bool
	Interval              int64 // ns, of the widest that fits
}

// Reaction is what a side did on CNPs.
type Reaction uint8

// The reactions.
const (
	NoCNP           Reaction = iota
	ReactionUnknown          // its rate before a CNP is not known
	ReactionNone             // its rate did not fall
	ReactionSlowed
)

func (r Reaction) String() string { return [...]string{"", "unknown", "none", "slowed"}[r] }

// The kinds of events of congestion.
const (
	KindCE        EventKind = "ce"
	KindCNP       EventKind = "cnp"
	KindSlow      EventKind = "slow"
	KindRecovered EventKind = "recovered"
)

// CE is a run of data packets that are marked.
type CE struct {
	PSN     uint32 `json:"psn"` // of the first
	Lasted  int64  `json:"lasted_ns"`
	Packets uint64 `json:"-"` // the event's count
	Began   int64  `json:"-"`
}

// CNP is a run of CNPs to one sender.
type CNP struct {
	Delay  *int64 `json:"np_delay_ns"` // of the first, nil without a mark before it
	Lasted int64  `json:"lasted_ns"`
	CNPs   uint64 `json:"-"` // the event's count
	Began  int64  `json:"-"`
}

// Slow says that a sender became slow after a CNP.
type Slow struct {
	Took  int64   `json:"cnp_to_slow_ns"`
	Share float64 `json:"share"`    // of the rate before
	Rate  float64 `json:"rate_bps"` // before
}

// Recovered says that it is about as fast again as before.
type Recovered struct {
	Took  int64   `json:"slow_to_recover_ns"`
	Depth float64 `json:"depth"` // the lowest rate meanwhile, as a share of that before
}

// Kind is KindCE.
func (*CE) Kind() EventKind { return KindCE }

// Kind is KindCNP.
func (*CNP) Kind() EventKind { return KindCNP }

// Kind is KindSlow.
func (Slow) Kind() EventKind { return KindSlow }

// Kind is KindRecovered.
func (Recovered) Kind() EventKind { return KindRecovered }
