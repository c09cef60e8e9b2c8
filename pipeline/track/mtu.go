package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
)

// The path MTUs that there are, in bytes.
var mtus = [...]uint32{256, 512, 1024, 2048, 4096}

// defaultMTU is what a port of 1,500 bytes has.
const defaultMTU = 1024

// knownMTU is the path MTU in bytes: what CM said, else what First and Middle
// packets show, in either direction, else what READs show; 0 where nothing
// tells it.
func (f *flow) knownMTU() uint32 {
	if c := f.life.cm(); c != nil && c.PathMTU != 0 {
		return c.PathMTU
	}
	m := max(f.req.mtu, f.req.readMTU)
	if g := f.peer; m == 0 && g != nil {
		m = max(g.req.mtu, g.req.readMTU)
	}
	return m
}

// pathMTU is the path MTU, or a guess: of those that it may be that of a port of
// 1,500 bytes, else the next larger one.
func (f *flow) pathMTU() uint32 {
	if m := f.knownMTU(); m != 0 {
		return m
	}
	below := uint32(0)
	for i, m := range mtus {
		switch {
		case !f.mayHave(i):
		case m >= defaultMTU:
			return m
		default:
			below = m
		}
	}
	if below != 0 {
		return below
	}
	return mtuFor(max(defaultMTU, f.longest()))
}

// mayHave says whether nothing is against a path MTU: no packet is longer, in
// either direction, and READs take as many PSNs.
func (f *flow) mayHave(i int) bool {
	not := f.req.notMTU
	if g := f.peer; g != nil {
		not |= g.req.notMTU
	}
	return not>>i&1 == 0 && mtus[i] >= f.longest()
}

// sameWidth says whether a READ takes as many PSNs whatever the path MTU is.
func (f *flow) sameWidth(bytes uint32) bool {
	n := packetsOf(bytes, f.pathMTU())
	for i, m := range mtus {
		if f.mayHave(i) && packetsOf(bytes, m) != n {
			return false
		}
	}
	return true
}

// learnWidth takes how many PSNs the READ of an index of owed turned out to
// take.
func (f *flow) learnWidth(i int, least, most uint32) {
	s := f.req
	o := &s.owed[i]
	var fit, n uint32
	var not uint8
	for j, m := range mtus {
		switch w := packetsOf(o.bytes, m); {
		case w < least || w > most:
			not |= 1 << j
		case f.mayHave(j):
			fit = m
			n++
		}
	}
	if n == 0 {
		return // something is missing behind it
	}
	s.notMTU |= not
	if n == 1 {
		s.learnMTU(fit)
	}
	s.widen(o, packetsOf(o.bytes, f.pathMTU()))
	if i == len(s.owed)-1 {
		s.guessed = n > 1 && !f.sameWidth(o.bytes)
	}
}

// whole takes the one response that answers all of the READ of an index of owed.
func (f *flow) whole(i int, p *Packet) {
	s := f.req
	if p.PSN != s.owed[i].lo || uint32(p.Payload) != s.owed[i].bytes || uint32(p.Payload) <= mtus[0] {
		return
	}
	if f.knownMTU() == 0 {
		f.learnWidth(i, 1, 1)
	}
}

// tooLong takes a payload that is longer than the path MTU that the PSNs of READs have
// told, in either direction: what followed one of them was missing.
func (f *flow) tooLong(payload uint32) {
	f.notSoShort(payload)
	if g := f.peer; g != nil {
		g.notSoShort(payload)
	}
}

func (f *flow) notSoShort(payload uint32) {
	s := f.req
	if s.readMTU == 0 || s.notMTU == 0 || payload <= s.readMTU {
		return
	}
	s.readMTU, s.notMTU = 0, 0
	for j, m := range mtus {
		if m < payload {
			s.notMTU |= 1 << j
		}
	}
	f.widenRest(-1)
}

// widenRest sets anew how many PSNs the READs behind one of owed take.
func (f *flow) widenRest(i int) {
	s := f.req
	for i++; i < len(s.owed); i++ {
		o := &s.owed[i]
		if o.kind != record.Read {
			continue
		}
		s.widen(o, packetsOf(o.bytes, f.pathMTU()))
		if i == len(s.owed)-1 {
			s.guessed = !f.sameWidth(o.bytes)
		}
	}
}

