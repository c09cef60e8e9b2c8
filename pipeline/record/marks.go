package record

import (
	"slices"
	"strings"
)

// Marks are what conclusions need of the events of a stream, whether or not
// there was room for the events: sums, and first frames.
type Marks struct {
	Firsts     []FirstOfKind
	FirstTries []FirstTry        // RNR aside
	Waited     int64             // ns, before tries by timeout
	Timeouts   [NumPlaces]uint64 // tries by timeout
	// RNRTimers are the ns that RNR NAKs asked for, RNRResent is what was sent
	// again after them, and RNRWasted the packets of those that the tap had
	// seen.
	RNRTimers int64
	RNRResent Amount
	RNRWasted uint64
	// ReadsAfter are READs and atomics of which request or answer was lost
	// behind the tap, AnswersAfter those of them whose answer it was.
	ReadsAfter, AnswersAfter uint64
	GaveUp                   uint64   // tries that ended in nothing
	Run, Outage              Outage   // the tries under way, and the longest
	Retrying                 Retrying // the last tries
	Partly                   uint64   // tries whose answer was lost, and what came behind it may have been
	Broken                   []BrokenRule
}

// FirstOfKind is the frame of the first event of a kind.
type FirstOfKind struct {
	Kind  EventKind
	Frame FrameRef
}

// TryKind is what is told of tries apart from one another: a try is of several
// kinds, and one after an RNR NAK of none.
type TryKind uint8

// The kinds.
const (
	AnyTry TryKind = iota
	TimeoutTry
	LostBeforeTry     // it repaired what was missing at the tap
	BrokeOffTry       // requests were missing at the tap, or not sent yet
	ResponseBeforeTry // READ or atomic responses were missing at the tap
	LostAfterTry      // something was lost behind the tap
	AnsweredTry       // what was sent again had arrived, and no answer of a READ was lost
)

// FirstTry is the frame of the first try of a kind.
type FirstTry struct {
	Kind  TryKind
	Frame FrameRef
}

// BrokenRule says how often a rule of the transport was broken.
type BrokenRule struct {
	Rule string
	N    uint64
}

// Outage is a run of tries by timeout that all began at one PSN: nothing got
// through meanwhile.
type Outage struct {
	PSN   uint32
	N     uint64
	Begun int64 // the silence before the first
	Last  int64
	First FrameRef
}

// Lasted is how long, in ns.
func (o *Outage) Lasted() int64 { return o.Last - o.Begun }

// next takes the next try of a stream into account. What is not known to be a
// timeout turns out to be one once the first answer is seen.
func (o *Outage) next(e *Event, d *Try) {
	switch {
	case d.Cause != CauseTimeout && d.Cause != CauseUnknown || d.Place == Answer: // something got through
		*o = Outage{}
		return
	case o.N == 0 || o.PSN != d.PSN:
		*o = Outage{PSN: d.PSN, Begun: e.Time - d.Silence, First: e.Frame}
	}
	o.N += max(e.Count, 1)
	o.Last = e.Time
}

// Retrying is a run of tries that all began at one PSN, on a timeout or after an
// RNR NAK.
type Retrying struct {
	PSN   uint32
	N     uint64
	RNR   bool
	First FrameRef
	Last  int64
	RNRAt int64 // the newest RNR NAK of the stream
}

// next takes the next try of a stream into account.
func (r *Retrying) next(e *Event, d *Try) {
	rnr := d.Cause == CauseRNR
	if d.Cause != CauseTimeout && d.Cause != CauseUnknown && !rnr {
		r.N = 0
		return
	}
	if r.N == 0 || r.PSN != d.PSN || r.RNR != rnr {
		*r = Retrying{PSN: d.PSN, RNR: rnr, First: e.Frame, RNRAt: r.RNRAt}
	}
	r.N += max(e.Count, 1)
	r.Last = e.Time
}

// Marked says whether Marks have something of the events of that kind.
func Marked(d Detail) bool {
	switch d.(type) {
	case *Try, RNRNak, CaptureLoss, Reorder, Undecided, RetryExhausted, ProtocolError, *CE, *CNP:
		return true
	}
	return false
}

// First is the frame of the first event of a kind, if there was one.
func (m *Marks) First(kind EventKind) (FrameRef, bool) {
	for i := range m.Firsts {
		if m.Firsts[i].Kind == kind {
			return m.Firsts[i].Frame, true
		}
	}
	return FrameRef{}, false
}

