package decode_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// headersOf are the extended headers of each opcode and whether payload may
// follow, transcribed from the InfiniBand tables and not from the decoder's.
func headersOf(op byte) (name string, headers []string, payload, known bool) {
	switch op {
	case 0x64:
		return "UD_SEND_ONLY", []string{"DETH"}, true, true
	case 0x65:
		return "UD_SEND_ONLY_IMM", []string{"DETH", "ImmDt"}, true, true
	case 0x81:
		return "CNP", []string{"CNP reserved"}, false, true
	}
	names := strings.Fields(`SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM RDMA_WRITE_FIRST
		RDMA_WRITE_MIDDLE RDMA_WRITE_LAST RDMA_WRITE_LAST_IMM RDMA_WRITE_ONLY RDMA_WRITE_ONLY_IMM RDMA_READ_REQUEST
		RDMA_READ_RESPONSE_FIRST RDMA_READ_RESPONSE_MIDDLE RDMA_READ_RESPONSE_LAST RDMA_READ_RESPONSE_ONLY ACKNOWLEDGE
		ATOMIC_ACKNOWLEDGE CMP_SWAP FETCH_ADD RESYNC SEND_LAST_INVAL SEND_ONLY_INVAL - - - - FLUSH ATOMIC_WRITE - -`)
	rc := [32]string{
		3: "ImmDt", 5: "ImmDt", 6: "RETH", 9: "ImmDt", 0xa: "RETH", 0xb: "RETH ImmDt", 0xc: "RETH", 0xd: "AETH", 0xf: "AETH",
		0x10: "AETH", 0x11: "AETH", 0x12: "AETH AtomicAckETH", 0x13: "AtomicETH", 0x14: "AtomicETH", 0x16: "IETH", 0x17: "IETH",
		0x1c: "FETH RETH", 0x1d: "RETH",
	}
	operation := op & 0x1f
	response := operation >= 0x0d && operation <= 0x12
	prefix := ""
	switch op >> 5 {
	case 0: // RC
		known = names[operation] != "-" && operation != 0x15
		name = "RC_"
	case 1: // UC
		known = operation <= 0x0b
		name = "UC_"
	case 2: // RD
		known = names[operation] != "-" && operation != 0x16 && operation != 0x17
		name, prefix = "RD_", "RDETH DETH "
		if response {
			prefix = "RDETH "
		}
	case 5: // XRC
		known = names[operation] != "-" && operation != 0x15
		name = "XRC_"
		if !response {
			prefix = "XRCETH "
		}
	}
	if !known {
		return fmt.Sprintf("0x%02x", op), nil, false, false
	}
	payload = operation <= 0x0b || operation >= 0x0d && operation <= 0x10 || operation == 0x16 || operation == 0x17 || operation == 0x1d
	return name + names[operation], strings.Fields(prefix + rc[operation]), payload, true
}

var headerSize = map[string]int{
	"RDETH": 4, "DETH": 8, "RETH": 16, "AtomicETH": 28, "AETH": 4, "AtomicAckETH": 8, "ImmDt": 4, "IETH": 4, "XRCETH": 4,
	"FETH": 4, "CNP reserved": 16,
}

