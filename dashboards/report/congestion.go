package report

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// congestion is what marks and CNPs say of what one side sent; absent without
// any. Null is what this tap can't show.
func (e *sessionEncoder) congestion(d, other *record.Direction) {
	x := d.Congestion
	if x == nil {
		return
	}
	figure := func(key string, v uint64, known bool) {
		if known {
			e.uint(key, v)
		} else {
			e.null(key)
		}
	}
	hidden := x.Marks == record.MarksHidden
	rated := x.Reaction == record.ReactionNone || x.Reaction == record.ReactionSlowed
	e.object("congestion")
	e.string("marks", x.Marks.String())
	figure("data_marked", x.DataMarked, !hidden)
	figure("acks_marked", x.AcksMarked, !hidden)
	figure("cnps_marked", x.CNPsMarked, !hidden)
	figure("cnps", d.CNPsReceived, other.Packets > 0)
	figure("cnps_without_mark", x.Unmarked, x.CNPs > 0 && x.Marks == record.MarksSeen)
	e.latency("np_delay_ns", &x.NPDelay)
	e.latency("mark_wait_ns", &x.MarkWait)
	e.latency("cnp_spacing_ns", &x.Spacing)
	e.pacing(&x.Pacing)
	e.knownString("reaction", x.Reaction.String())
	figure("slowed", x.Slowed, rated)
	figure("recovered", x.Recovered, rated)
	if x.Depth > 0 {
		e.ratio("depth", x.Depth)
	} else {
		e.null("depth")
	}
	e.latency("cnp_to_slow_ns", &x.ToSlow)
	e.latency("slow_to_recover_ns", &x.ToRecover)
	e.end()
}

// pacing is what CNPs are kept apart for, null where there are too few.
func (e *sessionEncoder) pacing(p *record.Pacing) {
	if !p.Known {
		e.null("cnp_pacing")
		return
	}
	e.object("cnp_pacing")
	e.knownInt("interval_ns", p.Interval)
	e.bool("per_qp", p.QP)
	e.bool("per_destination", p.Destination)
	e.bool("per_port", p.Port)
	e.end()
}

// congestionTexts says of each direction what marks and CNPs say.
func congestionTexts(s *record.Session) (all []string) {
	for _, x := range []struct {
		d, other *record.Direction
		from, to *record.Endpoint
	}{{&s.AToB, &s.BToA, &s.A, &s.B}, {&s.BToA, &s.AToB, &s.B, &s.A}} {
		if x.d.Congestion != nil {
			if text := congestionText(x.d, x.other, hostName(x.from), hostName(x.to)); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// congestionText is "5.0 % of the data of 10.0.0.1 marked; 38 CNPs, 4.1 us after
// the mark; slowed to 31 % within 12 us, back after 1.2 ms".
func congestionText(d, other *record.Direction, from, to string) string {
	x := d.Congestion
	var parts []string
	data := carrying(d)
	data -= min(data, other.CNPsReceived) // which this side sent
	switch {
	case x.DataMarked > 0:
		parts = append(parts, share(x.DataMarked, max(data, x.DataMarked))+" of the data of "+from+" marked")
	case x.Marks == record.MarksHidden:
		parts = append(parts, "what "+from+" sent is not in this capture, or was not matched")
	case d.CNPsReceived > 0 && x.AcksMarked == 0:
		parts = append(parts, "no mark on the data of "+from+" here (marks set behind this tap do not show)")
	}
	if x.AcksMarked > 0 {
		parts = append(parts, plural(x.AcksMarked, "marked ACK")+" from "+from)
	}
	if x.CNPsMarked > 0 {
		parts = append(parts, plural(x.CNPsMarked, "marked CNP")+" from "+from)
	}
	switch n := d.CNPsReceived; {
	case n > 0:
		text := plural(n, "CNP")
		if x.NPDelay.Count > 0 {
			text += ", " + duration(x.NPDelay.Quantile(0.5)) + " after the mark"
		}
		if p := pacingText(&x.Pacing); p != "" {
			text += ", " + p
		}
		parts = append(parts, text, reactionText(x))
	case x.DataMarked == 0:
	case other.Packets == 0:
		parts = append(parts, "whether "+to+" sent CNPs does not show here")
	default:
		parts = append(parts, "no CNP")
	}
	return strings.Join(parts, "; ")
}

func reactionText(x *record.Congestion) string {
	switch x.Reaction {
	case record.ReactionSlowed:
		text := "slowed to " + percent(x.Depth) + " within " + duration(x.ToSlow.Quantile(0.5))
		if x.ToRecover.Count == 0 {
			return text + ", and did not get as fast again here"
		}
		return text + ", back after " + duration(x.ToRecover.Quantile(0.5))
	case record.ReactionNone:
		return "its rate did not fall"
	case record.NoCNP, record.ReactionUnknown:
	}
	return "what its rate did can't be told here"
}

// pacingText says what the times between CNPs fit.
func pacingText(p *record.Pacing) string {
	var fits []string
	if p.QP {
		fits = append(fits, "QP")
	}
	if p.Destination {
		fits = append(fits, "destination")
	}
	if p.Port {
		fits = append(fits, "port")
	}
	if len(fits) == 0 {
		return ""
	}
	return "at least " + duration(p.Interval) + " apart for each " + strings.Join(fits, " or ")
}

// percent is a share from 0 to 1.
func percent(v float64) string { return share(uint64(v*1e6), 1e6) }

func marksText(from string, e *record.Event, d *record.CE) string {
	if e.Count <= 1 {
		return psn(d.PSN) + " from " + from + " is marked: congestion"
	}
	return plural(e.Count, "packet") + " of data from " + from + " are marked in " + duration(d.Lasted) + ", from " + psn(d.PSN) + " on: congestion"
}

func cnpText(from, to string, e *record.Event, d *record.CNP) string {
	text := "a CNP of " + to + " tells " + from + " to slow down"
	if e.Count > 1 {
		text = plural(e.Count, "CNP") + " of " + to + " in " + duration(d.Lasted) + " tell " + from + " to slow down"
	}
	if d.Delay != nil {
		text += ", "
		if e.Count > 1 {
			text += "the first "
		}
		text += duration(*d.Delay) + " after a mark"
	}
	return text
}

func slowText(from string, d *record.Slow) string {
	return from + " sends at " + percent(d.Share) + " of its rate before, " + scaled(d.Rate, "bit/s") + ": slower within " + duration(d.Took) + " of the CNP"
}

func recoveredText(from string, d *record.Recovered) string {
	return from + " is about as fast again as before, after " + duration(d.Took) + " (the lowest was " + percent(d.Depth) + ")"
}