// widen sets how many PSNs a READ takes.
func (s *stream) widen(o *owed, took uint32) {
	old := o.hi
	o.hi = psnAdd(o.lo, took)
	for j := range s.messages {
		if m := &s.messages[j]; m.owing && m.lo == o.lo {
			m.hi = o.hi
		}
	}
	if s.rec != nil && psnDiff(o.hi, old) > 0 {
		s.rec.missing.remove(old, o.hi)
		s.rec.unseen.remove(old, o.hi)
	}
	if psnDiff(o.hi, old) < 0 && s.pos != old { // what followed is not what was thought to
		if s.rec == nil {
			s.rec = new(recovery)
		}
		s.rec.missing.add(o.hi, old)
		s.rec.unseen.add(o.hi, old)
	}
	if s.pos == old {
		s.pos = o.hi
	}
	if s.max == old {
		s.max = o.hi
	}
}

// longest is the longest payload seen in either direction.
func (f *flow) longest() uint32 {
	if g := f.peer; g != nil {
		return max(f.req.longest, g.req.longest)
	}
	return f.req.longest
}

// mtuFor is the least path MTU that lets a payload pass.
func mtuFor(payload uint32) uint32 {
	for _, m := range mtus {
		if m >= payload {
			return m
		}
	}
	return mtus[len(mtus)-1]
}

func packetsOf(bytes, mtu uint32) uint32 {
	return max(1, uint32((uint64(bytes)+uint64(mtu)-1)/uint64(mtu)))
}

// resumes looks whether p asks for the rest of a READ of unknown width: what it
// leaves out tells the path MTU.
func (f *flow) resumes(o *owed, p *Packet, took uint32) bool {
	if op, _ := operationOf(p.Opcode); op.kind != record.Read || op.class != classOwing || p.DMALen >= o.bytes {
		return false
	}
	for i, m := range mtus {
		if f.mayHave(i) && uint64(o.bytes-p.DMALen) == uint64(took)*uint64(m) {
			f.req.notMTU = (1<<len(mtus) - 1) &^ (1 << i) // it may be another READ, which happens to ask for so much less
			f.req.learnMTU(m)
			return true
		}
	}
	return false
}

// readWidth is how many PSNs a request takes. Before that, where the last
// request is a READ of unknown width, this request's PSN tells it.
func (t *Tracker) readWidth(f *flow, p *Packet, op *operation) uint32 {
	s := f.req
	f.learnKnown()
	c, size := f.life.cm(), uint32(p.Payload)
	if (c == nil || c.PathMTU == 0) && op.class == classRequest && !op.ends() && mtuFor(size) == size {
		// This is sure, whatever PSNs of READs have told: packets may be missing
		// behind them.
		known := f.knownMTU()
		s.guessed = s.guessed || known != 0 && known != size
		s.learnMTU(size)
		s.notMTU = 0
	}
	if s.guessed && len(s.owed) > 0 {
		i := len(s.owed) - 1
		switch took := psnDiff(p.PSN, s.owed[i].lo); {
		case took <= 0 || s.owed[i].kind != record.Read:
		case f.resumes(&s.owed[i], p, uint32(took)):
		case s.pos != s.owed[i].hi: // it does not follow
		case op.begins():
			f.learnWidth(i, uint32(took), uint32(took))
		default: // what begins its message is missing between them
			f.learnWidth(i, 1, uint32(took)-1)
		}
	}
	if op.class != classOwing || op.kind != record.Read {
		return 1
	}
	if f.knownMTU() == 0 && !f.sameWidth(p.DMALen) {
		s.guessed = true
	}
	return packetsOf(p.DMALen, f.pathMTU())
}

// learnMTU sets the path MTU that READs show, and the PSNs of the READs that
// are waited for by it.
func (s *stream) learnMTU(mtu uint32) {
	if s.readMTU == mtu {
		return
	}
	s.readMTU = mtu
	if !s.guessed {
		return
	}
	s.guessed = false
	for i := range s.owed {
		o := &s.owed[i]
		if o.kind != record.Read {
			continue
		}
		s.widen(o, packetsOf(o.bytes, mtu))
	}
}

// learnKnown takes the path MTU for that of READs of unknown width, where something
// else has told it: the other direction, say, by whatever that knows it.
func (f *flow) learnKnown() {
	s, m := f.req, f.knownMTU()
	if !s.guessed || m == 0 {
		return
	}
	if g := f.peer; g != nil && g.req.readMTU == m {
		s.notMTU |= g.req.notMTU
	}
	s.learnMTU(m)
}

// widthAtMost is how many PSNs a request can take.
func (f *flow) widthAtMost(p *Packet, op *operation) uint32 {
	if op.class != classOwing || op.kind != record.Read {
		return 1
	}
	if p.is(headerCut) {
		return maxWindow
	}
	m := f.knownMTU()
	if m == 0 {
		m = mtus[0]
	}
	return packetsOf(p.DMALen, m)
}