// TestEveryOpcode checks name, headers, their places and the payload of all
// 256 opcodes, over every encapsulation of the transport.
func TestEveryOpcode(t *testing.T) {
	for op := range 256 {
		name, headers, payload, known := headersOf(byte(op))
		o := decode.Opcode(op)
		if o.String() != name || o.Known() != known || o.MayCarryPayload() != payload {
			t.Errorf("opcode %#02x is %v, known %v, payload %v; want %s, %v, %v", op, o, o.Known(), o.MayCarryPayload(), name, known, payload)
		}
		ext := 0
		for _, h := range headers {
			ext += headerSize[h]
		}
		extBytes := make([]byte, ext)
		for i := range extBytes {
			extBytes[i] = byte(0x11 * (i%15 + 1))
		}
		if name == "CNP" {
			clear(extBytes)
		}
		tr := transport{op: byte(op), pkey: 0x8001, qp: 0xabcdef, psn: 0x123456, ext: extBytes}
		if payload || !known {
			tr.payload = []byte("payload")
		}
		for _, f := range []capture.Frame{
			frame(etherIP(udpPacket(pairV4, tr))), frame(etherIP(udpPacket(pairV6, tr))),
			frame(etherFrame(0x8915, grhPacket(tr))),
		} {
			p := decodeFrame(t, f)
			if p.ICRCStatus != decode.ICRCGood || p.Malformed() || p.Err.Code != decode.ErrNone {
				t.Fatalf("%s: ICRC %v, error %v", name, p.ICRCStatus, p.Err)
			}
			if p.Opcode != o || p.DestQP != 0xabcdef || p.PSN != 0x123456 || p.PKey != 0x8001 || int(p.PayloadLen) != len(tr.payload) {
				t.Errorf("%s: %v QP %#x PSN %#x P_Key %#x, payload %d", name, p.Opcode, p.DestQP, p.PSN, p.PKey, p.PayloadLen)
			}
			var got []string
			at := -1
			for _, l := range p.Layers() {
				if l.Kind == decode.LayerBTH {
					at = int(l.Off) + 12
					continue
				}
				if at < 0 {
					continue
				}
				if int(l.Off) != at {
					t.Errorf("%s: %v begins at %d, the header before it ends at %d", name, l.Kind, l.Off, at)
				}
				at += int(l.Len)
				if _, ext := headerSize[l.Kind.String()]; ext {
					got = append(got, l.Kind.String())
				}
			}
			if want, got := strings.Join(headers, " "), strings.Join(got, " "); got != want {
				t.Errorf("%s: headers are %q, want %q", name, got, want)
			}
			if at != len(f.Data) {
				t.Errorf("%s: layers end at %d of %d", name, at, len(f.Data))
			}
		}
	}
}

// TestHeaderFields reads each field of each extended header.
func TestHeaderFields(t *testing.T) {
	one := func(op byte, ext string) *decode.Packet {
		t.Helper()
		tr := transport{op: op, flags: 0x80 | 0x40 | 3, fecnBecn: 0xc0, pkey: 0xffff, qp: 0x11, psn: 0x22, ackReq: true, ext: unhex(ext)}
		p := decodeFrame(t, frame(etherIP(udpPacket(pairV4, tr))))
		if p.Malformed() {
			t.Fatal(p.Err)
		}
		return p
	}
	type fields map[string]any
	check := func(name string, got, want fields) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p := one(0x0b, "1122334455667788 99aabbcc 7fffffff deadbeef")
	check("WRITE Only Imm", fields{"va": p.VA, "rkey": p.RKey, "len": p.DMALen, "imm": p.ImmData, "flags": p.BTHFlags, "tver": p.TVer},
		fields{"va": uint64(0x1122334455667788), "rkey": uint32(0x99aabbcc), "len": uint32(0x7fffffff), "imm": uint32(0xdeadbeef),
			"flags": decode.Solicited | decode.MigReq | decode.FECN | decode.BECN | decode.AckReq, "tver": uint8(3)})
	p = one(0x13, "1122334455667788 99aabbcc 0102030405060708 1112131415161718")
	check("CmpSwap", fields{"va": p.VA, "rkey": p.RKey, "swap": p.SwapAdd, "cmp": p.Compare},
		fields{"va": uint64(0x1122334455667788), "rkey": uint32(0x99aabbcc), "swap": uint64(0x0102030405060708), "cmp": uint64(0x1112131415161718)})
	p = one(0x12, "1f 000102 0102030405060708")
	check("ATOMIC Acknowledge", fields{"syn": p.Syndrome, "msn": p.MSN, "orig": p.AtomicOrig},
		fields{"syn": decode.Syndrome(0x1f), "msn": uint32(0x102), "orig": uint64(0x0102030405060708)})
	p = one(0x17, "cafebabe")
	check("SEND Only Inval", fields{"key": p.InvalidKey}, fields{"key": uint32(0xcafebabe)})
	p = one(0xa4, "ff 00abcd")
	check("XRC SEND Only", fields{"srq": p.XRCSRQ}, fields{"srq": uint32(0xabcd)})
	p = one(0x44, "ff 000007 01234567 ff 000099")
	check("RD SEND Only", fields{"ee": p.EEContext, "qkey": p.QKey, "srcqp": p.SrcQP},
		fields{"ee": uint32(7), "qkey": uint32(0x01234567), "srcqp": uint32(0x99)})
	p = one(0x1c, "ffffff 13 1122334455667788 99aabbcc 00001000")
	check("FLUSH", fields{"sel": p.FlushSelect, "plt": p.FlushType, "len": p.DMALen}, fields{"sel": uint8(1), "plt": uint8(3), "len": uint32(4096)})
	p = one(0x81, "00000000000000000000000000000000")
	if p.Flags&decode.CNPBodyNotZero != 0 {
		t.Error("an empty CNP body counts as not zero")
	}
	p = one(0x81, "00000000000000000000000000000001")
	if p.Flags&decode.CNPBodyNotZero == 0 {
		t.Error("a CNP body with a bit set counts as zero")
	}
}

