package anonymize_test

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func frameOf(link capture.LinkType, b []byte) *capture.Frame {
	return &capture.Frame{Data: b, OrigLen: uint32(len(b)), Link: link, Number: 1, FCSLen: -1}
}

// finished puts right CRCs into a packet that has room for them.
func finished(t *testing.T, link capture.LinkType, b []byte) []byte {
	t.Helper()
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	for range 2 { // the VCRC covers the ICRC
		d.Decode(frameOf(link, b), &p)
		d.VerifyICRC(&p)
		if l, ok := p.Layer(decode.LayerICRC); ok && p.ICRCStatus == decode.ICRCBad {
			binary.BigEndian.PutUint32(b[l.Off:], p.ICRCExpected)
		}
		if l, ok := p.Layer(decode.LayerVCRC); ok && p.VCRCStatus == decode.ICRCBad {
			binary.BigEndian.PutUint16(b[l.Off:], p.VCRCExpected)
		}
	}
	return b
}

// TestNativeInfiniBand: LIDs, GIDs, both CRCs.
func TestNativeInfiniBand(t *testing.T) {
	a := newAnonymizer(t)
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	local := unhex("f002 0007 000b 0005 04 00 ffff 00 00003d 00 000007 4142434445464748494a4b4c 00000000 0000") // 12 bytes of payload
	binary.BigEndian.PutUint16(local[4:], uint16((len(local)-2)/4))
	global := unhex("f003 0007 0000 0005 60000000 001c 1b 40 fe80000000000000 00114bfffe0a0b0c fe80000000000000 00114bfffe0a0b0d 04 00 ffff 00 00003d 00 000007 4142434445464748494a4b4c 00000000 0000")
	binary.BigEndian.PutUint16(global[4:], uint16((len(global)-2)/4))
	for _, b := range [][]byte{local, global} {
		good := finished(t, capture.LinkInfiniBand, b)
		checkSame(t, "right", d, frameOf(capture.LinkInfiniBand, good), a.Frame(frameOf(capture.LinkInfiniBand, good)))
		d.Decode(frameOf(capture.LinkInfiniBand, good), &p)
		d.VerifyICRC(&p)
		if p.Kind != decode.KindIB || p.ICRCStatus != decode.ICRCGood || p.VCRCStatus != decode.ICRCGood {
			t.Fatalf("the packet is not what it should be: %v, %v, %v", p.Kind, p.ICRCStatus, p.VCRCStatus)
		}
		out := a.Frame(frameOf(capture.LinkInfiniBand, good))
		if binary.BigEndian.Uint16(out[2:]) != a.LID(7) || binary.BigEndian.Uint16(out[6:]) != a.LID(5) || a.LID(7) == 7 {
			t.Errorf("LIDs are %x", out[:8])
		}
		if strings.Contains(string(out), "ABCD") {
			t.Errorf("payload is in %x", out)
		}
		bad := append([]byte(nil), good...)
		bad[len(bad)-1] ^= 1
		checkSame(t, "VCRC wrong", d, frameOf(capture.LinkInfiniBand, bad), a.Frame(frameOf(capture.LinkInfiniBand, bad)))
		bad[len(bad)-3] ^= 1
		checkSame(t, "both wrong", d, frameOf(capture.LinkInfiniBand, bad), a.Frame(frameOf(capture.LinkInfiniBand, bad)))
	}
}

// TestOtherPort: RoCEv2 on another port remains so, whether its ICRC is right or
// not, and its payload goes.
func TestOtherPort(t *testing.T) {
	a := newAnonymizer(t)
	plain, other := decode.New(decode.DefaultConfig()), decode.New(decode.Config{RoCEPorts: []uint16{1021}})
	var p decode.Packet
	n := 0
	frametest.Each(t, capturetest.Get(t, "rc_write_1024").Path, func(f *capture.Frame) {
		plain.Decode(f, &p)
		udp, ok := p.Layer(decode.LayerUDP)
		if !ok || !p.RoCE() || n == 50 {
			return
		}
		n++
		moved := frameOf(f.Link, append([]byte(nil), f.Data...))
		binary.BigEndian.PutUint16(moved.Data[udp.Off+2:], 1021)
		other.Decode(moved, &p)
		other.VerifyICRC(&p)
		icrc, _ := p.Layer(decode.LayerICRC)
		for _, v := range []uint32{p.ICRC, p.ICRCExpected} {
			binary.BigEndian.PutUint32(moved.Data[icrc.Off:], v)
			plain.Decode(moved, &p)
			likeness := plain.ProbeRoCE(&p)
			out := a.Frame(moved)
			checkSame(t, "moved", plain, moved, out)
			plain.Decode(frameOf(f.Link, out), &p)
			if got := plain.ProbeRoCE(&p); got != likeness || got == decode.NotRoCE {
				t.Fatalf("frame %d: likeness %d became %d", f.Number, likeness, got)
			}
			other.Decode(frameOf(f.Link, out), &p)
			if l, ok := p.Layer(decode.LayerPayload); ok && strings.Trim(string(p.Bytes(l)), "\x00") != "" {
				t.Fatalf("frame %d: payload is left", f.Number)
			}
		}
	})
	if n != 50 {
		t.Errorf("%d frames", n)
	}
}

