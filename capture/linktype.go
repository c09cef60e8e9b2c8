package capture

import "strconv"

// LinkType is the kind of a frame's first header, as in pcap and pcapng files
// (https://www.tcpdump.org/linktypes.html).
type LinkType uint16

// The link types that rocelens knows by name.
const (
	LinkNull       LinkType = 0
	LinkEthernet   LinkType = 1
	LinkRawBSD     LinkType = 12 // DLT_RAW as some systems write it
	LinkRawOpenBSD LinkType = 14
	LinkRaw        LinkType = 101
	LinkLoop       LinkType = 108
	LinkSLL        LinkType = 113
	LinkERF        LinkType = 197
	LinkIPv4       LinkType = 228
	LinkIPv6       LinkType = 229
	LinkIPoIB      LinkType = 242
	LinkInfiniBand LinkType = 247
	LinkSLL2       LinkType = 276
)

var linkNames = map[LinkType]string{
	LinkNull: "NULL", LinkEthernet: "EN10MB", LinkRawBSD: "RAW", LinkRawOpenBSD: "RAW",
	LinkRaw: "RAW", LinkLoop: "LOOP", LinkSLL: "LINUX_SLL", LinkERF: "ERF", LinkIPv4: "IPV4",
	LinkIPv6: "IPV6", LinkIPoIB: "IPOIB", LinkInfiniBand: "INFINIBAND", LinkSLL2: "LINUX_SLL2",
}

// String is the name that tcpdump and the registry use, or the number.
func (l LinkType) String() string {
	if s, ok := linkNames[l]; ok {
		return s
	}
	return "link type " + strconv.Itoa(int(l))
}
