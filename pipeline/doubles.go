package pipeline

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// doubleWindow is how far apart, in nanoseconds, two captures of one packet
// can be: the time from one port of a switch to another, queues included.
const doubleWindow = 10_000_000

// The table of recent packets: 65,536 of them in 1 MiB, four to a cache line.
// The copies of a packet are found where fewer RoCE packets than that come
// between them. At 100 Gbit/s in packets of 1 KiB that is 5 ms.
const (
	doubleSets = 1 << 14
	doubleWays = 4
)

// maxDirections is how many directions (pairs of addresses) are counted, and
// directionProbes how many places are tried for one.
const (
	maxDirections   = 1 << 11
	directionProbes = 8
)

// Doubles finds RoCE packets that a capture holds twice, because a mirror or a
// capture sees them at two places.
//
// Two packets are the same where addresses, ports, IP ID, transport headers
// and ICRC are: the ICRC covers all that does not change on the way. Where it
// was cut off, or the sender does not compute it, the rest has to do. An IP ID
// makes the difference to a retransmission, which has a new one. Packets whose
// IP ID says nothing (zero, IPv6, a GID) are counted apart, and so is a
// direction whose ID is constant. There copies show only where nearly every
// packet has as many, and then a packet that has twice as many was sent twice.
//
// It is the one thing here that depends on the order of packets, so it is not
// part of Counters. Both copies of a packet have the same addresses: workers
// that share the packets out by a hash of both addresses, to a fixed number of
// shards with a Doubles each, find the same as one does, whoever runs which
// shard, and the sum of the shards is the result.
type Doubles struct {
	recent          [doubleSets][doubleWays]recentPacket
	points          points
	sample          sample
	directions      [maxDirections]direction
	unplaced        uint64 // packets of directions that found no place
	packets, copies uint64

	// Packets that wait to be looked for. Each lookup is a cache miss, and
	// several at a time take hardly longer than one.
	waiting [doubleBatch]waitingPacket
	n       int
	touched uint32 // keeps the compiler from leaving the loads out
}

const doubleBatch = 64

type waitingPacket struct {
	hash  uint64
	place uint32
	dir   *direction
	ref   record.FrameRef
	copy  *copySeen // where to say whether it is one
}

// copySeen says that a packet is the same as one before it.
type copySeen struct {
	dir   *direction // nil where it is not
	apart bool       // captured at another place
	nth   uint8      // which time it is that the packet is there, from 2, at most maxSeen
}

// verdict is what that makes of the packet for who follows sessions. Where the
// IP ID says nothing, a packet sent again looks the same: only if nearly the
// whole direction is doubled, or all others are, it is a copy, and the third
// one of a packet that all others have two of was sent again.
func (t *Doubles) verdict(c *copySeen) track.Copy {
	d := c.dir
	switch {
	case d == nil:
		return track.NoCopy
	case d.copies*20 >= d.packets*9:
		if k := d.made(); k > 0 && c.nth < maxSeen && int(c.nth-1)%k == 0 {
			return track.NoCopy
		}
		return track.CopyMirror
	case !d.hasID || d.changes*4 < d.packets:
		if d.packets < fewPackets && t.copies*20 >= t.packets*9 && t.packets > fewPackets {
			return track.CopyMirror
		}
		return track.NoCopy
	case c.apart:
		return track.CopyMirror
	}
	return track.CopyNetwork
}

// fewPackets is how many packets of a direction do not tell yet whether it is
// doubled.
const fewPackets = 1024

// recentPacket is a packet that was seen. tag 0 is a free place.
type recentPacket struct {
	time  int64 // of the first copy
	tag   uint32
	place uint32 // a digest of where it was captured, and how many copies came since
}

// direction is the RoCE packets from one address to another.
type direction struct {
	src, dst decode.Addr
	kind     decode.AddrKind
	hasID    bool // packets with an IP ID, or those without

	packets uint64
	copies  uint64 // same as a packet at most doubleWindow before
	apart   uint64 // those among them that were captured at another place
	changes uint64 // packets with another IP ID than the one before
	// seen are the packets that were there twice or more, three times or more,
	// and so on; the last are all that came after that.
	seen   [maxSeen - 1]uint64
	lastID uint16
	first  record.FrameRef // of the copies
	differ Difference      // between those in apart and the packets that they are copies of
}

