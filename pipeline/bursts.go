package pipeline

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
)

// burstWidths are the lengths of the windows, in ns, in which the peaks of what
// goes to a receiver are looked for. Windows begin at whole multiples of their
// length since the epoch, so that a burst may be cut in two by a window's end:
// a peak is at least half of the burst's own.
var burstWidths = [...]int64{10_000, 100_000, 1_000_000}

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

// maxReceivers bounds the receivers that are told apart, in some 10 MB: beyond
// it the half of them goes that got least. In a block there is room for as many
// as there are frames in those that are read.
const (
	maxReceivers      = 1 << 14
	maxBlockReceivers = capture.BatchFrames
	receiverSlots     = 2 * maxBlockReceivers
)

// receiverKey is a receiver.
type receiverKey struct {
	addr         decode.Addr
	kind         decode.AddrKind
	vni          uint32
	input, iface int32
}

// window is what came in one.
type window struct {
	start   int64
	bytes   uint64
	packets uint64
	senders uint64 // a bit each, by their digests
}

func (w *window) add(o *window) {
	w.bytes += o.bytes
	w.packets += o.packets
	w.senders |= o.senders
}

// windows are those of one length in which something came, as far as they are
// closed: the first and the last one, which may go on in the blocks before and
// behind, and the peak of those between.
type windows struct {
	first, last, peak window
	n                 uint64
}

// blockReceiver is a receiver in one block. What each packet needs comes first.
type blockReceiver struct {
	receiverKey
	now     window // the last one of the shortest length
	last    int64
	first   int64
	bytes   uint64 // in windows that are closed
	packets uint64
	open    [numWidths - 1]window // the last ones of the other lengths
	runs    [numWidths]windows
}

// bursts are the receivers of a block.
type bursts struct {
	list    []blockReceiver
	leftOut uint64 // packets
	slots   [receiverSlots]uint16
}

func (b *bursts) clear() {
	b.list, b.leftOut = b.list[:0], 0
	clear(b.slots[:])
}

const mixing = 0x9e3779b97f4a7c15

// add takes a packet that was captured at an interface.
func (b *bursts) add(p *track.Packet, iface int32) {
	r := b.find(p, iface)
	if r == nil {
		b.leftOut++
		return
	}
	if p.Time < r.now.start { // it is late, and its window is gone: no peak is made of it
		r.bytes += uint64(p.WireLen)
		r.packets++
		r.first = min(r.first, p.Time)
		return
	}
	if p.Time >= r.now.start+burstWidths[0] {
		r.close(0, &r.now)
		r.now = window{start: p.Time - p.Time%burstWidths[0]}
	}
	r.last = max(r.last, p.Time)
	r.now.bytes += uint64(p.WireLen)
	r.now.packets++
	r.now.senders |= 1 << ((p.Src.Lo ^ p.Src.Hi) * mixing >> 58)
}

// find finds a packet's receiver, nil where there is no room for it.
func (b *bursts) find(p *track.Packet, iface int32) *blockReceiver {
	at := (p.Dst.Lo ^ p.Dst.Hi) * mixing >> (64 - bits.Len(receiverSlots) + 1)
	for ; b.slots[at] != 0; at = (at + 1) % receiverSlots {
		r := &b.list[b.slots[at]-1]
		if r.addr == p.Dst && r.iface == iface && r.input == p.Input && r.vni == p.VNI && r.kind == p.Kind {
			return r
		}
	}
	if len(b.list) == maxBlockReceivers {
		return nil
	}
	b.list = append(b.list, blockReceiver{})
	b.slots[at] = uint16(len(b.list))
	r := &b.list[len(b.list)-1]
	r.receiverKey = receiverKey{p.Dst, p.Kind, p.VNI, p.Input, iface}
	r.first = p.Time
	r.now.start = p.Time - p.Time%burstWidths[0]
	return r
}

