package decode

import "strconv"

const madLen = 24

// mad decodes the header that all management datagrams begin with.
//
//	+---------------+---------------+---------------+---------------+
//	| base version  |     class     | class version |    method     |
//	+---------------+---------------+---------------+---------------+
//	|            status             |        class specific         |
//	+-------------------------------+-------------------------------+
//	|                       transaction ID (8)                      |
//	+-------------------------------+-------------------------------+
//	|         attribute ID          |           reserved            |
//	+-------------------------------+-------------------------------+
//	|                      attribute modifier                       |
//	+---------------------------------------------------------------+
func (p *Packet) mad(b []byte) {
	p.MAD = MAD{
		BaseVersion: b[0], Class: b[1], ClassVersion: b[2], Method: b[3],
		Status: be16(b[4:]), TID: be64(b[8:]), Attribute: be16(b[16:]), Modifier: be32(b[20:]),
	}
	p.Has |= HasMAD
	p.push(LayerMAD, madLen)
}

// Management classes (volume 1, table 102; the kernel's ib_mad.h).
const (
	ClassSubnLID      = 0x01
	ClassSubnDirected = 0x81
	ClassSubnAdm      = 0x03
	ClassPerf         = 0x04
	ClassBM           = 0x05
	ClassDevMgt       = 0x06
	ClassCM           = 0x07
	ClassSNMP         = 0x08
)

// ClassName names the management class.
func (m *MAD) ClassName() string {
	switch c := m.Class; {
	case c == ClassSubnLID:
		return "SubnMgmt LID"
	case c == ClassSubnDirected:
		return "SubnMgmt directed"
	case c == ClassSubnAdm:
		return "SubnAdm"
	case c == ClassPerf:
		return "PerfMgmt"
	case c == ClassBM:
		return "BaseboardMgmt"
	case c == ClassDevMgt:
		return "DeviceMgmt"
	case c == ClassCM:
		return "CM"
	case c == ClassSNMP:
		return "SNMP"
	case c >= 0x09 && c <= 0x0f, c >= 0x30 && c <= 0x4f:
		return "vendor class 0x" + strconv.FormatUint(uint64(c), 16)
	case c >= 0x10 && c <= 0x2f:
		return "application class 0x" + strconv.FormatUint(uint64(c), 16)
	default:
		return "class 0x" + strconv.FormatUint(uint64(c), 16)
	}
}

var cmAttributes = map[uint16]string{
	0x01: "ClassPortInfo", 0x10: "ConnectRequest", 0x11: "MsgRcptAck", 0x12: "ConnectReject",
	0x13: "ConnectReply", 0x14: "ReadyToUse", 0x15: "DisconnectRequest", 0x16: "DisconnectReply",
	0x17: "ServiceIDResolutionRequest", 0x18: "ServiceIDResolutionReply", 0x19: "LoadAlternatePath",
	0x1a: "AlternatePathResponse",
}

var subnAdmAttributes = map[uint16]string{
	0x01: "ClassPortInfo", 0x02: "Notice", 0x03: "InformInfo", 0x11: "NodeRecord", 0x12: "PortInfoRecord",
	0x31: "ServiceRecord", 0x35: "PathRecord", 0x38: "MCMemberRecord",
}

var subnMgmtAttributes = map[uint16]string{
	0x02: "Notice", 0x10: "NodeDescription", 0x11: "NodeInfo", 0x12: "SwitchInfo", 0x14: "GUIDInfo",
	0x15: "PortInfo", 0x16: "P_KeyTable", 0x17: "SLtoVLMappingTable", 0x18: "VLArbitrationTable",
	0x19: "LinearForwardingTable", 0x1a: "RandomForwardingTable", 0x1b: "MulticastForwardingTable",
	0x20: "SMInfo",
}

// AttributeName names what the datagram is about.
func (m *MAD) AttributeName() string {
	var names map[uint16]string
	switch m.Class {
	case ClassCM:
		names = cmAttributes
	case ClassSubnAdm:
		names = subnAdmAttributes
	case ClassSubnLID, ClassSubnDirected:
		names = subnMgmtAttributes
	}
	if n, ok := names[m.Attribute]; ok {
		return n
	}
	return "attribute 0x" + strconv.FormatUint(uint64(m.Attribute), 16)
}
