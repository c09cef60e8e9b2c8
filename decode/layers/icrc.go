package layers

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

// ICRCResult is what is known of a packet's ICRC.
type ICRCResult struct {
	// Status is decode.ICRCNone without a BTH, decode.ICRCGood, decode.ICRCBad,
	// or decode.ICRCUnverifiable.
	Status decode.ICRCStatus
	// Reason says why an ICRC is unverifiable. decode.ICRCReasonNone means that
	// the IP and UDP headers or the GRH in front of the BTH are not there.
	Reason decode.ICRCReason
	// Expected is what the ICRC should be, in the same form as BTH.ICRC, where
	// it is good or bad.
	Expected uint32
}

// VerifyICRC checks the ICRC of a decoded packet, that of the innermost BTH
// with the headers right in front of it, whatever tunnels are around them. It
// changes nothing.
func VerifyICRC(packet gopacket.Packet) ICRCResult {
	ls := packet.Layers()
	for i := len(ls) - 1; i >= 0; i-- {
		b, ok := ls[i].(*BTH)
		if !ok {
			continue
		}
		var udp *layers.UDP
		at := i - 1
		if at >= 0 {
			if udp, ok = ls[at].(*layers.UDP); ok {
				at--
			}
		}
		for at >= 0 && layers.LayerClassIPv6Extension.Contains(ls[at].LayerType()) {
			at--
		}
		var network gopacket.NetworkLayer
		if at >= 0 {
			network, _ = ls[at].(gopacket.NetworkLayer)
		}
		return b.VerifyICRC(network, udp)
	}
	return ICRCResult{}
}

// VerifyICRC checks the ICRC of a packet that a DecodingLayerParser decoded.
// network is the *layers.IPv4 or *layers.IPv6 in front of udp, or the *GRH of
// RoCEv1, without UDP.
func (b *BTH) VerifyICRC(network gopacket.NetworkLayer, udp *layers.UDP) ICRCResult {
	unverifiable := func(r decode.ICRCReason) ICRCResult {
		return ICRCResult{Status: decode.ICRCUnverifiable, Reason: r}
	}
	if b.Truncated {
		return unverifiable(decode.ICRCReasonTruncated)
	}
	if _, v1 := network.(*GRH); v1 == (udp != nil) {
		return unverifiable(decode.ICRCReasonNone)
	}
	var h protected
	switch n := network.(type) {
	case *layers.IPv4:
		if n.Flags&layers.IPv4MoreFragments != 0 || n.FragOffset != 0 {
			return unverifiable(decode.ICRCReasonFragment)
		}
		if n.IHL > 5 {
			return unverifiable(decode.ICRCReasonOptions)
		}
		h.add(n.Contents, ipv4Len)
	case *layers.IPv6:
		if n.NextHeader != layers.IPProtocolUDP {
			return unverifiable(decode.ICRCReasonOptions)
		}
		h.add(n.Contents, ipv6Len)
	case *GRH:
		h.add(n.Contents, grhLen)
	}
	if udp != nil {
		h.add(udp.Contents, udpLen)
	}
	if len(b.wire) < bthLen || !h.mask() {
		return unverifiable(decode.ICRCReasonNone)
	}
	r := ICRCResult{Status: decode.ICRCGood, Expected: h.icrc(b.wire)}
	if r.Expected != b.ICRC {
		r.Status = decode.ICRCBad
	}
	return r
}

// SetNetworkLayerForICRC says which headers will be in front of the BTH, for
// ComputeChecksums: the *layers.IPv4 or *layers.IPv6 in front of udp, or the
// *GRH of RoCEv1 with udp nil. gopacket serialises from the inside out, and
// the ICRC covers headers that are written after it, so it is computed from
// these structs as they are when the BTH is serialised; FixLengths is taken
// into account. They must be the layers that are serialised right in front of
// it, and not be changed in between. IP options and IPv6 extension headers are
// refused: the specification leaves open whether the ICRC covers them.
func (b *BTH) SetNetworkLayerForICRC(network gopacket.NetworkLayer, udp *layers.UDP) error {
	switch network.(type) {
	case *layers.IPv4, *layers.IPv6:
		if udp == nil {
			return errors.New("RoCEv2 has a UDP header behind IP")
		}
	case *GRH:
		if udp != nil {
			return errors.New("RoCEv1 has no UDP header behind the GRH")
		}
	default:
		return fmt.Errorf("a %T in front of RoCE; it must be IPv4, IPv6 or GRH", network)
	}
	b.network, b.udp = network, udp
	return nil
}

