package correlate

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Result is what became of packets between taps. Times are those of the clock
// of the first tap that has packets in common with another one, unless they are
// said to be of a tap's own.
type Result struct {
	Taps   []Tap
	Clocks []Clock // of taps that have packets in common, each pair once
	Paths  []Path
	Hops   []Hop
	Flows  []Flow // that were seen at two taps or more
	Losses []Loss // the first ones, in the order of time
	// LossesLeftOut are those that are counted and not listed.
	LossesLeftOut uint64
	// Alone are the packets of flows that only one tap saw.
	Alone Alone
	// Window is how long packets were waited for at least, in ns: less than
	// asked for where memory ran short. Shortened counts the packets that
	// could not be waited for long enough.
	Window    int64
	Shortened uint64
	// ByTime counts the packets that nothing but the time tells from others
	// like them: those with equal headers that were sent again without an IP ID
	// of their own.
	ByTime    uint64
	SameClock bool
	InOrder   bool
}

// Tap is one capture point.
type Tap struct {
	Inputs      []capture.Input
	Packets     uint64 // all frames
	RoCE        uint64 // RoCE packets with a BTH
	First, Last int64  // of its own clock, valid where Packets is not 0
	// Aligned says whether its clock could be set against the first tap's.
	Aligned bool
	// Resolution is that of its time stamps in ns, as far as they show it.
	Resolution int64
	// Doubled says that it has most packets twice.
	Doubled bool
	// Duplicates are packets that it had more than once, as it seems by its own
	// doing; Missed are those that it did not have though taps on both sides
	// had them.
	Duplicates uint64
	Missed     uint64
	// Answered are packets that it did not have and that were answered without
	// having been sent again: they did arrive.
	Answered uint64
	// Unplaced counts packets of flows beyond those that memory was for.
	Unplaced uint64
}

// Method is how clocks were set against each other.
type Method uint8

// The methods.
const (
	NoClock   Method = iota
	TwoWay           // by the fastest packets of both directions
	OneWay           // by the fastest ones of one direction
	OneWayBad        // likewise, and no header tells which tap comes first
	Same             // the taps have one clock
	Spread           // by the middle of both directions: time stamps are too coarse or unsteady for more
)

var methodNames = [...]string{"none", "two_way", "one_way", "one_way_unsure", "same_clock", "spread"}

func (m Method) String() string { return methodNames[m] }

// Clock says how the clock of tap B differs from that of tap A.
type Clock struct {
	A, B   int
	Method Method
	// Offset is what B's clock shows more than A's, at the time At of A's.
	Offset, At int64
	// Uncertainty bounds the error of Offset, in ns: half of the shortest round
	// trip between the taps. It is unknown (-1) where packets were common in one
	// direction only: then the path's least delay is part of Offset.
	Uncertainty int64
	// Drift is how much faster B's clock runs, in parts per million, and
	// DriftUncertainty bounds its error, -1 if it is unknown.
	Drift, DriftUncertainty float64
	// RoundTrip is the shortest one between the taps, -1 if unknown.
	RoundTrip int64
	// Contradicted is the offset that packets of both directions say where the
	// taps are said to have one clock; 0 if they agree.
	Contradicted int64
	// Samples are the packets that this rests on, of each direction: A first,
	// B first, not known.
	Samples [3]uint64
}

// Sureness is how sure the order of taps on a path is.
type Sureness uint8

// The ways to tell the order, the least sure first.
const (
	Assumed  Sureness = iota // the order of the command line: nothing tells
	Alike                    // as of others with the same sender or receiver
	ByLosses                 // what one tap misses, the other has, and not the other way round
	Given                    // the user said so
	ByDelay                  // packets of both directions, or a common clock
	ByMarks                  // CE comes on the way, and never goes
	ByTTL                    // the hop limit goes down
)

var surenessNames = [...]string{"assumed", "alike", "losses", "given", "delay", "marks", "ttl"}

func (s Sureness) String() string { return surenessNames[s] }

// Sure says whether the order is beyond doubt.
func (s Sureness) Sure() bool { return s >= Given }