// TestWrongICRC: what stands for a wrong ICRC says no more than whether two are
// the same. That it was not computed stays to be seen.
func TestWrongICRC(t *testing.T) {
	a := newAnonymizer(t)
	var first *capture.Frame
	frametest.Each(t, capturetest.Get(t, "rc_write_1024").Path, func(f *capture.Frame) {
		if len(f.Data) > 1000 && first == nil {
			first = frameOf(f.Link, append([]byte(nil), f.Data...))
		}
	})
	icrc := func(v uint32) uint32 {
		binary.BigEndian.PutUint32(first.Data[len(first.Data)-4:], v)
		out := a.Frame(first)
		return binary.BigEndian.Uint32(out[len(out)-4:])
	}
	for _, v := range []uint32{0, 0xffffffff} {
		if got := icrc(v); got != v {
			t.Errorf("%#x becomes %#x", v, got)
		}
	}
	x, y := icrc(0xdeadbeef), icrc(0xdeadbeee)
	first.Data[len(first.Data)-20] ^= 1 // other payload
	if x == 0xdeadbeef || x == y || icrc(0xdeadbeef) != x {
		t.Errorf("0xdeadbeef becomes %#x and %#x, 0xdeadbeee %#x", x, icrc(0xdeadbeef), y)
	}
}

// TestForms: what becomes of headers that the captures do not have, byte by
// byte. Addresses stand as names in braces.
func TestForms(t *testing.T) {
	a := newAnonymizer(t)
	hexIP := func(s string) string { return hex.EncodeToString(netip.MustParseAddr(s).AsSlice()) }
	newIP := func(s string) string { return hex.EncodeToString(a.IP(netip.MustParseAddr(s)).AsSlice()) }
	const macs = "52540000000252540000000"
	newMAC := func(last byte) string {
		m := a.MAC(decode.MAC{0x52, 0x54, 0, 0, 0, last})
		return hex.EncodeToString(m[:])
	}
	ether := func(et string) (was, is string) { return macs + "1" + et, newMAC(2) + newMAC(1) + et }
	for _, c := range []struct{ name, et, was, is string }{
		{"unknown protocol", "88cc", "0207040102030405060404646576", strings.Repeat("00", 14)},
		{"ARP", "0806", "0001080006040001" + macs[:12] + hexIP("10.1.2.3") + "000000000000" + hexIP("10.1.2.4") + "6c656674",
			"0001080006040001" + newMAC(2) + newIP("10.1.2.3") + "000000000000" + newIP("10.1.2.4") + "00000000"},
		{"PAUSE", "8808", "0001ffff" + "6c656674", "0001ffff" + "00000000"},
		{"PFC", "8808", "01010008" + strings.Repeat("0011", 8) + "6c656674", "01010008" + strings.Repeat("0011", 8) + "00000000"},
		{"other MAC control", "8808", "0002" + strings.Repeat("41", 30), "0002" + strings.Repeat("00", 30)},
		{"LLC", "0007", "424203" + "41424344", "424203" + "00000000"},
		{"ARP of InfiniBand", "0806", "0020080014040001" + strings.Repeat("41", 48), "0020080014040001" + strings.Repeat("00", 48)},
		{"IPv4 options", "0800", "4600001c 0001 0000 40 fd 0000" + hexIP("10.1.2.3") + hexIP("10.1.2.4") + "07040a01" + "41424344",
			"4600001c 0001 0000 40 fd 0000" + newIP("10.1.2.3") + newIP("10.1.2.4") + "00000000" + "00000000"},
		{"TCP options", "0800", "4500002c 0001 0000 40 06 0000" + hexIP("10.1.2.3") + hexIP("10.1.2.4") + "0050c000 00000001 00000002 6010 0100 0000 0003 080a1122" + "",
			"4500002c 0001 0000 40 06 0000" + newIP("10.1.2.3") + newIP("10.1.2.4") + "0050c000 00000001 00000002 6010 0100 SUM 0003 00000000"},
		{"IPv6 routing header", "86dd", "60000000 0018 2b 40" + hexIP("fd00::1") + hexIP("fd00::2") + "3b 02 00 01 00000000" + hexIP("fd00::3"),
			"60000000 0018 2b 40" + newIP("fd00::1") + newIP("fd00::2") + "3b 02 00 00 00000000" + strings.Repeat("00", 16)},
		{"prefix in a router's advertisement", "86dd",
			"60000000 0030 3a ff" + hexIP("fe80::1") + hexIP("ff02::1") + "8600 0000 40000708 00000001 00000002 0304 40c0 00000e10 00000e10 00000000" + hexIP("fd00:9::"),
			"60000000 0030 3a ff" + newIP("fe80::1") + hexIP("ff02::1") + "8600 SUM 40000708 00000001 00000002 0304 40c0 00000e10 00000e10 00000000" + newIP("fd00:9::")},
		{"redirect", "0800", "45000038 0001 0000 40 01 0000" + hexIP("10.1.2.3") + hexIP("10.1.2.4") + "0501 0000" + hexIP("10.1.2.9") + "4500001c 0002 0000 3f 11 0000" + hexIP("10.1.2.4") + hexIP("10.1.3.4") + "c000 0035 0008 0000",
			"45000038 0001 0000 40 01 0000" + newIP("10.1.2.3") + newIP("10.1.2.4") + "0501 SUM" + newIP("10.1.2.9") + "4500001c 0002 0000 3f 11 0000" + newIP("10.1.2.4") + newIP("10.1.3.4") + "c000 0035 0008 0000"},
		{"GRE with a checksum", "0800", "45000020 0001 0000 40 2f 0000" + hexIP("10.1.2.3") + hexIP("10.1.2.4") + "8000 88b5 1234 0000 41424344",
			"45000020 0001 0000 40 2f 0000" + newIP("10.1.2.3") + newIP("10.1.2.4") + "8000 88b5 SUM 0000 00000000"},
	} {
		was, is := ether(c.et)
		out := hex.EncodeToString(a.Frame(frameOf(capture.LinkEthernet, unhex(was+c.was))))
		want := strings.ReplaceAll(is+c.is, " ", "")
		if i := strings.Index(want, "SUM"); i >= 0 { // tshark judges those of the captures
			want, out = strings.Replace(want, "SUM", "", 1), out[:i]+out[i+4:]
		}
		if out != want {
			t.Errorf("%s:\n is %s\nnot %s", c.name, out, want)
		}
	}
}

