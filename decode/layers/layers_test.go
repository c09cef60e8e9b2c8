package layers_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

var (
	compute = gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	macA    = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}
	macB    = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}
	gidA    = net.ParseIP("fe80::1")
	gidB    = net.ParseIP("::ffff:10.0.0.2")
)

func ethernet(t layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: macA, DstMAC: macB, EthernetType: t}
}

func ipv4() *layers.IPv4 {
	return &layers.IPv4{
		Version: 4, TTL: 64, TOS: 2, Id: 77, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4DontFragment,
		SrcIP: net.IP{10, 10, 0, 1}, DstIP: net.IP{10, 10, 0, 2},
	}
}

func ipv6() *layers.IPv6 {
	return &layers.IPv6{
		Version: 6, HopLimit: 64, TrafficClass: 2, FlowLabel: 0x12345, NextHeader: layers.IPProtocolUDP,
		SrcIP: net.ParseIP("fd00:10::1"), DstIP: net.ParseIP("fd00:10::2"),
	}
}

func grh() *roce.GRH {
	return &roce.GRH{Version: 6, TrafficClass: 0x1a, FlowLabel: 5, NextHeader: roce.NextHeaderIBA, HopLimit: 9, SrcGID: gidA, DstGID: gidB}
}

func udp() *layers.UDP { return &layers.UDP{SrcPort: 0xc123, DstPort: roce.UDPPortRoCEv2} }

// stacks are the ways to carry a BTH, from Ethernet on.
func stacks() map[string][]gopacket.SerializableLayer {
	return map[string][]gopacket.SerializableLayer{
		"IPv4": {ethernet(layers.EthernetTypeIPv4), ipv4(), udp()},
		"IPv6": {ethernet(layers.EthernetTypeIPv6), ipv6(), udp()},
		"GRH":  {ethernet(roce.EthernetTypeRoCEv1), grh()},
	}
}

// serialize returns the bytes of layers, lengths and checksums computed.
func serialize(tb testing.TB, ls ...gopacket.SerializableLayer) []byte {
	tb.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := roce.Serialize(buf, compute, ls...); err != nil {
		tb.Fatal(err)
	}
	return bytes.Clone(buf.Bytes())
}

func decodeEthernet(b []byte) gopacket.Packet {
	return gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
}

func writeMiddle() *roce.BTH {
	return &roce.BTH{Opcode: 0x07, PKey: 0xffff, DestQP: 0x3d, PSN: 12060459}
}

func ack() *roce.BTH {
	return &roce.BTH{Opcode: decode.OpRCAcknowledge, PKey: 0xffff, DestQP: 0x3d, PSN: 7, AETH: &roce.AETH{Syndrome: 0x1f, MSN: 5}}
}

