package report

import (
	"strings"
	"unicode/utf8"

	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// maxSentences bounds what is said of one session.
const maxSentences = 3

// column is one of the table of sessions.
type column struct {
	head  string
	width int
	cell  func(*record.Session) string // "" where there is nothing to say
}

// columns are those of the table, the dearest first. One that is empty in
// every row is left out; lost is before and after the tap.
func columns() []column {
	return []column{
		{"packets", 11, func(s *record.Session) string { return some(s.AToB.Packets + s.BToA.Packets) }},
		{"goodput", 13, goodput},
		{"sent again", 11, sentAgain},
		{"lost before", 12, func(s *record.Session) string { return some(lostBefore(&s.AToB) + lostBefore(&s.BToA)) }},
		{"lost after", 11, func(s *record.Session) string { return some(s.AToB.Lost.AfterTap + s.BToA.Lost.AfterTap) }},
		{"ACK p50", 10, func(s *record.Session) string { return quantile(s, 0.5) }},
		{"p99", 10, func(s *record.Session) string { return quantile(s, 0.99) }},
		{"limited by", 20, limit},
		{"CNPs", 7, func(s *record.Session) string { return some(s.AToB.CNPsReceived + s.BToA.CNPsReceived) }},
	}
}

func some(n uint64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

func lostBefore(d *record.Direction) uint64 { return d.Lost.BeforeTap + d.ReadResponses.LostBeforeTap }

// goodput is the rate of payload in both directions, each byte once.
func goodput(s *record.Session) string {
	sec := float64(s.Last.Time-s.First.Time) / 1e9
	if n := s.AToB.GoodputBytes + s.BToA.GoodputBytes; n > 0 && sec > 0 {
		return scaled(8*float64(n)/sec, "bit/s")
	}
	return ""
}

// carrying is how many packets of a side are requests or READ responses, and
// not answers that carry nothing.
func carrying(d *record.Direction) uint64 {
	answers := d.Acks + d.RNRNaks
	for _, n := range d.Naks {
		answers += n
	}
	return d.Packets - min(d.Packets, answers)
}

func sentAgain(s *record.Session) string {
	n := again(&s.AToB) + again(&s.BToA)
	if n == 0 {
		return ""
	}
	return share(n, max(n, carrying(&s.AToB)+carrying(&s.BToA)))
}

// latency is that of the side with more samples.
func latency(s *record.Session) *sketch.Histogram {
	if s.BToA.AckLatency.Count > s.AToB.AckLatency.Count {
		return &s.BToA.AckLatency
	}
	return &s.AToB.AckLatency
}

func quantile(s *record.Session, q float64) string {
	h := latency(s)
	if h.Count == 0 {
		return ""
	}
	return duration(h.Quantile(q))
}

// endpoint is "10.0.0.1/0x11".
func endpoint(e *record.Endpoint) string { return string(e.AppendID(nil)) }

func hostName(e *record.Endpoint) string { return string(e.Append(nil)) }

// ends names both, with an arrow the way that the data went.
func ends(s *record.Session) string {
	a, b := s.AToB.GoodputBytes, s.BToA.GoodputBytes
	arrow := " <> "
	switch {
	case s.Service == record.UD || 10*b <= a && a > 0:
		arrow = " > "
	case 10*a <= b && b > 0:
		arrow = " < "
	case s.BToA.Packets == 0 && s.AToB.Packets > 0 && s.Pairing.Method == record.PairNone:
		arrow = " > "
	}
	return endpoint(&s.A) + arrow + endpoint(&s.B)
}

// traits are what is worth knowing of a session beside its figures.
func traits(s *record.Session) string {
	all := []string{s.Service.String()}
	if s.Service == record.ServiceUnknown {
		all[0] = "service unknown"
	}
	if s.Version == record.V1 {
		all = append(all, "RoCEv1")
	}
	if s.Application != "" {
		all = append(all, s.Application)
	}
	if s.HasVNI {
		all = append(all, "VNI "+count(uint64(s.VNI)))
	}
	if s.Incarnation > 1 {
		all = append(all, "life "+count(uint64(s.Incarnation))+" of these QPNs")
	}
	switch {
	case s.OneSided:
		all = append(all, "other direction not in this capture")
	case s.State == record.StateUnanswered:
		all = append(all, "no answer")
	case s.Pairing.Method == record.PairNone && s.Service != record.UD && s.Service != record.UC && s.AToB.Packets+s.BToA.Packets > 0:
		all = append(all, "other direction not found")
	}
	if s.State == record.StateFailed {
		all = append(all, failure(s))
	}
	return strings.Join(all, ", ")
}

// failure says why a session failed, and whose doing it was.
func failure(s *record.Session) string {
	who, other := hostName(&s.A), hostName(&s.B)
	if s.FailedStream == 1 {
		who, other = other, who
	}
	switch {
	case s.Failure == record.FailedConnection:
		return "connection refused"
	case s.Failure == record.FailedRNR:
		return who + " gave up, " + other + " was never ready"
	case s.Failure.Refused():
		return other + " refused a request: " + nakTexts[s.Failure.String()]
	}
	return who + " gave up"
}

// sessions writes the sessions, the worst first: who, what, and below one that
// is bad what is wrong with it, unless the findings said just that.
func (t *text) sessions() {
	if t.Sessions.Len() == 0 {
		return
	}
	shown := t.opt.Sort.top(t.Sessions, t.opt.Top)
	head := count(uint64(t.Sessions.Len()))
	if t.Sessions.Len() > 1 {
		head += ", " + t.opt.Sort.text()
	}
	if rest := t.Sessions.Len() - len(shown); rest > 0 {
		head += "; " + count(uint64(rest)) + " more are not listed (--top)"
	}
	if t.Forgotten > 0 {
		head += "; sessions were forgotten " + times(t.Forgotten) + " to keep within memory (--max-memory): of them their packets are counted and nothing else, and one that comes back is another session"
	}
	t.b.WriteByte('\n')
	t.row("Sessions", head)

	var cols []column
	width := 0
	for _, c := range columns() {
		for _, i := range shown {
			if c.cell(t.Sessions.At(i)) != "" && width+c.width <= t.opt.Width {
				cols = append(cols, c)
				width += c.width
				break
			}
		}
	}
	line := ""
	for _, c := range cols {
		line += pad(c.head, c.width)
	}
	if line != "" {
		t.b.WriteString(t.color(bold, line+"\n"))
	}
	said := make(map[string]bool)
	for i := range t.Findings {
		said[t.Findings[i].Title] = true
	}
	signs := t.signsOf(shown)
	for _, i := range shown {
		s := t.Sessions.At(i)
		t.b.WriteString(wrap("", ends(s)+", "+traits(s), t.opt.Width))
		line := ""
		for _, c := range cols {
			line += pad(c.cell(s), c.width)
		}
		if line = strings.TrimRight(line, " "); line != "" {
			t.b.WriteString(line + "\n")
		}
		for _, text := range congestionTexts(s) {
			t.b.WriteString(wrap("    ", "ECN: "+text, t.opt.Width))
		}
		t.sentences(s, signs[s.ID], said)
	}
}

// signsOf are the signs of some sessions.
func (t *text) signsOf(sessions []int) map[string][]record.Event {
	all := make(map[string][]record.Event, len(sessions))
	for _, i := range sessions {
		all[t.Sessions.At(i).ID] = nil
	}
	for i := range t.Signs {
		e := &t.Signs[i]
		if list, ok := all[e.Session]; ok {
			all[e.Session] = append(list, *e)
		}
	}
	return all
}

// sentences says what is wrong with a session, the worst first.
func (t *text) sentences(s *record.Session, signs []record.Event, said map[string]bool) {
	n := 0
	for _, f := range finding.OfSession(s, signs) {
		if f.Severity < record.Warning || said[f.Title] {
			continue
		}
		if n++; n > maxSentences {
			return
		}
		t.headline("    ", f.Severity, f.Code, f.Title)
	}
}

// columnsWidth is how wide a text is on a terminal.
func columnsWidth(s string) int { return utf8.RuneCountInString(s) }
