package decode

import (
	"strings"

	"github.com/rocelens/rocelens/capture"
)

// Readers of fields that are not plain bytes of a header.

func boolNum(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// text keeps a made-up string until the Extra is Reset.
func (x *Extra) text(s string) []byte {
	start := len(x.buf)
	x.buf = append(x.buf, s...)
	return x.buf[start:len(x.buf):len(x.buf)]
}

// Reset forgets what x knows of a packet, and the values made up for it, which
// are invalid then. Call it once a packet.
func (x *Extra) Reset() {
	x.buf, x.seen = x.buf[:0], 0
	x.comments, x.commented = nil, false
}

// frameComments are the frame's comments.
func (x *Extra) frameComments(p *Packet) []string {
	if !x.commented {
		x.comments, x.commented = p.Frame.Comments(), true
	}
	return x.comments
}

func readComment(x *Extra, p *Packet, i int, v *Value) bool {
	all := x.frameComments(p)
	if i >= len(all) {
		return false
	}
	v.Bytes = x.text(all[i])
	return true
}

type reader = func(x *Extra, p *Packet, l Layer, v *Value) bool

// readNumber reads a number as a plain row does.
func readNumber(off, n int, mask uint64) reader {
	pl := place{off: off, n: n, mask: mask}
	return pl.value
}

func readGroup(_ *Extra, _ *Packet, l Layer, v *Value) bool {
	v.Off, v.Len = l.Off, l.Len
	return true
}

// readMissing is there in place of a CRC that is not.
func readMissing(_ *Extra, _ *Packet, l Layer, _ *Value) bool { return l.Len == 0 }

func readZero(_ *Extra, _ *Packet, _ Layer, _ *Value) bool { return true }

func readInterfaceID(x *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Frame.Interface)
	return x.HasInterface
}

func readInterfaceName(x *Extra, _ *Packet, _ Layer, v *Value) bool {
	v.Bytes = x.text(x.InterfaceName)
	return x.HasInterface
}

func readInterfaceDescription(x *Extra, _ *Packet, _ Layer, v *Value) bool {
	v.Bytes = x.text(x.InterfaceDescription)
	return x.HasInterface && x.InterfaceDescription != ""
}

// encapTypes are Wireshark's numbers for link types.
var encapTypes = map[uint16]uint64{0: 15, 1: 1, 12: 7, 14: 7, 101: 7, 108: 174, 113: 25, 197: 98, 228: 129, 229: 130, 242: 180, 276: 210}

func readEncapType(_ *Extra, p *Packet, _ Layer, v *Value) bool {
	var ok bool
	v.Num, ok = encapTypes[uint16(p.Frame.Link)]
	return ok
}

func readTime(_ *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Frame.Time)
	return true
}

func readTimeDelta(x *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Frame.Time - x.Previous)
	return true
}

func readTimeDisplayed(x *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Frame.Time - x.Displayed)
	return true
}

func readTimeRelative(x *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Frame.Time - x.First)
	return true
}

// readCapLen is what was captured of the frame, without headers that only the
// capture has.
func readCapLen(_ *Extra, p *Packet, _ Layer, v *Value) bool {
	n := len(p.Data)
	if l, ok := p.Layer(LayerERF); ok {
		n -= int(l.Off + l.Len)
	}
	v.Num = uint64(n)
	return true
}

// protocolNames are what Wireshark writes into frame.protocols for a header.
// Where the header says an ethertype, ethertype follows.
var protocolNames = [numLayerKinds]string{
	LayerERF: "erf", LayerEthernet: "eth", LayerSLL: "sll", LayerSLL2: "sll", LayerNull: "null",
	LayerVLAN: "vlan", LayerSTag: "ieee8021ad:ethertype", LayerVNTag: "vntag:ethertype", LayerTTag: "ttag:ethertype", LayerCMD: "cmd:ethertype",
	LayerAVSP: "avsp:ethertype", LayerMPLS: "mpls", LayerLLC: "llc", LayerARP: "arp", LayerIPv4: "ip", LayerIPv6: "ipv6",
	LayerUDP: "udp", LayerTCP: "tcp", LayerICMP: "icmp", LayerICMPv6: "icmpv6", LayerGRE: "gre", LayerERSPAN1: "erspan", LayerERSPAN2: "erspan",
	LayerERSPAN3: "erspan", LayerVXLAN: "vxlan", LayerGeneve: "geneve", LayerMACControl: "macc", LayerMPA: "iwarp_mpa",
	LayerIPoIB: "ipoib", LayerLRH: "infiniband", LayerGRH: "infiniband", LayerBTH: "infiniband", LayerPayload: "data", LayerData: "data",
}

// extensionNames are those of IPv6's extension headers, by what the header
// before says follows.
var extensionNames = [256]string{
	protoHopByHop: "ipv6.hopopts", protoRouting: "ipv6.routing", protoFragment: "ipv6.fraghdr", protoDestOpts: "ipv6.dstopts",
	protoAH: "ah", protoMobility: "mipv6",
}

