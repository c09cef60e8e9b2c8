package report

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Story is the sessions of one QP, told one after the other.
type Story struct {
	Tool          Tool
	Partial       bool
	Inputs        []Input
	EventsLeftOut uint64
	Sessions      []Chapter
	// Filter is what was asked for alone, nil where that is everything.
	Filter     *StoryFilter
	start, end int64 // of the capture
}

// StoryFilter says that a story has some of the events alone.
type StoryFilter struct {
	Expr   string `json:"expr"`
	Events int    `json:"events"` // all that there are
}

// Narrow leaves those events whose frames are among some, of which expr was
// said.
func (st *Story) Narrow(expr string, frames map[record.FrameRef]bool) {
	st.Filter = &StoryFilter{Expr: expr}
	for i := range st.Sessions {
		c := &st.Sessions[i]
		st.Filter.Events += len(c.Events)
		c.Events = slices.DeleteFunc(c.Events, func(e record.Event) bool { return !frames[e.Frame] })
	}
}

// Chapter is one session, with what happened on it in the order of time.
type Chapter struct {
	Session *record.Session
	Events  []record.Event
	// Traffic is what passed before the first event, between each and the
	// next, and after the last. It is nil where that was not counted.
	Traffic  []pipeline.Traffic
	Findings []record.Finding
}

// NewStory makes a story of sessions of a report.
func NewStory(r *Report, sessions []*record.Session) *Story {
	st := &Story{Tool: r.Tool, Partial: r.Partial, Inputs: r.Inputs, EventsLeftOut: r.EventsLeftOut}
	if r.Capture.First != nil {
		st.start, st.end = *r.Capture.First, *r.Capture.Last
	}
	for _, s := range sessions {
		c := Chapter{Session: s}
		for i := range r.Events {
			if r.Events[i].Session == s.ID {
				c.Events = append(c.Events, r.Events[i])
			}
		}
		c.Findings = finding.OfSession(s, r.Signs)
		st.Sessions = append(st.Sessions, c)
	}
	return st
}

// Frames are those of the events, between which traffic can be counted.
func (c *Chapter) Frames() []record.FrameRef {
	frames := make([]record.FrameRef, len(c.Events))
	for i := range c.Events {
		frames[i] = c.Events[i].Frame
	}
	return frames
}

// StoryJSON writes the sessions, their events and findings with the keys of
// the report.
func StoryJSON(w io.Writer, st *Story, _ Options) error {
	var events []*record.Event
	var findings []Finding
	for i := range st.Sessions {
		c := &st.Sessions[i]
		for i := range c.Events {
			events = append(events, &c.Events[i])
		}
		findings = append(findings, newFindings(c.Findings)...)
	}
	o := newObject(w)
	o.member("schema", SchemaVersion)
	o.member("tool", st.Tool)
	if st.Partial {
		o.member("partial", true)
	}
	if st.Filter != nil {
		o.member("filter", st.Filter)
	}
	o.member("inputs", st.Inputs)
	o.sessions(func(yield func(*record.Session) bool) {
		for i := range st.Sessions {
			if !yield(st.Sessions[i].Session) {
				return
			}
		}
	})
	o.list("events", len(events), func(i int) any { return eventJSON{events[i]} })
	o.member("events_left_out", st.EventsLeftOut)
	o.member("findings", append([]Finding{}, findings...))
	return o.close()
}

// maxStory bounds the lines of one session: that many from its beginning, and
// as many from its end.
const maxStory = 100

// StoryText tells the sessions for somebody at a terminal.
func StoryText(w io.Writer, st *Story, opt Options) error {
	if opt.Width == 0 {
		opt.Width = defaultWidth
	}
	if opt.Location == nil {
		opt.Location = time.Local
	}
	for i := range st.Sessions {
		n := &narrator{text: text{Report: &Report{Inputs: st.Inputs}, opt: opt}, Chapter: &st.Sessions[i], start: st.start, end: st.end}
		if i > 0 {
			n.b.WriteByte('\n')
		}
		n.head()
		n.story()
		if f := st.Filter; f != nil {
			n.b.WriteString(wrap("", "Of "+plural(uint64(f.Events), "event")+" those are told whose packets match "+capture.PathText(f.Expr)+".", opt.Width))
		}
		if st.EventsLeftOut > 0 {
			n.b.WriteString(wrap("", "Of all sessions, "+plural(st.EventsLeftOut, "event")+" beyond --max-events were left out; some may be of this one.", opt.Width))
		}
		n.meaning()
		if _, err := io.WriteString(w, strings.ReplaceAll(n.b.String(), glue, " ")); err != nil {
			return err
		}
	}
	return nil
}

// narrator tells one session.
type narrator struct {
	text
	*Chapter
	start int64
	end   int64
	lines []string
	last  int64 // time of the line before
	begun bool
}