// Path is an order of taps, and who is told by it.
type Path struct {
	Taps []int
	// Sureness is that of the least sure pair of hosts on it.
	Sureness Sureness
	// Pairs counts pairs of addresses, one direction each, and Flows those
	// towards one QP.
	Pairs, Flows int
	// Conflicts counts pairs of addresses of which TTLs say one order and
	// delays the other.
	Conflicts int
	Src, Dst  decode.Addr // of the first pair, as an example
	Kind      decode.AddrKind
}

// Hop is what happened from one tap to the next one on a path, all flows
// together.
type Hop struct {
	Up, Down int // taps
	Path     int // one of those that it is part of
	Flows    int
	Counts
	// DelayKnown says whether delays are absolute; otherwise they are those
	// above the fastest packet's. DelayError bounds their error, -1 if unknown.
	DelayKnown bool
	DelayError int64
}

// Counts are figures of a hop, of all flows or of one.
type Counts struct {
	Upstream uint64 // packets that the upstream tap had while both captured
	Matched  uint64 // of all, those that both had
	Lost     Lost
	// Appeared were not seen upstream: the upstream tap lost them, or they come
	// from elsewhere.
	Appeared   uint64
	Duplicated uint64 // copies made on the way
	Reordered  uint64 // arrived behind one that left later
	// Outside are packets that one tap had while the other was not capturing, or
	// might not have been yet or any more.
	Outside   uint64
	Marked    uint64 // CE only downstream
	Unmarked  uint64 // CE only upstream
	DSCP      Change
	Priority  Change
	Corrupted uint64 // ICRC good upstream, bad downstream
	CorruptUp uint64 // bad at both
	// TTL counts packets by how much less it was downstream. This, DSCP, Priority
	// and marks leave packets out that nothing but the time tells from others, see
	// Result.ByTime.
	TTL         [4]uint64
	TTLOdd      uint64 // it went down by 4 or more, or up
	Delay       sketch.Histogram
	DelayMin    int64 // signed, valid where Delay.Count is not 0
	Negative    uint64
	Tries       uint64 // of requesters that went back because of packets lost here
	AnswerTries uint64 // likewise because of lost answers
	FirstMark   record.FrameRef
	FirstBad    record.FrameRef
}

// Lost are packets that did not come to the next tap.
type Lost struct {
	SentAgain uint64 // sure losses
	// Open are packets that nobody sends again, or that were not sent again:
	// answers, CNPs, datagrams, and the last ones before the end.
	Open uint64
	// Answered were answered without being sent again: the downstream tap lost
	// them, or they took another way. They are not in Network.
	Answered uint64
}

// Network is how many were lost as far as can be told.
func (l *Lost) Network() uint64 { return l.SentAgain + l.Open }

// Change is a field that differs downstream.
type Change struct {
	Packets  uint64
	From, To uint8 // of the first one
}

// Flow is one direction towards a QP, see the package track.
type Flow struct {
	Src, Dst decode.Addr
	Kind     decode.AddrKind
	DestQP   uint32
	SrcQP    uint32 // of datagrams
	Path     int
	Taps     []int // of the path, those that saw it
	Hops     []FlowHop
	Packets  uint64 // at the tap that saw most
	// Tries are how often its requester went back. TriesBefore were because of
	// packets that were missing at the first tap already; the rest of those that
	// no hop accounts for lie behind the last tap or had no loss at all.
	Tries, TriesBefore uint64
	// LostBefore counts the packets that were missing at the first tap of the
	// path and that the requester went back for.
	LostBefore uint64
	IPID       bool // its IP IDs tell packets apart
}

// FlowHop is a hop of a flow.
type FlowHop struct {
	Hop int // index into Result.Hops
	Counts
}

// Loss is one packet that was lost on a hop.
type Loss struct {
	Hop    int // index into Result.Hops
	Flow   int // index into Result.Flows
	Time   int64
	Frame  record.FrameRef // at the upstream tap, of its inputs and clock
	Opcode decode.Opcode
	PSN    uint32
	IPID   uint16
	Fate   Fate
}

// Fate is what became of a packet that did not come to the next tap.
type Fate uint8

// The fates.
const (
	FateOpen Fate = iota
	FateSentAgain
	FateAnswered
)

var fateNames = [...]string{"open", "sent_again", "answered"}

func (f Fate) String() string { return fateNames[f] }

// Alone counts what only one tap saw.
type Alone struct {
	Flows   [MaxTaps]int
	Packets [MaxTaps]uint64
}