// drawBTH is a random BTH with the headers that its opcode has.
func drawBTH(t *rapid.T, op decode.Opcode) *roce.BTH {
	u24 := rapid.Uint32Max(1<<24 - 1)
	u32, u64, b8 := rapid.Uint32(), rapid.Uint64(), rapid.Uint8()
	b := &roce.BTH{
		Opcode:    op,
		Solicited: rapid.Bool().Draw(t, "SE"), MigReq: rapid.Bool().Draw(t, "M"),
		TVer: rapid.Uint8Max(15).Draw(t, "TVer"), PKey: rapid.Uint16().Draw(t, "P_Key"),
		FECN: rapid.Bool().Draw(t, "FECN"), BECN: rapid.Bool().Draw(t, "BECN"),
		Reserved6: rapid.Uint8Max(63).Draw(t, "reserved 6"), DestQP: u24.Draw(t, "QP"),
		AckReq: rapid.Bool().Draw(t, "A"), Reserved7: rapid.Uint8Max(127).Draw(t, "reserved 7"), PSN: u24.Draw(t, "PSN"),
	}
	for _, k := range b.Opcode.Headers() {
		switch k {
		case decode.LayerRDETH:
			b.RDETH = &roce.RDETH{Reserved: b8.Draw(t, "r"), EEContext: u24.Draw(t, "EE context")}
		case decode.LayerDETH:
			b.DETH = &roce.DETH{QKey: u32.Draw(t, "Q_Key"), Reserved: b8.Draw(t, "r"), SrcQP: u24.Draw(t, "source QP")}
		case decode.LayerRETH:
			b.RETH = &roce.RETH{VA: u64.Draw(t, "VA"), RKey: u32.Draw(t, "R_Key"), DMALen: u32.Draw(t, "length")}
		case decode.LayerAtomicETH:
			b.AtomicETH = &roce.AtomicETH{VA: u64.Draw(t, "VA"), RKey: u32.Draw(t, "R_Key"), SwapAdd: u64.Draw(t, "swap"), Compare: u64.Draw(t, "compare")}
		case decode.LayerAETH:
			b.AETH = &roce.AETH{Syndrome: decode.Syndrome(b8.Draw(t, "syndrome")), MSN: u24.Draw(t, "MSN")}
		case decode.LayerAtomicAckETH:
			b.AtomicAckETH = &roce.AtomicAckETH{Original: u64.Draw(t, "original")}
		case decode.LayerImmDt:
			b.ImmDt = &roce.ImmDt{Data: u32.Draw(t, "immediate")}
		case decode.LayerIETH:
			b.IETH = &roce.IETH{RKey: u32.Draw(t, "R_Key")}
		case decode.LayerXRCETH:
			b.XRCETH = &roce.XRCETH{Reserved: b8.Draw(t, "r"), SRQ: u24.Draw(t, "SRQ")}
		case decode.LayerFETH:
			b.FETH = &roce.FETH{Reserved: rapid.Uint32Max(1<<26-1).Draw(t, "r"), Selectivity: rapid.Uint8Max(3).Draw(t, "selectivity"), Placement: rapid.Uint8Max(15).Draw(t, "placement")}
		case decode.LayerCNPReserved:
		default:
			t.Fatalf("%v has a header %v that this package does not know", b.Opcode, k)
		}
	}
	return b
}

// built is what a packet is built from, and what follows it in the frame.
type built struct {
	bth              *roce.BTH
	cnp              [16]byte
	payload, trailer []byte
}

func drawBuilt(t *rapid.T, op decode.Opcode) built {
	return built{
		drawBTH(t, op),
		[16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "CNP")),
		rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "payload"),
		rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "trailer"),
	}
}

// check serialises and decodes with gopacket and with package decode: both find
// what was put in, and a good ICRC.
func (x built) check(t rapid.TB, stack string) {
	ls, b := stacks()[stack], x.bth
	ls = append(ls, b)
	if b.Opcode == decode.OpCNP {
		ls = append(ls, &roce.CNP{Reserved: x.cnp})
	}
	ls = append(ls, gopacket.Payload(x.payload))
	buf := gopacket.NewSerializeBuffer()
	if err := roce.Serialize(buf, compute, ls...); err != nil {
		t.Fatal(err)
	}
	data := append(bytes.Clone(buf.Bytes()), x.trailer...)

	packet := decodeEthernet(data)
	if e := packet.ErrorLayer(); e != nil {
		t.Fatal(e.Error())
	}
	got, at := innermost(packet)
	if got == nil {
		t.Fatal("no BTH")
	}
	if diff := cmp.Diff(b, got, cmpopts.IgnoreUnexported(roce.BTH{}), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(roce.BTH{}, "BaseLayer", "Padding")); diff != "" {
		t.Fatalf("(-built +decoded):\n%s", diff)
	}
	if packet.Metadata().Truncated || int(got.PadCount) != -len(x.payload)&3 {
		t.Fatalf("truncated %v, pad %d", packet.Metadata().Truncated, got.PadCount)
	}
	last := packet.Layers()[len(packet.Layers())-1]
	if p, ok := last.(*gopacket.Payload); ok != (len(x.payload) > 0) || ok && !bytes.Equal(*p, x.payload) {
		t.Fatalf("payload %x, want %x", last.LayerContents(), x.payload)
	}
	if r := roce.VerifyICRC(packet); r != (roce.ICRCResult{Status: decode.ICRCGood, Expected: b.ICRC}) {
		t.Fatalf("%+v", r)
	}
	p := ours(whole(data))
	if want, got := ourFacts(p), theirFacts(packet); want != got || want.ICRCStatus != decode.ICRCGood || p.Malformed() {
		t.Fatalf("%v (-decode +layers):\n%s", p.Err, cmp.Diff(want, got))
	}

	// gopacket's own SerializeLayers, told of the headers in front.
	network := packet.Layers()[at-1]
	u, isUDP := network.(*layers.UDP)
	if isUDP {
		network = packet.Layers()[at-2]
		if err := u.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)); err != nil {
			t.Fatal(err)
		}
	}
	if err := got.SetNetworkLayerForICRC(network.(gopacket.NetworkLayer), u); err != nil {
		t.Fatal(err)
	}
	got.ICRC = 0
	if err := gopacket.SerializePacket(buf, compute, packet); err != nil {
		t.Fatal(err)
	}
	if p := ours(whole(buf.Bytes())); p.ICRCStatus != decode.ICRCGood || got.ICRC != b.ICRC {
		t.Fatalf("ICRC %v, %08x, with Serialize %08x", p.ICRCStatus, got.ICRC, b.ICRC)
	}
}

