package pipeline

import (
	"cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// maxPorts is how many ports are told apart that are not RoCEv2's and get
// RoCEv2 packets: there are one or two, or the sender picks them at random.
const maxPorts = 32

// Ports counts UDP packets that are not RoCEv2 by their destination port, and
// look like it.
type Ports struct {
	Rows  [maxPorts]Port // ascending, N of them
	N     int
	Other Port // all ports that have no row
}

// Port is what came to one UDP destination port.
type Port struct {
	Port   uint16
	Proven uint64 // RoCEv2, ICRC included
	Like   uint64 // headers as RoCEv2's, the ICRC wrong or cut off
	// LikeFromRoCE are those of Like whose source port is 4791, as answers
	// have it from a sender that swaps the ports.
	LikeFromRoCE uint64
	First        record.FrameRef // of Proven, or else of Like
}

func (t *Port) compare(k uint16) int { return cmp.Compare(t.Port, k) }
func (t *Port) reset(k uint16)       { *t = Port{Port: k} }

func (t *Port) add(o *Port) {
	switch {
	case t.Proven > 0 == (o.Proven > 0):
		earlier(&t.First, o.First, t.Proven+t.Like > 0)
	case o.Proven > 0:
		t.First = o.First
	}
	t.Proven += o.Proven
	t.Like += o.Like
	t.LikeFromRoCE += o.LikeFromRoCE
}

func (t *Ports) count(p *decode.Packet, l decode.Likeness) {
	one := Port{First: refOf(p.Frame)}
	if l == decode.ProvenRoCE {
		one.Proven = 1
	} else {
		one.Like = 1
		if p.SrcPort == decode.RoCEv2Port {
			one.LikeFromRoCE = 1
		}
	}
	place(t.Rows[:], &t.N, &t.Other, p.DstPort).add(&one)
}

func (t *Ports) merge(o *Ports) {
	for i := range o.N {
		r := &o.Rows[i]
		place(t.Rows[:], &t.N, &t.Other, r.Port).add(r)
	}
	if o.Other.Proven+o.Other.Like > 0 {
		t.Other.add(&o.Other)
	}
}
