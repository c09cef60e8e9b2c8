package scenario

// Operations, the lower 5 bits of an opcode (InfiniBand Architecture
// Specification, volume 1, table 38; the same numbers as in the kernel's
// ib_pack.h).
const (
	opSendFirst      = 0x00
	opSendMiddle     = 0x01
	opSendLast       = 0x02
	opSendLastImm    = 0x03
	opSendOnly       = 0x04
	opSendOnlyImm    = 0x05
	opWriteFirst     = 0x06
	opWriteMiddle    = 0x07
	opWriteLast      = 0x08
	opWriteLastImm   = 0x09
	opWriteOnly      = 0x0a
	opWriteOnlyImm   = 0x0b
	opReadRequest    = 0x0c
	opReadRespFirst  = 0x0d
	opReadRespMiddle = 0x0e
	opReadRespLast   = 0x0f
	opReadRespOnly   = 0x10
	opAcknowledge    = 0x11
	opAtomicAck      = 0x12
	opCmpSwap        = 0x13
	opFetchAdd       = 0x14
	opSendLastInv    = 0x16
	opSendOnlyInv    = 0x17
)

// Groups of opcodes, the upper 3 bits.
const (
	groupRC  = 0x00
	groupUC  = 0x20
	groupUD  = 0x60
	groupXRC = 0xa0
)

// opCNP is the congestion notification packet as it is on the wire. The
// group's base, 0x80, is what some programs have for it.
const opCNP = 0x81

// Extended headers, a bit each, in the order in which they stand in a packet.
const (
	hasDETH = 1 << iota
	hasXRCETH
	hasRETH
	hasAtomicETH
	hasAETH
	hasAtomicAckETH
	hasImmDt
	hasIETH
)

// headersOf are the extended headers of an opcode.
func headersOf(op uint8) int {
	h := 0
	group, oper := op&0xe0, op&0x1f
	if op == opCNP {
		return 0
	}
	request := false
	switch oper {
	case opSendFirst, opSendMiddle, opSendLast, opSendOnly, opWriteMiddle, opWriteLast:
		request = true
	case opSendLastImm, opSendOnlyImm, opWriteLastImm:
		request, h = true, hasImmDt
	case opWriteFirst, opWriteOnly, opReadRequest:
		request, h = true, hasRETH
	case opWriteOnlyImm:
		request, h = true, hasRETH|hasImmDt
	case opReadRespFirst, opReadRespLast, opReadRespOnly, opAcknowledge:
		h = hasAETH
	case opAtomicAck:
		h = hasAETH | hasAtomicAckETH
	case opCmpSwap, opFetchAdd:
		request, h = true, hasAtomicETH
	case opSendLastInv, opSendOnlyInv:
		request, h = true, hasIETH
	}
	switch {
	case group == groupUD:
		h |= hasDETH
	case group == groupXRC && request:
		h |= hasXRCETH
	}
	return h
}

// isSend says whether an operation takes a receive buffer at its start.
func isSend(op uint8) bool {
	switch op & 0x1f {
	case opSendFirst, opSendMiddle, opSendLast, opSendLastImm, opSendOnly, opSendOnlyImm, opSendLastInv, opSendOnlyInv:
		return true
	}
	return false
}
