package correlate

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
)

// delays says where packets took longest.
func (f *finder) delays() {
	hops, _ := f.hops(func(h *Hop) uint64 { return uint64(max(h.Delay.Quantile(0.99), 0)) })
	if len(hops) == 0 {
		return
	}
	h := hops[0]
	title := fmt.Sprintf("Packets took longest from %s to %s: %s in the median, %s at most", f.names[h.Up], f.names[h.Down], words.Duration(h.Delay.Quantile(0.5)), words.Duration(h.Delay.Max))
	detail := "Their clock is one."
	if h.DelayError > 0 {
		detail = fmt.Sprintf("Each is known to ± %s.", words.Duration(h.DelayError))
	}
	if !h.DelayKnown {
		title += " more than the fastest"
		detail = "How long the fastest took can't be told."
	}
	f.add(record.Info, "delay-between-taps", title, f.where(h, record.Fact{Key: "median_ns", Value: h.Delay.Quantile(0.5)}, record.Fact{Key: "max_ns", Value: h.Delay.Max}, record.Fact{Key: "packets", Value: h.Delay.Count}),
		trim([]string{detail, f.order(h)})...)
}

// clocks says what is wrong with clocks, or not known of them.
func (f *finder) clocks() {
	for i := range f.r.Clocks {
		c := &f.r.Clocks[i]
		a, b := f.names[c.A], f.names[c.B]
		evidence := record.Evidence{{Key: "a", Value: a}, {Key: "b", Value: b}, {Key: "method", Value: c.Method.String()}}
		switch {
		case c.Contradicted != 0:
			f.add(record.Warning, "clocks-differ", fmt.Sprintf("The clocks of %s and %s differ by %s, and are said to be one", a, b, words.Duration(abs(c.Contradicted))), evidence,
				"Packets of both directions say so. Delays between them mean nothing: leave out --same-clock.")
		case c.Method == OneWay || c.Method == OneWayBad:
			f.add(record.Info, "clock-one-way", fmt.Sprintf("How long packets take between %s and %s can't be told, only how much longer than the fastest", a, b), evidence,
				"Packets of one direction alone are common to them, and a slow path looks like a clock that is ahead. Capture both directions at both, or use --same-clock if they have one clock.")
		case c.Method == Spread:
			f.add(record.Warning, "clock-unsteady", fmt.Sprintf("The clocks of %s and %s were not steady against each other, or their time stamps are coarse", a, b), evidence,
				fmt.Sprintf("Some packets seem to have arrived before they left. Delays are known to ± %s only.", words.Duration(c.Uncertainty)))
		}
	}
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// orders says which orders of taps are not sure.
func (f *finder) orders() {
	for i := range f.r.Paths {
		p := &f.r.Paths[i]
		var names []string
		for _, t := range p.Taps {
			names = append(names, f.names[t])
		}
		way := strings.Join(names, ", ")
		if p.Conflicts > 0 {
			f.add(record.Warning, "order-contradicted", fmt.Sprintf("Hop limits and delays disagree on the order %s", way), record.Evidence{{Key: "pairs", Value: uint64(p.Conflicts)}},
				"The hop limit was believed. Something on the way sets it anew, or a clock jumped.")
		}
		if p.Sureness.Sure() {
			continue
		}
		why := map[Sureness]string{
			Assumed:  "Nothing in the packets tells: it is that of the command line.",
			Alike:    "Of some of them nothing tells; it is that of others with the same sender or receiver.",
			ByLosses: "What one tap misses, the other has, and not the other way round; a capture that lost packets looks the same.",
		}[p.Sureness]
		f.add(record.Info, "order-unsure", fmt.Sprintf("That packets of %s pass %s in this order is not sure", words.Plural(uint64(p.Flows), "flow"), way), record.Evidence{{Key: "how", Value: p.Sureness.String()}, {Key: "flows", Value: uint64(p.Flows)}},
			why, "If it is the other way round, what was lost is what appeared, and marks that came are marks that went. --in-order says which it is; with --same-clock delays tell.")
	}
}

// limits says what was not looked at, or only in part.
func (f *finder) limits() {
	r := f.r
	if r.Shortened > 0 {
		f.add(record.Warning, "window-short", fmt.Sprintf("%s not waited for as long as --window says, for want of memory (--max-memory)", were(r.Shortened)), record.Evidence{{Key: "packets", Value: r.Shortened}, {Key: "window_ns", Value: r.Window}},
			fmt.Sprintf("Some only %s. Packets that came later count as lost and as appeared.", words.Duration(r.Window)))
	}
	if r.ByTime > 0 {
		f.add(record.Info, "matched-by-time", fmt.Sprintf("%s told from others like them by the time alone", were(r.ByTime)), record.Evidence{{Key: "packets", Value: r.ByTime}},
			"Without IP IDs a packet that is sent again looks like the first one. How many were lost is right; which of them it was may not be.")
	}
	for i := range r.Hops {
		if h := &r.Hops[i]; h.Outside > 0 && h.Outside*20 > h.Upstream {
			f.add(record.Info, "outside", fmt.Sprintf("%s between %s not judged: one tap was not capturing, or saw nothing any more", were(h.Outside), f.between(h)), f.where(h, record.Fact{Key: "packets", Value: h.Outside}),
				"They lie before the first or behind the last packet that came through, where the other capture may have begun or ended. Where a connection died there, these are what it lost.")
		}
	}
	for t := range r.Taps {
		tap := &r.Taps[t]
		if !tap.Aligned && tap.Packets > 0 {
			f.add(record.Warning, "tap-apart", fmt.Sprintf("%s has no packet in common with the others", f.names[t]), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "packets", Value: tap.RoCE}},
				"It is left out. Is it of the same traffic and of the same time?")
		}
		if tap.Doubled {
			f.add(record.Info, "tap-doubled", fmt.Sprintf("%s has packets twice", f.names[t]), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "packets", Value: tap.Duplicates}},
				"It captured two ports that they pass, or both directions of one. The first of each is what counts.")
		}
		if tap.Unplaced > 0 {
			f.add(record.Warning, "flows-left-out", fmt.Sprintf("%s of flows beyond --max-memory left out at %s", were(tap.Unplaced), f.names[t]), record.Evidence{{Key: "tap", Value: f.names[t]}, {Key: "packets", Value: tap.Unplaced}}, "They are not compared.")
		}
	}
}
