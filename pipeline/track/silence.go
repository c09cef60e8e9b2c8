package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// silence notes a pause that no step back explains, ended by p: one much longer
// than the stream's pauses are. What the tap can't see, a message lost ahead of
// it with all that followed, looks so; an application that waits does too,
// which is why pauses with nothing outstanding are usual once there were a few
// of the kind.
func (t *Tracker) silence(f *flow, p *Packet) {
	s := f.req
	gap := between(max(s.last, s.lastAnswer), p.Time)
	if gap <= s.pause {
		return
	}
	if f.packets < minPackets || gap < minSilence || gap < 4*s.pause {
		s.pause = gap
		return
	}
	pending := max(psnDiff(s.pos, s.ackedOr(s.start)), 0)
	if idle := !s.inMessage && (pending == 0 || !s.heard); idle {
		if gap > 2*s.longPause {
			s.longPause, s.idle = gap, 0
		}
		if s.idle++; s.idle > usualPauses {
			s.pause = gap
			return
		}
	}
	if s.spent != nil {
		s.spent.silent = p.Time
	}
	b := f.bad()
	b.silences++
	b.silenceTime += gap
	t.emit(f, p, record.Silence{Lasted: gap, PSN: p.PSN, Pending: uint32(pending)})
}

const (
	// minSilence is the shortest pause, in nanoseconds, that is reported.
	minSilence = 10_000_000
	// minPackets is how many packets it takes to know what is usual.
	minPackets = 8
	// usualPauses is how many pauses with nothing outstanding are reported
	// before their like is usual.
	usualPauses = 3
)
