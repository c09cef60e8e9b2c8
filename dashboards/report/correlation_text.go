package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/correlate"
)

// CorrelationText writes a correlation for somebody at a terminal: the answer
// first, then the taps, their clocks, the paths, and figures by hop and flow.
func CorrelationText(w io.Writer, c *Correlation, opt Options) error {
	opt.fill()
	t := &correlationText{text: text{Report: &Report{Partial: c.Partial, Findings: c.Findings}, opt: opt}, c: c, r: c.Result}
	t.findings()
	t.taps()
	t.clocks()
	t.paths()
	t.hops()
	t.flows()
	t.losses()
	_, err := io.WriteString(w, strings.ReplaceAll(t.b.String(), glue, " "))
	return err
}

type correlationText struct {
	text
	c *Correlation
	r *correlate.Result
}

func (t *correlationText) name(tap int) string { return capture.PathText(t.c.Names[tap]) }

// label is the label of the first of several rows.
func label(s string, i int) string {
	if i > 0 {
		return ""
	}
	return s
}

func (t *correlationText) taps() {
	for i := range t.r.Taps {
		tap := &t.r.Taps[i]
		var files []string
		for k := range tap.Inputs {
			in := newInput(&tap.Inputs[k])
			s := capture.PathText(in.Path)
			switch {
			case in.Format == "unknown" && in.DamagedAt != nil:
				s += " (not a capture)"
			case in.DamagedAt != nil && !in.whole:
				s += " (damaged at byte " + count(uint64(*in.DamagedAt)) + ")"
			}
			files = append(files, s)
		}
		s := t.name(i)
		if all := strings.Join(files, ", "); all != s {
			s += ": " + all
		}
		s += "; " + plural(tap.Packets, "packet") + ", " + count(tap.RoCE) + " RoCE"
		if tap.Packets > 0 {
			s += "; " + span(tap.First, tap.Last, t.opt.Location)
		}
		if n, known := tap.Drops(); known {
			s += "; capture drops " + count(n)
		} else {
			s += "; capture drops not recorded"
		}
		if n := t.r.Alone.Packets[i]; n > 0 {
			s += "; " + plural(n, "packet") + " of " + plural(uint64(t.r.Alone.Flows[i]), "flow") + " that no other tap saw"
		}
		if tap.Resolution > 1 {
			s += "; time stamps of " + duration(tap.Resolution)
		}
		t.row(fmt.Sprintf("Tap %d", i+1), s)
	}
}

func (t *correlationText) clocks() {
	for i := range t.r.Clocks {
		c := &t.r.Clocks[i]
		t.row(label("Clocks", i), t.clock(c))
	}
}

func (t *correlationText) clock(c *correlate.Clock) string {
	a, b := t.name(c.A), t.name(c.B)
	if c.Method == correlate.Same {
		return a + " and " + b + " have one, as --same-clock says"
	}
	way, off := " ahead of ", c.Offset
	if off < 0 {
		way, off = " behind ", -off
	}
	s := b + " is " + exactly(off) + way + a
	if c.Uncertainty >= 0 {
		s += " (± " + duration(c.Uncertainty) + ")"
	} else {
		s += ", or more or less by what packets take: they go one way only"
	}
	switch {
	case c.DriftUncertainty > maxTellingDrift:
		s += ", too short to tell the drift"
	case c.DriftUncertainty >= 0:
		s += fmt.Sprintf(", drift %+.2f (± %.2f) ppm", c.Drift, c.DriftUncertainty)
	case c.Drift != 0:
		s += fmt.Sprintf(", drift about %+.2f ppm", c.Drift)
	}
	if c.RoundTrip >= 0 {
		s += "; shortest round trip " + duration(c.RoundTrip)
	}
	return s + "; from " + plural(c.Samples[0]+c.Samples[1]+c.Samples[2], "packet")
}

// maxTellingDrift is the uncertainty in parts per million from which on a drift
// says nothing: no clock drifts more.
const maxTellingDrift = 100

// exactly is a length of time without rounding to a few digits: an offset is
// of use as it is.
func exactly(ns int64) string {
	if ns < int64(time.Minute) {
		return glued(fmt.Sprintf("%.6f s", float64(ns)/1e9))
	}
	return duration(ns) + glued(fmt.Sprintf(" (%.6f s)", float64(ns)/1e9))
}

func (t *correlationText) paths() {
	how := map[correlate.Sureness]string{
		correlate.Assumed: "that of the command line, nothing else tells", correlate.Alike: "as for others with the same sender or receiver, not sure",
		correlate.ByLosses: "by what each tap misses, likely", correlate.Given: "as --in-order says", correlate.ByDelay: "by delays", correlate.ByMarks: "by ECN marks",
		correlate.ByTTL: "by hop limits",
	}
	for i := range t.r.Paths {
		p := &t.r.Paths[i]
		names := make([]string, 0, len(p.Taps))
		for _, tap := range p.Taps {
			names = append(names, t.name(tap))
		}
		s := strings.Join(names, " > ") + ": " + plural(uint64(p.Flows), "flow")
		if p.Pairs > 1 {
			s += " of " + plural(uint64(p.Pairs), "pair") + " of hosts"
		}
		s += " (" + string(p.Src.Append(nil, p.Kind)) + " to " + string(p.Dst.Append(nil, p.Kind))
		if p.Pairs > 1 {
			s += " among them"
		}
		t.row(label("Paths", i), s+"), order "+how[p.Sureness])
	}
}

