package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// minNotComputed is how many packets it takes to say that whoever sent them
// does not compute the ICRC: one or two can have been changed on the way.
const minNotComputed = 3

// computing splits the senders that have a bad ICRC. A sender does not compute
// it if not one of its ICRCs is right, and there are minNotComputed of them.
// One with fewer belongs to them as well if its ICRC is a constant that
// others, or the others together, put in that often. And so does one that has
// right ones as well, if all others are one constant: corruption makes none.
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
		case s.Constant():
			not = append(not, s)
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
	w := wrongKinds(rows)
	names := w.names(rows)
	title, detail := address(rows[0].Addr, rows[0].AddrKind)+" does", ""
	if len(rows) > 1 {
		title = count(uint64(len(rows))) + " senders do"
		detail = "They are " + listed(names) + ". "
	}
	title += " not compute the ICRC"
	if w.mixed {
		title += " of all packets"
	}
	switch {
	case w.same && w.mixed:
		title += ": it is " + hex(uint64(rows[0].LowBad), 8) + " in " + plural(bad, "packet")
	case w.same:
		title += ": it is always " + hex(uint64(rows[0].LowBad), 8) + ", in " + plural(bad, "packet")
	case w.constant:
		title += ": each puts a constant there, in " + plural(bad, "packet")
	case w.mixed:
		title += ", or not rightly: it is wrong in " + plural(bad, "packet")
	default:
		title += ", or not rightly: it is wrong in all " + plural(bad, "packet")
	}
	if !w.constant {
		detail += "A device that rewrites addresses or ports on the way has the same effect as a sender that does not compute it rightly. "
	}
	if w.mixed {
		detail += "Right ones are among those of a sender that puts a constant in the others. Nothing on the way makes a constant: packets that are changed there " +
			"keep ICRCs that differ. "
		if len(rows) == 1 {
			detail += "Right are " + count(rows[0].Good) + " of " + count(rows[0].Good+rows[0].Bad) + ". "
		}
	}
	detail += "FPGA and programmable-switch stacks often leave the ICRC out; a tap that is ahead of the hardware that puts it in sees the same. " +
		"A receiver that checks the ICRC drops all of these: check whether it answers, and whether it is set to ignore the ICRC. " +
		"Corruption of these packets can't be seen."
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

// wrongKind says what senders put where the ICRC belongs: the same number all
// of them, each its constant, in some of their packets only.
type wrongKind struct{ same, constant, mixed bool }

func wrongKinds(rows []pipeline.Sender) wrongKind {
	w := wrongKind{same: true, constant: true}
	for i := range rows {
		r := &rows[i]
		is := r.LowBad == r.HighBad
		w.same = w.same && is && r.LowBad == rows[0].LowBad
		w.constant = w.constant && is
		w.mixed = w.mixed || r.Good > 0
	}
	return w
}

// names are the senders, and what is not the same in all of them.
func (w wrongKind) names(rows []pipeline.Sender) []string {
	names := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		names[i] = address(r.Addr, r.AddrKind)
		var say []string
		switch is := r.LowBad == r.HighBad; {
		case is && !w.same:
			say = append(say, "always "+hex(uint64(r.LowBad), 8))
			if w.mixed {
				say[0] = hex(uint64(r.LowBad), 8)
			}
		case !is && len(rows) > 1:
			say = append(say, "not constant")
		}
		if w.mixed && len(rows) > 1 {
			say = append(say, "in "+count(r.Bad)+" of "+plural(r.Good+r.Bad, "packet"))
		}
		if len(say) > 0 {
			names[i] += " (" + strings.Join(say, " ") + ")"
		}
	}
	return names
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
