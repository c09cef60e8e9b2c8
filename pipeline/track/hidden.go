package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// hidden says whether nothing can be made of a packet of f because frames end within a
// header: of a READ how long it is, and so which PSNs the responses have; of an
// acknowledgement whether it is a NAK; of a datagram whose PSNs it counts. From the
// first such packet on all that depends on it is not followed: requester is the flow
// whose requests that is about, nil where it is not known.
func (t *Tracker) hidden(f, requester *flow, p *Packet, op *operation) bool {
	takes := p.is(headerCut) && (op.class == classAck || op.class == classOwing && op.kind == record.Read || f.service == record.UD && !p.is(hasDETH))
	if takes && p.Copy == NoCopy {
		f.bad().headersCut++
		if requester != nil && !requester.req.blind {
			s := t.ownStream(requester)
			s.blind, s.rec, s.reads, s.spent = true, nil, &noReads, nil
			s.messages, s.samples = s.messages[:0], s.samples[:0]
		}
	}
	return takes || requester != nil && requester.req.blind
}

// unfollowed takes a packet of which no more is known than that it was there.
func (t *Tracker) unfollowed(f *flow, p *Packet) {
	if p.Copy != NoCopy {
		t.copied(f, p)
		return
	}
	t.cfg.Notes.judge(p, decode.VerdictOther)
	if p.Corrupt {
		f.bad().icrcBad++
	}
}

// blind says whether answers to f can't be told from one another, or may be to others.
func (f *flow) blind() bool {
	return f.req.blind || f.peer != nil && f.peer.trouble != nil && f.peer.trouble.headersCut > 0
}
