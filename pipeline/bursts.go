package pipeline

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
)

// burstWidths are the lengths of the windows, in ns, in which the peaks of what
// goes to a receiver are looked for. Windows begin at whole multiples of their
// length since the epoch, so that a burst may be cut in two by a window's end:
// a peak is at least half of the burst's own.
var burstWidths = [...]int64{shortest, 100_000, 1_000_000}

const shortest = 10_000

const numWidths = len(burstWidths)

// Peak is the window with most bytes, of one length.
type Peak struct {
	Width   int64 // ns
	Start   int64 // ns
	Bytes   uint64
	Packets uint64
	// Senders is how many addresses sent in it, at least: of two with the same
	// digest (one in 64) one is counted.
	Senders int
	// Windows is in how many there was traffic at all.
	Windows uint64
}

// Receiver is the RoCE traffic to one address at one interface.
type Receiver struct {
	Addr             decode.Addr
	Kind             decode.AddrKind
	VNI              uint32
	Input, Interface int32
	Packets, Bytes   uint64 // on the wire, copies included
	First, Last      int64  // ns
	Peaks            [numWidths]Peak
}

// Rate is in bits a second.
func (p *Peak) Rate() float64 { return 8e9 * float64(p.Bytes) / float64(p.Width) }

// MeanRate is the rate while there is traffic, in bits a second: of the
// longest windows those without any are left out.
func (r *Receiver) MeanRate() float64 {
	longest := &r.Peaks[numWidths-1]
	return 8e9 * float64(r.Bytes) / float64(longest.Width) / float64(max(longest.Windows, 1))
}

// maxReceivers bounds the receivers that are told apart, in some 5 MB: beyond
// it the half of them goes that got least.
const maxReceivers = 1 << 14

// window is what came in one.
type window struct {
	start   int64
	bytes   uint64
	packets uint64
	senders uint64 // a bit each, by their digests
}

// windows are those of one length that are over.
type windows struct {
	n    uint64
	peak window
}

func (w *windows) add(o *window) {
	w.n++
	if o.bytes > w.peak.bytes { // of two with as many the first one
		w.peak = *o
	}
}

// receivers are those of all blocks so far. What each packet needs of one, what the
// end of a shortest window needs, and what is seldom needed are apart: the first two
// are as long as a line of the processor's cache.
type receivers struct {
	slots   []uint16 // 1 + the index of a receiver, by the hash of its address
	shift   uint8    // from a hash to a slot
	now     []current
	recent  []recent
	rest    []receiver
	of      []uint16 // 1 + the index of a receiver, by the leg of the block at hand
	leftOut uint64   // packets to receivers that are forgotten
}

// current is who a receiver is, and its last window of the shortest length.
type current struct {
	addr    decode.Addr
	place   uint64
	network uint32
	packets uint32
	start   int64
	last    int64
	bytes   uint64
	senders uint64
}

// recent are the shortest windows that are over, and the last one of the next
// length, which they are part of.
type recent struct {
	n                    uint32
	packets, peakPackets uint32
	start, peakStart     int64
	bytes, peakBytes     uint64
	senders, peakSenders uint64
}

// receiver is the rest of one, without the windows that are not over.
type receiver struct {
	first   int64
	bytes   uint64
	packets uint64
	shorter uint64                 // shortest windows before those that recent counts
	last    window                 // of the longest length
	over    [numWidths - 1]windows // of all but the shortest length
}

// place is where it was captured in one word, network the VNI, which has 24
// bits, and the kind of address in another: little to compare.
func placeWord(input, iface int32) uint64                 { return uint64(uint32(input))<<32 | uint64(uint32(iface)) }
func networkWord(vni uint32, kind decode.AddrKind) uint32 { return vni<<8 | uint32(kind) }