// computeICRC computes the ICRC of packet, which reaches from BTH to pad, with
// headers in front of it that are not serialised yet.
func (b *BTH) computeICRC(packet []byte, fixLengths bool) (uint32, error) {
	n := len(packet) + icrcLen
	if n+udpLen+ipv4Len > 0xffff {
		return 0, fmt.Errorf("%d bytes do not fit into an IP packet", n)
	}
	var h protected
	l3 := h.b[:]
	switch ip := b.network.(type) {
	case *layers.IPv4:
		ihl, length := ip.IHL, ip.Length
		if fixLengths {
			ihl, length = 5, uint16(ipv4Len+udpLen+n)
		}
		src, dst := ip.SrcIP.To4(), ip.DstIP.To4()
		if len(ip.Options) > 0 || ihl != 5 || ip.Flags&layers.IPv4MoreFragments != 0 || ip.FragOffset != 0 {
			return 0, errors.New("no ICRC is defined with IPv4 options or fragments")
		}
		if src == nil || dst == nil {
			return 0, fmt.Errorf("IPv4 addresses %v and %v", ip.SrcIP, ip.DstIP)
		}
		l3[0] = ip.Version<<4 | ihl
		put16(l3[2:], length)
		put16(l3[4:], ip.Id)
		put16(l3[6:], uint16(ip.Flags)<<13)
		l3[9] = byte(ip.Protocol)
		copy(l3[12:], src)
		copy(l3[16:], dst)
		h.l3 = ipv4Len
	case *layers.IPv6:
		length := ip.Length
		if fixLengths {
			length = uint16(udpLen + n)
		}
		if ip.HopByHop != nil || ip.NextHeader != layers.IPProtocolUDP {
			return 0, errors.New("no ICRC is defined with IPv6 extension headers")
		}
		src, dst := ip.SrcIP.To16(), ip.DstIP.To16()
		if src == nil || dst == nil {
			return 0, fmt.Errorf("IPv6 addresses %v and %v", ip.SrcIP, ip.DstIP)
		}
		l3[0] = ip.Version << 4
		put16(l3[4:], length)
		l3[6] = byte(ip.NextHeader)
		copy(l3[8:], src)
		copy(l3[24:], dst)
		h.l3 = ipv6Len
	case *GRH:
		g := *ip
		if fixLengths {
			g.PayloadLength = uint16(n)
		}
		if err := g.put(l3); err != nil {
			return 0, err
		}
		h.l3 = grhLen
	default:
		return 0, errors.New("no ICRC without the headers in front: use Serialize or SetNetworkLayerForICRC")
	}
	h.n = h.l3
	if b.udp != nil {
		u := l3[h.n:]
		put16(u, uint16(b.udp.SrcPort))
		put16(u[2:], uint16(b.udp.DstPort))
		length := b.udp.Length
		if fixLengths {
			length = uint16(udpLen + n)
		}
		put16(u[4:], length)
		h.n += udpLen
	}
	h.mask()
	return h.icrc(packet), nil
}

const (
	ipv4Len = net.IPv4len*2 + 12
	ipv6Len = net.IPv6len*2 + 8
)

// protected are the headers in front of the BTH that the ICRC covers.
type protected struct {
	b     [ipv6Len + udpLen]byte
	l3, n int // length of the IP header or GRH, and of all
}

// add adds a header that must have want bytes.
func (h *protected) add(header []byte, want int) {
	if len(header) == want {
		if h.n == 0 {
			h.l3 = want
		}
		h.n += copy(h.b[h.n:], header)
	}
}

// mask sets the fields that change on the way to ones, as decode.VerifyICRC
// documents it. It says whether the headers are those of RoCE: IPv4 or IPv6
// with UDP, or a GRH.
func (h *protected) mask() bool {
	switch {
	case h.l3 == ipv4Len && h.n == ipv4Len+udpLen:
		h.b[1], h.b[8], h.b[10], h.b[11] = 0xff, 0xff, 0xff, 0xff
	case h.l3 == ipv6Len && (h.n == ipv6Len+udpLen || h.n == grhLen):
		h.b[0], h.b[1], h.b[2], h.b[3], h.b[7] = h.b[0]|0x0f, 0xff, 0xff, 0xff, 0xff
	default:
		return false
	}
	if h.n > h.l3 {
		h.b[h.l3+6], h.b[h.l3+7] = 0xff, 0xff
	}
	return true
}

// icrcSeed is the CRC of the eight bytes of ones that stand for the LRH.
var icrcSeed = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// icrc is the ICRC of the masked headers and a packet from BTH to pad.
func (h *protected) icrc(packet []byte) uint32 {
	bth := [bthLen]byte(packet)
	bth[4] = 0xff // FECN, BECN and reserved bits
	sum := update(update(icrcSeed, h.b[:h.n]), bth[:])
	return bits.ReverseBytes32(crc32.Update(sum, crc32.IEEETable, packet[bthLen:]))
}

// update is crc32.Update for a few bytes. That one, being called through a
// variable, would move what it is given to the heap.
func update(sum uint32, b []byte) uint32 {
	sum = ^sum
	for _, v := range b {
		sum = crc32.IEEETable[byte(sum)^v] ^ sum>>8
	}
	return ^sum
}