// TestProperty builds random packets in every way.
func TestProperty(t *testing.T) {
	for stack := range stacks() {
		t.Run(stack, rapid.MakeCheck(func(t *rapid.T) {
			drawBuilt(t, decode.Opcode(rapid.Uint8().Draw(t, "opcode"))).check(t, stack)
		}))
	}
}

// TestEveryOpcode builds a packet of each of the 256 opcodes.
func TestEveryOpcode(t *testing.T) {
	for op := range 256 {
		g := rapid.Custom(func(t *rapid.T) built { return drawBuilt(t, decode.Opcode(op)) })
		for stack := range stacks() {
			g.Example(op).check(t, stack)
		}
	}
}

// TestVectors are packets of others, with the ICRC that was on the wire.
func TestVectors(t *testing.T) {
	const cnp = "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118" +
		"000000000000000000000000000000000000000082fd002a"
	data, err := hex.DecodeString(cnp)
	if err != nil {
		t.Fatal(err)
	}
	packet := decodeEthernet(data)
	b, _ := innermost(packet)
	c, ok := packet.Layer(roce.LayerTypeCNP).(*roce.CNP)
	if !ok || c.Reserved != [16]byte{} || !b.BECN || b.DestQP != 0x118 || roce.VerifyICRC(packet) != (roce.ICRCResult{Status: decode.ICRCGood, Expected: 0x82fd002a}) {
		t.Errorf("the CNP of a ConnectX-4 Lx: %v", packet)
	}

	// A UC SEND Only of 18 bytes, ICRC 78f353f3, from 192.168.0.7 to itself.
	ip := ipv4()
	ip.SrcIP, ip.DstIP, ip.TOS, ip.Id = net.IP{192, 168, 0, 7}, net.IP{192, 168, 0, 7}, 1, 1144
	payload, err := hex.DecodeString("4630818be28935d90e9a95505401be885e50")
	if err != nil {
		t.Fatal(err)
	}
	uc := &roce.BTH{Opcode: 0x24, MigReq: true, PKey: 0xffff, DestQP: 211, PSN: 13571856}
	serialize(t, ip, &layers.UDP{SrcPort: 49152, DstPort: 4791}, uc, gopacket.Payload(payload))
	if uc.ICRC != 0x78f353f3 || uc.PadCount != 2 {
		t.Errorf("the UC vector's ICRC is %08x, pad %d", uc.ICRC, uc.PadCount)
	}
}

