package track

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Notes is what a Tracker finds out about each packet, by the number of its
// frame. It is filled while packets are followed, and can be read once the
// Tracker is closed: causes, places and the names of sessions are known late.
//
// It takes 32 bytes a frame of an input that is RoCE throughout, and as much
// for other frames among them. A nil Notes takes no note.
type Notes struct {
	inputs [][]*noteChunk // by input, and within by the number of the frame
	flows  []notedFlow    // by number - 1
	tries  []*record.Try  // by number - 1; judged anew where they are, after their packets
	rules  []string       // by number - 1
	n      uint64
}

// NewNotes returns an empty Notes, for Config.Notes.
func NewNotes() *Notes { return new(Notes) }

// notesPerChunk is how many frames lie together, in 32 KiB.
const notesPerChunk = 1 << 10

type noteChunk [notesPerChunk]noted

// noted is the note of a packet. Numbers of flows and tries count from 1, 0 is
// none. Whole captures are held as these: it has no pointers, and 32 bytes.
type noted struct {
	flow, try uint32
	pass      uint32
	role      decode.Role // RoleNone: a frame without a note
	verdict   decode.Verdict
	flags     decode.NoteFlags
	rule      uint8
	ack       int64
	message   int64
}

// notedFlow is what a packet's note has from its flow.
type notedFlow struct {
	f       *flow  // until the Tracker is closed
	session string // then
	side    uint8
	mirror  bool // all copies are the capture's
}

// Len is how many packets have a note.
func (n *Notes) Len() uint64 { return n.n }

// Get writes the note of a frame to note. It returns false if the frame has
// none: it is not RoCE, or was not followed. Inputs count from 0, frames from 1.
func (n *Notes) Get(input int32, number uint64, note *decode.Note) bool {
	*note = decode.Note{}
	if input < 0 || int(input) >= len(n.inputs) || number == 0 {
		return false
	}
	chunks := n.inputs[input]
	at := (number - 1) / notesPerChunk
	if at >= uint64(len(chunks)) || chunks[at] == nil {
		return false
	}
	e := &chunks[at][(number-1)%notesPerChunk]
	if e.role == decode.RoleNone {
		return false
	}
	*note = decode.Note{
		Role: e.role, Verdict: e.verdict, Flags: e.flags, Pass: e.pass, AckLatency: e.ack, MessageLatency: e.message,
	}
	if e.flow > 0 {
		f := &n.flows[e.flow-1]
		note.Session, note.Stream = f.session, f.side
		if e.role != decode.RoleRequest { // about the other side's requests
			note.Stream = 1 - f.side
		}
		if f.mirror {
			note.Flags &^= decode.NoteByNetwork
		}
	}
	if e.rule > 0 {
		note.Rule = n.rules[e.rule-1]
	}
	if e.try > 0 {
		t := n.tries[e.try-1]
		note.Try, note.TryID, note.Silence = t.Number, e.try, t.Silence
		note.Cause, note.Place, note.Mode = decode.NoteCause(t.Cause), decode.NotePlace(t.Place), decode.NoteMode(t.Mode)
	}
	return true
}

// at is the place of a frame's note.
func (n *Notes) at(input int32, number uint64) *noted {
	for int(input) >= len(n.inputs) {
		n.inputs = append(n.inputs, nil)
	}
	chunks := n.inputs[input]
	at := int((number - 1) / notesPerChunk)
	for at >= len(chunks) {
		chunks = append(chunks, nil)
		n.inputs[input] = chunks
	}
	if chunks[at] == nil {
		chunks[at] = new(noteChunk)
	}
	return &chunks[at][(number-1)%notesPerChunk]
}

// of is not inlined, so that those that look for nil before they call it are.
//
//go:noinline
func (n *Notes) of(p *Packet) *noted { return n.at(p.Input, p.Number) }

// begin notes what p is, whatever its flow.
func (n *Notes) begin(p *Packet) {
	if n != nil {
		n.first(p)
	}
}

// first notes what can be said of p by itself. Requests and responses are new
// until something else is said of them.
func (n *Notes) first(p *Packet) {
	e := noted{role: roleOf(p)}
	switch {
	case p.Copy != NoCopy:
		e.verdict = decode.VerdictCopy
	case p.Corrupt:
		e.verdict = decode.VerdictCorrupt
	case e.role == decode.RoleRequest, e.role == decode.RoleResponse:
		e.verdict = decode.VerdictNew
	}
	n.put(p.Input, p.Number, e)
}

// Unread notes a packet that is RoCE and of which Packet.Read makes nothing.
func (n *Notes) Unread(p *decode.Packet) {
	if n != nil {
		n.put(p.Frame.Input, p.Frame.Number, noted{role: decode.RoleUnknown})
	}
}

