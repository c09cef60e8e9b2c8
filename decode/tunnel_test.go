package decode_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// tagged puts bytes between the MAC addresses and the ethertype of a frame.
func tagged(f []byte, tag []byte) []byte { return cat(f[:12], tag, f[12:]) }

func gre(head string, inner []byte) []byte {
	return etherIP(ipOver(layers.IPProtocolGRE, cat(unhex(head), inner)))
}

// TestEncapsulations wraps one packet in everything there is, and gets the
// same packet each time, counted once.
func TestEncapsulations(t *testing.T) {
	for name, bare := range map[string][]byte{
		"v2 over IPv4": etherIP(udpPacket(pairV4, writeMiddle(100))),
		"v2 over IPv6": etherIP(udpPacket(pairV6, writeMiddle(100))),
		"v1":           etherFrame(0x8915, grhPacket(writeMiddle(100))),
		"UD with MAD":  etherIP(udpPacket(pairV4, transport{op: 0x64, qp: 1, ext: unhex("80010000 00000001"), payload: make([]byte, 256)})),
	} {
		want := decodeFrame(t, frame(bare))
		if want.ICRCStatus != decode.ICRCGood || want.Encap != 0 {
			t.Fatalf("%s: ICRC %v, encapsulation %v", name, want.ICRCStatus, want.Encap)
		}
		ip := bare[14:]
		isIP := want.Kind == decode.KindRoCEv2
		et := layers.EthernetType(binary.BigEndian.Uint16(bare[12:]))
		sll := cat(unhex("0000 0001 0006 525400000001 0000"), bare[12:])
		sll2 := cat(bare[12:14], unhex("0000 00000002 0001 00 06 525400000001 0000"), ip)
		erf := func(ext bool) []byte {
			h := unhex("0011223344556677 02 04 0000 0000 0000")
			if ext {
				h[8] |= 0x80
				h = append(h, unhex("8300000000000000 0400000000000000")...)
			}
			h = append(h, 0, 0) // pad
			binary.BigEndian.PutUint16(h[14:], uint16(len(bare)))
			binary.BigEndian.PutUint16(h[10:], uint16(len(h)+len(bare)+6))
			return cat(h, bare, make([]byte, 6)) // records are padded
		}
		mplsIP := []byte(nil)
		if isIP {
			mplsIP = etherFrame(0x8847, cat(unhex("00010040 00011140"), ip))
		}
		wrapped := []struct {
			name  string
			link  capture.LinkType
			b     []byte
			encap decode.Encap
		}{
			{"802.1Q", 1, tagged(bare, unhex("8100 6064")), decode.EncapVLAN},
			{"802.1ad", 1, tagged(bare, unhex("88a8 6064")), decode.EncapVLAN},
			{"0x9100", 1, tagged(bare, unhex("9100 6064")), decode.EncapVLAN},
			{"0x9200", 1, tagged(bare, unhex("9200 6064")), decode.EncapVLAN},
			{"QinQ", 1, tagged(bare, unhex("88a8 6064 8100 0007")), decode.EncapQinQ},
			{"four tags", 1, tagged(bare, unhex("88a8 6064 8100 0007 9100 0001 8100 0002")), decode.EncapQinQ},
			{"VN-tag", 1, tagged(bare, unhex("8926 40010002")), decode.EncapVNTag},
			{"TTag", 1, tagged(bare, unhex("8988 010203040506")), decode.EncapTTag},
			{"CMD", 1, tagged(bare, unhex("8909 0101 0001 0010")), decode.EncapCMD},
			{"AVSP 64 bit", 1, tagged(bare, unhex("d28b 0001 1100 0102030405060708")), decode.EncapAVSP},
			{"AVSP 48 bit", 1, tagged(bare, unhex("d28b 0001 0200 010203040506")), decode.EncapAVSP},
			{"VLAN and CMD", 1, tagged(bare, unhex("8100 0001 8909 0101 0001 0010")), decode.EncapVLAN | decode.EncapCMD},
			{"SNAP", 1, cat(bare[:12], unhex("0050 aaaa03000000"), bare[12:]), 0},
			{"MPLS with Ethernet", 1, etherFrame(0x8847, cat(unhex("00010140"), bare)), decode.EncapMPLS},
			{"MPLS with control word", 1, etherFrame(0x8847, cat(unhex("00010140 00000000"), bare)), decode.EncapMPLS},
			{"MPLS with IP", 1, mplsIP, decode.EncapMPLS},
			{"SLL", capture.LinkSLL, sll, 0},
			{"SLL2", capture.LinkSLL2, sll2, 0},
			{"ERF", capture.LinkERF, erf(false), 0},
			{"ERF with extension headers", capture.LinkERF, erf(true), 0},
			{"GRE with Ethernet", 1, gre("0000 6558", bare), decode.EncapGRE},
			{"GRE with checksum", 1, gre("8000 6558 12340000", bare), decode.EncapGRE},
			{"NVGRE", 1, gre("2000 6558 00109201", bare), decode.EncapGRE | decode.EncapNVGRE},
			{"GRE over IPv6", 1, etherIP(ip6Over(layers.IPProtocolGRE, cat(unhex("0000 6558"), bare))), decode.EncapGRE},
			{"GRE with the packet", 1, gre("0000"+fmt.Sprintf("%04x", uint16(et)), ip), decode.EncapGRE},
			{"ERSPAN I", 1, gre("0000 88be", bare), decode.EncapERSPAN1},
			{"ERSPAN II", 1, gre("1000 88be 00000007 1064 a01e 0000007b", bare), decode.EncapERSPAN2},
			{"ERSPAN II and VLAN", 1, gre("1000 88be 00000007 1064 a01e 0000007b", tagged(bare, unhex("8100 6064"))), decode.EncapERSPAN2 | decode.EncapVLAN},
			{"ERSPAN II and TTag", 1, gre("1000 88be 00000007 1064 a01e 0000007b", tagged(bare, unhex("8988 010203040506"))), decode.EncapERSPAN2 | decode.EncapTTag},
			{"ERSPAN III", 1, gre("1000 22eb 00000007 2064 a01e 11223344 0000 0000", bare), decode.EncapERSPAN3},
			{"ERSPAN III with sub-header", 1, gre("1000 22eb 00000007 2064 a01e 11223344 0000 0001 0c00000000000000", bare), decode.EncapERSPAN3},
			{"VXLAN", 1, etherIP(udpOver(4789, cat(unhex("08000000 00109200"), bare))), decode.EncapVXLAN},
			{"VXLAN, Linux port", 1, etherIP(udpOver(8472, cat(unhex("08000000 00109200"), bare))), decode.EncapVXLAN},
			{"VXLAN-GPE", 1, etherIP(udpOver(4790, cat(unhex("0c000003 00109200"), bare))), decode.EncapVXLAN},
			{"Geneve", 1, etherIP(udpOver(6081, cat(unhex("00006558 00109200"), bare))), decode.EncapGeneve},
			{"Geneve with options", 1, etherIP(udpOver(6081, cat(unhex("02406558 00109200 0102030405060708"), bare))), decode.EncapGeneve},
			{"ERSPAN around VXLAN", 1, gre("1000 88be 00000007 1064 a01e 0000007b", etherIP(udpOver(4789, cat(unhex("08000000 00109200"), bare)))), decode.EncapERSPAN2 | decode.EncapVXLAN},
			{"ERSPAN in ERSPAN", 1, gre("1000 88be 00000007 1064 a01e 0000007b", gre("1000 22eb 00000007 2064 a01e 11223344 0000 0000", bare)), decode.EncapERSPAN2 | decode.EncapERSPAN3},
		}
		if isIP {
			proto := layers.IPProtocolIPv4
			if ip[0]>>4 == 6 {
				proto = layers.IPProtocolIPv6
			}
			wrapped = append(wrapped, []struct {
				name  string
				link  capture.LinkType
				b     []byte
				encap decode.Encap
			}{
				{"raw IP", capture.LinkRaw, ip, 0},
				{"null", capture.LinkNull, cat(unhex("1e000000"), ip), 0},
				{"loop", capture.LinkLoop, cat(unhex("00000002"), ip), 0},
				{"IP in IP", 1, etherIP(ipOver(proto, ip)), decode.EncapIPIP},
				{"IP in IPv6", 1, etherIP(ip6Over(proto, ip)), decode.EncapIPIP},
				{"ERSPAN III with IP", 1, gre("1000 22eb 00000007 2064 a01e 11223344 0000 0800", ip), decode.EncapERSPAN3},
				{"VXLAN-GPE with IP", 1, etherIP(udpOver(4790, cat(unhex("0c000001 00109200"), ip))), decode.EncapVXLAN},
			}...)
		}
		for _, w := range wrapped {
			if w.b == nil {
				continue
			}
			for _, trailer := range []int{0, 4, 19} {
				p := decodeFrame(t, linkFrame(w.link, append(append([]byte(nil), w.b...), make([]byte, trailer)...)))
				if p.Encap != w.encap || p.Malformed() {
					t.Errorf("%s in %s: encapsulation %#x, want %#x; %v", name, w.name, p.Encap, w.encap, p.Err)
				}
				if p.Kind != want.Kind || p.ICRCStatus != decode.ICRCGood || p.ICRC != want.ICRC || p.Has != want.Has ||
					p.Opcode != want.Opcode || p.DestQP != want.DestQP || p.PSN != want.PSN || p.Src != want.Src || p.Dst != want.Dst ||
					p.PayloadLen != want.PayloadLen || p.TOS != want.TOS || p.IPID != want.IPID {
					t.Errorf("%s in %s, trailer %d: %s, ICRC %v", name, w.name, trailer, decode.AppendInfo(nil, p), p.ICRCStatus)
				}
			}
		}
	}
}