// TestSyndromes decodes all 256 syndromes against the tables of the
// specification.
func TestSyndromes(t *testing.T) {
	credits := []int{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768}
	rnr := []string{"655.36ms", "10µs", "20µs", "30µs", "40µs", "60µs", "80µs", "120µs", "160µs", "240µs", "320µs", "480µs", "640µs", "960µs",
		"1.28ms", "1.92ms", "2.56ms", "3.84ms", "5.12ms", "7.68ms", "10.24ms", "15.36ms", "20.48ms", "30.72ms", "40.96ms", "61.44ms",
		"81.92ms", "122.88ms", "163.84ms", "245.76ms", "327.68ms", "491.52ms"}
	naks := []string{"PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request"}
	for v := range 256 {
		s := decode.Syndrome(v)
		low := v & 0x1f
		want := fmt.Sprintf("reserved syndrome 0x%02x", v)
		switch v >> 5 {
		case 0:
			want = "ACK"
			if low < 31 {
				want = fmt.Sprintf("ACK, %d credits", credits[low])
			}
		case 1:
			want = "RNR NAK, wait " + rnr[low]
		case 3:
			want = fmt.Sprintf("NAK, reserved code %d", low)
			if low < len(naks) {
				want = "NAK, " + naks[low]
			}
		}
		if got := s.String(); got != want {
			t.Errorf("syndrome %#02x is %q, want %q", v, got, want)
		}
	}
}