// NewDoubles returns a detector, which takes 1.4 MB.
func NewDoubles() *Doubles { return new(Doubles) }

func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// Add takes the next packet. It does not allocate and keeps nothing of p.
// Whether the packet is a copy is written to is, which may be nil, by the next
// Flush.
func (t *Doubles) Add(p *decode.Packet, is *copySeen) {
	if !p.RoCE() || p.Has&decode.HasBTH == 0 {
		return
	}
	hasID := p.AddrKind == decode.AddrIPv4 && p.IPID != 0
	if !hasID && p.Opcode == decode.OpCNP {
		return // all of one queue pair are the same
	}
	h := mix(mix(mix(mix(uint64(p.AddrKind), p.Src.Hi), p.Src.Lo), p.Dst.Hi), p.Dst.Lo)
	d := t.direction(p, h, hasID)
	if d == nil {
		t.unplaced++
		return
	}
	d.packets++
	t.packets++
	if p.IPID != d.lastID {
		d.changes++
		d.lastID = p.IPID
	}
	h = mix(h, uint64(p.IPID)|uint64(p.DstPort)<<16|uint64(p.SrcPort)<<32|uint64(p.Opcode)<<48|uint64(p.PadCount)<<56)
	h = mix(h, uint64(p.PSN)|uint64(p.DestQP)<<24|uint64(p.PKey)<<48)
	if p.ICRCStatus != decode.ICRCUnverifiable {
		h = mix(h, uint64(p.ICRC)|uint64(p.PayloadLen)<<32)
	} else {
		h = mix(h, uint64(p.MSN)|uint64(p.Syndrome)<<24|uint64(p.PayloadLen)<<32)
		h = mix(mix(h, p.VA^p.SwapAdd), uint64(p.RKey)|uint64(p.DMALen)<<32)
		h = mix(h, uint64(p.ImmData)|uint64(p.SrcQP)<<32)
	}
	at := pointOf(p)
	t.points.note(p, at)
	t.waiting[t.n] = waitingPacket{hash: h, place: at, dir: d, ref: refOf(p.Frame), copy: is}
	if t.n++; t.n == doubleBatch {
		t.Flush()
	}
}

// Flush looks for the packets that wait, in their order.
func (t *Doubles) Flush() {
	for i := range t.waiting[:t.n] {
		t.touched ^= t.recent[t.waiting[i].hash%doubleSets][0].tag
	}
	for i := range t.waiting[:t.n] {
		t.look(&t.waiting[i])
	}
	t.n = 0
}

// look looks for a packet and notes it.
func (t *Doubles) look(p *waitingPacket) {
	set := &t.recent[p.hash%doubleSets]
	tag := uint32(p.hash>>32) | 1
	now := p.ref.Time
	oldest := &set[0]
	for i := range set {
		r := &set[i]
		if r.tag == tag {
			if gap := now - r.time; gap > doubleWindow || gap < -doubleWindow {
				oldest = r
				break
			}
			t.copies++
			is := p.dir.copied(r, p, &t.points)
			if p.copy != nil {
				*p.copy = is
			}
			return
		}
		if r.tag == 0 || oldest.tag != 0 && r.time < oldest.time {
			oldest = r
		}
	}
	*oldest = recentPacket{time: now, tag: tag, place: p.place}
	t.sample.look(p)
}

// copied counts p, which is the same packet as r, and says what it is.
func (d *direction) copied(r *recentPacket, p *waitingPacket, points *points) copySeen {
	earlier(&d.first, p.ref, d.copies > 0)
	d.copies++
	at, before := r.place&^placeCopies, r.place&placeCopies
	if p.place != at {
		d.apart++
		d.differ |= points.difference(p.place, at)
	}
	d.seen[before]++
	if before < maxSeen-2 {
		r.place++
	}
	return copySeen{dir: d, apart: p.place != at, nth: uint8(before) + 2}
}

