package finding

import (
	"strconv"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// mirrorName is "192.0.2.1 to 192.0.2.2, session 7".
func mirrorName(m *pipeline.Mirror) string {
	s := string(m.Src.Append(nil, m.Kind)) + " to " + string(m.Dst.Append(nil, m.Kind)) + ", session " + strconv.Itoa(int(m.Session))
	if m.Hardware > 0 {
		s += ", hardware " + strconv.Itoa(int(m.Hardware))
	}
	return s
}

// mirrorGaps says that frames which the mirror numbered did not come.
func mirrorGaps(f *Facts) []record.Finding {
	frames, missing, _ := f.Mirrors.Lost()
	if missing == 0 {
		return nil
	}
	list := []record.Evidence{}
	var say []string
	var first record.FrameRef
	var restarts uint64
	for i := range f.Mirrors.Rows {
		m := &f.Mirrors.Rows[i]
		if !m.Known || m.Missing == 0 {
			continue
		}
		if len(say) == 0 || m.FirstGap.Before(first) {
			first = m.FirstGap
		}
		restarts += m.Restarts
		say = append(say, mirrorName(m)+" ("+count(m.Missing)+" in "+plural(m.Gaps, "gap")+")")
		if len(list) < maxListed {
			list = append(list, record.Evidence{
				{Key: "src", Value: string(m.Src.Append(nil, m.Kind))}, {Key: "dst", Value: string(m.Dst.Append(nil, m.Kind))}, {Key: "session", Value: uint64(m.Session)},
				{Key: "hardware", Value: uint64(m.Hardware)}, {Key: "input", Value: uint64(m.Input)}, {Key: "packets", Value: m.Frames}, {Key: "missing", Value: m.Missing},
				{Key: "gaps", Value: m.Gaps}, {Key: "restarts", Value: m.Restarts},
			})
		}
	}
	detail := "The mirror numbers what it sends (ERSPAN), and these numbers did not come: " + listed(say) + "."
	if restarts > 0 {
		detail += " The numbering began anew " + times(restarts) + "; what was lost there is not counted."
	}
	detail += f.felt(missing) + " Look at the way from the mirror to the collector: its own drops (a mirror has the lowest priority), the links between, the collector's NIC and buffers."
	return one(record.Finding{
		Severity: record.Warning, Code: "mirror-gaps",
		Title: plural(missing, "packet") + isAre(missing, " was", " were") + " lost between the mirror and this capture (" + percent(missing, frames+missing) +
			"): what is missing here need not have been lost by the network",
		Detail: detail,
		Evidence: record.Evidence{
			{Key: "missing", Value: missing}, {Key: "share", Value: share(missing, frames+missing)}, {Key: "mirrors", Value: list},
			{Key: "mirrors_with_gaps", Value: uint64(len(say))}, {Key: "missing_in_sessions", Value: f.captureLost()}, {Key: "first", Value: first},
		},
	})
}

// captureLost is how many packets sessions show to be missing from the capture.
func (f *Facts) captureLost() (n uint64) {
	for st := range f.streams() {
		n += st.req.Lost.Capture
	}
	return n
}

// felt says how many of the packets that did not come to the capture are missed
// in sessions.
func (f *Facts) felt(missing uint64) string {
	switch n := f.captureLost(); {
	case f.RoCE.Total() == 0 || f.sampling.most:
		return ""
	case n == 0:
		return " No session shows what is missing: it was ACKs, which later ones make up for, packets of UC or UD, other traffic, or at the ends of sessions. Latencies may look longer than they were."
	case n < missing:
		return " Sessions show " + plural(n, "packet") + " missing: requests that were acknowledged and never seen (capture-loss). The rest was ACKs, which later ones make up for, packets of UC or UD, other traffic, or at " +
			"the ends of sessions, or is taken for a loss of the network where its requester went back over it."
	}
	return " Sessions show them as requests that were acknowledged and never seen: see capture-loss."
}

// drops is how many packets the inputs say that the capture lost.
func (f *Facts) drops() (n uint64, known bool) {
	for i := range f.Inputs {
		if d := f.Inputs[i].Drops; d != nil {
			n, known = n+*d, true
		}
	}
	return n, known
}

// proof is what else is known of packets that the mirror or the capture lost,
// in a sentence and as evidence: the numbers of the mirror's frames, and what
// the capturing side counted.
func (f *Facts) proof() (say string, more record.Evidence) {
	if _, missing, known := f.Mirrors.Lost(); known {
		more = append(more, record.Fact{Key: "mirror_missing", Value: missing})
		if missing > 0 {
			say += " The mirror's sequence numbers confirm it: " + plural(missing, "frame") + isAre(missing, " is", " are") + " missing between the mirror and this capture (mirror-gaps)."
		} else {
			say += " The mirror's sequence numbers have no gap, so nothing was lost behind it: it did not mirror them, or lost them before it numbers."
		}
	}
	if drops, known := f.drops(); known {
		more = append(more, record.Fact{Key: "capture_drops", Value: drops})
		if drops > 0 {
			say += " The capturing side counted " + plural(drops, "drop") + " of its own (capture-drops)."
		} else {
			say += " The capturing side counted no drop of its own."
		}
	}
	return say, more
}

// mirrorSays is what the mirror's numbers say of a capture that holds a part of
// the packets.
func (f *Facts) mirrorSays() string {
	frames, missing, known := f.Mirrors.Lost()
	switch {
	case !known:
		return ""
	case missing == 0:
		return " The mirror's sequence numbers have no gap: it was the mirror that left them out, and nothing was lost behind it."
	}
	return " The mirror's sequence numbers show that " + percent(missing, frames+missing) + " of what it sent is missing (mirror-gaps)."
}

// doubt is what to add where the network is said to have lost packets and the
// capture lost some of its own.
func (f *Facts) doubt() string {
	_, missing, _ := f.Mirrors.Lost()
	drops, _ := f.drops()
	if missing == 0 && drops == 0 {
		return ""
	}
	return " The capture lost packets of its own as well (" + enumerate(func(c counted) string { return count(c.n) + " " + c.name },
		counted{missing, "by the mirror's sequence numbers"}, counted{drops, "by the capturing side's count"}) + "): where a requester went back over one of those, it counts here."
}