// TestVectors are packets captured or published by others, with the ICRC that
// was on the wire.
func TestVectors(t *testing.T) {
	const cnp = `e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118
		000000000000000000000000000000000000000082fd002a`
	p := decodeFrame(t, frame(unhex(cnp)))
	if p.Opcode != decode.OpCNP || p.BTHFlags != decode.BECN || p.ICRCStatus != decode.ICRCGood || p.ICRC != 0x82fd002a ||
		p.DestQP != 0x118 || p.SrcPort != 0 || p.DSCP() != 48 || p.ECN() != 2 || p.PayloadLen != 0 || p.Flags&decode.CNPBodyNotZero != 0 {
		t.Errorf("the CNP of a ConnectX-4 Lx decodes to %s, ICRC %v", decode.AppendInfo(nil, p), p.ICRCStatus)
	}
	// A UC SEND Only of 18 bytes, ICRC 78f353f3, from 192.168.0.7 to itself.
	uc := pairV4
	uc.src, uc.dst, uc.sport, uc.tos, uc.id = "192.168.0.7", "192.168.0.7", 49152, 1, 1144
	b := udpPacket(uc, transport{op: 0x24, flags: 0x40, pkey: 0xffff, qp: 211, psn: 13571856,
		payload: unhex("4630818be28935d90e9a95505401be885e50")})
	if p = decodeFrame(t, frame(etherIP(b))); p.ICRCStatus != decode.ICRCGood || p.ICRC != 0x78f353f3 {
		t.Errorf("the UC vector's ICRC is %#x, %v", p.ICRC, p.ICRCStatus)
	}
	// One bit of the CNP flipped is told, with the value that would be right.
	damaged := unhex(cnp)
	damaged[len(damaged)-10] ^= 1
	if p = decodeFrame(t, frame(damaged)); p.ICRCStatus != decode.ICRCBad || p.ICRCExpected == p.ICRC {
		t.Errorf("a damaged CNP is %v", p.ICRCStatus)
	}
	damaged = unhex(cnp)
	damaged[15], damaged[22] = 0, 1       // TOS and TTL change on the way
	damaged[24], damaged[25] = 0x12, 0x34 // and so the header checksum
	damaged[46] = 0xff                    // FECN, BECN and reserved bits
	if p = decodeFrame(t, frame(damaged)); p.ICRCStatus != decode.ICRCGood {
		t.Errorf("fields that change on the way make the ICRC %v", p.ICRCStatus)
	}
}

// TestPadAndTrailers puts payloads of every remainder before the ICRC, and
// padding, an FCS and longer trailers behind it.
func TestPadAndTrailers(t *testing.T) {
	for n := range 9 {
		for trailer := range 30 {
			for name, b := range map[string][]byte{
				"v2 over IPv4": etherIP(udpPacket(pairV4, writeMiddle(n))),
				"v2 over IPv6": etherIP(udpPacket(pairV6, writeMiddle(n))),
				"v1":           etherFrame(0x8915, grhPacket(writeMiddle(n))),
			} {
				p := decodeFrame(t, frame(append(b, make([]byte, trailer)...)))
				if p.ICRCStatus != decode.ICRCGood || int(p.PayloadLen) != n || int(p.PadCount) != -n&3 {
					t.Fatalf("%s, %d bytes, trailer %d: ICRC %v, payload %d, pad %d", name, n, trailer, p.ICRCStatus, p.PayloadLen, p.PadCount)
				}
			}
		}
	}
}

// TestSourcePorts checks that only the destination port decides.
func TestSourcePorts(t *testing.T) {
	for _, port := range []uint16{0, 53, 69, 123, 520, 4789, 4791, 6081, 8472} {
		o := pairV4
		o.sport = port
		if p := decodeFrame(t, frame(etherIP(udpPacket(o, writeMiddle(8))))); p.Kind != decode.KindRoCEv2 {
			t.Errorf("from port %d: %v", port, p.Kind)
		}
		o.sport, o.dport = 4791, port
		if port == 4791 {
			continue
		}
		if p := decodeFrame(t, frame(etherIP(udpPacket(o, writeMiddle(8))))); p.RoCE() {
			t.Errorf("to port %d: %v", port, p.Kind)
		}
		f := frame(etherIP(udpPacket(o, writeMiddle(8))))
		var p decode.Packet
		d := decode.New(decode.Config{RoCEPorts: []uint16{port}})
		d.Decode(&f, &p)
		if d.VerifyICRC(&p); p.Kind != decode.KindRoCEv2 || p.ICRCStatus != decode.ICRCGood {
			t.Errorf("to port %d, which is set as RoCE: %v", port, p.Kind)
		}
	}
}

