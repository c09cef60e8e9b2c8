package decode

const (
	lrhLen = 8
	grhLen = 40
	// nextHeaderIBA is the GRH's next header when a BTH follows.
	nextHeaderIBA = 0x1b
)

// lrh decodes native InfiniBand's local route header (InfiniBand Architecture
// Specification, volume 1, 7.7).
//
//	 0                   1                   2                   3
//	+-------+-------+-------+---+---+-------------------------------+
//	|  VL   | LVer  |  SL   |res|LNH|        destination LID        |
//	+-------+-------+-------+---+---+-------------------------------+
//	| resv (5)| packet length (11)  |          source LID           |
//	+---------+---------------------+-------------------------------+
//
// Packet length counts 4-byte words from the LRH to the ICRC; the VCRC (2)
// follows.
func (d *Decoder) lrh(p *Packet) {
	p.Kind = KindIBRaw
	if !p.need(lrhLen, LayerLRH) {
		return
	}
	start := p.off
	b := p.Data[start : start+lrhLen]
	p.DLID, p.SLID = be16(b[2:]), be16(b[6:])
	p.AddrKind = AddrLID
	p.Dst, p.Src = Addr{Lo: uint64(p.DLID)}, Addr{Lo: uint64(p.SLID)}
	p.l3Off = uint32(start)
	n := int(be16(b[4:])&0x7ff) * 4
	if n < lrhLen {
		p.fail(ErrLength, LayerLRH, lrhLen, uint32(n))
		return
	}
	captured, wire := p.avail, p.lim
	p.bound(start + n)
	const vcrcLen = 2
	vcrc := p.lim
	switch {
	case vcrc+vcrcLen <= captured:
		p.VCRC = be16(p.Data[vcrc:])
		p.vcrcOff = uint32(vcrc)
		p.VCRCStatus = ICRCUnchecked
	case vcrc+vcrcLen <= wire:
		p.VCRCStatus = ICRCUnverifiable
	}
	p.push(LayerLRH, lrhLen)
	const ibaGlobal, ibaLocal = 3, 2
	switch b[1] & 3 {
	case ibaGlobal:
		p.Kind = KindIB
		d.grh(p)
	case ibaLocal:
		p.Kind = KindIB
		d.bth(p, KindIB)
	default:
		p.data()
	}
	if p.VCRCStatus == ICRCUnchecked {
		p.note(LayerVCRC, vcrc, vcrcLen)
	}
}

// grh decodes the global route header, which begins RoCEv1's packets and may
// follow native InfiniBand's LRH (volume 1, 8.3). It is an IPv6 header in
// shape; its payload length reaches to the end of the ICRC.
//
//	+-------+---------------+---------------------------------------+
//	|   6   | traffic class |              flow label               |
//	+-------+---------------+-------+---------------+---------------+
//	|        payload length         | next hdr 0x1b |   hop limit   |
//	+-------------------------------+---------------+---------------+
//	|                        source GID (16)                        |
//	+---------------------------------------------------------------+
//	|                     destination GID (16)                      |
//	+---------------------------------------------------------------+
func (d *Decoder) grh(p *Packet) {
	kind := p.Kind
	if !p.need(grhLen, LayerGRH) {
		if p.Malformed() {
			p.notIBA()
		} else {
			p.icrcCutOff()
		}
		return
	}
	start := p.off
	b := p.Data[start : start+grhLen]
	if b[0]>>4 != 6 {
		p.fail(ErrVersion, LayerGRH, 6, uint32(b[0]>>4))
		p.notIBA()
		return
	}
	word := be32(b)
	p.TOS, p.TTL, p.IPProto = uint8(word>>20), b[7], b[6]
	p.FlowLabel = word & 0xfffff
	p.AddrKind = AddrGID
	p.Src, p.Dst = addrFrom16(b[8:]), addrFrom16(b[24:])
	if kind == KindRoCEv1 { // otherwise the LRH is where the ICRC begins
		p.l3Off = uint32(start)
	}
	p.l4Off = uint32(start)
	end := start + grhLen + int(be16(b[4:]))
	if kind == KindIB && end != p.lim {
		p.fail(ErrLengths, LayerGRH, uint32(p.lim-start-grhLen), uint32(be16(b[4:])))
	} else {
		p.bound(end)
	}
	p.push(LayerGRH, grhLen)
	if b[6] != nextHeaderIBA {
		p.notIBA()
		p.unknown(LayerGRH, uint32(b[6]))
		return
	}
	d.bth(p, kind)
}

// notIBA takes back that a packet is RoCE: what was there is no transport
// header.
func (p *Packet) notIBA() {
	switch p.Kind {
	case KindRoCEv1:
		p.Kind = KindOther
	case KindIB:
		p.Kind = KindIBRaw
	}
}
