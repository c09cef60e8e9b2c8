package correlate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
)

// Find draws conclusions from a result: where packets were lost, where they
// were delayed, marked or damaged, and what can't be told. names are those of
// the taps. The worst come first.
func Find(r *Result, names []string) []record.Finding {
	f := finder{r: r, names: names}
	f.nothing()
	f.losses()
	f.corruption()
	f.captures()
	f.appeared()
	f.copies()
	f.headers()
	f.marks()
	f.delays()
	f.clocks()
	f.orders()
	f.limits()
	slices.SortStableFunc(f.found, func(a, b record.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return f.found
}

type finder struct {
	r     *Result
	names []string
	found []record.Finding
}

func (f *finder) add(s record.Severity, code, title string, evidence record.Evidence, detail ...string) {
	f.found = append(f.found, record.Finding{Severity: s, Code: code, Title: title, Detail: strings.Join(detail, " "), Evidence: evidence})
}

func (f *finder) between(h *Hop) string { return f.names[h.Up] + " and " + f.names[h.Down] }

// hops are the hops of which something is counted, most of it first.
func (f *finder) hops(n func(*Hop) uint64) (list []*Hop, sum uint64) {
	for i := range f.r.Hops {
		if h := &f.r.Hops[i]; n(h) > 0 {
			list = append(list, h)
			sum += n(h)
		}
	}
	slices.SortStableFunc(list, func(a, b *Hop) int { return cmp.Compare(n(b), n(a)) })
	return list, sum
}

// where is the evidence that names a hop.
func (f *finder) where(h *Hop, more ...record.Fact) record.Evidence {
	return append(record.Evidence{{Key: "up", Value: f.names[h.Up]}, {Key: "down", Value: f.names[h.Down]}}, more...)
}

// order is what to know of a hop whose taps may be the other way round.
func (f *finder) order(h *Hop) string {
	if f.r.Paths[h.Path].Sureness.Sure() {
		return ""
	}
	return "That " + f.names[h.Up] + " comes first is not sure."
}

func (f *finder) nothing() {
	if len(f.r.Flows) > 0 {
		return
	}
	f.add(record.Warning, "nothing-in-common", "No packet was recognised at two taps",
		nil, "The captures may be of other times or of other traffic, or what is inside of a tunnel was not captured; and where a capture has each packet several times, more than a millisecond apart, none is unique. `rocelens analyze` says of each what is in it.")
}

func (f *finder) losses() {
	hops, here := f.hops(func(h *Hop) uint64 { return h.Lost.Network() })
	sum := here + f.ahead()
	for _, h := range hops {
		n := h.Lost.Network()
		title := fmt.Sprintf("%s lost between %s (%s)", were(n), f.between(h), words.Percent(n, h.Upstream))
		if n < sum {
			title = fmt.Sprintf("%s of %s lost between %s (%s)", words.Count(n), were(sum), f.between(h), words.Percent(n, h.Upstream))
		}
		var say []string
		say = append(say, fmt.Sprintf("%s had them on the way to %s, which did not get them while it captured.", f.names[h.Up], f.names[h.Down]))
		switch {
		case h.Lost.Open == 0 && n > 1:
			say = append(say, "All were sent again.")
		case h.Lost.SentAgain > 0:
			say = append(say, fmt.Sprintf("%s sent again.", were(h.Lost.SentAgain)))
		}
		if h.Lost.Open > 0 {
			say = append(say, fmt.Sprintf("Of %s nothing but their absence tells: they were not sent again, as answers, datagrams and needless repetitions never are.", words.Plural(h.Lost.Open, "packet")))
		}
		say = append(say, f.worst(h), f.tries(h), f.order(h), f.drops(h))
		say = append(say, "Check egress drops in the traffic class of RoCE, and FCS and FEC errors, on what lies between these taps.")
		f.add(record.Critical, "lost-between-taps", title, f.where(h,
			record.Fact{Key: "lost", Value: n}, record.Fact{Key: "sent_again", Value: h.Lost.SentAgain}, record.Fact{Key: "open", Value: h.Lost.Open},
			record.Fact{Key: "packets", Value: h.Upstream}, record.Fact{Key: "tries", Value: h.Tries}), trim(say)...)
	}
	if here == 0 && len(f.r.Flows) > 0 {
		_, n := f.hops(func(h *Hop) uint64 { return h.Upstream })
		f.add(record.Info, "no-loss", "No packet was lost between the taps", record.Evidence{{Key: "packets", Value: n}},
			trim([]string{"Each that left one tap while both captured came to the next, or was answered.", f.elsewhere()})...)
	}
}

// ahead finds what was lost ahead of the first tap of a path, and returns how
// much that is.
func (f *finder) ahead() (sum uint64) {
	by := make([]uint64, len(f.r.Taps))
	for i := range f.r.Flows {
		x := &f.r.Flows[i]
		by[x.Taps[0]] += x.LostBefore
		sum += x.LostBefore
	}
	for t, n := range by {
		if n > 0 {
			f.add(record.Critical, "lost-before-taps", fmt.Sprintf("%s lost ahead of %s, the first tap on the way", were(n), f.names[t]), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "lost", Value: n}},
				"They were missing there, and their senders went back for them. Check the senders, and what lies between them and this tap.")
		}
	}
	return sum
}

