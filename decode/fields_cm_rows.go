package decode

const reservedField = "infiniband.reserved"

// cmIDs are a message's two IDs, and its private data behind them if it has
// some.
func cmIDs(prefix string, private int) []cmRow {
	rows := []cmRow{
		{0, prefix + "localcommid", "Local Communication ID", TypeUint32, Hex, 0, 4, 0, nil, nil},
		{0, prefix + "remotecommid", "Remote Communication ID", TypeUint32, Hex, 4, 4, 0, nil, nil},
	}
	if private > 0 {
		rows = append(rows, cmPrivate(prefix, 8, private))
	}
	return rows
}

func cmPrivate(prefix string, off, n int) cmRow {
	return cmRow{0, prefix + "private", "PrivateData", TypeBytes, Dec, off, -n, 0, nil, nil}
}

// cmServiceID is a service ID, and its parts if it is RDMA-CM's.
func cmServiceID(prefix string, off int) []cmRow {
	is := ifIPCM(off)
	return []cmRow{
		{0, prefix + "serviceid", "ServiceID", TypeUint64, Hex, off, 8, 0, cmService, nil},
		{1, prefix + "serviceid.prefix", "Prefix", TypeBytes, Dec, off, 5, 0, nil, is},
		{1, prefix + "serviceid.protocol", "Protocol", TypeUint8, Hex, off + 5, 1, 0, nil, is},
		{1, prefix + "serviceid.dport", "Destination Port", TypeUint16, Hex, off + 6, 2, 0, nil, is},
	}
}

// cmIP is RDMA-CM's header in the private data of n bytes at off, and that
// data where the service ID is none of RDMA-CM's.
func cmIP(prefix string, service, off, n int) []cmRow {
	is, v4, v6 := ifIPCM(service), ifIP(service, off, 4), ifIP(service, off, 6)
	private := cmPrivate(prefix, off, n)
	private.cond = ifNotIPCM(service)
	return []cmRow{
		private,
		{0, prefix + "ip_cm", "IP CM Request Msg", TypeBytes, Dec, off, -n, 0, nil, is},
		{1, prefix + "ip_cm.majv", "IP CM Major Version", TypeUint8, Hex, off, 1, 0xf0, nil, is},
		{1, prefix + "ip_cm.minv", "IP CM Minor Version", TypeUint8, Hex, off, 1, 0x0f, nil, is},
		{1, prefix + "ip_cm.ipv", "IP CM IP Version", TypeUint8, Hex, off + 1, 1, 0xf0, nil, is},
		{1, prefix + "ip_cm.reserved", "IP CM Reserved", TypeUint8, Hex, off + 1, 1, 0x0f, nil, is},
		{1, prefix + "ip_cm.sport", "IP CM Source Port", TypeUint16, Hex, off + 2, 2, 0, nil, is},
		{1, prefix + "ip_cm.sip6", "IP CM Source IP", TypeIPv6, Dec, off + 4, 16, 0, nil, v6},
		{1, prefix + "ip_cm.dip6", "IP CM Destination IP", TypeIPv6, Dec, off + 20, 16, 0, nil, v6},
		{1, prefix + "ip_cm.sip4", "IP CM Source IP", TypeIPv4, Dec, off + 16, 4, 0, nil, v4},
		{1, prefix + "ip_cm.dip4", "IP CM Destination IP", TypeIPv4, Dec, off + 32, 4, 0, nil, v4},
		{1, prefix + "ip_cm.private", "IP CM Consumer PrivateData", TypeBytes, Dec, off + 36, 36 - n, 0, nil, is},
	}
}