// close takes a window of a length for complete, as far as this block goes.
func (r *blockReceiver) close(width int, w *window) {
	run := &r.runs[width]
	if width == 0 {
		r.bytes += w.bytes
		r.packets += w.packets
	}
	switch run.n++; {
	case run.n == 1:
		run.first = *w
	case run.n > 2 && run.last.bytes > run.peak.bytes:
		run.peak = run.last
	}
	run.last = *w
	if width+1 == numWidths {
		return
	}
	next, size := &r.open[width], burstWidths[width+1]
	switch {
	case next.packets == 0:
	case w.start < next.start+size:
		next.add(w)
		return
	default:
		r.close(width+1, next)
	}
	*next = *w
	next.start -= next.start % size
}

// finish closes all windows of the block.
func (b *bursts) finish() {
	for i := range b.list {
		r := &b.list[i]
		r.close(0, &r.now)
		for width := range r.open {
			r.close(width+1, &r.open[width])
		}
	}
}

// receivers are those of all blocks so far.
type receivers struct {
	byKey   map[receiverKey]*receiver
	leftOut uint64
}

type receiver struct {
	Receiver
	last [numWidths]window // may go on in the next block
	peak [numWidths]window
}

// take takes a block, in the order of blocks.
func (t *receivers) take(b *bursts) {
	t.leftOut += b.leftOut
	for i := range b.list {
		x := &b.list[i]
		r := t.byKey[x.receiverKey]
		if r == nil {
			if len(t.byKey) == maxReceivers {
				t.drop()
			}
			if t.byKey == nil {
				t.byKey = make(map[receiverKey]*receiver)
			}
			r = &receiver{Receiver: Receiver{Addr: x.addr, Kind: x.kind, VNI: x.vni, Input: x.input, Interface: x.iface, First: x.first, Last: x.last}}
			t.byKey[x.receiverKey] = r
		}
		r.First, r.Last = min(r.First, x.first), max(r.Last, x.last)
		r.Bytes += x.bytes
		r.Packets += x.packets
		for width := range numWidths {
			r.take(width, &x.runs[width])
		}
	}
}

// drop forgets the half of the receivers that got least.
func (t *receivers) drop() {
	all := make([]*receiver, 0, len(t.byKey))
	for _, r := range t.byKey {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *receiver) int { return a.compare(&b.Receiver) })
	for _, r := range all[len(all)/2:] {
		t.leftOut += r.Packets
		delete(t.byKey, receiverKey{r.Addr, r.Kind, r.VNI, r.Input, r.Interface})
	}
}

func (r *receiver) take(width int, w *windows) {
	p := &r.Peaks[width]
	switch p.Windows += w.n; {
	case p.Windows > w.n && w.first.start < r.last[width].start: // late, as above
	case p.Windows > w.n && w.first.start == r.last[width].start:
		p.Windows--
		r.last[width].add(&w.first)
	default:
		r.peak[width] = most(r.peak[width], r.last[width])
		r.last[width] = w.first
	}
	if w.n > 1 {
		r.peak[width] = most(most(r.peak[width], r.last[width]), w.peak)
		r.last[width] = w.last
	}
}

// most is the window with more bytes, of two with as many the first one.
func most(a, b window) window {
	if b.bytes > a.bytes {
		return b
	}
	return a
}

// result lists the receivers, those with most bytes first.
func (t *receivers) result() []Receiver {
	all := make([]Receiver, 0, len(t.byKey))
	for _, r := range t.byKey {
		for width := range numWidths {
			w := most(r.peak[width], r.last[width])
			p := &r.Peaks[width]
			p.Width, p.Start, p.Bytes, p.Packets, p.Senders = burstWidths[width], w.start, w.bytes, w.packets, bits.OnesCount64(w.senders)
		}
		all = append(all, r.Receiver)
	}
	slices.SortFunc(all, func(a, b Receiver) int { return a.compare(&b) })
	return all
}

// compare puts those with more bytes first.
func (r *Receiver) compare(o *Receiver) int {
	return cmp.Or(cmp.Compare(o.Bytes, r.Bytes), cmp.Compare(r.First, o.First), cmp.Compare(r.Input, o.Input), cmp.Compare(r.Interface, o.Interface),
		cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Addr.Hi, o.Addr.Hi), cmp.Compare(r.Addr.Lo, o.Addr.Lo), cmp.Compare(r.VNI, o.VNI))
}
