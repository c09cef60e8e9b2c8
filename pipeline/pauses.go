package pipeline

import (
	"bytes"
	"cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// maxPauses is how many pairs of sender and priority are told apart: 32
// senders that pause all eight priorities.
const maxPauses = 256

// Pauses counts MAC control frames that stop traffic or let it go on.
type Pauses struct {
	Rows  [maxPauses]Pause // ascending, N of them
	N     int
	Other Pause // all that have no row
}

// Pause is what one sender said of one priority, or, with PAUSE, of all
// traffic. A PFC frame counts once for each priority that it names.
type Pause struct {
	Input, Interface int32 // where it was captured
	MAC              decode.MAC
	PFC              bool  // otherwise 802.3x PAUSE, and Priority is 0
	Priority         uint8 // 0 to 7

	XOff, XOn uint64 // frames that stop it, and that let it go on
	// QuantaSum and QuantaMax are of the frames in XOff, in units of 512 bit
	// times of the link.
	QuantaSum uint64
	QuantaMax uint16
	First     record.FrameRef
}

type pauseKey struct {
	input, iface int32
	mac          decode.MAC
	pfc          bool
	priority     uint8
}

func (t *Pause) compare(k pauseKey) int {
	if c := cmp.Or(cmp.Compare(t.Input, k.input), cmp.Compare(t.Interface, k.iface), bytes.Compare(t.MAC[:], k.mac[:])); c != 0 {
		return c
	}
	if t.PFC != k.pfc {
		if k.pfc {
			return -1
		}
		return 1
	}
	return cmp.Compare(t.Priority, k.priority)
}

func (t *Pause) reset(k pauseKey) {
	*t = Pause{Input: k.input, Interface: k.iface, MAC: k.mac, PFC: k.pfc, Priority: k.priority}
}

func (t *Pause) add(o *Pause) {
	if o.XOff+o.XOn == 0 {
		return
	}
	earlier(&t.First, o.First, t.XOff+t.XOn > 0)
	t.XOff += o.XOff
	t.XOn += o.XOn
	t.QuantaSum += o.QuantaSum
	t.QuantaMax = max(t.QuantaMax, o.QuantaMax)
}

// count counts a PFC or PAUSE frame. One that was cut off before its times
// enables no priority, and one that enables none says nothing.
func (t *Pauses) count(p *decode.Packet) {
	k := pauseKey{input: p.Frame.Input, iface: p.Frame.Interface, mac: p.SrcMAC, pfc: p.Kind == decode.KindPFC}
	for i, quanta := range p.Pause.Quanta {
		if p.Pause.Enable>>i&1 == 0 {
			continue
		}
		one := Pause{QuantaSum: uint64(quanta), QuantaMax: quanta, First: refOf(p.Frame)}
		if quanta > 0 {
			one.XOff = 1
		} else {
			one.XOn = 1
		}
		k.priority = uint8(i)
		place(t.Rows[:], &t.N, &t.Other, k).add(&one)
	}
}

func (t *Pauses) merge(o *Pauses) {
	for i := range o.N {
		r := &o.Rows[i]
		place(t.Rows[:], &t.N, &t.Other, pauseKey{r.Input, r.Interface, r.MAC, r.PFC, r.Priority}).add(r)
	}
	t.Other.add(&o.Other)
}
