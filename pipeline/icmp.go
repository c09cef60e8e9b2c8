package pipeline

import (
	"cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// maxICMPErrors is how many pairs of sender and reason are told apart: a
// router or two have one reason each.
const maxICMPErrors = 64

// ICMPErrors counts ICMP errors about RoCEv2 packets.
type ICMPErrors struct {
	Rows  [maxICMPErrors]ICMPError // ascending, N of them
	N     int
	Other ICMPError // all that have no row
}

// ICMPError is what one sender says of RoCEv2 packets.
type ICMPError struct {
	Addr       decode.Addr
	AddrKind   decode.AddrKind
	V6         bool // ICMPv6, which has types of its own
	Type, Code uint8
	Count      uint64
	First      record.FrameRef // valid where Count is not 0
}

type icmpKey struct {
	addr      decode.Addr
	kind      decode.AddrKind
	v6        uint8
	typ, code uint8
}

func (e *ICMPError) key() icmpKey {
	k := icmpKey{addr: e.Addr, kind: e.AddrKind, typ: e.Type, code: e.Code}
	if e.V6 {
		k.v6 = 1
	}
	return k
}

func (e *ICMPError) compare(k icmpKey) int {
	h := e.key()
	return cmp.Or(cmp.Compare(h.kind, k.kind), cmp.Compare(h.addr.Hi, k.addr.Hi), cmp.Compare(h.addr.Lo, k.addr.Lo),
		cmp.Compare(h.v6, k.v6), cmp.Compare(h.typ, k.typ), cmp.Compare(h.code, k.code))
}

func (e *ICMPError) reset(k icmpKey) {
	*e = ICMPError{Addr: k.addr, AddrKind: k.kind, V6: k.v6 == 1, Type: k.typ, Code: k.code}
}

func (e *ICMPError) add(o *ICMPError) {
	if o.Count > 0 {
		earlier(&e.First, o.First, e.Count > 0)
		e.Count += o.Count
	}
}

// count counts a packet with the flag QuotesRoCE.
func (t *ICMPErrors) count(p *decode.Packet) {
	one := ICMPError{Addr: p.Src, AddrKind: p.AddrKind, Count: 1, First: refOf(p.Frame)}
	l, ok := p.Layer(decode.LayerICMP)
	if !ok {
		l, one.V6 = p.Layer(decode.LayerICMPv6)
	}
	if b := p.Bytes(l); len(b) >= 2 {
		one.Type, one.Code = b[0], b[1]
	}
	place(t.Rows[:], &t.N, &t.Other, one.key()).add(&one)
}

func (t *ICMPErrors) merge(o *ICMPErrors) {
	for i := range o.N {
		r := &o.Rows[i]
		place(t.Rows[:], &t.N, &t.Other, r.key()).add(r)
	}
	t.Other.add(&o.Other)
}