// maxSeen is up to which time a packet is there they are told apart.
// placeCopies are the bits of recentPacket.place that count its copies.
const (
	maxSeen     = 17
	placeCopies = 1<<4 - 1
)

// direction finds a direction's counters, or a place for them; nil if there is
// none.
func (t *Doubles) direction(p *decode.Packet, h uint64, hasID bool) *direction {
	if hasID {
		h++
	}
	for i := range uint64(directionProbes) {
		d := &t.directions[(h+i)%maxDirections]
		if d.packets == 0 {
			d.src, d.dst, d.kind, d.hasID = p.Src, p.Dst, p.AddrKind, hasID
			return d
		}
		if d.src == p.Src && d.dst == p.Dst && d.kind == p.AddrKind && d.hasID == hasID {
			return d
		}
	}
	return nil
}

// Duplicates is what Doubles found. Copies are the second and later captures
// of a packet.
type Duplicates struct {
	// Capture counts copies that the capture made: all those of a direction of
	// which nine in ten packets are doubled, and elsewhere those that have an
	// IP ID and were captured at another place (interface, MAC, VLAN or TTL).
	// Without IP IDs nine in ten packets have to have the same number of them,
	// or a multiple: what is there six times where others are three times was
	// sent twice, and has four copies.
	Capture uint64
	// Network counts the other copies with an IP ID. Nobody sent them again:
	// most likely the network doubled them, but a mirror that has every packet
	// twice and loses some of the copies looks the same.
	Network uint64
	// Undecided counts copies without an IP ID that tells them from
	// retransmissions.
	Undecided uint64
	// Unplaced counts packets of directions beyond those that are counted.
	Unplaced uint64
	// Doubled are the directions of which half of the packets or more are
	// there twice by the capture's doing, those with most copies first.
	Doubled []DoubledDirection
	// Partly are other directions of which a notable share is there twice,
	// whoever did it: one packet in a hundred, or one in two where no IP ID
	// tells copies from retransmissions.
	Partly []DoubledDirection
	// Later are copies that were found in a sample of the packets, and not
	// counted, most first.
	Later []LaterCopies
}

// Decided says whether Capture is all that there is: every copy that was found
// is one that the capture made.
func (d *Duplicates) Decided() bool {
	return d.Network == 0 && d.Undecided == 0 && d.Unplaced == 0 && len(d.Later) == 0
}

// DoubledDirection is a direction of which packets are there twice.
type DoubledDirection struct {
	Src, Dst decode.Addr
	AddrKind decode.AddrKind
	Packets  uint64 // copies included
	Copies   uint64 // in Doubled those that the capture made, in Partly all
	// Different are the packets without those that are the same as one before
	// them, and Repeated those among them that are there more than once, most
	// of them Times times.
	Different, Repeated uint64
	Times               int
	// SentAgain are packets that are the same as one before them and no copy of
	// it, by their number: their direction has no IP ID that says so.
	SentAgain uint64
	// Apart are the copies that were captured at another place, and Differ is
	// what differed there, as far as it was remembered.
	Apart  uint64
	Differ Difference
	// UsableID says that IP IDs tell copies from packets that were sent again,
	// and Retransmissions that nothing does.
	UsableID, Retransmissions bool
	First                     record.FrameRef // the first copy
}

// Result is what was found so far.
func (t *Doubles) Result() Duplicates {
	t.Flush()
	r := Duplicates{Unplaced: t.unplaced, Later: t.sample.later()}
	for i := range t.directions {
		t.directions[i].judge(&r)
	}
	for _, rows := range [...][]DoubledDirection{r.Doubled, r.Partly} {
		slices.SortFunc(rows, func(a, b DoubledDirection) int {
			return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Src.Hi, b.Src.Hi), cmp.Compare(a.Src.Lo, b.Src.Lo),
				cmp.Compare(a.Dst.Hi, b.Dst.Hi), cmp.Compare(a.Dst.Lo, b.Dst.Lo), cmp.Compare(b.Packets, a.Packets))
		})
	}
	return r
}

