package correlate

import (
	"math/bits"

	"github.com/rocelens/rocelens/decode"
)

// flowKey names a flow: one direction towards one QP. What packets are wrapped
// in is no part of it, because mirrors and tunnels differ from tap to tap.
type flowKey struct {
	src, dst decode.Addr
	destQP   uint32
	srcQP    uint32 // of DETH
	kind     decode.Kind
	addr     decode.AddrKind
}

func keyOf(p *decode.Packet) flowKey {
	k := flowKey{src: p.Src, dst: p.Dst, destQP: p.DestQP, kind: p.Kind, addr: p.AddrKind}
	if p.Has&decode.HasDETH != 0 {
		k.srcQP = p.SrcQP
	}
	return k
}

// hash is the same for the same flow at each tap and in each run.
func (k *flowKey) hash() uint64 {
	h := mix(uint64(k.kind)<<8|uint64(k.addr), k.src.Hi)
	h = mix(h, k.src.Lo)
	h = mix(h, k.dst.Hi)
	h = mix(h, k.dst.Lo)
	return mix(h, uint64(k.srcQP)<<32|uint64(k.destQP))
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ bits.RotateLeft64(h, 29)>>3
}

// pairKey is one direction between two addresses.
type pairKey struct {
	src, dst decode.Addr
	kind     decode.Kind
	addr     decode.AddrKind
}

func (k *flowKey) pair() pairKey { return pairKey{k.src, k.dst, k.kind, k.addr} }

func (k pairKey) reverse() pairKey { return pairKey{k.dst, k.src, k.kind, k.addr} }

// identity is what two sightings of a packet have in common at all taps, the
// flow aside: nothing that routers change, and nothing that a short snap length
// cuts off.
type identity struct {
	op    uint32 // opcode and PSN
	extra uint32 // length of the payload, and what AETH says
	ipid  uint16
}

func identityOf(p *decode.Packet) identity {
	id := identity{op: uint32(p.Opcode)<<24 | p.PSN, extra: p.PayloadLen}
	if p.AddrKind == decode.AddrIPv4 { // it may be that of a tunnel else
		id.ipid = p.IPID
	}
	if p.Has&decode.HasAETH != 0 {
		id.extra = p.PayloadLen*0x9e3779b1 ^ (uint32(p.Syndrome)<<24 | p.MSN)
	}
	return id
}

func (id identity) psn() uint32           { return id.op & 0xffffff }
func (id identity) opcode() decode.Opcode { return decode.Opcode(id.op >> 24) }

// hash of a packet of a flow with the hash flow.
func (id identity) hash(flow uint64) uint64 {
	return mix(mix(flow, uint64(id.op)), uint64(id.extra)<<16|uint64(id.ipid))
}

// correlatable says whether a packet is looked for at other taps.
func correlatable(p *decode.Packet) bool { return p.RoCE() && p.Has&decode.HasBTH != 0 }

// readableICRC says whether the packet's ICRC was captured, right or wrong.
func readableICRC(p *decode.Packet) bool {
	return p.ICRCStatus == decode.ICRCUnchecked || p.ICRCStatus == decode.ICRCGood || p.ICRCStatus == decode.ICRCBad
}

// opReadRequest is RDMA READ Request without its service.
const opReadRequest = 0x0c

// operation is an opcode without its service.
func operation(op decode.Opcode) uint8 { return uint8(op) & 0x1f }

// isRequest says whether an opcode is one of a requester that is answered:
// reliable services alone have them.
func isRequest(op decode.Opcode) bool {
	switch op.Service() {
	case decode.ServiceRC, decode.ServiceXRC, decode.ServiceRD:
		o := operation(op)
		return o < 0x0d || o > 0x12
	}
	return false
}

// isAnswer says whether it is an answer that carries no data of a READ.
func isAnswer(op decode.Opcode) bool {
	switch op.Service() {
	case decode.ServiceRC, decode.ServiceXRC, decode.ServiceRD:
		return operation(op) == 0x11
	}
	return false
}
