package pipeline

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Duplicates is what a capture holds twice. Copies are the second and later captures
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

// duplicates is what all shards found.
func duplicates(shards []*doubles) Duplicates {
	var r Duplicates
	var all sample
	for _, t := range shards {
		r.Unplaced += t.unplaced
		all.merge(t.sample)
		for _, s := range t.directions {
			if s.d != nil {
				s.d.judge(&r)
			}
		}
	}
	r.Later = all.later()
	for _, rows := range [...][]DoubledDirection{r.Doubled, r.Partly} {
		slices.SortFunc(rows, func(a, b DoubledDirection) int {
			return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Src.Hi, b.Src.Hi), cmp.Compare(a.Src.Lo, b.Src.Lo),
				cmp.Compare(a.Dst.Hi, b.Dst.Hi), cmp.Compare(a.Dst.Lo, b.Dst.Lo), cmp.Compare(a.AddrKind, b.AddrKind), cmp.Compare(b.Packets, a.Packets))
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
	if enough && nearlyEach(repeated, different) {
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
