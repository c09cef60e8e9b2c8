package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rocelens/rocelens/capture"
)

// Text writes the report for somebody at a terminal: what is wrong first, then
// what was read, the sessions, what RoCE is in it, and what else.
func Text(w io.Writer, r *Report, opt Options) error {
	opt.fill()
	t := &text{Report: r, opt: opt}
	t.findings()
	t.inputs()
	t.summary()
	t.sessions()
	t.events()
	t.counters()
	if t.roce() > 0 {
		t.opcodes()
	}
	t.bursts()
	t.classes()
	t.pauses()
	_, err := io.WriteString(w, strings.ReplaceAll(t.b.String(), glue, " "))
	return err
}

// fill sets what was left open to its default.
func (o *Options) fill() {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Top == 0 {
		o.Top = DefaultTop
	}
}

const (
	defaultWidth = 100
	labelWidth   = 16
)

// text is a report while it is written.
type text struct {
	*Report
	opt Options
	b   strings.Builder
}

func (t *text) roce() uint64 { return t.Capture.RoCE.Total() }

// Colours, as escape sequences of ECMA-48.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

func (t *text) color(c, s string) string {
	if !t.opt.Color {
		return s
	}
	body := strings.TrimSuffix(s, "\n")
	return c + body + plain + s[len(body):]
}

// row writes a label and what there is to say to it.
func (t *text) row(label, s string) {
	lead := label + strings.Repeat(" ", labelWidth-len(label))
	line := wrap(lead, s, t.opt.Width)
	if label != "" {
		line = t.color(bold, label) + line[len(label):]
	}
	t.b.WriteString(line)
}

// inputs says what was read, one line an input.
func (t *text) inputs() {
	for i := range t.Inputs {
		in := &t.Inputs[i]
		label := "Input"
		if len(t.Inputs) > 1 {
			label += " " + strconv.Itoa(i+1)
		}
		name := capture.PathText(in.Path)
		if name == "-" {
			name = "standard input"
		}
		format := in.Format
		if format == "unknown" {
			format = "not a capture"
		}
		s := name + " (" + format
		if in.Compression != "none" {
			s += ", " + in.Compression
		}
		s += ")"
		if len(t.Inputs) > 1 {
			s += ", " + plural(in.Packets, "packet") + ", " + byteSize(in.Bytes)
		}
		switch {
		case in.whole:
			s += ", read to its end, and other bytes follow"
		case in.DamagedAt != nil && in.Format != "unknown":
			s += ", damaged at byte " + count(uint64(*in.DamagedAt))
		case in.DamagedAt == nil && !t.Partial:
			s += ", read to its end"
		}
		t.row(label, s)
	}
}

// filter says of what the report tells.
func (t *text) filter() {
	f := t.Filter
	if f == nil {
		return
	}
	t.row("Filter", capture.PathText(f.Expr)+": "+count(t.Capture.Packets)+" of "+plural(f.Packets, "packet")+", "+
		count(uint64(t.Sessions.Len()))+" of "+plural(uint64(f.Sessions), "session")+" with such packets")
}

func (t *text) summary() {
	t.filter()
	c := &t.Capture
	if c.Packets == 0 {
		t.row("Packets", "0")
		return
	}
	ns := *c.Last - *c.First
	s := count(c.Packets) + ", " + byteSize(c.Bytes) + " on the wire, in " + duration(ns)
	if sec := float64(ns) / 1e9; float64(c.Packets) >= 2*sec && ns > 0 { // below, a rate says nothing
		s += " (" + count(uint64(float64(c.Packets)/sec+0.5)) + " packets/s, " + scaled(8*float64(c.Bytes)/sec, "bit/s") + ")"
	}
	t.row("Packets", s)
	t.row("Time", span(*c.First, *c.Last, t.opt.Location))
	t.row("Capture drops", t.drops())
	if len(c.Mirrors) > 0 {
		t.row("Mirror", mirrors(c))
	}
	if c.noDuplicates != "" {
		t.row("Duplicates", c.noDuplicates)
	} else if *c.Duplicates > 0 {
		t.row("Duplicates", plural(*c.Duplicates, "RoCE packet")+" captured again")
	}
	t.row("Truncated", truncated(c))
	t.row("Malformed", count(c.Malformed))
	if c.Fragments > 0 {
		t.row("IP fragments", count(c.Fragments))
	}
	t.row("RoCE", t.versions())
	if t.roce() > 0 {
		t.row("ICRC", crc(&t.ICRC))
		if t.VCRC != nil {
			t.row("VCRC", crc(t.VCRC))
		}
		t.row("Tunnels, tags", t.encapsulations())
	}
	t.row("Other packets", t.others())
}