// cmPath is the part of a REQ's path behind its GIDs. Wireshark 4.0 reads
// three of the label's four bytes, and reserved bits and rate from the first
// of them; here they are where they are.
func cmPath(prefix, label string, off int, last string) []cmRow {
	return []cmRow{
		{0, prefix + "flowlabel", label + " Flow Label", TypeUint32, Hex, off, 4, 0xfffff000, nil, nil},
		{0, prefix + "reserved0", "Reserved", TypeUint32, Hex, off, 4, 0xfc0, nil, nil},
		{0, prefix + "pktrate", label + " Packet Rate", TypeUint32, Hex, off, 4, 0x3f, nil, nil},
		{0, prefix + "tfcclass", label + " Traffic Class", TypeUint8, Hex, off + 4, 1, 0, nil, nil},
		{0, prefix + "hoplim", label + " Hop Limit", TypeUint8, Hex, off + 5, 1, 0, nil, nil},
		{0, prefix + "sl", label + " SL", TypeUint8, Hex, off + 6, 1, 0xf0, nil, nil},
		{0, prefix + "subnetlocal", label + " Subnet Local", TypeUint8, Hex, off + 6, 1, 0x08, nil, nil},
		{0, prefix + "reserved1", "Reserved", TypeUint8, Hex, off + 6, 1, 0x07, nil, nil},
		{0, prefix + "localacktout", label + " Local ACK Timeout", TypeUint8, Hex, off + 7, 1, 0xf8, cmAckTimeout, nil},
		{0, prefix + last, "Reserved", TypeUint8, Hex, off + 7, 1, 0x07, nil, nil},
	}
}

func join(parts ...[]cmRow) (all []cmRow) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var cmREQ = join([]cmRow{
	{0, "req", "Local Communication ID", TypeUint32, Hex, 0, 4, 0, nil, nil},
	{0, reservedField, "", 0, 0, 4, 4, 0, nil, nil},
}, cmServiceID("req.", 8), []cmRow{
	{0, "req.localcaguid", "Local CA GUID", TypeUint64, Hex, 16, 8, 0, nil, nil},
	{0, reservedField, "", 0, 0, 24, 4, 0, nil, nil},
	{0, "req.localqkey", "Local Q_Key", TypeUint32, Hex, 28, 4, 0, nil, nil},
	{0, "req.localqpn", "Local QPN", TypeUint24, Hex, 32, 3, 0, nil, nil},
	{0, "req.responderres", "Responder Resources", TypeUint8, Hex, 35, 1, 0, nil, nil},
	{0, "req.localeecn", "Local EECN", TypeUint24, Hex, 36, 3, 0, nil, nil},
	{0, "req.initdepth", "Initiator Depth", TypeUint8, Hex, 39, 1, 0, nil, nil},
	{0, "req.remoteeecn", "Remote EECN", TypeUint24, Hex, 40, 3, 0, nil, nil},
	{0, "req.remoteresptout", "Remote CM Response Timeout", TypeUint8, Hex, 43, 1, 0xf8, cmTimeout, nil},
	{0, "req.transpsvctype", "Transport Service Type", TypeUint8, Hex, 43, 1, 0x06, cmTransport, nil},
	{0, "req.e2eflowctrl", "End-to-End Flow Control", TypeUint8, Hex, 43, 1, 0x01, nil, nil},
	{0, "req.startpsn", "Starting PSN", TypeUint24, Hex, 44, 3, 0, nil, nil},
	{0, "req.localresptout", "Local CM Response Timeout", TypeUint8, Hex, 47, 1, 0xf8, cmTimeout, nil},
	{0, "req.retrcount", "Retry Count", TypeUint8, Hex, 47, 1, 0x07, nil, nil},
	{0, "req.pkey", "Partition Key", TypeUint16, Hex, 48, 2, 0, nil, nil},
	{0, "req.pppmtu", "Path Packet Payload MTU", TypeUint8, Hex, 50, 1, 0xf0, cmMTU, nil},
	{0, "req.rdcexist", "RDC Exists", TypeUint8, Hex, 50, 1, 0x08, nil, nil},
	{0, "req.rnrretrcount", "RNR Retry Count", TypeUint8, Hex, 50, 1, 0x07, cmRNRRetry, nil},
	{0, "req.maxcmretr", "Max CM Retries", TypeUint8, Hex, 51, 1, 0xf0, nil, nil},
	{0, "req.srq", "SRQ", TypeUint8, Hex, 51, 1, 0x08, nil, nil},
	{0, "req.ext_transport", "Extended Transport", TypeUint8, Hex, 51, 1, 0x07, cmExtended, nil},
	{0, "req.prim_locallid", "Primary Local Port LID", TypeUint16, Dec, 52, 2, 0, nil, nil},
	{0, "req.prim_remotelid", "Primary Remote Port LID", TypeUint16, Dec, 54, 2, 0, nil, nil},
	{0, "req.prim_localgid", "Primary Local Port GID", TypeIPv6, Dec, 56, 16, 0, nil, ifMapped(56, false)},
	{0, "req.prim_remotegid", "Primary Remote Port GID", TypeIPv6, Dec, 72, 16, 0, nil, ifMapped(72, false)},
	{0, "req.prim_localgid_ipv4", "Primary Local Port GID", TypeIPv4, Dec, 68, 4, 0, nil, ifMapped(56, true)},
	{0, "req.prim_remotegid_ipv4", "Primary Remote Port GID", TypeIPv4, Dec, 84, 4, 0, nil, ifMapped(72, true)},
}, cmPath("req.prim_", "Primary", 88, "reserved2"), []cmRow{
	{0, "req.alt_locallid", "Alternate Local Port LID", TypeUint16, Dec, 96, 2, 0, nil, nil},
	{0, "req.alt_remotelid", "Alternate Remote Port LID", TypeUint16, Dec, 98, 2, 0, nil, nil},
	{0, "req.alt_localgid", "Alternate Local Port GID", TypeBytes, Dec, 100, 16, 0, nil, nil},
	{0, "req.alt_remotegid", "Alternate Remote Port GID", TypeBytes, Dec, 116, 16, 0, nil, nil},
}, cmPath("req.alt_", "Alternate", 132, "reserved1"), cmIP("req.", 8, 140, 92))

