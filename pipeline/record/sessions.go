package record

import "iter"

// Sessions is a list of sessions. There can be a million of them, so each may
// be made only when it is asked for.
type Sessions struct {
	n     int
	at    func(i int) *Session
	plain func(i int) bool
}

// SessionsOf is the list of the sessions given, which it does not copy.
func SessionsOf(list ...Session) Sessions {
	return Sessions{n: len(list), at: func(i int) *Session { return &list[i] }}
}

// MakeSessions is a list of n sessions that at makes. plain says which of them
// have nothing to tell beyond their figures; it may be nil.
func MakeSessions(n int, at func(i int) *Session, plain func(i int) bool) Sessions {
	return Sessions{n: n, at: at, plain: plain}
}

// Len is the number of sessions.
func (l Sessions) Len() int { return l.n }

// At is the session at an index. Twice the same may be two copies.
func (l Sessions) At(i int) *Session { return l.at(i) }

// All are the sessions in order.
func (l Sessions) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range l.n {
			if !yield(l.at(i)) {
				return
			}
		}
	}
}

// Plain says that a session is known to have nothing to tell beyond its
// figures: paired, answered, and nothing sent again, lost or refused.
func (l Sessions) Plain(i int) bool { return l.plain != nil && l.plain(i) }
