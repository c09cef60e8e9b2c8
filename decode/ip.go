package decode

import "slices"

// IP protocol numbers that are decoded (IANA).
const (
	protoHopByHop = 0
	protoICMP     = 1
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoICMPv6   = 58
	protoDestOpts = 60
	protoMobility = 135
	protoMPLS     = 137
)

const (
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8
)

// ipv4 decodes an IPv4 header (RFC 791).
//
//	 0                   1                   2                   3
//	+-------+-------+---------------+-------------------------------+
//	|   4   |  IHL  | DSCP (6)  ECN |         total length          |
//	+-------+-------+---------------+-----+-------------------------+
//	|         identification        |flags|     fragment offset     |
//	+---------------+---------------+-----+-------------------------+
//	| time to live  |   protocol    |        header checksum        |
//	+---------------+---------------+-------------------------------+
//	|                        source address                         |
//	+---------------------------------------------------------------+
//	|                     destination address                       |
//	+---------------------------------------------------------------+
//	|                  options (IHL - 5 words)                      |
//	+---------------------------------------------------------------+
func (d *Decoder) ipv4(p *Packet) {
	p.Kind = KindOther
	if !p.need(ipv4Len, LayerIPv4) {
		return
	}
	start := p.off
	b := p.Data[start : start+ipv4Len]
	if b[0]>>4 != 4 {
		p.fail(ErrVersion, LayerIPv4, 4, uint32(b[0]>>4))
		return
	}
	ihl := int(b[0]&15) * 4
	if ihl < ipv4Len {
		p.fail(ErrLength, LayerIPv4, ipv4Len, uint32(ihl))
		return
	}
	p.TOS, p.TTL, p.IPProto = b[1], b[8], b[9]
	p.IPID, p.FlagsFrag = be16(b[4:]), be16(b[6:])
	p.AddrKind = AddrIPv4
	p.Src, p.Dst = addrFrom4(b[12:]), addrFrom4(b[16:])
	p.l3Off = uint32(start)
	if total := int(be16(b[2:])); total != 0 { // 0: segmentation offload
		switch {
		case total < ihl:
			p.fail(ErrLength, LayerIPv4, uint32(ihl), uint32(total))
			return
		case start+total > p.lim && !p.ipv4SumRight(start, ihl):
			// A wrong length, not a cut packet: go by the frame's length.
			p.fail(ErrBadIPSum, LayerIPv4, uint32(total), uint32(p.lim-start))
		default:
			p.bound(start + total)
		}
	}
	if !p.need(ihl, LayerIPv4) {
		return
	}
	p.push(LayerIPv4, ihl)
	if ihl > ipv4Len {
		p.Flags |= IPOptions
	}
	const moreFragments, fragmentOffset = 0x2000, 0x1fff
	if p.FlagsFrag&(moreFragments|fragmentOffset) != 0 {
		p.Flags |= Fragment
		if p.FlagsFrag&fragmentOffset != 0 {
			p.Kind = KindFragment
			p.data()
			return
		}
	}
	d.ipPayload(p, p.IPProto)
}

