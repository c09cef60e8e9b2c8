package decode

// The field table: IP, what it carries, and tunnels.

var ipHeaders = []headerRows{
	{LayerARP, "arp", "Address Resolution Protocol", []row{
		{0, "arp.hw.type", "Hardware type", TypeUint16, Dec, 0, 2, 0, rowOptions{}},
		{0, "arp.proto.type", "Protocol type", TypeUint16, Hex, 2, 2, 0, rowOptions{values: etherTypeName}},
		{0, "arp.hw.size", "Hardware size", TypeUint8, Dec, 4, 1, 0, rowOptions{}},
		{0, "arp.proto.size", "Protocol size", TypeUint8, Dec, 5, 1, 0, rowOptions{}},
		{0, "arp.opcode", "Opcode", TypeUint16, Dec, 6, 2, 0, rowOptions{values: arpOpcode}},
		{0, "arp.src.hw_mac", "Sender MAC address", TypeEther, Dec, 0, 0, 0, rowOptions{read: readARP(0, true)}},
		{0, "arp.src.hw", "Sender hardware address", TypeBytes, Dec, 0, 0, 0, rowOptions{read: readARP(0, false)}},
		{0, "arp.src.proto_ipv4", "Sender IP address", TypeIPv4, Dec, 0, 0, 0, rowOptions{read: readARP(1, true)}},
		{0, "arp.src.proto", "Sender protocol address", TypeBytes, Dec, 0, 0, 0, rowOptions{read: readARP(1, false)}},
		{0, "arp.dst.hw_mac", "Target MAC address", TypeEther, Dec, 0, 0, 0, rowOptions{read: readARP(2, true)}},
		{0, "arp.dst.hw", "Target hardware address", TypeBytes, Dec, 0, 0, 0, rowOptions{read: readARP(2, false)}},
		{0, "arp.dst.proto_ipv4", "Target IP address", TypeIPv4, Dec, 0, 0, 0, rowOptions{read: readARP(3, true)}},
		{0, "arp.dst.proto", "Target protocol address", TypeBytes, Dec, 0, 0, 0, rowOptions{read: readARP(3, false)}},
	}},
	{LayerIPv4, "ip", "Internet Protocol Version 4", []row{
		{0, "ip.version", "Version", TypeUint8, Dec, 0, 1, 0xf0, rowOptions{}},
		{0, "ip.hdr_len", "Header Length", TypeUint8, Dec, 0, 1, 0x0f, rowOptions{read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			v.Num = uint64(p.Data[l.Off]&15) * 4
			return true
		}}},
		{0, "ip.dsfield", "Differentiated Services Field", TypeUint8, Hex, 1, 1, 0, rowOptions{}},
		{1, "ip.dsfield.dscp", "Differentiated Services Codepoint", TypeUint8, Dec, 1, 1, 0xfc, rowOptions{values: dscpName}},
		{1, "ip.dsfield.ecn", "Explicit Congestion Notification", TypeUint8, Dec, 1, 1, 0x03, rowOptions{values: ecnName}},
		{0, "ip.len", "Total Length", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{0, "ip.id", "Identification", TypeUint16, Hex, 4, 2, 0, rowOptions{}},
		{0, "ip.flags", "Flags", TypeUint8, Hex, 6, 1, 0xe0, rowOptions{}},
		{1, "ip.flags.rb", "Reserved bit", TypeBool, Dec, 6, 1, 0x80, rowOptions{values: setNotSet}},
		{1, "ip.flags.df", "Don't fragment", TypeBool, Dec, 6, 1, 0x40, rowOptions{values: setNotSet}},
		{1, "ip.flags.mf", "More fragments", TypeBool, Dec, 6, 1, 0x20, rowOptions{values: setNotSet}},
		{0, "ip.frag_offset", "Fragment Offset", TypeUint16, Dec, 6, 2, 0x1fff, rowOptions{}},
		{0, "ip.ttl", "Time to Live", TypeUint8, Dec, 8, 1, 0, rowOptions{}},
		{0, "ip.proto", "Protocol", TypeUint8, Dec, 9, 1, 0, rowOptions{values: ipProtoName}},
		{0, "ip.checksum", "Header Checksum", TypeUint16, Hex, 10, 2, 0, rowOptions{}},
		{0, "ip.checksum.status", "Header checksum status", TypeUint8, Dec, 10, 2, 0, rowOptions{values: checksumStatus, read: readUnverified}},
		{0, "ip.src", "Source Address", TypeIPv4, Dec, 12, 4, 0, rowOptions{}},
		{0, "ip.addr", "Source or Destination Address", TypeIPv4, Dec, 12, 4, 0, rowOptions{hidden: true}},
		{0, "ip.src_host", "Source Host", TypeIPv4, Dec, 12, 4, 0, rowOptions{hidden: true}},
		{0, "ip.host", "Source or Destination Host", TypeIPv4, Dec, 12, 4, 0, rowOptions{hidden: true}},
		{0, "ip.dst", "Destination Address", TypeIPv4, Dec, 16, 4, 0, rowOptions{}},
		{0, "ip.addr", "", 0, 0, 16, 4, 0, rowOptions{hidden: true}},
		{0, "ip.dst_host", "Destination Host", TypeIPv4, Dec, 16, 4, 0, rowOptions{hidden: true}},
		{0, "ip.host", "", 0, 0, 16, 4, 0, rowOptions{hidden: true}},
	}},
	{LayerIPv6, "ipv6", "Internet Protocol Version 6", []row{
		{0, "ipv6.version", "Version", TypeUint8, Dec, 0, 1, 0xf0, rowOptions{}},
		{0, "ip.version", "", 0, 0, 0, 1, 0xf0, rowOptions{hidden: true}},
		{0, "ipv6.tclass", "Traffic Class", TypeUint32, Hex, 0, 4, 0x0ff00000, rowOptions{}},
		{1, "ipv6.tclass.dscp", "Differentiated Services Codepoint", TypeUint32, Dec, 0, 4, 0x0fc00000, rowOptions{values: dscpName}},
		{1, "ipv6.tclass.ecn", "Explicit Congestion Notification", TypeUint32, Dec, 0, 4, 0x00300000, rowOptions{values: ecnName}},
		{0, "ipv6.flow", "Flow Label", TypeUint24, Hex, 1, 3, 0x0fffff, rowOptions{}},
		{0, "ipv6.plen", "Payload Length", TypeUint16, Dec, 4, 2, 0, rowOptions{}},
		{0, "ipv6.nxt", "Next Header", TypeUint8, Dec, 6, 1, 0, rowOptions{values: ipProtoName}},
		{0, "ipv6.hlim", "Hop Limit", TypeUint8, Dec, 7, 1, 0, rowOptions{}},
		{0, "ipv6.src", "Source Address", TypeIPv6, Dec, 8, 16, 0, rowOptions{}},
		{0, "ipv6.addr", "Source or Destination Address", TypeIPv6, Dec, 8, 16, 0, rowOptions{hidden: true}},
		{0, "ipv6.src_host", "Source Host", TypeIPv6, Dec, 8, 16, 0, rowOptions{hidden: true}},
		{0, "ipv6.host", "Source or Destination Host", TypeIPv6, Dec, 8, 16, 0, rowOptions{hidden: true}},
		{0, "ipv6.dst", "Destination Address", TypeIPv6, Dec, 24, 16, 0, rowOptions{}},
		{0, "ipv6.addr", "", 0, 0, 24, 16, 0, rowOptions{hidden: true}},
		{0, "ipv6.dst_host", "Destination Host", TypeIPv6, Dec, 24, 16, 0, rowOptions{hidden: true}},
		{0, "ipv6.host", "", 0, 0, 24, 16, 0, rowOptions{hidden: true}},
	}},
	{LayerIPv6Ext, "rocelens.ipv6ext", "IPv6 Extension Header", []row{
		{0, "rocelens.ipv6ext.nxt", "Next Header", TypeUint8, Dec, 0, 1, 0, rowOptions{ours: true, values: ipProtoName}},
		{0, "rocelens.ipv6ext.len", "Length", TypeUint16, Dec, 0, 0, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			v.Num, v.Off, v.Len = uint64(l.Len), l.Off, l.Len
			return l != p.cut
		}}},
	}},
	{LayerUDP, "udp", "User Datagram Protocol", []row{
		{0, "udp.srcport", "Source Port", TypeUint16, Dec, 0, 2, 0, rowOptions{}},
		{0, "udp.dstport", "Destination Port", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{0, "udp.port", "Source or Destination Port", TypeUint16, Dec, 0, 2, 0, rowOptions{hidden: true}},
		{0, "udp.port", "", 0, 0, 2, 2, 0, rowOptions{hidden: true}},
		{0, "udp.length", "Length", TypeUint16, Dec, 4, 2, 0, rowOptions{}},
		{0, "udp.checksum", "Checksum", TypeUint16, Hex, 6, 2, 0, rowOptions{}},
		{0, "udp.checksum.status", "Checksum Status", TypeUint8, Dec, 6, 2, 0, rowOptions{values: checksumStatus, read: readUDPChecksum(checksumUnverified)}},
		{1, "udp.checksum.status", "", 0, 0, 6, 2, 0, rowOptions{read: readUDPChecksum(checksumNotPresent)}},
		{0, "udp.payload", "Payload", TypeBytes, Dec, 8, 0, 0, rowOptions{hidden: true, read: readUDPPayload}},
	}},
	{LayerTCP, "tcp", "Transmission Control Protocol", []row{
		{0, "tcp.srcport", "Source Port", TypeUint16, Dec, 0, 2, 0, rowOptions{}},
		{0, "tcp.dstport", "Destination Port", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{0, "tcp.port", "Source or Destination Port", TypeUint16, Dec, 0, 2, 0, rowOptions{hidden: true}},
		{0, "tcp.port", "", 0, 0, 2, 2, 0, rowOptions{hidden: true}},
		{0, "tcp.seq_raw", "Sequence Number (raw)", TypeUint32, Dec, 4, 4, 0, rowOptions{}},
		{0, "tcp.ack_raw", "Acknowledgment number (raw)", TypeUint32, Dec, 8, 4, 0, rowOptions{}},
		{0, "tcp.hdr_len", "Header Length", TypeUint8, Dec, 12, 1, 0xf0, rowOptions{read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			v.Num = uint64(p.Data[l.Off+12]>>4) * 4
			return true
		}}},
		{0, "tcp.flags", "Flags", TypeUint16, Hex, 12, 2, 0x0fff, rowOptions{}},
	}},
	{LayerICMP, "icmp", "Internet Control Message Protocol", []row{
		{0, "icmp.type", "Type", TypeUint8, Dec, 0, 1, 0, rowOptions{}},
		{0, "icmp.code", "Code", TypeUint8, Dec, 1, 1, 0, rowOptions{}},
		{0, "icmp.checksum", "Checksum", TypeUint16, Hex, 2, 2, 0, rowOptions{}},
		{0, "rocelens.icmp.quotes_roce", "Quotes a RoCEv2 packet", TypeBool, Dec, 0, 0, 0, rowOptions{ours: true, read: readQuotesRoCE}},
	}},
	{LayerICMPv6, "icmpv6", "Internet Control Message Protocol v6", []row{
		{0, "icmpv6.type", "Type", TypeUint8, Dec, 0, 1, 0, rowOptions{}},
		{0, "icmpv6.code", "Code", TypeUint8, Dec, 1, 1, 0, rowOptions{}},
		{0, "icmpv6.checksum", "Checksum", TypeUint16, Hex, 2, 2, 0, rowOptions{}},
		{0, "rocelens.icmp.quotes_roce", "", 0, 0, 0, 0, 0, rowOptions{read: readQuotesRoCE}},
	}},
}

