package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// icmpKind is one kind of ICMP error, anyCode with every code.
type icmpKind struct {
	v6   bool
	typ  uint8
	code int
}

const anyCode = -1

// icmpMeaning is what an error says, and what that means for RoCE.
type icmpMeaning struct {
	what, advice string
}

// What the errors mean for RoCE.
const (
	nobodyThere  = "Nobody takes UDP 4791 there: a host without RoCE on that address, or a firewall that refuses it."
	forbidden    = "A firewall or an access list forbids it: look at its rules for UDP 4791."
	noWay        = "There is no way to that address: look for a missing route, or a host that is down."
	tooBig       = "The MTU on the way is too small for these packets: it must have room for RDMA's path MTU and the headers around it."
	loop         = "The packets went round until their TTL ran out: look for a routing loop, or a TTL that is too low."
	reassembly   = "Fragments of the packets went missing: RoCEv2 is not to be fragmented, so look at the MTU on the way."
	badHeader    = "Somebody on the way does not like a header of these packets: look at the first of them."
	betterWay    = "The packets are not refused: a router tells their sender of a better way."
	slowDown     = "A router dropped packets, or was about to, for want of room."
	unknownError = "Look at the first of them for what it says."
)

// icmpMeanings are the errors by type and code (RFC 792, 1122, 1812, 4443).
var icmpMeanings = map[icmpKind]icmpMeaning{
	{false, 3, 0}:        {"network unreachable", noWay},
	{false, 3, 1}:        {"host unreachable", noWay},
	{false, 3, 2}:        {"protocol unreachable", nobodyThere},
	{false, 3, 3}:        {"port unreachable", nobodyThere},
	{false, 3, 4}:        {"fragmentation needed", tooBig},
	{false, 3, 5}:        {"source route failed", noWay},
	{false, 3, 6}:        {"destination network unknown", noWay},
	{false, 3, 7}:        {"destination host unknown", noWay},
	{false, 3, 8}:        {"source host isolated", noWay},
	{false, 3, 9}:        {"network administratively prohibited", forbidden},
	{false, 3, 10}:       {"host administratively prohibited", forbidden},
	{false, 3, 11}:       {"network unreachable for this type of service", noWay},
	{false, 3, 12}:       {"host unreachable for this type of service", noWay},
	{false, 3, 13}:       {"communication administratively prohibited", forbidden},
	{false, 3, 14}:       {"host precedence violation", forbidden},
	{false, 3, 15}:       {"precedence cutoff in effect", forbidden},
	{false, 3, anyCode}:  {"destination unreachable", noWay},
	{false, 4, anyCode}:  {"source quench", slowDown},
	{false, 5, 0}:        {"redirect for the network", betterWay},
	{false, 5, 1}:        {"redirect for the host", betterWay},
	{false, 5, anyCode}:  {"redirect", betterWay},
	{false, 11, 0}:       {"TTL exceeded in transit", loop},
	{false, 11, 1}:       {"fragment reassembly time exceeded", reassembly},
	{false, 11, anyCode}: {"time exceeded", loop},
	{false, 12, anyCode}: {"parameter problem", badHeader},
	{true, 1, 0}:         {"no route to destination", noWay},
	{true, 1, 1}:         {"communication administratively prohibited", forbidden},
	{true, 1, 2}:         {"beyond the scope of the source address", noWay},
	{true, 1, 3}:         {"address unreachable", noWay},
	{true, 1, 4}:         {"port unreachable", nobodyThere},
	{true, 1, 5}:         {"source address failed ingress or egress policy", forbidden},
	{true, 1, 6}:         {"route to destination rejected", forbidden},
	{true, 1, anyCode}:   {"destination unreachable", noWay},
	{true, 2, anyCode}:   {"packet too big", tooBig},
	{true, 3, 0}:         {"hop limit exceeded in transit", loop},
	{true, 3, 1}:         {"fragment reassembly time exceeded", reassembly},
	{true, 3, anyCode}:   {"time exceeded", loop},
	{true, 4, anyCode}:   {"parameter problem", badHeader},
}

// meaning is what an error says.
func meaning(e *pipeline.ICMPError) icmpMeaning {
	k := icmpKind{e.V6, e.Type, int(e.Code)}
	m, ok := icmpMeanings[k]
	if !ok {
		k.code = anyCode
		m, ok = icmpMeanings[k]
	}
	if !ok {
		m = icmpMeaning{"an error that is not in use", unknownError}
	}
	return m
}

// icmpError says who refuses RoCEv2 packets, and why.
func icmpError(f *Facts) []record.Finding {
	rows := slices.Clone(f.ICMPErrors.Rows[:f.ICMPErrors.N])
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b pipeline.ICMPError) int { return cmp.Compare(b.Count, a.Count) })
	n, first := f.ICMPErrors.Other.Count, rows[0].First
	if n > 0 && f.ICMPErrors.Other.First.Before(first) {
		first = f.ICMPErrors.Other.First
	}
	list := []record.Evidence{}
	var senders, reasons, advice, say []string
	for i := range rows {
		r := &rows[i]
		n += r.Count
		if r.First.Before(first) {
			first = r.First
		}
		m, sender, icmp := meaning(r), address(r.Addr, r.AddrKind), "ICMP"
		if r.V6 {
			icmp = "ICMPv6"
		}
		reason := m.what + " (" + icmp + " type " + strconv.Itoa(int(r.Type)) + ", code " + strconv.Itoa(int(r.Code)) + ")"
		say = append(say, sender+" "+reason+" "+times(r.Count))
		senders, reasons, advice = with(senders, sender), with(reasons, reason), with(advice, m.advice)
		if i < maxListed {
			list = append(list, record.Evidence{
				{Key: "sender", Value: sender}, {Key: "protocol", Value: icmp}, {Key: "type", Value: uint64(r.Type)}, {Key: "code", Value: uint64(r.Code)},
				{Key: "meaning", Value: m.what}, {Key: "packets", Value: r.Count},
			})
		}
	}
	title := plural(n, "ICMP error") + " about RoCEv2 packets, from " + listed(senders) + ": " + listed(reasons)
	detail := strings.Join(advice, " ")
	if len(rows) > 1 {
		title = plural(n, "ICMP error") + " about RoCEv2 packets, from " + listed(senders)
		detail = "They say: " + listed(say) + ". " + detail
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "icmp-error", Title: title, Detail: detail,
		Evidence: record.Evidence{
			{Key: "packets", Value: n}, {Key: "errors", Value: list}, {Key: "errors_of_others", Value: f.ICMPErrors.Other.Count}, {Key: "first", Value: first},
		},
	})
}

// with is a list of different texts with one more.
func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
