package decode

// The field table: InfiniBand's transport, RoCE's included. Where Wireshark
// lacks a field it is named in the same style.

var ibHeaders = []headerRows{
	{LayerLRH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.lrh", "Local Route Header", TypeBytes, Dec, 0, 8, 0, rowOptions{}},
		{1, "infiniband.lrh.vl", "Virtual Lane", TypeUint8, Hex, 0, 1, 0xf0, rowOptions{}},
		{1, "infiniband.lrh.lver", "Link Version", TypeUint8, Dec, 0, 1, 0x0f, rowOptions{}},
		{1, "infiniband.lrh.sl", "Service Level", TypeUint8, Dec, 1, 1, 0xf0, rowOptions{}},
		{1, "infiniband.lrh.reserved2", "Reserved (2 bits)", TypeUint8, Dec, 1, 1, 0x0c, rowOptions{}},
		{1, "infiniband.lrh.lnh", "Link Next Header", TypeUint8, Hex, 1, 1, 0x03, rowOptions{}},
		{1, "infiniband.lrh.dlid", "Destination Local ID", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{1, "infiniband.lrh.reserved5", "Reserved (5 bits)", TypeUint16, Dec, 4, 2, 0xf800, rowOptions{}},
		{1, "infiniband.lrh.pktlen", "Packet Length", TypeUint16, Dec, 4, 2, 0x07ff, rowOptions{}},
		{1, "infiniband.lrh.slid", "Source Local ID", TypeUint16, Dec, 6, 2, 0, rowOptions{}},
	}},
	{LayerGRH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.grh", "Global Route Header", TypeBytes, Dec, 0, 40, 0, rowOptions{}},
		{1, "infiniband.grh.ipver", "IP Version", TypeUint8, Dec, 0, 1, 0xf0, rowOptions{}},
		{1, "infiniband.grh.tclass", "Traffic Class", TypeUint16, Dec, 0, 2, 0x0ff0, rowOptions{}},
		{1, "infiniband.grh.flowlabel", "Flow Label", TypeUint32, Dec, 0, 4, 0x000fffff, rowOptions{}},
		{1, "infiniband.grh.paylen", "Payload Length", TypeUint16, Dec, 4, 2, 0, rowOptions{}},
		{1, "infiniband.grh.nxthdr", "Next Header", TypeUint8, Dec, 6, 1, 0, rowOptions{}},
		{1, "infiniband.grh.hoplmt", "Hop Limit", TypeUint8, Dec, 7, 1, 0, rowOptions{}},
		{1, "infiniband.grh.sgid", "Source GID", TypeIPv6, Dec, 8, 16, 0, rowOptions{}},
		{1, "infiniband.grh.dgid", "Destination GID", TypeIPv6, Dec, 24, 16, 0, rowOptions{}},
	}},
	{LayerBTH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.bth", "Base Transport Header", TypeBytes, Dec, 0, 12, 0, rowOptions{}},
		{1, "infiniband.bth.opcode", "Opcode", TypeUint8, Dec, 0, 1, 0, rowOptions{values: opcodeName}},
		{1, "infiniband.bth.se", "Solicited Event", TypeBool, Dec, 1, 1, 0x80, rowOptions{}},
		{1, "infiniband.bth.m", "MigReq", TypeBool, Dec, 1, 1, 0x40, rowOptions{}},
		{1, "infiniband.bth.padcnt", "Pad Count", TypeUint8, Dec, 1, 1, 0x30, rowOptions{}},
		{1, "infiniband.bth.tver", "Header Version", TypeUint8, Dec, 1, 1, 0x0f, rowOptions{}},
		{1, "infiniband.bth.p_key", "Partition Key", TypeUint16, Dec, 2, 2, 0, rowOptions{}},
		{1, "infiniband.reserved", "Reserved", TypeBytes, Dec, 4, 1, 0, rowOptions{}},
		{1, "infiniband.bth.fecn", "FECN", TypeBool, Dec, 4, 1, 0x80, rowOptions{ours: true}},
		{1, "infiniband.bth.becn", "BECN", TypeBool, Dec, 4, 1, 0x40, rowOptions{ours: true}},
		{1, "infiniband.bth.destqp", "Destination Queue Pair", TypeUint24, Hex, 5, 3, 0, rowOptions{}},
		{1, "infiniband.bth.a", "Acknowledge Request", TypeBool, Dec, 8, 1, 0x80, rowOptions{}},
		{1, "infiniband.bth.reserved7", "Reserved (7 bits)", TypeUint8, Dec, 8, 1, 0x7f, rowOptions{}},
		{1, "infiniband.bth.psn", "Packet Sequence Number", TypeUint24, Dec, 9, 3, 0, rowOptions{}},
	}},
	{LayerRDETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.rdeth", "Reliable Datagram Extended Transport Header", TypeBytes, Dec, 0, 4, 0, rowOptions{}},
		{1, "infiniband.reserved", "", 0, 0, 0, 1, 0, rowOptions{}},
		{1, "infiniband.rdeth.eecnxt", "E2E Context", TypeUint24, Dec, 1, 3, 0, rowOptions{}},
	}},
	{LayerDETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.deth", "Datagram Extended Transport Header", TypeBytes, Dec, 0, 8, 0, rowOptions{}},
		{1, "infiniband.deth.q_key", "Queue Key", TypeUint64, Hex, 0, 4, 0, rowOptions{}},
		{1, "infiniband.reserved", "", 0, 0, 4, 1, 0, rowOptions{}},
		{1, "infiniband.deth.srcqp", "Source Queue Pair", TypeUint32, Hex, 5, 3, 0, rowOptions{}},
	}},
	{LayerRETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.reth", "RDMA Extended Transport Header", TypeBytes, Dec, 0, 16, 0, rowOptions{}},
		{1, "infiniband.reth.va", "Virtual Address", TypeUint64, Hex, 0, 8, 0, rowOptions{}},
		{1, "infiniband.reth.r_key", "Remote Key", TypeUint32, Hex, 8, 4, 0, rowOptions{}},
		{1, "infiniband.reth.dmalen", "DMA Length", TypeUint32, Dec, 12, 4, 0, rowOptions{}},
	}},
	{LayerAtomicETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.atomiceth", "Atomic Extended Transport Header", TypeBytes, Dec, 0, 28, 0, rowOptions{}},
		{1, "infiniband.reth.va", "", 0, 0, 0, 8, 0, rowOptions{}},
		{1, "infiniband.reth.r_key", "", 0, 0, 8, 4, 0, rowOptions{}},
		{1, "infiniband.atomiceth.swapdt", "Swap (Or Add) Data", TypeUint64, Dec, 12, 8, 0, rowOptions{}},
		{1, "infiniband.atomiceth.cmpdt", "Compare Data", TypeUint64, Dec, 20, 8, 0, rowOptions{}},
	}},
	{LayerAETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.aeth", "ACK Extended Transport Header", TypeBytes, Dec, 0, 4, 0, rowOptions{}},
		{1, "infiniband.aeth.syndrome", "Syndrome", TypeUint8, Dec, 0, 1, 0, rowOptions{values: syndromeName}},
		{2, "infiniband.aeth.syndrome.reserved", "Reserved", TypeUint8, Dec, 0, 1, 0x80, rowOptions{}},
		{2, "infiniband.aeth.syndrome.opcode", "OpCode", TypeUint8, Dec, 0, 1, 0x60, rowOptions{values: func(v uint64) string {
			return [4]string{"Ack", "RNR Nak", "Reserved", "Nak"}[v&3]
		}}},
		{2, "infiniband.aeth.syndrome.credit_count", "Credit Count", TypeUint8, Dec, 0, 1, 0x1f, rowOptions{read: ifAck(Ack)}},
		{2, "infiniband.aeth.syndrome.timer", "Timer", TypeUint8, Dec, 0, 1, 0x1f, rowOptions{values: timerName, read: ifAck(RNRNak)}},
		{2, "infiniband.aeth.syndrome.reserved_value", "Reserved", TypeUint8, Dec, 0, 1, 0x1f, rowOptions{read: ifAck(AckReserved)}},
		{2, "infiniband.aeth.syndrome.error_code", "Error Code", TypeUint8, Dec, 0, 1, 0x1f, rowOptions{values: nakName, read: ifAck(Nak)}},
		{1, "infiniband.aeth.msn", "Message Sequence Number", TypeUint24, Dec, 1, 3, 0, rowOptions{}},
	}},
	{LayerAtomicAckETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.atomicacketh", "Atomic ACK Extended Transport Header", TypeBytes, Dec, 0, 8, 0, rowOptions{}},
		{1, "infiniband.atomicacketh.origremdt", "Original Remote Data", TypeUint64, Dec, 0, 8, 0, rowOptions{}},
	}},
	{LayerImmDt, "infiniband", "InfiniBand", []row{
		{0, "infiniband.immdt", "Immediate Data", TypeBytes, Dec, 0, 4, 0, rowOptions{}},
		{1, "infiniband.immdt", "", 0, 0, 0, 4, 0, rowOptions{hidden: true}},
	}},
	{LayerIETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.ieth", "RKey", TypeBytes, Dec, 0, 4, 0, rowOptions{}},
		{1, "infiniband.ieth", "", 0, 0, 0, 4, 0, rowOptions{hidden: true}},
	}},
	{LayerXRCETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.xrceth", "XRC Extended Transport Header", TypeBytes, Dec, 0, 4, 0, rowOptions{ours: true}},
		{1, "infiniband.xrceth.srqn", "XRC Shared Receive Queue", TypeUint24, Hex, 1, 3, 0, rowOptions{ours: true}},
	}},
	{LayerFETH, "infiniband", "InfiniBand", []row{
		{0, "infiniband.feth", "FLUSH Extended Transport Header", TypeBytes, Dec, 0, 4, 0, rowOptions{}},
		{1, "infiniband.feth.sel", "Selectivity Level", TypeUint8, Dec, 3, 1, 0x30, rowOptions{values: func(v uint64) string {
			return map[uint64]string{0: "Memory Region Range", 1: "Entire Memory Region"}[v]
		}}},
		{1, "infiniband.feth.plt", "Placement Type", TypeUint8, Dec, 3, 1, 0x0f, rowOptions{}},
	}},
	{LayerCNPReserved, "infiniband", "InfiniBand", []row{
		{0, "infiniband.cnp.reserved", "CNP reserved bytes", TypeBytes, Dec, 0, 16, 0, rowOptions{ours: true}},
	}},
	{LayerMAD, "infiniband", "InfiniBand", madRows([]row{
		{0, "infiniband.mad", "MAD (Management Datagram) Common Header", TypeBytes, Dec, 0, 24, 0, rowOptions{read: readMAD}},
		{1, "infiniband.mad.baseversion", "Base Version", TypeUint8, Hex, 0, 1, 0, rowOptions{}},
		{1, "infiniband.mad.mgmtclass", "Management Class", TypeUint8, Hex, 1, 1, 0, rowOptions{values: madClassName}},
		{1, "infiniband.mad.classversion", "Class Version", TypeUint8, Hex, 2, 1, 0, rowOptions{}},
		{1, "infiniband.mad.method", "Method", TypeUint8, Hex, 3, 1, 0, rowOptions{values: madMethodName}},
		{1, "infiniband.mad.status", "Status", TypeUint16, Hex, 4, 2, 0, rowOptions{}},
		{1, "infiniband.mad.classspecific", "Class Specific", TypeUint16, Hex, 6, 2, 0, rowOptions{}},
		{1, "infiniband.mad.transactionid", "Transaction ID", TypeUint64, Hex, 8, 8, 0, rowOptions{}},
		{1, "infiniband.mad.attributeid", "Attribute ID", TypeUint16, Hex, 16, 2, 0, rowOptions{}},
		{1, "infiniband.reserved", "", 0, 0, 18, 2, 0, rowOptions{}},
		{1, "infiniband.mad.attributemodifier", "Attribute Modifier", TypeUint32, Hex, 20, 4, 0, rowOptions{}},
		{1, "infiniband.mad.data", "MAD Data Payload", TypeBytes, Dec, 24, 0, 0, rowOptions{read: readMADData}},
	})},
	{LayerPayload, "data", "Payload", []row{
		{0, "data.data", "Data", TypeBytes, Dec, 0, 0, 0, rowOptions{read: readPayload}},
		{0, "data.len", "Length", TypeUint32, Dec, 0, 0, 0, rowOptions{read: readPayloadLen}},
	}},
	{LayerPad, "infiniband", "InfiniBand", []row{
		{0, "infiniband.pad", "Pad", TypeBytes, Dec, 0, 0, 0, rowOptions{ours: true}},
	}},
	{LayerICRC, "infiniband", "InfiniBand", []row{
		{0, "infiniband.invariant.crc", "Invariant CRC", TypeUint32, Hex, 0, 4, 0, rowOptions{}},
		{0, "", "Invariant CRC, not in this frame", TypeNone, Dec, 0, 0, 0, rowOptions{read: readMissing}},
		{1, "infiniband.icrc.status", "ICRC status", TypeString, Dec, 0, 4, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
			v.Bytes = icrcStatusBytes[p.ICRCStatus]
			return true
		}}},
		{1, "infiniband.icrc.expected", "ICRC expected", TypeUint32, Hex, 0, 4, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
			v.Num = uint64(p.ICRCExpected)
			return p.ICRCStatus == ICRCBad
		}}},
	}},
	{LayerVCRC, "infiniband", "InfiniBand", []row{
		{0, "infiniband.variant.crc", "Variant CRC", TypeUint16, Hex, 0, 2, 0, rowOptions{}},
		{0, "", "Variant CRC, not in this frame", TypeNone, Dec, 0, 0, 0, rowOptions{read: readMissing}},
		{1, "infiniband.vcrc.status", "VCRC status", TypeString, Dec, 0, 2, 0, rowOptions{ours: true, read: func(_ *Extra, p *Packet, _ Layer, v *Value) bool {
			v.Bytes = icrcStatusBytes[p.VCRCStatus]
			return true
		}}},
	}},
	{LayerData, "data", "Data", []row{
		{0, "data.data", "", 0, 0, 0, 0, 0, rowOptions{}},
		{0, "data.len", "", 0, 0, 0, 0, 0, rowOptions{read: func(_ *Extra, _ *Packet, l Layer, v *Value) bool {
			v.Num, v.Off, v.Len = uint64(l.Len), l.Off, l.Len
			return true
		}}},
	}},
}
