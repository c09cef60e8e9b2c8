package report

import (
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// otherKinds are the kinds of packets that are not RoCE: the key in JSON, and
// what the text calls them.
var otherKinds = [...]struct {
	kind      decode.Kind
	key, text string
}{
	{decode.KindTCP, "tcp", "TCP"},
	{decode.KindIWARP, "iwarp", "RDMA over TCP (iWARP)"},
	{decode.KindUDP, "udp", "UDP"},
	{decode.KindICMP, "icmp", "ICMP"},
	{decode.KindARP, "arp", "ARP"},
	{decode.KindPFC, "pfc", "PFC"},
	{decode.KindPause, "pause", "PAUSE (802.3x)"},
	{decode.KindMACControl, "mac_control", "other MAC control"},
	{decode.KindFragment, "ip_fragment", "later IP fragments"},
	{decode.KindLLC, "llc", "LLC"},
	{decode.KindIPoIB, "ipoib", "IP over InfiniBand (IPoIB)"},
	{decode.KindIBRaw, "infiniband_raw", "raw InfiniBand (no BTH)"},
	{decode.KindUnknownLink, "unknown_link_type", "of a link type that is not decoded"},
	{decode.KindOther, "other", "not decoded"},
}

// crcReasons are why a CRC can't be checked.
var crcReasons = [...]struct {
	reason    decode.ICRCReason
	key, text string
}{
	{decode.ICRCReasonTruncated, "truncated", "cut short"},
	{decode.ICRCReasonFragment, "fragment", "in IP fragments"},
	{decode.ICRCReasonOptions, "ip_options", "behind IP options or extension headers"},
}

// moreLinks is the key of the link types beyond those that are told apart.
const moreLinks = "more"

func linkCounts(l *pipeline.LinkCounts) map[string]uint64 {
	m := make(map[string]uint64)
	for i := range l.N {
		m[strconv.Itoa(int(l.Link[i]))] = l.Count[i]
	}
	if l.Other > 0 {
		m[moreLinks] = l.Other
	}
	return m
}
