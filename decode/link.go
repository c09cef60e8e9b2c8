package decode

import "github.com/rocelens/rocelens/capture"

// link decodes the first header of a frame by its link type.
func (d *Decoder) link(p *Packet, l capture.LinkType) {
	switch l {
	case capture.LinkEthernet:
		d.ethernet(p)
	case capture.LinkSLL:
		d.sll(p)
	case capture.LinkSLL2:
		d.sll2(p)
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD, capture.LinkIPv4, capture.LinkIPv6:
		d.rawIP(p)
	case capture.LinkNull, capture.LinkLoop:
		d.null(p)
	case capture.LinkInfiniBand:
		d.lrh(p)
	case capture.LinkERF:
		d.erf(p)
	case capture.LinkIPoIB:
		d.ipoibLink(p)
	default:
		p.Kind = KindUnknownLink
		p.fail(ErrUnknown, LayerNone, 0, uint32(l))
		p.data()
	}
}

// rawIP decodes a packet that begins with its IP header.
func (d *Decoder) rawIP(p *Packet) {
	if !p.need(1, LayerIPv4) {
		return
	}
	switch v := p.Data[p.off] >> 4; v {
	case 4:
		p.EtherType = etherIPv4
		d.ipv4(p)
	case 6:
		p.EtherType = etherIPv6
		d.ipv6(p)
	default:
		p.fail(ErrVersion, LayerIPv4, 4, uint32(v))
		p.data()
	}
}

// sll decodes Linux cooked capture (LINKTYPE_LINUX_SLL).
//
//	packet type (2) | ARPHRD (2) | address length (2) | address (8) | protocol (2)
func (d *Decoder) sll(p *Packet) {
	const n = 16
	if !p.need(n, LayerSLL) {
		return
	}
	b := p.Data[p.off : p.off+n]
	if be16(b[4:]) == 6 {
		p.SrcMAC = MAC(b[6:12])
	}
	p.push(LayerSLL, n)
	d.cooked(p, be16(b[14:]))
}

// sll2 decodes Linux cooked capture version 2 (LINKTYPE_LINUX_SLL2).
//
//	protocol (2) | reserved (2) | interface (4) | ARPHRD (2) | packet type (1) | address length (1) | address (8)
func (d *Decoder) sll2(p *Packet) {
	const n = 20
	if !p.need(n, LayerSLL2) {
		return
	}
	b := p.Data[p.off : p.off+n]
	if b[11] == 6 {
		p.SrcMAC = MAC(b[12:18])
	}
	p.push(LayerSLL2, n)
	d.cooked(p, be16(b))
}

// cooked decodes what follows a cooked header. Its protocol is Linux's number
// (ETH_P_...): an ethertype, 4 for LLC, or another of those below ethertypes,
// as of CAN.
func (d *Decoder) cooked(p *Packet, proto uint16) {
	const protoLLC = 4
	switch {
	case proto >= minEtherType:
		d.etherType(p, proto)
	case proto == protoLLC:
		if et, ok := p.llc(-1); ok {
			d.etherType(p, et)
		}
	default:
		p.EtherType = proto
		p.unknown(LayerSLL, uint32(proto))
	}
}

// null decodes BSD loopback (LINKTYPE_NULL, LINKTYPE_LOOP): an address family
// in the byte order of whoever captured, and IPv6's differs between systems.
func (d *Decoder) null(p *Packet) {
	const n = 4
	if !p.need(n, LayerNull) {
		return
	}
	af := addressFamily(p.Data[p.off:])
	p.push(LayerNull, n)
	switch af {
	case 2, 10, 24, 28, 30:
		d.rawIP(p)
	default:
		p.unknown(LayerNull, af)
	}
}

// addressFamily reads an address family in either byte order.
func addressFamily(b []byte) uint32 {
	af := be32(b)
	if af > 0xffff {
		af = af>>24 | af>>8&0xff00
	}
	return af
}

// erf decodes an Endace record: its header, extension headers, and the frame
// inside (ERF types document, EDM11-01).
//
//	 0                   1                   2                   3
//	+---------------------------------------------------------------+
//	|          time stamp (8), little-endian 32.32 seconds          |
//	|                                                               |
//	+---------------+---------------+-------------------------------+
//	|X|   type (7)  |     flags     |    record length, all of it   |
//	+---------------+---------------+-------------------------------+
//	|  loss counter or colour       |    wire length                |
//	+-------------------------------+-------------------------------+
//
// X says that extension headers of 8 bytes follow, each with an X of its own.
// Ethernet records then have 2 bytes of padding.
func (d *Decoder) erf(p *Packet) {
	const (
		header, extension = 16, 8
		typeEthernet      = 2
		typeColorEthernet = 11
		typeDSMEthernet   = 16
		typeHashEthernet  = 20
		typeInfiniBand    = 21
		typeIPv4, typeIP6 = 22, 23
	)
	if !p.need(header, LayerERF) {
		return
	}
	b := p.Data[p.off:p.avail]
	wireLen := int(be16(b[14:]))
	n := header
	for more := b[8]&0x80 != 0; more; n += extension {
		if !p.need(n+extension, LayerERF) {
			return
		}
		more = b[n]&0x80 != 0
	}
	typ := b[8] & 0x7f
	switch typ {
	case typeEthernet, typeColorEthernet, typeDSMEthernet, typeHashEthernet:
		n += 2
	}
	if !p.need(n, LayerERF) {
		return
	}
	// The record's header says how long the frame was; records are padded.
	p.push(LayerERF, n)
	end := p.off + wireLen
	if end < p.avail {
		p.avail = end
	}
	p.lim = end
	p.WireLen = uint32(wireLen)
	p.Flags &^= Snapped
	if p.lim > p.avail {
		p.Flags |= Snapped
	}
	switch typ {
	case typeEthernet, typeColorEthernet, typeDSMEthernet, typeHashEthernet:
		d.ethernet(p)
	case typeInfiniBand:
		d.lrh(p)
	case typeIPv4, typeIP6:
		d.rawIP(p)
	default:
		p.Kind = KindUnknownLink
		p.unknown(LayerERF, uint32(typ))
	}
}

// ipoibLink recognises IP over InfiniBand captured above InfiniBand
// (LINKTYPE_IPOIB, RFC 4391): a GRH, then ethertype (2) and reserved (2). It
// has no transport header to analyse.
func (d *Decoder) ipoibLink(p *Packet) {
	const n = 40 + 4
	if !p.need(n, LayerIPoIB) {
		return
	}
	et := be16(p.Data[p.off+40:])
	p.push(LayerIPoIB, n)
	d.etherType(p, et)
	p.Kind = KindIPoIB
}
