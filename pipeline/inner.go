package pipeline

import (
	"cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// maxInner is how many unknown inner types are told apart. A mirror has a few.
const maxInner = 32

// InnerTypes counts packets in a tunnel or behind a tag by the type of what is
// inside, where that is not decoded.
type InnerTypes struct {
	Rows  [maxInner]InnerType // ascending, N of them
	N     int
	Other InnerType // all types that have no row
}

// InnerType is one of those types: the header that has the type field, and the
// field's value. With LayerEthernet it is an ethertype. LayerNone is for
// packets of which something else was worth telling (Packet.Err).
type InnerType struct {
	Layer decode.LayerKind
	Type  uint32
	Count uint64
	First record.FrameRef // valid where Count is not 0
}

type innerKey struct {
	layer decode.LayerKind
	typ   uint32
}

func (t *InnerType) compare(k innerKey) int {
	return cmp.Or(cmp.Compare(t.Layer, k.layer), cmp.Compare(t.Type, k.typ))
}

func (t *InnerType) reset(k innerKey) { *t = InnerType{Layer: k.layer, Type: k.typ} }

func (t *InnerType) add(o *InnerType) {
	if o.Count > 0 {
		earlier(&t.First, o.First, t.Count > 0)
		t.Count += o.Count
	}
}

func (t *InnerTypes) count(p *decode.Packet) {
	var k innerKey
	if p.Err.Code == decode.ErrUnknown {
		k = innerKey{p.Err.Layer, p.Err.Have}
	}
	one := InnerType{Count: 1, First: refOf(p.Frame)}
	place(t.Rows[:], &t.N, &t.Other, k).add(&one)
}

func (t *InnerTypes) merge(o *InnerTypes) {
	for i := range o.N {
		r := &o.Rows[i]
		place(t.Rows[:], &t.N, &t.Other, innerKey{r.Layer, r.Type}).add(r)
	}
	t.Other.add(&o.Other)
}