// take takes a block, in the order of blocks.
func (t *receivers) take(b *block) {
	t.of = slices.Grow(t.of[:0], len(b.legs))[:len(b.legs)]
	clear(t.of)
	for i := range b.items {
		it := &b.items[i]
		p := &it.Packet
		n := int(t.of[it.leg]) - 1
		if uint(n) >= uint(len(t.now)) {
			n = t.find(p)
			t.of[it.leg] = uint16(n + 1)
		}
		c := &t.now[n]
		if since := p.Time - c.start; uint64(since) >= shortest && !t.turn(n, p, since) {
			continue
		}
		c.last = max(c.last, p.Time)
		c.bytes += uint64(p.WireLen)
		c.packets++
		c.senders |= 1 << (hash(p.Src) >> 58)
	}
}

// hash spreads addresses: its upper bits are good.
func hash(a decode.Addr) uint64 { return (a.Lo ^ a.Hi) * 0x9e3779b97f4a7c15 }

// find is the index of a packet's receiver, which it enters if need be.
func (t *receivers) find(p *track.Packet) int {
	if len(t.slots) == 0 {
		t.rebuild(leastSlots)
	}
	place, network := placeWord(p.Input, p.Interface), networkWord(p.VNI, p.Kind)
	for at := hash(p.Dst) >> t.shift; ; at = (at + 1) % uint64(len(t.slots)) {
		i := int(t.slots[at]) - 1
		if i < 0 {
			return t.enter(p, place, network)
		}
		if c := &t.now[i]; c.addr == p.Dst && c.place == place && c.network == network {
			return i
		}
	}
}

const leastSlots = 1 << 8

// enter adds a receiver.
func (t *receivers) enter(p *track.Packet, place uint64, network uint32) int {
	if len(t.now) == maxReceivers {
		t.drop()
		clear(t.of)
	}
	t.now = append(t.now, current{addr: p.Dst, place: place, network: network, start: p.Time - p.Time%shortest, last: p.Time})
	t.recent = append(t.recent, recent{start: p.Time - p.Time%burstWidths[1]})
	t.rest = append(t.rest, receiver{first: p.Time, last: window{start: p.Time - p.Time%burstWidths[2]}})
	if 2*len(t.now) > len(t.slots) {
		t.rebuild(2 * len(t.slots))
	} else {
		t.slot(len(t.now) - 1)
	}
	return len(t.now) - 1
}

// rebuild makes so many slots, a power of two.
func (t *receivers) rebuild(slots int) {
	if slots == len(t.slots) {
		clear(t.slots)
	} else {
		t.slots = make([]uint16, slots)
		t.shift = uint8(64 - bits.TrailingZeros(uint(slots)))
	}
	for i := range t.now {
		t.slot(i)
	}
}

// slot gives a receiver the next slot that is free.
func (t *receivers) slot(i int) {
	at := hash(t.now[i].addr) >> t.shift
	for t.slots[at] != 0 {
		at = (at + 1) % uint64(len(t.slots))
	}
	t.slots[at] = uint16(i + 1)
}

// turn begins the window of a packet that is not in the last one of receiver i. It
// returns false for one that is late: its window is gone, and no peak is made of it.
//
//go:noinline
func (t *receivers) turn(i int, p *track.Packet, since int64) bool {
	if since < 0 {
		r := &t.rest[i]
		r.bytes += uint64(p.WireLen)
		r.packets++
		r.first = min(r.first, p.Time)
		return false
	}
	c := &t.now[i]
	t.end(i)
	c.start += since - since%shortest
	c.bytes, c.packets, c.senders = 0, 0, 0
	return true
}

// end ends the shortest window of a receiver, and the longer ones that do not reach
// as far. Windows are copied in parts: to read as a whole what was just written in
// parts makes the processor wait.
func (t *receivers) end(i int) {
	c, x := &t.now[i], &t.recent[i]
	if c.packets == 0 {
		return
	}
	if c.bytes > x.peakBytes {
		x.peakStart, x.peakBytes, x.peakPackets, x.peakSenders = c.start, c.bytes, c.packets, c.senders
	}
	x.n++
	if c.start-x.start >= burstWidths[1] {
		t.endLonger(i)
		x.start, x.bytes, x.packets, x.senders = c.start-c.start%burstWidths[1], 0, 0, 0
	}
	x.bytes += c.bytes
	x.packets += c.packets
	x.senders |= c.senders
}

