package decode

import (
	"hash/crc32"
	"math/bits"
)

// icrcScratch is how many protected bytes are copied to be masked and summed
// in one go, which is faster than two calls up to about this size. Longer
// packets have their headers summed in the scratch area and the rest in place.
const icrcScratch = 2048

// icrcHead is how much of a longer packet goes through the scratch area: more
// than all masked headers, and a multiple of the block of crc32's fast path.
const icrcHead = 128

// icrcSeed is the CRC of the eight bytes of ones that stand for the LRH.
var icrcSeed = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// VerifyICRC computes the invariant CRC of a packet that has a whole one, and
// native InfiniBand's VCRC, and sets ICRCStatus and VCRCStatus to good or bad.
// It does nothing for a packet whose ICRC is absent, unverifiable or checked.
//
// The ICRC is a CRC-32 (that of Ethernet), least significant byte first, over
// everything from the L3 header to the pad, with the fields that change on the
// way taken as ones (InfiniBand Architecture Specification, volume 1, 7.8.1,
// and annexes A16 and A17 for RoCE):
//
//	eight bytes of ones in place of the LRH (all but local native InfiniBand)
//	IPv4 header with TOS, TTL and checksum masked, or
//	IPv6 header or GRH with traffic class, flow label and hop limit masked
//	UDP header with the checksum masked (RoCEv2)
//	BTH with its fifth byte masked (FECN, BECN and reserved bits)
//	extended headers, payload, pad
//
// Native InfiniBand without a GRH has its own LRH in it, the VL masked.
func (d *Decoder) VerifyICRC(p *Packet) {
	if p.VCRCStatus == ICRCUnchecked {
		p.verifyVCRC()
	}
	if p.ICRCStatus != ICRCUnchecked {
		return
	}
	protected := p.Data[p.l3Off:p.icrcOff]
	head := protected
	if len(protected) > icrcScratch {
		head = protected[:icrcHead]
	}
	masked := d.scratch[:len(head)]
	copy(masked, head)
	p.mask(masked)

	seed := icrcSeed
	switch {
	case p.Kind == KindIB && p.AddrKind == AddrLID:
		seed = 0 // the LRH is there itself
	case p.Kind == KindIB:
		masked = masked[lrhLen:] // the seed stands for it
	}
	sum := crc32.Update(seed, crc32.IEEETable, masked)
	if len(head) < len(protected) {
		sum = crc32.Update(sum, crc32.IEEETable, protected[len(head):])
	}
	if sum = bits.ReverseBytes32(sum); sum == p.ICRC {
		p.ICRCStatus = ICRCGood
	} else {
		p.ICRCStatus, p.ICRCExpected = ICRCBad, sum
	}
}

// mask sets the fields that change on the way to ones. b begins at the L3
// header and holds all headers up to the BTH.
func (p *Packet) mask(b []byte) {
	bth := p.bthOff - p.l3Off
	l4 := p.l4Off - p.l3Off
	switch p.AddrKind {
	case AddrIPv4:
		b[1], b[8], b[10], b[11] = 0xff, 0xff, 0xff, 0xff
		b[l4+6], b[l4+7] = 0xff, 0xff
	case AddrIPv6:
		b[0], b[1], b[2], b[3], b[7] = b[0]|0x0f, 0xff, 0xff, 0xff, 0xff
		b[l4+6], b[l4+7] = 0xff, 0xff
	case AddrGID: // l4 is where the GRH is
		b[l4], b[l4+1], b[l4+2], b[l4+3], b[l4+7] = b[l4]|0x0f, 0xff, 0xff, 0xff, 0xff
	case AddrLID:
		b[0] |= 0xf0
	}
	b[bth+4] = 0xff
}

// verifyVCRC checks native InfiniBand's variant CRC: CRC-16 with polynomial
// 0x100b, reflected, over LRH to ICRC, least significant byte first (volume 1,
// 7.8.2).
func (p *Packet) verifyVCRC() {
	sum := uint16(0xffff)
	for _, b := range p.Data[p.l3Off:p.vcrcOff] {
		sum = sum>>8 ^ vcrcTable[byte(sum)^b]
	}
	if sum = bits.ReverseBytes16(^sum); sum == p.VCRC {
		p.VCRCStatus = ICRCGood
	} else {
		p.VCRCStatus, p.VCRCExpected = ICRCBad, sum
	}
}

var vcrcTable = makeVCRCTable()

func makeVCRCTable() *[256]uint16 {
	const reflected = 0xd008
	var t [256]uint16
	for i := range t {
		v := uint16(i)
		for range 8 {
			if v&1 != 0 {
				v = v>>1 ^ reflected
			} else {
				v >>= 1
			}
		}
		t[i] = v
	}
	return &t
}
