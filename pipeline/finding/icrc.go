package finding

import (
	"strconv"

	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// minNotComputed is how many packets it takes to say that whoever sent them
// does not compute the ICRC: one or two can have been changed on the way.
const minNotComputed = 3

// computing splits the senders that have a bad ICRC. A sender does not compute
// it if not one of its ICRCs is right, and there are minNotComputed of them.
// One with fewer belongs to them as well if its ICRC is a constant that
// others, or the others together, put in that often.
func computing(t *pipeline.Senders) (bad, not []pipeline.Sender) {
	constants := make(map[uint32]uint64)
	for i := range t.N {
		if s := &t.Rows[i]; s.Good == 0 && s.LowBad == s.HighBad {
			constants[s.LowBad] += s.Bad
		}
	}
	for _, s := range t.Rows[:t.N] {
		switch {
		case s.Bad == 0:
		case s.Good == 0 && (s.Bad >= minNotComputed || s.LowBad == s.HighBad && constants[s.LowBad] >= minNotComputed):
			not = append(not, s)
		default:
			bad = append(bad, s)
		}
	}
	worst := func(a, b pipeline.Sender) int { return cmp.Compare(b.Bad, a.Bad) }
	slices.SortStableFunc(bad, worst)
	slices.SortStableFunc(not, worst)
	return bad, not
}

// senders is the evidence on senders with a bad ICRC, and what to say of them.
func senders(all []pipeline.Sender) (list []record.Evidence, say []string, bad uint64, first record.FrameRef) {
	list = []record.Evidence{}
	for i := range all {
		s := &all[i]
		checked := s.Good + s.Bad
		bad += s.Bad
		if i == 0 || s.FirstBad.Before(first) {
			first = s.FirstBad
		}
		name := address(s.Addr, s.AddrKind)
		say = append(say, name+" ("+count(s.Bad)+" of "+count(checked)+", "+percent(s.Bad, checked)+")")
		if i >= maxListed {
			continue
		}
		e := record.Evidence{{Key: "addr", Value: name}, {Key: "bad", Value: s.Bad}, {Key: "checked", Value: checked}, {Key: "share", Value: share(s.Bad, checked)}}
		if s.LowBad == s.HighBad && s.Bad > 1 {
			e = append(e, record.Fact{Key: "constant", Value: hex(uint64(s.LowBad), 8)})
		}
		list = append(list, e)
	}
	return list, say, bad, first
}

// icrcBad speaks of packets that were changed on the way.
func icrcBad(f *Facts) []record.Finding {
	rows, not := computing(&f.Senders)
	list, say, bad, first := senders(rows)
	if other := &f.Senders.Other; other.Bad > 0 {
		if bad == 0 || other.FirstBad.Before(first) {
			first = other.FirstBad
		}
		bad += other.Bad
		say = append(say, "senders that are not told apart ("+count(other.Bad)+" of "+count(other.Good+other.Bad)+")")
	}
	if bad == 0 {
		return nil
	}
	checked := f.ICRC.Good + f.ICRC.Bad
	for i := range not {
		checked -= not[i].Bad
	}
	have := " have"
	if bad == 1 {
		have = " has"
	}
	return one(record.Finding{
		Severity: record.Critical, Code: "icrc-bad",
		Title: plural(bad, "packet") + have + " a bad ICRC, of " + count(checked) + " checked (" + percent(bad, checked) +
			"): changed on the way, or computed wrongly by the sender",
		Detail: "Receivers drop such packets: RC sends them again, what UC and UD carried is lost. By sender: " + listed(say) + ". Check the error counters " +
			"(FCS, symbol and FEC errors) of every link from there to this tap. Where all are zero, look for a device that " +
			"rewrites packets (address or port translation), and at the sender's NIC and memory.",
		Evidence: record.Evidence{
			{Key: "bad", Value: bad},
			{Key: "checked", Value: checked},
			{Key: "share", Value: share(bad, checked)},
			{Key: "senders", Value: list},
			{Key: "senders_with_bad", Value: uint64(len(rows))},
			{Key: "bad_of_others", Value: f.Senders.Other.Bad},
			{Key: "first", Value: first},
		},
	})
}

// icrcNotComputed speaks of senders that leave the ICRC out.
func icrcNotComputed(f *Facts) []record.Finding {
	_, rows := computing(&f.Senders)
	if len(rows) == 0 {
		return nil
	}
	list, _, bad, first := senders(rows)
	names := make([]string, 0, len(rows))
	constant := true
	for i := range rows {
		names = append(names, address(rows[i].Addr, rows[i].AddrKind))
		constant = constant && rows[i].LowBad == rows[0].LowBad && rows[i].HighBad == rows[0].LowBad
	}
	title, detail := names[0]+" does", ""
	if len(names) > 1 {
		title = count(uint64(len(names))) + " senders do"
		detail = "They are " + listed(names) + ". "
	}
	title += " not compute the ICRC"
	if constant {
		title += ": it is always " + hex(uint64(rows[0].LowBad), 8) + ", in " + plural(bad, "packet")
	} else {
		title += ", or not rightly: it is wrong in all " + plural(bad, "packet")
		detail += "A device that rewrites addresses or ports on the way has the same effect. "
	}
	detail += "FPGA and programmable-switch stacks often leave the ICRC out; a tap that is ahead of the hardware that puts it in sees the same. " +
		"A receiver that checks the ICRC drops all of these: check whether it answers, and whether it is set to ignore the ICRC. " +
		"Corruption on this path can't be seen."
	if ports := like(f); len(ports) > 0 && !movedRoCE(&f.Ports) {
		names = names[:0]
		var n uint64
		for i := range ports {
			names = append(names, strconv.Itoa(int(ports[i].Port)))
			n += ports[i].Like
		}
		detail += " " + plural(n, "packet") + " to UDP port " + listed(names) + " may be RoCEv2 too, answers perhaps to the port that requests " +
			"came from: see whether --roce-port " + names[0] + " makes sense of them."
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "icrc-not-computed", Title: title, Detail: detail,
		Evidence: record.Evidence{
			{Key: "bad", Value: bad},
			{Key: "senders", Value: list},
			{Key: "senders_not_computing", Value: uint64(len(rows))},
			{Key: "first", Value: first},
		},
	})
}

// vcrcBad speaks of native InfiniBand's link-level CRC.
func vcrcBad(f *Facts) []record.Finding {
	c := &f.VCRC
	if c.Bad == 0 {
		return nil
	}
	checked := c.Good + c.Bad
	detail := "The VCRC is made anew on each InfiniBand link, so the last link before this tap changed them. Check its symbol error counters."
	if c.Good == 0 {
		detail = "Not one VCRC is right: more likely this tap, or what wrote the capture, does not keep it, than that all were changed."
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "vcrc-bad",
		Title:  count(c.Bad) + " of " + plural(checked, "InfiniBand packet") + " with a bad VCRC (" + percent(c.Bad, checked) + ")",
		Detail: detail,
		Evidence: record.Evidence{
			{Key: "bad", Value: c.Bad}, {Key: "checked", Value: checked}, {Key: "share", Value: share(c.Bad, checked)}, {Key: "first", Value: c.FirstBad},
		},
	})
}