var cmREP = []cmRow{
	{0, "rep", "Local Communication ID", TypeUint32, Hex, 0, 4, 0, nil, nil},
	{0, "rep.remotecommid", "Remote Communication ID", TypeUint32, Hex, 4, 4, 0, nil, nil},
	{0, "rep.localqkey", "Local Q_Key", TypeUint32, Hex, 8, 4, 0, nil, nil},
	{0, "rep.localqpn", "Local QPN", TypeUint24, Hex, 12, 3, 0, nil, nil},
	{0, reservedField, "", 0, 0, 15, 1, 0, nil, nil},
	{0, "rep.localeecn", "Local EE Context Number", TypeUint24, Hex, 16, 3, 0, nil, nil},
	{0, reservedField, "", 0, 0, 19, 1, 0, nil, nil},
	{0, "rep.startpsn", "Starting PSN", TypeUint24, Hex, 20, 3, 0, nil, nil},
	{0, reservedField, "", 0, 0, 23, 1, 0, nil, nil},
	{0, "rep.respres", "Responder Resources", TypeUint8, Hex, 24, 1, 0, nil, nil},
	{0, "rep.initdepth", "Initiator Depth", TypeUint8, Hex, 25, 1, 0, nil, nil},
	{0, "rep.tgtackdelay", "Target ACK Delay", TypeUint8, Hex, 26, 1, 0xf8, cmTimeout, nil},
	{0, "rep.failoveracc", "Failover Accepted", TypeUint8, Hex, 26, 1, 0x06, cmFailover, nil},
	{0, "rep.e2eflowctrl", "End-To-End Flow Control", TypeUint8, Hex, 26, 1, 0x01, nil, nil},
	{0, "rep.rnrretrcount", "RNR Retry Count", TypeUint8, Hex, 27, 1, 0xe0, cmRNRRetry, nil},
	{0, "rep.srq", "SRQ", TypeUint8, Hex, 27, 1, 0x10, nil, nil},
	{0, "rep.reserved", "Reserved", TypeUint8, Hex, 27, 1, 0x0f, nil, nil},
	{0, "rep.localcaguid", "Local CA GUID", TypeUint64, Hex, 28, 8, 0, nil, nil},
	cmPrivate("rep.", 36, 196),
}

var cmREJ = join(cmIDs("rej.", 0), []cmRow{
	{0, "rej.msgrej", "Message REJected", TypeUint8, Hex, 8, 1, 0xc0, cmMessage, nil},
	{0, "rej.reserved0", "Reserved", TypeUint8, Hex, 8, 1, 0x03, nil, nil},
	{0, "rej.rejinfolen", "Reject Info Length", TypeUint8, Hex, 9, 1, 0xfe, nil, nil},
	{0, "rej.reserved1", "Reserved", TypeUint8, Hex, 9, 1, 0x01, nil, nil},
	{0, "rej.reason", "Reason", TypeUint16, Hex, 10, 2, 0, cmReason, nil},
	{0, "rej.ari", "Additional Reject Information (ARI)", TypeBytes, Dec, 12, -72, 0, nil, nil},
	cmPrivate("rej.", 84, 148),
})