// TestMACControl builds and decodes PFC, PAUSE and another opcode.
func TestMACControl(t *testing.T) {
	eth := ethernet(roce.EthernetTypeMACControl)
	pfc := &roce.PFC{Enable: 0x08, Quanta: [8]uint16{3: 0xffff}}
	packet := decodeEthernet(serialize(t, eth, &roce.MACControl{Opcode: roce.MACControlPFC}, pfc))
	if f, ok := packet.Layer(roce.LayerTypePFC).(*roce.PFC); !ok || f.Enable != pfc.Enable || f.Quanta != pfc.Quanta || len(packet.Layers()) != 3 || len(packet.Data()) != 60 {
		t.Errorf("PFC: %v", packet)
	}
	packet = decodeEthernet(serialize(t, eth, &roce.MACControl{Opcode: roce.MACControlPause}, &roce.Pause{Quanta: 7}))
	if f, ok := packet.Layer(roce.LayerTypePause).(*roce.Pause); !ok || f.Quanta != 7 || len(packet.Layers()) != 3 {
		t.Errorf("PAUSE: %v", packet)
	}
	packet = decodeEthernet(serialize(t, eth, &roce.MACControl{Opcode: 2}, gopacket.Payload("operands")))
	if l := packet.ApplicationLayer(); l == nil || !strings.HasPrefix(string(l.Payload()), "operands") {
		t.Errorf("opcode 2: %v", packet)
	}
}

// TestSourcePort checks that a datagram from port 4791 is not taken for RoCE in
// a packet, and pins that a DecodingLayerParser cannot be kept from it.
func TestSourcePort(t *testing.T) {
	reply := &layers.UDP{SrcPort: roce.UDPPortRoCEv2, DstPort: 50000}
	data := serialize(t, ethernet(layers.EthernetTypeIPv4), ipv4(), reply, ack())
	for _, options := range []gopacket.DecodeOptions{gopacket.Default, gopacket.Lazy} {
		packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, options)
		if b, _ := innermost(packet); b != nil || packet.ErrorLayer() != nil || len(packet.ApplicationLayer().Payload()) != 20 {
			t.Errorf("from port 4791 to another: %v", packet)
		}
	}
	for _, src := range []layers.UDPPort{0, 53, 69, 123, 4789, 4791, 6081} {
		data := serialize(t, ethernet(layers.EthernetTypeIPv4), ipv4(), &layers.UDP{SrcPort: src, DstPort: roce.UDPPortRoCEv2}, ack())
		if b, _ := innermost(decodeEthernet(data)); b == nil || b.AETH.MSN != 5 {
			t.Errorf("from port %d: no BTH", src)
		}
	}

	p := newParser()
	if err := p.DecodeLayers(data, &p.decoded); err != nil {
		t.Fatal(err)
	}
	if last := p.decoded[len(p.decoded)-1]; last != roce.LayerTypeBTH || p.udp.DstPort == roce.UDPPortRoCEv2 {
		t.Errorf("a DecodingLayerParser came to %v: the documentation says BTH", last)
	}

	const other = 4999
	data = serialize(t, ethernet(layers.EthernetTypeIPv4), ipv4(), &layers.UDP{SrcPort: 1, DstPort: other}, ack())
	if b, _ := innermost(decodeEthernet(data)); b != nil {
		t.Error("a BTH on a port that was not registered")
	}
	layers.RegisterUDPPortLayerType(other, roce.LayerTypeBTH)
	defer layers.RegisterUDPPortLayerType(other, 0)
	if b, _ := innermost(decodeEthernet(data)); b == nil {
		t.Error("no BTH on a port that was registered")
	}
}

// parser is a DecodingLayerParser with its layers.
type parser struct {
	*gopacket.DecodingLayerParser
	eth     layers.Ethernet
	vlan    layers.Dot1Q
	ip4     layers.IPv4
	ip6     layers.IPv6
	udp     layers.UDP
	grh     roce.GRH
	bth     roce.BTH
	cnp     roce.CNP
	mac     roce.MACControl
	pfc     roce.PFC
	pause   roce.Pause
	payload gopacket.Payload
	decoded []gopacket.LayerType
}

func newParser() *parser {
	p := new(parser)
	p.DecodingLayerParser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet,
		&p.eth, &p.vlan, &p.ip4, &p.ip6, &p.udp, &p.grh, &p.bth, &p.cnp, &p.mac, &p.pfc, &p.pause, &p.payload)
	return p
}

