package decode_test

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// Frames are made here from parts that share nothing with the decoder: lower
// layers by gopacket, transport headers by hand, and the ICRC bit by bit.

// transport is a transport packet to be made.
type transport struct {
	op       byte
	flags    byte // SE 0x80, M 0x40, TVer
	fecnBecn byte // FECN 0x80, BECN 0x40, reserved bits
	pkey     uint16
	qp, psn  uint32
	ackReq   bool
	ext      []byte
	payload  []byte
}

// bytes are BTH, extended headers, payload and pad, without the ICRC.
func (t transport) bytes() []byte {
	pad := -len(t.payload) & 3
	b := make([]byte, 12)
	b[0] = t.op
	b[1] = t.flags | byte(pad)<<4
	binary.BigEndian.PutUint16(b[2:], t.pkey)
	binary.BigEndian.PutUint32(b[4:], t.qp)
	b[4] = t.fecnBecn
	binary.BigEndian.PutUint32(b[8:], t.psn)
	if t.ackReq {
		b[8] |= 0x80
	}
	b = append(b, t.ext...)
	b = append(b, t.payload...)
	return append(b, make([]byte, pad)...)
}

func writeMiddle(n int) transport {
	payload := make([]byte, n)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	return transport{op: 0x07, pkey: 0xffff, qp: 0x3d, psn: 12060459, payload: payload}
}

// slowICRC is the ICRC by definition: the CRC-32 shift register, a bit at a
// time, over what the caller has masked.
func slowICRC(parts ...[]byte) uint32 {
	crc := ^uint32(0)
	for _, p := range parts {
		for _, b := range p {
			crc ^= uint32(b)
			for range 8 {
				crc = crc>>1 ^ 0xedb88320*(crc&1)
			}
		}
	}
	return ^crc
}

var ones8 = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func withICRC(head, masked, t []byte) []byte {
	mt := append([]byte(nil), t...)
	mt[4] = 0xff
	sum := slowICRC(ones8, masked, mt)
	out := append(append([]byte(nil), head...), t...)
	return binary.LittleEndian.AppendUint32(out, sum)
}

type ipOptions struct {
	src, dst string
	sport    uint16
	dport    uint16
	tos      byte
	id       uint16
}

var (
	pairV4 = ipOptions{src: "10.10.0.1", dst: "10.10.0.2", sport: 0xc123, dport: 4791, id: 77}
	pairV6 = ipOptions{src: "fd00:10::1", dst: "fd00:10::2", sport: 0xc123, dport: 4791}
)

func serialize(ls ...gopacket.SerializableLayer) []byte {
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ls...); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// udpPacket is an IP packet with UDP and a RoCEv2 packet in it, ICRC right.
func udpPacket(o ipOptions, t transport) []byte {
	body := t.bytes()
	src, dst := net.ParseIP(o.src), net.ParseIP(o.dst)
	udp := &layers.UDP{SrcPort: layers.UDPPort(o.sport), DstPort: layers.UDPPort(o.dport)}
	var ip []byte
	room := gopacket.Payload(make([]byte, len(body)+4))
	if src.To4() != nil {
		l := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, TOS: o.tos, Id: o.id, Protocol: layers.IPProtocolUDP, SrcIP: src, DstIP: dst, Flags: layers.IPv4DontFragment}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = serialize(l, udp, room)
	} else {
		l := &layers.IPv6{Version: 6, HopLimit: 64, TrafficClass: o.tos, FlowLabel: 0x12345, NextHeader: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = serialize(l, udp, room)
	}
	head := ip[:len(ip)-len(room)]
	l4 := len(head) - 8
	head[l4+6], head[l4+7] = 0, 0 // RoCEv2 has no UDP checksum
	masked := append([]byte(nil), head...)
	if src.To4() != nil {
		masked[1], masked[8], masked[10], masked[11] = 0xff, 0xff, 0xff, 0xff
	} else {
		masked[0], masked[1], masked[2], masked[3], masked[7] = 0x6f, 0xff, 0xff, 0xff, 0xff
	}
	masked[l4+6], masked[l4+7] = 0xff, 0xff
	return withICRC(head, masked, body)
}

