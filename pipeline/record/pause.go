package record

import "github.com/rocelens/rocelens/decode"

// Pauser is who tells the other end of a link to pause: a sender of PFC or
// PAUSE frames, at the place where they were captured.
type Pauser struct {
	Input, Interface int32
	Name             string // of the interface, as the capture has it, or ""
	MAC              decode.MAC
	PFC              bool // otherwise 802.3x PAUSE, which stops all traffic
}

// PauseInterval is the time from a frame that stops a priority until it may go
// on. A frame that comes while it is stopped replaces the time of the one
// before, and adds none to it.
type PauseInterval struct {
	Pauser
	Priority uint8 // 0 with PAUSE
	Start    FrameRef
	Paused   int64  // ns
	Frames   uint64 // that stop it, the first one included
	Quanta   uint64 // their times, summed up
	End      PauseEnd
	Storm    bool // it is part of a storm
}

// PauseEnd is what ended a pause.
type PauseEnd uint8

// The ends.
const (
	PauseResumed  PauseEnd = iota // by a frame with quanta 0
	PauseExpired                  // its time was up
	PauseCaptured                 // not before the end of the capture
)

func (e PauseEnd) String() string { return [...]string{"xon", "expired", "capture_end"}[e] }

// The kinds of events that are of no session.
const (
	KindPause EventKind = "pause"
	KindStorm EventKind = "storm"
)

// Pauses are one pause of a priority, or a run of them, one after the other.
// The event's count says how many.
type Pauses struct {
	Pauser
	Priority uint8
	Lasted   int64 // ns, from the first one's start to the last one's end
	Paused   int64 // ns, without what is between them
	Longest  int64 // ns, of one
	Frames   uint64
	Quanta   uint64
	End      PauseEnd // of the last one
}

// Storm says that a sender kept priorities paused for too long. Those of one
// sender that are paused at the same time are one storm.
type Storm struct {
	Pauser
	Priorities []StormPriority
	Lasted     int64 // ns, from the first pause's start to the last one's end
	Ended      bool  // before the end of the capture
}

// StormPriority is what a storm did to one priority, the only one with PAUSE.
type StormPriority struct {
	Priority   uint8
	Start, End int64  // ns since the epoch
	Paused     int64  // ns
	Frames     uint64 // that stop it
}

// Kind is KindPause.
func (*Pauses) Kind() EventKind { return KindPause }

// Kind is KindStorm.
func (*Storm) Kind() EventKind { return KindStorm }