// verify checks the ICRC of what was decoded last.
func (p *parser) verify() roce.ICRCResult {
	for _, t := range p.decoded {
		switch t {
		case layers.LayerTypeIPv4:
			return p.bth.VerifyICRC(&p.ip4, &p.udp)
		case layers.LayerTypeIPv6:
			return p.bth.VerifyICRC(&p.ip6, &p.udp)
		case roce.LayerTypeGRH:
			return p.bth.VerifyICRC(&p.grh, nil)
		}
	}
	return roce.ICRCResult{}
}

// TestParser decodes with a DecodingLayerParser, whole and cut, without
// allocating.
func TestParser(t *testing.T) {
	p := newParser()
	for name, front := range stacks() {
		data := serialize(t, append(front, writeMiddle(), gopacket.Payload(make([]byte, 1022)))...)
		if err := p.DecodeLayers(data, &p.decoded); err != nil {
			t.Fatal(err)
		}
		if p.Truncated || p.bth.Truncated || p.bth.PSN != 12060459 || len(p.payload) != 1022 || p.verify().Status != decode.ICRCGood {
			t.Errorf("%s: truncated %v, PSN %d, payload %d, ICRC %v", name, p.Truncated, p.bth.PSN, len(p.payload), p.verify())
		}
		if n := testing.AllocsPerRun(100, func() {
			if p.DecodeLayers(data, &p.decoded) != nil || p.verify().Status != decode.ICRCGood {
				t.Error("decoded once, and not again")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		cut := data[:len(data)-5] // within the pad
		if err := p.DecodeLayers(cut, &p.decoded); err != nil {
			t.Fatal(err)
		}
		length := int(p.udp.Length) - 8
		if name == "GRH" {
			length = int(p.grh.PayloadLength)
		}
		want := roce.ICRCResult{Status: decode.ICRCUnverifiable, Reason: decode.ICRCReasonTruncated}
		if !p.Truncated || !p.bth.Truncated || p.bth.PayloadLength(length) != 1022 || p.verify() != want {
			t.Errorf("%s, cut: truncated %v, payload length %d, ICRC %v", name, p.bth.Truncated, p.bth.PayloadLength(length), p.verify())
		}
	}
	data := serialize(t, ethernet(roce.EthernetTypeMACControl), &roce.MACControl{Opcode: roce.MACControlPFC}, &roce.PFC{Enable: 1})
	if err := p.DecodeLayers(data, &p.decoded); err != nil || len(p.decoded) != 3 {
		t.Errorf("PFC: %v, %v", p.decoded, err)
	}
	data = serialize(t, append(stacks()["IPv6"], &roce.BTH{Opcode: decode.OpCNP, BECN: true}, &roce.CNP{})...)
	if err := p.DecodeLayers(data, &p.decoded); err != nil || len(p.decoded) != 5 {
		t.Errorf("CNP: %v, %v", p.decoded, err)
	}
}

// TestShort decodes layers that are too short: an error that says where, and
// SetTruncated.
func TestShort(t *testing.T) {
	bytesOf := func(s string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	header := "00ffff 0000003d 00000001"
	for _, c := range []struct {
		l    gopacket.DecodingLayer
		data string
		want string
	}{
		{new(roce.BTH), "", "BTH at byte 0: needs 16 bytes, 0 left"},
		{new(roce.BTH), "04" + header + "010203", "BTH at byte 0: needs 16 bytes, 15 left"},
		{new(roce.BTH), "0c" + header + "00000000", "RETH at byte 12: needs 16 bytes, 0 left"},
		{new(roce.BTH), "12" + header + "00000000 00000000", "AtomicAckETH at byte 16: needs 8 bytes, 0 left"},
		{new(roce.BTH), "04 30ffff 0000003d 00000001 0102 00000000", "BTH at byte 0: pad count 3, but 2 bytes are left"},
		{new(roce.CNP), "00000000", "CNP reserved at byte 0: needs 16 bytes, 4 left"},
		{new(roce.GRH), "60", "GRH at byte 0: needs 40 bytes, 1 left"},
		{new(roce.MACControl), "01", "MAC control at byte 0: needs 2 bytes, 1 left"},
		{new(roce.PFC), "00ff 0000", "MAC control at byte 0: needs 18 bytes, 4 left"},
		{new(roce.Pause), "00", "MAC control at byte 0: needs 2 bytes, 1 left"},
	} {
		var df feedback
		err := c.l.DecodeFromBytes(bytesOf(c.data), &df)
		if e := (decode.Error{}); !errors.As(err, &e) || err.Error() != c.want || !bool(df) {
			t.Errorf("%T of %s: %v, truncated %v, want %s", c.l, c.data, err, df, c.want)
		}
	}
	g := serialize(t, grh(), ack())
	g[0] = 0x40
	if err := new(roce.GRH).DecodeFromBytes(g, gopacket.NilDecodeFeedback); err == nil || err.Error() != "GRH at byte 0: version 4, expected 6" {
		t.Errorf("GRH version 4: %v", err)
	}
}

// feedback remembers that SetTruncated was called.
type feedback bool

func (f *feedback) SetTruncated() { *f = true }

// TestRefuse serialises what makes no packet.
func TestRefuse(t *testing.T) {
	v4 := func(b *roce.BTH) []gopacket.SerializableLayer { return []gopacket.SerializableLayer{ipv4(), udp(), b} }
	options := ipv4()
	options.Options = []layers.IPv4Option{{OptionType: 1}}
	fragment := ipv4()
	fragment.Flags = layers.IPv4MoreFragments
	hop := ipv6()
	hop.NextHeader = layers.IPProtocolIPv6HopByHop
	for _, c := range []struct {
		want string
		ls   []gopacket.SerializableLayer
	}{
		{"RC_ACKNOWLEDGE: its AETH is not set", v4(&roce.BTH{Opcode: decode.OpRCAcknowledge})},
		{"an extended header is set that the opcode does not have", v4(&roce.BTH{Opcode: decode.OpRCSendOnly, AETH: new(roce.AETH)})},
		{"an extended header is set that the opcode does not have", v4(&roce.BTH{Opcode: 0xff, RETH: new(roce.RETH)})},
		{"a CNP layer must follow", v4(&roce.BTH{Opcode: decode.OpCNP})},
		{"destination QP 0x1000000: it has 24 bits", v4(&roce.BTH{Opcode: decode.OpRCSendOnly, DestQP: 1 << 24})},
		{"PSN 0x1000000: it has 24 bits", v4(&roce.BTH{Opcode: decode.OpRCSendOnly, PSN: 1 << 24})},
		{"MSN 0x1000000: it has 24 bits", v4(&roce.BTH{Opcode: decode.OpRCAcknowledge, AETH: &roce.AETH{MSN: 1 << 24}})},
		{"TVer has 4 bits", v4(&roce.BTH{Opcode: decode.OpRCSendOnly, TVer: 16})},
		{"FETH {Reserved:0 Selectivity:4 Placement:0}", v4(&roce.BTH{Opcode: decode.OpRCFlush, RETH: new(roce.RETH), FETH: &roce.FETH{Selectivity: 4}})},
		{"the packet was cut", v4(&roce.BTH{Opcode: decode.OpRCSendOnly, Truncated: true})},
		{"no ICRC without the headers in front", []gopacket.SerializableLayer{writeMiddle()}},
		{"RoCEv2 has a UDP header behind IP", []gopacket.SerializableLayer{ipv4(), writeMiddle()}},
		{"RoCEv1 has no UDP header behind the GRH", []gopacket.SerializableLayer{grh(), udp(), writeMiddle()}},
		{"no ICRC is defined with IPv4 options", []gopacket.SerializableLayer{options, udp(), writeMiddle()}},
		{"no ICRC is defined with IPv4 options or fragments", []gopacket.SerializableLayer{fragment, udp(), writeMiddle()}},
		{"no ICRC is defined with IPv6 extension headers", []gopacket.SerializableLayer{hop, udp(), writeMiddle()}},
		{"do not fit into an IP packet", append(v4(writeMiddle()), gopacket.Payload(make([]byte, 65536)))},
		{"a GID has 16 bytes", []gopacket.SerializableLayer{&roce.GRH{Version: 6}, writeMiddle()}},
	} {
		err := roce.Serialize(gopacket.NewSerializeBuffer(), compute, c.ls...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	b := writeMiddle()
	b.PadCount = 4
	if err := gopacket.SerializeLayers(gopacket.NewSerializeBuffer(), gopacket.SerializeOptions{}, b); err == nil {
		t.Error("a pad count of 4 is taken")
	}
	if err := b.SetNetworkLayerForICRC(nil, nil); err == nil {
		t.Error("no network layer is taken")
	}
}

// TestUnverifiable: what cannot be checked is never called bad.
func TestUnverifiable(t *testing.T) {
	data := serialize(t, ipv4(), udp(), writeMiddle(), gopacket.Payload("12345678"))
	options := append([]byte{0x46}, data[1:20]...)
	options = append(append(options, 1, 1, 1, 1), data[20:]...)
	options[3] += 4
	data = serialize(t, ipv6(), udp(), writeMiddle(), gopacket.Payload("12345678"))
	hop := append(bytes.Clone(data[:40]), 17, 0, 1, 4, 0, 0, 0, 0)
	hop = append(hop, data[40:]...)
	hop[6] = 0
	hop[5] += 8
	for name, packet := range map[string]gopacket.Packet{
		"IPv4 options":    gopacket.NewPacket(options, layers.LayerTypeIPv4, gopacket.Default),
		"hop-by-hop":      gopacket.NewPacket(hop, layers.LayerTypeIPv6, gopacket.Default),
		"not even a GRH":  gopacket.NewPacket(data[48:], roce.LayerTypeBTH, gopacket.Default),
		"no header of IP": gopacket.NewPacket(data[40:], layers.LayerTypeUDP, gopacket.Default),
	} {
		want := roce.ICRCResult{Status: decode.ICRCUnverifiable, Reason: decode.ICRCReasonOptions}
		if strings.HasPrefix(name, "no") {
			want.Reason = decode.ICRCReasonNone
		}
		if b, _ := innermost(packet); b == nil || b.PSN != 12060459 || roce.VerifyICRC(packet) != want {
			t.Errorf("%s: %+v", name, roce.VerifyICRC(packet))
		}
	}
	other := gopacket.NewPacket(serialize(t, ethernet(layers.EthernetTypeARP), gopacket.Payload(make([]byte, 46))), layers.LayerTypeEthernet, gopacket.Default)
	if r := roce.VerifyICRC(other); r != (roce.ICRCResult{}) {
		t.Errorf("a packet that is not RoCE: %+v", r)
	}
	b, _ := innermost(gopacket.NewPacket(data, layers.LayerTypeIPv6, gopacket.Default))
	if r := b.VerifyICRC(&layers.IPv6{NextHeader: layers.IPProtocolUDP}, nil); r.Status != decode.ICRCUnverifiable {
		t.Errorf("IPv6 without UDP: %+v", r)
	}
	if r := new(roce.BTH).VerifyICRC(ipv4(), udp()); r.Status != decode.ICRCUnverifiable {
		t.Errorf("a BTH that was not decoded: %+v", r)
	}
}

// TestText prints layers as gopacket does it.
func TestText(t *testing.T) {
	packet := decodeEthernet(serialize(t, append(stacks()["IPv4"], ack())...))
	if s := packet.String(); !strings.Contains(s, "BTH") || !strings.Contains(s, "Opcode=RC_ACKNOWLEDGE") || !strings.Contains(s, "AETH={ Syndrome=ACK MSN=5}") {
		t.Error(s)
	}
	for _, l := range packet.Layers()[3:] {
		_ = gopacket.LayerDump(l)
		_ = gopacket.LayerGoString(l)
		_ = fmt.Sprintf("%+v", l)
	}
	flow := grh().NetworkFlow()
	if flow.Src().String() != "fe80::1" {
		t.Error(flow)
	}
}
