package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Packet is what tracking needs of a decoded packet. It holds no reference to
// the packet's bytes.
type Packet struct {
	Time     int64 // ns
	Offset   int64
	Number   uint64
	Src, Dst decode.Addr
	hash     uint64 // of the flow's key

	DestQP, PSN uint32
	SrcQP       uint32 // UD
	VNI         uint32
	MSN         uint32
	DMALen      uint32
	Payload     uint32 // bytes
	WireLen     uint32
	Input       int32
	ID          uint16 // IPv4 identification
	SrcPort     uint16

	Opcode   decode.Opcode
	Syndrome decode.Syndrome
	Kind     decode.AddrKind
	Version  record.Version
	TOS      uint8
	Copy     Copy
	// Corrupt says that the ICRC is wrong, of a sender that computes it.
	Corrupt bool
	flags   uint8
}

// Copy says whether a packet is the same as one before it.
type Copy uint8

// The copies.
const (
	NoCopy     Copy = iota
	CopyMirror      // seen at two places, or the capture doubles this direction
	CopyNetwork
)

const (
	hasID uint8 = 1 << iota
	hasVNI
	ackReq
	truncated // the frame was cut short
	hasDETH
)

// Read takes p over. It returns false for a packet that is of no session: not
// RoCE, or without a readable BTH.
func (t *Packet) Read(p *decode.Packet) bool {
	if !p.RoCE() || p.Has&decode.HasBTH == 0 || p.AddrKind == decode.AddrNone {
		return false
	}
	f := p.Frame
	*t = Packet{
		Time: f.Time, Offset: f.Offset, Number: f.Number, Input: f.Input,
		Src: p.Src, Dst: p.Dst, Kind: p.AddrKind, DestQP: p.DestQP, PSN: p.PSN,
		Payload: p.PayloadLen, WireLen: p.WireLen, SrcPort: p.SrcPort, Opcode: p.Opcode, TOS: p.TOS,
	}
	switch p.Kind {
	case decode.KindRoCEv1:
		t.Version = record.V1
	case decode.KindIB:
		t.Version = record.IB
	default:
		t.Version = record.V2
	}
	if p.AddrKind == decode.AddrIPv4 {
		t.ID = p.IPID
		t.flags |= hasID
	}
	if p.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0 {
		t.VNI = p.VNI
		t.flags |= hasVNI
	}
	if p.BTHFlags&decode.AckReq != 0 {
		t.flags |= ackReq
	}
	if p.Has&decode.HasDETH != 0 {
		t.SrcQP = p.SrcQP
		t.flags |= hasDETH
	}
	if p.Has&decode.HasRETH != 0 {
		t.DMALen = p.DMALen
	}
	if p.Has&decode.HasAETH != 0 {
		t.Syndrome, t.MSN = p.Syndrome, p.MSN
	}
	if p.Truncated() {
		t.flags |= truncated
	}
	t.hash = flowHash(t)
	return true
}

func (t *Packet) is(flag uint8) bool { return t.flags&flag != 0 }

func (t *Packet) ref() record.FrameRef {
	return record.FrameRef{Input: t.Input, Number: t.Number, Time: t.Time, Offset: t.Offset}
}

// Hash fills in what finds the packet's flow. Read does it too; it is for
// packets that were made otherwise.
func (t *Packet) Hash() { t.hash = flowHash(t) }