// were is "1 packet was" or "3 packets were".
func were(n uint64) string {
	if n == 1 {
		return "1 packet was"
	}
	return words.Count(n) + " packets were"
}

func trim(say []string) []string {
	return slices.DeleteFunc(say, func(s string) bool { return s == "" })
}

// worst is the flow that lost most on a hop.
func (f *finder) worst(h *Hop) string {
	best, flows := -1, 0
	most := uint64(0)
	for i := range f.r.Flows {
		for k := range f.r.Flows[i].Hops {
			x := &f.r.Flows[i].Hops[k]
			if &f.r.Hops[x.Hop] != h || x.Lost.Network() == 0 {
				continue
			}
			flows++
			if x.Lost.Network() > most {
				best, most = i, x.Lost.Network()
			}
		}
	}
	switch {
	case best < 0:
		return ""
	case flows == 1:
		return "They are of " + f.r.Flows[best].Name() + "."
	}
	return fmt.Sprintf("They are of %s; %s of %s.", words.Plural(uint64(flows), "flow"), words.Count(most), f.r.Flows[best].Name())
}

// Name is the flow for people: 10.0.0.1 > 10.0.0.2/0x11.
func (f *Flow) Name() string {
	b := f.Src.Append(nil, f.Kind)
	b = f.Dst.Append(append(b, " > "...), f.Kind)
	return fmt.Sprintf("%s/0x%x", b, f.DestQP)
}

// tries says how often requesters went back because of a hop.
func (f *finder) tries(h *Hop) string {
	all := uint64(0)
	for i := range f.r.Flows {
		all += f.r.Flows[i].Tries
	}
	if h.Tries == 0 {
		return ""
	}
	return fmt.Sprintf("Requesters went back %s because of that, %s in all.", words.Times(h.Tries), words.Times(all))
}

// elsewhere says how often requesters went back for what no hop accounts for.
func (f *finder) elsewhere() string {
	var all, before, here uint64
	for i := range f.r.Flows {
		all, before = all+f.r.Flows[i].Tries, before+f.r.Flows[i].TriesBefore
	}
	for i := range f.r.Hops {
		here += f.r.Hops[i].Tries + f.r.Hops[i].AnswerTries
	}
	if all == here {
		return ""
	}
	s := fmt.Sprintf("Requesters went back %s all the same", words.Times(all-here))
	if before > 0 {
		s += fmt.Sprintf(": %s for packets that were missing at the first tap of their path already", words.Times(before))
	}
	return s + ". What was lost there, or whether anything was, is ahead of the taps or behind them: see `rocelens analyze` of the one that is nearest."
}

// drops is what the capture behind a hop says that it lost itself.
func (f *finder) drops(h *Hop) string {
	n, known := f.r.Taps[h.Down].Drops()
	switch {
	case known && n > 0:
		return fmt.Sprintf("The capture at %s says that it lost %s itself: as many of these may have arrived.", f.names[h.Down], words.Plural(n, "frame"))
	case !known && h.Lost.Open > 0:
		return fmt.Sprintf("The capture at %s does not say whether it lost frames itself.", f.names[h.Down])
	}
	return ""
}

// Drops is how many frames the tap's captures say that they lost; known is
// false where none says.
func (t *Tap) Drops() (n uint64, known bool) {
	for i := range t.Inputs {
		if d := t.Inputs[i].Drops; d != nil {
			n, known = n+*d, true
		}
	}
	return n, known
}

func (f *finder) corruption() {
	hops, _ := f.hops(func(h *Hop) uint64 { return h.Corrupted })
	for _, h := range hops {
		f.add(record.Critical, "corrupted-between-taps", fmt.Sprintf("%s damaged between %s", were(h.Corrupted), f.between(h)),
			f.where(h, record.Fact{Key: "packets", Value: h.Corrupted}),
			trim([]string{fmt.Sprintf("The ICRC was right at %s and wrong at %s. Something there changes packets and computes the FCS anew, so that no link counts an error: a switch's memory, or a card.", f.names[h.Up], f.names[h.Down]), f.order(h)})...)
	}
	if hops, n := f.hops(func(h *Hop) uint64 { return h.CorruptUp }); n > 0 {
		f.add(record.Warning, "corrupted-before-taps", fmt.Sprintf("%s damaged already where they were seen first", were(n)), record.Evidence{{Key: "packets", Value: n}},
			"The ICRC is wrong at "+f.names[hops[0].Up]+" as well: it was damaged before, or the sender does not compute it.")
	}
}

