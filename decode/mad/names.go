package mad

import "strconv"

// ServiceID says which service is asked for.
type ServiceID uint64

// PortSpace is the part of an RDMA-CM service ID that says what kind of port
// follows. The numbers are IP's protocol numbers where there is one (annex A11;
// the kernel's rdma_cm.h).
type PortSpace uint8

// The port spaces.
const (
	PortSpaceIPoIB PortSpace = 0x02
	PortSpaceTCP   PortSpace = 0x06 // connections
	PortSpaceUDP   PortSpace = 0x11 // datagrams
	PortSpaceIB    PortSpace = 0x3f
)

func (s PortSpace) String() string {
	switch s {
	case PortSpaceIPoIB:
		return "IPoIB"
	case PortSpaceTCP:
		return "TCP"
	case PortSpaceUDP:
		return "UDP"
	case PortSpaceIB:
		return "IB"
	}
	return "0x" + strconv.FormatUint(uint64(s), 16)
}

const (
	rdmaCMPrefix = 0x00_0000_0001 // the upper 40 bits
	ipoibPrefix  = 0x10           // the upper 8 bits: assigned by the IETF (RFC 4755)
)

// RDMACM says whether the service ID is one of RDMA-CM's: 5 bytes prefix, the
// port space and a port.
func (s ServiceID) RDMACM() bool { return s>>24 == rdmaCMPrefix }

// PortSpace and Port are the two halves of RDMA-CM's service ID, 0 if it is
// none.
func (s ServiceID) PortSpace() PortSpace {
	if !s.RDMACM() {
		return 0
	}
	return PortSpace(s >> 16)
}

// Port is the destination port, 0 where the service ID has none.
func (s ServiceID) Port() uint16 {
	if !s.RDMACM() {
		return 0
	}
	return uint16(s)
}

// Application names who usually listens there, "" where it is not known. Like
// any port number, it is a custom and no proof.
func (s ServiceID) Application() string {
	switch {
	case s>>56 == ipoibPrefix:
		return "ipoib"
	case !s.RDMACM() || s.PortSpace() == PortSpaceIPoIB:
		return ""
	case s.PortSpace() == PortSpaceUDP && s.Port() == examplePort:
		return "udaddy"
	}
	return applicationOfPort(s.Port())
}

// examplePort is the one that librdmacm's examples rping and udaddy use.
const examplePort = 7174

func applicationOfPort(port uint16) string {
	switch port {
	case 445:
		return "smb-direct"
	case 987:
		return "lustre"
	case 3260:
		return "iser"
	case 4420:
		return "nvme-rdma"
	case 5640:
		return "9p"
	case examplePort:
		return "rping"
	case 18515:
		return "perftest"
	case 20049:
		return "nfs-rdma"
	case 24008:
		return "glusterfs"
	}
	return ""
}

// Reason is why a connection was rejected.
type Reason uint16

// The reasons that mean something to more than their text.
const (
	ReasonTimeout          Reason = 4
	ReasonInvalidServiceID Reason = 8
	ReasonStaleConnection  Reason = 10
	ReasonConsumer         Reason = 28
)

var reasons = [...]string{
	1:  "no queue pair available",
	2:  "no end-to-end context available",
	3:  "no resources available",
	4:  "the other side did not answer in time",
	5:  "unsupported request",
	6:  "communication ID is not known",
	7:  "no connection with these communication IDs",
	8:  "nobody listens on this service ID",
	9:  "transport service is not supported",
	10: "stale connection: this queue pair is still connected",
	11: "no such reliable datagram channel",
	12: "primary GID refused",
	13: "primary LID refused",
	14: "service level of the primary path refused",
	15: "traffic class of the primary path refused",
	16: "hop limit of the primary path refused",
	17: "packet rate of the primary path refused",
	18: "alternate GID refused",
	19: "alternate LID refused",
	20: "service level of the alternate path refused",
	21: "traffic class of the alternate path refused",
	22: "hop limit of the alternate path refused",
	23: "packet rate of the alternate path refused",
	24: "ask another port, also for connection management",
	25: "ask another port",
	26: "path MTU refused",
	27: "not enough responder resources",
	28: "refused by the application",
	29: "RNR retry count refused",
	30: "communication ID is in use",
	31: "class version is not supported",
	32: "flow label of the primary path refused",
	33: "flow label of the alternate path refused",
	35: "vendor option is not supported",
}

// String says in words what the reason is (numbers as in the
// kernel's ib_cm.h).
func (r Reason) String() string {
	if int(r) < len(reasons) && reasons[r] != "" {
		return reasons[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// SIDRStatus says in words what a SIDR_REP's status is (numbers as in the kernel's ib_cm.h).
func SIDRStatus(s uint8) string {
	texts := [...]string{
		"service ID resolved", "service ID is not supported", "rejected by the service",
		"no queue pair available", "ask another port", "version is not supported",
	}
	if int(s) < len(texts) {
		return texts[s]
	}
	return "status " + strconv.Itoa(int(s))
}

// TransportName names the transport service that a REQ asks for.
func TransportName(transport, extended uint8) string {
	switch {
	case transport < 3:
		return [...]string{"RC", "UC", "RD"}[transport]
	case transport == 3 && extended == 1:
		return "XRC"
	}
	return ""
}

// Service is TransportName of a request.
func (m *Message) Service() string {
	if m.Attribute != REQ || m.Has&HasTransport == 0 {
		return ""
	}
	return TransportName(m.Transport, m.ExtendedTransport)
}

// Timeout is the time in nanoseconds that the exponent t, 0 to 31, of a timeout
// or delay stands for: 4.096 us times 2 to the power of t. A local ACK timeout
// of 0 means none at all, for which AckTimeout is made.
func Timeout(t uint8) int64 { return 4096 << (t & 31) }

// AckTimeout is the local ACK timeout in nanoseconds, 0 if it is disabled.
func AckTimeout(t uint8) int64 {
	if t&31 == 0 {
		return 0
	}
	return Timeout(t)
}

// PathMTU is the path MTU in bytes that its code stands for, 0 if the code is
// none: 1 to 5 are 256, 512, 1024, 2048 and 4096.
func PathMTU(code uint8) uint32 {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}
