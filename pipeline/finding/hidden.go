package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// noRoCE says that there is none, what there is instead, and what that may
// mean.
func noRoCE(f *Facts) []record.Finding {
	if f.RoCE.Total() > 0 || movedRoCE(&f.Ports) {
		return nil
	}
	if f.Packets == 0 {
		for i := range f.Inputs {
			if f.Inputs[i].Damage != nil {
				return nil // which says it all
			}
		}
		return one(record.Finding{
			Severity: record.Warning, Code: "no-roce",
			Title:    "No packets: the capture is empty",
			Detail:   "Check the interface and the filter that it was made with.",
			Evidence: record.Evidence{{Key: "packets", Value: uint64(0)}, {Key: "not_decoded", Value: uint64(0)}, {Key: "instead", Value: record.Evidence{}}},
		})
	}
	type kind struct {
		name string
		n    uint64
	}
	var kinds []kind
	for k := range decode.KindUnknownLink + 1 {
		if n := f.Kind(k); n > 0 {
			kinds = append(kinds, kind{k.String(), n})
		}
	}
	slices.SortStableFunc(kinds, func(a, b kind) int { return cmp.Compare(b.n, a.n) })
	var say []string
	var there record.Evidence
	for _, k := range kinds {
		say = append(say, count(k.n)+" "+k.name)
		there = append(there, record.Fact{Key: strings.ReplaceAll(strings.ToLower(k.name), " ", "_"), Value: k.n})
	}
	none := "none of " + count(f.Packets) + " packets is"
	if f.Packets == 1 {
		none = "the one packet is not"
	}
	title := "No RoCE here: " + none + " RoCEv1, RoCEv2 or InfiniBand"
	n, why := undecoded(f)
	if n > 0 {
		title = "No RoCE found; " + plural(n, "packet") + " could not be decoded"
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "no-roce",
		Title:    title,
		Detail:   candidate(f) + why + "There is instead: " + listed(say) + "." + insteadOfRoCE(f, n),
		Evidence: record.Evidence{{Key: "packets", Value: f.Packets}, {Key: "not_decoded", Value: n}, {Key: "instead", Value: there}},
	})
}

// undecoded is how many packets may be RoCE for all that can be told, and a
// sentence on why that can't be told.
func undecoded(f *Facts) (n uint64, why string) {
	inner := uint64(0)
	for _, r := range unknownInners(f) {
		inner += r.Count
	}
	var say []string
	for _, r := range []struct {
		n    uint64
		text string
	}{
		{f.Kind(decode.KindUnknownLink), "of a link type that is not decoded"},
		{inner, "in a tunnel or behind a tag with something inside that is not decoded"},
		{f.HeadersCut, "cut off before the headers say what they are"},
	} {
		if r.n > 0 {
			n += r.n
			say = append(say, count(r.n)+" "+r.text)
		}
	}
	if n == 0 {
		return 0, ""
	}
	return n, "RoCE may be in what could not be decoded: " + strings.Join(say, ", ") + ". "
}

// candidate names the port whose packets look most like RoCEv2.
func candidate(f *Facts) string {
	rows := like(f)
	if len(rows) == 0 {
		return ""
	}
	r := slices.MaxFunc(rows, func(a, b pipeline.Port) int { return cmp.Compare(a.Like, b.Like) })
	return plural(r.Like, "packet") + " to UDP port " + strconv.Itoa(int(r.Port)) + " may be RoCEv2: try --roce-port " + strconv.Itoa(int(r.Port)) + " first. "
}

// insteadOfRoCE is what the other traffic says of the missing RoCE. Where to
// capture is another question while there is something to look into first: a
// candidate, or packets that could not be decoded.
func insteadOfRoCE(f *Facts, undecoded uint64) string {
	s := ""
	if f.Kind(decode.KindIWARP) > 0 {
		s += " iWARP is RDMA over TCP: it is not RoCE and is not analysed."
	}
	if f.Kind(decode.KindIPoIB) > 0 {
		s += " IPoIB is ordinary IP on an InfiniBand link, captured above the InfiniBand headers: there is no RDMA to see at that place."
	}
	if len(like(f)) > 0 {
		return s
	}
	if f.Kind(decode.KindUDP) > 0 {
		s += " RoCEv2 is UDP to port 4791. If it has another port in this network, name it with --roce-port."
	}
	if undecoded == 0 && f.Kind(decode.KindTCP)+f.Kind(decode.KindUDP)+f.Kind(decode.KindARP) > 0 {
		s += " If RoCE was expected: a NIC hands RDMA traffic past the operating system, so tcpdump on the host's interface does not see " +
			"it. Capture at a switch's mirror port, or on the RDMA device."
	}
	return s
}