var cmDREQ = join(cmIDs("dreq.", 0), []cmRow{
	{0, "req.remoteqpneecn", "Remote QPN/EECN", TypeUint24, Hex, 8, 3, 0, nil, nil}, // Wireshark's name
	{0, reservedField, "", 0, 0, 11, 1, 0, nil, nil},
	cmPrivate("dreq.", 12, 220),
})

var cmMRA = join(cmIDs("mra.", 0), []cmRow{
	{0, "mra.msgmraed", "Message MRAed", TypeUint8, Hex, 8, 1, 0xc0, cmMessage, nil},
	{0, "mra.servicetout", "Service Timeout", TypeUint8, Hex, 9, 1, 0xf8, cmTimeout, nil},
	cmPrivate("mra.", 10, 222),
})

var cmLAP = join(cmIDs("lap.", 0), []cmRow{
	{0, "lap.remoteqpneecn", "Remote QPN/EECN", TypeUint24, Hex, 12, 3, 0, nil, nil},
	{0, "lap.remoteresptout", "Remote CM Response Timeout", TypeUint8, Hex, 15, 1, 0xf8, cmTimeout, nil},
	{0, "lap.alt_locallid", "Alternate Local Port LID", TypeUint16, Dec, 20, 2, 0, nil, nil},
	{0, "lap.alt_remotelid", "Alternate Remote Port LID", TypeUint16, Dec, 22, 2, 0, nil, nil},
	{0, "lap.alt_localgid", "Alternate Local Port GID", TypeIPv6, Dec, 24, 16, 0, nil, nil},
	{0, "lap.alt_remotegid", "Alternate Remote Port GID", TypeIPv6, Dec, 40, 16, 0, nil, nil},
	{0, "lap.alt_flowlabel", "Alternate Flow Label", TypeUint32, Hex, 56, 4, 0xfffff000, nil, nil},
	{0, "lap.alt_tfcclass", "Alternate Traffic Class", TypeUint8, Hex, 59, 1, 0, nil, nil},
	{0, "lap.alt_hoplim", "Alternate Hop Limit", TypeUint8, Hex, 60, 1, 0, nil, nil},
	{0, "lap.alt_pktrate", "Alternate Packet Rate", TypeUint8, Hex, 61, 1, 0x3f, nil, nil},
	{0, "lap.alt_sl", "Alternate SL", TypeUint8, Hex, 62, 1, 0xf0, nil, nil},
	{0, "lap.alt_subnetlocal", "Alternate Subnet Local", TypeUint8, Hex, 62, 1, 0x08, nil, nil},
	{0, "lap.alt_localacktout", "Alternate Local ACK Timeout", TypeUint8, Hex, 63, 1, 0xf8, cmAckTimeout, nil},
	cmPrivate("lap.", 64, 168),
})

var cmAPR = join(cmIDs("apr.", 0), []cmRow{
	{0, "apr.infolen", "Additional Information Length", TypeUint8, Hex, 8, 1, 0, nil, nil},
	{0, "apr.status", "AP Status", TypeUint8, Hex, 9, 1, 0, nil, nil},
	{0, "apr.info", "Additional Information", TypeBytes, Dec, 12, -72, 0, nil, nil},
	cmPrivate("apr.", 84, 148),
})

var cmSIDRReq = join([]cmRow{
	{0, "sidr_req", "Request ID", TypeUint32, Hex, 0, 4, 0, nil, nil},
	{0, "sidr_req.pkey", "Partition Key", TypeUint16, Hex, 4, 2, 0, nil, nil},
}, cmServiceID("sidr_req.", 8), cmIP("sidr_req.", 8, 16, 216))

var cmSIDRRep = join([]cmRow{
	{0, "sidr_rep", "Request ID", TypeUint32, Hex, 0, 4, 0, nil, nil},
	{0, "sidr_rep.status", "Status", TypeUint8, Hex, 4, 1, 0, cmStatus, nil},
	{0, "sidr_rep.infolen", "Additional Information Length", TypeUint8, Hex, 5, 1, 0, nil, nil},
	{0, "sidr_rep.qpn", "QPN", TypeUint24, Hex, 8, 3, 0, nil, nil},
}, cmServiceID("sidr_rep.", 12), []cmRow{
	{0, "sidr_rep.qkey", "Q_Key", TypeUint32, Hex, 20, 4, 0, nil, nil},
	{0, "sidr_rep.info", "Additional Information", TypeBytes, Dec, 24, -72, 0, nil, nil},
	cmPrivate("sidr_rep.", 96, 136),
})