// cells are the figures of a hop, "" where there is nothing to say.
func cells(c *correlate.Counts) []string {
	lost := some(c.Lost.Network())
	if lost != "" {
		lost += glue + "(" + share(c.Lost.Network(), c.Upstream) + ")"
	}
	d := func(q float64) string {
		if c.Delay.Count == 0 {
			return ""
		}
		return duration(c.Delay.Quantile(q))
	}
	least, most := "", ""
	if c.Delay.Count > 0 {
		least, most = signed(c.DelayMin), duration(c.Delay.Max)
	}
	return []string{
		some(c.Upstream), lost, some(c.Lost.Answered), some(c.Appeared), some(c.Marked), some(c.Corrupted), some(c.Duplicated), some(c.Reordered), some(c.Outside),
		least, d(0.5), d(0.99), most,
	}
}

func signed(ns int64) string {
	if ns < 0 {
		return "-" + duration(-ns)
	}
	return duration(ns)
}

var cellHeads = [...]string{"packets", "lost", "answered", "appeared", "marked", "damaged", "copied", "overtaken", "outside", "delay min", "p50", "p99", "max"}

// line is one line of a table: who, and their figures below.
type line struct {
	who   string
	cells []string
}

// table writes lines with the columns that have something in them.
func (t *correlationText) table(title, what string, lines []line) {
	var widths [len(cellHeads)]int
	for _, l := range lines {
		for i, c := range l.cells {
			if c != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(c), len(cellHeads[i]))
			}
		}
	}
	write := func(cell func(i int) string) string {
		s := ""
		for i, w := range widths {
			if w > 0 {
				c := cell(i)
				s += strings.Repeat(glue, w-utf8.RuneCountInString(c)+2) + c
			}
		}
		return s
	}
	t.b.WriteByte('\n')
	t.row(title, what)
	t.b.WriteString(write(func(i int) string { return cellHeads[i] }) + "\n")
	for _, l := range lines {
		t.b.WriteString(l.who + "\n" + write(func(i int) string { return l.cells[i] }) + "\n")
	}
}

func (t *correlationText) hops() {
	if len(t.r.Hops) == 0 {
		return
	}
	lines := make([]line, 0, len(t.r.Hops))
	for i := range t.r.Hops {
		h := &t.r.Hops[i]
		who := t.name(h.Up) + " > " + t.name(h.Down) + ", " + plural(uint64(h.Flows), "flow")
		switch {
		case !h.DelayKnown:
			who += ", delays above the fastest"
		case h.DelayError > 0:
			who += ", delays ± " + duration(h.DelayError)
		}
		lines = append(lines, line{who, cells(&h.Counts)})
	}
	t.table("Hops", count(uint64(len(t.r.Hops))), lines)
}

// trouble orders flows by what happened to them.
func trouble(f *correlate.Flow) (bad uint64, slow int64) {
	for i := range f.Hops {
		c := &f.Hops[i].Counts
		bad += c.Lost.Network() + c.Corrupted + c.Reordered + c.Duplicated
		slow = max(slow, c.Delay.Quantile(0.99))
	}
	return bad, slow
}

func (t *correlationText) flows() {
	list := make([]*correlate.Flow, 0, len(t.r.Flows))
	for i := range t.r.Flows {
		list = append(list, &t.r.Flows[i])
	}
	slices.SortStableFunc(list, func(a, b *correlate.Flow) int {
		x, p := trouble(a)
		y, q := trouble(b)
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(q, p), cmp.Compare(b.Packets, a.Packets))
	})
	if len(list) == 0 {
		return
	}
	what := count(uint64(len(list)))
	if n := t.opt.Top; len(list) > n {
		list = list[:n]
		what += ", the " + count(uint64(n)) + " with most trouble"
	}
	var lines []line
	for _, f := range list {
		for i := range f.Hops {
			h := &t.r.Hops[f.Hops[i].Hop]
			who := f.Name()
			if len(t.r.Hops) > 1 {
				who += ", " + t.name(h.Up) + " > " + t.name(h.Down)
			}
			lines = append(lines, line{who, cells(&f.Hops[i].Counts)})
		}
	}
	t.table("Flows", what, lines)
}

// maxLossLines is how many losses text lists.
const maxLossLines = 10

func (t *correlationText) losses() {
	all := t.r.Losses
	if len(all) == 0 {
		return
	}
	what := "the " + count(uint64(len(all))) + " packets that did not come through"
	if len(all) > maxLossLines {
		what = "the first " + count(maxLossLines) + " of " + count(uint64(len(all))+t.r.LossesLeftOut) + " packets that did not come through; --format json lists them"
	}
	if first := slices.IndexFunc(t.r.Taps, func(tap correlate.Tap) bool { return tap.Aligned }); first >= 0 && !t.r.SameClock {
		what += "; times are those of " + t.name(first)
	}
	t.b.WriteByte('\n')
	t.row("Lost", what)
	fate := [...]string{"", ", sent again", ", answered all the same"}
	for i := range all[:min(len(all), maxLossLines)] {
		l := &all[i]
		f, h := &t.r.Flows[l.Flow], &t.r.Hops[l.Hop]
		s := l.Opcode.Text() + " PSN " + fmt.Sprint(l.PSN)
		if f.Kind == decode.AddrIPv4 {
			s += " IP ID " + fmt.Sprint(l.IPID)
		}
		s += ", " + f.Name() + ", behind " + t.name(h.Up)
		lead := "   " + time.Unix(0, l.Time).In(t.opt.Location).Format("15:04:05.000000") + "  frame " + fmt.Sprintf("%-8d", l.Frame.Number)
		t.b.WriteString(wrap(lead, s+fate[l.Fate], t.opt.Width))
	}
}
