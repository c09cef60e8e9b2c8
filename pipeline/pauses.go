package pipeline

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// LinkSpeeds are the speeds of links, in bits a second, as the user gives them.
type LinkSpeeds struct {
	All uint64 // 0 where it is not given
	// ByName goes before All. A name is an interface's as the capture has it,
	// or its number, alone or behind the number of the input from 1 and a
	// colon.
	ByName map[string]uint64
}

// Of is the speed of an interface: what the user gives, or else what the
// capture says, or 0.
func (l *LinkSpeeds) Of(inputs []capture.Input, input, iface int32) uint64 {
	var in capture.Interface
	if int(input) < len(inputs) && int(iface) < len(inputs[input].Interfaces) {
		in = inputs[input].Interfaces[iface]
	}
	number := strconv.Itoa(int(iface))
	for _, name := range []string{in.Name, number} {
		for _, name := range []string{strconv.Itoa(int(input)+1) + ":" + name, name} {
			if s := l.ByName[name]; s > 0 {
				return s
			}
		}
	}
	return cmp.Or(l.All, in.Speed)
}

// pause follows the pauses of a block.
func (e *engine) pause(b *block) {
	for i := range b.pauses {
		e.pauses.Add(&b.pauses[i])
	}
}

// link describes an interface. It waits for whoever reads, since that changes
// what is known.
func (e *engine) link(input, iface int32) pause.Link {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.reading {
		e.change.Wait()
	}
	inputs := e.src.Inputs()
	l := pause.Link{Speed: e.cfg.Links.Of(inputs, input, iface)}
	if int(input) < len(inputs) && int(iface) < len(inputs[input].Interfaces) {
		l.Name = inputs[input].Interfaces[iface].Name
	}
	return l
}

// pauses takes over what was found of pauses. Their events go among those of
// sessions.
func (r *Result) pauses(p *pause.Result, maxEvents int) {
	r.Pause = *p
	r.EventsLeftOut += p.RunsLeftOut + p.StormsLeftOut
	if len(p.Runs)+len(p.Storms) == 0 {
		return
	}
	r.Events = append(r.Events, p.Events()...)
	slices.SortStableFunc(r.Events, func(a, b record.Event) int { return cmp.Compare(a.Time, b.Time) })
	if over := len(r.Events) - maxEvents; over > 0 {
		r.EventsLeftOut += uint64(over)
		r.Events = r.Events[:maxEvents]
	}
}
