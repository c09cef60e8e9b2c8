// Package layers is RoCE for every program that uses gopacket: the base
// transport header with all extended headers, CNP, RoCEv1's GRH, and MAC
// control with PFC and PAUSE, as layers that decode and serialise.
//
//	import (
//		"github.com/google/gopacket"
//		"github.com/google/gopacket/layers"
//		roce "github.com/rocelens/rocelens/decode/layers"
//	)
//
//	roce.Register() // once, before anything is decoded
//	packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
//	if bth, ok := packet.Layer(roce.LayerTypeBTH).(*roce.BTH); ok {
//		fmt.Println(bth.Opcode, bth.DestQP, bth.PSN, roce.VerifyICRC(packet).Status)
//	}
//
// # Layers
//
// One BTH layer holds the base transport header, the extended headers that its
// opcode has, and the ICRC. Its payload is the message, without pad and ICRC.
// What deserves to be looked for by name is a layer behind another:
//
//	RoCEv2       Ethernet, IPv4 or IPv6, UDP, BTH, Payload
//	RoCEv1       Ethernet, GRH, BTH, Payload
//	CNP          ..., BTH, CNP
//	PFC, PAUSE   Ethernet, MACControl, PFC or Pause
//
// # Limits
//
// Lengths come from UDP, IP and GRH. Padding, frame check sequences and other
// trailers never become payload. DecodeFromBytes alone sees only bytes: that a
// packet was cut it learns from the DecodeFeedback it is given, where this is a
// packet being decoded or a DecodingLayerParser.
//
// A UDP datagram from port 4791 to a port that gopacket does not know is not
// RoCE. A packet has its payload as Payload, which is right. A
// DecodingLayerParser is led to the BTH by UDP.NextLayerType, and nothing here
// can keep it from that: compare UDP.DstPort.
//
// IP fragments and native InfiniBand (LRH) are not decoded: gopacket hands on
// no fragment and has no such link type. Packages decode and capture do
// without gopacket, faster and with more tunnels.
package layers
