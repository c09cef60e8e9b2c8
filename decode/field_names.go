package decode

import "strconv"

// Names of numbers, as Wireshark has them.

var kindBytes = func() [numKinds][]byte {
	var b [numKinds][]byte
	for i, n := range kindNames {
		b[i] = []byte(n)
	}
	return b
}()

var icrcStatusBytes = [...][]byte{
	ICRCNone: []byte("none"), ICRCUnchecked: []byte("unchecked"), ICRCGood: []byte("good"), ICRCBad: []byte("bad"),
	ICRCUnverifiable: []byte("unverifiable"),
}

func named(m map[uint64]string) func(uint64) string {
	return func(v uint64) string { return m[v] }
}

func setNotSet(v uint64) string { return [2]string{"Not set", "Set"}[v&1] }
func yesNo(v uint64) string     { return [2]string{"No", "Yes"}[v&1] }
func trueFalse(v uint64) string { return [2]string{"False", "True"}[v&1] }

func lgBit(v uint64) string {
	return [2]string{"Globally unique address (factory default)", "Locally administered address (this is NOT the factory default)"}[v&1]
}

func igBit(v uint64) string {
	return [2]string{"Individual address (unicast)", "Group address (multicast/broadcast)"}[v&1]
}

func truncatedName(v uint64) string { return [2]string{"Not truncated", "Truncated"}[v&1] }

var etherTypeName = named(map[uint64]string{
	etherIPv4: "IPv4", etherARP: "ARP", etherRARP: "RARP", etherIPv6: "IPv6", etherVLAN: "802.1Q Virtual LAN", etherQinQ: "802.1ad Provider Bridge (Q-in-Q)",
	etherMPLS: "MPLS label switched packet", etherMACControl: "MAC Control", etherRoCEv1: "RDMA over Converged Ethernet",
	etherTEB: "Transparent Ethernet bridging", etherVNTag: "VN-Tag", etherCMD: "CiscoMetaData", etherTTag: "Cisco timestamp tag",
	etherAVSP: "Arista Vendor Specific Protocol",
})

func greProtoName(v uint64) string {
	switch v {
	case greERSPAN:
		return "ERSPAN"
	case greERSPAN3:
		return "ERSPAN Type III"
	}
	return etherTypeName(v)
}

var sllPacketType = named(map[uint64]string{0: "Unicast to us", 1: "Broadcast", 2: "Multicast", 3: "Unicast to another host", 4: "Sent by us"})

var vlanPriority = named(map[uint64]string{
	0: "Best Effort (default)", 1: "Background", 2: "Excellent Effort", 3: "Critical Applications", 4: "Video, < 100ms latency and jitter",
	5: "Voice, < 10ms latency and jitter", 6: "Internetwork Control", 7: "Network Control",
})

var macOpcodeName = named(map[uint64]string{macPause: "Pause", macPFC: "Class Based Flow Control [CBFC] Pause"})

var arpOpcode = named(map[uint64]string{1: "request", 2: "reply", 3: "reverse request", 4: "reverse reply"})

var ipProtoName = named(map[uint64]string{
	protoICMP: "ICMP", protoIPv4: "IPIP", protoTCP: "TCP", protoUDP: "UDP", protoIPv6: "IPv6",
	protoGRE: "Generic Routing Encapsulation", protoICMPv6: "ICMPv6",
})

var dscpName = named(map[uint64]string{
	0: "Default", 8: "Class Selector 1", 10: "Assured Forwarding 11", 16: "Class Selector 2", 24: "Class Selector 3",
	26: "Assured Forwarding 31", 32: "Class Selector 4", 34: "Assured Forwarding 41", 40: "Class Selector 5",
	46: "Expedited Forwarding", 48: "Class Selector 6", 56: "Class Selector 7",
})

var ecnName = named(map[uint64]string{
	0: "Not ECN-Capable Transport", 1: "ECN-Capable Transport codepoint '01'", 2: "ECN-Capable Transport codepoint '10'",
	3: "Congestion Experienced",
})

var checksumStatus = named(map[uint64]string{0: "Bad", 1: "Good", checksumUnverified: "Unverified", checksumNotPresent: "Not present"})

// serviceNames are how Wireshark begins an opcode's name.
var serviceNames = map[Service]string{
	ServiceRC: "Reliable Connection (RC) - ", ServiceUC: "Unreliable Connection (UC) - ", ServiceRD: "Reliable Datagram (RD) - ",
	ServiceUD: "Unreliable Datagram (UD) - ", ServiceXRC: "Extended Reliable Connection (XRC) - ",
}

// operationNames are how Wireshark writes the operations where that is not
// what our own text says.
var operationNames = map[string]string{
	"SEND Last Imm": "SEND Last with Immediate", "SEND Only Imm": "SEND Only with Immediate",
	"RDMA WRITE Last Imm": "RDMA WRITE Last with Immediate", "RDMA WRITE Only Imm": "RDMA WRITE Only with Immediate",
	"RDMA READ Response First": "RDMA READ response First", "RDMA READ Response Middle": "RDMA READ response Middle",
	"RDMA READ Response Last": "RDMA READ response Last", "RDMA READ Response Only": "RDMA READ response Only",
	"SEND Last Invalidate": "SEND Last with Invalidate", "SEND Only Invalidate": "SEND Only with Invalidate",
}

// opcodeNames are Wireshark's names of all opcodes; 0x81 is named here alone.
var opcodeNames = makeOpcodeNames()

func makeOpcodeNames() *[256]string {
	var t [256]string
	for i := range t {
		o := Opcode(i)
		s := o.Service()
		switch {
		case o == OpCNP || o == OpCNPGroup:
			t[i] = "CNP"
		case o == OpUDSendOnly:
			t[i] = serviceNames[s] + "SEND only"
		case o == OpUDSendOnlyImm:
			t[i] = serviceNames[s] + "SEND only with Immediate"
		case o.Known():
			op := o.Text()[len(s.String())+1:]
			if w, ok := operationNames[op]; ok {
				op = w
			}
			t[i] = serviceNames[s] + op
		}
	}
	return &t
}

func opcodeName(v uint64) string { return opcodeNames[byte(v)] }

func syndromeName(v uint64) string { return Syndrome(v).String() }

// timerName is an RNR timer in milliseconds.
func timerName(v uint64) string {
	us := rnrMicroseconds[v&31]
	return strconv.FormatFloat(float64(us)/1000, 'f', 2, 64) + " ms"
}

var nakName = named(map[uint64]string{
	0: "PSN Sequence Error", 1: "Invalid Request", 2: "Remote Access Error", 3: "Remote Operational Error", 4: "Invalid RD Request",
})

func madClassName(v uint64) string {
	m := MAD{Class: uint8(v)}
	return m.ClassName()
}

var madMethodName = named(map[uint64]string{
	0x01: "Get()", 0x02: "Set()", 0x81: "GetResp()", 0x03: "Send()", 0x05: "Trap()", 0x06: "Report()", 0x86: "ReportResp()",
	0x07: "TrapRepress()", 0x12: "GetTable()", 0x92: "GetTableResp()", 0x13: "GetTraceTable()", 0x14: "GetMulti()",
	0x94: "GetMultiResp()", 0x15: "Delete()", 0x95: "DeleteResp()",
})
