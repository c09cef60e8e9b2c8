package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Class is the RoCE traffic of one VLAN priority and DSCP.
type Class struct {
	DSCP   uint8 `json:"dscp"`
	Tagged bool  `json:"tagged"` // the packets have a VLAN tag
	// Priority is the VLAN tag's, or without a tag what the user says of the
	// DSCP; nil where neither tells.
	Priority *uint8 `json:"priority"`
	Packets  uint64 `json:"packets"`
	Bytes    uint64 `json:"bytes"` // on the wire
	ECN      ECN    `json:"ecn"`
	// CEShare is which part of the packets that can be marked is marked; nil
	// where none can.
	CEShare *float64 `json:"ce_share"`
	CNPs    uint64   `json:"cnps"`
	// These are of the sessions whose data is in the class.
	NPDelay       *Times    `json:"np_delay_ns"` // last marked data packet to the CNP
	NAKs          uint64    `json:"naks"`
	RNRNAKs       uint64    `json:"rnr_naks"`
	Timeouts      uint64    `json:"timeouts"`
	Lost          ClassLost `json:"lost"`
	Retransmitted uint64    `json:"retransmitted"`
	// PausedNS is for how long the priority was paused, by the sender that did
	// it longest, and PausedShare which part of the capture that is; nil where
	// that is not known, or no pause was seen.
	PausedNS    *int64   `json:"paused_ns"`
	PausedShare *float64 `json:"paused_share"`
}

// Times are what a histogram of times says, in ns.
type Times struct {
	Count uint64 `json:"count"`
	Min   int64  `json:"min"`
	P50   int64  `json:"p50"`
	P90   int64  `json:"p90"`
	P99   int64  `json:"p99"`
	Max   int64  `json:"max"`
}

// newTimes is nil without a sample.
func newTimes(h *sketch.Histogram) *Times {
	if h.Count == 0 {
		return nil
	}
	return &Times{h.Count, h.Min, h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Max}
}

// ClassLost is where the packets of a class were lost.
type ClassLost struct {
	BeforeTap uint64 `json:"before_tap"`
	AfterTap  uint64 `json:"after_tap"`
}

func newClasses(c *pipeline.Result) []Class {
	all := c.TrafficClasses()
	out := make([]Class, 0, len(all))
	for i := range all {
		x := &all[i]
		k := Class{
			DSCP: x.DSCP, Tagged: x.Tagged, Packets: x.Packets(), Bytes: x.Bytes, CNPs: x.CNPs,
			ECN:     ECN{NotECT: x.ECN[0], ECT1: x.ECN[1], ECT0: x.ECN[2], CE: x.ECN[3]},
			NPDelay: newTimes(&x.NPDelay), NAKs: x.NAKs, RNRNAKs: x.RNRNAKs, Timeouts: x.Timeouts, Lost: ClassLost{x.LostBefore, x.LostAfter}, Retransmitted: x.Retransmitted,
		}
		if x.HasPriority {
			k.Priority = &x.Priority
		}
		if able := k.able(); able > 0 {
			part := float64(x.ECN[3]) / float64(able)
			k.CEShare = &part
		}
		if x.IsPaused {
			part := 0.0
			if lasted := c.Last - c.First; lasted > 0 {
				part = min(1, float64(x.Paused)/float64(lasted))
			}
			k.PausedNS, k.PausedShare = &x.Paused, &part
		}
		out = append(out, k)
	}
	return out
}

// able is how many packets can be marked.
func (c *Class) able() uint64 { return c.ECN.ECT0 + c.ECN.ECT1 + c.ECN.CE }

func (c *Class) name() string {
	s := "DSCP " + strconv.Itoa(int(c.DSCP))
	switch {
	case c.Priority == nil:
		return s
	case c.Tagged:
		return s + ", priority " + strconv.Itoa(int(*c.Priority))
	}
	return s + ", as priority " + strconv.Itoa(int(*c.Priority))
}

// maxClassRows bounds the table in the text; the JSON report has them all.
const maxClassRows = 12

// classes writes the table of the classes, where there are several. The most
// traffic comes first.
func (t *text) classes() {
	if len(t.Classes) < 2 {
		return
	}
	rows := slices.Clone(t.Classes)
	slices.SortStableFunc(rows, func(a, b Class) int { return cmp.Compare(b.Bytes, a.Bytes) })
	rest := len(rows) - maxClassRows
	rows = rows[:min(len(rows), maxClassRows)]
	width := len("Class")
	for i := range rows {
		width = max(width, len(rows[i].name()))
	}
	line := func(a string, columns ...string) string {
		a += strings.Repeat(" ", max(0, width-len(a)))
		for i, c := range columns {
			a += pad(c, [...]int{11, 11, 8, 8, 11, 8, 8, 12, 8}[i])
		}
		return a + "\n"
	}
	t.b.WriteString("\n" + t.color(bold, line("Class", "packets", "bytes", "CE", "CNPs", "CNP after", "NAKs", "lost", "sent again", "paused")))
	for i := range rows {
		c := &rows[i]
		ce, after, paused := "-", "-", "-"
		if able := c.able(); able > 0 {
			ce = share(c.ECN.CE, able)
		}
		if c.NPDelay != nil {
			after = duration(c.NPDelay.P50)
		}
		if c.PausedNS != nil {
			paused = share(uint64(*c.PausedNS), t.lasted())
		}
		t.b.WriteString(line(c.name(), count(c.Packets), byteSize(c.Bytes), ce, count(c.CNPs), after, count(c.NAKs+c.RNRNAKs), count(c.Lost.BeforeTap+c.Lost.AfterTap),
			count(c.Retransmitted), paused))
	}
	if rest > 0 {
		t.b.WriteString("and " + count(uint64(rest)) + " more\n")
	}
}
