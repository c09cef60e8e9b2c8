package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
)

// Receiver is the RoCE traffic to one address at one interface.
type Receiver struct {
	Addr      string  `json:"addr"`
	VNI       *uint32 `json:"vni,omitempty"`
	Input     int     `json:"input"` // index into Report.Inputs
	Interface string  `json:"interface"`
	Packets   uint64  `json:"packets"`
	Bytes     uint64  `json:"bytes"` // on the wire
	First     int64   `json:"first"`
	Last      int64   `json:"last"`
	// MeanBPS is the rate in bits a second in those milliseconds in which there
	// was traffic.
	MeanBPS uint64 `json:"mean_bps"`
	Peaks   []Peak `json:"peaks"`
}

// Peak is the window of a length in which most came.
type Peak struct {
	WindowNS int64  `json:"window_ns"`
	RateBPS  uint64 `json:"rate_bps"`
	Packets  uint64 `json:"packets"`
	Bytes    uint64 `json:"bytes"`
	Senders  int    `json:"senders"` // addresses, at least
	Start    int64  `json:"start"`
}

// maxReceivers bounds those in the report: the ones with most bytes.
const maxReceivers = 64

func newReceivers(r *pipeline.Result, inputs []capture.Input) []Receiver {
	all := r.Receivers[:min(len(r.Receivers), maxReceivers)]
	out := make([]Receiver, 0, len(all))
	for i := range all {
		x := &all[i]
		one := Receiver{
			Addr: string(x.Addr.Append(nil, x.Kind)), Input: int(x.Input), Interface: interfaceName(inputs, x.Input, x.Interface),
			Packets: x.Packets, Bytes: x.Bytes, First: x.First, Last: x.Last, MeanBPS: uint64(x.MeanRate()),
		}
		if x.VNI != 0 {
			one.VNI = &x.VNI
		}
		for _, p := range x.Peaks {
			one.Peaks = append(one.Peaks, Peak{p.Width, uint64(p.Rate()), p.Packets, p.Bytes, p.Senders, p.Start})
		}
		out = append(out, one)
	}
	return out
}

// Receivers that text has: those that get most, of some packets.
const (
	maxBurstRows    = 4
	minBurstPackets = 64
	leastBurstPart  = 8 // of the bytes that the first one gets
)

// bursts writes the peaks of those who get most.
func (t *text) bursts() {
	var rows []*Receiver
	width := len("Bursts to")
	places := t.severalPlaces()
	name := func(r *Receiver) string {
		if places {
			return r.Addr + " at " + strconv.Itoa(r.Input+1) + ":" + capture.PathText(r.Interface)
		}
		return r.Addr
	}
	for i := range t.Receivers {
		r := &t.Receivers[i]
		if r.Packets >= minBurstPackets && leastBurstPart*r.Bytes >= t.Receivers[0].Bytes && len(rows) < maxBurstRows {
			rows = append(rows, r)
			width = max(width, len(name(r)))
		}
	}
	if len(rows) == 0 {
		return
	}
	line := func(to string, columns []string) string {
		to += strings.Repeat(" ", width-len(to))
		for _, c := range columns {
			to += pad(c, 13)
		}
		return to + "\n"
	}
	head := []string{"mean", "", "", "", "hosts in 1ms"}
	for i, p := range rows[0].Peaks {
		head[1+i] = "in " + time.Duration(p.WindowNS).String()
	}
	t.b.WriteString("\n" + t.color(bold, line("Bursts to", head)))
	for _, r := range rows {
		cells := []string{scaled(float64(r.MeanBPS), "bit/s")}
		for _, p := range r.Peaks {
			cells = append(cells, scaled(float64(p.RateBPS), "bit/s"))
		}
		t.b.WriteString(line(name(r), append(cells, strconv.Itoa(r.Peaks[len(r.Peaks)-1].Senders))))
	}
}

// severalPlaces says whether packets came from more than one interface.
func (t *text) severalPlaces() bool {
	for i := range t.Receivers {
		if t.Receivers[i].Interface != t.Receivers[0].Interface || t.Receivers[i].Input != t.Receivers[0].Input {
			return true
		}
	}
	return false
}
