package track

import (
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// The rules of the transport that are looked after (InfiniBand Architecture
// Specification, volume 1, chapter 9), as protocol_error events name them. They
// are asked of a packet that is new and follows what the tap saw last: of a
// gap, a repeat and what was cut short nothing is said.
const (
	// ruleOrder: First, any number of Middle and Last of one operation, or
	// Only.
	ruleOrder = "opcode_order"
	// rulePayload: First and Middle carry the path MTU, Last 1 byte to the path
	// MTU, Only at most that.
	rulePayload = "payload_length"
	// ruleDMALength: a WRITE carries as many bytes as its RETH says.
	ruleDMALength = "dma_length"
	// ruleResponseOrder: the responses of a READ are First, Middle, Last, or
	// Only, at the PSNs that it took.
	ruleResponseOrder = "response_order"
	// ruleResponseLength: they carry as many bytes as it asks for.
	ruleResponseLength = "response_length"
	// ruleResponseBeyond: they end where it ends.
	ruleResponseBeyond = "response_beyond"
	// ruleMSN: the number of completed messages does not fall.
	ruleMSN = "msn_backwards"
)

// unknownLeft says that it is not known how many bytes of a WRITE are to come.
const unknownLeft = -1 << 62

// breaks counts a packet that breaks a rule, and says whether its event is kept:
// else nobody reads what it would say.
func (t *Tracker) breaks(by *flow, p *Packet, rule string) bool {
	by.bad().errors++
	t.cfg.Notes.broke(p, rule)
	if len(t.events) >= t.room && t.signed[signBroken] >= maxSigns {
		t.leftOut++
		by.marks().Broke(rule, 1)
		return false
	}
	return true
}

func (t *Tracker) protocolError(f *flow, p *Packet, rule, got, want string) {
	t.emit(f, p, record.ProtocolError{Rule: rule, PSN: p.PSN, Got: got, Want: want})
}

// conform looks at a request beyond the maximum, before it is taken in.
func (t *Tracker) conform(f *flow, p *Packet, op *operation) {
	s := f.req
	follows := p.PSN == s.pos && s.pos != s.start
	if follows && (op.begins() == s.inMessage || s.inMessage && operations[s.lastOp&31].kind != op.kind) {
		t.wrongOrder(f, p, op)
		s.left = unknownLeft
	}
	if op.class == classOwing {
		return
	}
	if uint32(p.Payload) != s.mtu || p.Payload == 0 { // else it is as long as those before it, which were looked at
		t.payload(f, p, op)
	}
	if op.kind != record.Write {
		return
	}
	switch {
	case p.is(truncated):
		s.left = unknownLeft
		return
	case op.begins():
		s.left = int64(p.DMALen)
	case !follows:
		s.left = unknownLeft
	}
	if s.left == unknownLeft {
		return
	}
	if s.left -= int64(p.Payload); s.left < 0 || op.ends() && s.left > 0 {
		if t.breaks(f, p, ruleDMALength) {
			word := "fewer"
			if s.left < 0 {
				word = "more"
			}
			t.protocolError(f, p, ruleDMALength, bytesOf(max(s.left, -s.left))+" "+word, "as many as the RETH says")
		}
		s.left = unknownLeft
	}
}

func bytesOf[T uint32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) + " bytes" }

func (t *Tracker) wrongOrder(f *flow, p *Packet, op *operation) {
	if !t.breaks(f, p, ruleOrder) {
		return
	}
	s := f.req
	want := "the beginning of a message after " + s.lastOp.String()
	if s.inMessage {
		want = "Middle or Last after " + s.lastOp.String()
	}
	t.protocolError(f, p, ruleOrder, p.Opcode.String(), want)
}

