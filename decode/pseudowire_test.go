package decode_test

import (
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

// TestPseudowire: behind a label stack, what begins with a MAC address is
// Ethernet whatever that address is, and IP remains IP, with a source address
// that looks like an ethertype as well.
func TestPseudowire(t *testing.T) {
	const label = "00064140" // 100, the bottom
	var bare [][]byte
	for _, b := range [][]byte{
		etherIP(udpPacket(pairV4, writeMiddle(8))), etherIP(udpPacket(pairV6, writeMiddle(8))), etherFrame(0x8915, grhPacket(writeMiddle(8))),
	} {
		bare = append(bare, b, tagged(b, unhex("8100 6064")), tagged(b, unhex("88a8 6064 8100 0007")))
	}
	for _, b := range bare {
		for _, mac := range []string{"48b02d000001", "4500002e0001", "450000000000", "6cb311000001", "600000000010", "6000000001ff", "0c42a1000001", "b8599f010203"} {
			for cw, word := range map[string]string{"no control word": "", "control word": "00001234"} {
				for _, trailer := range []int{0, 4, 19} {
					inner := cat(unhex(mac), b[6:])
					p := decodeFrame(t, frame(cat(etherFrame(0x8847, cat(unhex(label+word), inner)), make([]byte, trailer))))
					if p.ICRCStatus != decode.ICRCGood || p.Malformed() || p.DstMAC != decode.MAC(unhex(mac)) {
						t.Errorf("%s, %s, trailer %d: %s %s", mac, cw, trailer, p.Kind, decode.AppendInfo(nil, p))
					}
					var x decode.Extra
					if got := string(decode.FieldByName("mpls.label").AppendAll(nil, ',', &x, p)); got != "100" {
						t.Errorf("%s, %s: labels %s, want 100 alone", mac, cw, got)
					}
					want := ""
					if word != "" {
						want = "4660"
					}
					if got := string(decode.FieldByName("pweth.cw.sequence_number").AppendAll(nil, ',', &x, p)); got != want {
						t.Errorf("%s, %s: sequence number %q, want %q", mac, cw, got, want)
					}
				}
			}
		}
	}
	for _, o := range []ipOptions{
		{src: "8.0.0.1", dst: "10.0.0.2"}, {src: "134.221.0.1", dst: "10.0.0.2"}, {src: "129.0.0.1", dst: "10.0.0.2"},
		{src: "2001:db8:800::1", dst: "fd00::2"}, {src: "2001:db8:86dd::1", dst: "fd00::2"}, {src: "2001:db8:8100:800:4500::", dst: "fd00::2"},
	} {
		o.sport, o.dport = 0xc123, decode.RoCEv2Port
		ip := udpPacket(o, writeMiddle(8))
		wrongSum := append([]byte(nil), ip...)
		wrongSum[10] ^= 1
		for _, trailer := range []int{0, 4, 19} {
			for _, b := range [][]byte{ip, wrongSum} {
				if p := decodeFrame(t, frame(cat(etherFrame(0x8847, cat(unhex(label), b)), make([]byte, trailer)))); p.Kind != decode.KindRoCEv2 || p.DstMAC != decode.MAC(macB) {
					t.Errorf("%s, trailer %d: %s", o.src, trailer, decode.AppendInfo(nil, p))
				}
				if o.src[0] == '2' {
					break
				}
			}
		}
	}
}

// TestLabelsInIP: IP that labels carry inside of IP is not directly inside of
// it, and each stack is told.
func TestLabelsInIP(t *testing.T) {
	const mplsInIP = layers.IPProtocol(137)
	ip := udpPacket(pairV4, writeMiddle(4))
	one := ipOver(mplsInIP, cat(unhex("0004d140"), ip))
	for _, c := range []struct {
		b     []byte
		want  string
		encap decode.Encap
	}{
		{one, " in mpls 77", decode.EncapMPLS},
		{ipOver(mplsInIP, cat(unhex("00064140"), one)), " in mpls 100, mpls 77", decode.EncapMPLS},
		{ipOver(layers.IPProtocolIPv4, one), " in ipip, mpls 77", decode.EncapMPLS | decode.EncapIPIP},
		{ipOver(mplsInIP, cat(unhex("0004d140"), ipOver(layers.IPProtocolIPv4, ip))), " in mpls 77, ipip", decode.EncapMPLS | decode.EncapIPIP},
	} {
		p := decodeFrame(t, frame(etherIP(c.b)))
		info := string(decode.AppendInfo(nil, p))
		if got := info[max(0, len(info)-len(c.want)):]; got != c.want || p.Encap != c.encap {
			t.Errorf("%s, %#x: want %s, %#x", info, p.Encap, c.want, c.encap)
		}
	}
}
