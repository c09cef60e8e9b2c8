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

func hasInterface(inputs []capture.Input, input, iface int32) bool {
	return int(uint32(input)) < len(inputs) && int(uint32(iface)) < len(inputs[input].Interfaces)
}

// Of is the speed of an interface: what the user gives, or else what the
// capture says, or 0.
func (l *LinkSpeeds) Of(inputs []capture.Input, input, iface int32) uint64 {
	var in capture.Interface
	if hasInterface(inputs, input, iface) {
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

// pauseFrame is what a frame says, and how many items came before it.
type pauseFrame struct {
	pause.Frame
	items int
}

// pause follows the pauses of a block.
func (e *engine) pause(b *block) {
	next := 0 // item
	for i := range b.pauses {
		f := &b.pauses[i]
		e.paused(b, next, f.items)
		next = f.items
		e.pauses.Add(&f.Frame)
	}
	e.paused(b, next, len(b.items))
}

// paused looks at packets that may have had to pause. Others have them at the
// same time, and write to them only what they found out.
func (e *engine) paused(b *block, from, to int) {
	if !e.pauses.Active() {
		return
	}
	for i := from; i < to; i++ {
		it := &b.items[i]
		at := &b.legs[it.leg]
		p := pause.Packet{
			Time: it.Time, Number: it.Number, Offset: it.Offset, Input: it.Input, Interface: at.iface, Src: at.src, Dst: at.dst,
			WireLen: it.WireLen, Flow: pause.Flow{Src: it.Src, Dst: it.Dst, Kind: it.Kind, DestQP: it.DestQP, VNI: it.VNI},
		}
		switch {
		case at.tags != 0:
			p.Priority = int8(at.vlan >> 13)
		default:
			p.Priority = e.cfg.Priorities.of(it.TOS >> 2)
		}
		e.pauses.Packet(&p)
	}
}

// Priorities are those of packets without a VLAN tag, by their DSCP: 1 + the
// priority, 0 where the user does not say.
type Priorities [64]uint8

func (p *Priorities) of(dscp uint8) int8 { return int8(p[dscp&63]) - 1 }

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
	if hasInterface(inputs, input, iface) {
		l.Name = inputs[input].Interfaces[iface].Name
	}
	return l
}

// pauses takes over what was found of pauses. Their events go among those of
// sessions, if these leave room.
func (r *Result) pauses(p *pause.Result, maxEvents int) {
	r.Pause = *p
	if len(p.Rows) > 0 {
		r.Sessions = r.Sessions.With(r.Pause.Complete)
	}
	var events []record.Event
	events, r.PausesLeftOut = p.Events(max(0, maxEvents-len(r.Events)))
	if len(events) > 0 {
		r.Events = append(r.Events, events...)
		slices.SortStableFunc(r.Events, func(a, b record.Event) int { return cmp.Compare(a.Time, b.Time) })
	}
}