// payload looks at the length of a packet of a SEND or a WRITE. The path MTU is
// CM's, or what the packets before it had.
func (t *Tracker) payload(f *flow, p *Packet, op *operation) {
	if p.is(truncated) {
		return
	}
	mtu := f.req.mtu
	if c := f.life.cm(); c != nil && c.PathMTU != 0 {
		mtu = c.PathMTU
	}
	empty := op.part == partLast && p.Payload == 0
	whole := !op.ends()
	if !empty && (mtu == 0 || uint32(p.Payload) == mtu || uint32(p.Payload) < mtu && !whole) || !t.breaks(f, p, rulePayload) {
		return
	}
	want := "at least 1 byte"
	switch {
	case empty:
	case whole:
		want = "the path MTU, " + bytesOf(mtu)
	default:
		want = "at most the path MTU, " + bytesOf(mtu)
	}
	t.protocolError(f, p, rulePayload, bytesOf(uint32(p.Payload))+" in "+p.Opcode.String(), want)
}

// conformResponse looks at a READ response. i is the index of what owes it, -1
// where nothing does.
func (t *Tracker) conformResponse(g, f *flow, p *Packet, op *operation, i int) {
	s := f.req
	if op.kind != record.Read || s.guessed || p.is(truncated) {
		return
	}
	mtu := f.knownMTU()
	switch {
	case mtu == 0, s.notMTU != 0 && mtu == s.readMTU && s.mtu == 0: // not sure yet: packets may be missing behind the READs that tell it
		return
	case i < 0:
		t.beyond(g, f, p, op)
		return
	case s.owed[i].kind != record.Read:
		return // FLUSH and ATOMIC WRITE are answered likewise
	}
	o := &s.owed[i]
	n, packets := psnDiff(p.PSN, o.lo), psnDiff(o.hi, o.lo)
	want := partMiddle
	switch {
	case packets == 1:
		want = partOnly
	case n == 0:
		want = partFirst
	case n == packets-1:
		want = partLast
	}
	// Of a READ that was asked for again from its middle, responders begin
	// the answer with First or with Middle.
	// The first READ that the tap has seen may be one.
	resumed := o.again || s.resp.joined.has(p.PSN) || n == 0 && o.lo == s.start && !op.begins() && (op.part == partLast) == (packets == 1)
	if op.part != want && !resumed {
		if t.breaks(g, p, ruleResponseOrder) {
			t.protocolError(f, p, ruleResponseOrder, p.Opcode.String(), partNames[want]+", the READ has "+strconv.Itoa(int(packets))+" responses")
		}
		return
	}
	length := mtu
	if n == packets-1 {
		length = o.bytes - uint32(packets-1)*mtu
	}
	if uint32(p.Payload) != length && t.breaks(g, p, ruleResponseLength) {
		t.protocolError(f, p, ruleResponseLength, bytesOf(uint32(p.Payload)), bytesOf(length))
	}
}

var partNames = [...]string{partOnly: "Only", partFirst: "First", partMiddle: "Middle", partLast: "Last"}

// beyond looks at a response that nothing asked for: one that goes on where a
// READ's answer ends is beyond it. Others may be of a READ that the tap missed.
func (t *Tracker) beyond(g, f *flow, p *Packet, op *operation) {
	if op.begins() {
		return
	}
	i := f.req.owedAt(psnAdd(p.PSN, psnMask))
	if i < 0 || f.req.owed[i].kind != record.Read || f.req.owed[i].again {
		return
	}
	if t.breaks(g, p, ruleResponseBeyond) {
		o := &f.req.owed[i]
		t.protocolError(f, p, ruleResponseBeyond, p.Opcode.String(), "the answer to end with PSN "+strconv.Itoa(int(o.hi-1)&psnMask))
	}
}

// conformMSN looks at the MSN of an ACK. An ACK that others overtook says
// nothing, and neither does a QPN that begins anew.
func (t *Tracker) conformMSN(g, f *flow, p *Packet) {
	s := f.req
	if p.Syndrome.Type() != decode.Ack || p.is(truncated) {
		return
	}
	newer := s.hasMSN && psnDiff(p.PSN, s.msnAt) > 0
	if newer && psnDiff(p.MSN, s.msn) < 0 && p.MSN > 1 && t.breaks(g, p, ruleMSN) {
		t.protocolError(f, p, ruleMSN, strconv.Itoa(int(p.MSN)), "at least "+strconv.Itoa(int(s.msn)))
	}
	if newer || !s.hasMSN {
		s.hasMSN, s.msn, s.msnAt = true, p.MSN, p.PSN
	}
}
