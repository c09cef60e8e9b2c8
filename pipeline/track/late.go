package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// ids are the IP IDs of what one end sends.
type ids struct {
	newest uint16
	steps  uint16 // how often it rose, at most 255
	falls  uint16 // how often it did not, though the PSN did
	has    bool
}

// take compares the packet's IP ID with the newest one, and says what that
// makes of it. behind says that its PSN is behind the position, again that PSNs
// were gone back to. IDs are usable where they rise with the order in which
// packets are sent: one that is older with a PSN that is not shows that they do
// not.
func (s *ids) take(p *Packet, behind, again bool) idAge {
	if !p.hasID() {
		return idUnknown
	}
	if !s.has {
		s.newest, s.has = p.ID, true
		return idUnknown
	}
	usable := s.rise()
	switch step := int16(p.ID - s.newest); {
	case step > 0:
		s.newest = p.ID
		if s.steps < 255 {
			s.steps++
		} else if s.falls > 0 {
			s.falls--
		}
		if usable || step < nearID && behind && s.falls == 0 {
			return idNewer
		}
	case step < 0 && usable && (behind || again), -nearID < step && step < 0 && behind && s.falls == 0:
		return idOlder
	default:
		s.newest = p.ID
		if s.falls < 32 {
			s.falls++
		}
	}
	return idUnknown
}

// newerBelow says whether a packet below the first PSN in the capture has a newer
// ID than all so far, and none of them fell: it was sent before the capture, and
// is sent again.
func (s *ids) newerBelow(p *Packet, start uint32) bool {
	return psnDiff(p.PSN, start) < 0 && s.has && p.hasID() && s.falls == 0 && int16(p.ID-s.newest) > 0
}

// late takes back that IDs fell with n packets, which came late.
func (s *ids) late(n int) { s.falls -= min(s.falls, uint16(n)) }

// rise says whether they rise with the order in which packets are sent.
func (s *ids) rise() bool { return s.steps >= 3 && s.falls*8 <= s.steps }

// nearID is how much older or newer an IP ID can be to be believed before it is
// known whether IP IDs rise.
const nearID = 64

type idAge uint8

const (
	idUnknown idAge = iota
	idNewer
	idOlder
)

// guess are packets below the position, one after the other, whose IP IDs do
// not tell late originals from a retransmission: what follows them does.
type guess struct {
	open   bool
	alike  bool // it is one that came before, and may be a copy
	lo, hi uint32
	list   []Packet
}

// maxGuess bounds them. As many packets in a row are not late.
const maxGuess = 64

// behind judges a packet below the position. It returns false for one that
// moves no position.
func (t *Tracker) behind(f *flow, p *Packet, op *operation, n uint32, age idAge) bool {
	s := f.req
	r := t.recovery(s)
	since := r.gap
	if since == 0 {
		since = f.first.time
	}
	if age == idUnknown && s.neverSeen(p.PSN) && !s.sentBefore(p.PSN) && !t.asked(f, p) && p.Time-since < t.halfTimeout(f) {
		r.guess = guess{open: true, lo: p.PSN, hi: psnAdd(p.PSN, n), list: append(r.guess.list[:0], *p)}
		return false
	}
	if age == idUnknown && p.is(alike) && !t.asked(f, p) && !t.repeats(f, p) && t.tooShort(f, p, op) {
		r.guess = guess{open: true, alike: true, lo: p.PSN, hi: psnAdd(p.PSN, n), list: append(r.guess.list[:0], *p)}
		return false
	}
	t.stepBack(f, p, op)
	return true
}

// repeats says whether p is what the last step back went to. Whoever waits for an
// answer sends the same packet again and again.
func (t *Tracker) repeats(f *flow, p *Packet) bool {
	l := &f.req.rec.last
	return l.n > 0 && l.psn == p.PSN
}

// shortestTimer is the shortest ACK timer, in nanoseconds, that a requester is believed
// to have without being known for it.
const shortestTimer = 1_000_000

// tooShort says whether nothing but a timer can have sent p again, and it came too
// soon after the request before it for one.
func (t *Tracker) tooShort(f *flow, p *Packet, op *operation) bool {
	why := t.cause(f, p, op, f.req.trueStart(p))
	return (why.cause == record.CauseTimeout || why.cause == record.CauseUnknown) && p.Time-f.req.last < min(shortestTimer, t.halfTimeout(f))
}

// neverSeen says whether a PSN below the maximum was in no pass seen.
func (s *stream) neverSeen(psn uint32) bool {
	return psnDiff(psn, s.start) < 0 || s.rec.unseen.has(psn) || s.rec.early.has(psn)
}

// sentBefore says whether a PSN below the first one in the capture was sent
// before it: what comes after it has been answered.
func (s *stream) sentBefore(psn uint32) bool {
	return (s.hasAcked || s.ackedEarly) && psnDiff(psn, s.start) < 0 && psnDiff(s.acked, psn) > 0
}

// fills notes that the tap has seen [lo, hi), and says whether that is the
// first time. Below the first PSN in the capture it is, too.
func (s *stream) fills(lo, hi uint32) bool {
	r := s.rec
	if psnDiff(lo, s.start) < 0 {
		r.early.add(hi, s.start)
		s.start = lo
		return true
	}
	return r.unseen.remove(lo, hi)+r.early.remove(lo, hi) > 0
}

// asked says whether something that the tap saw asks for p to be sent again.
func (t *Tracker) asked(f *flow, p *Packet) bool {
	s := f.req
	r := s.rec
	return r.nakFor(p.PSN) != nil ||
		r.rnr.valid && r.rnr.psn == p.PSN && r.rnr.pass == s.passes ||
		s.repeat && psnDiff(s.max, s.pos) > 0
}

