package decode_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// linkFrames are frames of what the other tests have none of: TCP with options,
// ICMP, ARP of other sizes, LLC, cooked headers, IPv6's extension headers.
func linkFrames() []capture.Frame {
	udp := udpOver(9, []byte("abcd"))
	ip := ipOver(layers.IPProtocolUDP, udp)
	mac := unhex("020000000001 020000000002")
	llc := func(b []byte) capture.Frame { return frame(cat(mac, []byte{0, byte(len(b))}, b, make([]byte, 20))) }
	arp := func(s string) capture.Frame { return frame(cat(mac, unhex("0806"), unhex(s), make([]byte, 18))) }
	return []capture.Frame{
		frame(etherIP(ipOver(layers.IPProtocolTCP, cat(unhex("0102 0304 05060708 090a0b0c 8012 0d0e 0f10 0000 0101 080a 1112131415161718"), []byte("hello"))))),
		frame(etherIP(ipOver(layers.IPProtocolICMPv4, unhex("0800 1234 56789abc 0102")))),
		frame(etherIP(ipOver(layers.IPProtocolICMPv4, unhex("0d00 1234 56789abc 0102")))),
		frame(etherIP(ip6Over(layers.IPProtocolICMPv6, unhex("8700 1234 56789abc 0102")))),
		frame(etherIP(ip6Over(layers.IPProtocolIPv6HopByHop, cat(unhex("3c00 0104 00000000 1100 0104 00000000"), udp)))),
		frame(etherIP(ip6Over(layers.IPProtocolIPv6Fragment, cat(unhex("1100 0000 00000001"), udp)))),
		arp("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"),
		arp("0020 0800 14 04 0002 0102030405060708090a0b0c0d0e0f1011121314 0a000001 1514131211100f0e0d0c0b0a0908070605040302 0a000002"),
		arp("0001 86dd 06 10 0001 020000000001 20010db8000000000000000000000001 000000000000 20010db8000000000000000000000002"),
		llc(unhex("4242 03 0000 00")),
		llc(unhex("4242 0102 0000")),
		llc(cat(unhex("aaaa 03 000000 0800"), ip)),
		llc(unhex("aaaa 03 00000c 2000 0102")),
		frame(tagged(cat(mac, unhex("0006 4242 03 000000")), unhex("8100 0007"))),
		linkFrame(capture.LinkSLL, cat(unhex("0000 0001 0006 0200000000010000 0800"), ip)),
		linkFrame(capture.LinkSLL, cat(unhex("0000 0001 0006 0200000000010000 0004 4242 03 000000"))),
		linkFrame(capture.LinkSLL2, cat(unhex("000c 0000 00000007 0001 00 06 0200000000010000 00000001"))),
		linkFrame(capture.LinkRaw, ip),
		linkFrame(capture.LinkIPv4, ip),
		linkFrame(capture.LinkNull, cat(unhex("02000000"), ip)),
		linkFrame(capture.LinkIPoIB, cat(make([]byte, 40), unhex("08000000"), ip)),
	}
}

// TestCutHeaders: of a header that was cut, the fields that are there are shown
// as of the whole one. Behind MPLS nothing says what follows, and it takes 14
// bytes to tell.
func TestCutHeaders(t *testing.T) {
	d := decode.New(decode.DefaultConfig())
	var whole, cut decode.Packet
	var wx, cx decode.Extra
	for _, f := range append(fieldFrames(), linkFrames()...) {
		d.Decode(&f, &whole)
		wx.Reset()
		all := decode.AppendTree(nil, &wx, &whole)
		for n := range f.Data {
			short := f
			short.Data = f.Data[:n]
			d.Decode(&short, &cut)
			if cut.Err.Layer == decode.LayerMPLS && cut.Err.Code == decode.ErrUnknown {
				continue
			}
			cx.Reset()
			some := decode.AppendTree(nil, &cx, &cut)
			j := 0
			for i := range all {
				a := &all[i]
				if a.Field == nil || a.Value.Len == 0 || a.Value.Off+a.Value.Len > uint32(n) || !header(a) {
					continue
				}
				for j < len(some) && (some[j].Field != a.Field || some[j].Value.Off != a.Value.Off) {
					j++
				}
				if j == len(some) {
					t.Errorf("%x: %d bytes: no %s, which are the %d at %d; %v", f.Data, n, a.Field.Name, a.Value.Len, a.Value.Off, cut.Err)
					break
				}
				if got, want := some[j].AppendText(nil), a.AppendText(nil); !bytes.Equal(got, want) {
					t.Errorf("%x: %d bytes: %s, want %s", f.Data, n, got, want)
				}
			}
		}
	}
}

