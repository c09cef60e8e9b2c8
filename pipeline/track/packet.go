package track

import (
	"math/bits"

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
	WireLen     uint32
	Input       int32
	ID          uint16 // IPv4 identification
	SrcPort     uint16
	Payload     uint16 // bytes
	PKey        uint16 // all bits inverted, so that 0 is the default one

	Opcode   decode.Opcode
	Syndrome decode.Syndrome
	Kind     decode.AddrKind
	Version  record.Version
	TOS      uint8
	TTL      uint8 // or hop limit
	Copy     Copy
	// Corrupt says that the ICRC is wrong, of a sender that computes it.
	Corrupt bool
	flags   uint16 // and from priorityBit on the priority
	macs    uint16 // see SetMACs
	// Interface is where it was captured, an index into capture.Input.Interfaces.
	Interface int32
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
	hasVNI uint16 = 1 << iota
	ackReq
	truncated // the frame was cut short
	hasDETH
	sentHere    // by the host that captured it
	gotHere     // by the host that captured it, to which it was sent
	migReq      // MigReq of the BTH
	headerCut   // of an extended header, and all behind it
	alike       // see Alike
	priorityBit = 1 << iota
)

// Read takes p over, whatever t was, and returns its Way. It returns false for a packet that is of no session: not
// RoCE, or without a readable BTH.
func (t *Packet) Read(p *decode.Packet) (way uint64, ok bool) {
	if !p.RoCE() || p.Has&decode.HasBTH == 0 || p.AddrKind == decode.AddrNone {
		return 0, false
	}
	// Field by field, which takes half the time of writing all at once.
	f := p.Frame
	t.Time, t.Offset, t.Number, t.Input, t.Interface = f.Time, f.Offset, f.Number, f.Input, f.Interface
	t.Src, t.Dst, t.Kind, t.DestQP, t.PSN = p.Src, p.Dst, p.AddrKind, p.DestQP, p.PSN
	t.Payload, t.WireLen, t.SrcPort, t.Opcode, t.TOS, t.TTL = uint16(p.PayloadLen), p.WireLen, p.SrcPort, p.Opcode, p.TOS, p.TTL
	t.SrcQP, t.VNI, t.MSN, t.DMALen, t.ID, t.Syndrome = 0, 0, 0, 0, 0, 0
	t.PKey, t.Copy, t.Corrupt, t.macs = ^p.PKey, NoCopy, false, 0
	switch p.Kind {
	case decode.KindRoCEv1:
		t.Version = record.V1
	case decode.KindIB:
		t.Version = record.IB
	default:
		t.Version = record.V2
	}
	var flags uint16
	if p.Encap&(decode.EncapVLAN|decode.EncapQinQ) != 0 {
		flags = (1 + p.VLAN>>13) * priorityBit
	}
	if p.AddrKind == decode.AddrIPv4 {
		t.ID = p.IPID
	}
	if p.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0 {
		t.VNI = p.VNI
		flags |= hasVNI
	}
	if p.BTHFlags&decode.AckReq != 0 {
		flags |= ackReq
	}
	if p.BTHFlags&decode.MigReq != 0 {
		flags |= migReq
	}
	if p.Has&decode.HasDETH != 0 {
		t.SrcQP = p.SrcQP
		flags |= hasDETH
	}
	if p.Has&decode.HasRETH != 0 {
		t.DMALen = p.DMALen
	}
	if p.Has&decode.HasAETH != 0 {
		t.Syndrome, t.MSN = p.Syndrome, p.MSN
	}
	if p.Truncated() {
		flags |= truncated
		if p.Err.Code == decode.ErrTruncated && p.Err.Layer > decode.LayerBTH && p.Err.Layer < decode.LayerMAD {
			flags |= headerCut
		}
	}
	t.flags = flags | cookedWay(p)
	way = t.Way()
	t.hash = flowHash(t, way)
	return way, true
}

// Alike notes that the same packet came before, soon enough for one of them to be a copy
// of the other, and that nothing tells a copy from a packet that was sent again.
func (t *Packet) Alike() { t.flags |= alike }

func (t *Packet) is(flag uint16) bool { return t.flags&flag != 0 }

// hasID says that ID is valid: other headers than IPv4's have none.
func (t *Packet) hasID() bool { return t.Kind == decode.AddrIPv4 }

// priority is that of the VLAN tag, and 1; 0 without a tag.
func (t *Packet) priority() uint8 { return uint8(t.flags / priorityBit) }

// Ref is the frame that it came in.
func (t *Packet) Ref() record.FrameRef {
	return record.FrameRef{Input: t.Input, Number: t.Number, Time: t.Time, Offset: t.Offset}
}

// Hash fills in what finds the packet's flow. Read does it too; it is for
// packets that were made otherwise.
func (t *Packet) Hash() { t.hash = flowHash(t, t.Way()) }

// Way is a hash of both addresses, in their order.
func (t *Packet) Way() uint64 {
	return Mix(t.Src.Lo^t.Src.Hi, bits.RotateLeft64(t.Dst.Lo^t.Dst.Hi, 32))
}

// Pair is a hash of both addresses, in whatever order.
func (t *Packet) Pair() uint64 { return Mix(t.Src.Lo+t.Dst.Lo, t.Src.Hi^t.Dst.Hi^t.Src.Lo^t.Dst.Lo) }
