package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// spentFrom is after how many packets of its sender a stream is busy enough
	// to be asked what it waits for.
	spentFrom = 64
	// longTurn is, in nanoseconds, what an answer needs at most from the tap back
	// to the requester, and the requester's next packet to the tap. What is
	// longer is the application's.
	longTurn = 50_000
	// backToBack is how many times as long as the shortest pause between two of
	// a stream's packets one may be that is still none.
	backToBack = 16
	// fullShare is which part of the peak, in eighths, has to be outstanding for
	// a stream to have no room: ACKs are under way between tap and requester.
	fullShare = 7
)

// spent is what the requester of a busy stream does with its time, in
// nanoseconds, but for what is counted elsewhere.
type spent struct {
	from     int64 // since when this is counted
	answered int64 // the first answer since the last request
	least    int64 // the shortest pause between two requests, 0 before there was one
	full     bool  // after the last request there was no room
	credits  int16 // of the last ACK, -1 where it doesn't say
	out      uint16

	application, window, credit, stalled, unclear int64
	// What others had counted when this began.
	rnr, recovering, slowed int64
}

// noCredits is what spent.credits is where ACKs don't say.
const noCredits = -1

// spend says what the time before p was spent on. p is a new request of f, and
// nothing of it is noted yet.
func (s *stream) spend(f *flow, p *Packet, op *operation) {
	t := s.spent
	if t == nil {
		if f.packets >= spentFrom && f.paced() && s.heard {
			s.spent = &spent{from: p.Time, credits: noCredits}
			s.spent.rnr, s.spent.recovering, s.spent.slowed = f.delayed()
		}
		return
	}
	pause := p.Time - s.last
	if pause <= 0 || s.rec != nil && s.rec.episode != nil { // it recovers
		return
	}
	if t.least == 0 || pause < t.least {
		t.least = pause
	}
	answered := s.lastAnswer > s.last
	idle := answered && len(s.messages) == 0 // nothing was outstanding any more
	if !idle && !t.full && pause <= backToBack*t.least {
		return // it sends
	}
	last, _ := operationOf(s.lastOp)
	reads := last.class == classOwing
	switch {
	case idle:
		wait, rest := s.lastAnswer-s.last, p.Time-s.lastAnswer
		switch {
		case rest > longTurn:
			t.application += rest
		case 2*rest > wait:
			t.unclear += rest // the way from the tap and back, or the application
		default:
			wait += rest
		}
		if reads { // from the first response on it was served
			wait -= s.lastAnswer - t.answered
		}
		t.waited(p, wait)
	case answered && t.full && reads:
		t.waited(p, t.answered-s.last)
		if rest := p.Time - s.lastAnswer; rest > longTurn {
			t.application += rest
		}
	case answered && t.full:
		if rest := p.Time - s.lastAnswer; rest > longTurn {
			t.application += rest
			pause -= rest
		}
		t.waited(p, pause)
	case pause <= backToBack*t.least:
	case answered && pause <= longTurn:
		t.unclear += pause
	case op.begins(): // there was room, and no message
		t.application += pause
	case pause > longTurn:
		t.stalled += pause
	}
}

// waited counts time in which p had to wait for answers.
func (t *spent) waited(p *Packet, ns int64) {
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
		Total: max(s.last, s.lastAnswer) - t.from, Application: t.application, Window: t.window, Credits: t.credit, Stalled: t.stalled, Unclear: t.unclear,
	}
	rnr, recovering, slowed := f.delayed()
	r.RNR, r.Slowed = rnr-t.rnr, slowed-t.slowed
	r.Recovery = recovering - t.recovering - r.RNR
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
			slowed += f.last.time - n.from
		}
	}
	return rnr, recovering, slowed
}
