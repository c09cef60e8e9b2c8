package track

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Records are the records of trackers that are closed, each of which had some
// pairs of addresses: sessions in the order of their first packets, events in
// order of time and at most as many as the Config given allows, and how many
// events were left out.
func Records(cfg Config, trackers ...*Tracker) (sessions record.Sessions, events []record.Event, leftOut uint64) {
	joinSources(trackers)
	cfg.Notes.finish()
	var rows []sessionRow
	n := 0
	for _, t := range trackers {
		n += len(t.events)
		leftOut += t.leftOut
	}
	all := make([]event, 0, n)
	for _, t := range trackers {
		all = append(all, t.events...)
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	if over := len(all) - cfg.MaxEvents; over > 0 {
		leftOut += uint64(over)
		all = all[:cfg.MaxEvents]
	}
	if len(all) > 0 {
		events = make([]record.Event, len(all))
	}
	for i := range all {
		events[i] = all[i].record()
	}
	lists := make([][]sessionRow, 0, len(trackers))
	for _, t := range trackers {
		lists = append(lists, t.rows)
	}
	rows = mergeRows(lists)
	return listOf(rows), events, leftOut
}

// joinSources sums up how many destinations a sender of datagrams has.
func joinSources(trackers []*Tracker) {
	all := map[sourceKey]int{}
	for _, t := range trackers {
		for k, s := range t.sources {
			all[k] += s.destinations
		}
	}
	for _, t := range trackers {
		for k, s := range t.sources {
			s.destinations = all[k]
		}
	}
}

// record is the event's record, once it is settled.
func (e *event) record() record.Event {
	r := record.Event{Time: e.time, Frame: e.frame, Count: 1, Detail: e.detail, Session: e.session, Stream: e.index}
	switch {
	case e.conn == nil:
	case e.conn.life != nil:
		r.Session = e.conn.life.began.sessionName()
	default:
		r.Session = e.conn.id
	}
	return r
}

// mergeRows merges lists that are each in the order of sessions.
func mergeRows(lists [][]sessionRow) []sessionRow {
	for len(lists) > 1 {
		half := (len(lists) + 1) / 2
		for i := range len(lists) / 2 {
			lists[i] = mergeTwo(lists[i], lists[half+i])
		}
		lists = lists[:half]
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

func mergeTwo(a, b []sessionRow) []sessionRow {
	if len(a) == 0 {
		return b
	}
	out := make([]sessionRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].compare(a[0]) < 0 {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

// fewSessions is how many sessions are made at once, and not each when it is
// asked for.
const fewSessions = 1 << 12

func listOf(rows []sessionRow) record.Sessions {
	if len(rows) > fewSessions {
		return record.MakeSessions(len(rows), func(i int, s *record.Session) { rows[i].fill(s) }, func(i int) bool { return rows[i].plain() })
	}
	all := make([]record.Session, len(rows))
	for i, r := range rows {
		r.fill(&all[i])
	}
	return record.SessionsOf(all...)
}

// sessionRow is a session as the tracker has it: a flow that began it, or what
// CM said of one without packets.
type sessionRow struct {
	time int64 // of the first packet
	f    *flow
	s    *record.Session
}

func rowOf(f *flow, s *record.Session) sessionRow {
	r := sessionRow{f: f, s: s}
	r.time = r.first().Time
	return r
}

func (r sessionRow) first() record.FrameRef {
	if r.f == nil {
		return r.s.First
	}
	if g := r.f.peer; g != nil && g.first.before(r.f.first) {
		return g.first.ref()
	}
	return r.f.first.ref()
}

func (r sessionRow) compare(o sessionRow) int {
	if r.time != o.time {
		return cmp.Compare(r.time, o.time)
	}
	x, y := r.first(), o.first()
	switch {
	case x == y:
		return 0
	case x.Before(y):
		return -1
	}
	return 1
}

func (r sessionRow) fill(s *record.Session) {
	if r.f == nil {
		*s = *r.s
		return
	}
	session(r.f, s)
}

// plain says whether the session has nothing to tell beyond its figures.
func (r sessionRow) plain() bool {
	f := r.f
	return f != nil && f.peer != nil && f.trouble == nil && f.peer.trouble == nil && (f.req.heard || f.peer.req.heard) &&
		f.life.conn == nil && f.life.state == record.StateOpen && f.life.incarnation == 1
}