// grhPacket is RoCEv1 from its GRH on, ICRC right.
func grhPacket(t transport) []byte {
	body := t.bytes()
	grh := make([]byte, 40)
	grh[0], grh[1] = 0x60|0x01, 0xa0 // traffic class 0x1a
	binary.BigEndian.PutUint16(grh[4:], uint16(len(body)+4))
	grh[6], grh[7] = 0x1b, 9
	copy(grh[8:], net.ParseIP("fe80::1").To16())
	copy(grh[24:], net.ParseIP("::ffff:10.0.0.2").To16())
	masked := append([]byte(nil), grh...)
	masked[0], masked[1], masked[2], masked[3], masked[7] = 0x6f, 0xff, 0xff, 0xff, 0xff
	return withICRC(grh, masked, body)
}

var (
	macA = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}
	macB = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}
)

// etherType of the packet, told from its first nibble.
func ipEtherType(b []byte) layers.EthernetType {
	if b[0]>>4 == 6 {
		return layers.EthernetTypeIPv6
	}
	return layers.EthernetTypeIPv4
}

func etherFrame(et layers.EthernetType, b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(append([]byte(nil), macB...), macA...), uint16(et)), b...)
}

func etherIP(b []byte) []byte { return etherFrame(ipEtherType(b), b) }

// ipOver wraps b in an IP packet of the protocol.
func ipOver(proto layers.IPProtocol, b []byte) []byte {
	l := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: proto, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
	return serialize(l, gopacket.Payload(b))
}

func ip6Over(proto layers.IPProtocol, b []byte) []byte {
	l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: net.ParseIP("2001:db8::1"), DstIP: net.ParseIP("2001:db8::2")}
	return serialize(l, gopacket.Payload(b))
}

func udpOver(dport uint16, b []byte) []byte {
	u := make([]byte, 8)
	binary.BigEndian.PutUint16(u, 55555)
	binary.BigEndian.PutUint16(u[2:], dport)
	binary.BigEndian.PutUint16(u[4:], uint16(8+len(b)))
	return ipOver(layers.IPProtocolUDP, append(u, b...))
}

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\t' {
			return -1
		}
		return r
	}, s))
	if err != nil {
		panic(err)
	}
	return b
}

// linkFrame is a frame that was captured whole.
func linkFrame(l capture.LinkType, b []byte) capture.Frame {
	return capture.Frame{Data: b, OrigLen: uint32(len(b)), Link: l, FCSLen: -1, Number: 1}
}

func frame(b []byte) capture.Frame { return linkFrame(capture.LinkEthernet, b) }

// decodeFrame decodes and checks a frame with a fresh decoder.
func decodeFrame(tb testing.TB, f capture.Frame) *decode.Packet {
	tb.Helper()
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	d.Decode(&f, &p)
	d.VerifyICRC(&p)
	checkPacket(tb, &p)
	return &p
}

// checkPacket checks what must hold for any bytes whatever.
func checkPacket(tb testing.TB, p *decode.Packet) {
	tb.Helper()
	for _, l := range p.Layers() {
		if int(l.Off)+int(l.Len) > len(p.Data) {
			tb.Fatalf("%v at %d, %d bytes, goes beyond the %d captured", l.Kind, l.Off, l.Len, len(p.Data))
		}
	}
	if (p.Err.Code == decode.ErrNone) && p.Malformed() {
		tb.Fatal("malformed without an error")
	}
	if p.ICRCStatus == decode.ICRCUnchecked {
		tb.Fatal("ICRC is still unchecked")
	}
	if p.Has&decode.HasBTH != 0 && !p.RoCE() {
		tb.Fatalf("a %v with a BTH", p.Kind)
	}
	if p.RoCE() && p.ICRCStatus == decode.ICRCNone {
		tb.Fatalf("a %v whose ICRC has no status: %v", p.Kind, p.Err)
	}
	if !p.RoCE() && p.ICRCStatus != decode.ICRCNone {
		tb.Fatalf("a %v whose ICRC is %v", p.Kind, p.ICRCStatus)
	}
	_ = decode.AppendInfo(p.AppendDst(p.AppendSrc(nil)), p)
	_ = decode.Protocol(p)
}

func sizeName(n int) string { return strconv.Itoa(n) + "B" }