func (t *text) drops() string {
	var sum uint64
	known := 0
	for i := range t.Inputs {
		if d := t.Inputs[i].ReportedDrops; d != nil {
			sum += *d
			known++
		}
	}
	switch {
	case known == 0:
		return "not recorded in the file"
	case known < len(t.Inputs):
		return count(sum) + ", recorded in " + strconv.Itoa(known) + " of " + strconv.Itoa(len(t.Inputs)) + " inputs"
	}
	return count(sum)
}

// mirrors says what the sequence numbers of ERSPAN mirrors say.
func mirrors(c *Capture) string {
	who := plural(uint64(len(c.Mirrors)), "mirror session")
	if c.MirrorMissing == nil {
		return who + ", whose sequence numbers don't count frames: not known what was lost on the way"
	}
	var sent, unknown uint64
	for i := range c.Mirrors {
		if m := &c.Mirrors[i]; m.Missing != nil {
			sent += m.Packets + *m.Missing
		} else {
			unknown++
		}
	}
	s := who + ", no gap in the sequence numbers"
	if n := *c.MirrorMissing; n > 0 {
		s = who + ", " + plural(n, "frame") + " missing by the sequence numbers (" + share(n, sent) + ")"
	}
	if unknown > 0 {
		s += "; those of " + count(unknown) + " don't count frames"
	}
	if n := c.MirrorLeftOut; n > 0 {
		s += "; " + plural(n, "frame") + " of sessions beyond those that are told apart"
	}
	return s
}

func truncated(c *Capture) string {
	if c.Truncated == 0 {
		return "0"
	}
	s := count(c.Truncated) + " (" + share(c.Truncated, c.Packets) + ")"
	switch c.TruncatedMirror {
	case 0:
		return s + ", by the capture's snap length"
	case c.Truncated:
		return s + ", before they were captured, by the mirror"
	}
	return s + ", " + count(c.TruncatedMirror) + " of them before they were captured, by the mirror"
}

func (t *text) versions() string {
	c := &t.Capture
	if t.roce() == 0 {
		return "0"
	}
	s := count(t.roce()) + " of " + plural(c.Packets, "packet") + " (" + share(t.roce(), c.Packets) + "), " +
		byteSize(c.RoCEBytes)
	return s + ": " + split(
		counted{c.RoCE.V2IPv4, "RoCEv2 over IPv4"},
		counted{c.RoCE.V2IPv6, "RoCEv2 over IPv6"},
		counted{c.RoCE.V1, "RoCEv1"},
		counted{c.RoCE.NativeIB, "native InfiniBand"},
	)
}

// notChecked stands where a CRC's results would.
const notChecked = "not checked (--no-icrc): this report can't tell whether packets were changed on the way"

func crc(c *CRC) string {
	reasons := make([]counted, 0, len(crcReasons))
	for _, r := range crcReasons {
		reasons = append(reasons, counted{c.Reasons[r.key], r.text})
	}
	cannot := count(c.Unverifiable) + " can't be checked"
	if c.Unverifiable > 0 {
		cannot += " (" + split(reasons...) + ")"
	}
	switch {
	case c.Good != nil:
		return count(*c.Good) + " good, " + count(*c.Bad) + " bad, " + cannot
	case c.Unverifiable > 0:
		return notChecked + "; " + cannot + " in any case"
	}
	return notChecked
}

// encapsulationNames are what the text calls the encapsulations, in its order.
var encapsulationNames = [...]struct{ key, text string }{
	{"vlan", "VLAN"}, {"qinq", "QinQ"}, {"erspan1", "ERSPAN I"}, {"erspan2", "ERSPAN II"},
	{"erspan3", "ERSPAN III"}, {"vxlan", "VXLAN"}, {"geneve", "Geneve"}, {"gre", "GRE"}, {"nvgre", "NVGRE"},
	{"mpls", "MPLS"}, {"ipip", "IP in IP"}, {"vntag", "VN-tag"}, {"ttag", "TTag"}, {"cmd", "CMD"}, {"avsp", "AVSP"},
}

