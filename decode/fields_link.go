package decode

// The field table: the frame itself, and link headers. Names, labels, types
// and masks are Wireshark's.

// commentHeader is ahead of the frame's own fields.
var commentHeader = headerRows{LayerNone, "pkt_comment", "Packet comments", []row{
	{0, "frame.comment", "Comment", TypeString, Dec, 0, 0, 0, rowOptions{each: readComment}},
}}

var frameHeader = headerRows{LayerNone, "frame", "Frame", []row{
	{0, "frame.interface_id", "Interface id", TypeUint32, Dec, 0, 0, 0, rowOptions{read: readInterfaceID}},
	{1, "frame.interface_name", "Interface name", TypeString, Dec, 0, 0, 0, rowOptions{read: readInterfaceName}},
	{1, "frame.interface_description", "Interface description", TypeString, Dec, 0, 0, 0, rowOptions{read: readInterfaceDescription}},
	{0, "frame.encap_type", "Encapsulation type", TypeUint16, Dec, 0, 0, 0, rowOptions{read: readEncapType}},
	{0, "frame.time", "Arrival Time", TypeTime, Dec, 0, 0, 0, rowOptions{read: readTime}},
	{0, "frame.offset_shift", "Time shift for this packet", TypeDuration, Dec, 0, 0, 0, rowOptions{read: readZero}},
	{0, "frame.time_epoch", "Epoch Time", TypeDuration, Dec, 0, 0, 0, rowOptions{read: readTime}},
	{0, "frame.time_delta", "Time delta from previous captured frame", TypeDuration, Dec, 0, 0, 0, rowOptions{read: readTimeDelta}},
	{0, "frame.time_delta_displayed", "Time delta from previous displayed frame", TypeDuration, Dec, 0, 0, 0, rowOptions{read: readTimeDisplayed}},
	{0, "frame.time_relative", "Time since reference or first frame", TypeDuration, Dec, 0, 0, 0, rowOptions{read: readTimeRelative}},
	{0, "frame.number", "Frame Number", TypeUint32, Dec, 0, 0, 0, rowOptions{read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Num = p.Frame.Number
		return true
	}}},
	{0, "frame.len", "Frame length on the wire", TypeUint32, Dec, 0, 0, 0, rowOptions{read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Num = uint64(p.WireLen)
		return true
	}}},
	{0, "frame.cap_len", "Frame length stored into the capture file", TypeUint32, Dec, 0, 0, 0, rowOptions{read: readCapLen}},
	{0, "frame.file_off", "File Offset", TypeUint64, Dec, 0, 0, 0, rowOptions{byName: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Num = uint64(p.Frame.Offset)
		return true
	}}},
	{0, "frame.marked", "Frame is marked", TypeBool, Dec, 0, 0, 0, rowOptions{read: readZero}},
	{0, "frame.ignored", "Frame is ignored", TypeBool, Dec, 0, 0, 0, rowOptions{read: readZero}},
	{0, "frame.protocols", "Protocols in frame", TypeString, Dec, 0, 0, 0, rowOptions{read: readProtocols}},
	{0, "rocelens.kind", "Kind of frame", TypeString, Dec, 0, 0, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Bytes = kindBytes[p.Kind]
		return true
	}}},
	{0, "rocelens.truncated", "Frame is cut short", TypeBool, Dec, 0, 0, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Num = boolNum(p.Truncated())
		return true
	}}},
	{0, "rocelens.malformed", "Headers contradict one another", TypeBool, Dec, 0, 0, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
		v.Num = boolNum(p.Malformed())
		return true
	}}},
	{0, "rocelens.error", "Decoding stopped", TypeString, Dec, 0, 0, 0, rowOptions{ours: true, read: func(x *Extra, p *Packet, _ Layer, v *Value) bool {
		if p.Err.Code == ErrNone {
			return false
		}
		v.Bytes = x.text(p.Err.Error())
		v.Off = p.Err.Offset
		return true
	}}},
}}

// headers are all headers but the frame, by the layer that they describe.
var headers = append(append(append(linkHeaders, ipHeaders...), tunnelHeaders...), ibHeaders...)