// endLonger ends the window of the middle length, and the longest one if that does
// not reach as far.
func (t *receivers) endLonger(i int) {
	x, r := &t.recent[i], &t.rest[i]
	if x.packets == 0 {
		return
	}
	r.shorter += uint64(x.n)
	x.n = 0
	r.bytes += x.bytes
	r.packets += uint64(x.packets)
	r.over[0].add(&window{x.start, x.bytes, uint64(x.packets), x.senders})
	if x.start-r.last.start >= burstWidths[2] {
		r.endLongest()
		r.last = window{start: x.start - x.start%burstWidths[2]}
	}
	r.last.bytes += x.bytes
	r.last.packets += uint64(x.packets)
	r.last.senders |= x.senders
}

func (r *receiver) endLongest() {
	if r.last.packets > 0 {
		r.over[1].add(&r.last)
	}
}

// drop forgets the half of the receivers that got least.
func (t *receivers) drop() {
	order := make([]int, len(t.now))
	all := make([]Receiver, len(t.now))
	for i := range order {
		order[i], all[i] = i, t.receiver(i)
	}
	slices.SortFunc(order, func(a, b int) int { return all[a].compare(&all[b]) })
	for _, i := range order[len(order)/2:] {
		t.leftOut += all[i].Packets
	}
	order = order[:len(order)/2]
	slices.Sort(order)
	for to, from := range order {
		t.now[to], t.recent[to], t.rest[to] = t.now[from], t.recent[from], t.rest[from]
	}
	t.now, t.recent, t.rest = t.now[:len(order)], t.recent[:len(order)], t.rest[:len(order)]
	t.rebuild(len(t.slots))
}

// receiver is what one is when nothing more comes.
func (t *receivers) receiver(i int) Receiver {
	one := receivers{now: []current{t.now[i]}, recent: []recent{t.recent[i]}, rest: []receiver{t.rest[i]}}
	one.end(0)
	one.endLonger(0)
	c, x, r := &one.now[0], &one.recent[0], &one.rest[0]
	r.endLongest()
	shortestOver := windows{r.shorter, window{x.peakStart, x.peakBytes, uint64(x.peakPackets), x.peakSenders}}
	all := Receiver{
		Addr: c.addr, Kind: decode.AddrKind(c.network & 0xff), VNI: c.network >> 8, Input: int32(c.place >> 32), Interface: int32(c.place),
		Packets: r.packets, Bytes: r.bytes, First: r.first, Last: c.last,
	}
	for width, w := range [numWidths]*windows{&shortestOver, &r.over[0], &r.over[1]} {
		all.Peaks[width] = Peak{
			Width: burstWidths[width], Start: w.peak.start, Bytes: w.peak.bytes, Packets: w.peak.packets,
			Senders: bits.OnesCount64(w.peak.senders), Windows: w.n,
		}
	}
	return all
}

// result lists the receivers, those with most bytes first.
func (t *receivers) result() []Receiver {
	all := make([]Receiver, len(t.now))
	for i := range all {
		all[i] = t.receiver(i)
	}
	slices.SortFunc(all, func(a, b Receiver) int { return a.compare(&b) })
	return all
}

// compare puts those with more bytes first.
func (r *Receiver) compare(o *Receiver) int {
	return cmp.Or(cmp.Compare(o.Bytes, r.Bytes), cmp.Compare(r.First, o.First), cmp.Compare(r.Input, o.Input), cmp.Compare(r.Interface, o.Interface),
		cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Addr.Hi, o.Addr.Hi), cmp.Compare(r.Addr.Lo, o.Addr.Lo), cmp.Compare(r.VNI, o.VNI))
}
