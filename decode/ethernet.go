package decode

// Ethertypes that are decoded (IEEE registration authority's list; 0x8926,
// 0x8909 and 0x8988 are Cisco's, 0xd28b Arista's).
const (
	etherIPv4       = 0x0800
	etherARP        = 0x0806
	etherRARP       = 0x8035
	etherTEB        = 0x6558 // Ethernet inside a tunnel
	etherIPv6       = 0x86dd
	etherMACControl = 0x8808
	etherMPLS       = 0x8847
	etherMPLSMulti  = 0x8848
	etherCMD        = 0x8909
	etherRoCEv1     = 0x8915
	etherVNTag      = 0x8926
	etherTTag       = 0x8988
	etherAVSP       = 0xd28b

	// Tags: 802.1Q, 802.1ad, and those in use before 802.1ad was written.
	etherVLAN   = 0x8100
	etherQinQ   = 0x88a8
	etherQinQ91 = 0x9100
	etherQinQ92 = 0x9200
	etherQinQ93 = 0x9300

	// Values below are IEEE 802.3 lengths.
	minEtherType = 0x0600
)

const (
	ethernetLen    = 14
	controlWordLen = 4
)

// ethernet decodes an Ethernet II or IEEE 802.3 header.
//
//	 0                   1                   2                   3
//	+-------------------------------+-------------------------------+
//	|               destination MAC address (6)                     |
//	|                               +-------------------------------+
//	|                               |   source MAC address (6)      |
//	+-------------------------------+-------------------------------+
//	|                                                               |
//	+-------------------------------+-------------------------------+
//	|     ethertype or length       |
//	+-------------------------------+
func (d *Decoder) ethernet(p *Packet) {
	if !p.need(ethernetLen, LayerEthernet) {
		return
	}
	b := p.Data[p.off : p.off+ethernetLen]
	p.DstMAC = MAC(b[0:6])
	p.SrcMAC = MAC(b[6:12])
	p.push(LayerEthernet, ethernetLen)
	if et := be16(b[12:]); et != etherIPv4 {
		d.etherType(p, et)
		return
	}
	p.EtherType = etherIPv4 // as most are: no need to look through the list
	d.ipv4(p)
}

// etherType decodes what follows an ethertype: tags of all kinds, as many as
// there are, then a packet. A value below minEtherType is a length, and LLC
// follows.
func (d *Decoder) etherType(p *Packet, et uint16) {
	for tags := 0; ; {
		p.EtherType = et
		switch et {
		case etherIPv4:
			d.ipv4(p)
			return
		case etherIPv6:
			d.ipv6(p)
			return
		case etherRoCEv1:
			p.Kind = KindRoCEv1
			d.grh(p)
			return
		case etherVLAN, etherQinQ, etherQinQ91, etherQinQ92, etherQinQ93:
			tags++
			if tags >= 2 {
				p.Encap = p.Encap&^EncapVLAN | EncapQinQ
			} else if p.Encap&EncapQinQ == 0 {
				p.Encap |= EncapVLAN
			}
			l := LayerVLAN
			if et == etherQinQ {
				l = LayerSTag
			}
			if !p.need(4, l) {
				return
			}
			p.VLAN = be16(p.Data[p.off:])
			p.Flags |= Tagged
			et = be16(p.Data[p.off+2:])
			p.push(l, 4)
			continue
		case etherMACControl:
			p.macControl()
			return
		case etherARP, etherRARP:
			p.Kind = KindARP
			p.note(LayerARP, p.off, p.avail-p.off)
			return
		case etherMPLS, etherMPLSMulti:
			d.mpls(p)
			return
		case etherTEB:
			if p.enter(0, LayerEthernet) {
				d.ethernet(p)
			}
			return
		case etherVNTag, etherTTag, etherCMD, etherAVSP:
			next, ok := p.vendorTag(et)
			if !ok {
				return
			}
			et = next
			continue
		}
		if et >= minEtherType {
			p.Kind = KindOther
			p.unknown(LayerEthernet, uint32(et))
			return
		}
		next, ok := p.llc(int(et))
		if !ok {
			return
		}
		et = next
	}
}

// vendorTag decodes tags that switches put in front of a frame's ethertype,
// and returns the ethertype behind the tag. Each layer noted here includes it.
//
//	VN-tag 0x8926: direction, looped, source and destination interface (4)
//	TTag   0x8988: time stamp (6)
//	CMD    0x8909: version (1) = 1, length (1) = 1, option (2), SGT (2)
//	AVSP   0xd28b: subtype (2) = 1, time scale (4 bits), format (4 bits),
//	               hardware (1), time stamp (8 for format 1, 6 for format 2)
func (p *Packet) vendorTag(et uint16) (next uint16, ok bool) {
	var l LayerKind
	var e Encap
	n := 0
	switch et {
	case etherVNTag:
		l, e, n = LayerVNTag, EncapVNTag, 4
	case etherTTag:
		l, e, n = LayerTTag, EncapTTag, 6
	case etherCMD:
		l, e, n = LayerCMD, EncapCMD, 6
		if !p.need(2, l) {
			return 0, false
		}
		if v := be16(p.Data[p.off:]); v != 0x0101 {
			p.unknown(l, uint32(v))
			return 0, false
		}
	case etherAVSP:
		l, e, n = LayerAVSP, EncapAVSP, 4+8
		if !p.need(4, l) {
			return 0, false
		}
		b := p.Data[p.off:]
		switch format := b[2] & 0x0f; {
		case be16(b) == 1 && format == 1:
		case be16(b) == 1 && format == 2:
			n = 4 + 6
		default:
			p.unknown(l, be32(b))
			return 0, false
		}
	}
	p.Encap |= e
	if !p.need(n+2, l) {
		return 0, false
	}
	next = be16(p.Data[p.off+n:])
	p.push(l, n+2)
	return next, true
}