func (f *finder) captures() {
	for t := range f.r.Taps {
		tap := &f.r.Taps[t]
		if tap.Missed > 0 {
			f.add(record.Warning, "tap-missed", fmt.Sprintf("The capture at %s lost %s that passed it", f.names[t], words.Plural(tap.Missed, "packet")), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "packets", Value: tap.Missed}},
				"Taps on both sides of it had them, so the network did not lose them. They count as lost nowhere. Give the mirror or the capture more room.")
		}
		if tap.Answered > 0 {
			f.add(record.Warning, "tap-missed-answered", fmt.Sprintf("%s answered that %s does not have", were(tap.Answered), f.names[t]), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "packets", Value: tap.Answered}},
				"They were not sent again, so they did arrive: the capture lost them, or they took another way. They do not count as lost.")
		}
		if n, _ := tap.Drops(); n > 0 {
			f.add(record.Warning, "tap-drops", fmt.Sprintf("The capture at %s lost %s, as it says itself", f.names[t], words.Plural(n, "frame")), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "frames", Value: n}},
				"What is missing there need not have been lost by the network.")
		}
	}
}

func (f *finder) appeared() {
	hops, _ := f.hops(func(h *Hop) uint64 { return h.Appeared })
	for _, h := range hops {
		f.add(record.Warning, "only-downstream", fmt.Sprintf("%s seen at %s and not at %s, which comes before", were(h.Appeared), f.names[h.Down], f.names[h.Up]),
			f.where(h, record.Fact{Key: "packets", Value: h.Appeared}),
			trim([]string{"The capture at " + f.names[h.Up] + " lost them, or a part of these flows takes another way. Losses ahead of " + f.names[h.Up] + " are not affected.", f.order(h)})...)
	}
}

func (f *finder) copies() {
	hops, _ := f.hops(func(h *Hop) uint64 { return h.Duplicated })
	for _, h := range hops {
		f.add(record.Warning, "copied-between-taps", fmt.Sprintf("%s made between %s", copiesWere(h.Duplicated), f.between(h)), f.where(h, record.Fact{Key: "packets", Value: h.Duplicated}),
			"The same packets came more often at "+f.names[h.Down]+": a loop, a flooded frame, or a mirror of two ports.")
	}
	hops, _ = f.hops(func(h *Hop) uint64 { return h.Reordered })
	for _, h := range hops {
		f.add(record.Warning, "reordered-between-taps", fmt.Sprintf("%s overtaken between %s", were(h.Reordered), f.between(h)), f.where(h, record.Fact{Key: "packets", Value: h.Reordered}),
			"They came behind packets of the same flow that had left later. A receiver takes that for a loss. Check whether packets of one flow are spread over several links.")
	}
}

func copiesWere(n uint64) string {
	if n == 1 {
		return "1 copy was"
	}
	return words.Count(n) + " copies were"
}

func (f *finder) headers() {
	hops, _ := f.hops(func(h *Hop) uint64 { return h.DSCP.Packets + h.Priority.Packets })
	for _, h := range hops {
		what, c := "DSCP", h.DSCP
		if c.Packets == 0 {
			what, c = "VLAN priority", h.Priority
		}
		f.add(record.Warning, "class-changed", fmt.Sprintf("The %s of %s changed between %s", what, words.Plural(c.Packets, "packet"), f.between(h)),
			f.where(h, record.Fact{Key: "dscp", Value: h.DSCP.Packets}, record.Fact{Key: "priority", Value: h.Priority.Packets}),
			fmt.Sprintf("The first one from %d to %d. Behind there they are in another traffic class, which may not be lossless: check what the ports there trust and rewrite.", c.From, c.To))
	}
	hops, _ = f.hops(func(h *Hop) uint64 { return h.Unmarked })
	for _, h := range hops {
		f.add(record.Warning, "marks-removed", fmt.Sprintf("CE was taken away from %s between %s", words.Plural(h.Unmarked, "packet"), f.between(h)), f.where(h, record.Fact{Key: "packets", Value: h.Unmarked}),
			trim([]string{"Nothing may do that (RFC 3168): senders are not told of congestion then. A tunnel whose end does not carry the mark over does it.", f.order(h)})...)
	}
}

func (f *finder) marks() {
	hops, sum := f.hops(func(h *Hop) uint64 { return h.Marked })
	for _, h := range hops {
		f.add(record.Info, "marked-between-taps", fmt.Sprintf("%s of %s marked CE between %s (%s)", words.Count(h.Marked), were(sum), f.between(h), words.Percent(h.Marked, h.Matched)),
			f.where(h, record.Fact{Key: "packets", Value: h.Marked}), trim([]string{"A queue there is longer than its marking threshold.", f.order(h)})...)
	}
}