func (t *text) encapsulations() string {
	all := make([]counted, 0, len(encapsulationNames))
	for _, e := range encapsulationNames {
		all = append(all, counted{t.Capture.Encapsulations[e.key], e.text})
	}
	return list(all...)
}

func (t *text) others() string {
	c := &t.Capture
	if c.Other == 0 {
		return "0"
	}
	all := t.otherKinds()
	if all[0].n == c.Other {
		return list(all...)
	}
	return count(c.Other) + ": " + list(all...)
}

// otherKinds are the kinds of packets that are not RoCE, the most frequent
// first.
func (t *text) otherKinds() []counted {
	all := make([]counted, 0, len(otherKinds))
	for _, k := range otherKinds {
		all = append(all, counted{t.Capture.OtherKinds[k.key], k.text})
	}
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(b.n, a.n) })
	return all
}

// opcodes writes the table of opcodes, the most frequent first, and below it
// what acknowledges and flow control say.
func (t *text) opcodes() {
	rows := slices.Clone(t.Opcodes)
	slices.SortStableFunc(rows, func(a, b OpcodeCount) int { return cmp.Compare(b.Packets, a.Packets) })
	name := len("Opcode")
	for _, o := range rows {
		name = max(name, len(o.Opcode.Text()))
	}
	line := func(a, b, c string) string {
		return a + strings.Repeat(" ", name-len(a)) + pad(b, 13) + pad(c, 10) + "\n"
	}
	t.b.WriteString("\n" + t.color(bold, line("Opcode", "packets", "share")))
	for _, o := range rows {
		t.b.WriteString(line(o.Opcode.Text(), count(o.Packets), share(o.Packets, t.roce())))
	}
	t.b.WriteByte('\n')
	t.row("Acknowledges", t.acknowledges())
	t.row("Congestion", t.congestion())
	pfc, pause := t.Capture.OtherKinds["pfc"], t.Capture.OtherKinds["pause"]
	flow := count(pfc) + " PFC, " + count(pause) + " PAUSE visible"
	if pfc+pause == 0 {
		flow += " (mirrors rarely pass these on: 0 here is not 0 on the link)"
	}
	t.row("Flow control", flow)
}

// list is the NAKs by name.
func (n *Naks) list() []counted {
	return []counted{
		{n.Sequence, "PSN sequence error"},
		{n.InvalidRequest, "invalid request"},
		{n.RemoteAccess, "remote access error"},
		{n.RemoteOperational, "remote operational error"},
		{n.InvalidRDRequest, "invalid RD request"},
		{n.Reserved, "reserved code"},
	}
}

func (t *text) congestion() string {
	s := count(t.ECN.CE) + " marked CE"
	if t.ECN.CE > 0 {
		s += " (" + share(t.ECN.CE, t.ECN.total()) + ")"
	}
	return s + ", " + plural(t.Opcodes.Map()["CNP"], "CNP")
}

func (t *text) acknowledges() string {
	a := &t.AETH
	n := &a.Naks
	s := count(a.Acks) + " ACK, " + count(a.RNRNaks) + " RNR NAK, " + count(n.Total()) + " NAK"
	if n.Total() > 0 {
		s += " (" + split(n.list()...) + ")"
	}
	if a.Reserved > 0 {
		s += "; " + count(a.Reserved) + " without a meaning (reserved syndrome)"
	}
	return s
}

// counted is a number of things with their name.
type counted struct {
	n    uint64
	name string
}

// list is "1,200 TCP, 3 ARP": what there is none of is left out, and "none"
// if that is everything.
func list(all ...counted) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, count(c.n)+glue+c.name)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// split says what a total is made of: the name alone if it is all of one.
func split(all ...counted) string {
	only, kinds := "", 0
	for _, c := range all {
		if c.n > 0 {
			only = c.name
			kinds++
		}
	}
	if kinds == 1 {
		return only
	}
	return list(all...)
}

// pad puts s at the right of width columns.
func pad(s string, width int) string {
	return strings.Repeat(" ", max(1, width-utf8.RuneCountInString(s))) + s
}