func (n *Notes) put(input int32, number uint64, e noted) {
	at := n.at(input, number)
	if at.role == decode.RoleNone {
		n.n++
	}
	*at = e
}

func roleOf(p *Packet) decode.Role {
	op, _ := operationOf(p.Opcode)
	switch {
	case p.DestQP <= 1:
		return decode.RoleManagement
	case isCNP(p.Opcode):
		return decode.RoleCNP
	case op.class == classRequest, op.class == classOwing:
		return decode.RoleRequest
	case op.class == classResponse:
		return decode.RoleResponse
	case op.class == classAck:
		switch p.Syndrome.Type() {
		case decode.Ack:
			return decode.RoleAck
		case decode.RNRNak:
			return decode.RoleRNRNak
		case decode.Nak:
			return decode.RoleNak
		}
	}
	return decode.RoleUnknown
}

// follow notes the flow that p is followed in.
func (n *Notes) follow(f *flow, p *Packet) {
	if n != nil {
		n.setFlow(f, p)
	}
}

func (n *Notes) setFlow(f *flow, p *Packet) {
	if f.noted == 0 {
		n.flows = append(n.flows, notedFlow{f: f})
		f.noted = uint32(len(n.flows))
	}
	e := n.of(p)
	e.flow = f.noted
	if e.role == decode.RoleRequest && f.req != nil {
		e.pass = f.req.passes
	}
	if p.Copy == CopyNetwork {
		e.flags |= decode.NoteByNetwork
	}
}

// judge notes what p turned out to be.
func (n *Notes) judge(p *Packet, v decode.Verdict) {
	if n != nil {
		n.of(p).verdict = v
	}
}

// again notes that p was sent again.
func (n *Notes) again(p *Packet, fill bool) {
	v := decode.VerdictRepeat
	if fill {
		v = decode.VerdictFill
	}
	n.judge(p, v)
}

func (n *Notes) flag(p *Packet, f decode.NoteFlags) {
	if n != nil {
		n.of(p).flags |= f
	}
}

// unflag takes a flag back from a packet that came before.
func (n *Notes) unflag(frame record.FrameRef, f decode.NoteFlags) {
	if n != nil {
		n.at(frame.Input, frame.Number).flags &^= f
	}
}

// stepBack notes that p begins a try, which has just become that of s.
func (n *Notes) stepBack(s *stream, p *Packet) {
	if n == nil {
		return
	}
	n.tries = append(n.tries, s.rec.try)
	s.rec.noted = uint32(len(n.tries))
	e := n.of(p)
	e.flags |= decode.NoteFirstOfTry
	e.pass = s.passes
}

// broke notes that p broke a rule; of several the first is kept. There is a
// handful of rules.
func (n *Notes) broke(p *Packet, rule string) {
	if n == nil || n.of(p).rule != 0 {
		return
	}
	i := slices.Index(n.rules, rule)
	if i < 0 {
		i = len(n.rules)
		n.rules = append(n.rules, rule)
	}
	n.of(p).rule = uint8(i + 1)
}

// resent notes that p is of the try that is under way, if one is.
func (n *Notes) resent(s *stream, p *Packet, wasted bool) {
	if n == nil {
		return
	}
	e := n.of(p)
	e.pass = s.passes
	if s.rec.try != nil {
		e.try = s.rec.noted
	}
	if wasted {
		e.flags |= decode.NoteWasted
	}
}

// ackLatency notes that p gave a sample.
func (n *Notes) ackLatency(p *Packet, ns int64) {
	if n != nil {
		e := n.of(p)
		longest(&e.ack, ns, &e.flags, decode.NoteAckLatency)
	}
}

// messageLatency notes that the packet of a frame completed a message.
func (n *Notes) messageLatency(frame record.FrameRef, ns int64) {
	if n != nil {
		e := n.at(frame.Input, frame.Number)
		longest(&e.message, ns, &e.flags, decode.NoteMessageLatency)
	}
}

func longest(to *int64, ns int64, flags *decode.NoteFlags, has decode.NoteFlags) {
	if *flags&has == 0 || ns > *to {
		*to = ns
	}
	*flags |= has
}

// finish takes over what notes have from flows.
func (n *Notes) finish() {
	if n == nil {
		return
	}
	for i := range n.flows {
		if f := n.flows[i].f; f != nil {
			n.forget(f)
		}
	}
}

// forget takes over what notes have from a flow that is settled.
func (n *Notes) forget(f *flow) {
	if n == nil || f.noted == 0 {
		return
	}
	to := &n.flows[f.noted-1]
	*to = notedFlow{session: f.sessionName()}
	if f.life.began != f {
		to.side = 1
	}
	to.mirror = f.trouble != nil && f.trouble.duplicates.Network == 0 && f.trouble.duplicates.Capture > 0
}
