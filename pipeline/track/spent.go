package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// spentFrom is after how many packets of its sender a stream is busy enough
	// to be asked what it waits for.
	spentFrom = 16
	// longTurn is, in nanoseconds, what an answer needs at most from the tap back
	// to the requester, and the requester's next packet to the tap, where nothing
	// says otherwise. What is longer is the application's.
	longTurn = 250_000
	// backToBack is how many times as long as usual between two packets of a
	// message a pause may be that is still none.
	backToBack = 8
	// promptly is which part of a pause the way of an answer back to the
	// requester, and that of its next packet, take at most for the answer to be
	// what the requester waited for.
	promptly = 4
	// fullShare is which part of the peak, in eighths, has to be outstanding for
	// a stream to have no room: ACKs are under way between tap and requester.
	fullShare = 7
)

// spent is what the requester of a busy stream does with its time, in
// nanoseconds, but for what is counted elsewhere.
type spent struct {
	silent   int64 // the end of the last silence, see silence.go
	pace     int64 // about the median of the pauses within messages, 0 before there was one
	full     bool  // after the last request there was no room
	credits  int16 // of the last ACK, -1 where it doesn't say
	out      uint16
	answered int64 // the first answer since the last request
	from     int64 // the stream's first packet

	application, window, credit, stalled, unclear int64
}

// noCredits is what spent.credits is where ACKs don't say.
const noCredits = -1

// spend says what the time before p was spent on. p is a new request of f, and
// nothing of it is noted yet.
func (s *stream) spend(f *flow, p *Packet, op *operation) {
	t := s.spent
	if t == nil {
		if f.packets >= spentFrom && f.paced() && s.heard {
			t = &spent{from: f.first.time, credits: noCredits}
			rnr, recovering, _ := f.delayed()
			t.unclear = max(between(t.from, p.Time)-max(rnr, recovering), 0) // nobody has looked yet
			s.spent = t
		}
		return
	}
	pause := between(s.last, p.Time)
	if pause == 0 || s.rec != nil && s.rec.episode != nil { // it recovers
		return
	}
	answered := s.lastAnswer > s.last
	sends := pause <= backToBack*t.pace
	if sends && !answered && !t.full && t.silent != p.Time { // as most do
		if !op.begins() {
			t.usual(pause)
		}
		return
	}
	if t.silent == p.Time {
		t.unclear += pause
		return
	}
	idle := answered && len(s.messages) == 0 // nothing was outstanding any more
	if !op.begins() && !answered {
		t.usual(pause)
	}
	last, _ := operationOf(s.lastOp)
	reads := last.class == classOwing
	rest := between(s.lastAnswer, p.Time)
	switch {
	case sends && !idle && !t.full:
	case idle:
		wait := between(s.last, s.lastAnswer)
		switch {
		case rest > longTurn:
			t.application += rest
		case 2*rest > wait:
			t.unclear += rest // the way from the tap and back, or the application
		default:
			wait += rest
		}
		if reads { // from the first response on it was served
			wait -= between(t.answered, s.lastAnswer)
		}
		t.waited(p, wait)
	case answered && t.full && reads:
		t.waited(p, between(s.last, t.answered))
		if rest > longTurn {
			t.application += rest
		}
	case answered && t.full && rest <= longTurn && promptly*rest <= pause:
		t.waited(p, pause)
	case sends:
	case pause <= longTurn:
		if answered || op.begins() {
			t.unclear += pause
		}
	case op.begins(): // there was room, and no message
		t.application += pause
	default:
		t.stalled += pause
	}
}

// usual brings pace nearer to the median of the pauses that it is told.
func (t *spent) usual(pause int64) {
	switch step := t.pace/16 + 1; {
	case t.pace == 0:
		t.pace = pause
	case pause > t.pace:
		t.pace += step
	case pause < t.pace:
		t.pace -= step
	}
}

// waited counts time in which p had to wait for answers.
func (t *spent) waited(p *Packet, ns int64) {
	ns = max(ns, 0)
	if t.credits != noCredits && int(t.out) >= int(t.credits) && takesBuffer(p.Opcode) {
		t.credit += ns
		return
	}
	t.window += ns
}

// sent notes whether there is room for more, after a request with so many PSNs
// outstanding.
func (t *spent) sent(s *stream, out uint32) {
	t.full = 8*out >= fullShare*s.peak
	t.out = uint16(min(len(s.messages), maxMessages))
}

// hears notes an answer.
func (t *spent) hears(s *stream, p *Packet, op *operation) {
	if s.lastAnswer <= s.last {
		t.answered = p.Time
	}
	if op.class == classAck {
		if n, ok := p.Syndrome.Credits(); ok {
			t.credits = int16(min(n, maxMessages))
		} else {
			t.credits = noCredits
		}
	}
}

// spentOf is what f's requester spent its time on, nil where it was not busy.
func spentOf(f *flow) *record.Spent {
	s := f.req
	t := s.spent
	if t == nil {
		return nil
	}
	r := &record.Spent{
		Total: between(t.from, max(s.last, s.lastAnswer)), Application: t.application, Window: t.window, Credits: t.credit, Stalled: t.stalled, Unclear: t.unclear,
	}
	var recovering int64
	r.RNR, recovering, r.Slowed = f.delayed()
	r.Recovery = recovering - r.RNR
	r.Fit()
	return r
}

// delayed is for how long f's sender was delayed, in nanoseconds, as others have
// counted it: by RNR NAKs, in episodes, which these are in, and slow after CNPs.
func (f *flow) delayed() (rnr, recovering, slowed int64) {
	if b := f.trouble; b != nil {
		rnr, recovering = b.rnrTime, b.recovering
	}
	if m := f.more; m != nil && m.congestion != nil && m.congestion.told != nil {
		n := m.congestion.told
		if slowed = n.toRecover.Sum; n.state == stateSlow {
			slowed += between(n.from, f.last.time)
		}
	}
	return rnr, recovering, slowed
}