// TestTunnelFields reads what tunnels and tags say of the packet inside.
func TestTunnelFields(t *testing.T) {
	bare := etherIP(udpPacket(pairV4, writeMiddle(8)))
	p := decodeFrame(t, frame(tagged(bare, unhex("88a8 0001 8100 afff"))))
	if p.Flags&decode.Tagged == 0 || p.VLAN != 0xafff {
		t.Errorf("VLAN %#x", p.VLAN)
	}
	p = decodeFrame(t, frame(etherIP(udpOver(4789, cat(unhex("08000000 00109200"), bare)))))
	if p.VNI != 4242 {
		t.Errorf("VNI %d", p.VNI)
	}
	p = decodeFrame(t, frame(gre("1000 88be 00000007 1fff bc05 0000007b", bare)))
	src, dst := decode.Addr{Lo: 0xffff_c0000201}, decode.Addr{Lo: 0xffff_c0000202} // 192.0.2.1 and 2, around the mirrored frame
	want := decode.ERSPAN{
		Src: src, Dst: dst, AddrKind: decode.AddrIPv4,
		Version: 2, VLAN: 4095, COS: 5, Encap: 3, Truncated: true, Session: 5, HasSeq: true, Sequence: 7, Index: 123,
	}
	if p.ERSPAN != want || p.Flags&decode.MirrorCut == 0 {
		t.Errorf("ERSPAN II: %+v, want %+v", p.ERSPAN, want)
	}
	p = decodeFrame(t, frame(gre("1000 22eb fffffffe 2080 0001 11223344 0102 01f4 ", bare)))
	want = decode.ERSPAN{
		Src: src, Dst: dst, AddrKind: decode.AddrIPv4,
		Version: 3, VLAN: 128, Session: 1, HasSeq: true, Sequence: 0xfffffffe, Timestamp: 0x11223344, SGT: 0x102, Granularity: 2, HardwareID: 0x1f,
	}
	if p.ERSPAN != want {
		t.Errorf("ERSPAN III: %+v, want %+v", p.ERSPAN, want)
	}
	if p = decodeFrame(t, frame(gre("1000 22eb fffffffe 2080 0001 11223344 0102 0008 ", bare))); p.ERSPAN.Direction != 1 {
		t.Errorf("ERSPAN III: %+v, want direction 1", p.ERSPAN)
	}
	// The VLAN around a mirror is not the packet's own.
	if p = decodeFrame(t, frame(tagged(gre("0000 88be", bare), unhex("8100 0005")))); p.Flags&decode.Tagged != 0 || p.Encap != decode.EncapVLAN|decode.EncapERSPAN1 {
		t.Errorf("VLAN %d taken from around the mirror, encapsulation %#x", p.VLAN, p.Encap)
	}
}

