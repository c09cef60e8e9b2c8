package finding

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// minUntold is how many marked packets without any CNP are worth a
	// finding: the last ones of a capture have no answer in it.
	minUntold = 8
	// minHeedless is how many CNPs without any effect are worth a finding.
	minHeedless = 2
	// A CNP in so many that is marked, and so many in all, is no exception.
	markedCNPs    = 100
	minMarkedCNPs = 8
)

// dataOf is how many packets of one side are requests or READ responses.
func dataOf(d, other *record.Direction) uint64 {
	answers := d.Acks + d.RNRNaks + other.CNPsReceived
	for _, n := range d.Naks {
		answers += n
	}
	return d.Packets - min(d.Packets, answers)
}

// marked is how many data packets of a stream's requester are marked, and what
// share that is. A stream here is what one side of a session sent.
func (st *stream) marked() (n, data uint64) {
	x := st.req.Congestion
	if x == nil {
		return 0, 0
	}
	return x.DataMarked, max(x.DataMarked, dataOf(st.req, st.resp))
}

// congested says whose way is congested, and to whom.
func congested(f *Facts) []record.Finding {
	type receiver struct {
		addr    string
		marked  uint64
		streams uint64
		senders []string
	}
	var h hits
	var all []*receiver
	var data uint64
	at := make(map[decode.Addr]*receiver)
	for st := range f.streams() {
		n, of := st.marked()
		if n == 0 {
			continue
		}
		data += of
		h.add(st, n, percent(n, of)+" of "+plural(of, "data packet"), record.Evidence{{Key: "marked", Value: n}, {Key: "share", Value: share(n, of)}}, record.KindCE)
		r := at[st.to().Addr]
		if r == nil {
			r = &receiver{addr: host(st.to())}
			at[st.to().Addr] = r
			all = append(all, r)
		}
		r.marked += n
		r.streams++
		if from := host(st.from()); !slices.Contains(r.senders, from) && len(r.senders) <= maxListed {
			r.senders = append(r.senders, from)
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	slices.SortStableFunc(all, func(a, b *receiver) int { return cmp.Compare(b.marked, a.marked) })
	n := h.sum()
	title := percent(n, data) + " of the data of " + h.between() + " is marked CE: congestion on the way to " + all[0].addr
	if len(all) > 1 {
		title = percent(n, data) + " of the data of " + h.between() + " is marked CE: congestion, most of all on the way to " + all[0].addr + " (" + percent(all[0].marked, n) + " of the marks)"
	}
	list := []record.Evidence{}
	for _, r := range all[:min(len(all), maxListed)] {
		list = append(list, record.Evidence{{Key: "addr", Value: r.addr}, {Key: "marked", Value: r.marked}, {Key: "streams", Value: r.streams}, {Key: "senders", Value: r.senders[:min(len(r.senders), maxListed)]}})
	}
	return h.finding(record.Info, "congested", title,
		"A queue ahead of this tap was longer than the threshold from which on it marks packets."+h.worst()+
			" Where it is: the switch on that way whose counter of marked packets rises, usually at the port towards the receiver. See who else sends there at that time.",
		record.Evidence{{Key: "marked", Value: n}, {Key: "share", Value: share(n, data)}, {Key: "receivers", Value: list}, {Key: "receivers_marked", Value: uint64(len(all))}})
}

// othersDo says of other senders that they do what these don't, if so.
func othersDo(so bool, what string) string {
	if !so {
		return ""
	}
	return " Other senders in this capture do " + what + "."
}

// ecnNoReaction says where marks come by, and nobody is told.
func ecnNoReaction(f *Facts) []record.Finding {
	var h hits
	told := false // others are
	for st := range f.whole() {
		n, of := st.marked()
		told = told || st.req.CNPsReceived > 0
		if n >= minUntold && st.resp.Packets > 0 && st.req.CNPsReceived == 0 {
			h.add(st, n, plural(n, "marked packet"), record.Evidence{{Key: "marked", Value: n}, {Key: "share", Value: share(n, of)}}, record.KindCE)
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	return h.finding(record.Info, "ecn-no-reaction",
		plural(n, "data packet")+isAre(n, " is", " are")+" marked CE ("+h.between()+"), and no CNP tells the sender to slow down",
		"What the receivers send back is in this capture, and no CNP is among it."+othersDo(told, "get CNPs")+" That alone is no fault: DCQCN can be switched off, Soft-RoCE sends no CNP and heeds none, other "+
			"ways to control congestion need none, and CNPs may take another way than past this tap."+h.worst()+
			" Where DCQCN should be on: compare the receiver's np_ecn_marked_roce_packets with its np_cnp_sent, and see whether it is enabled for that priority.",
		record.Evidence{{Key: "marked", Value: n}, {Key: "others_told", Value: told}})
}

// cnpIgnored says who gets CNPs and sends on as fast as before.
func cnpIgnored(f *Facts) []record.Finding {
	var h hits
	heed := false // others do
	for st := range f.whole() {
		x := st.req.Congestion
		if x == nil {
			continue
		}
		heed = heed || x.Reaction == record.ReactionSlowed
		if x.Reaction == record.ReactionNone && x.CNPs >= minHeedless {
			h.add(st, x.CNPs, plural(x.CNPs, "CNP"), record.Evidence{{Key: "cnps", Value: x.CNPs}}, record.KindCNP)
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	return h.finding(record.Info, "cnp-ignored",
		plural(n, "CNP")+isAre(n, " tells ", " tell ")+isAre(uint64(len(h)), "a sender", "senders")+" to slow down ("+h.between()+"), and "+isAre(uint64(len(h)), "its rate", "their rates")+" did not fall",
		"The windows of 32 data packets after them are as fast as those before."+othersDo(heed, "become slower")+" That alone is no fault: DCQCN can be switched off at the sender, Soft-RoCE heeds no CNP, and a sender that something else holds back "+
			"need not become slower."+h.worst()+" Where DCQCN should be on: compare the sender's rp_cnp_handled with its rp_cnp_ignored, and see whether it is enabled for that priority.",
		record.Evidence{{Key: "cnps", Value: n}, {Key: "others_heed", Value: heed}})
}

// cnpWithoutCE says which CNPs have no mark that they could be for.
func cnpWithoutCE(f *Facts) []record.Finding {
	var h hits
	var hidden uint64 // of QPs without data
	behind := true    // no mark at all on any of them
	for st := range f.whole() {
		x := st.req.Congestion
		if x == nil || st.req.CNPsReceived == 0 {
			continue
		}
		n := x.Unmarked
		if x.Marks == record.MarksHidden {
			n = st.req.CNPsReceived
			hidden += n
		}
		if n == 0 {
			continue
		}
		behind = behind && x.Marks != record.MarksSeen
		h.add(st, n, plural(n, "CNP"), record.Evidence{{Key: "cnps_without_mark", Value: n}, {Key: "cnps", Value: st.req.CNPsReceived}, {Key: "marks", Value: x.Marks.String()}}, record.KindCNP)
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	why := "The queue that marks is behind this tap, as it is for a tap next to the sender: how long the receivers take from a mark to a CNP does not show here."
	if !behind {
		why = "Other packets to the same receivers are marked. The mirror may have lost the ones that these are for, or they were marked behind this tap."
	}
	if hidden > 0 {
		why += " " + count(hidden) + " of them " + isAre(hidden, "is", "are") + " for QPs whose data is not in this capture, or was not matched with them."
	}
	return h.finding(record.Info, "cnp-without-ce",
		plural(n, "CNP")+isAre(n, " tells a sender", " tell senders")+" to slow down ("+h.between()+"), and no packet before "+isAre(n, "it", "them")+" is marked at this tap",
		why+h.worst()+" To see both, capture next to the receiver.",
		record.Evidence{{Key: "cnps", Value: n}, {Key: "no_data", Value: hidden}})
}

// cnpMarked says which CNPs met congestion themselves.
func cnpMarked(f *Facts) []record.Finding {
	var h hits
	var of uint64
	for st := range f.streams() {
		if x := st.req.Congestion; x != nil && x.CNPsMarked > 0 {
			sent := max(st.resp.CNPsReceived, x.CNPsMarked)
			of += sent
			h.add(st, x.CNPsMarked, count(x.CNPsMarked)+" of "+plural(sent, "CNP"), record.Evidence{{Key: "marked", Value: x.CNPsMarked}, {Key: "cnps", Value: sent}})
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	n := h.sum()
	severity := record.Info
	if n >= minMarkedCNPs && n*markedCNPs >= of {
		severity = record.Warning
	}
	return h.finding(severity, "cnp-ce-marked",
		count(n)+" of "+plural(of, "CNP")+isAre(n, " is", " are")+" marked CE "+isAre(n, "itself", "themselves")+" ("+h.between()+")",
		"They waited in a queue that was too long: what is to slow senders down comes late."+h.worst()+
			" CNPs belong into a class of their own that is served first and not marked; usual is DSCP 48 (priority 6). See what DSCP these have, and how the switches classify it.",
		record.Evidence{{Key: "marked", Value: n}, {Key: "cnps", Value: of}})
}
