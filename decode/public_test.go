package decode_test

import (
	"path/filepath"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// TestPublicCaptures decodes captures and vectors published by others, which
// are not part of the module: what is in each is known from whoever made it.
func TestPublicCaptures(t *testing.T) {
	type counts struct {
		frames, roce, good, bad, malformed, ack, cnp, vcrcGood, unknownInner int
	}
	for path, want := range map[string]counts{
		"oferby-proxy/roce.pcap": {frames: 123, roce: 105, good: 105, ack: 37},
		"montybeatnik-rdma-roce-lab/roce_capture_read-write-ecn.pcap": {frames: 12, roce: 12, good: 12, ack: 1},
		"montybeatnik-rdma-roce-lab/test.pcap":                        {frames: 16, roce: 12, good: 12, ack: 1},
		"secdev-scapy/roce_uts_hexdumps.pcap":                         {frames: 3, roce: 3, good: 3, ack: 1, cnp: 1},
		"srinivaskoritala-rdma-softroce-demo/infiniband.pcap":         {frames: 43, roce: 43, good: 43, ack: 9, vcrcGood: 43},
		"derived/infiniband_dlt247.pcap":                              {frames: 43, roce: 43, good: 43, ack: 9, vcrcGood: 43},
		"datenlord-open-rdma-driver/responser_test_vectors.pcap":      {frames: 3, roce: 3, good: 3, ack: 2},
		"Cerebras-libtins/rocev2_test_expected_packets.pcap":          {frames: 6, roce: 6, bad: 6, ack: 3},
		"jorbo-fpga-network-stack/rocev2_hls_write_read_rawip.pcap":   {frames: 6, roce: 3, bad: 3},
		"hwipl-smc-llc/smc_r_llc_rocev1.pcap":                         {frames: 7, roce: 7, bad: 7},
		"mac-control-vectors/pause_pfc_vectors.pcap":                  {frames: 4},
		"the-tcpdump-group-tcpdump/ipoib.pcap":                        {frames: 30},
		"the-tcpdump-group-tcpdump/erspan-type-i-1.pcap":              {frames: 2},
		"the-tcpdump-group-tcpdump/erspan-type-i-2.pcap":              {frames: 2},
		"the-tcpdump-group-tcpdump/erspan-type-i-3.pcap":              {frames: 1},
		"the-tcpdump-group-tcpdump/erspan-type-i-4.pcap":              {frames: 119},
		"the-tcpdump-group-tcpdump/erspan-type-ii-1.pcap":             {frames: 1},
		"the-tcpdump-group-tcpdump/erspan-type-ii-2.pcap":             {frames: 16},
		"the-tcpdump-group-tcpdump/erspan-type-ii-3.pcap":             {frames: 108},
		"the-tcpdump-group-tcpdump/erspan-type-iii-ft-0.pcap":         {frames: 9},
		"the-tcpdump-group-tcpdump/erspan-type-iii-ft-7.pcap":         {frames: 58, unknownInner: 58},
		"the-tcpdump-group-tcpdump/erspan-type-iii-pb-1.pcap":         {frames: 1},
		"zeek-zeek/erspanI.pcap":                                      {frames: 10},
		"zeek-zeek/erspanII.pcap":                                     {frames: 4},
		"zeek-zeek/erspanIII.pcap":                                    {frames: 2},
		"zeek-zeek/gre-erspan3-dot1q.pcap":                            {frames: 2},
		"zeek-zeek/q-in-q.pcap":                                       {frames: 5},
		"zeek-zeek/mixed-vlan-mpls.pcap":                              {frames: 47},
		"zeek-zeek/linux_dlt_sll2.pcap":                               {frames: 6},
		"zeek-zeek/linuxsll-arp.pcap":                                 {frames: 12},
		"zeek-zeek/geneve-truncated.pcapng":                           {frames: 1, malformed: 1},
		"zeek-zeek/ldap_modify-request.multi-encap.pcapng":            {frames: 17},
		"deepflowio-deepflow/decapsulate_erspan1.pcap":                {frames: 1029},
		"arkime-arkime/bigendian.pcap":                                {frames: 2},
		"arkime-arkime/dot1ad.pcap":                                   {frames: 2},
		"arkime-arkime/gre-erspan.pcap":                               {frames: 6},
		"arkime-arkime/gre-erspan-vxlan.pcap":                         {frames: 7},
		"arkime-arkime/multidlt_synthetic.pcapng":                     {frames: 28},
		"arkime-arkime/twovlan.pcap":                                  {frames: 6},
	} {
		var got counts
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		frametest.Each(t, filepath.Join(capturetest.NeedShared(t), "public", path), func(f *capture.Frame) {
			d.Decode(f, &p)
			d.VerifyICRC(&p)
			checkPacket(t, &p)
			got.frames++
			count := func(n *int, is bool) {
				if is {
					*n++
				}
			}
			count(&got.roce, p.RoCE())
			count(&got.good, p.ICRCStatus == decode.ICRCGood)
			count(&got.bad, p.ICRCStatus == decode.ICRCBad)
			count(&got.vcrcGood, p.VCRCStatus == decode.ICRCGood)
			count(&got.malformed, p.Malformed())
			count(&got.ack, p.Has&decode.HasBTH != 0 && p.Opcode == decode.OpRCAcknowledge)
			count(&got.cnp, p.Has&decode.HasBTH != 0 && p.Opcode == decode.OpCNP && p.BTHFlags&decode.BECN != 0)
			count(&got.unknownInner, p.Flags&decode.UnknownInner != 0)
		})
		if got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

// TestWhereWiresharkIsWrong pins what is right where Wireshark 4.0 and 4.4 say
// something else. The captures in which it matters are in TestAgainstTshark.
func TestWhereWiresharkIsWrong(t *testing.T) {
	v1ack := etherFrame(0x8915, grhPacket(transport{op: 0x11, ext: unhex("1f000001")}))
	xrc := transport{op: 0xaa, ext: cat(unhex("0000abcd"), make([]byte, 16)), payload: []byte("data")}
	badICRC := etherIP(udpPacket(pairV4, writeMiddle(100)))
	badICRC[60] ^= 1
	snapped := frame(etherIP(udpPacket(pairV4, transport{op: 0x0d, ext: unhex("1f000001"), payload: make([]byte, 1024)})))
	snapped.Data = snapped.Data[:96]
	for _, c := range []struct {
		why string
		f   capture.Frame
		ok  func(p *decode.Packet) bool
	}{
		{"a wrong ICRC is shown there, and not said to be wrong", frame(badICRC),
			func(p *decode.Packet) bool { return p.ICRCStatus == decode.ICRCBad }},
		{"0x81 is the CNP; there it is an unknown opcode", frame(etherIP(udpPacket(pairV4, transport{op: 0x81, fecnBecn: 0x40, ext: make([]byte, 16)}))),
			func(p *decode.Packet) bool { return p.Opcode.String() == "CNP" && p.BTHFlags&decode.BECN != 0 }},
		{"XRC has an extended header; there it is vendor data", frame(etherIP(udpPacket(pairV4, xrc))),
			func(p *decode.Packet) bool {
				return p.XRCSRQ == 0xabcd && p.PayloadLen == 4 && p.Has&decode.HasRETH != 0
			}},
		{"a SEND Only below 16 bytes is no broken RPC", frame(etherIP(udpPacket(pairV4, transport{op: 4, payload: make([]byte, 8)}))),
			func(p *decode.Packet) bool { return !p.Malformed() && p.PayloadLen == 8 }},
		{"a cut packet is no malformed one", snapped,
			func(p *decode.Packet) bool { return !p.Malformed() && p.Truncated() && p.PayloadLen == 1024 }},
		{"RoCEv1's ICRC ends where the GRH says; there a captured FCS is taken for it", frame(append(v1ack, 1, 2, 3, 4)),
			func(p *decode.Packet) bool { return p.ICRCStatus == decode.ICRCGood }},
		{"and so it does before Ethernet padding", frame(append(v1ack, make([]byte, 20)...)),
			func(p *decode.Packet) bool { return p.ICRCStatus == decode.ICRCGood }},
		{"what an ICMP error quotes was not sent again", frame(etherIP(ipOver(layers.IPProtocolICMPv4, cat(unhex("0303 0000 00000000"), udpPacket(pairV4, writeMiddle(8)))))),
			func(p *decode.Packet) bool { return !p.RoCE() }},
	} {
		if p := decodeFrame(t, c.f); !c.ok(p) {
			t.Errorf("%s: %v, %s, ICRC %v", c.why, p.Kind, decode.AppendInfo(nil, p), p.ICRCStatus)
		}
	}
}
