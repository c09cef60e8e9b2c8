package decode_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// TestMACControl decodes PAUSE and PFC, minimal, padded and from a zero source.
func TestMACControl(t *testing.T) {
	const head = "0180c2000001 525400000001 8808 "
	for _, c := range []struct {
		name  string
		hex   string
		kind  decode.Kind
		want  decode.MACControl
		short bool
	}{
		{"PFC of 34 bytes", head + "0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000", decode.KindPFC,
			decode.MACControl{Opcode: 0x101, Enable: 8, Quanta: [8]uint16{3: 0xffff}}, false},
		{"PFC, all classes", head + "0101 00ff 0001 0002 0003 0004 0000 0000 0000 0000 0000000000000000", decode.KindPFC,
			decode.MACControl{Opcode: 0x101, Enable: 0xff, Quanta: [8]uint16{1, 2, 3, 4}}, false},
		{"PFC cut short", head + "0101 00ff 0001", decode.KindPFC, decode.MACControl{Opcode: 0x101}, true},
		{"PAUSE", "0180c2000001 000000000000 8808 0001 ffff", decode.KindPause,
			decode.MACControl{Opcode: 1, Enable: 1, Quanta: [8]uint16{0xffff}}, false},
		{"PAUSE, go on", head + "0001 0000", decode.KindPause, decode.MACControl{Opcode: 1, Enable: 1}, false},
		{"another opcode", head + "0002 0000", decode.KindMACControl, decode.MACControl{Opcode: 2}, false},
	} {
		p := decodeFrame(t, frame(unhex(c.hex)))
		if p.Kind != c.kind || p.Pause != c.want || p.Malformed() != c.short {
			t.Errorf("%s: %v %+v, %v", c.name, p.Kind, p.Pause, p.Err)
		}
	}
}

// TestICMPQuote: RoCE quoted in an ICMP error is no RoCE packet.
func TestICMPQuote(t *testing.T) {
	quote := udpPacket(pairV4, writeMiddle(8))
	p := decodeFrame(t, frame(etherIP(ipOver(layers.IPProtocolICMPv4, cat(unhex("0303 0000 00000000"), quote[:28])))))
	if p.Kind != decode.KindICMP || p.Flags&decode.QuotesRoCE == 0 {
		t.Errorf("ICMP error: %v, flags %#x", p.Kind, p.Flags)
	}
	quote = udpPacket(pairV6, writeMiddle(8))
	p = decodeFrame(t, frame(etherIP(ip6Over(layers.IPProtocolICMPv6, cat(unhex("0104 0000 00000000"), quote)))))
	if p.Kind != decode.KindICMP || p.Flags&decode.QuotesRoCE == 0 {
		t.Errorf("ICMPv6 error: %v, flags %#x", p.Kind, p.Flags)
	}
	p = decodeFrame(t, frame(etherIP(ipOver(layers.IPProtocolICMPv4, cat(unhex("0800 0000 00000000"), quote)))))
	if p.Kind != decode.KindICMP || p.Flags&decode.QuotesRoCE != 0 {
		t.Errorf("ICMP echo: %v, flags %#x", p.Kind, p.Flags)
	}
}

// TestIWARP recognises MPA by its start-up keys and by a framed unit whose CRC
// is right, and nothing else.
func TestIWARP(t *testing.T) {
	tcp := func(payload []byte) *decode.Packet {
		h := make([]byte, 20)
		binary.BigEndian.PutUint16(h, 5445)
		binary.BigEndian.PutUint16(h[2:], 40000)
		h[12] = 5 << 4
		return decodeFrame(t, frame(etherIP(ipOver(layers.IPProtocolTCP, append(h, payload...)))))
	}
	unit := cat(unhex("0016 41 43"), make([]byte, 20)) // tagged, RDMAP SEND
	crc := crc32.Checksum(unit, crc32.MakeTable(crc32.Castagnoli))
	right := binary.LittleEndian.AppendUint32(unit, crc)
	wrong := binary.LittleEndian.AppendUint32(unit, crc^1)
	for _, c := range []struct {
		name    string
		payload []byte
		kind    decode.Kind
	}{
		{"request key", []byte("MPA ID Req Frame\x40\x01\x00\x00"), decode.KindIWARP},
		{"reply key", []byte("MPA ID Rep Frame\x40\x01\x00\x00"), decode.KindIWARP},
		{"framed unit", right, decode.KindIWARP},
		{"two framed units", cat(right, right), decode.KindIWARP},
		{"framed unit, CRC off", append(unit[:24:24], 0, 0, 0, 0), decode.KindIWARP},
		{"framed unit, CRC wrong", wrong, decode.KindTCP},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), decode.KindTCP},
		{"nothing", nil, decode.KindTCP},
		{"zeros", make([]byte, 100), decode.KindTCP},
	} {
		if p := tcp(c.payload); p.Kind != c.kind || p.Malformed() {
			t.Errorf("%s: %v, %v", c.name, p.Kind, p.Err)
		}
	}
}

