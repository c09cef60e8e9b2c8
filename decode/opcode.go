package decode

import "strconv"

// Opcode is BTH's first byte: the transport in the upper three bits, the
// operation in the lower five (InfiniBand Architecture Specification, volume
// 1, table 38; the kernel's ib_pack.h and rxe_opcode.c state the same facts).
type Opcode uint8

// The opcodes that the code speaks of by name. All others are in the table.
const (
	OpRCSendOnly        Opcode = 0x04
	OpRCAcknowledge     Opcode = 0x11
	OpRCFlush           Opcode = 0x1c
	OpUDSendOnly        Opcode = 0x64
	OpUDSendOnlyImm     Opcode = 0x65
	OpCNPGroup          Opcode = 0x80 // what the kernel and Wireshark name CNP: the base of its group
	OpCNP               Opcode = 0x81 // what RoCEv2 NICs send
	firstManufacturerOp Opcode = 0xc0
)

// Service is a transport service.
type Service uint8

// The transport services, in the order of the opcode's upper three bits.
const (
	ServiceRC Service = iota
	ServiceUC
	ServiceRD
	ServiceUD
	ServiceCNP
	ServiceXRC
	ServiceVendor // 0xc0 to 0xff: manufacturer specific
)

func (s Service) String() string {
	return [...]string{"RC", "UC", "RD", "UD", "CNP", "XRC", "vendor"}[s]
}

// Service is the transport service of the opcode.
func (o Opcode) Service() Service {
	if o >= firstManufacturerOp {
		return ServiceVendor
	}
	return Service(o >> 5)
}

// opInfo is one row of the opcode table.
type opInfo struct {
	name string // as in the JSON report; "" for an opcode that is not defined
	text string // for people
	// headers are the extended headers in their order on the wire, ended by
	// LayerNone.
	headers [5]LayerKind
	extLen  uint8 // bytes of the extended headers together
	payload bool  // may carry payload
}

// operations are the operations of RC and XRC, and those of UC and RD among
// them, by the opcode's lower five bits. headers are RC's; the table adds what
// the other services put in front of them.
var operations = [32]struct {
	name, text string
	headers    []LayerKind
	payload    bool
	services   string // which services have it, by initial: R(C) U(C) D(RD) X(RC)
}{
	0x00: {"SEND_FIRST", "SEND First", nil, true, "RUDX"},
	0x01: {"SEND_MIDDLE", "SEND Middle", nil, true, "RUDX"},
	0x02: {"SEND_LAST", "SEND Last", nil, true, "RUDX"},
	0x03: {"SEND_LAST_IMM", "SEND Last Imm", []LayerKind{LayerImmDt}, true, "RUDX"},
	0x04: {"SEND_ONLY", "SEND Only", nil, true, "RUDX"},
	0x05: {"SEND_ONLY_IMM", "SEND Only Imm", []LayerKind{LayerImmDt}, true, "RUDX"},
	0x06: {"RDMA_WRITE_FIRST", "RDMA WRITE First", []LayerKind{LayerRETH}, true, "RUDX"},
	0x07: {"RDMA_WRITE_MIDDLE", "RDMA WRITE Middle", nil, true, "RUDX"},
	0x08: {"RDMA_WRITE_LAST", "RDMA WRITE Last", nil, true, "RUDX"},
	0x09: {"RDMA_WRITE_LAST_IMM", "RDMA WRITE Last Imm", []LayerKind{LayerImmDt}, true, "RUDX"},
	0x0a: {"RDMA_WRITE_ONLY", "RDMA WRITE Only", []LayerKind{LayerRETH}, true, "RUDX"},
	0x0b: {"RDMA_WRITE_ONLY_IMM", "RDMA WRITE Only Imm", []LayerKind{LayerRETH, LayerImmDt}, true, "RUDX"},
	0x0c: {"RDMA_READ_REQUEST", "RDMA READ Request", []LayerKind{LayerRETH}, false, "RDX"},
	0x0d: {"RDMA_READ_RESPONSE_FIRST", "RDMA READ Response First", []LayerKind{LayerAETH}, true, "RDX"},
	0x0e: {"RDMA_READ_RESPONSE_MIDDLE", "RDMA READ Response Middle", nil, true, "RDX"},
	0x0f: {"RDMA_READ_RESPONSE_LAST", "RDMA READ Response Last", []LayerKind{LayerAETH}, true, "RDX"},
	0x10: {"RDMA_READ_RESPONSE_ONLY", "RDMA READ Response Only", []LayerKind{LayerAETH}, true, "RDX"},
	0x11: {"ACKNOWLEDGE", "Acknowledge", []LayerKind{LayerAETH}, false, "RDX"},
	0x12: {"ATOMIC_ACKNOWLEDGE", "ATOMIC Acknowledge", []LayerKind{LayerAETH, LayerAtomicAckETH}, false, "RDX"},
	0x13: {"CMP_SWAP", "CmpSwap", []LayerKind{LayerAtomicETH}, false, "RDX"},
	0x14: {"FETCH_ADD", "FetchAdd", []LayerKind{LayerAtomicETH}, false, "RDX"},
	0x15: {"RESYNC", "RESYNC", nil, false, "D"},
	0x16: {"SEND_LAST_INVAL", "SEND Last Invalidate", []LayerKind{LayerIETH}, true, "RX"},
	0x17: {"SEND_ONLY_INVAL", "SEND Only Invalidate", []LayerKind{LayerIETH}, true, "RX"},
	0x1c: {"FLUSH", "FLUSH", []LayerKind{LayerFETH, LayerRETH}, false, "RDX"},
	0x1d: {"ATOMIC_WRITE", "ATOMIC WRITE", []LayerKind{LayerRETH}, true, "RDX"},
}

