package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Pause is what one sender of PFC or PAUSE frames said at one interface, of one
// priority where it is PFC.
type Pause struct {
	Input     int    `json:"input"`     // index into Report.Inputs
	Interface string `json:"interface"` // as the capture names it, or its number
	SrcMAC    string `json:"src_mac"`
	Type      string `json:"type"`               // pfc or 802.3x
	Priority  *uint8 `json:"priority,omitempty"` // 0 to 7; absent with 802.3x, which stops all traffic
	// Frames counts frames that speak of the priority: XOff stop it, XOn let
	// it go on.
	Frames uint64 `json:"frames"`
	XOff   uint64 `json:"xoff"`
	XOn    uint64 `json:"xon"`
	// QuantaSum and QuantaMax are the times of XOff, in units of 512 bit times
	// of the link. A frame that comes before the time of the one before it is
	// up replaces that, so the sum is not how long traffic stood still.
	QuantaSum uint64 `json:"quanta_sum"`
	QuantaMax uint16 `json:"quanta_max"`
	// Speed is the link's, in bits a second, where it is known. Without it
	// nothing that follows is.
	Speed *uint64 `json:"link_speed"`
	// Pauses is how often traffic was stopped. PausedNS is for how long in
	// all, LongestNS for how long at a time, Share which part of the capture.
	Pauses    *uint64  `json:"pauses"`
	Expired   *uint64  `json:"expired"` // of Pauses, those that nothing ended but their time
	PausedNS  *int64   `json:"paused_ns"`
	LongestNS *int64   `json:"longest_ns"`
	Share     *float64 `json:"share"`
	Storms    *uint64  `json:"storms"`
}

func newPauses(inputs []capture.Input, c *pipeline.Result) []Pause {
	rows := c.Pause.Rows
	out := make([]Pause, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		p := Pause{
			Input: int(r.Input), Interface: interfaceName(inputs, r.Input, r.Interface), SrcMAC: r.MAC.String(), Type: pauseType(&r.Pauser),
			Frames: r.XOff + r.XOn, XOff: r.XOff, XOn: r.XOn, QuantaSum: r.QuantaSum, QuantaMax: r.QuantaMax,
		}
		if r.PFC {
			p.Priority = &r.Priority
		}
		if r.Known() {
			p.Speed, p.Pauses, p.Expired, p.PausedNS, p.LongestNS, p.Storms = &r.Speed, &r.Pauses, &r.Expired, &r.Paused, &r.Longest, &r.Storms
			part := 0.0
			if lasted := c.Last - c.First; lasted > 0 {
				part = min(1, float64(r.Paused)/float64(lasted))
			}
			p.Share = &part
		}
		out = append(out, p)
	}
	return out
}

func pauseType(p *record.Pauser) string {
	if p.PFC {
		return "pfc"
	}
	return "802.3x"
}

// interfaceName is what the capture calls an interface, or its number.
func interfaceName(inputs []capture.Input, input, iface int32) string {
	if int(input) < len(inputs) && int(iface) < len(inputs[input].Interfaces) {
		if name := inputs[input].Interfaces[iface].Name; name != "" {
			return name
		}
	}
	return strconv.Itoa(int(iface))
}

// maxPauseRows bounds the table in the text; the JSON report has them all.
const maxPauseRows = 16

// pauses writes the table of those who pause others, the longest first, then
// the most frequent.
func (t *text) pauses() {
	if len(t.Pause) == 0 {
		return
	}
	rows := slices.Clone(t.Pause)
	slices.SortStableFunc(rows, func(a, b Pause) int {
		return cmp.Or(cmp.Compare(b.paused(), a.paused()), cmp.Compare(b.XOff, a.XOff))
	})
	rest := len(rows) - maxPauseRows
	rows = rows[:min(len(rows), maxPauseRows)]
	names := make([]string, len(rows))
	width, unknown := len("Pause sent by"), false
	for i := range rows {
		p := &rows[i]
		names[i] = p.SrcMAC + " at " + capture.PathText(p.Interface)
		if len(t.Inputs) > 1 {
			names[i] = p.SrcMAC + " at " + strconv.Itoa(p.Input+1) + ":" + capture.PathText(p.Interface)
		}
		width = max(width, len(names[i]))
		unknown = unknown || p.Speed == nil
	}
	line := func(a, b, c, d, e, f string) string {
		return a + strings.Repeat(" ", max(0, width-len(a))) + pad(b, 9) + pad(c, 10) + pad(d, 10) + pad(e, 11) + pad(f, 8) + "\n"
	}
	t.b.WriteString("\n" + t.color(bold, line("Pause sent by", "priority", "stop", "go on", "paused", "share")))
	for i := range rows {
		p := &rows[i]
		priority := "all"
		if p.Priority != nil {
			priority = strconv.Itoa(int(*p.Priority))
		}
		paused, part := "-", "-"
		if p.PausedNS != nil {
			paused, part = duration(*p.PausedNS), share(uint64(*p.PausedNS), t.lasted())
		}
		t.b.WriteString(line(names[i], priority, count(p.XOff), count(p.XOn), paused, part))
	}
	if rest > 0 {
		t.b.WriteString("and " + count(uint64(rest)) + " more\n")
	}
	if t.PauseLeftOut > 0 {
		t.b.WriteString(plural(t.PauseLeftOut, "frame") + " of senders beyond those that are told apart\n")
	}
	if unknown {
		most := uint16(0)
		for i := range t.Pause {
			if p := &t.Pause[i]; p.Speed == nil {
				most = max(most, p.QuantaMax)
			}
		}
		t.b.WriteString(wrap("", "-: how long depends on the speed of the link, which the capture does not say: give it with --link-speed. The longest time asked for is "+
			count(uint64(most))+glue+"quanta of 512"+glue+"bit times.", t.opt.Width))
	}
}

// lasted is how long the capture is, in ns.
func (t *text) lasted() uint64 {
	if t.Capture.First == nil {
		return 0
	}
	first, last := t.span()
	return uint64(last - first)
}

func (p *Pause) paused() int64 {
	if p.PausedNS == nil {
		return -1
	}
	return *p.PausedNS
}