func readProtocols(x *Extra, p *Packet, _ Layer, v *Value) bool {
	start := len(x.buf)
	switch p.Frame.Link {
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD:
		x.buf = append(x.buf, "raw"...)
	}
	last := ""
	var next byte // of the IPv6 header and its extensions
	for _, l := range p.shown() {
		name := protocolNames[l.Kind]
		if l == p.cut {
			name = strings.TrimSuffix(name, ":ethertype")
		}
		switch l.Kind {
		case LayerEthernet:
			name = typed(p, l, 12, "eth", "eth:ethertype")
		case LayerSLL:
			name = typed(p, l, 14, "sll", "sll:ethertype")
		case LayerSLL2:
			name = typed(p, l, 0, "sll", "sll:ethertype")
		case LayerVLAN:
			name = typed(p, l, 2, "vlan", "vlan:ethertype")
		case LayerIPv6:
			if l.Len >= ipv6Len {
				next = p.Data[l.Off+6]
			}
		case LayerIPv6Ext:
			name = extensionNames[next]
			next = p.Data[l.Off]
		case LayerPayload: // a datagram's is management's; one that the capture cut Wireshark does not reach
			if p.Has&HasMAD != 0 || p.Flags&Snapped != 0 && p.lim > p.avail {
				continue
			}
		case LayerData:
			if !carriesData(p, last) {
				continue
			}
		}
		if name == "" || name == last && (name == "infiniband" || name == "mpls") {
			continue
		}
		if len(x.buf) > start {
			x.buf = append(x.buf, ':')
		}
		x.buf = append(x.buf, name...)
		last = name
	}
	if p.cut.Len == 0 && p.Err.Code == ErrTruncated { // Wireshark names a header of which nothing is there
		if name := protocolNames[p.cut.Kind]; name != "" && name != last {
			if len(x.buf) > start {
				x.buf = append(x.buf, ':')
			}
			x.buf = append(x.buf, strings.TrimSuffix(name, ":ethertype")...)
		}
	}
	v.Bytes = x.buf[start:len(x.buf):len(x.buf)]
	return true
}

// typed is the second name of a header if what is at off is an ethertype, and
// the first where it is a length or was cut off.
func typed(p *Packet, l Layer, off int, name, ethertype string) string {
	if off+2 > int(l.Len) || be16(p.Data[int(l.Off)+off:]) < minEtherType {
		return name
	}
	return ethertype
}

// carriesData says whether Wireshark calls what follows a header data: what
// follows an ICMP header is, except behind a whole echo, a part of the message.
func carriesData(p *Packet, header string) bool {
	var echo [2]byte // and its reply
	l := Layer{}
	switch header {
	case "icmp":
		echo = [2]byte{8, 0}
		l, _ = p.Layer(LayerICMP)
	case "icmpv6":
		echo = [2]byte{128, 129}
		l, _ = p.Layer(LayerICMPv6)
	default:
		return true
	}
	typ := p.Data[l.Off]
	return (typ == echo[0] || typ == echo[1]) && p.lim <= p.avail
}

// arpAddresses are how many bytes are ahead of ARP's addresses (RFC 826).
const arpAddresses = 8

// readARP reads one of the addresses, whose lengths the header says: of the
// sender the hardware's and the protocol's, then those of the target. known
// says that it is a MAC or IPv4 address.
func readARP(which int, known bool) reader {
	return func(_ *Extra, p *Packet, l Layer, v *Value) bool {
		b := p.Bytes(l)
		if len(b) < arpAddresses {
			return false
		}
		hw, proto := int(b[4]), int(b[5])
		off, n := arpAddresses+which/2*(hw+proto), hw
		// Hardware types: Ethernet, and the IEEE 802 networks.
		is := hw == 6 && (be16(b) == 1 || be16(b) == 6)
		if which%2 != 0 {
			off += hw
			n = proto
			is = proto == 4 && be16(b[2:]) == etherIPv4
		}
		if n == 0 || is != known || off+n > len(b) {
			return false
		}
		v.Bytes, v.Off, v.Len = b[off:off+n], l.Off+uint32(off), uint32(n)
		return true
	}
}

// ifSNAP reads what only LLC with SNAP has.
func ifSNAP(read reader) reader {
	return func(x *Extra, p *Packet, l Layer, v *Value) bool {
		return l.Len >= llcLen && isSNAP(p.Bytes(l)) && read(x, p, l, v)
	}
}

// readLLCControl reads one byte, or two, the lower one first.
func readLLCControl(_ *Extra, p *Packet, l Layer, v *Value) bool {
	b := p.Bytes(l)
	if len(b) < llcLen || b[2]&3 != 3 && len(b) < llcLen+1 {
		return false
	}
	v.Num, v.Off, v.Len = uint64(b[2]), l.Off+2, 1
	if b[2]&3 != 3 {
		v.Num, v.Len = v.Num|uint64(b[3])<<8, 2
	}
	return true
}