// TestNotInside: what looks like a tunnel and is none, and what is not decoded
// inside one.
func TestNotInside(t *testing.T) {
	bare := etherIP(udpPacket(pairV4, writeMiddle(8)))
	for _, c := range []struct {
		name  string
		b     []byte
		kind  decode.Kind
		flags decode.Flags
	}{
		{"VXLAN without its I bit", etherIP(udpOver(4789, cat(unhex("00000000 00109200"), bare))), decode.KindUDP, 0},
		{"other UDP to Linux's VXLAN port", etherIP(udpOver(8472, cat(unhex("08000001 00109200"), bare))), decode.KindUDP, 0},
		{"Geneve of another version", etherIP(udpOver(6081, cat(unhex("40006558 00109200"), bare))), decode.KindUDP, 0},
		{"GRE version 1", gre("3001 880b 00000000 00000000", nil), decode.KindOther, 0},
		{"unknown ethertype in ERSPAN", gre("0000 88be", etherFrame(0x1234, make([]byte, 50))), decode.KindOther, decode.UnknownInner},
		{"unknown frame type in ERSPAN III", gre("1000 22eb 00000007 2064 a01e 11223344 0000 1e00", bare), decode.KindOther, decode.UnknownInner},
		{"unknown ethertype behind a tag", tagged(etherFrame(0x1234, make([]byte, 50)), unhex("8100 0005")), decode.KindOther, decode.UnknownInner},
		{"unknown ethertype alone", etherFrame(0x1234, make([]byte, 50)), decode.KindOther, 0},
	} {
		p := decodeFrame(t, frame(c.b))
		if p.Kind != c.kind || p.Malformed() || p.Flags&decode.UnknownInner != c.flags {
			t.Errorf("%s: %v, flags %#x, %v", c.name, p.Kind, p.Flags, p.Err)
		}
	}
}

