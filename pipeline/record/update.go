package record

// SessionUpdate is what is known of a session by now. A session may be told
// several times while it lasts, and the last update has all of it. Its First
// tells it from all others: a frame begins one session at most.
type SessionUpdate struct {
	*Session
	End SessionEnd
}

// SessionEnd says why nothing more is told of a session.
type SessionEnd uint8

// The ends.
const (
	SessionGoesOn   SessionEnd = iota // it has not ended
	SessionReplaced                   // a QPN of it has begun another life
	SessionSilent                     // nothing was heard of it for long
	SessionEvicted                    // it was forgotten to make room
	SessionCaptured                   // the capture ended
	// SessionJoined takes back what was told before under that ID: it turned out to
	// be the other flow of another session, or to have another ID, under which all
	// that was in it is told.
	SessionJoined
)

func (e SessionEnd) String() string {
	return [...]string{"goes_on", "replaced", "silent", "evicted", "capture_end", "joined"}[e]
}
