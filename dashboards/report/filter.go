package report

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Filter says that a report tells of a part of the capture alone.
type Filter struct {
	Expr string `json:"expr"`
	// Packets and Sessions are all that there are, whether they match or not.
	Packets  uint64 `json:"packets"`
	Sessions int    `json:"sessions"`

	first, last int64 // of all packets
}

// Narrow leaves in the report what matches a display filter: the totals of
// packets that match, and sessions with such packets, with all of their figures
// and events. c is what the report was made of. What is said of the inputs and
// of mirrors stays.
func (r *Report) Narrow(expr string, c *pipeline.Result, m *pipeline.Matching) {
	r.Filter = &Filter{Expr: expr, Packets: c.Packets, Sessions: c.Sessions.Len(), first: c.First, last: c.Last}
	one := *c
	one.Counters = m.Counters
	one.Duplicates = pipeline.Duplicates{Capture: m.Copies, Undecided: c.Duplicates.Undecided, Unplaced: c.Duplicates.Unplaced, Later: c.Duplicates.Later}
	r.Capture = newCapture(&one)
	r.ICRC, r.AETH = newCRC(&one.ICRC), newAETH(&one.AETH)
	r.ECN = newECN(&one.Counters)
	r.VCRC = newVCRC(&one.Counters)
	r.Opcodes = newOpcodes(&one.Counters)
	r.Classes = newClasses(&one)

	var at []int
	i := 0
	for s := range c.Sessions.All() {
		if m.Sessions[s.ID] {
			at = append(at, i)
		}
		i++
	}
	paused := one.Kind(decode.KindPFC)+one.Kind(decode.KindPause) > 0
	if !paused {
		r.Pause, r.PauseLeftOut = []Pause{}, 0
	}
	told := func(events []record.Event) []record.Event {
		return slices.DeleteFunc(slices.Clone(events), func(e record.Event) bool {
			return e.Session == "" && !paused || e.Session != "" && !m.Sessions[e.Session]
		})
	}
	r.Sessions, r.Events, r.Signs = c.Sessions.Only(at), told(c.Events), told(c.Signs)
	r.Hosts = hwcounters.Expect(r.Sessions, r.Signs)
}

// span is when the capture begins and ends, whatever of it is told. It has a
// packet.
func (r *Report) span() (first, last int64) {
	if r.Filter != nil {
		return r.Filter.first, r.Filter.last
	}
	return *r.Capture.First, *r.Capture.Last
}