// proven are the other ports that got RoCEv2.
func proven(t *pipeline.Ports) []pipeline.Port {
	var rows []pipeline.Port
	for _, r := range t.Rows[:t.N] {
		if r.Proven > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// movedRoCE says whether there is RoCEv2 at another port.
func movedRoCE(t *pipeline.Ports) bool { return len(proven(t)) > 0 || t.Other.Proven > 0 }

// minLike is how many packets with the looks of RoCEv2 make it worth a hint.
const minLike = 3

// like are the other ports whose packets look like RoCEv2, so many of them
// that it is hardly chance: all of them come from port 4791, or they are half
// of all UDP.
func like(f *Facts) []pipeline.Port {
	var rows []pipeline.Port
	for _, r := range f.Ports.Rows[:f.Ports.N] {
		if r.Proven == 0 && r.Like >= minLike && (r.LikeFromRoCE == r.Like || 2*r.Like >= f.Kind(decode.KindUDP)) {
			rows = append(rows, r)
		}
	}
	return rows
}

// leftOutICRC says whether there is a sender that does not compute the ICRC.
func leftOutICRC(f *Facts) bool {
	_, not := computing(&f.Senders)
	return len(not) > 0
}

// rocePort says that RoCEv2 goes to another port than the assigned one.
func rocePort(f *Facts) []record.Finding {
	sure := movedRoCE(&f.Ports)
	var rows []pipeline.Port
	if sure {
		rows = append(proven(&f.Ports), f.Ports.Other) // which may be empty
	} else if rows = like(f); len(rows) == 0 || leftOutICRC(f) {
		return nil // icrcNotComputed says it: where no ICRC is right, none can prove anything
	}
	list := []record.Evidence{}
	var ports []string
	var n uint64
	var first record.FrameRef
	for i := range rows {
		r := &rows[i]
		here := r.Proven
		if !sure {
			here = r.Like
		}
		if here == 0 {
			continue
		}
		if n == 0 || r.First.Before(first) {
			first = r.First
		}
		n += here
		if r.Port == 0 { // all others
			continue
		}
		ports = append(ports, strconv.Itoa(int(r.Port)))
		if len(list) < maxListed {
			list = append(list, record.Evidence{
				{Key: "port", Value: uint64(r.Port)}, {Key: "proven", Value: r.Proven}, {Key: "like", Value: r.Like}, {Key: "like_from_4791", Value: r.LikeFromRoCE},
			})
		}
	}
	finding := record.Finding{
		Severity: record.Warning, Code: "roce-port",
		Detail: plural(n, "packet") + " have the headers of RoCEv2 and an ICRC that is right, so it is no chance. The assigned port is 4791, and switches and NICs " +
			"classify RoCE by it: check that the ECN and PFC settings of this network name the other one.",
		Evidence: record.Evidence{
			{Key: "packets", Value: n}, {Key: "ports", Value: list}, {Key: "ports_with_roce", Value: uint64(len(ports))},
			{Key: "proven_at_other_ports", Value: f.Ports.Other.Proven}, {Key: "first", Value: first},
		},
	}
	flag := "--roce-port " + strings.Join(ports[:min(len(ports), maxListed)], ",")
	switch {
	case !sure:
		finding.Severity = record.Info
		finding.Title = plural(n, "packet") + " to UDP port " + listed(ports) + " may be RoCEv2: see whether " + flag + " makes sense of them"
		finding.Detail = "Their headers have the form of RoCEv2, but no ICRC proves it: it is cut off, or wrong. Some stacks answer to the port that the " +
			"request came from instead of to 4791."
	case len(ports) == 0:
		finding.Title = "RoCEv2 goes to many UDP ports other than 4791 here, and this report leaves it out: name them with --roce-port"
	default:
		finding.Title = "RoCEv2 goes to UDP port " + listed(ports) + " here, and this report leaves it out: analyse again with " + flag
	}
	return one(finding)
}

func unknownLinkType(f *Facts) []record.Finding {
	n := f.Kind(decode.KindUnknownLink)
	if n == 0 {
		return nil
	}
	var say []string
	var types record.Evidence
	for i := range f.UnknownLinks.N {
		k := strconv.Itoa(int(f.UnknownLinks.Link[i]))
		say = append(say, k+" ("+count(f.UnknownLinks.Count[i])+")")
		types = append(types, record.Fact{Key: k, Value: f.UnknownLinks.Count[i]})
	}
	if f.UnknownLinks.Other > 0 {
		say = append(say, "others ("+count(f.UnknownLinks.Other)+")")
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "unknown-link-type",
		Title:    plural(n, "packet") + " of a link type that rocelens does not decode: nothing is known of what is in them",
		Detail:   "By link type: " + listed(say) + ". Capture as Ethernet, Linux cooked or InfiniBand.",
		Evidence: record.Evidence{{Key: "packets", Value: n}, {Key: "link_types", Value: types}, {Key: "others", Value: f.UnknownLinks.Other}},
	})
}

// harmless are ethertypes of control traffic, which every link has and which
// carries nothing of others (IEEE registration authority's list).
var harmless = map[uint32]bool{
	0x0842: true, // wake on LAN
	0x8809: true, // slow protocols: LACP
	0x8863: true, // PPPoE discovery
	0x888e: true, // 802.1X
	0x88cc: true, // LLDP
	0x88e3: true, // MRP (media redundancy)
	0x88f5: true, // MVRP
	0x88f7: true, // PTP
	0x8902: true, // connectivity fault management
	0x8914: true, // FCoE initialisation
	0x9000: true, // configuration test
}

// innerName is what is unknown, for people.
func innerName(t *pipeline.InnerType) string {
	switch {
	case t.Layer == decode.LayerNone:
		return "with a header before it that can't be decoded"
	case t.Layer == decode.LayerEthernet && t.Type == 0x88e5:
		return "ethertype 0x88e5 (MACsec, encrypted)"
	case t.Layer == decode.LayerEthernet:
		return "ethertype " + hex(uint64(t.Type), 4)
	}
	return t.Layer.String() + " type " + hex(uint64(t.Type), 1)
}

// unknownInners are the types in tunnels or behind tags that may hide RoCE, the
// most frequent first, and last all those that are not told apart.
func unknownInners(f *Facts) []pipeline.InnerType {
	var rows []pipeline.InnerType
	for _, r := range f.Inner.Rows[:f.Inner.N] {
		if r.Layer != decode.LayerEthernet || !harmless[r.Type] {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b pipeline.InnerType) int { return cmp.Compare(b.Count, a.Count) })
	if f.Inner.Other.Count > 0 {
		rows = append(rows, f.Inner.Other)
	}
	return rows
}

// unknownInner says that something in tunnels or behind tags is not decoded.
func unknownInner(f *Facts) []record.Finding {
	list := []record.Evidence{}
	var say []string
	var n uint64
	rows := unknownInners(f)
	if len(rows) == 0 {
		return nil
	}
	first := rows[0].First
	for i := range rows {
		r := &rows[i]
		n += r.Count
		if r.First.Before(first) {
			first = r.First
		}
		name := innerName(r)
		if i == len(rows)-1 && f.Inner.Other.Count > 0 {
			name = "others"
		}
		say = append(say, name+" ("+count(r.Count)+")")
		if i < maxListed {
			list = append(list, record.Evidence{{Key: "what", Value: name}, {Key: "packets", Value: r.Count}})
		}
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "unknown-inner",
		Title: plural(n, "packet") + " in a tunnel or behind a tag with something inside that rocelens does not decode: RoCE may be hidden there",
		Detail: "What it is: " + listed(say) + ". An ethertype that only this network's switches know is a tag of theirs: see whether the mirror can " +
			"leave it out. Please report one that is in a standard.",
		Evidence: record.Evidence{{Key: "packets", Value: n}, {Key: "types", Value: list}, {Key: "types_seen", Value: uint64(len(rows))}, {Key: "first", Value: first}},
	})
}

func cnpReserved(f *Facts) []record.Finding {
	n := f.Flag(decode.CNPBodyNotZero)
	if n == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "cnp-reserved",
		Title:    plural(n, "CNP") + " whose 16 reserved bytes are not all zero",
		Detail:   "Receivers ignore them, so it does no harm. Who builds the NIC may want to know.",
		Evidence: record.Evidence{{Key: "packets", Value: n}, {Key: "cnps", Value: f.Opcodes[decode.OpCNP]}},
	})
}