// TestUnverifiable: what can't be checked is never called bad.
func TestUnverifiable(t *testing.T) {
	options := udpPacket(pairV4, writeMiddle(8))
	options = cat([]byte{0x46}, options[1:20], []byte{1, 1, 1, 1}, options[20:])
	binary.BigEndian.PutUint16(options[2:], uint16(len(options)))

	fragment := udpPacket(pairV4, writeMiddle(64))
	fragment = fragment[:len(fragment)-32]
	binary.BigEndian.PutUint16(fragment[2:], uint16(len(fragment)))
	fragment[6] = 0x20 // more fragments

	v6 := udpPacket(pairV6, writeMiddle(8))
	hopByHop := cat(v6[:40], []byte{17, 0, 1, 4, 0, 0, 0, 0}, v6[40:])
	hopByHop[6] = 0
	binary.BigEndian.PutUint16(hopByHop[4:], uint16(len(hopByHop)-40))

	for _, c := range []struct {
		name   string
		b      []byte
		reason decode.ICRCReason
	}{
		{"IPv4 options", options, decode.ICRCReasonOptions},
		{"first fragment", fragment, decode.ICRCReasonFragment},
		{"IPv6 extension header", hopByHop, decode.ICRCReasonOptions},
	} {
		p := decodeFrame(t, frame(etherIP(c.b)))
		if p.Kind != decode.KindRoCEv2 || p.ICRCStatus != decode.ICRCUnverifiable || p.ICRCReason != c.reason || p.Malformed() {
			t.Errorf("%s: %v, ICRC %v %v, %v", c.name, p.Kind, p.ICRCStatus, p.ICRCReason, p.Err)
		}
		if p.Opcode != 0x07 || p.PSN != 12060459 {
			t.Errorf("%s: %v PSN %d", c.name, p.Opcode, p.PSN)
		}
	}
	// The payload of a first fragment is that of the whole datagram.
	if p := decodeFrame(t, frame(etherIP(fragment))); p.PayloadLen != 64 {
		t.Errorf("payload of a first fragment: %d", p.PayloadLen)
	}
	fragment[6], fragment[7] = 0, 4
	if p := decodeFrame(t, frame(etherIP(fragment))); p.Kind != decode.KindFragment {
		t.Errorf("a later fragment is %v", p.Kind)
	}
}

// TestContradictions: lengths that can't be true make a packet malformed, and
// say where.
func TestContradictions(t *testing.T) {
	edit := func(b []byte, at int, v ...byte) []byte {
		b = append([]byte(nil), b...)
		copy(b[at:], v)
		return b
	}
	v4 := etherIP(udpPacket(pairV4, writeMiddle(8)))
	v1 := etherFrame(0x8915, grhPacket(writeMiddle(8)))
	tiny := udpOver(4791, make([]byte, 15))
	ack := etherIP(udpPacket(pairV4, transport{op: 0x11, ext: []byte{0, 0, 0, 1}}))
	for _, c := range []struct {
		name string
		b    []byte
		kind decode.Kind
		want string
	}{
		{"IHL below 5", edit(v4, 14, 0x44), decode.KindOther, "IPv4 at byte 14: length field says 16, at least 20 must be"},
		{"version 5", edit(v4, 14, 0x55), decode.KindOther, "IPv4 at byte 14: version 5, expected 4"},
		{"total length below IHL", edit(v4, 16, 0, 10), decode.KindOther, "IPv4 at byte 14: length field says 10, at least 20 must be"},
		{"total length flipped", edit(v4, 16, 0x40), decode.KindRoCEv2, "IPv4 at byte 14: length 16436 goes beyond the frame's 52 bytes, and the header checksum is wrong"},
		{"UDP length below 8", edit(v4, 38, 0, 7), decode.KindRoCEv2, "UDP at byte 34: length field says 7, at least 8 must be"},
		{"UDP length beyond IP", edit(v4, 38, 1, 0), decode.KindRoCEv2, "UDP at byte 34: length field says 256, IP leaves 32"},
		{"no room for a BTH", etherIP(tiny), decode.KindUDP, "BTH at byte 42: needs 16 bytes, 15 left"},
		{"GRH version", edit(v1, 14, 0x40), decode.KindOther, "GRH at byte 14: version 4, expected 6"},
		{"pad beyond payload", edit(ack, 43, 0x30), decode.KindRoCEv2, "BTH at byte 58: pad count 3, but 0 bytes are left"},
		{"no room for the RETH", edit(ack, 42, 0x0c), decode.KindRoCEv2, "RETH at byte 54: needs 16 bytes, 4 left"},
	} {
		p := decodeFrame(t, frame(c.b))
		if !p.Malformed() || p.Kind != c.kind || p.Err.Error() != c.want {
			t.Errorf("%s: malformed %v, %v, %q; want %v, %q", c.name, p.Malformed(), p.Kind, p.Err.Error(), c.kind, c.want)
		}
	}
}

