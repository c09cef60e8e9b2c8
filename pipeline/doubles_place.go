package pipeline

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
)

// Difference is in what the captures of one packet differ, a bit each. All of
// it may change on the way, or says where a packet was captured.
type Difference uint8

// The differences.
const (
	DiffInput     Difference = 1 << iota // the capture file
	DiffInterface                        // the interface of one input
	DiffDirection                        // sent or received, in a Linux cooked capture
	DiffMAC
	DiffVLAN
	DiffTTL
	DiffEncap      // tunnels and the tags of switches
	numDifferences = iota
)

var differenceNames = [numDifferences]string{"input", "interface", "direction", "mac", "vlan", "ttl", "encapsulation"}

// Names are the names of the bits.
func (d Difference) Names() []string {
	names := []string{}
	for i, name := range differenceNames {
		if d>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (d Difference) String() string { return strings.Join(d.Names(), ",") }

// maxPoints is how many points a shard remembers, in 12 KiB: a direction has
// one for each point where it is captured, and copies of a packet come soon.
const maxPoints = 1 << 8

// point is where a packet was captured, and what it looked like there.
type point struct {
	digest       uint32
	input, iface int32
	index        uint32 // of the interface, where the packet says it (SLL2)
	packetType   uint8  // in Linux cooked captures: sent, received, ...
	ttl          uint8
	vlan         uint16
	tags, others decode.Encap // VLAN tags, and other encapsulations
	src, dst     decode.MAC
}

const tags = decode.EncapVLAN | decode.EncapQinQ

// set makes at the point where p was captured.
func (at *point) set(p *decode.Packet, digest uint32) {
	index, packetType := cooked(p)
	*at = point{
		digest: digest, input: p.Frame.Input, iface: p.Frame.Interface, index: index, packetType: packetType, ttl: p.TTL,
		vlan: p.VLAN, tags: p.Encap & tags, others: p.Encap &^ tags, src: p.SrcMAC, dst: p.DstMAC,
	}
}

// is says whether p was captured there.
func (at *point) is(p *decode.Packet) bool {
	index, packetType := cooked(p)
	return at.src == p.SrcMAC && at.dst == p.DstMAC && at.ttl == p.TTL && at.vlan == p.VLAN && at.tags|at.others == p.Encap &&
		at.input == p.Frame.Input && at.iface == p.Frame.Interface && at.index == index && at.packetType == packetType
}

// pointOf is a digest of where a packet was captured: of all that a point
// says. It leaves room for the count in recentPacket.place.
func pointOf(p *decode.Packet) uint32 {
	mac := func(m *decode.MAC) uint64 {
		return uint64(binary.BigEndian.Uint32(m[:]))<<16 | uint64(binary.BigEndian.Uint16(m[4:]))
	}
	index, packetType := cooked(p)
	a := mac(&p.SrcMAC) | uint64(p.TTL)<<48 | uint64(packetType)<<56
	b := mac(&p.DstMAC) | uint64(p.VLAN)<<48
	c := uint64(uint32(p.Frame.Input))<<32 | uint64(uint32(p.Frame.Interface))
	// Interfaces and MAC addresses are often numbered alike, so that what
	// changes in one must not be what changes in the other.
	c = (c ^ uint64(p.Encap)<<44 ^ uint64(index)<<8) * 0x9e3779b97f4a7c15
	h := track.Mix(a+bits.RotateLeft64(b, 21), c)
	return uint32(h>>32) &^ placeCopies
}

// cooked is what the header of a Linux cooked capture says of where a packet
// was captured.
func cooked(p *decode.Packet) (index uint32, packetType uint8) {
	switch b := p.Data; {
	case p.Frame.Link == capture.LinkSLL2 && len(b) > 10:
		return binary.BigEndian.Uint32(b[4:]), b[10]
	case p.Frame.Link == capture.LinkSLL && len(b) > 1:
		return 0, b[1]
	}
	return 0, 0
}

// points are the points of late, each at the place that its digest says.
type points [maxPoints]point

func (t *points) at(digest uint32) *point { return &t[digest>>4%maxPoints] }

// note remembers a point.
func (t *points) note(p *point) {
	if at := t.at(p.digest); at.digest != p.digest {
		*at = *p
	}
}

// difference is in what two points differ, and 0 where one of them was
// forgotten.
func (t *points) difference(digest, other uint32) (d Difference) {
	a, b := t.at(digest), t.at(other)
	if a.digest != digest || b.digest != other {
		return 0
	}
	for _, c := range [...]struct {
		differs bool
		d       Difference
	}{
		{a.input != b.input, DiffInput},
		{a.input == b.input && (a.iface != b.iface || a.index != b.index), DiffInterface},
		{a.packetType != b.packetType, DiffDirection},
		{a.src != b.src || a.dst != b.dst, DiffMAC},
		{a.vlan != b.vlan || a.tags != b.tags, DiffVLAN},
		{a.ttl != b.ttl, DiffTTL},
		{a.others != b.others, DiffEncap},
	} {
		if c.differs {
			d |= c.d
		}
	}
	return d
}
