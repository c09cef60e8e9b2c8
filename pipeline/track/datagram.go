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
	flows        int // of them, those that are not forgotten
}

type sourceKey struct {
	addr decode.Addr
	qpn  uint32
	vni  uint32
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
	if (d > newLifeJump || d < -newLifeJump) && op.begins() {
		s.begin(p) // begun anew: nothing says what lies between
		d = 0
	}
	if d < 0 {
		t.cfg.Notes.judge(p, decode.VerdictOther)
		b := f.bad()
		if s.recovery().unseen.remove(p.PSN, psnAdd(p.PSN, 1)) > 0 {
			b.lost.BeforeTap--
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
		s.recovery().unseen.add(s.pos, p.PSN)
		f.bad().lost.BeforeTap += uint64(d)
	}
	if op.begins() {
		s.sent[op.kind]++
	}
	if op.part == partFirst || op.part == partMiddle {
		s.mtu = max(s.mtu, p.Payload)
	}
	f.goodput += uint64(p.Payload)
	s.pos = psnAdd(p.PSN, 1)
	s.max = s.pos
	s.last, s.inMessage, s.lastOp = p.Time, !op.ends(), p.Opcode
	if s.rec != nil && len(s.rec.unseen) > 0 {
		s.rec.unseen.cutBelow((s.pos - newLifeJump) & psnMask)
	}
}