var linkHeaders = []headerRows{
	{LayerERF, "erf", "Extensible Record Format", []row{
		{0, "erf.ts", "Timestamp", TypeUint64, Hex, 0, 8, 0, rowOptions{read: readERFTime}},
		{0, "erf.types", "Record type", TypeUint8, Hex, 8, 1, 0, rowOptions{}},
		{1, "erf.types.type", "Type", TypeUint8, Dec, 8, 1, 0x7f, rowOptions{}},
		{1, "erf.types.ext_header", "Extension header present", TypeUint8, Dec, 8, 1, 0x80, rowOptions{}},
		{0, "erf.flags", "Flags", TypeUint8, Hex, 9, 1, 0, rowOptions{}},
		{1, "erf.flags.cap", "Capture interface", TypeUint8, Dec, 9, 1, 0x03, rowOptions{}},
		{1, "erf.flags.vlen", "Varying record length", TypeUint8, Dec, 9, 1, 0x04, rowOptions{}},
		{1, "erf.flags.trunc", "Truncated", TypeUint8, Dec, 9, 1, 0x08, rowOptions{}},
		{1, "erf.flags.rxe", "RX error", TypeUint8, Dec, 9, 1, 0x10, rowOptions{}},
		{1, "erf.flags.dse", "DS error", TypeUint8, Dec, 9, 1, 0x20, rowOptions{}},
		{1, "erf.flags.res", "Reserved", TypeUint8, Hex, 9, 1, 0xc0, rowOptions{}},
		{0, "erf.rlen", "Record length", TypeUint16, Dec, 10, 2, 0, rowOptions{}},
		{0, "erf.lctr", "Loss counter", TypeUint16, Dec, 12, 2, 0, rowOptions{}},
		{0, "erf.wlen", "Wire length", TypeUint16, Dec, 14, 2, 0, rowOptions{}},
	}},
	{LayerEthernet, "eth", "Ethernet II", []row{
		{0, "eth.dst", "Destination", TypeEther, Dec, 0, 6, 0, rowOptions{}},
		{1, "eth.dst.oui", "Destination OUI", TypeUint24, Dec, 0, 3, 0, rowOptions{hidden: true}},
		{1, "eth.addr", "Address", TypeEther, Dec, 0, 6, 0, rowOptions{}},
		{1, "eth.addr.oui", "Address OUI", TypeUint24, Dec, 0, 3, 0, rowOptions{hidden: true}},
		{1, "eth.dst.lg", "LG bit", TypeBool, Dec, 0, 3, 0x020000, rowOptions{values: lgBit}},
		{1, "eth.lg", "LG bit", TypeBool, Dec, 0, 3, 0x020000, rowOptions{hidden: true, values: lgBit}},
		{1, "eth.dst.ig", "IG bit", TypeBool, Dec, 0, 3, 0x010000, rowOptions{values: igBit}},
		{1, "eth.ig", "IG bit", TypeBool, Dec, 0, 3, 0x010000, rowOptions{hidden: true, values: igBit}},
		{0, "eth.src", "Source", TypeEther, Dec, 6, 6, 0, rowOptions{}},
		{1, "eth.src.oui", "Source OUI", TypeUint24, Dec, 6, 3, 0, rowOptions{hidden: true}},
		{1, "eth.addr", "", 0, 0, 6, 6, 0, rowOptions{}},
		{1, "eth.addr.oui", "", 0, 0, 6, 3, 0, rowOptions{hidden: true}},
		{1, "eth.src.lg", "LG bit", TypeBool, Dec, 6, 3, 0x020000, rowOptions{values: lgBit}},
		{1, "eth.lg", "", 0, 0, 6, 3, 0x020000, rowOptions{hidden: true}},
		{1, "eth.src.ig", "IG bit", TypeBool, Dec, 6, 3, 0x010000, rowOptions{values: igBit}},
		{1, "eth.ig", "", 0, 0, 6, 3, 0x010000, rowOptions{hidden: true}},
		{0, "eth.type", "Type", TypeUint16, Hex, 12, 2, 0, rowOptions{values: etherTypeName, read: readEtherType}},
		{0, "eth.len", "Length", TypeUint16, Dec, 12, 2, 0, rowOptions{read: readEtherLen}},
	}},
	{LayerSLL, "sll", "Linux cooked capture v1", []row{
		{0, "sll.pkttype", "Packet type", TypeUint16, Dec, 0, 2, 0, rowOptions{values: sllPacketType}},
		{0, "sll.hatype", "Link-layer address type", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{0, "sll.halen", "Link-layer address length", TypeUint16, Dec, 4, 2, 0, rowOptions{}},
		{0, "sll.src.eth", "Source", TypeEther, Dec, 6, 6, 0, rowOptions{read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			b := p.Bytes(l)
			v.Bytes = b[6:12]
			return be16(b[4:]) == 6
		}}},
		{0, "sll.unused", "Unused", TypeBytes, Dec, 12, 2, 0, rowOptions{}},
		{0, "sll.etype", "Protocol", TypeUint16, Hex, 14, 2, 0, rowOptions{values: etherTypeName}},
	}},
	{LayerSLL2, "sll", "Linux cooked capture v2", []row{
		{0, "sll.etype", "", 0, 0, 0, 2, 0, rowOptions{}},
		{0, "sll.ifindex", "Interface index", TypeUint32, Dec, 4, 4, 0, rowOptions{}},
		{0, "sll.hatype", "", 0, 0, 8, 2, 0, rowOptions{}},
		{0, "sll.pkttype", "", 0, 0, 10, 1, 0, rowOptions{}},
		{0, "sll.halen", "", 0, 0, 11, 1, 0, rowOptions{}},
		{0, "sll.src.eth", "", 0, 0, 12, 6, 0, rowOptions{read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			b := p.Bytes(l)
			v.Bytes = b[12:18]
			return b[11] == 6
		}}},
		{0, "sll.unused", "", 0, 0, 18, 2, 0, rowOptions{}},
	}},
	{LayerNull, "null", "Null/Loopback", []row{
		{0, "null.family", "Family", TypeUint32, Dec, 0, 4, 0, rowOptions{read: func(_ *Extra, p *Packet, l Layer, v *Value) bool {
			v.Num = uint64(addressFamily(p.Bytes(l)))
			return true
		}}},
	}},
	{LayerVLAN, "vlan", "802.1Q Virtual LAN", []row{
		{0, "vlan.priority", "Priority", TypeUint16, Dec, 0, 2, 0xe000, rowOptions{values: vlanPriority}},
		{0, "vlan.dei", "DEI", TypeBool, Dec, 0, 2, 0x1000, rowOptions{values: func(v uint64) string {
			return [2]string{"Ineligible", "Eligible"}[v&1]
		}}},
		{0, "vlan.id", "ID", TypeUint16, Dec, 0, 2, 0x0fff, rowOptions{}},
		{0, "vlan.etype", "Type", TypeUint16, Hex, 2, 2, 0, rowOptions{values: etherTypeName, read: readTagType}},
		{0, "vlan.len", "Length", TypeUint16, Dec, 2, 2, 0, rowOptions{read: readTagLen}},
	}},
	{LayerSTag, "ieee8021ad", "IEEE 802.1ad", []row{
		{0, "ieee8021ad.priority", "Priority", TypeUint16, Dec, 0, 2, 0xe000, rowOptions{values: vlanPriority}},
		{0, "ieee8021ad.dei", "DEI", TypeUint16, Dec, 0, 2, 0x1000, rowOptions{}},
		{0, "ieee8021ad.id", "ID", TypeUint16, Dec, 0, 2, 0x0fff, rowOptions{}},
		{0, "ieee8021ah.etype", "Type", TypeUint16, Hex, 2, 2, 0, rowOptions{values: etherTypeName}},
	}},
	{LayerVNTag, "vntag", "VN-Tag", []row{
		{0, "vntag.dir", "Direction", TypeBool, Dec, 0, 4, 0x80000000, rowOptions{values: func(v uint64) string {
			return [2]string{"From Bridge", "To Bridge"}[v&1]
		}}},
		{0, "vntag.ptr", "Pointer", TypeBool, Dec, 0, 4, 0x40000000, rowOptions{values: func(v uint64) string { return [2]string{"vif_id", "vif_list_id"}[v&1] }}},
		{0, "vntag.dst", "Destination", TypeUint32, Dec, 0, 4, 0x3fff0000, rowOptions{}},
		{0, "vntag.looped", "Looped", TypeBool, Dec, 0, 4, 0x8000, rowOptions{}},
		{0, "vntag.r", "Reserved", TypeUint32, Dec, 0, 4, 0x4000, rowOptions{}},
		{0, "vntag.version", "Version", TypeUint32, Dec, 0, 4, 0x3000, rowOptions{}},
		{0, "vntag.src", "Source", TypeUint32, Dec, 0, 4, 0x0fff, rowOptions{}},
		{0, "vntag.etype", "Type", TypeUint16, Hex, 4, 2, 0, rowOptions{values: etherTypeName}},
	}},
	{LayerTTag, "ttag", "Cisco timestamp tag", []row{
		{0, "rocelens.ttag.raw", "Time stamp, as it is", TypeBytes, Dec, 0, 6, 0, rowOptions{ours: true}},
		{0, "ttag.type", "Type", TypeUint16, Hex, 6, 2, 0, rowOptions{values: etherTypeName}},
	}},
	{LayerCMD, "cmd", "Cisco MetaData", []row{
		{0, "cmd.version", "Version", TypeUint8, Dec, 0, 1, 0, rowOptions{}},
		{0, "cmd.length", "Length", TypeUint8, Dec, 1, 1, 0, rowOptions{}},
		{0, "cmd.options", "Options", TypeUint16, Hex, 2, 2, 0, rowOptions{}},
		{0, "cmd.sgt", "SGT", TypeUint16, Dec, 4, 2, 0, rowOptions{}},
		{0, "cmd.type", "Type", TypeUint16, Hex, 6, 2, 0, rowOptions{values: etherTypeName}},
	}},
	{LayerAVSP, "avsp", "Arista Vendor Specific Protocol", []row{
		{0, "rocelens.avsp.subtype", "Subtype", TypeUint16, Hex, 0, 2, 0, rowOptions{ours: true}},
		{0, "rocelens.avsp.version", "Version", TypeUint16, Hex, 2, 2, 0, rowOptions{ours: true}},
	}},
	{LayerMPLS, "mpls", "MultiProtocol Label Switching Header", []row{
		{0, "mpls.label", "MPLS Label", TypeUint32, Dec, 0, 4, 0xfffff000, rowOptions{}},
		{0, "mpls.exp", "MPLS Experimental Bits", TypeUint32, Dec, 0, 4, 0xe00, rowOptions{}},
		{0, "mpls.bottom", "MPLS Bottom Of Label Stack", TypeUint32, Dec, 0, 4, 0x100, rowOptions{}},
		{0, "mpls.ttl", "MPLS TTL", TypeUint32, Dec, 0, 4, 0xff, rowOptions{}},
	}},
	{LayerControlWord, "pwethcw", "PW Ethernet Control Word", []row{
		{0, "pweth.cw.sequence_number", "PW sequence number (ethernet)", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
	}},
	{LayerLLC, "llc", "Logical-Link Control", []row{
		{0, "llc.dsap", "DSAP", TypeUint8, Hex, 0, 1, 0, rowOptions{}},
		{0, "llc.ssap", "SSAP", TypeUint8, Hex, 1, 1, 0, rowOptions{}},
		{0, "llc.control", "Control", TypeUint16, Hex, 2, 1, 0, rowOptions{read: readLLCControl}},
		{0, "llc.oui", "Organization Code", TypeUint24, Dec, 3, 3, 0, rowOptions{read: ifSNAP(readNumber(3, 3, 0))}},
		{0, "llc.type", "Type", TypeUint16, Hex, 6, 2, 0, rowOptions{values: etherTypeName, read: ifSNAP(func(x *Extra, p *Packet, l Layer, v *Value) bool {
			return l.Len >= llcLen+snapLen && be24(p.Data[l.Off+3:]) == 0 && readNumber(6, 2, 0)(x, p, l, v)
		})}},
	}},
	{LayerMACControl, "macc", "MAC Control", []row{
		{0, "macc.opcode", "Opcode", TypeUint16, Hex, 0, 2, 0, rowOptions{values: macOpcodeName}},
		{0, "macc.pause_time", "pause_time", TypeUint16, Dec, 2, 2, 0, rowOptions{read: readPauseTime}},
		{0, "macc.cbfc.enbv", "CBFC Class Enable Vector", TypeUint16, Hex, 2, 2, 0, rowOptions{read: ifPFC(readNumber(2, 2, 0))}},
		{1, "macc.cbfc.enbv.c0", "C0", TypeBool, Dec, 2, 2, 1 << 0, rowOptions{read: ifPFC(readNumber(2, 2, 1<<0))}},
		{1, "macc.cbfc.enbv.c1", "C1", TypeBool, Dec, 2, 2, 1 << 1, rowOptions{read: ifPFC(readNumber(2, 2, 1<<1))}},
		{1, "macc.cbfc.enbv.c2", "C2", TypeBool, Dec, 2, 2, 1 << 2, rowOptions{read: ifPFC(readNumber(2, 2, 1<<2))}},
		{1, "macc.cbfc.enbv.c3", "C3", TypeBool, Dec, 2, 2, 1 << 3, rowOptions{read: ifPFC(readNumber(2, 2, 1<<3))}},
		{1, "macc.cbfc.enbv.c4", "C4", TypeBool, Dec, 2, 2, 1 << 4, rowOptions{read: ifPFC(readNumber(2, 2, 1<<4))}},
		{1, "macc.cbfc.enbv.c5", "C5", TypeBool, Dec, 2, 2, 1 << 5, rowOptions{read: ifPFC(readNumber(2, 2, 1<<5))}},
		{1, "macc.cbfc.enbv.c6", "C6", TypeBool, Dec, 2, 2, 1 << 6, rowOptions{read: ifPFC(readNumber(2, 2, 1<<6))}},
		{1, "macc.cbfc.enbv.c7", "C7", TypeBool, Dec, 2, 2, 1 << 7, rowOptions{read: ifPFC(readNumber(2, 2, 1<<7))}},
		{0, "", "CBFC Class Pause Times", TypeNone, Dec, 4, 16, 0, rowOptions{read: ifPFC(readGroup)}},
		{1, "macc.cbfc.pause_time.c0", "C0", TypeUint16, Dec, 4, 2, 0, rowOptions{read: ifPFC(readNumber(4, 2, 0))}},
		{1, "macc.cbfc.pause_time.c1", "C1", TypeUint16, Dec, 6, 2, 0, rowOptions{read: ifPFC(readNumber(6, 2, 0))}},
		{1, "macc.cbfc.pause_time.c2", "C2", TypeUint16, Dec, 8, 2, 0, rowOptions{read: ifPFC(readNumber(8, 2, 0))}},
		{1, "macc.cbfc.pause_time.c3", "C3", TypeUint16, Dec, 10, 2, 0, rowOptions{read: ifPFC(readNumber(10, 2, 0))}},
		{1, "macc.cbfc.pause_time.c4", "C4", TypeUint16, Dec, 12, 2, 0, rowOptions{read: ifPFC(readNumber(12, 2, 0))}},
		{1, "macc.cbfc.pause_time.c5", "C5", TypeUint16, Dec, 14, 2, 0, rowOptions{read: ifPFC(readNumber(14, 2, 0))}},
		{1, "macc.cbfc.pause_time.c6", "C6", TypeUint16, Dec, 16, 2, 0, rowOptions{read: ifPFC(readNumber(16, 2, 0))}},
		{1, "macc.cbfc.pause_time.c7", "C7", TypeUint16, Dec, 18, 2, 0, rowOptions{read: ifPFC(readNumber(18, 2, 0))}},
	}},
}
