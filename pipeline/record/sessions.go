package record

import "iter"

// Sessions is a list of sessions. There can be a million of them, so each may
// be made only when it is asked for.
type Sessions struct {
	n     int
	list  []Session // all of them, or
	fill  func(i int, s *Session)
	plain func(i int) bool
}

// SessionsOf is the list of the sessions given, which it does not copy.
func SessionsOf(list ...Session) Sessions {
	return Sessions{n: len(list), list: list}
}

// MakeSessions is a list of n sessions that fill fills in, each over an empty
// one. plain says which of them have nothing to tell beyond their figures.
func MakeSessions(n int, fill func(i int, s *Session), plain func(i int) bool) Sessions {
	return Sessions{n: n, fill: fill, plain: plain}
}

// Len is the number of sessions.
func (l Sessions) Len() int { return l.n }

// At is the session at an index. Twice the same may be two copies.
func (l Sessions) At(i int) *Session {
	if l.fill == nil {
		return &l.list[i]
	}
	s := new(Session)
	l.fill(i, s)
	return s
}

// All are the sessions in order, each valid until the next.
func (l Sessions) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		var one *Session
		if l.fill != nil {
			one = new(Session)
		}
		for i := range l.n {
			s := one
			if s == nil {
				s = &l.list[i]
			} else {
				*s = Session{}
				l.fill(i, s)
			}
			if !yield(s) {
				return
			}
		}
	}
}

// Plain says that a session is known to have nothing to tell beyond its
// figures: paired, answered, and nothing sent again, lost or refused.
func (l Sessions) Plain(i int) bool { return l.plain != nil && l.plain(i) }
