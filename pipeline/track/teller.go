package track

import (
	"cmp"
	"math"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Tell says who takes sessions and events while packets are followed, which
// may go on for ever: nothing is kept then of what was told and is over. With
// neither of them all is kept until the end, and Records has it.
//
// A Tracker calls both from within its own methods, and Records does, never two
// calls at a time for the same Tracker. Where several goroutines have a Tracker
// each, they call them at the same time.
type Tell struct {
	// Sessions takes those that go on, at Pace, if they had packets since; and
	// each that has ended. The update, and all that it points to, is the
	// tracker's again when it returns.
	Sessions func(*record.SessionUpdate)
	// Events takes events once nothing in them can change and the name of their
	// session is known, or else as they are Late after they happened; not in
	// the order of time. The slice is the tracker's again when it returns, the
	// events are not.
	Events func([]record.Event)
	// Trouble takes those that go on, right after events of theirs were told that
	// conclusions are drawn from, but for those of congestion. It is in addition to
	// Sessions, and likewise.
	Trouble func(*record.SessionUpdate)
	// Pace is from one update of a session to the next, Idle is how long it has
	// to be silent to be over, and Late how long events wait at most: in
	// nanoseconds of capture time; 0 is DefaultPace, DefaultIdle and DefaultLate.
	Pace, Idle, Late int64
}

// What Tell has where nothing is given.
const (
	DefaultPace = 60_000_000_000
	DefaultIdle = 600_000_000_000
	DefaultLate = 10_000_000_000
)

// On says whether anything is streamed.
func (s *Tell) On() bool { return s.Sessions != nil || s.Events != nil || s.Trouble != nil }

// teller is what a tracker has of its own to tell sessions and events while they
// happen. Of what goes on, a hand comes by each flow once in Pace.
type teller struct {
	Tell
	at    []toldAs // by flow.slot
	hand  int
	step  int64 // from one look to the next
	next  int64 // the time for it
	conns int64 // and for one at connections
	over  []over

	ended  [2]map[string]int // the names of sessions that gave way to others, and those before
	ways   map[way]int       // how many flows go there
	closed bool

	session  record.Session
	batch    []record.Event
	troubled []*flow        // some flows of sessions with trouble, each once, in the order in which they had it
	waits    map[*flow]bool // those
}

// toldAs is what was told of the session that a flow began.
type toldAs struct {
	packets uint64 // that it had, 0 where it was not told
}

// over is a flow whose life is over, and since when.
type over struct {
	f     *flow
	since int64
}

const (
	// stepsAPace is in how many parts all flows are looked at, and stepsALate how
	// often events are, while the oldest waits.
	stepsAPace = 64
	stepsALate = 8
	// eventsAtOnce is how many events the sink gets at most.
	eventsAtOnce = 64
	// maxPending bounds the events that wait.
	maxPending = 1 << 12
	// maxEnded is for how many names it is known how many sessions had them, in
	// half a megabyte; and those before are known too.
	maxEnded = 1 << 12
	// givenUp is after how many times of its usual wait a requester that sent the
	// same again and again is over.
	givenUp = 16
	// tellBytes is what a flow takes more, as flowBytes has it: it is allocated
	// alone, and some of what is over waits.
	tellBytes = 600
)

func newTeller(cfg *Tell) *teller {
	if !cfg.On() {
		return nil
	}
	x := &teller{Tell: *cfg, next: math.MinInt64}
	x.Pace, x.Idle, x.Late = cmp.Or(x.Pace, DefaultPace), cmp.Or(x.Idle, DefaultIdle), cmp.Or(x.Late, DefaultLate)
	x.step = max(1, min(x.Pace/stepsAPace, x.Late/stepsALate))
	x.ended[0], x.ways = make(map[string]int), make(map[way]int)
	x.waits = make(map[*flow]bool)
	return x
}

// keep makes room for what is told of a new flow.
func (x *teller) keep(f *flow) {
	if x == nil {
		return
	}
	for int(f.slot) >= len(x.at) {
		x.at = append(x.at, toldAs{})
	}
	x.at[f.slot] = toldAs{}
	x.ways[f.way()]++
}

// forget notes that a flow is no more.
func (x *teller) forget(f *flow) {
	if x == nil {
		return
	}
	if x.ways[f.way()]--; x.ways[f.way()] == 0 {
		delete(x.ways, f.way())
	}
}

// move moves what is kept of the flow in a slot to another before it.
func (x *teller) move(from, to int) {
	if x != nil {
		x.at[to] = x.at[from]
	}
}

// looks tells what there is to tell by now.
func (t *Tracker) looks(now int64) {
	x := t.teller
	steps := int64(1)
	if x.next != math.MinInt64 {
		steps = min((now-x.next)/x.step+1, x.Pace/x.step+1)
	}
	x.next = now + x.step
	t.now = max(t.now, now)
	t.tellOver(now)
	t.comeBy(now, steps)
	if now >= x.conns {
		x.conns = now + x.Late/stepsALate
		t.tellConnections(now)
	}
	t.tellEvents(now)
}

// tellOver tells sessions that gave way to others, once what was under way of
// them has come.
func (t *Tracker) tellOver(now int64) {
	x := t.teller
	n := 0
	var out []*flow
	for n < len(x.over) && now-x.over[n].since >= x.Late {
		if f := x.over[n].f; f.slot >= 0 {
			out = append(out, f)
		}
		n++
	}
	if n > 0 {
		x.over = append(x.over[:0], x.over[n:]...)
		clear(x.over[len(x.over) : len(x.over)+n])
		t.leave(out, record.SessionReplaced)
	}
}

// comeBy looks at so many parts of all flows: it tells what they did, and forgets
// those that are silent.
func (t *Tracker) comeBy(now, steps int64) {
	x := t.teller
	n := min(int64(len(t.all)), (int64(len(t.all))*x.step/x.Pace+1)*steps)
	var silent []*flow
	for ; n > 0; n-- {
		if x.hand >= len(t.all) {
			x.hand = 0
			t.forgetWays(now)
		}
		f := t.all[x.hand]
		x.hand++
		switch {
		case f == nil || f.gone || f.orphan || f.life.began != f:
		case now-t.since(f.silentSince()) >= t.patience(f):
			if !t.pairLast(f) {
				silent = append(silent, f)
			}
		case f.both() > 0 && f.both() != x.at[f.slot].packets:
			t.tell(f, record.SessionGoesOn)
		}
	}
	if len(silent) > 0 {
		t.leave(silent, record.SessionSilent)
	}
}

// silentSince is when something was heard of f's session last.
func (f *flow) silentSince() int64 {
	if c := f.life.conn; c != nil {
		return max(f.heard(), c.conn.Last.Time)
	}
	return f.heard()
}

// both is how many packets both flows of f's session had.
func (f *flow) both() uint64 {
	n := f.packets
	if f.peer != nil {
		n += f.peer.packets
	}
	return n
}

// patience is how long f's session may be silent. One that has failed or was
// disconnected is soon over, and so is one that seems to have given up.
func (t *Tracker) patience(f *flow) int64 {
	x := t.teller
	switch {
	case f.life.disconnected():
		return min(x.Late, x.Idle)
	case f.life.conn != nil: // a disconnect is to come
		return x.Idle
	case f.life.state == record.StateFailed:
		return min(x.Late, x.Idle)
	}
	for _, g := range []*flow{f, f.peer} {
		if g == nil || g.req.rec == nil {
			continue
		}
		if l := &g.req.rec.last; l.n >= 2 && l.spacing > 0 && !g.req.allAnswered(l.psn) {
			return min(x.Idle, max(x.Late, givenUp*min(l.spacing, x.Idle)))
		}
	}
	return x.Idle
}

func (l *life) disconnected() bool { return l.conn != nil && l.conn.disconnect != nil }

// leaving looks what comes back to flows before they go.
func (x *teller) leaving(out []*flow) {
	if x == nil {
		return
	}
	for _, f := range out {
		if f.lonely() {
			f.life.back = x.backNow(f)
		}
	}
}

// maxUnsure is how many flows are looked at to find answers that may be for
// another one.
const maxUnsure = 64

// backNow is what lookBack finds, as far as it is known by now.
func (x *teller) backNow(f *flow) back {
	if f.src == f.dst || x.ways[way{f.dst, f.src, f.vni, f.kind}] == 0 {
		return backMissing
	}
	if f.group != nil {
		n := 0
		for h := f.group.lone[1-f.direction()].first; h != nil && n < maxUnsure; h = h.next {
			if n++; h.f.acks > 0 || !h.f.requests {
				return backUnsure
			}
		}
	}
	return backSeen
}

// tellLeft tells the events of lives that are over, and then their sessions, in
// the order of the flows given.
func (t *Tracker) tellLeft(out []*flow, lives map[*life]bool, why record.SessionEnd) {
	for _, f := range out {
		if c := f.life.conn; c != nil && lives[f.life] {
			t.connected(c)
		}
	}
	t.tellEventsOf(lives)
	for _, f := range out {
		if l := f.life; lives[l] {
			delete(lives, l)
			t.tell(l.began, why)
		}
	}
}

// joins takes back what was told of the later one of two flows that become one
// session, and of the earlier one where the session has another name then.
func (t *Tracker) joins(f, g *flow) {
	x := t.teller
	if x == nil {
		return
	}
	if f.first.before(g.first) {
		f, g = g, f
	}
	t.takeBack(f)
	if a, b := g.ends(); !a.HasQPN || !b.HasQPN {
		t.takeBack(g)
	}
}

func (t *Tracker) takeBack(f *flow) {
	if x := t.teller; f.slot >= 0 && x.at[f.slot].packets > 0 {
		t.tell(f, record.SessionJoined)
		x.at[f.slot] = toldAs{}
	}
}

// tell tells what is known of the session that f began.
func (t *Tracker) tell(f *flow, end record.SessionEnd) {
	x := t.teller
	if f.slot >= 0 {
		x.at[f.slot].packets = f.both()
	}
	if x.Sessions != nil {
		x.Sessions(t.update(f, end))
	}
}

// update is what is known of the session that f began, until the next update.
func (t *Tracker) update(f *flow, end record.SessionEnd) *record.SessionUpdate {
	x := t.teller
	l := f.life
	kept := *l
	name := t.nameNow(f)
	l.id = &name
	if l.state == record.StateOpen && l.disconnected() {
		l.state = record.StateClosed
	}
	switch {
	case !f.lonely():
		l.back = backSeen
	case f.slot >= 0 && !x.closed: // else it is known
		l.back = x.backNow(f)
	}
	x.session = record.Session{}
	session(f, &x.session)
	details(f, &x.session)
	if end == record.SessionGoesOn || end == record.SessionJoined {
		*l = kept
	}
	return &record.SessionUpdate{Session: &x.session, End: end}
}

// troubles says whether an event is one to look at its session for.
func troubles(d record.Detail) bool {
	switch d.(type) {
	case *record.CE, *record.CNP: // there is no end of them where there is congestion control
		return false
	}
	return record.Marked(d) || signOf(d) != noSign
}

// maxTrouble is how many sessions with trouble are told at a time, which bounds what an
// outage of all costs. Others wait for the next look.
const maxTrouble = 128

// tellTrouble tells the sessions of which such events were told.
func (t *Tracker) tellTrouble() {
	x := t.teller
	if len(x.troubled) == 0 {
		return
	}
	n := 0
	done := make(map[*flow]bool)
	for n < len(x.troubled) && len(done) < maxTrouble {
		f := x.troubled[n]
		n++
		delete(x.waits, f)
		if f = f.life.began; f.slot < 0 || done[f] { // it was told as a whole, or under another flow's name
			continue
		}
		done[f] = true
		u := t.update(f, record.SessionGoesOn)
		u.AToB.Marks = f.marksNow()
		if f.peer != nil {
			u.BToA.Marks = f.peer.marksNow()
		}
		x.Trouble(u)
	}
	x.troubled = slices.Delete(x.troubled, 0, n)
}

// ends notes that f's life is over, but for what may still be under way. Its
// name is sure by now.
func (t *Tracker) ends(f *flow) {
	x := t.teller
	if x == nil {
		return
	}
	x.over = append(x.over, over{f, t.now})
	if f.life.id == nil {
		name := x.lastName(f.plainName())
		f.life.id = &name
	}
}

// nameNow is the name of f's session as far as it is known.
func (t *Tracker) nameNow(f *flow) string {
	if f.life.id != nil {
		return *f.life.id
	}
	name := f.plainName()
	return numbered(name, 1+t.teller.before(name))
}

// lastName is the name of a session that is over: the next of its name has the
// next number.
func (x *teller) lastName(name string) string {
	n := 1 + x.before(name)
	if len(x.ended[0]) >= maxEnded {
		x.ended[1], x.ended[0] = x.ended[0], make(map[string]int)
	}
	x.ended[0][name] = n
	return numbered(name, n)
}

// before is how many sessions of a name gave way to others.
func (x *teller) before(name string) int { return max(x.ended[0][name], x.ended[1][name]) }

// tellRows tells all that is left, once all trackers are closed.
func (t *Tracker) tellRows() {
	for _, r := range t.rows {
		if r.f != nil {
			t.tell(r.f, record.SessionCaptured)
		} else {
			t.tellIdle(r.s, record.SessionCaptured)
		}
	}
	t.rows = nil
}

// tellIdle tells a session without packets.
func (t *Tracker) tellIdle(s *record.Session, end record.SessionEnd) {
	if x := t.teller; x.Sessions != nil {
		x.Sessions(&record.SessionUpdate{Session: s, End: end})
	}
}

// forgetWays forgets the CNPs between addresses that have none any more.
func (t *Tracker) forgetWays(now int64) {
	for k, w := range t.cnpWays {
		if now-t.since(w.last) >= t.teller.Idle {
			delete(t.cnpWays, k)
		}
	}
}