func readEtherType(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Num = uint64(be16(p.Data[l.Off+12:]))
	v.Off, v.Len = l.Off+12, 2
	return v.Num >= minEtherType
}

func readEtherLen(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Num = uint64(be16(p.Data[l.Off+12:]))
	v.Off, v.Len = l.Off+12, 2
	return v.Num < minEtherType
}

func readTagType(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Num = uint64(be16(p.Data[l.Off+2:]))
	v.Off, v.Len = l.Off+2, 2
	return v.Num >= minEtherType
}

func readTagLen(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Num = uint64(be16(p.Data[l.Off+2:]))
	v.Off, v.Len = l.Off+2, 2
	return v.Num < minEtherType
}

// readERFTime turns the little-endian time stamp round.
func readERFTime(_ *Extra, p *Packet, l Layer, v *Value) bool {
	b := p.Bytes(l)
	for i := 7; i >= 0; i-- {
		v.Num = v.Num<<8 | uint64(b[i])
	}
	return true
}

func ifPFC(read reader) reader {
	return func(x *Extra, p *Packet, l Layer, v *Value) bool {
		return p.Pause.Opcode == macPFC && read(x, p, l, v)
	}
}

func readPauseTime(_ *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = uint64(p.Pause.Quanta[0])
	return p.Pause.Opcode == macPause
}

func readQuotesRoCE(_ *Extra, p *Packet, _ Layer, v *Value) bool {
	v.Num = boolNum(p.Flags&QuotesRoCE != 0)
	return true
}

// Checksum states as Wireshark numbers them.
const (
	checksumUnverified = 2
	checksumNotPresent = 3
)

func readUnverified(_ *Extra, _ *Packet, _ Layer, v *Value) bool {
	v.Num = checksumUnverified
	return true
}

// readUDPChecksum is there if the checksum's state is the one given.
func readUDPChecksum(state uint64) reader {
	return func(_ *Extra, p *Packet, l Layer, v *Value) bool {
		v.Num = checksumUnverified
		if be16(p.Data[l.Off+6:]) == 0 {
			v.Num = checksumNotPresent
		}
		return v.Num == state
	}
}

// readUDPPayload is what UDP's length says follows its header, as far as it
// was captured.
func readUDPPayload(_ *Extra, p *Packet, l Layer, v *Value) bool {
	if l.Len < udpLen {
		return false
	}
	start := l.Off + udpLen
	end := min(l.Off+max(uint32(be16(p.Data[l.Off+4:])), udpLen), uint32(len(p.Data)))
	v.Off, v.Len = start, end-start
	v.Bytes = p.Data[start:end]
	return v.Len > 0
}

// readGRE reads one of GRE's optional parts, which are there if one of the
// flags in has is set: n bytes, off into the part.
func readGRE(has uint16, off, n int) reader {
	return func(_ *Extra, p *Packet, l Layer, v *Value) bool {
		b := p.Bytes(l)
		if len(b) < 2 {
			return false
		}
		flags := be16(b)
		if flags&has == 0 {
			return false
		}
		at := 4
		if has != 0xc000 && flags&0xc000 != 0 {
			at += 4
		}
		if has == 0x1000 && flags&0x2000 != 0 {
			at += 4
		}
		at += off
		if at+n > len(b) {
			return false
		}
		v.Off, v.Len = l.Off+uint32(at), uint32(n)
		for _, x := range b[at : at+n] {
			v.Num = v.Num<<8 | uint64(x)
		}
		return true
	}
}

func ifAck(t AckType) reader {
	return func(_ *Extra, p *Packet, l Layer, v *Value) bool {
		s := Syndrome(p.Data[l.Off])
		v.Num = uint64(s & 0x1f)
		return s.Type() == t
	}
}

// readMAD is the whole datagram as far as it was captured: the common header
// and what follows it.
func readMAD(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Off, v.Len = l.Off, uint32(madEnd(p, l)-int(l.Off))
	v.Bytes = p.Data[v.Off : v.Off+v.Len]
	return true
}

func readMADData(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Off = l.Off + madLen
	v.Len = uint32(madEnd(p, l)) - v.Off
	v.Bytes = p.Data[v.Off : v.Off+v.Len]
	return v.Len > 0
}

func madEnd(p *Packet, l Layer) int {
	if pl, ok := p.Layer(LayerPayload); ok {
		return int(pl.Off + pl.Len)
	}
	return int(l.Off + l.Len)
}

// readPayload is a message's payload; that of a management datagram is
// infiniband.mad.data.
func readPayload(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Off, v.Len = l.Off, l.Len
	v.Bytes = p.Bytes(l)
	return p.Has&HasMAD == 0
}

func readPayloadLen(_ *Extra, p *Packet, l Layer, v *Value) bool {
	v.Num, v.Off, v.Len = uint64(l.Len), l.Off, l.Len
	return p.Has&HasMAD == 0
}