// TestDepth: tunnels and tags without end are bounded and told.
func TestDepth(t *testing.T) {
	bare := etherIP(udpPacket(pairV4, writeMiddle(8)))
	b := bare
	for range decode.MaxTunnels {
		b = gre("0000 6558", b)
	}
	if p := decodeFrame(t, frame(b)); p.Kind != decode.KindRoCEv2 {
		t.Errorf("%d tunnels: %v, %v", decode.MaxTunnels, p.Kind, p.Err)
	}
	if p := decodeFrame(t, frame(gre("0000 6558", b))); p.Err.Code != decode.ErrTooDeep || !p.Malformed() {
		t.Errorf("%d tunnels: %v", decode.MaxTunnels+1, p.Err)
	}
	tags := []byte(nil)
	for range 100_000 {
		tags = append(tags, 0x81, 0, 0, 1)
	}
	p := decodeFrame(t, frame(tagged(bare, tags)))
	if p.Err.Code != decode.ErrTooDeep || len(p.Layers()) != decode.MaxLayers || p.Kind != decode.KindRoCEv2 {
		t.Errorf("100,000 tags: %v, %v, %d layers", p.Err, p.Kind, len(p.Layers()))
	}
	for name, step := range map[string][]byte{
		"SNAP": unhex("0050 aaaa03000000"), "TEB": cat(unhex("6558"), bare[:12]), "MPLS": cat(unhex("8847 00010140"), bare[:12]),
	} {
		var steps []byte
		for range 100_000 {
			steps = append(steps, step...)
		}
		decodeFrame(t, frame(cat(bare[:12], steps, bare[12:])))
		_ = name
	}
}
