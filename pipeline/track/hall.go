package track

// hall is where the packets of a new flow wait until its peer is found, so
// that they can be followed with all that is known then.
type hall struct {
	f       *flow
	packets line
	n       uint8 // of packets
	closed  bool  // it does not wait any more; candidates are still counted
	open    bool  // window is valid
	early   early
	begun   int64
	window  span   // of request PSNs seen
	answers uint32 // distinct ones that some candidate could have drawn
	last    uint32 // PSN of the newest answer
	cands   []candidate
	wooers  []*flow // flows of which this is a candidate

	// Among the flows of the group without a peer, and what finds it there.
	next, prev *hall
	atPort     int32
	blocks     *[maxBlocks]inBlock // nil where it is in none
}

// inBlock says where a flow is found by a block of PSNs; at is 0 where it is
// not.
type inBlock struct {
	at    int32
	block uint32
}

// newHall is an empty hall for f, one that was used before if there is one.
func (t *Tracker) newHall(f *flow) *hall {
	var h *hall
	if n := len(t.halls); n > 0 {
		h = t.halls[n-1]
		t.halls = t.halls[:n-1]
	} else {
		h = t.slabs.halls.get()
	}
	h.f = f
	return h
}

// spareHalls is how many halls are kept for those who come, and spareCandidates
// for how many candidates at most each of them has room.
const (
	spareHalls      = 1 << 8
	spareCandidates = 8
)

// spare keeps a hall that nobody is in any more.
func (t *Tracker) spare(h *hall) {
	if h == nil || len(t.halls) >= spareHalls {
		return
	}
	cands, wooers := h.cands[:0], h.wooers[:0]
	clear(h.cands)
	clear(h.wooers)
	if cap(cands) > spareCandidates || cap(wooers) > spareCandidates {
		cands, wooers = nil, nil
	}
	*h = hall{cands: cands, wooers: wooers}
	t.halls = append(t.halls, h)
}

// waiting are the packets in all halls of a tracker. Places are used again, and
// have no pointers, so that a million packets that wait are nothing to the garbage
// collector.
type waiting struct {
	chunks []*[heldChunk]held
	used   int32 // places that were in use once
	free   int32 // the first of those that are free, 0 without one
	n      int   // packets
	taken  int   // places, of packets that were just taken out too
}

// held is a packet that waits.
type held struct {
	p    Packet
	seq  uint64
	next int32 // in its line, or among the free places
}

// heldChunk is how many places are made at once, in some 8 KB.
const heldChunk = 60

// line is a list of packets that wait, by their places; 0 is none.
type line struct{ first, last int32 }

func (w *waiting) at(place int32) *held {
	i := uint32(place - 1)
	return &w.chunks[i/heldChunk][i%heldChunk]
}

// add lets a packet wait in a hall.
func (w *waiting) add(h *hall, seq uint64, p *Packet) {
	place := w.free
	if place != 0 {
		w.free = w.at(place).next
	} else {
		if w.used == int32(len(w.chunks)*heldChunk) {
			w.chunks = append(w.chunks, new([heldChunk]held))
		}
		w.used++
		place = w.used
	}
	*w.at(place) = held{p: *p, seq: seq}
	if h.packets.first == 0 {
		h.packets.first = place
	} else {
		w.at(h.packets.last).next = place
	}
	h.packets.last = place
	h.n++
	w.n++
	w.taken++
}

// of takes all packets out of a hall, if there is one. They are in memory until
// each is dropped.
func (w *waiting) of(h *hall) line {
	if h == nil {
		return line{}
	}
	list := h.packets
	w.n -= int(h.n)
	h.packets, h.n = line{}, 0
	return list
}

// drop gives the place of the first packet of a line to others. Where nothing else
// waits, all memory but for a chunk goes.
func (w *waiting) drop(list *line) {
	place := list.first
	at := w.at(place)
	list.first = at.next
	at.next, w.free = w.free, place
	if w.taken--; w.taken == 0 && len(w.chunks) > 1 {
		clear(w.chunks[1:])
		*w = waiting{chunks: w.chunks[:1]}
	}
}
