package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Finding is a conclusion; docs/findings.md has the codes.
type Finding struct {
	Severity record.Severity  `json:"severity"`
	Code     string           `json:"code"`
	Title    string           `json:"title"`
	Detail   string           `json:"detail"`
	Sessions []string         `json:"sessions"`
	Evidence record.Evidence  `json:"evidence"`
	Related  []record.Related `json:"related,omitempty"`
}

func newFindings(all []record.Finding) []Finding {
	out := make([]Finding, 0, len(all))
	for i := range all {
		f := &all[i]
		out = append(out, Finding{
			Severity: f.Severity, Code: f.Code, Title: f.Title, Detail: f.Detail, Evidence: f.Evidence,
			Sessions: append([]string{}, f.Sessions...), Related: f.Related,
		})
	}
	return out
}

// findings writes what the reader must know before believing the rest, the
// worst first.
func (t *text) findings() {
	if t.Partial {
		t.b.WriteString(t.color(red, wrap("! ", "Interrupted: this report covers what had been read by then.", t.opt.Width)))
	}
	for i := range t.Findings {
		f := &t.Findings[i]
		detail := f.Detail
		if first, ok := f.Evidence.Get("first").(record.FrameRef); ok {
			detail += " First: " + t.frame(first) + "."
		}
		t.finding(f.Severity, f.Code, f.Title, detail, f.Related)
	}
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
}

// severityWidth is the column of the severities: that of the longest, and two
// spaces. What is said stands to the right of it, so that who looks down the
// margin sees what is critical, also without colours.
const severityWidth = len("critical") + 2

// headline writes the severity, the code and the title of a finding.
func (t *text) headline(indent string, severity record.Severity, code, title string) {
	lead := indent + severity.String() + strings.Repeat(" ", severityWidth-len(severity.String()))
	title = strings.ReplaceAll(title, " %", glue+"%")
	t.b.WriteString(t.color(severityColors[severity], wrap(lead, "["+code+"] "+title+".", t.opt.Width)))
}

// finding writes one, and below its title what it means, what to check, and
// what it has to do with others.
func (t *text) finding(severity record.Severity, code, title, detail string, others []record.Related) {
	t.headline("", severity, code, title)
	indent := strings.Repeat(" ", severityWidth)
	t.b.WriteString(wrap(indent, keepCommands(strings.ReplaceAll(detail, " %", glue+"%"), t.opt.Width-severityWidth), t.opt.Width))
	if s := related(others); s != "" {
		t.b.WriteString(wrap(indent, s, t.opt.Width))
	}
}

// related says what other findings have to do with one: "Explained by
// lost-before-tap (21 of 21 tries). Explains ack-timeout (3 of 3 timeouts)."
func related(all []record.Related) string {
	var parts []string
	for k, word := range [...]string{record.ExplainedBy: "Explained by ", record.Explains: "Explains ", record.SeeAlso: "See also "} {
		var list []string
		for _, r := range all {
			if int(r.Relation) == k {
				list = append(list, r.Code+" ("+r.Why+")")
			}
		}
		if len(list) > 0 {
			parts = append(parts, word+strings.Join(list, ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}

// keepCommands glues the words of commands, which are in backquotes, so that
// one that fits in a line can be copied from it.
func keepCommands(s string, width int) string {
	parts := strings.Split(s, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		if utf8.RuneCountInString(parts[i]) <= width-len("``.") {
			parts[i] = strings.ReplaceAll(parts[i], " ", glue)
		}
	}
	return strings.Join(parts, "`")
}

var severityColors = [...]string{record.Info: cyan, record.Warning: yellow, record.Critical: red}

// frame is "frame 12 (byte 3,456), 1.2 ms after the start".
func (t *text) frame(f record.FrameRef) string {
	s := "frame " + strconv.FormatUint(f.Number, 10)
	if len(t.Inputs) > 1 {
		s = "frame " + strconv.Itoa(int(f.Input)+1) + ":" + strconv.FormatUint(f.Number, 10)
	}
	s += " (byte " + count(uint64(f.Offset)) + ")"
	start, _ := t.span()
	if after := f.Time - start; after > 0 {
		s += ", " + duration(after) + " after the start"
	}
	return s
}