// header says whether a node is of a header, and of it as it is on the wire.
func header(n *decode.Node) bool {
	switch n.Layer {
	case decode.LayerPayload, decode.LayerData, decode.LayerPad, decode.LayerICRC, decode.LayerVCRC, decode.LayerMPA, decode.LayerNone:
		return false
	}
	if strings.HasSuffix(n.Field.Name, ".serviceid.protocol") {
		return false // it takes the whole service ID to know that it has one
	}
	return n.Field.Type != decode.TypeBytes && n.Field.Type != decode.TypeNone && n.Field.Name != "rocelens.ipv6ext.len"
}

// value is a field's values in a frame, as text.
func value(t *testing.T, f capture.Frame, name string) string {
	t.Helper()
	var x decode.Extra
	p := decodeFrame(t, f)
	return string(decode.FieldByName(name).AppendAll(nil, ',', &x, p))
}

// TestLinkFields: addresses of ARP where its sizes say that they are, LLC as it
// is and SNAP's type only there, and the names of protocols.
func TestLinkFields(t *testing.T) {
	all := linkFrames()
	for _, c := range []struct {
		frame       int
		field, want string
	}{
		{0, "frame.protocols", "eth:ethertype:ip:tcp:data"},
		{1, "frame.protocols", "eth:ethertype:ip:icmp:data"},
		{2, "frame.protocols", "eth:ethertype:ip:icmp"},
		{3, "frame.protocols", "eth:ethertype:ipv6:icmpv6"},
		{4, "frame.protocols", "eth:ethertype:ipv6:ipv6.hopopts:ipv6.dstopts:udp:data"},
		{5, "frame.protocols", "eth:ethertype:ipv6:ipv6.fraghdr:udp:data"},
		{6, "arp.src.hw_mac", "02:00:00:00:00:01"}, {6, "arp.src.proto_ipv4", "10.0.0.1"}, {6, "arp.dst.proto_ipv4", "10.0.0.2"}, {6, "arp.src.hw", ""},
		{7, "arp.src.hw_mac", ""}, {7, "arp.dst.hw_mac", ""},
		{7, "arp.src.hw", "0102030405060708090a0b0c0d0e0f1011121314"}, {7, "arp.dst.hw", "1514131211100f0e0d0c0b0a0908070605040302"},
		{7, "arp.src.proto_ipv4", "10.0.0.1"}, {7, "arp.dst.proto_ipv4", "10.0.0.2"},
		{8, "arp.dst.hw_mac", "00:00:00:00:00:00"}, {8, "arp.src.proto_ipv4", ""}, {8, "arp.dst.proto", "20010db8000000000000000000000002"},
		{9, "llc.type", ""}, {9, "llc.dsap", "0x42"}, {9, "llc.control", "0x0003"}, {9, "llc.oui", ""}, {9, "data.data", "000000"}, {9, "eth.type", ""}, {9, "eth.len", "6"},
		{9, "frame.protocols", "eth:llc:data"},
		{10, "llc.control", "0x0201"}, {10, "data.len", "2"},
		{11, "frame.protocols", "eth:llc:ip:udp:data"}, {11, "llc.type", "0x0800"}, {11, "llc.oui", "0"},
		{12, "llc.type", ""}, {12, "llc.oui", "12"}, {12, "frame.protocols", "eth:llc:data"},
		{13, "frame.protocols", "eth:ethertype:vlan:llc:data"}, {13, "vlan.len", "6"}, {13, "llc.ssap", "0x42"},
		{14, "frame.protocols", "sll:ethertype:ip:udp:data"},
		{15, "frame.protocols", "sll:llc:data"}, {15, "llc.dsap", "0x42"},
		{16, "frame.protocols", "sll:data"}, {16, "llc.dsap", ""},
		{17, "frame.protocols", "raw:ip:udp:data"},
		{18, "frame.protocols", "ip:udp:data"},
		{19, "frame.protocols", "null:ip:udp:data"},
		{20, "frame.protocols", "ipoib:ip:udp:data"},
	} {
		if got := value(t, all[c.frame], c.field); got != c.want {
			t.Errorf("frame %d: %s is %q, want %q", c.frame, c.field, got, c.want)
		}
	}
	cut := func(f capture.Frame, n int) capture.Frame { f.Data = f.Data[:n]; return f }
	later := ipOver(layers.IPProtocolUDP, make([]byte, 16))
	later[6], later[7] = 0x20, 185
	geneve := func(head string) capture.Frame {
		return frame(etherIP(udpOver(6081, cat(unhex(head), etherIP(ipOver(layers.IPProtocolUDP, make([]byte, 16)))))))
	}
	mad := frame(etherIP(udpPacket(pairV4, transport{op: 0x64, qp: 1, ext: make([]byte, 8), payload: cat(unhex("01070203 00000000 0000000000000005 0010"), make([]byte, 238))})))
	roce := frame(etherIP(udpPacket(pairV4, writeMiddle(100))))
	var x decode.Extra
	if got := decode.FieldByName("geneve.options").Append(nil, &x, decodeFrame(t, geneve("00006558 00109200"))); len(got) != 0 {
		t.Errorf("Geneve without options has %v", got)
	}
	for _, c := range []struct {
		f           capture.Frame
		field, want string
	}{
		{cut(all[0], 60), "tcp.srcport", "258"}, {cut(all[0], 60), "tcp.flags", "0x0012"}, {cut(all[0], 60), "tcp.hdr_len", "32"},
		{cut(all[0], 60), "frame.protocols", "eth:ethertype:ip:tcp"},
		{cut(all[0], 34), "frame.protocols", "eth:ethertype:ip:tcp"},
		{cut(all[1], 35), "icmp.type", "8"}, {cut(all[1], 35), "icmp.code", ""},
		{cut(roce, 80), "frame.protocols", "eth:ethertype:ip:udp:infiniband"}, {cut(roce, 40), "udp.dstport", "4791"},
		{cut(roce, 40), "rocelens.kind", "RoCEv2"}, {cut(roce, 37), "rocelens.kind", "UDP"},
		{cut(roce, 46), "infiniband.bth.opcode", "7"}, {cut(roce, 46), "infiniband.bth.destqp", ""},
		{roce, "frame.protocols", "eth:ethertype:ip:udp:infiniband:data"},
		{frame(etherIP(later)), "ip.frag_offset", "185"},
		{geneve("01006558 00109200 01020304"), "geneve.options", "01020304"},
		{mad, "infiniband.mad.transactionid", "0x0000000000000005"},
		{cut(mad, 78), "infiniband.mad.transactionid", "0x0000000000000005"}, {cut(mad, 78), "infiniband.mad.attributeid", ""},
		{cut(mad, 77), "infiniband.mad.transactionid", ""}, {cut(mad, 77), "infiniband.mad.method", "0x03"}, {cut(mad, 77), "data.data", ""},
		{cut(mad, 86), "infiniband.mad.attributeid", "0x0010"}, {cut(mad, 62), "infiniband.mad.baseversion", ""},
	} {
		if got := value(t, c.f, c.field); got != c.want {
			t.Errorf("%d bytes: %s is %q, want %q", len(c.f.Data), c.field, got, c.want)
		}
	}
}
