package layers

import (
	"encoding/binary"
	"fmt"

	"github.com/rocelens/rocelens/decode"
)

// The extended headers (InfiniBand Architecture Specification, volume 1, 9.3;
// package decode has their layout, and says for each opcode which it has).
// Numbers of 24 bits are in the lower bits of a uint32.

// RDETH is the extended header of reliable datagrams.
type RDETH struct {
	Reserved  uint8
	EEContext uint32 // 24 bits
}

// DETH is the extended header of datagrams.
type DETH struct {
	QKey     uint32
	Reserved uint8
	SrcQP    uint32 // 24 bits
}

// RETH says which memory an RDMA operation is about.
type RETH struct {
	VA     uint64
	RKey   uint32
	DMALen uint32 // bytes
}

// AtomicETH is the extended header of atomic requests.
type AtomicETH struct {
	VA      uint64
	RKey    uint32
	SwapAdd uint64
	Compare uint64
}

// AETH is the extended header of acknowledgements.
type AETH struct {
	Syndrome decode.Syndrome
	MSN      uint32 // 24 bits
}

// AtomicAckETH is what was in memory before an atomic operation.
type AtomicAckETH struct {
	Original uint64
}

// ImmDt is immediate data.
type ImmDt struct {
	Data uint32
}

// IETH is the key to invalidate.
type IETH struct {
	RKey uint32
}

// XRCETH is the extended header of XRC requests.
type XRCETH struct {
	Reserved uint8
	SRQ      uint32 // 24 bits
}

// FETH is the extended header of FLUSH, laid out as the Linux kernel does it.
type FETH struct {
	Reserved    uint32 // 26 bits
	Selectivity uint8  // 2 bits: 0 memory range, 1 whole memory region
	Placement   uint8  // 4 bits: bit 0 global visibility, bit 1 persistence
}

// read reads an extended header, h being all of it, and points b at it.
func (b *BTH) read(k decode.LayerKind, h []byte) {
	s := &b.storage
	switch k {
	case decode.LayerRDETH:
		s.rdeth = RDETH{h[0], be32(h) & 0xffffff}
		b.RDETH = &s.rdeth
	case decode.LayerDETH:
		s.deth = DETH{be32(h), h[4], be32(h[4:]) & 0xffffff}
		b.DETH = &s.deth
	case decode.LayerRETH:
		s.reth = RETH{be64(h), be32(h[8:]), be32(h[12:])}
		b.RETH = &s.reth
	case decode.LayerAtomicETH:
		s.atomicETH = AtomicETH{be64(h), be32(h[8:]), be64(h[12:]), be64(h[20:])}
		b.AtomicETH = &s.atomicETH
	case decode.LayerAETH:
		s.aeth = AETH{decode.Syndrome(h[0]), be32(h) & 0xffffff}
		b.AETH = &s.aeth
	case decode.LayerAtomicAckETH:
		s.atomicAckETH = AtomicAckETH{be64(h)}
		b.AtomicAckETH = &s.atomicAckETH
	case decode.LayerImmDt:
		s.immDt = ImmDt{be32(h)}
		b.ImmDt = &s.immDt
	case decode.LayerIETH:
		s.ieth = IETH{be32(h)}
		b.IETH = &s.ieth
	case decode.LayerXRCETH:
		s.xrceth = XRCETH{h[0], be32(h) & 0xffffff}
		b.XRCETH = &s.xrceth
	case decode.LayerFETH:
		s.feth = FETH{be32(h) >> 6, h[3] >> 4 & 3, h[3] & 15}
		b.FETH = &s.feth
	}
}

// write writes an extended header that is set into h.
func (b *BTH) write(k decode.LayerKind, h []byte) error {
	switch k {
	case decode.LayerRDETH:
		return put24(h, "EE context", b.RDETH.Reserved, b.RDETH.EEContext)
	case decode.LayerDETH:
		put32(h, b.DETH.QKey)
		return put24(h[4:], "source QP", b.DETH.Reserved, b.DETH.SrcQP)
	case decode.LayerRETH:
		put64(h, b.RETH.VA)
		put32(h[8:], b.RETH.RKey)
		put32(h[12:], b.RETH.DMALen)
	case decode.LayerAtomicETH:
		put64(h, b.AtomicETH.VA)
		put32(h[8:], b.AtomicETH.RKey)
		put64(h[12:], b.AtomicETH.SwapAdd)
		put64(h[20:], b.AtomicETH.Compare)
	case decode.LayerAETH:
		return put24(h, "MSN", uint8(b.AETH.Syndrome), b.AETH.MSN)
	case decode.LayerAtomicAckETH:
		put64(h, b.AtomicAckETH.Original)
	case decode.LayerImmDt:
		put32(h, b.ImmDt.Data)
	case decode.LayerIETH:
		put32(h, b.IETH.RKey)
	case decode.LayerXRCETH:
		return put24(h, "XRC SRQ", b.XRCETH.Reserved, b.XRCETH.SRQ)
	case decode.LayerFETH:
		f := b.FETH
		if f.Reserved >= 1<<26 || f.Selectivity > 3 || f.Placement > 15 {
			return fmt.Errorf("FETH %+v: a field has more bits than there is room for", *f)
		}
		put32(h, f.Reserved<<6|uint32(f.Selectivity)<<4|uint32(f.Placement))
	}
	return nil
}

// extendedHeaders are all that a BTH can have.
var extendedHeaders = [...]decode.LayerKind{
	decode.LayerRDETH, decode.LayerDETH, decode.LayerRETH, decode.LayerAtomicETH, decode.LayerAETH,
	decode.LayerAtomicAckETH, decode.LayerImmDt, decode.LayerIETH, decode.LayerXRCETH, decode.LayerFETH,
}

// has says whether an extended header is set.
func (b *BTH) has(k decode.LayerKind) bool {
	switch k {
	case decode.LayerRDETH:
		return b.RDETH != nil
	case decode.LayerDETH:
		return b.DETH != nil
	case decode.LayerRETH:
		return b.RETH != nil
	case decode.LayerAtomicETH:
		return b.AtomicETH != nil
	case decode.LayerAETH:
		return b.AETH != nil
	case decode.LayerAtomicAckETH:
		return b.AtomicAckETH != nil
	case decode.LayerImmDt:
		return b.ImmDt != nil
	case decode.LayerIETH:
		return b.IETH != nil
	case decode.LayerXRCETH:
		return b.XRCETH != nil
	case decode.LayerFETH:
		return b.FETH != nil
	}
	return false
}

// put24 writes a byte and a number of 24 bits.
func put24(b []byte, name string, first uint8, v uint32) error {
	if v >= 1<<24 {
		return fmt.Errorf("%s %#x: it has 24 bits", name, v)
	}
	put32(b, uint32(first)<<24|v)
	return nil
}

func be16(b []byte) uint16     { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32     { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64     { return binary.BigEndian.Uint64(b) }
func put16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }
