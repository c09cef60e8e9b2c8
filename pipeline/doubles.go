package pipeline

import (
	"math"
	"math/bits"

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

// sought is a packet that is to be looked for.
type sought struct {
	same uint64     // hash of all that is the same in copies
	dir  *direction // nil where nothing is looked for
	at   *point     // where it was captured
}

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

// approach begins to load what seek needs, and returns the packet's way.
func (t *doubles) approach(p *track.Packet) (way uint64) {
	way = p.Way()
	if p.ID != 0 {
		way++
	}
	t.touched ^= uint32(t.directions[way&uint64(len(t.directions)-1)].way)
	return way
}

// seek says what is to be looked for. way is what approach returned, same the
// packet's sameHash, and at where it was captured.
func (t *doubles) seek(p *track.Packet, way, same uint64, at *point) sought {
	hasID := p.ID != 0
	if !hasID && p.Opcode == decode.OpCNP {
		return sought{} // all of one queue pair are the same
	}
	d := t.direction(p, hasID, way)
	if d == nil {
		t.unplaced++
		return sought{}
	}
	return sought{same: same, dir: d, at: at}
}

// touch begins to load what look needs of packets, for all of them at once.
func (t *doubles) touch(list []sought) {
	for i := range list {
		if p := &list[i]; p.dir != nil {
			t.touched ^= t.recent[t.set(p.same)][0].tag ^ p.dir.place
		}
	}
}

// set is the number of the set that a packet is in.
func (t *doubles) set(same uint64) uint64 { return same & uint64(len(t.recent)-1) }

// look counts a packet, looks for it and notes it.
func (t *doubles) look(p *sought, in *track.Packet) copySeen {
	d := p.dir
	if d == nil {
		return copySeen{}
	}
	d.packets++
	t.packets++
	if in.ID != d.lastID {
		d.changes++
		d.lastID = in.ID
	}
	if d.place != p.at.digest {
		d.place = p.at.digest
		t.points.note(p.at)
	}
	set := &t.recent[t.set(p.same)]
	tag := uint32(p.same>>32) | 1
	oldest := set.place()
	for i := range set {
		r := &set[i]
		if r.tag != tag {
			continue
		}
		if gap := in.Time - r.time; gap > doubleWindow || gap < -doubleWindow {
			oldest = r
			break
		}
		t.copies++
		c := d.copied(r, p.at.digest, in.Ref(), &t.points)
		if c.nth == 2 {
			t.repeated++
		}
		return c
	}
	for oldest.tag != 0 && oldest.tag != tag && in.Time-oldest.time < doubleWindow && len(t.recent) < t.most {
		t.grow()
		oldest = t.place(p.same)
	}
	*oldest = recentPacket{time: in.Time&^growMask | int64(p.same>>growShift&growMask), tag: tag, place: p.at.digest}
	if p.same <= t.sampleMost {
		t.sampleMost = t.sample.look(p, in)
	}
	return copySeen{}
}

// place is a place for a packet: a free one, or that of the oldest.
func (t *doubles) place(same uint64) *recentPacket { return t.recent[t.set(same)].place() }

// place looks at times alone, those of free places being 0, and has no branch: which
// place is the oldest is nothing that a processor could guess.
func (set *doubleSet) place() *recentPacket {
	return &set[less(less(set.age(0), set.age(1)), less(set.age(2), set.age(3)))%doubleWays]
}

// age is less for what is older, and its lowest bits are the number of the place.
func (set *doubleSet) age(i uint64) uint64 { return uint64(set[i].time)&^(doubleWays-1) | i }

// less is the lesser of two numbers, without a branch.
func less(x, y uint64) uint64 {
	difference, below := bits.Sub64(x, y, 0)
	return y + difference&-below
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
		for _, r := range old[i] {
			if r.tag == 0 {
				continue
			}
			to := t.recent[(uint64(r.time&growMask)<<growShift|uint64(i)&(minDoubleSets-1))&uint64(sets-1)].place()
			if to.tag == 0 || to.time < r.time {
				*to = r
			}
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

// direction finds a direction's counters, or a place for them; nil if there is
// none.
func (t *doubles) direction(p *track.Packet, hasID bool, way uint64) *direction {
	for i := way; ; i++ {
		s := &t.directions[i&uint64(len(t.directions)-1)]
		if s.d == nil {
			return t.newDirection(p, hasID, way)
		}
		if d := s.d; s.way == way && d.src == p.Src && d.dst == p.Dst && d.kind == p.Kind && d.hasID == hasID {
			return d
		}
	}
}

func (t *doubles) newDirection(p *track.Packet, hasID bool, way uint64) *direction {
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
	d := &direction{src: p.Src, dst: p.Dst, kind: p.Kind, hasID: hasID}
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