// headerLen is the length of each extended header in bytes.
var headerLen = [numLayerKinds]uint8{
	LayerRDETH: 4, LayerDETH: 8, LayerRETH: 16, LayerAtomicETH: 28, LayerAETH: 4, LayerAtomicAckETH: 8,
	LayerImmDt: 4, LayerIETH: 4, LayerXRCETH: 4, LayerFETH: 4, LayerCNPReserved: 16,
}

// opcodes is the whole table. RD's requests have RDETH and DETH in front, its
// responses RDETH; XRC's requests have XRCETH. FLUSH and ATOMIC WRITE of RD
// and XRC are named in Wireshark's tables; their headers are taken to follow
// the same rule.
var opcodes = makeOpcodes()

func makeOpcodes() *[256]opInfo {
	var t [256]opInfo
	for _, s := range []struct {
		service Service
		initial byte
	}{{ServiceRC, 'R'}, {ServiceUC, 'U'}, {ServiceRD, 'D'}, {ServiceXRC, 'X'}} {
		for op, o := range operations {
			if !containsByte(o.services, s.initial) {
				continue
			}
			response := op >= 0x0d && op <= 0x12
			h := o.headers
			switch {
			case s.service == ServiceRD && response:
				h = append([]LayerKind{LayerRDETH}, h...)
			case s.service == ServiceRD:
				h = append([]LayerKind{LayerRDETH, LayerDETH}, h...)
			case s.service == ServiceXRC && !response:
				h = append([]LayerKind{LayerXRCETH}, h...)
			}
			e := opInfo{
				name: s.service.String() + "_" + o.name, text: s.service.String() + " " + o.text,
				payload: o.payload,
			}
			copy(e.headers[:], h)
			t[int(s.service)<<5|op] = e
		}
	}
	t[OpUDSendOnly] = opInfo{name: "UD_SEND_ONLY", text: "UD SEND Only", headers: [5]LayerKind{LayerDETH}, payload: true}
	t[OpUDSendOnlyImm] = opInfo{name: "UD_SEND_ONLY_IMM", text: "UD SEND Only Imm", headers: [5]LayerKind{LayerDETH, LayerImmDt}, payload: true}
	t[OpCNP] = opInfo{name: "CNP", text: "CNP", headers: [5]LayerKind{LayerCNPReserved}}
	for i := range t {
		for _, h := range t[i].headers {
			t[i].extLen += headerLen[h]
		}
	}
	return &t
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}

// String is the name in the JSON report: RC_SEND_ONLY, CNP, or 0x2c for an
// opcode that is not defined.
func (o Opcode) String() string {
	if n := opcodes[o].name; n != "" {
		return n
	}
	const hex = "0123456789abcdef"
	return "0x" + string([]byte{hex[o>>4], hex[o&15]})
}

// Text is the name for people: RC RDMA WRITE First.
func (o Opcode) Text() string {
	if t := opcodes[o].text; t != "" {
		return t
	}
	kind := "reserved opcode "
	if o >= firstManufacturerOp {
		kind = "vendor opcode "
	}
	return kind + "0x" + strconv.FormatUint(uint64(o), 16)
}

// Known says whether the opcode is defined.
func (o Opcode) Known() bool { return opcodes[o].name != "" }

// MayCarryPayload says whether payload is allowed after the headers.
func (o Opcode) MayCarryPayload() bool { return opcodes[o].payload }

// Headers are the extended headers behind the BTH in their order on the wire,
// none for an opcode that is not defined. The slice is part of the table and
// must not be written to.
func (o Opcode) Headers() []LayerKind {
	h := opcodes[o].headers[:]
	for i, k := range h {
		if k == LayerNone {
			return h[:i]
		}
	}
	return h
}

// HeaderLen is the length in bytes of an extended header, LayerCNPReserved
// among them, and 0 for any other layer.
func (k LayerKind) HeaderLen() int { return int(headerLen[k]) }
