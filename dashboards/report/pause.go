package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
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
	QuantaSum uint64   `json:"quanta_sum"`
	QuantaMax uint16   `json:"quanta_max"`
	PausedNS  *int64   `json:"paused_ns"` // these three are not measured yet
	Share     *float64 `json:"share"`
	Storms    *uint64  `json:"storms"`
}

func newPauses(inputs []capture.Input, t *pipeline.Pauses) []Pause {
	out := make([]Pause, 0, t.N)
	for i := range t.N {
		r := &t.Rows[i]
		p := Pause{
			Input: int(r.Input), Interface: interfaceName(inputs, r.Input, r.Interface), SrcMAC: r.MAC.String(), Type: "802.3x",
			Frames: r.XOff + r.XOn, XOff: r.XOff, XOn: r.XOn, QuantaSum: r.QuantaSum, QuantaMax: r.QuantaMax,
		}
		if r.PFC {
			priority := r.Priority
			p.Type, p.Priority = "pfc", &priority
		}
		out = append(out, p)
	}
	return out
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

// pauses writes the table of those who pause others, the most frequent first.
func (t *text) pauses() {
	if len(t.Pause) == 0 {
		return
	}
	rows := slices.Clone(t.Pause)
	slices.SortStableFunc(rows, func(a, b Pause) int { return cmp.Compare(b.XOff, a.XOff) })
	names := make([]string, len(rows))
	width := len("Pause sent by")
	for i := range rows {
		p := &rows[i]
		names[i] = p.SrcMAC + " at " + capture.PathText(p.Interface)
		if len(t.Inputs) > 1 {
			names[i] = p.SrcMAC + " at " + strconv.Itoa(p.Input+1) + ":" + capture.PathText(p.Interface)
		}
		width = max(width, len(names[i]))
	}
	line := func(a, b, c, d, e string) string {
		return a + strings.Repeat(" ", max(0, width-len(a))) + pad(b, 12) + pad(c, 12) + pad(d, 12) + pad(e, 16) + "\n"
	}
	t.b.WriteString("\n" + t.color(bold, line("Pause sent by", "priority", "stop", "go on", "longest/quanta")))
	for i := range rows[:min(len(rows), maxPauseRows)] {
		p := &rows[i]
		priority := "all (802.3x)"
		if p.Priority != nil {
			priority = strconv.Itoa(int(*p.Priority))
		}
		t.b.WriteString(line(names[i], priority, count(p.XOff), count(p.XOn), count(uint64(p.QuantaMax))))
	}
	if n := len(rows) - maxPauseRows; n > 0 {
		t.b.WriteString("and " + count(uint64(n)) + " more\n")
	}
	if t.PauseLeftOut > 0 {
		t.b.WriteString(plural(t.PauseLeftOut, "frame") + " of senders beyond those that are told apart\n")
	}
}