// head says which session it is, and sums it up.
func (n *narrator) head() {
	s := n.Session
	n.row("Session", ends(s)+", "+traits(s))
	how := map[record.PairingMethod]string{
		record.PairCM: "the connection manager named both QPs", record.PairAck: "the answers fit this session alone",
		record.PairPort: "both directions have the UDP port that the two QPNs give", record.PairOnly: "no other candidate",
	}
	if say := how[s.Pairing.Method]; say != "" && s.Service != record.UD {
		n.row("Paired", say)
	}
	n.row("Time", span(s.First.Time, s.Last.Time, n.opt.Location)+", "+duration(s.Last.Time-s.First.Time))
	for _, d := range []struct {
		label string
		of    *record.Direction
		from  *record.Endpoint
	}{{"A to B", &s.AToB, &s.A}, {"B to A", &s.BToA, &s.B}} {
		if d.of.Packets > 0 {
			n.row(d.label, directionText(d.of, d.from))
		}
	}
	if h := latency(s); h.Count > 0 {
		n.row("ACK latency", "median "+duration(h.Quantile(0.5))+", 99th percentile "+duration(h.Quantile(0.99))+", longest "+duration(h.Max))
	}
	for _, text := range congestionTexts(s) {
		n.row("ECN", text)
	}
	for _, d := range []struct {
		spent *record.Spent
		of    *record.Endpoint
	}{{s.AToB.Spent, &s.A}, {s.BToA.Spent, &s.B}} {
		if d.spent != nil {
			n.row("Time spent", hostName(d.of)+": "+spentText(d.spent))
		}
	}
	var more []string
	if s.PathMTU > 0 {
		more = append(more, "path MTU "+count(uint64(s.PathMTU)))
	}
	for i, e := range []*record.Endpoint{&s.A, &s.B} {
		if t := s.AckTimeout[i]; t > 0 {
			more = append(more, "ACK timeout of "+hostName(e)+" "+duration(t))
		}
	}
	if s.CM != nil && s.CM.PathMTU > 0 {
		more = append(more, "retry count "+count(uint64(s.CM.RetryCount)))
	}
	if v := s.Vantage; v != record.VantageUnknown {
		more = append(more, map[record.Vantage]string{
			record.VantageRequester: "no router between " + hostName(&s.A) + " and the tap", record.VantageResponder: "no router between " + hostName(&s.B) + " and the tap", record.VantageBetween: "routers on both sides of the tap",
		}[v])
	}
	if len(more) > 0 {
		n.row("Known", strings.Join(more, ", "))
	}
}

// directionText sums up what a side sent.
func directionText(d *record.Direction, from *record.Endpoint) string {
	s := hostName(from) + " sent " + plural(d.Packets, "packet")
	m := &d.Messages.Sent
	var naks uint64
	for _, n := range d.Naks {
		naks += n
	}
	var parts []string
	if all := list(counted{m[record.Send], "SEND"}, counted{m[record.Write], "WRITE"}, counted{m[record.Read], "READ"}, counted{m[record.Atomic], "atomic"}); all != "none" {
		parts = append(parts, "messages: "+all)
	}
	if all := list(counted{d.Acks, "ACK"}, counted{naks, "NAK"}, counted{d.RNRNaks, "RNR NAK"}); all != "none" {
		parts = append(parts, "answers: "+all)
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, "; ") + ")"
	}
	if n := d.ReadResponses.Packets; n > 0 {
		s += ", " + plural(n, "READ or atomic response")
	}
	if d.GoodputBytes > 0 {
		s += ", " + byteSize(d.GoodputBytes) + " of data"
	}
	if n := again(d); n > 0 {
		s += ", " + count(n) + " sent again"
	}
	tap := "this tap"
	if n := lostBefore(d); n > 0 {
		s += ", " + count(n) + " lost before this tap"
		tap = "it"
	}
	if n := d.Lost.AfterTap; n > 0 {
		s += ", at least " + count(n)
		if m[record.Send]+m[record.Write] == 0 { // a lost answer looks the same
			s += " or their answers"
		}
		s += " lost behind " + tap
	}
	return s
}

// meaning ends with the conclusions.
func (n *narrator) meaning() {
	n.b.WriteByte('\n')
	if len(n.Findings) == 0 {
		n.row("Meaning", "nothing went wrong that this capture shows")
		return
	}
	n.b.WriteString(n.color(bold, "Meaning\n"))
	for i := range n.Findings {
		f := &n.Findings[i]
		n.finding(f.Severity, f.Code, f.Title, f.Detail, f.Related)
	}
}

// story writes the events and what passed between them.
func (n *narrator) story() {
	n.b.WriteByte('\n')
	n.b.WriteString(n.color(bold, pad("after start", 14)+pad("gap", 12)+"  frame     what happened\n"))
	n.tell()
	lines := n.lines
	if cut := len(lines) - 2*maxStory; cut > 0 {
		lines = slices.Concat(lines[:maxStory], []string{strings.Repeat(" ", leadWidth) + "... " + count(uint64(cut)) + " lines are left out here; --format json has all events\n"}, lines[len(lines)-maxStory:])
	}
	for _, l := range lines {
		n.b.WriteString(l)
	}
}