// nativeIB is a native InfiniBand packet with its ICRC and VCRC right.
func nativeIB(t transport, global bool) []byte {
	body := t.bytes()
	lrh := unhex("f0 02 0004 0000 0001")
	var grh []byte
	if global {
		lrh[1] = 3
		full := grhPacket(t)
		grh = full[:40]
	}
	binary.BigEndian.PutUint16(lrh[4:], uint16((8+len(grh)+len(body)+4)/4))
	mt := append([]byte(nil), body...)
	mt[4] = 0xff
	var sum uint32
	if global {
		mg := append([]byte(nil), grh...)
		mg[0], mg[1], mg[2], mg[3], mg[7] = 0x6f, 0xff, 0xff, 0xff, 0xff
		sum = slowICRC(ones8, mg, mt)
	} else {
		ml := append([]byte(nil), lrh...)
		ml[0] |= 0xf0
		sum = slowICRC(ml, mt)
	}
	b := binary.LittleEndian.AppendUint32(cat(lrh, grh, body), sum)
	vcrc := uint16(0xffff)
	for _, x := range b {
		vcrc ^= uint16(x)
		for range 8 {
			vcrc = vcrc>>1 ^ 0xd008*(vcrc&1)
		}
	}
	return binary.LittleEndian.AppendUint16(b, ^vcrc)
}

func TestNativeInfiniBand(t *testing.T) {
	for _, global := range []bool{false, true} {
		for _, n := range []int{0, 3, 100, 4000} {
			b := nativeIB(writeMiddle(n), global)
			p := decodeFrame(t, linkFrame(capture.LinkInfiniBand, b))
			if p.Kind != decode.KindIB || p.ICRCStatus != decode.ICRCGood || p.VCRCStatus != decode.ICRCGood || int(p.PayloadLen) != n || p.SLID != 1 || p.DLID != 4 {
				t.Errorf("GRH %v, %d bytes: %s, ICRC %v, VCRC %v", global, n, decode.AppendInfo(nil, p), p.ICRCStatus, p.VCRCStatus)
			}
			if want := map[bool]decode.AddrKind{false: decode.AddrLID, true: decode.AddrGID}[global]; p.AddrKind != want {
				t.Errorf("GRH %v: addresses are %v", global, p.AddrKind)
			}
			vcrc := p.VCRC
			b[len(b)-1] ^= 1
			if p = decodeFrame(t, linkFrame(capture.LinkInfiniBand, b)); p.VCRCExpected != vcrc {
				t.Errorf("VCRC damaged: expected is %#x, was %#x", p.VCRCExpected, vcrc)
			}
			if p = decodeFrame(t, linkFrame(capture.LinkInfiniBand, b)); p.VCRCStatus != decode.ICRCBad || p.ICRCStatus != decode.ICRCGood {
				t.Errorf("VCRC damaged: ICRC %v, VCRC %v", p.ICRCStatus, p.VCRCStatus)
			}
			if p = decodeFrame(t, linkFrame(capture.LinkInfiniBand, b[:len(b)-2])); p.VCRCStatus != decode.ICRCNone || p.ICRCStatus != decode.ICRCGood {
				t.Errorf("without VCRC: ICRC %v, VCRC %v", p.ICRCStatus, p.VCRCStatus)
			}
		}
	}
	// IP over InfiniBand inside UD, and a management datagram.
	ipoib := nativeIB(transport{op: 0x64, qp: 0xffffff, ext: unhex("00000b1b 00000048"), payload: cat(unhex("08000000"), make([]byte, 60))}, true)
	if p := decodeFrame(t, linkFrame(capture.LinkInfiniBand, ipoib)); p.Flags&decode.CarriesIPoIB == 0 || p.PayloadLen != 64 {
		t.Errorf("IP over InfiniBand: flags %#x", p.Flags)
	}
	mad := nativeIB(transport{op: 0x64, qp: 1, ext: unhex("80010000 00000001"),
		payload: cat(unhex("01 07 02 03 0000 0000 0000000100000002 0010 0000 00000000"), make([]byte, 232))}, false)
	p := decodeFrame(t, linkFrame(capture.LinkInfiniBand, mad))
	want := decode.MAD{BaseVersion: 1, Class: 7, ClassVersion: 2, Method: 3, TID: 0x100000002, Attribute: 0x10}
	if p.Has&decode.HasMAD == 0 || p.MAD != want || p.MAD.ClassName() != "CM" || p.MAD.AttributeName() != "ConnectRequest" {
		t.Errorf("MAD: %+v, %s %s", p.MAD, p.MAD.ClassName(), p.MAD.AttributeName())
	}
	raw := unhex("f0 00 0004 0005 0001 8000 0000 aabbccddeeff00112233")
	if p = decodeFrame(t, linkFrame(capture.LinkInfiniBand, raw)); p.Kind != decode.KindIBRaw {
		t.Errorf("raw InfiniBand: %v", p.Kind)
	}
}