const (
	llcLen  = 3
	snapLen = 5
)

// llc decodes IEEE 802.2 logical link control, of so many bytes with what it
// carries (negative where nothing says it), and SNAP, which may lead back to an
// ethertype. Anything else is data. Bytes behind its end are padding.
//
//	DSAP (1) | SSAP (1) | control (1, and 2 where its lowest bits are not 11)
//	SNAP, with AA AA 03: organisation (3) | type (2), an ethertype for 000000
func (p *Packet) llc(length int) (next uint16, ok bool) {
	p.Kind = KindLLC
	n := llcLen
	b := p.Data[p.off:p.avail]
	switch {
	case len(b) < llcLen:
		n = len(b)
	case isSNAP(b):
		n = min(llcLen+snapLen, len(b))
		if n == llcLen+snapLen && be24(b[3:]) == 0 && be16(b[6:]) >= minEtherType {
			p.push(LayerLLC, n)
			return be16(b[6:]), true
		}
	case b[2]&3 != 3:
		n = min(llcLen+1, len(b))
	}
	if length >= n && p.off+length < p.avail {
		p.bound(p.off + length)
	}
	if n > 0 {
		p.push(LayerLLC, n)
		p.data()
	}
	return 0, false
}

// isSNAP says whether three bytes of LLC or more are SNAP's.
func isSNAP(b []byte) bool { return be24(b) == 0xaaaa03 }

// mpls decodes a label stack (RFC 3032) and what its bottom carries.
//
//	 0                   1                   2                   3
//	+---------------------------------------+-----+-+---------------+
//	|                label (20)             | TC  |S|      TTL      |
//	+---------------------------------------+-----+-+---------------+
//
// No field says what is inside. The first nibble tells IP (RFC 4928); behind a
// pseudowire there is Ethernet, with or without a control word (RFC 4448):
//
//	+-------+-----------------------+-------------------------------+
//	|   0   |       reserved        |        sequence number        |
//	+-------+-----------------------+-------------------------------+
func (d *Decoder) mpls(p *Packet) {
	p.Encap |= EncapMPLS
	for {
		if !p.need(4, LayerMPLS) {
			return
		}
		bottom := p.Data[p.off+2]&1 != 0
		p.push(LayerMPLS, 4)
		if bottom {
			break
		}
	}
	if !p.need(1, LayerMPLS) {
		return
	}
	switch p.Data[p.off] >> 4 {
	case 4:
		if !p.pseudowire() {
			p.EtherType = etherIPv4
			d.ipv4(p)
			return
		}
	case 6:
		if !p.pseudowire() {
			p.EtherType = etherIPv6
			d.ipv6(p)
			return
		}
	case 0: // a control word, or a MAC address that begins with a zero nibble
		if !p.ethernetAt(p.off) && p.ethernetAt(p.off+controlWordLen) {
			p.push(LayerControlWord, controlWordLen)
		}
	}
	if p.ethernetAt(p.off) {
		if p.enter(0, LayerMPLS) {
			d.ethernet(p)
		}
		return
	}
	p.Kind = KindOther
	p.unknown(LayerMPLS, uint32(p.Data[p.off]>>4))
}

// pseudowire says whether what begins like IP behind a label stack is a MAC
// address that happens to: the bytes are no IP header that agrees with itself,
// and taken for Ethernet they have IP or RoCEv1 in them that does.
func (p *Packet) pseudowire() bool {
	if p.ipAt(p.off, true) {
		return false
	}
	off := p.off + ethernetLen
	if off > p.avail {
		return false
	}
	et := be16(p.Data[off-2:])
	for tags := 0; tags < 2 && off+4 <= p.avail && (et == etherVLAN || et == etherQinQ); tags++ {
		et = be16(p.Data[off+2:])
		off += 4
	}
	switch et {
	case etherIPv4:
		return off < p.avail && p.Data[off]>>4 == 4 && p.ipAt(off, false)
	case etherIPv6, etherRoCEv1:
		return off < p.avail && p.Data[off]>>4 == 6 && p.ipAt(off, false)
	case etherARP:
		const ethernetIPv4 = 0x0001_0800 // hardware and protocol type
		return off+4 <= p.avail && be32(p.Data[off:]) == ethernetIPv4
	}
	return false
}

// ipAt says whether the bytes there are an IP header, or a GRH, that agrees
// with itself and with the frame. IPv6 has no checksum: exact demands that its
// length is all that the frame leaves.
func (p *Packet) ipAt(off int, exact bool) bool {
	b := p.Data[off:p.avail]
	room := p.lim - off
	switch {
	case len(b) >= ipv4Len && b[0]>>4 == 4:
		ihl, total := int(b[0]&15)*4, int(be16(b[2:]))
		summed := be16(b[10:]) != 0 && off+ihl <= p.avail
		return ihl >= ipv4Len && (total >= ihl || total == 0 && summed) && (total <= room || summed) && p.ipv4SumRight(off, ihl)
	case len(b) >= ipv6Len && b[0]>>4 == 6:
		total := ipv6Len + int(be16(b[4:]))
		return total == room || !exact && total < room
	}
	return false
}

// ethernetAt says whether the bytes there look like an Ethernet header with an
// ethertype that is decoded.
func (p *Packet) ethernetAt(off int) bool {
	if off+ethernetLen > p.avail {
		return false
	}
	switch be16(p.Data[off+12:]) {
	case etherIPv4, etherIPv6, etherARP, etherRoCEv1, etherMACControl, etherVLAN, etherQinQ, etherMPLS:
		return true
	}
	return false
}