// TestGroups: the MAC address of a group is made of the IP address as it is
// then (RFC 1112, RFC 2464).
func TestGroups(t *testing.T) {
	a := newAnonymizer(t)
	four := netip.MustParseAddr("239.129.2.3")
	out := a.Frame(frameOf(capture.LinkEthernet, unhex("01005e010203 525400000001 0800 45000014 0001 0000 40 fd 0000 0a010203 ef810203")))
	new4 := a.IP(four).As4()
	if got := [6]byte(out); got != [6]byte{1, 0, 0x5e, new4[1] & 0x7f, new4[2], new4[3]} || [4]byte(out[30:]) != new4 {
		t.Errorf("%x for %v", got, a.IP(four))
	}
	six := netip.MustParseAddr("ff15::1234:5678")
	out = a.Frame(frameOf(capture.LinkEthernet, unhex("333312345678 525400000001 86dd 60000000 0000 3b 40"+"fd000000000000000000000000000001"+"ff150000000000000000000012345678")))
	new6 := a.IP(six).As16()
	if got := string(out[2:6]); got != string(new6[12:]) || new6 == six.As16() {
		t.Errorf("%x for %v", out[:6], a.IP(six))
	}
}

// FuzzFrame rewrites any bytes: as many come out, which decode to the same
// packet.
func FuzzFrame(f *testing.F) {
	seen := map[[3]uint32]bool{}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	for _, c := range capturetest.Committed(f) {
		frametest.Each(f, c.Path, func(fr *capture.Frame) {
			d.Decode(fr, &p)
			kind := [3]uint32{uint32(fr.Link), uint32(p.Kind)<<16 | uint32(p.Opcode)<<8 | uint32(p.MAD.Attribute), uint32(p.Encap)}
			if !seen[kind] && len(fr.Data) <= 400 {
				seen[kind] = true
				f.Add(uint16(fr.Link), uint16(0), fr.Data)
			}
		})
	}
	for _, l := range []capture.LinkType{capture.LinkNull, capture.LinkRaw, capture.LinkLoop, capture.LinkERF, capture.LinkIPoIB, capture.LinkInfiniBand} {
		f.Add(uint16(l), uint16(5), make([]byte, 100))
	}
	a, shorter := newAnonymizer(f), newAnonymizer(f, cut, mapQPNs)
	f.Fuzz(func(t *testing.T, link, missing uint16, data []byte) {
		fr := capture.Frame{Data: data, OrigLen: uint32(len(data)) + uint32(missing), Link: capture.LinkType(link), Number: 1, FCSLen: -1}
		if n := len(shorter.Frame(&fr)); n > len(data) {
			t.Fatalf("%d bytes became %d", len(data), n)
		}
		out := a.Frame(&fr)
		if len(out) != len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(out))
		}
		d.Decode(&fr, &p)
		// Headers that contradict one another, and label stacks, behind which
		// nothing says what comes, may be understood otherwise.
		if !p.Malformed() && p.Encap&decode.EncapMPLS == 0 {
			checkSame(t, "fuzz", d, &fr, out)
		}
	})
}