// TestIPoIBLink recognises link type 242.
func TestIPoIBLink(t *testing.T) {
	b := cat(make([]byte, 40), unhex("08000000"), ipOver(layers.IPProtocolICMPv4, unhex("0800 0000 00000000")))
	if p := decodeFrame(t, linkFrame(capture.LinkIPoIB, b)); p.Kind != decode.KindIPoIB || p.Malformed() {
		t.Errorf("link type 242: %v, %v", p.Kind, p.Err)
	}
}

// TestInfo reads the info column as its readers do.
func TestInfo(t *testing.T) {
	pfc := frame(unhex("0180c2000001 525400000001 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000"))
	over := func(tr transport) capture.Frame { return frame(etherIP(udpPacket(pairV4, tr))) }
	bad := over(writeMiddle(4))
	bad.Data[len(bad.Data)-1] ^= 1
	snapped := over(writeMiddle(100))
	snapped.Data = snapped.Data[:60]
	for _, c := range []struct {
		f    capture.Frame
		want string
	}{
		{over(writeMiddle(4)), "RC RDMA WRITE Middle QP 0x00003d PSN 12060459 payload 4"},
		{over(transport{op: 0x11, qp: 5, psn: 6, ext: unhex("1f000007")}), "RC ACK QP 0x000005 PSN 6 MSN 7"},
		{over(transport{op: 0x11, qp: 5, psn: 6, ext: unhex("07000007")}), "RC ACK, 12 credits QP 0x000005 PSN 6 MSN 7"},
		{over(transport{op: 0x11, qp: 5, psn: 6, ext: unhex("34000007")}), "RC RNR NAK, wait 10.24ms QP 0x000005 PSN 6 MSN 7"},
		{over(transport{op: 0x11, qp: 5, psn: 6, ext: unhex("60000007")}), "RC NAK, PSN sequence error QP 0x000005 PSN 6 MSN 7"},
		{over(transport{op: 0x10, qp: 5, psn: 6, ext: unhex("62000007")}), "RC RDMA READ Response Only, NAK, remote access error QP 0x000005 PSN 6 MSN 7"},
		{over(transport{op: 0x0a, qp: 5, psn: 6, ackReq: true, flags: 0x80, ext: unhex("0000000000001000 00001a2b 00000003"), payload: []byte("abc")}),
			"RC RDMA WRITE Only QP 0x000005 PSN 6 SE A VA 0x1000 R_Key 0x00001a2b length 3 payload 3"},
		{over(transport{op: 0x81, qp: 5, fecnBecn: 0x40, ext: make([]byte, 16)}), "CNP: slow down QP 0x000005 PSN 0 BECN"},
		{over(transport{op: 0x80, qp: 5}), "reserved opcode 0x80 QP 0x000005 PSN 0"},
		{over(transport{op: 0xc7, qp: 5}), "vendor opcode 0xc7 QP 0x000005 PSN 0"},
		{over(transport{op: 0x11, qp: 5, psn: 6, ext: unhex("1f000007"), payload: make([]byte, 4)}),
			"RC ACK QP 0x000005 PSN 6 MSN 7 payload 4 [payload where none belongs]"},
		{frame(tagged(etherIP(udpOver(4789, cat(unhex("08000000 00002a00"), tagged(etherIP(udpPacket(pairV4, writeMiddle(4))), unhex("8100 0007"))))), unhex("88a8 0064"))),
			"RC RDMA WRITE Middle QP 0x00003d PSN 12060459 payload 4 in vlan 100, vxlan 42, vlan 7"},
		{pfc, "priority 3 stops for 65535 quanta, priority 4 may go on"},
		{bad, "RC RDMA WRITE Middle QP 0x00003d PSN 12060459 payload 4 [ICRC 0xb0425d29 is wrong, expected 0xb0425d28]"},
		{snapped, "RC RDMA WRITE Middle QP 0x00003d PSN 12060459 payload 100 [cut by the capture]"},
	} {
		if got := string(decode.AppendInfo(nil, decodeFrame(t, c.f))); got != c.want {
			t.Errorf("info is\n%s\nwant\n%s", got, c.want)
		}
	}
}
