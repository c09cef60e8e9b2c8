package track

import (
	"cmp"
	"container/heap"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Records are the records of trackers that are closed, each of which had some
// pairs of addresses: sessions in the order of their first packets, events in
// order of time and at most as many as the Config given allows, failures before
// others, and how many events were left out. What intervals there are still to
// tell of goes to Config.Intervals.
func Records(cfg Config, trackers ...*Tracker) (sessions record.Sessions, events []record.Event, leftOut uint64) {
	joinSources(trackers)
	joinCNPs(trackers)
	cfg.Notes.finish()
	for _, t := range trackers {
		t.intervals.finish()
	}
	n := 0
	for _, t := range trackers {
		if t.teller != nil {
			t.tellRows()
		}
		n += len(t.events)
		leftOut += t.leftOut
	}
	all := make([]event, 0, n)
	for _, t := range trackers {
		all = append(all, t.listed()...)
	}
	byTime(all)
	n = len(all)
	all = firstOf(all, cfg.MaxEvents)
	return listOf(mergeRows(trackers)), recordsOf(all), leftOut + uint64(n-len(all))
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
	switch d := e.detail.(type) {
	case *record.CE:
		r.Count = d.Packets
	case *record.CNP:
		r.Count = d.CNPs
	}
	return r
}

// rowHeap are lists of rows, each in the order of sessions, as a heap by their
// first rows.
type rowHeap [][]sessionRow

func (h rowHeap) Len() int           { return len(h) }
func (h rowHeap) Less(i, j int) bool { return h[i][0].compare(h[j][0]) < 0 }
func (h rowHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rowHeap) Push(x any)        { *h = append(*h, x.([]sessionRow)) }

func (h *rowHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// mergeRows merges the rows of trackers, which they give away.
func mergeRows(trackers []*Tracker) []sessionRow {
	var h rowHeap
	n := 0
	for _, t := range trackers {
		if len(t.rows) > 0 {
			h = append(h, t.rows)
			n += len(t.rows)
			t.rows = nil
		}
	}
	heap.Init(&h)
	out := make([]sessionRow, 0, n)
	for len(h) > 0 {
		out = append(out, h[0][0])
		if h[0] = h[0][1:]; len(h[0]) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return out
}

// fewSessions is how many sessions are made at once, and not each when it is
// asked for.
const fewSessions = 1 << 12

func listOf(rows []sessionRow) record.Sessions {
	if len(rows) > fewSessions {
		return record.MakeSessions(len(rows), record.Source{
			Fill:    func(i int, s *record.Session) { rows[i].fill(s) },
			Figures: func(i int, s *record.Session) { rows[i].figures(s) },
			Plain:   func(i int) bool { return rows[i].plain() },
		})
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
	return r.first().Compare(o.first())
}

func (r sessionRow) fill(s *record.Session) {
	r.figures(s)
	if r.f != nil {
		details(r.f, s)
	}
}

// figures is fill without what record.Source.Figures leaves out.
func (r sessionRow) figures(s *record.Session) {
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
		f.quiet() && f.peer.quiet() && f.life.conn == nil && f.life.state == record.StateOpen && f.life.incarnation == 1
}