// settleGuess decides on the packets that came behind the position, now that
// p follows them. It returns true where p goes on with them, and nothing is
// decided.
func (t *Tracker) settleGuess(f *flow, p *Packet, d int32) bool {
	g := &f.req.rec.guess
	again := false // a repeat follows: it was a step back
	switch {
	case g.alike:
		again = p.is(alike) && (p.PSN == g.hi || p.PSN == g.lo)
	case d < 0:
		unseen := f.req.neverSeen(p.PSN)
		follows := p.PSN == g.hi
		if last := &g.list[len(g.list)-1]; f.knownMTU() == 0 && last.DMALen > 0 && psnDiff(p.PSN, last.PSN) > 0 {
			follows = true // how many PSNs that READ took is not known
		}
		if unseen && follows && len(g.list) < maxGuess {
			g.hi = psnAdd(p.PSN, 1)
			g.list = append(g.list, *p)
			return true
		}
		again = !unseen || len(g.list) == maxGuess
	}
	if !again {
		t.settleLate(f)
		return false
	}
	g.open = false
	for i := range g.list {
		q := &g.list[i]
		op, _ := operationOf(q.Opcode)
		n := t.readWidth(f, q, op)
		if i == 0 {
			t.stepBack(f, q, op)
		}
		t.accept(f, q, op, n)
	}
	return false
}

// settleLate takes the packets that came behind the position for late ones.
func (t *Tracker) settleLate(f *flow) {
	g := &f.req.rec.guess
	if !g.open {
		return
	}
	g.open = false
	if g.alike {
		q := &g.list[0]
		f.bad().undecided++
		t.cfg.Notes.judge(q, decode.VerdictLate)
		t.emit(f, q, record.Undecided{PSN: q.PSN, Why: cantTellCopy})
		return
	}
	f.req.ids.late(len(g.list))
	for i := range g.list {
		q := &g.list[i]
		op, _ := operationOf(q.Opcode)
		t.lateOriginal(f, q, t.readWidth(f, q, op), true)
	}
}

// cantTellCopy is why a packet that came twice is undecided.
const cantTellCopy = "the same packet came just before, nothing asked for it again, and no IP ID tells a copy from a packet that is sent again"

// notLeftOut takes back that the newest try repaired selectively: what it seemed
// to leave out came late.
func (t *Tracker) notLeftOut(f *flow) {
	r := f.req.rec
	r.lead.jump = false
	if y := r.jumped; y != nil && y.Mode == record.Selective && len(r.soft) == 0 {
		b := f.bad()
		b.modes[record.Selective]--
		b.modes[record.GoBackN]++
		y.Mode = record.GoBackN
	}
}

// lateOriginal takes a packet that others overtook.
func (t *Tracker) lateOriginal(f *flow, p *Packet, n uint32, guessed bool) {
	s := f.req
	r := t.recovery(s)
	b := f.bad()
	b.reordered++
	t.cfg.Notes.judge(p, decode.VerdictLate)
	for i := range s.messages { // a READ of unknown width ends where the next message begins
		if d := psnDiff(s.messages[i].lo, p.PSN); d > 0 && uint32(d) < n {
			n = uint32(d)
		}
	}
	hi := psnAdd(p.PSN, n)
	r.nak().seen(p.PSN, hi)
	late := p.Time - r.gap
	if r.gap == 0 {
		late = 0
	}
	id := p.ID
	if psnDiff(p.PSN, s.pass) >= 0 && psnDiff(p.PSN, r.first) < 0 { // this pass began with it, but for the tap
		id = r.began
	}
	if guessed || !r.repeats || !s.ids.rise() || int16(id-r.began) >= 0 { // else it is of a pass before this one
		r.missing.remove(p.PSN, hi)
		if r.soft.remove(p.PSN, hi) > 0 {
			t.notLeftOut(f)
		}
	} else if n := r.nak(); n.valid && n.after && n.pass == s.passes && n.psn == p.PSN {
		t.lateAfterAll(f, n) // it was drawn by the pass of p
	}
	if n := r.paid.dropLate(p.PSN, hi, id); n > 0 { // sent again meanwhile, and taken for lost
		b.lost.BeforeTap -= min(b.lost.BeforeTap, n) // packets that contradict one another can take back one loss twice
		if r.episode != nil {
			r.episode.Lost -= min(r.episode.Lost, n)
		}
	}
	t.lostBefore(f, p, r.gone.takeLate(p.PSN, hi, s.passes, id, &r.paid))
	s.left = unknownLeft
	if psnDiff(p.PSN, s.max) >= 0 { // of the pass before, and the highest of it
		r.unseen.near(hi)
		r.unseen.add(s.max, hi)
		s.max = hi
	}
	fills := s.fills(p.PSN, hi)
	if fills {
		f.goodput += uint64(p.Payload)
		t.fillMessage(s, p, n)
	}
	if op, _ := operationOf(p.Opcode); op.class == classOwing {
		s.owe(p, op, hi, fills)
	}
	if len(r.missing) == 0 {
		r.gap = 0
		if r.try == nil {
			r.sign = 0
		}
	}
	if !r.late {
		r.late, r.lateLo, r.lateHi = true, p.PSN, s.pos
	}
	if psnDiff(p.PSN, r.lateLo) < 0 {
		r.lateLo = p.PSN
	}
	if psnDiff(s.pos, r.lateHi) > 0 {
		r.lateHi = s.pos
	}
	if guessed {
		r.lateGuessed++
	}
	t.emit(f, p, record.Reorder{PSN: p.PSN, Behind: uint32(max(psnDiff(s.pos, hi), 0)), Late: late})
}
