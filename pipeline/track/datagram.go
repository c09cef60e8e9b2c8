package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// udSource is a QP that sends datagrams. Its PSNs count all that it sends,
// wherever to: only where it has one destination a gap is a loss.
type udSource struct {
	key          sourceKey
	destinations int
	flows        int   // of them, those that are not forgotten
	only         *flow // the first one, until there is another or it is forgotten
}

type sourceKey struct {
	addr decode.Addr
	qpn  uint32
	vni  uint32
}

// maxEarly is how long after the first packet of a flow, in nanoseconds, one
// that was sent before it can come where IP IDs do not tell.
const maxEarly = 1_000_000

// sentBefore notes a packet below the first PSN of the capture, if it is one
// that was overtaken at its beginning: nothing is sent again here, but a QP can
// begin anew.
func (f *flow) sentBefore(p *Packet, age idAge) bool {
	s := f.req
	first := psnDiff(p.PSN, s.start) < 0
	if !first && !s.rec.early.has(p.PSN) || psnDiff(s.start, p.PSN) > newLifeJump || age == idNewer || age == idUnknown && p.Time-f.first.time > maxEarly {
		return false
	}
	return s.fills(p.PSN, psnAdd(p.PSN, 1))
}

// unanswered follows a request of a service without acknowledgements, UC or
// UD: what is missing is missing, and whether the network or the mirror lost
// it can't be told.
func (t *Tracker) unanswered(f *flow, p *Packet, op *operation) {
	s := f.req
	switch {
	case p.Copy != NoCopy:
		t.copied(f, p)
		return
	case p.Corrupt:
		t.corrupted(f, p)
		return
	}
	if !s.begun {
		s.begin(p)
	}
	d := psnDiff(p.PSN, s.pos)
	age := s.ids.take(p, d < 0, false)
	if (d > newLifeJump || d < -newLifeJump) && op.begins() {
		s.begin(p) // begun anew: nothing says what lies between
		if s.rec != nil {
			s.rec.early = nil
		}
		d = 0
	}
	if d < 0 {
		t.cfg.Notes.judge(p, decode.VerdictOther)
		b := f.bad()
		r := t.recovery(s)
		lost := r.unseen.remove(p.PSN, psnAdd(p.PSN, 1)) > 0
		if lost {
			b.lost.BeforeTap--
		}
		if lost || f.sentBefore(p, age) {
			b.reordered++
			if op.begins() {
				s.sent[op.kind]++
			}
			t.cfg.Notes.judge(p, decode.VerdictLate)
			f.goodput += uint64(p.Payload)
			t.emit(f, p, record.Reorder{PSN: p.PSN, Behind: uint32(-d)})
		}
		return
	}
	if d > 0 {
		t.recovery(s).unseen.add(s.pos, p.PSN)
		b := f.bad()
		b.lost.BeforeTap += uint64(d)
		b.gap(uint64(d))
	}
	if op.begins() {
		s.sent[op.kind]++
	}
	if !op.ends() {
		s.mtu = max(s.mtu, uint32(p.Payload))
	}
	f.goodput += uint64(p.Payload)
	s.pos = psnAdd(p.PSN, 1)
	s.max = s.pos
	s.last, s.inMessage, s.lastOp = p.Time, !op.ends(), p.Opcode
	if s.rec != nil && len(s.rec.unseen) > 0 {
		s.rec.unseen.cutBelow((s.pos - newLifeJump) & psnMask)
	}
}
