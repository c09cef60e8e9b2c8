package scenario

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Lengths of headers in bytes.
const (
	ethLen  = 14
	vlanLen = 4
	ipv4Len = 20
	ipv6Len = 40
	grhLen  = 40
	udpLen  = 8
	bthLen  = 12
	icrcLen = 4
)

const (
	rocePort     = 4791
	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherVLAN    = 0x8100
	etherRoCE    = 0x8915
	protoUDP     = 17
	nextIBA      = 0x1b // GRH: a BTH follows
	gsiQKey      = 0x80010000
	dataQKey     = 0x11111111
	cnpBody      = 16
	defaultTTL   = 64
	syndromeACK  = 0x1f // ACK without credits
	syndromeRNR  = 0x20
	syndromeNAK  = 0x60
	atomicRemote = 0x0123456789abcdef // what was there before an atomic
)

// icrcSeed is the CRC over the eight bytes of ones that stand for the LRH.
var icrcSeed = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// pattern is what payloads are cut from: letters without meaning, made by a
// small generator, long enough for a packet to begin anywhere in its first
// half. Other bytes would now and then look like an upper layer to Wireshark.
var pattern = makePattern()

const patternHalf = 1 << 14

func makePattern() []byte {
	b := make([]byte, 2*patternHalf)
	x := uint32(0x9e3779b9)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = 'a' + byte(x>>8)%26
	}
	return b
}

// payload is what is in a packet: the same for the same PSN of a stream.
func payload(p *packet) []byte {
	at := (uint64(p.sess.id)*7919 + uint64(p.stream)*104729 + p.psn*61) % patternHalf
	return pattern[at : at+uint64(p.payload)]
}

// wireLen is the length of a packet as an untagged frame, without FCS.
func (s *simulation) wireLen(p *packet) int { return ethLen + s.l3Len() + s.roceLen(p) }

func (s *simulation) l3Len() int {
	switch {
	case s.spec.Network.RoCEv1:
		return grhLen
	case s.spec.Network.IPv6:
		return ipv6Len + udpLen
	}
	return ipv4Len + udpLen
}

// roceLen is the length from BTH to ICRC.
func (s *simulation) roceLen(p *packet) int {
	n := bthLen + icrcLen
	h := headersOf(p.op)
	for i, l := range headerLengths {
		if h>>i&1 != 0 {
			n += l
		}
	}
	switch p.kind {
	case kindCNP:
		return n + cnpBody
	case kindMAD:
		return n + madLen
	}
	return n + (p.payload+3)&^3
}

// headerLengths are those of the extended headers, in the order of their bits.
var headerLengths = [...]int{8, 4, 16, 28, 4, 8, 4, 4}

// appendPacket appends a packet from its IP header or GRH on to its ICRC.
//
//	IPv4 | UDP | BTH | extended headers | payload | pad | ICRC      RoCEv2
//	IPv6 | UDP | BTH | ...                                          RoCEv2
//	GRH  | BTH | ...                                                RoCEv1
func (s *simulation) appendPacket(b []byte, p *packet, ttl uint8) []byte {
	start := len(b)
	n := s.roceLen(p)
	src, dst := s.hostOf(p.sess, p.from), s.hostOf(p.sess, 1-p.from)
	tos := p.dscp<<2 | p.ecn
	switch net := &s.spec.Network; {
	case net.RoCEv1:
		b = appendIPv6(b, src, dst, n, nextIBA, tos, ttl, 0)
	case net.IPv6:
		b = appendIPv6(b, src, dst, udpLen+n, protoUDP, tos, ttl, p.sess.flowLabel)
		b = appendUDP(b, p.sess.port(p), udpLen+n)
	default:
		b = appendIPv4(b, src, dst, udpLen+n, protoUDP, tos, ttl, p.ipid)
		b = appendUDP(b, p.sess.port(p), udpLen+n)
	}
	bth := len(b)
	b = appendBTH(b, p)
	b = appendExtended(b, p)
	switch p.kind {
	case kindCNP:
		b = append(b, make([]byte, cnpBody)...)
	case kindMAD:
		b = p.mad.append(b)
	default:
		b = append(b, payload(p)...)
		for i := p.payload; i%4 != 0; i++ {
			b = append(b, 0)
		}
	}
	sum := icrc(b[start:], bth-start, s.spec.Network.IPv6 || s.spec.Network.RoCEv1)
	if p.corrupt {
		sum ^= 0x00010000
	}
	return binary.BigEndian.AppendUint32(b, sum)
}

// icrc computes the invariant CRC of a packet without it, as the number whose
// big-endian bytes are on the wire (volume 1, 7.8.1; annexes A16 and A17): a
// CRC-32 sent least significant byte first over
//
//	eight bytes of ones, then from the IP header or GRH to the pad, where
//	IPv4: TOS, TTL and header checksum are ones
//	IPv6, GRH: traffic class, flow label and hop limit are ones
//	UDP: the checksum is ones
//	BTH: the fifth byte is ones
func icrc(b []byte, bth int, v6 bool) uint32 {
	var masked [ipv6Len + udpLen + bthLen]byte
	head := masked[:copy(masked[:], b[:bth+bthLen])]
	if v6 {
		binary.BigEndian.PutUint32(head, binary.BigEndian.Uint32(head)|0x0fffffff)
		head[7] = 0xff
	} else {
		head[1], head[8], head[10], head[11] = 0xff, 0xff, 0xff, 0xff
	}
	if bth != grhLen { // the GRH of RoCEv1 has no UDP behind it
		head[bth-2], head[bth-1] = 0xff, 0xff
	}
	head[bth+4] = 0xff
	sum := crc32.Update(icrcSeed, crc32.IEEETable, head)
	return bits.ReverseBytes32(crc32.Update(sum, crc32.IEEETable, b[len(head):]))
}

func appendIPv4(b []byte, src, dst *host, n int, proto, tos, ttl uint8, id uint16) []byte {
	start := len(b)
	b = append(b, 0x45, tos)
	b = binary.BigEndian.AppendUint16(b, uint16(ipv4Len+n))
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, 0x40, 0, ttl, proto, 0, 0) // don't fragment
	b = append(b, src.addr.AsSlice()...)
	b = append(b, dst.addr.AsSlice()...)
	binary.BigEndian.PutUint16(b[start+10:], ipChecksum(b[start:start+ipv4Len]))
	return b
}

// ipChecksum is the Internet checksum (RFC 1071) of a header whose own checksum
// is 0.
func ipChecksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	return ^uint16(sum)
}

// appendIPv6 appends an IPv6 header or a GRH, which has the same form. GIDs
// made of IPv4 addresses are mapped ones.
func appendIPv6(b []byte, src, dst *host, n int, next, tc, hops uint8, label uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(tc)<<20|label)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = append(b, next, hops)
	s, d := src.addr.As16(), dst.addr.As16()
	b = append(b, s[:]...)
	return append(b, d[:]...)
}

func appendUDP(b []byte, port uint16, n int) []byte {
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, rocePort)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	return append(b, 0, 0)
}

// appendBTH appends the base transport header.
//
//	| opcode | SE M pad TVer | P_Key | F B resv | DestQP (24) | A resv | PSN (24) |
func appendBTH(b []byte, p *packet) []byte {
	const migrated = 0x40
	flags := byte(migrated)
	if p.kind == kindCNP || p.kind == kindMAD {
		flags = 0
	}
	if p.kind == kindRequest || p.kind == kindAnswer {
		flags |= byte(-p.payload&3) << 4
	}
	pkey := uint16(0xffff)
	if p.kind != kindCNP && p.kind != kindMAD {
		pkey = p.sess.spec.Marking.pkey(p.from)
	}
	b = append(b, p.op, flags, byte(pkey>>8), byte(pkey))
	var becn byte
	if p.becn {
		becn = 0x40
	}
	b = binary.BigEndian.AppendUint32(b, uint32(becn)<<24|p.destQP())
	var ack uint32
	if p.ackReq {
		ack = 0x80 << 24
	}
	return binary.BigEndian.AppendUint32(b, ack|p.wirePSN())
}

// appendExtended appends the extended headers in their order.
func appendExtended(b []byte, p *packet) []byte {
	be := binary.BigEndian
	h := headersOf(p.op)
	if h&hasDETH != 0 {
		qkey, qp := uint32(dataQKey), p.sess.spec.side(p.from).QPN
		if p.kind == kindMAD {
			qkey, qp = gsiQKey, 1
		}
		b = be.AppendUint32(b, qkey)
		b = be.AppendUint32(b, qp)
	}
	if h&hasXRCETH != 0 {
		b = be.AppendUint32(b, p.sess.spec.side(1-p.from).SRQ)
	}
	if h&hasRETH != 0 {
		b = be.AppendUint64(b, p.va)
		b = be.AppendUint32(b, p.key)
		b = be.AppendUint32(b, p.dmaLen)
	}
	if h&hasAtomicETH != 0 {
		b = be.AppendUint64(b, p.va)
		b = be.AppendUint32(b, p.key)
		b = be.AppendUint64(b, p.swapAdd)
		b = be.AppendUint64(b, p.compare)
	}
	if h&hasAETH != 0 {
		b = be.AppendUint32(b, uint32(p.syndrome)<<24|uint32(p.msn)&psnMask)
	}
	if h&hasAtomicAckETH != 0 {
		b = be.AppendUint64(b, atomicRemote)
	}
	if h&hasImmDt != 0 {
		b = be.AppendUint32(b, p.imm)
	}
	if h&hasIETH != 0 {
		b = be.AppendUint32(b, p.key)
	}
	return b
}
