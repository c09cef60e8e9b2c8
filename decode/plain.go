package decode

const plainLen = ethernetLen + ipv4Len + udpLen

// plain decodes the headers of a frame that nearly all RoCE packets have: Ethernet,
// IPv4 without options, and UDP to port 4791. What each of them says is checked at
// once, which takes half the time that one after the other takes. Of any other frame,
// and of one whose lengths are not all in order, it changes nothing and returns false.
func (d *Decoder) plain(p *Packet) bool {
	if len(p.Data) < plainLen {
		return false
	}
	b := (*[plainLen]byte)(p.Data)
	total := int(be16(b[16:]))
	end := ethernetLen + total
	const fragment = 0x3fff // more fragments, and the offset
	switch {
	case be32(b[12:])>>8 != etherIPv4<<8|0x45,
		be32(b[20:])&(fragment<<16|0xff) != protoUDP,
		be32(b[36:]) != RoCEv2Port<<16|uint32(total-ipv4Len),
		total < ipv4Len+udpLen, end > p.lim:
		return false
	}
	p.DstMAC, p.SrcMAC = MAC(b[0:6]), MAC(b[6:12])
	p.EtherType = etherIPv4
	p.TOS, p.TTL, p.IPProto = b[15], b[22], protoUDP
	p.IPID, p.FlagsFrag = be16(b[18:]), be16(b[20:])
	p.AddrKind = AddrIPv4
	p.Src, p.Dst = addrFrom4(b[26:30]), addrFrom4(b[30:34])
	p.SrcPort, p.DstPort = be16(b[34:]), RoCEv2Port
	p.l3Off, p.l4Off, p.off = ethernetLen, ethernetLen+ipv4Len, plainLen
	p.avail, p.lim = min(p.avail, end), end
	p.layers[0] = Layer{Kind: LayerEthernet, Len: ethernetLen}
	p.layers[1] = Layer{Kind: LayerIPv4, Off: ethernetLen, Len: ipv4Len}
	p.layers[2] = Layer{Kind: LayerUDP, Off: ethernetLen + ipv4Len, Len: udpLen}
	p.numLayers = 3
	p.Kind = KindUDP // if it has no room for a BTH
	d.bth(p, KindRoCEv2)
	return true
}