// ipv4SumRight verifies the header checksum. A sum of 0 was not computed, as
// by senders that leave it to the NIC, and proves nothing wrong.
func (p *Packet) ipv4SumRight(off, ihl int) bool {
	if off+ihl > p.avail || be16(p.Data[off+10:]) == 0 {
		return true
	}
	var sum uint32
	for i := off; i < off+ihl; i += 2 {
		sum += uint32(be16(p.Data[i:]))
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	return uint16(sum) == 0xffff
}

// ipv6 decodes an IPv6 header and its extension headers (RFC 8200).
//
//	 0                   1                   2                   3
//	+-------+---------------+---------------------------------------+
//	|   6   | traffic class |              flow label               |
//	+-------+---------------+-------+---------------+---------------+
//	|        payload length         |  next header  |   hop limit   |
//	+-------------------------------+---------------+---------------+
//	|                      source address (16)                      |
//	+---------------------------------------------------------------+
//	|                   destination address (16)                    |
//	+---------------------------------------------------------------+
func (d *Decoder) ipv6(p *Packet) {
	p.Kind = KindOther
	if !p.need(ipv6Len, LayerIPv6) {
		return
	}
	start := p.off
	b := p.Data[start : start+ipv6Len]
	if b[0]>>4 != 6 {
		p.fail(ErrVersion, LayerIPv6, 6, uint32(b[0]>>4))
		return
	}
	word := be32(b)
	p.TOS, p.TTL = uint8(word>>20), b[7]
	p.FlowLabel = word & 0xfffff
	p.AddrKind = AddrIPv6
	p.Src, p.Dst = addrFrom16(b[8:]), addrFrom16(b[24:])
	p.l3Off = uint32(start)
	if n := int(be16(b[4:])); n != 0 { // 0: a jumbogram, or segmentation offload
		p.bound(start + ipv6Len + n)
	}
	p.push(LayerIPv6, ipv6Len)
	next := b[6]
	for {
		n := 0
		switch next {
		case protoHopByHop, protoRouting, protoDestOpts, protoMobility:
			if !p.need(8, LayerIPv6Ext) {
				return
			}
			n = 8 + 8*int(p.Data[p.off+1])
		case protoAH:
			if !p.need(8, LayerIPv6Ext) {
				return
			}
			n = 8 + 4*int(p.Data[p.off+1])
		case protoFragment:
			n = 8
		default:
			p.IPProto = next
			d.ipPayload(p, next)
			return
		}
		if !p.need(n, LayerIPv6Ext) {
			return
		}
		p.Flags |= IPOptions
		later := false
		if next == protoFragment {
			offsetFlags := be16(p.Data[p.off+2:])
			if offsetFlags&0xfff9 != 0 { // offset, more fragments; 0 is an "atomic" fragment
				p.Flags |= Fragment
			}
			later = offsetFlags&0xfff8 != 0
		}
		next = p.Data[p.off]
		p.push(LayerIPv6Ext, n)
		if later {
			p.IPProto = next
			p.Kind = KindFragment
			p.data()
			return
		}
	}
}

// ipPayload decodes what an IP header carries.
func (d *Decoder) ipPayload(p *Packet, proto uint8) {
	switch proto {
	case protoUDP:
		d.udp(p)
	case protoTCP:
		p.tcp()
	case protoICMP, protoICMPv6:
		p.icmp(proto)
	case protoGRE:
		d.gre(p)
	case protoIPv4:
		if p.enter(EncapIPIP, LayerIPv4) {
			d.ipv4(p)
		}
	case protoIPv6:
		if p.enter(EncapIPIP, LayerIPv6) {
			d.ipv6(p)
		}
	case protoMPLS:
		if p.enter(0, LayerMPLS) {
			d.mpls(p)
		}
	default:
		p.data()
	}
}

// udp decodes a UDP header (RFC 768). The destination port alone decides what
// is inside; a source port means nothing.
//
//	+-------------------------------+-------------------------------+
//	|          source port          |       destination port        |
//	+-------------------------------+-------------------------------+
//	|            length             |           checksum            |
//	+-------------------------------+-------------------------------+
func (d *Decoder) udp(p *Packet) {
	p.Kind = KindUDP
	if !p.need(udpLen, LayerUDP) {
		if p.cutPorts(); p.DstPort != 0 && d.rocePort(p.DstPort) {
			p.Kind = KindRoCEv2
			p.icrcCutOff()
		}
		return
	}
	start := p.off
	b := p.Data[start : start+udpLen]
	p.SrcPort, p.DstPort = be16(b), be16(b[2:])
	p.l4Off = uint32(start)
	if n := int(be16(b[4:])); n != p.lim-start && n != 0 {
		p.udpLength(start, n)
	}
	p.push(LayerUDP, udpLen)
	if d.rocePort(p.DstPort) {
		d.bth(p, KindRoCEv2)
		return
	}
	switch p.DstPort {
	case portVXLAN, portVXLANLinux, portVXLANGPE:
		d.vxlan(p)
	case portGeneve:
		d.geneve(p)
	default:
		p.data()
	}
}

func (d *Decoder) rocePort(port uint16) bool {
	return port == RoCEv2Port || slices.Contains(d.ports, port)
}

// cutPorts reads the ports of a UDP or TCP header that the capture cut, if they
// are there.
func (p *Packet) cutPorts() {
	if b := p.Data[p.off:p.avail]; p.Err.Code == ErrTruncated && len(b) >= 4 {
		p.SrcPort, p.DstPort = be16(b), be16(b[2:])
	}
}

// udpLength handles a UDP length, n, that is not what IP leaves for it. IP's
// length counts, except where there is none (segmentation offload), and in a
// first fragment, whose UDP length is that of the whole datagram.
func (p *Packet) udpLength(start, n int) {
	switch l3 := p.Data[p.l3Off:]; {
	case n < udpLen:
		p.fail(ErrLength, LayerUDP, udpLen, uint32(n))
	case p.Flags&Fragment != 0:
		p.lim = max(p.lim, start+n)
	case p.AddrKind == AddrIPv4 && be16(l3[2:]) == 0, p.AddrKind == AddrIPv6 && be16(l3[4:]) == 0:
		p.bound(start + n)
	case n > p.lim-start:
		p.Flags |= LengthsDiffer
		p.fail(ErrLengths, LayerUDP, uint32(p.lim-start), uint32(n))
	default: // RFC 9868 allows room behind UDP
		p.Flags |= LengthsDiffer
	}
}

// tcp decodes as much of a TCP header (RFC 9293) as telling iWARP takes.
func (p *Packet) tcp() {
	p.Kind = KindTCP
	const minLen = 20
	if !p.need(minLen, LayerTCP) {
		p.cutPorts()
		return
	}
	b := p.Data[p.off : p.off+minLen]
	p.SrcPort, p.DstPort = be16(b), be16(b[2:])
	n := int(b[12]>>4) * 4
	if n < minLen {
		p.fail(ErrLength, LayerTCP, minLen, uint32(n))
		return
	}
	if !p.need(n, LayerTCP) {
		return
	}
	p.push(LayerTCP, n)
	if p.Flags&Fragment == 0 && isMPA(p.Data[p.off:p.avail], p.lim-p.off) {
		p.Kind = KindIWARP
		p.note(LayerMPA, p.off, p.avail-p.off)
		return
	}
	p.data()
}

// icmp notes an ICMP message and whether it quotes a RoCEv2 packet. What is
// quoted was counted when it was sent: it is not a packet of its own.
func (p *Packet) icmp(proto uint8) {
	p.Kind = KindICMP
	const n = 8
	l := LayerICMP
	if proto == protoICMPv6 {
		l = LayerICMPv6
	}
	if !p.need(n, l) {
		return
	}
	typ := p.Data[p.off]
	p.push(l, n)
	isError := proto == protoICMPv6 && typ < 128 || proto == protoICMP && (typ == 3 || typ == 4 || typ == 5 || typ == 11 || typ == 12)
	if isError && quotesRoCE(p.Data[p.off:p.avail]) {
		p.Flags |= QuotesRoCE
	}
	p.data()
}

func quotesRoCE(b []byte) bool {
	switch {
	case len(b) >= ipv4Len+udpLen && b[0]>>4 == 4 && b[9] == protoUDP:
		ihl := int(b[0]&15) * 4
		return ihl >= ipv4Len && len(b) >= ihl+udpLen && be16(b[ihl+2:]) == RoCEv2Port
	case len(b) >= ipv6Len+udpLen && b[0]>>4 == 6 && b[6] == protoUDP:
		return be16(b[ipv6Len+2:]) == RoCEv2Port
	}
	return false
}
