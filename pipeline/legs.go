package pipeline

import (
	"math/bits"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
)

// leg is what packets of a block share that go from one address to another and were
// captured in the same way. What depends on nothing else is found once for all of them.
type leg struct {
	point
	from, to decode.Addr
	way      uint64 // track.Packet.Way
	network  uint64 // see networkOf
	shard    uint8

	// What the leg's shard finds before it has the first of them that it looks for copies of.
	found bool
	macs  uint16     // their number in intervals
	dir   *direction // nil where it is not counted
}

// wanted says whether a packet of the leg needs what is not found yet.
func (l *leg) wanted(p *track.Packet) bool { return !l.found && sought(p) }

func (l *leg) hasID() bool { return l.network>>32 != 0 }

// slot is where its direction is, or a little behind.
func (l *leg) slot() uint64 {
	if l.hasID() {
		return l.way + 1
	}
	return l.way
}

// maxLegs is how many places there are for the legs of a block.
const maxLegs = 1 << 10

// networkOf is what else tells addresses apart, in one word: the kind of address, the
// VNI, and whether the packet has an IP ID.
func networkOf(p *track.Packet) uint64 {
	w := uint64(p.VNI)<<8 | uint64(p.Kind)
	if p.ID != 0 {
		w |= 1 << 32
	}
	return w
}

// legIndex finds the legs of a block, 1 + the index of each. Nearly every packet was
// captured in the way of the one before it with the same addresses, which is looked at
// first. Two legs that fall to the same places are found anew by turns.
type legIndex struct {
	newest [maxLegs]uint16 // by the hash of the addresses
	all    [maxLegs]uint16 // by that of all that a leg is
}

// leg is the index of the leg that the packet at hand is of.
func (w *decoding) leg(b *block, way uint64, p *track.Packet) uint16 {
	at := &w.legs.newest[way%maxLegs]
	if i := int(*at) - 1; uint(i) < uint(len(b.legs)) {
		if l := &b.legs[i]; l.from == p.Src && l.to == p.Dst && l.network == networkOf(p) && l.is(&w.pkt) {
			return uint16(i)
		}
	}
	*at = w.otherLeg(b, way, p) + 1
	return *at - 1
}

// otherLeg is leg for a packet that is not of the newest one with its addresses.
//
//go:noinline
func (w *decoding) otherLeg(b *block, way uint64, p *track.Packet) uint16 {
	digest, network := pointOf(&w.pkt), networkOf(p)
	at := &w.legs.all[(digest>>bits.Len(placeCopies)^uint32(way)^uint32(network)^uint32(network>>32))%maxLegs]
	if i := int(*at) - 1; i >= 0 {
		if l := &b.legs[i]; l.from == p.Src && l.to == p.Dst && l.network == network && l.is(&w.pkt) {
			return uint16(i)
		}
	}
	b.legs = append(b.legs, leg{from: p.Src, to: p.Dst, way: way, network: network, shard: shardOf(p)})
	b.legs[len(b.legs)-1].set(&w.pkt, digest)
	*at = uint16(len(b.legs))
	return *at - 1
}
