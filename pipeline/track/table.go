package track

import (
	"math/bits"
)

// Mix mixes v into a hash.
func Mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// flowHash is the hash of what tells flows apart: addresses, the destination's
// QPN, the tunnel's VNI, and for UD the source's QPN.
func flowHash(p *Packet, way uint64) uint64 {
	return Mix(way^uint64(p.SrcQP)<<40, uint64(p.DestQP)|uint64(p.VNI)<<24|uint64(p.flags&(hasVNI|hasDETH))<<48|uint64(p.Kind)<<56|uint64(p.Version)<<60)
}

// key is a packet of the flow, as far as finding it goes.
func (f *flow) key() *Packet {
	p := Packet{Src: f.src, Dst: f.dst, DestQP: f.qpn, SrcQP: f.srcQP, VNI: f.vni, Kind: f.kind, Version: f.version}
	if f.hasVNI {
		p.flags |= hasVNI
	}
	if f.ud {
		p.flags |= hasDETH
	}
	p.Hash()
	return &p
}

// hash is that of the flow's packets.
func (f *flow) hash() uint64 { return f.key().hash }

// is says whether p belongs to the flow.
func (f *flow) is(p *Packet) bool {
	return f.qpn == p.DestQP && f.src == p.Src && f.dst == p.Dst && f.vni == p.VNI && f.kind == p.Kind &&
		f.version == p.Version && f.hasVNI == p.is(hasVNI) && f.ud == p.is(hasDETH) && f.srcQP == p.SrcQP
}

// table finds flows by their hash: open addressing with linear probing, at
// most three quarters full. The live flow of a key is in it, past lives are
// not.
type table struct {
	slots []slot
	n     int
}

type slot struct {
	hash uint64
	f    *flow
}

func (t *table) find(p *Packet) *flow {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := p.hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.f == nil {
			return nil
		}
		if s.hash == p.hash && s.f.is(p) {
			return s.f
		}
	}
}

// put adds f, whose key is not in the table.
func (t *table) put(hash uint64, f *flow) {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = fresh[slot](max(64, 2*len(old)))
		for _, s := range old {
			if s.f != nil {
				t.place(s)
			}
		}
	}
	t.place(slot{hash, f})
	t.n++
}

func (t *table) place(s slot) {
	mask := uint64(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].f != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove takes f out and closes the gap that it leaves.
func (t *table) remove(f *flow) {
	if len(t.slots) == 0 {
		return
	}
	mask := uint64(len(t.slots) - 1)
	i := f.hash() & mask
	for t.slots[i].f != f {
		if t.slots[i].f == nil {
			return
		}
		i = (i + 1) & mask
	}
	t.n--
	for j := (i + 1) & mask; t.slots[j].f != nil; j = (j + 1) & mask {
		if home := t.slots[j].hash & mask; (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
}
