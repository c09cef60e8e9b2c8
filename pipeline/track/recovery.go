package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// recovery is what a stream keeps from its first irregularity on.
type recovery struct {
	missing spans // skipped in this pass
	soft    spans // of them, those that a selective repair may have left out
	sparse  bool  // one packet was sent again in this pass and all others left out: to lose those and no more is unlikely
	unseen  spans // below the maximum, and in no pass seen
	early   spans // likewise, below the first PSN of the capture
	gone    goneList
	paid    goneList // of what was gone, counted as lost
	began   uint16   // the IP ID of the first packet seen of this pass, with repeats
	first   uint32   // its PSN
	repeats bool     // there was a step back

	before passBefore
	gap    int64 // when the oldest hole of this pass was opened, 0 without one

	// Packets came late in this pass: [lateLo, lateHi) holds them and what
	// overtook them. lateCount are those that only their order makes late.
	late           bool
	lateLo, lateHi uint32
	lateGuessed    uint32

	guess guess

	rnr      nakSeen    // the newest RNR NAK
	naks     [8]nakSeen // the last sequence NAKs
	nextNak  uint8
	latePass uint32 // one more than the pass in which packets came late behind the tap, 0 without one
	beyond   beyondSeen

	reads   []span    // READs that were not seen, by their responses
	unheard []unheard // tries judged before any answer was seen

	corrupt []uint32 // PSNs that corrupt packets of this pass claimed

	try     *record.Try
	tryMax  uint32
	jumped  *record.Try // the newest that ended in a jump to the old maximum
	lead    tryLead
	noted   uint32 // the number of try in Config.Notes
	episode *record.Episode
	epMax   uint32
	epTime  int64
	epDone  int64 // when the position reached the old maximum, 0 before
	epFrame record.FrameRef
	sign    int64 // first sign of the trouble, 0 without one

	last lastTries
	echo echo
}

// echo is a try whose place the first answers after it tell.
type echo struct {
	try     *record.Try
	episode *record.Episode
	from    uint32
	max     uint32
	acked   uint32 // what the last acknowledgement said
	acks    uint32 // how often it said so
}

// unheard is a try of which it is not known yet whether the tap sees answers.
type unheard struct {
	try     *record.Try
	episode *record.Episode
	frame   record.FrameRef
}

// maxUnheard bounds them.
const maxUnheard = 64

// tryLead is what the try that is under way needs until it is reported.
type tryLead struct {
	frame record.FrameRef
	jump  bool // it ended in a jump to the old maximum
	whole bool // it went back to the first packet of the message, ahead of what the NAK names
	open  bool
}

// passBefore is the pass that the last step back ended.
type passBefore struct {
	lo, hi  uint32
	missing spans
	valid   bool
	// Packets came late in it, as in recovery.
	late           bool
	lateLo, lateHi uint32
}

// has says whether the tap saw psn in that pass.
func (b *passBefore) has(psn uint32) bool {
	return b.valid && psnDiff(psn, b.lo) >= 0 && psnDiff(psn, b.hi) < 0 && !b.missing.has(psn)
}

// nakSeen is a NAK.
type nakSeen struct {
	psn   uint32
	pass  uint32
	time  int64
	wait  int64 // of an RNR NAK: the timer that it names
	frame record.FrameRef
	valid bool
	acted bool // a step back was taken for the reaction to it
	after bool // it names a packet that the tap had seen, and that is lost
	late  bool // it is about packets that came late, and were not lost
	open  bool // what it names has not been seen since
}

// nak is the newest sequence NAK, one that is not valid where there was none.
func (r *recovery) nak() *nakSeen { return &r.naks[(r.nextNak-1)%uint8(len(r.naks))] }

func (r *recovery) addNak(n nakSeen) {
	r.naks[r.nextNak%uint8(len(r.naks))] = n
	r.nextNak++
}

// nakFor finds a sequence NAK for psn that was not acted on, or nil.
func (r *recovery) nakFor(psn uint32) *nakSeen {
	for i := range r.naks {
		if n := &r.naks[i]; n.valid && !n.acted && n.psn == psn {
			return n
		}
	}
	return nil
}

// naked says whether there is a NAK since a time that was not acted on.
func (r *recovery) naked(since int64) bool {
	for i := range r.naks {
		if n := &r.naks[i]; n.valid && !n.acted && n.time >= since {
			return true
		}
	}
	return false
}

// seen takes note of requests.
func (n *nakSeen) seen(lo, hi uint32) {
	if n.open && psnDiff(n.psn, lo) >= 0 && psnDiff(n.psn, hi) < 0 {
		n.open = false
	}
}

// beyondSeen is the newest response that came while an earlier one was owed.
type beyondSeen struct {
	psn   uint32 // the first that was owed
	time  int64
	pass  uint32
	id    uint16 // its IP ID, with hasID
	hasID bool
	valid bool
	ack   bool // it was an ACK
}

// overtook says whether the ACK that it is was sent behind p, which comes after
// it.
func (b *beyondSeen) overtook(p *Packet) bool {
	return b.valid && b.ack && b.psn == p.PSN && !(b.hasID && p.hasID() && int16(p.ID-b.id) > 0)
}

// lastTries tells the tries of one PSN at the end of a stream.
type lastTries struct {
	psn     uint32
	n       uint32
	first   int64
	last    int64
	spacing int64
	rnr     bool
	takes   bool            // the packet needs a receive buffer, and may find none
	frame   record.FrameRef // of the last
}

func (t *Tracker) recovery(s *stream) *recovery {
	if s.rec == nil {
		s.rec = t.slabs.recoveries.get()
	}
	return s.rec
}

// calm forgets the troubles of f's stream once all of them are over, all is
// acknowledged and answered, and no NAK can have an effect any more: a recovery takes
// more memory than the rest of a session.
func (t *Tracker) calm(f *flow, p *Packet) {
	s := f.req
	r := s.rec
	if s.acked == s.max && s.pos == s.max && s.answered == len(s.owed) && r.quiet() && !r.late && r.echo.try == nil &&
		len(r.unheard)+len(r.corrupt)+len(r.reads) == 0 && !r.naked(p.Time-t.halfTimeout(f)) {
		t.slabs.recoveries.put(r)
		s.rec, s.repeat = nil, false
	}
}

// quiet says whether nothing is under way.
func (r *recovery) quiet() bool {
	return r == nil || len(r.missing) == 0 && len(r.unseen) == 0 && r.try == nil && r.episode == nil && len(r.gone) == 0 && !r.guess.open
}
