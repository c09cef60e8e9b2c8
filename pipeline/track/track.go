// Package track rebuilds sessions from packets: it pairs the two flows of a
// connection, follows the PSNs of each requester and of the answers to it, and
// tells what was sent again, why, and where packets went.
//
// It is told each packet once, in the order of the capture, keeps none of
// them, and reads no clock: the same packets give the same records.
package track

import (
	"math"
	"slices"

	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Config bounds the tracker.
type Config struct {
	// AckTimeout is the requesters' ACK timeout in nanoseconds; 0 learns it
	// from CM and from silences.
	AckTimeout int64
	// MaxEvents is how many events are kept, failures and then the first ones; 0
	// keeps none. It changes no session, and no sign.
	MaxEvents int
	// MaxMemory is what flows may take, in bytes; 0 sets no bound. Beyond it,
	// those that were silent longest are forgotten, and counted. Trackers that
	// share it, and MaxEvents, are told by Share what is theirs.
	MaxMemory int64
	// Admission says that, while memory is scarce, only flows with more than one
	// packet are followed: others can't push out what is.
	Admission bool
	// Notes takes a note of each packet; nil takes none.
	Notes *Notes
	// Intervals takes what flows did in each interval.
	Intervals Intervals
	// Tell takes sessions and events before the end.
	Tell Tell
}

// Tracker follows the sessions of a capture.
type Tracker struct {
	cfg         Config
	flows       table
	groups      map[uint64]*group // by the hash of their keys
	seekers     index             // the flows without a peer, by what may pair them
	halls       []*hall           // that nobody is in
	slabs       slabs
	lives       map[lifeKey]uint32
	conns       map[lifeKey]*connection // by the flows that CM announced
	byConn      map[*cm.Conn]*connection
	connections []*connection
	sources     map[sourceKey]*udSource
	cnpWays     map[cnpKey]*cnpWay
	all         []*flow // nil where one was forgotten
	free        []int32 // places in all
	hand        int     // where makeRoom goes on
	live        int64   // flows in all
	pairs       int64   // of flows that are one session
	most        int64   // how many there may be; 0 sets no bound
	room        int     // how many events there may be
	waiting     waiting // packets, for a pairing
	// Evicted counts the sessions that were forgotten to make room.
	Evicted uint64
	// Refused counts the packets of flows that were not admitted.
	Refused uint64
	door    *door     // nil where all are admitted
	flowsOf [32]*flow // of the packets of a batch, no more than the first-level cache holds what they need of
	touched uint64    // keeps the compiler from leaving loads out
	seq     uint64
	names   map[string]int // how often the name of a session was given
	now     int64          // the latest time seen, but for what was before a step back
	back    int64          // where the last step back went to
	// intervals is nil where nobody takes them.
	intervals *intervals
	teller    *teller // likewise

	events  []event
	leftOut uint64
	emitted uint64
	signs   []event
	signed  [numSigns]int // how many of each
	rows    []sessionRow  // once it is closed
}

// New returns a Tracker.
func New(cfg Config) *Tracker {
	t := &Tracker{cfg: cfg, intervals: newIntervals(&cfg.Intervals), teller: newTeller(&cfg.Tell), door: newDoor(&cfg), room: cfg.MaxEvents, most: cfg.flows(), groups: map[uint64]*group{}, seekers: newIndex(), lives: map[lifeKey]uint32{}, names: map[string]int{},
		conns: map[lifeKey]*connection{}, byConn: map[*cm.Conn]*connection{}, sources: map[sourceKey]*udSource{}}
	if t.teller != nil { // sessions come and go for ever: what one has must not keep that of others
		t.room = math.MaxInt
		t.slabs.oneByOne()
	}
	return t
}

// event is an event whose session has no name yet.
type event struct {
	stream *flow       // the requester's
	conn   *connection // without one
	// Once the flow is forgotten:
	session string
	index   uint8
	number  uint64 // of the events noted
	time    int64
	frame   record.FrameRef
	detail  record.Detail
	noted   int64 // when, where events are told before the end
}

// emit notes that p made something happen on the stream of f's requests.
func (t *Tracker) emit(f *flow, p *Packet, d record.Detail) { t.emitAt(f, p.Ref(), d) }

func (t *Tracker) emitAt(f *flow, ref record.FrameRef, d record.Detail) {
	f.mark(ref, d)
	t.put(event{stream: f, time: ref.Time, frame: ref, detail: d})
}

// LastManagement is the last of the QPNs that are for management. What goes to them is of
// no session, and says how QPs are connected.
const LastManagement = 1

// Add takes the next packets. Each packet finds its flow somewhere in memory:
// those of a batch are looked for together, which takes hardly longer than one.
func (t *Tracker) Add(packets []*Packet) {
	if x := t.teller; x != nil && t.now >= x.next {
		t.looks(t.now)
	}
	for len(packets) > 0 {
		n := min(len(packets), len(t.flowsOf))
		touched := uint64(0)
		if mask := uint64(len(t.flows.slots)) - 1; t.flows.n > 0 {
			for _, p := range packets[:n] {
				touched ^= t.flows.slots[p.hash&mask].hash
			}
		}
		for i, p := range packets[:n] {
			t.flowsOf[i] = t.flows.find(p)
		}
		for _, f := range t.flowsOf[:n] {
			if f == nil {
				continue
			}
			touched ^= f.packets ^ f.goodput
			if f.req == &noStream && f.peer != nil { // it answers the other's requests
				f = f.peer
				if f.lat != nil {
					touched ^= f.lat.ack.Count ^ f.lat.one.Count
				}
			}
			s := f.req
			touched ^= uint64(s.pos) ^ uint64(len(s.messages)) ^ s.peakBytes ^ s.oneMessage[0].cum
			if s.spent != nil {
				touched ^= uint64(s.spent.pace)
			}
		}
		t.touched ^= touched
		for i, p := range packets[:n] {
			t.add(p, t.flowsOf[i])
		}
		packets = packets[n:]
	}
}

// add takes the next packet, of flow f if that was known when it was looked
// for.
func (t *Tracker) add(p *Packet, f *flow) {
	t.seq++
	t.now = max(t.now, p.Time)
	t.closeBefore(p.Time)
	t.cfg.Notes.begin(p)
	if p.DestQP <= LastManagement {
		return
	}
	if f == nil || f.gone {
		f = t.flows.find(p)
	}
	switch {
	case f == nil && p.Corrupt: // its QPN and addresses may be what is wrong
		return
	case f == nil:
		if f = t.admit(p); f == nil {
			return
		}
	case f.orphan:
		t.retire(f, "new_life")
		f = t.newFlow(p)
	}
	t.take(f, p)
}

// take takes a packet of a flow.
func (t *Tracker) take(f *flow, p *Packet) {
	if f.hall == nil {
		t.process(f, p)
		return
	}
	if !f.hall.closed {
		t.hold(f, p)
		return
	}
	t.lone(f, p)
	t.process(f, p)
}

// process follows a packet of a flow.
func (t *Tracker) process(f *flow, p *Packet) {
	op, service := operationOf(p.Opcode)
	t.cfg.Notes.follow(f, p)
	if x := t.intervals; x != nil && !x.has(f, p) {
		x.see(f, p)
	}
	if p.Copy == NoCopy {
		f.count(p)
	}
	if isCNP(p.Opcode) {
		if p.Copy == NoCopy && !p.Corrupt {
			t.notify(f, p)
			f.countCNP(p)
		}
		return
	}
	if service != record.ServiceUnknown && !p.Corrupt && p.Copy == NoCopy {
		switch f.service {
		case service:
			f.strange &^= strangeMask
			f.seeMigReq(p)
		case record.ServiceUnknown:
			f.service = service
			f.seeMigReq(p)
		default:
			if f.strange++; f.strange&strangeMask < strangers {
				return // a few packets of another service tell nothing
			}
			t.process(t.reborn(f, p, "service"), p)
			return
		}
	}
	switch op.class {
	case classRequest, classOwing:
		f.requests = true
		t.ownStream(f)
		hidden := (p.is(headerCut) || f.req.blind) && t.hidden(f, f, p, op)
		answered := service != record.UC && service != record.UD
		if answered && !hidden && op.begins() {
			if g := t.another(f, p); g != nil {
				t.process(g, p)
				return
			}
		}
		if f.watched(p) {
			t.mark(f, p, op)
		}
		switch {
		case hidden:
			t.unfollowed(f, p)
		case answered:
			t.request(f, p, op)
		default:
			t.unanswered(f, p, op)
		}
	case classResponse, classAck:
		if f.watched(p) {
			t.mark(f, p, op)
		}
		if (p.is(headerCut) || f.peer != nil && f.peer.req.blind) && t.hidden(f, f.peer, p, op) {
			t.unfollowed(f, p)
			return
		}
		t.answer(f, f.peer, p, op)
	case classOther:
		if p.Corrupt && p.Copy == NoCopy {
			f.bad().icrcBad++
		}
	}
}

// another begins a new life of f's QPN where p, which begins a message, can't be of the
// one that is under way, and returns its flow.
func (t *Tracker) another(f *flow, p *Packet) *flow {
	s := f.req
	if !s.begun || p.Copy != NoCopy || p.Corrupt {
		return nil
	}
	d := psnDiff(p.PSN, s.pos)
	if d < 0 {
		d = -d
	}
	if d <= newLifeJump || uint32(d) <= 16*s.peak {
		return nil
	}
	if s.hasAcked && psnDiff(s.acked, s.max) > 0 && psnDiff(p.PSN, s.max) > 0 {
		return nil // acknowledged beyond what the tap saw: it missed a part
	}
	return t.reborn(f, p, "psn_jump")
}

// strangers is how many packets of another service in a row it takes to believe
// that the QPN is used for it now.
const strangers = 3

// reborn begins a new life of f's QPN at p, which f has counted, and returns
// its flow.
func (t *Tracker) reborn(f *flow, p *Packet, why string) *flow {
	f.packets--
	f.bytes -= uint64(p.WireLen)
	f.payload -= uint64(p.Payload)
	if p.TOS != f.tos {
		f.extra().countTOS(p.TOS, math.MaxUint64) // one less
	}
	if p.PKey != 0 || p.priority() != f.priority() {
		f.countOdd(p, math.MaxUint64)
	}
	t.retire(f, "new_life")
	g := t.newFlow(p)
	t.emit(g, p, record.NewSession{Why: why})
	if g.hall != nil && !g.hall.closed {
		t.release(g)
	}
	return g
}

// retire ends a flow whose QPN begins another life.
func (t *Tracker) retire(f *flow, why string) {
	t.flows.remove(f)
	t.leaveGroup(f)
	t.settle(f)
	t.lives[f.lifeKey()]++
	f.gone = true
	if f.peer != nil {
		f.peer.orphan = true
	}
	if f.life.state == record.StateOpen {
		f.life.state = record.StateClosed
		if c := f.life.conn; c == nil || c.disconnect == nil { // which tells it
			t.emitAt(f, f.last.ref(), record.Closed{Why: why})
		}
	}
	t.ends(f)
}

// Close ends all sessions, and their records can be had. end is the time of the
// last frame, whatever it was, in nanoseconds.
func (t *Tracker) Close(end int64) {
	t.now = max(t.now, end)
	t.flows = table{}
	t.most = 0 // nothing is forgotten any more
	t.closeUp()
	t.Refused += t.door.close()
	t.pairTheRest()
	for _, f := range t.all {
		t.settle(f)
	}
	t.lookBack()
	if t.teller != nil {
		t.teller.closed = true
	}
	t.list()
	t.seekers, t.halls, t.groups, t.waiting = index{}, nil, nil, waiting{}
	if t.teller != nil {
		t.tellSome(func(*event) bool { return true })
	}
	t.settleEvents(func(*life) bool { return true })
	t.events = slices.DeleteFunc(t.events, func(e event) bool { return e.detail == nil })
	t.closeIntervals()
}

// closeUp leaves no free places among the flows.
func (t *Tracker) closeUp() {
	n := 0
	for slot, f := range t.all {
		if f == nil {
			continue
		}
		t.intervals.move(slot, n)
		t.teller.move(slot, n)
		f.slot = int32(n)
		t.all[n] = f
		n++
	}
	clear(t.all[n:])
	t.all = t.all[:n]
	t.free = nil
}
