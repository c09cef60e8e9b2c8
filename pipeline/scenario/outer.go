package scenario

import "encoding/binary"

// Addresses of what is around a packet: the mirroring switch, the collector,
// and the ends of the network's own tunnels.
var (
	mirrorSwitch = [4]byte{192, 0, 2, 1}
	collector    = [4]byte{192, 0, 2, 2}
	mirrorMAC    = [6]byte{0x02, 0x6d, 0, 0, 0, 1}
	collectorMAC = [6]byte{0x02, 0x6d, 0, 0, 0, 2}
	routerMAC    = [6]byte{0x02, 0x72, 0, 0, 0, 1}
)

const (
	protoGRE       = 47
	portVXLAN      = 4789
	portGeneve     = 6081
	greSequence    = 0x1000
	greERSPAN      = 0x88be
	etherTEB       = 0x6558 // Ethernet inside of something
	tunnelVNI      = 4242
	erspanSession  = 7
	secondVLAN     = 200
	tunnelPortBase = 0xc000
)

// appendFrame appends a whole frame as the tap hands it on. second says that it
// is the second copy of a mirror that makes two.
func (s *simulation) appendFrame(b []byte, p *packet, second bool) []byte {
	t := &s.spec.Tap
	var lens []int // positions of lengths to fill in
	outer := len(b)
	switch t.Tunnel {
	case ERSPAN:
		b = appendEthernet(b, collectorMAC, mirrorMAC, etherIPv4)
		b = appendOuterIPv4(b, protoGRE, s.tap.mirrored)
		// GRE with a sequence number, then ERSPAN type II:
		//
		//	| ver=1 | VLAN (12) | COS | en | T | session (10) | resv | index (20) |
		b = binary.BigEndian.AppendUint16(b, greSequence)
		b = binary.BigEndian.AppendUint16(b, greERSPAN)
		b = binary.BigEndian.AppendUint32(b, s.tap.sequence)
		b = binary.BigEndian.AppendUint16(b, 1<<12|t.VLAN)
		const keptTag = 3 << 11
		b = binary.BigEndian.AppendUint16(b, uint16(t.Priority)<<13|keptTag|erspanSession)
		b = binary.BigEndian.AppendUint32(b, 1)
	case VXLAN, Geneve:
		b = appendEthernet(b, collectorMAC, mirrorMAC, etherIPv4)
		b = appendOuterIPv4(b, protoUDP, s.tap.mirrored)
		lens = append(lens, len(b)+4)
		port := uint16(portVXLAN)
		if t.Tunnel == Geneve {
			port = portGeneve
		}
		b = binary.BigEndian.AppendUint16(b, tunnelPortBase|uint16(p.sess.id)&0xfff)
		b = binary.BigEndian.AppendUint16(b, port)
		b = append(b, 0, 0, 0, 0)
		if t.Tunnel == VXLAN { // flags: the VNI is valid
			b = binary.BigEndian.AppendUint32(b, 0x08<<24)
		} else { // version 0, no options
			b = binary.BigEndian.AppendUint32(b, etherTEB)
		}
		b = binary.BigEndian.AppendUint32(b, tunnelVNI<<8)
	}
	b = s.appendInner(b, p, second)
	if t.Tunnel != NoTunnel {
		ip := b[outer+ethLen:]
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[10:], ipChecksum(ip[:ipv4Len]))
	}
	for _, at := range lens {
		binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at+4))
	}
	return b
}

// appendInner appends the frame as it is on the link that the tap is at.
func (s *simulation) appendInner(b []byte, p *packet, second bool) []byte {
	t := &s.spec.Tap
	src, dst := s.hostOf(p.sess, p.from).mac, s.hostOf(p.sess, 1-p.from).mac
	vlan, ttl := t.VLAN, defaultTTL-[...]uint8{s.spec.Network.RoutersA, s.spec.Network.RoutersB}[p.from]
	if second {
		switch t.Twice {
		case OtherVLAN:
			vlan = secondVLAN
		case OtherRoute:
			src, ttl = routerMAC, ttl-1
		}
	} else if t.Twice == OtherRoute {
		dst = routerMAC
	}
	kind := uint16(etherIPv4)
	switch {
	case s.spec.Network.RoCEv1:
		kind = etherRoCE
	case s.spec.Network.IPv6:
		kind = etherIPv6
	}
	if vlan == 0 {
		b = appendEthernet(b, dst, src, kind)
	} else {
		b = appendEthernet(b, dst, src, etherVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(t.Priority)<<13|vlan)
		b = binary.BigEndian.AppendUint16(b, kind)
	}
	return s.appendPacket(b, p, ttl)
}

func appendEthernet(b []byte, dst, src [6]byte, kind uint16) []byte {
	b = append(b, dst[:]...)
	b = append(b, src[:]...)
	return binary.BigEndian.AppendUint16(b, kind)
}

// appendOuterIPv4 appends the header around a tunnel, its length and checksum
// left for later.
func appendOuterIPv4(b []byte, proto uint8, id uint64) []byte {
	b = append(b, 0x45, 0, 0, 0, byte(id>>8), byte(id), 0x40, 0, defaultTTL, proto, 0, 0)
	b = append(b, mirrorSwitch[:]...)
	return append(b, collector[:]...)
}
