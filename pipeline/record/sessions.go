package record

import "iter"

// Sessions is a list of sessions. There can be a million of them, so each may
// be made only when it is asked for.
type Sessions struct {
	n      int
	list   []Session // all of them, or
	source Source
}

// Source makes sessions, each by its index and in an empty Session.
type Source struct {
	Fill func(i int, s *Session)
	// Figures is Fill without what takes most of the time: no ID, no DSCPs, no
	// histogram, and no Vantage.
	Figures func(i int, s *Session)
	// Plain says that a session has nothing to tell beyond its figures.
	Plain func(i int) bool
}

// SessionsOf is the list of the sessions given, which it does not copy.
func SessionsOf(list ...Session) Sessions {
	return Sessions{n: len(list), list: list}
}

// MakeSessions is a list of n sessions from a source.
func MakeSessions(n int, source Source) Sessions {
	return Sessions{n: n, source: source}
}

// With is the same list, where each session that is filled in has complete
// called on it as well.
func (l Sessions) With(complete func(s *Session)) Sessions {
	fill := l.source.Fill
	if fill == nil {
		for i := range l.list {
			complete(&l.list[i])
		}
		return l
	}
	l.source.Fill = func(i int, s *Session) {
		fill(i, s)
		complete(s)
	}
	return l
}

// Len is the number of sessions.
func (l Sessions) Len() int { return l.n }

// At is the session at an index. Twice the same may be two copies.
func (l Sessions) At(i int) *Session {
	if l.source.Fill == nil {
		return &l.list[i]
	}
	s := new(Session)
	l.source.Fill(i, s)
	return s
}

// All are the sessions in order, each valid until the next.
func (l Sessions) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, s := range l.each(l.source.Fill) {
			if !yield(s) {
				return
			}
		}
	}
}

// Figures are the sessions with their indices, each valid until the next, for
// who needs only ends, states and counts: what Source.Figures leaves out may be
// missing.
func (l Sessions) Figures() iter.Seq2[int, *Session] { return l.each(l.source.Figures) }

func (l Sessions) each(fill func(i int, s *Session)) iter.Seq2[int, *Session] {
	return func(yield func(int, *Session) bool) {
		var one *Session
		if fill != nil {
			one = new(Session)
		}
		for i := range l.n {
			s := one
			if s == nil {
				s = &l.list[i]
			} else {
				*s = Session{}
				fill(i, s)
			}
			if !yield(i, s) {
				return
			}
		}
	}
}

// Notable are the sessions in order that are not plain, with their indices.
func (l Sessions) Notable() iter.Seq2[int, *Session] {
	return func(yield func(int, *Session) bool) {
		for i := range l.n {
			if !l.Plain(i) && !yield(i, l.At(i)) {
				return
			}
		}
	}
}

// Only is the list of the sessions at some indices, in that order.
func (l Sessions) Only(at []int) Sessions {
	if l.source.Fill == nil {
		list := make([]Session, len(at))
		for i, j := range at {
			list[i] = l.list[j]
		}
		return SessionsOf(list...)
	}
	return MakeSessions(len(at), Source{
		Fill:    func(i int, s *Session) { l.source.Fill(at[i], s) },
		Figures: func(i int, s *Session) { l.source.Figures(at[i], s) },
		Plain:   func(i int) bool { return l.Plain(at[i]) },
	})
}

// Plain says that a session is known to have nothing to tell beyond its
// figures: paired, answered, and nothing sent again, lost or refused.
func (l Sessions) Plain(i int) bool { return l.source.Plain != nil && l.source.Plain(i) }