// minDoubled is how many packets a direction must have before a share of them
// says anything.
const minDoubled = 8

// usable says whether the IP IDs tell packets from one another. An ID that is
// the same for half of the different packets, or more, is none.
func (d *direction) usable() bool { return d.hasID && 2*d.changes >= d.packets-d.copies }

// exactly counts the packets that are there k times, of 2 to maxSeen-1.
func (d *direction) exactly(k int) uint64 { return d.seen[k-2] - d.seen[k-1] }

// multiples counts the packets that are there k times, 2k times, and so on.
// Those beyond maxSeen are few, and don't count.
func (d *direction) multiples(k int) (n uint64) {
	for i := k; i < maxSeen; i += k {
		n += d.exactly(i)
	}
	return n
}

// maxTimes is how often a capture can have every packet: a multiple of it has
// to be below maxSeen.
const maxTimes = 8

// times is how often each packet is there by the capture's doing, in a
// direction without usable IDs; 0 where of all different packets fewer than
// share in ten are there that often, or a multiple. Packets that are sent again
// and again are no doubled ones: a quarter has to be there just so often.
func (d *direction) times(share uint64) int {
	different := d.packets - d.copies
	for k := maxTimes; k >= 2; k-- {
		if 10*d.multiples(k) >= share*different && 4*d.exactly(k) >= different {
			return k
		}
	}
	return 0
}

// nearlyAll and half are shares of the packets, in tenths.
const (
	nearlyAll = 9
	half      = 5
)

// made is times of nearly all packets, and 0 where IDs tell copies from what
// was sent again.
func (d *direction) made() int {
	if d.usable() {
		return 0
	}
	return d.times(nearlyAll)
}

// mostly is how often most of the packets are there that are there repeatedly.
func (d *direction) mostly() int {
	k := 2
	for i := 3; i < maxSeen; i++ {
		if d.exactly(i) > d.exactly(k) {
			k = i
		}
	}
	return k
}

// madeCopies is how many copies the capture made that has each packet k times:
// all but the first, the one after k, and so on.
func (d *direction) madeCopies(k int) (n uint64) {
	for i, seen := range d.seen[:maxSeen-2] {
		if (i+1)%k != 0 {
			n += seen
		}
	}
	more := d.seen[maxSeen-2]
	return n + more - more/uint64(k)
}

func (d *direction) judge(r *Duplicates) {
	if d.copies == 0 {
		return
	}
	different, repeated := d.packets-d.copies, d.seen[0]
	usable := d.usable()
	enough := different >= minDoubled
	row := DoubledDirection{
		Src: d.src, Dst: d.dst, AddrKind: d.kind, Packets: d.packets, Copies: d.copies, Apart: d.apart, Differ: d.differ,
		Different: different, Repeated: repeated, Times: d.mostly(), UsableID: usable, First: d.first,
	}
	if !usable {
		k := d.times(nearlyAll)
		switch {
		case enough && k > 0:
			row.Times, row.Copies = k, d.madeCopies(k)
			row.Apart = min(row.Apart, row.Copies)
			row.SentAgain = d.copies - row.Copies
			r.Capture += row.Copies
			r.Doubled = append(r.Doubled, row)
			return
		case enough && d.times(half) > 0:
			row.Retransmissions = true
			r.Partly = append(r.Partly, row)
		}
		r.Undecided += d.copies
		return
	}
	if enough && 10*repeated >= nearlyAll*different {
		r.Capture += d.copies
		r.Doubled = append(r.Doubled, row)
		return
	}
	r.Capture += d.apart
	r.Network += d.copies - d.apart
	switch {
	case enough && 2*d.apart >= different:
		row.Copies = d.apart
		r.Doubled = append(r.Doubled, row)
	case enough && d.copies >= minDoubled && 100*d.copies >= different:
		r.Partly = append(r.Partly, row)
	}
}
