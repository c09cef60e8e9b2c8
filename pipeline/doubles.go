package pipeline

import (
	"math"
	"math/bits"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// doubleWindow is how far apart, in nanoseconds, two captures of one packet
// can be: the time from one port of a switch to another, queues included.
const doubleWindow = 10_000_000

// The table of recent packets has sets of four, a cache line each. It grows
// with the packets that come within doubleWindow. There is room for 65,536 of
// them in all shards that are busy, so that it stays in the cache: the copies
// of a packet are found where fewer RoCE packets come between them. At 100
// Gbit/s in packets of 1 KiB that is 5 ms.
const (
	minDoubleSets = 1 << 8
	maxDoubleSets = 1 << 14
	doubleWays    = 4
)

// maxDirections is how many directions (pairs of addresses) of a shard are
// counted.
const maxDirections = 1 << 11

// doubles finds the RoCE packets of a shard that a capture holds twice, because
// a mirror or a capture sees them at two places.
//
// Two packets are the same where addresses, ports, IP ID, transport headers
// and ICRC are: the ICRC covers all that does not change on the way. Where it
// was cut off, or the sender does not compute it, the rest has to do. An IP ID
// makes the difference to a retransmission, which has a new one. Packets whose
// IP ID says nothing (zero, IPv6, a GID) are counted apart, and so is a
// direction whose ID is constant. There copies show only where nearly every
// packet has as many, and then a packet that has twice as many was sent twice.
//
// Both copies of a packet have the same addresses, so that one shard sees both.
type doubles struct {
	recent          []doubleSet
	most            int // sets that recent may have
	points          points
	sample          *sample
	sampleMost      uint64          // no packet with a higher hash is in the sample
	directions      []directionSlot // open addressing, at most half full
	numDirections   int
	unplaced        uint64 // packets of directions that found no place
	packets, copies uint64
	repeated        uint64 // different packets that are there more than once
	touched         uint32 // keeps the compiler from leaving loads out
}

// directionSlot is a place for a direction, and which one it is. way 0 with no d
// is free.
type directionSlot struct {
	way uint64
	d   *direction
}

// doubleSet are packets, the last one to come first; where the table has grown, that of
// the last time.
type doubleSet [doubleWays]recentPacket

// recentPacket is a packet that was seen. tag 0 is a free place.
type recentPacket struct {
	// time is that of the first copy but for the lowest bits, in which are those
	// of the hash that a larger table needs.
	time  int64
	tag   uint32
	place uint32 // a digest of where it was captured, and how many copies came since
}

// The bits of recentPacket.time that are not time, and which bits of the hash
// they are.
const (
	growBits  = 6
	growMask  = 1<<growBits - 1
	growShift = 8 // as minDoubleSets
)

// copySeen says that a packet is the same as one before it.
type copySeen struct {
	dir   *direction // nil where it is not
	apart bool       // captured at another place
	nth   uint8      // which time it is that the packet is there, from 2, at most maxSeen
}

// fewPackets is how many packets of a direction do not tell yet whether it is
// doubled.
const fewPackets = 1024

// judge says what that makes of p for who follows sessions. Where the IP ID says
// nothing, a packet sent again looks the same: only if nearly the whole direction is
// doubled, or all others are, it is a copy, and the third one of a packet that all
// others have two of was sent again.
func (t *doubles) judge(c *copySeen, p *track.Packet) {
	d := c.dir
	if d == nil {
		return
	}
	switch {
	case nearlyEach(d.seen[0], d.packets-d.copies):
		if k := d.made(); k == 0 || c.nth == maxSeen || int(c.nth-1)%k != 0 {
			p.Copy = track.CopyMirror
		}
	case !d.hasID || d.changes*4 < d.packets:
		if d.packets < fewPackets && t.packets > fewPackets && nearlyEach(t.repeated, t.packets-t.copies) {
			p.Copy = track.CopyMirror
		} else {
			p.Alike()
		}
	case c.apart:
		p.Copy = track.CopyMirror
	default:
		p.Copy = track.CopyNetwork
	}
}

// nearlyEach says whether nearly all of different packets are there repeatedly.
func nearlyEach(repeated, different uint64) bool { return 10*repeated >= nearlyAll*different }

// direction is the RoCE packets from one address to another.
type direction struct {
	// What each packet needs comes first, in one cache line.
	src, dst decode.Addr
	packets  uint64
	changes  uint64 // packets with another IP ID than the one before
	place    uint32 // digest of where the last one was captured
	lastID   uint16
	kind     decode.AddrKind
	hasID    bool // packets with an IP ID, or those without

	copies uint64 // same as a packet at most doubleWindow before
	apart  uint64 // those among them that were captured at another place
	// seen are the packets that were there twice or more, three times or more,
	// and so on; the last are all that came after that.
	seen   [maxSeen - 1]uint64
	first  record.FrameRef // of the copies
	differ Difference      // between those in apart and the packets that they are copies of
}

func newDoubles() *doubles {
	return &doubles{recent: make([]doubleSet, minDoubleSets), most: maxDoubleSets, directions: make([]directionSlot, 16), sample: new(sample), sampleMost: math.MaxUint64}
}

// sameHash is a hash of all that is the same in the copies of a packet, but for
// the addresses, whose hash it is given. What comes first and what comes then
// are hashed side by side, which takes less time than one after the other.
func sameHash(way uint64, p *decode.Packet) uint64 {
	const odd = 0xa0761d6478bd642f
	first := track.Mix(way, uint64(p.IPID)|uint64(p.DstPort)<<16|uint64(p.SrcPort)<<32|uint64(p.Opcode)<<48|uint64(p.PadCount)<<56|uint64(p.AddrKind)<<60)
	then := (uint64(p.PSN) | uint64(p.DestQP)<<24 | uint64(p.PKey)<<48) * odd
	if p.ICRCStatus != decode.ICRCUnverifiable {
		then = track.Mix(then, uint64(p.ICRC)|uint64(p.PayloadLen)<<32)
	} else {
		then = track.Mix(then, uint64(p.MSN)|uint64(p.Syndrome)<<24|uint64(p.PayloadLen)<<32)
		headers := (p.VA^p.SwapAdd)*odd ^ bits.RotateLeft64((uint64(p.RKey)|uint64(p.DMALen)<<32)*odd, 32)
		then ^= track.Mix(headers, uint64(p.ImmData)|uint64(p.SrcQP)<<32)
	}
	return track.Mix(first, bits.RotateLeft64(then, 32))
}

// sought says whether copies of a packet are looked for. All CNPs of one queue pair are
// the same where they have no IP ID.
func sought(p *track.Packet) bool { return p.ID != 0 || p.Opcode != decode.OpCNP }

// touch begins to load what look needs of a packet.
func (t *doubles) touch(same uint64) { t.touched ^= t.set(same)[0].tag }

// approach begins to load what direction needs.
func (t *doubles) approach(l *leg) {
	t.touched ^= uint32(t.directions[l.slot()&uint64(len(t.directions)-1)].way)
}

// set is the set that a packet is in.
func (t *doubles) set(same uint64) *doubleSet { return &t.recent[same&uint64(len(t.recent)-1)] }

// look counts a packet of a leg, looks for it and notes it. same is its sameHash.
func (t *doubles) look(l *leg, same uint64, p *track.Packet) copySeen {
	if !sought(p) {
		return copySeen{}
	}
	d := l.dir
	if d == nil {
		t.unplaced++
		return copySeen{}
	}
	d.packets++
	t.packets++
	if p.ID != d.lastID {
		d.changes++
		d.lastID = p.ID
	}
	if d.place != l.digest {
		d.place = l.digest
		t.points.note(&l.point)
	}
	set := t.set(same)
	tag := uint32(same>>32) | 1
	if i := set.find(tag); i < doubleWays {
		r := &set[i]
		if gap := p.Time - r.time; gap <= doubleWindow && gap >= -doubleWindow {
			t.copies++
			c := d.copied(r, l.digest, p.Ref(), &t.points)
			if c.nth == 2 {
				t.repeated++
			}
			return c
		}
		copy(set[i:], set[i+1:])
		set[doubleWays-1] = recentPacket{}
	}
	for last := &set[doubleWays-1]; last.tag != 0 && p.Time-last.time < doubleWindow && len(t.recent) < t.most; last = &set[doubleWays-1] {
		t.grow()
		set = t.set(same)
	}
	set.push(recentPacket{time: p.Time&^growMask | int64(same>>growShift&growMask), tag: tag, place: l.digest})
	if same <= t.sampleMost {
		t.sampleMost = t.sample.look(d, same, p)
	}
	return copySeen{}
}

// find is where a packet is in a set; doubleWays if it is not.
func (set *doubleSet) find(tag uint32) int {
	switch tag {
	case set[0].tag:
		return 0
	case set[1].tag:
		return 1
	case set[2].tag:
		return 2
	case set[3].tag:
		return 3
	}
	return doubleWays
}

// push puts a packet before those that came before, of which the first one to come goes.
func (set *doubleSet) push(r recentPacket) {
	set[3] = set[2]
	set[2] = set[1]
	set[1] = set[0]
	set[0] = r
}

// grow doubles the table.
func (t *doubles) grow() { t.resize(2 * len(t.recent)) }

// limit sets how many sets the table may have.
func (t *doubles) limit(sets int) {
	t.most = max(minDoubleSets, min(sets, maxDoubleSets))
	for len(t.recent) > t.most {
		t.resize(len(t.recent) / 2)
	}
}

func (t *doubles) resize(sets int) {
	old := t.recent
	t.recent = make([]doubleSet, sets)
	clear(t.recent) // new pages that are read before they are written cost the kernel twice
	for i := range old {
		for _, r := range slices.Backward(old[i][:]) {
			if r.tag == 0 {
				continue
			}
			t.set(uint64(r.time&growMask)<<growShift | uint64(i)&(minDoubleSets-1)).insert(r)
		}
	}
}

// insert puts a packet before those of a set that are no later. If the set is full, the
// last one of them goes, or the packet itself where all are later.
func (set *doubleSet) insert(r recentPacket) {
	for i := range set {
		if set[i].tag == 0 || set[i].time <= r.time {
			copy(set[i+1:], set[i:])
			set[i] = r
			return
		}
	}
}

// copied counts a packet that is the same as r, and says what it is. place is
// the digest of where it was captured.
func (d *direction) copied(r *recentPacket, place uint32, ref record.FrameRef, points *points) copySeen {
	earlier(&d.first, ref, d.copies > 0)
	d.copies++
	at, before := r.place&^placeCopies, r.place&placeCopies
	if place != at {
		d.apart++
		d.differ |= points.difference(place, at)
	}
	d.seen[before]++
	if before < maxSeen-2 {
		r.place++
	}
	return copySeen{dir: d, apart: place != at, nth: uint8(before) + 2}
}

// maxSeen is up to which time a packet is there they are told apart.
// placeCopies are the bits of recentPacket.place that count its copies.
const (
	maxSeen     = 17
	placeCopies = 1<<4 - 1
)

// direction is the direction of a leg, nil if there is no place for it.
func (t *doubles) direction(l *leg) *direction {
	kind, hasID, way := decode.AddrKind(l.network), l.hasID(), l.slot()
	for i := way; ; i++ {
		s := &t.directions[i&uint64(len(t.directions)-1)]
		if s.d == nil {
			break
		}
		if d := s.d; s.way == way && d.src == l.from && d.dst == l.to && d.kind == kind && d.hasID == hasID {
			return d
		}
	}
	if t.numDirections == maxDirections {
		return nil
	}
	if t.numDirections++; 2*t.numDirections > len(t.directions) {
		old := t.directions
		t.directions = make([]directionSlot, 2*len(old))
		for _, s := range old {
			if s.d != nil {
				t.put(s)
			}
		}
	}
	d := &direction{src: l.from, dst: l.to, kind: kind, hasID: hasID}
	t.put(directionSlot{way, d})
	return d
}

func (t *doubles) put(s directionSlot) {
	for i := s.way; ; i++ {
		if at := &t.directions[i&uint64(len(t.directions)-1)]; at.d == nil {
			*at = s
			return
		}
	}
}