// FirstTry is the frame of the first try of a kind, if there was one. Of several
// kinds it is the first one that there was.
func (m *Marks) FirstTry(kinds ...TryKind) (FrameRef, bool) {
	for _, k := range kinds {
		for i := range m.FirstTries {
			if m.FirstTries[i].Kind == k {
				return m.FirstTries[i].Frame, true
			}
		}
	}
	return FrameRef{}, false
}

// Tried takes into account that a try is of a kind.
func (m *Marks) Tried(kind TryKind, frame FrameRef) {
	switch at := slices.IndexFunc(m.FirstTries, func(f FirstTry) bool { return f.Kind == kind }); {
	case at < 0:
		m.FirstTries = append(m.FirstTries, FirstTry{kind, frame})
	case frame.Before(m.FirstTries[at].Frame):
		m.FirstTries[at].Frame = frame
	}
}

// Add takes the next event of the stream into account, as it turned out to be.
func (m *Marks) Add(e *Event) {
	kind := e.Detail.Kind()
	switch at := slices.IndexFunc(m.Firsts, func(f FirstOfKind) bool { return f.Kind == kind }); {
	case at < 0:
		m.Firsts = append(m.Firsts, FirstOfKind{kind, e.Frame})
	case e.Frame.Before(m.Firsts[at].Frame):
		m.Firsts[at].Frame = e.Frame
	}
	switch d := e.Detail.(type) {
	case RNRNak:
		m.Retrying.RNRAt = max(m.Retrying.RNRAt, e.Time)
		m.RNRTimers += d.Timer * int64(max(e.Count, 1))
	case *Try:
		m.try(e, d)
	case RetryExhausted:
		if !d.RNR {
			m.GaveUp += uint64(d.Tries)
		}
	case ProtocolError:
		m.Broke(d.Rule, max(e.Count, 1))
	}
}

// Broke counts packets that broke a rule.
func (m *Marks) Broke(rule string, n uint64) {
	at := slices.IndexFunc(m.Broken, func(b BrokenRule) bool { return b.Rule == rule })
	if at < 0 {
		at = len(m.Broken)
		m.Broken = append(m.Broken, BrokenRule{Rule: rule})
	}
	m.Broken[at].N += n
}

func (m *Marks) try(e *Event, d *Try) {
	if m.Run.next(e, d); m.Run.N > 0 && m.Run.Lasted() > m.Outage.Lasted() {
		m.Outage = m.Run
	}
	m.Retrying.next(e, d)
	if d.Partly {
		m.Partly += max(e.Count, 1)
	}
	if d.Cause == CauseRNR {
		m.RNRResent.Packets += d.Resent.Packets
		m.RNRResent.Bytes += d.Resent.Bytes
		m.RNRWasted += d.Wasted.Packets
		return
	}
	m.Tried(AnyTry, e.Frame)
	owing := strings.Contains(d.Opcode, "READ_REQUEST") || strings.Contains(d.Opcode, "CMP_SWAP") || strings.Contains(d.Opcode, "FETCH_ADD")
	switch {
	case d.LostBefore > 0:
		m.Tried(LostBeforeTry, e.Frame)
	case d.Place == BeforeTap && owing:
		m.Tried(ResponseBeforeTry, e.Frame)
	case d.Place == BeforeTap:
		m.Tried(BrokeOffTry, e.Frame)
	}
	switch {
	case d.LostAfter > 0:
		m.Tried(LostAfterTry, e.Frame)
	case d.Place == Answer:
		m.Tried(AnsweredTry, e.Frame)
	}
	if owing {
		m.ReadsAfter += d.LostAfter
		if d.Place == Answer {
			m.AnswersAfter += d.LostAfter
		}
	}
	if d.Cause == CauseTimeout {
		m.Tried(TimeoutTry, e.Frame)
		m.Waited += d.Silence * int64(max(e.Count, 1))
		m.Timeouts[d.Place] += max(e.Count, 1)
	}
}

// Fatal says whether an event ends a connection, or keeps it from coming
// about.
func Fatal(d Detail) bool {
	switch d := d.(type) {
	case RetryExhausted, Failed, Reject:
		return true
	case Nak:
		return d.Code != "sequence"
	case Connect:
		return !d.Answered
	}
	return false
}