var tunnelHeaders = []headerRows{
	{LayerGRE, "gre", "Generic Routing Encapsulation", []row{
		{0, "gre.flags_and_version", "Flags and Version", TypeUint16, Hex, 0, 2, 0, rowOptions{}},
		{1, "gre.flags.checksum", "Checksum Bit", TypeBool, Dec, 0, 2, 0x8000, rowOptions{values: yesNo}},
		{1, "gre.flags.routing", "Routing Bit", TypeBool, Dec, 0, 2, 0x4000, rowOptions{values: yesNo}},
		{1, "gre.flags.key", "Key Bit", TypeBool, Dec, 0, 2, 0x2000, rowOptions{values: yesNo}},
		{1, "gre.flags.sequence_number", "Sequence Number Bit", TypeBool, Dec, 0, 2, 0x1000, rowOptions{values: yesNo}},
		{1, "gre.flags.strict_source_route", "Strict Source Route Bit", TypeBool, Dec, 0, 2, 0x0800, rowOptions{values: yesNo}},
		{1, "gre.flags.recursion_control", "Recursion control", TypeUint16, Dec, 0, 2, 0x0700, rowOptions{}},
		{1, "gre.flags.reserved", "Flags (Reserved)", TypeUint16, Dec, 0, 2, 0x00f8, rowOptions{}},
		{1, "gre.flags.version", "Version", TypeUint16, Dec, 0, 2, 0x0007, rowOptions{}},
		{0, "gre.proto", "Protocol Type", TypeUint16, Hex, 2, 2, 0, rowOptions{values: greProtoName}},
		{0, "gre.checksum", "Checksum", TypeUint16, Hex, 0, 0, 0, rowOptions{read: readGRE(0xc000, 0, 2)}},
		{0, "gre.offset", "Offset", TypeUint16, Dec, 0, 0, 0, rowOptions{read: readGRE(0xc000, 2, 2)}},
		{0, "gre.key", "Key", TypeUint32, Hex, 0, 0, 0, rowOptions{read: readGRE(0x2000, 0, 4)}},
		{0, "gre.sequence_number", "Sequence Number", TypeUint32, Dec, 0, 0, 0, rowOptions{read: readGRE(0x1000, 0, 4)}},
	}},
	{LayerERSPAN1, "erspan", "Encapsulated Remote Switch Packet ANalysis Type I", nil},
	{LayerERSPAN2, "erspan", "Encapsulated Remote Switch Packet ANalysis Type II", []row{
		{0, "erspan.version", "Version", TypeUint16, Dec, 0, 2, 0xf000, rowOptions{values: func(v uint64) string {
			return map[uint64]string{1: "Type II", 2: "Type III"}[v]
		}}},
		{0, "erspan.vlan", "Vlan", TypeUint16, Dec, 0, 2, 0x0fff, rowOptions{}},
		{0, "erspan.cos", "COS", TypeUint16, Dec, 2, 2, 0xe000, rowOptions{}},
		{0, "erspan.encap", "Encap", TypeUint16, Dec, 2, 2, 0x1800, rowOptions{}},
		{0, "erspan.truncated", "Truncated", TypeUint16, Dec, 2, 2, 0x0400, rowOptions{values: truncatedName}},
		{0, "erspan.spanid", "SpanID", TypeUint16, Dec, 2, 2, 0x03ff, rowOptions{}},
		{0, "erspan.reserved", "Reserved", TypeUint32, Dec, 4, 4, 0xfff00000, rowOptions{}},
		{0, "erspan.index", "Index", TypeUint32, Dec, 4, 4, 0x000fffff, rowOptions{}},
	}},
	{LayerERSPAN3, "erspan", "Encapsulated Remote Switch Packet ANalysis Type III", []row{
		{0, "erspan.version", "", 0, 0, 0, 2, 0xf000, rowOptions{}},
		{0, "erspan.vlan", "", 0, 0, 0, 2, 0x0fff, rowOptions{}},
		{0, "erspan.cos", "", 0, 0, 2, 2, 0xe000, rowOptions{}},
		{0, "erspan.bso", "Bad/Short/Oversized", TypeUint16, Dec, 2, 2, 0x1800, rowOptions{}},
		{0, "erspan.truncated", "", 0, 0, 2, 2, 0x0400, rowOptions{}},
		{0, "erspan.spanid", "", 0, 0, 2, 2, 0x03ff, rowOptions{}},
		{0, "erspan.timestamp", "Timestamp", TypeUint32, Dec, 4, 4, 0, rowOptions{}},
		{0, "erspan.sgt", "Security Group Tag", TypeUint16, Dec, 8, 2, 0, rowOptions{}},
		{0, "erspan.p", "Has Ethernet PDU", TypeUint16, Dec, 10, 2, 0x8000, rowOptions{}},
		{0, "erspan.ft", "Frame Type", TypeUint16, Dec, 10, 2, 0x7c00, rowOptions{values: func(v uint64) string {
			return map[uint64]string{0: "Ethernet", 2: "IP"}[v]
		}}},
		{0, "erspan.hw", "Hardware ID", TypeUint16, Dec, 10, 2, 0x03f0, rowOptions{}},
		{0, "erspan.direction", "Direction", TypeBool, Dec, 10, 2, 0x0008, rowOptions{values: func(v uint64) string {
			return [2]string{"Incoming", "Outgoing"}[v&1]
		}}},
		{0, "erspan.gra", "Timestamp granularity", TypeUint16, Dec, 10, 2, 0x0006, rowOptions{values: func(v uint64) string {
			return [4]string{"100 microseconds", "100 nanoseconds", "IEEE 1588", "User defined"}[v&3]
		}}},
		{0, "erspan.o", "Optional Sub headers", TypeUint16, Dec, 10, 2, 0x0001, rowOptions{}},
	}},
	{LayerERSPAN3Sub, "erspan", "Platform Specific SubHeader", []row{
		{0, "erspan.platid", "Platform ID", TypeUint32, Dec, 0, 4, 0xfc000000, rowOptions{}},
		{0, "rocelens.erspan.subheader", "Sub-header", TypeBytes, Dec, 0, 8, 0, rowOptions{ours: true}},
	}},
	{LayerVXLAN, "vxlan", "Virtual eXtensible Local Area Network", []row{
		{0, "vxlan.flags", "Flags", TypeUint16, Hex, 0, 2, 0, rowOptions{}},
		{1, "vxlan.flag_g", "GBP Extension", TypeBool, Dec, 0, 2, 0x8000, rowOptions{}},
		{1, "vxlan.flag_i", "VXLAN Network ID (VNI)", TypeBool, Dec, 0, 2, 0x0800, rowOptions{}},
		{1, "vxlan.flag_d", "Don't Learn", TypeBool, Dec, 0, 2, 0x0040, rowOptions{}},
		{1, "vxlan.flag_a", "Policy Applied", TypeBool, Dec, 0, 2, 0x0008, rowOptions{}},
		{1, "vxlan.flags_reserved", "Reserved(R)", TypeUint16, Hex, 0, 2, 0x77b7, rowOptions{}},
		{0, "vxlan.gbp", "Group Policy ID", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{0, "vxlan.vni", "VXLAN Network Identifier (VNI)", TypeUint24, Dec, 4, 3, 0, rowOptions{}},
		{0, "vxlan.reserved8", "Reserved", TypeUint8, Dec, 7, 1, 0, rowOptions{}},
	}},
	{LayerGeneve, "geneve", "Generic Network Virtualization Encapsulation", []row{
		{0, "geneve.version", "Version", TypeUint8, Dec, 0, 1, 0xc0, rowOptions{}},
		{0, "geneve.flags", "Flags", TypeUint8, Hex, 1, 1, 0, rowOptions{}},
		{1, "geneve.flags.oam", "Operations, Administration and Management Frame", TypeBool, Dec, 1, 1, 0x80, rowOptions{}},
		{1, "geneve.flags.critical", "Critical Options Present", TypeBool, Dec, 1, 1, 0x40, rowOptions{}},
		{1, "geneve.flags.reserved", "Reserved", TypeBool, Dec, 1, 1, 0x3f, rowOptions{}},
		{0, "geneve.proto_type", "Protocol Type", TypeUint16, Hex, 2, 2, 0, rowOptions{values: etherTypeName}},
		{0, "geneve.vni", "Virtual Network Identifier (VNI)", TypeUint24, Hex, 4, 3, 0, rowOptions{}},
		{0, "geneve.options", "Geneve Options", TypeBytes, Dec, 8, 0, 0, rowOptions{}},
	}},
	{LayerMPA, "iwarp_mpa", "iWARP Marker Protocol data unit Aligned framing", []row{
		{0, "rocelens.iwarp", "RDMA over TCP, not RoCE", TypeBool, Dec, 0, 0, 0, rowOptions{ours: true, read: func(_ *Extra, _ *Packet, l Layer, v *Value) bool {
			v.Num, v.Off, v.Len = 1, l.Off, l.Len
			return true
		}}},
	}},
	{LayerIPoIB, "ipoib", "IP over InfiniBand", []row{
		{0, "ipoib.type", "Type", TypeUint16, Hex, 0, 2, 0, rowOptions{values: etherTypeName, read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			v.Off, v.Len = l.Off+l.Len-4, 2
			if l == p.cut { // only that of a link has 40 bytes ahead of it
				if v.Off = l.Off + 40; l.Len < 42 {
					return false
				}
			}
			v.Num = uint64(be16(p.Data[v.Off:]))
			return true
		}}},
	}},
}
