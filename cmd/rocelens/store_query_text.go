package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rocelens/rocelens/pipeline/words"
	"github.com/rocelens/rocelens/storage/query"
)

// textTable is written in columns as wide as they must be. A > begins the heading
// of one that is set to the right.
type textTable struct {
	head []string
	rows [][]string
}

func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *textTable) write(w *strings.Builder) {
	head := make([]string, len(t.head))
	width := make([]int, len(t.head))
	for i, h := range t.head {
		head[i] = strings.TrimPrefix(h, ">")
		width[i] = len(head[i])
		for _, r := range t.rows {
			r[i] = printable(r[i])
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	for _, r := range append([][]string{head}, t.rows...) {
		line := ""
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(t.head[i], ">") {
				cell = pad + cell
			} else {
				cell += pad
			}
			line += cell + "  "
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// printable is text from a store as a terminal can be given it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

func second(t time.Time) string { return t.In(time.Local).Format("2006-01-02 15:04:05") }

func micro(t time.Time) string { return t.In(time.Local).Format("2006-01-02 15:04:05.000000") }

func zone(t time.Time) string { return t.In(time.Local).Format(" MST") }

// heading says which table the rows are from and what time they are about.
func heading[T any](w *strings.Builder, a *query.Answer[T]) {
	w.WriteString(a.Table)
	if !a.From.IsZero() {
		w.WriteString(", from " + micro(a.From) + zone(a.From))
	}
	if !a.To.IsZero() {
		w.WriteString(", to " + micro(a.To) + zone(a.To))
	}
	w.WriteByte('\n')
	if len(a.Rows) == 0 {
		w.WriteString("nothing\n")
	}
}

// ending says that rows were left out.
func ending[T any](w *strings.Builder, a *query.Answer[T]) {
	if a.More {
		fmt.Fprintf(w, "and more: these are the first %s, --limit shows more\n", words.Count(uint64(len(a.Rows))))
	}
}

// tabled writes an answer whose rows are those of a table.
func tabled[T any](w *strings.Builder, a *query.Answer[T], head []string, row func(*T) []string) {
	heading(w, a)
	if len(a.Rows) == 0 {
		return
	}
	t := textTable{head: head}
	for i := range a.Rows {
		t.add(row(&a.Rows[i])...)
	}
	t.write(w)
	ending(w, a)
}

func end(addr string, qpn uint32) string {
	if qpn == 0 {
		return addr
	}
	return fmt.Sprintf("%s/0x%x", addr, qpn)
}

func signed(n int64) string { return strconv.FormatInt(n, 10) }

// quantile is one of a distribution, a dash for one of nothing.
func quantile(d *query.Distribution, ns int64) string {
	if d.Count == 0 {
		return "-"
	}
	return words.Duration(ns)
}

func flowsText(w *strings.Builder, a *query.Answer[query.WorstFlow], by query.Measure) {
	head := []string{"flow", "from", "to", "probe", "tap", ">packets", ">sent again", ">lost before tap", ">after", ">CE", ">CNPs", ">ACK p50", ">p99"}
	if by == query.ByPause { // else nobody asked for it
		head = append(head, ">paused")
	}
	tabled(w, a, head, func(f *query.WorstFlow) []string {
		row := []string{
			strconv.FormatUint(f.Flow, 10), end(f.Src, f.SrcQPN), end(f.Dst, f.DstQPN), f.Probe, f.Tap,
			words.Count(f.Packets), words.Count(f.RetransmittedPackets), signed(f.LostBeforeTap), signed(f.LostAfterTap),
			words.Percent(f.CE, f.Packets), words.Count(f.CNPsReceived),
			quantile(&f.AckLatency, f.AckLatency.P50), quantile(&f.AckLatency, f.AckLatency.P99), words.Duration(f.PausedNS),
		}
		return row[:len(head)]
	})
}

func flowText(w *strings.Builder, a *query.Answer[query.FlowPoint]) {
	head := []string{"time", ">taps", ">packets", ">bytes", ">goodput", ">messages", ">NAKs", ">RNR", ">sent again", ">lost before tap", ">after", ">CE", ">CNPs", ">ACK p50", ">p99"}
	tabled(w, a, head, func(p *query.FlowPoint) []string {
		return []string{
			second(p.Time), words.Count(p.Taps), words.Count(p.Packets), words.Scaled(float64(p.WireBytes), "B"), words.Scaled(float64(p.GoodputBytes), "B"),
			words.Count(p.MessagesCompleted), words.Count(p.Naks), words.Count(p.RNRNaks), words.Count(p.RetransmittedPackets), signed(p.LostBeforeTap), signed(p.LostAfterTap),
			words.Percent(p.CE, p.Packets), words.Count(p.CNPsReceived), quantile(&p.AckLatency, p.AckLatency.P50), quantile(&p.AckLatency, p.AckLatency.P99),
		}
	})
}

func stormsText(w *strings.Builder, a *query.Answer[query.Storm]) {
	head := []string{"probe", "tap", "interface", "sender", "type", ">priority", ">storms", ">in storms", ">pauses", ">paused", ">longest", "first", "last"}
	tabled(w, a, head, func(s *query.Storm) []string {
		priority := strconv.Itoa(int(s.Priority))
		if s.Type != "pfc" {
			priority = "all"
		}
		return []string{
			s.Probe, s.Tap, s.Interface, s.SrcMAC, s.Type, priority, words.Count(s.Storms), words.Duration(s.StormNS), words.Count(s.Pauses),
			words.Duration(s.PausedNS), words.Duration(s.LongestNS), second(s.First), second(s.Last),
		}
	})
}

func percentilesText(w *strings.Builder, group string, a *query.Answer[query.Percentile]) {
	if group == query.Ungrouped.String() {
		group = ""
	}
	tabled(w, a, []string{group, "of", ">count", ">p50", ">p99", ">p99.9"}, func(p *query.Percentile) []string {
		return []string{p.Group, p.Of, words.Count(p.Count), words.Duration(p.P50), words.Duration(p.P99), words.Duration(p.P999)}
	})
}

func totalsText(w *strings.Builder, group string, a *query.Answer[query.Total]) {
	if group == query.Ungrouped.String() {
		group = ""
	}
	head := []string{group, ">flows", ">packets", ">bytes", ">goodput", ">messages", ">sent again", ">lost before tap", ">after", ">CE", ">CNPs", "first", "last"}
	tabled(w, a, head, func(t *query.Total) []string {
		return []string{
			t.Group, words.Count(t.Flows), words.Count(t.Packets), words.Scaled(float64(t.WireBytes), "B"), words.Scaled(float64(t.GoodputBytes), "B"),
			words.Count(t.MessagesCompleted), words.Count(t.RetransmittedPackets), signed(t.LostBeforeTap), signed(t.LostAfterTap), words.Percent(t.CE, t.Packets),
			words.Count(t.CNPsReceived), second(t.First), second(t.Last),
		}
	})
}

func eventsText(w *strings.Builder, a *query.Answer[query.Event]) {
	tabled(w, a, []string{"time", "kind", ">count", "session", "stream", ">frame", "figures"}, func(e *query.Event) []string {
		return []string{micro(e.Time), e.Kind, words.Count(e.Count), e.Session, e.Stream, frameNumber(e.Frame), figures(e)}
	})
}

func frameNumber(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// figures are all that an event has besides.
func figures(e *query.Event) string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+"="+value)
		}
	}
	add("interface", e.Interface)
	switch {
	case e.PSN < 0:
	case e.PSN == e.PSNLast:
		add("psn", signed(int64(e.PSN)))
	default:
		add("psn", fmt.Sprintf("%d-%d", e.PSN, e.PSNLast))
	}
	add("cause", e.Cause)
	add("place", e.Place)
	add("mode", e.Mode)
	for _, k := range slices.Sorted(maps.Keys(e.Words)) {
		add(k, e.Words[k])
	}
	for _, k := range slices.Sorted(maps.Keys(e.Figures)) {
		v := strconv.FormatFloat(e.Figures[k], 'f', -1, 64)
		if strings.HasSuffix(k, "_ns") {
			v = strings.ReplaceAll(words.Duration(int64(e.Figures[k])), " ", "")
		}
		add(strings.TrimSuffix(k, "_ns"), v)
	}
	return strings.Join(all, " ")
}

func findingsText(w *strings.Builder, a *query.Answer[query.Finding]) {
	heading(w, a)
	for i := range a.Rows {
		f := &a.Rows[i]
		fmt.Fprintf(w, "\n%s %s (%s, from %s)\n  %s\n  %s\n", f.Severity, printable(f.Code), printable(f.Probe), second(f.Time), printable(f.Title), printable(f.Detail))
		if n := len(f.Sessions); n > 0 {
			const some = 3
			fmt.Fprintf(w, "  sessions: %s", printable(strings.Join(f.Sessions[:min(n, some)], ", ")))
			if n > some {
				fmt.Fprintf(w, " and %s more", words.Count(uint64(n-some)))
			}
			w.WriteByte('\n')
		}
	}
	ending(w, a)
}

func sessionsText(w *strings.Builder, a *query.Answer[query.Session], story *query.Story) {
	tabled(w, a, []string{"session", "service", "state", "probe", "tap", "first", "last", ">packets a to b", ">b to a", ">sent again a to b", ">b to a", ">lost a to b", ">b to a"}, func(s *query.Session) []string {
		state := s.State
		if s.Failure != "" {
			state += " (" + s.Failure + ")"
		}
		return []string{
			s.Session, s.Service, state, s.Probe, s.Tap, micro(s.First), micro(s.Last), words.Count(s.A.Packets), words.Count(s.B.Packets),
			words.Count(s.A.RetransmittedPackets), words.Count(s.B.RetransmittedPackets),
			words.Count(s.A.LostBeforeTap + s.A.LostAfterTap), words.Count(s.B.LostBeforeTap + s.B.LostAfterTap),
		}
	})
	if story == nil {
		return
	}
	s := &story.Session
	w.WriteByte('\n')
	t := textTable{head: []string{"side", "address", "flow", ">bytes", ">goodput", ">messages", ">CNPs got", ">ACK p50", ">p99", ">message p50", ">p99"}}
	for _, side := range []struct {
		name string
		s    *query.Side
	}{{"a", &s.A}, {"b", &s.B}} {
		d := side.s
		t.add(side.name, end(d.Addr, d.QPN), strconv.FormatUint(d.Flow, 10), words.Scaled(float64(d.WireBytes), "B"), words.Scaled(float64(d.GoodputBytes), "B"),
			words.Count(d.MessagesCompleted), words.Count(d.CNPsReceived), quantile(&d.AckLatency, d.AckLatency.P50), quantile(&d.AckLatency, d.AckLatency.P99),
			quantile(&d.MessageLatency, d.MessageLatency.P50), quantile(&d.MessageLatency, d.MessageLatency.P99))
	}
	t.write(w)
	w.WriteByte('\n')
	findingsText(w, story.Findings)
	w.WriteByte('\n')
	eventsText(w, story.Events)
}