// TestMirrorCut: an IP length beyond the frame's end is a packet cut on its way
// to the capture, when nothing else is wrong with it.
func TestMirrorCut(t *testing.T) {
	whole := etherIP(udpPacket(pairV4, writeMiddle(1024)))
	p := decodeFrame(t, frame(whole[:128]))
	if p.Flags&decode.MirrorCut == 0 || p.Malformed() || p.PayloadLen != 1024 || p.ICRCStatus != decode.ICRCUnverifiable {
		t.Errorf("cut before the capture: flags %#x, %v, payload %d, ICRC %v", p.Flags, p.Err, p.PayloadLen, p.ICRCStatus)
	}
}

// TestReuse decodes into a packet that held something else, and gets what a
// fresh one gets.
func TestReuse(t *testing.T) {
	frames := []capture.Frame{
		frame(etherIP(udpPacket(pairV4, writeMiddle(8)))),
		frame(etherIP(udpPacket(pairV6, transport{op: 0x64, ext: make([]byte, 8), qp: 1, payload: make([]byte, 256)}))),
		frame(etherFrame(0x8808, unhex("0101 00ff 0001 0002 0003 0004 0005 0006 0007 0008"))),
		frame(etherFrame(0x0806, make([]byte, 28))),
		frame(etherIP(ipOver(layers.IPProtocolGRE, cat(unhex("1000 88be 00000007 1064 0405 00000000"), etherFrame(0x8915, grhPacket(writeMiddle(3))))))),
		frame(nil),
		linkFrame(capture.LinkType(9999), []byte{1, 2, 3}),
	}
	d := decode.New(decode.DefaultConfig())
	var dirty decode.Packet
	for round := range 2 {
		for i := range frames {
			f := frames[(i*3+round)%len(frames)]
			fresh := decodeFrame(t, f)
			d.Decode(&f, &dirty)
			d.VerifyICRC(&dirty)
			if a, b := snapshot(fresh), snapshot(&dirty); a != b {
				t.Errorf("frame %d: fresh and reused packets differ:\n%s\n%s", i, a, b)
			}
		}
	}
}

// snapshot is all that a packet says, as text.
func snapshot(p *decode.Packet) string {
	q := *p
	q.Frame = nil
	var list []string
	for _, l := range p.Layers() {
		list = append(list, fmt.Sprint(l))
	}
	return fmt.Sprintf("%s %+v %v", decode.AppendInfo(nil, p), exported(&q), list)
}

// TestNoAllocation decodes and checks without allocating.
func TestNoAllocation(t *testing.T) {
	frames := []capture.Frame{
		frame(etherIP(udpPacket(pairV4, writeMiddle(1024)))), frame(etherIP(udpPacket(pairV6, writeMiddle(4096)))),
		frame(etherFrame(0x8915, grhPacket(writeMiddle(3)))), frame(etherIP(ipOver(layers.IPProtocolTCP, make([]byte, 60)))),
		frame(udpOver(4789, nil)), frame(nil),
	}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	if n := testing.AllocsPerRun(100, func() {
		for i := range frames {
			d.Decode(&frames[i], &p)
			d.VerifyICRC(&p)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d packets", n, len(frames))
	}
}
