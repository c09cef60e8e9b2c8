package track

import "math/bits"

// door is where flows wait that were seen once, while memory is scarce: who sends
// one packet to each of a million QPNs gets no further, and what is followed stays.
// A flow is admitted at its second packet, and its first one is followed then too.
type door struct {
	size   int   // places
	from   int64 // with so many flows memory is scarce
	guests []guest
}

// guest is the first packet of a flow. Without a hash the place is free.
type guest struct{ p Packet }

const (
	// guestShare is which part of MaxMemory a tracker's door has: of 64 trackers
	// all have a sixteenth together.
	guestShare = 1 << 10
	guestBytes = 128
	minGuests  = 1 << 6
	maxGuests  = 1 << 12
	// guestSet is how many places a flow may have: the oldest guest leaves.
	guestSet = 4
	// guestTime is within which time a second packet has to come, in nanoseconds.
	guestTime = 10_000_000_000
)

func newDoor(cfg *Config) *door {
	if !cfg.Admission || cfg.MaxMemory == 0 {
		return nil
	}
	n := uint64(min(max(cfg.MaxMemory/guestShare/guestBytes, minGuests), maxGuests))
	return &door{size: 1 << (bits.Len64(n) - 1), from: easy(cfg.flows())}
}

// admit is a new flow for p, nil where it has to show itself first. A flow that
// connection management has announced need not.
func (t *Tracker) admit(p *Packet) *flow {
	d := t.door
	if d == nil || t.live < min(d.from, t.most) || t.conns[p.lifeKey()] != nil {
		return t.newFlow(p)
	}
	g := d.meet(p)
	switch {
	case p.Copy != NoCopy: // of the packet that waits, or of one that left
		t.Refused++
		return nil
	case g.p.hash == p.hash && g.p.sameFlow(p) && between(g.p.Time, p.Time) <= guestTime:
	default:
		if g.p.hash != 0 {
			t.Refused++
		}
		g.p = *p
		return nil
	}
	first := g.p
	*g = guest{}
	t.take(t.newFlow(&first), &first)
	if f := t.flows.find(p); f != nil {
		return f
	}
	return t.newFlow(p)
}

// meet is the place of the guest that is of p's flow, or else the one that p may
// have.
func (d *door) meet(p *Packet) *guest {
	if d.guests == nil {
		d.guests = make([]guest, d.size)
	}
	set := d.guests[int(p.hash>>32)%(d.size/guestSet)*guestSet:][:guestSet]
	at := &set[0]
	for i := range set {
		g := &set[i]
		switch {
		case g.p.hash == p.hash && g.p.sameFlow(p):
			return g
		case at.p.hash != 0 && (g.p.hash == 0 || g.p.Time < at.p.Time):
			at = g
		}
	}
	return at
}

// sameFlow says whether both packets are of one flow.
func (t *Packet) sameFlow(p *Packet) bool {
	const flags = hasVNI | hasDETH
	return t.DestQP == p.DestQP && t.Src == p.Src && t.Dst == p.Dst && t.VNI == p.VNI && t.Kind == p.Kind &&
		t.Version == p.Version && t.flags&flags == p.flags&flags && t.SrcQP == p.SrcQP
}

// lifeKey is that of the packet's flow, as far as connection management says.
func (t *Packet) lifeKey() lifeKey {
	return lifeKey{src: t.Src, dst: t.Dst, qpn: t.DestQP, vni: t.VNI, kind: t.Kind}
}

// close counts those that wait and come no further.
func (d *door) close() (refused uint64) {
	if d == nil {
		return 0
	}
	for i := range d.guests {
		if d.guests[i].p.hash != 0 {
			refused++
		}
	}
	d.guests = nil
	return refused
}

// easy is how many flows are followed whatever they are, of so many that there may
// be.
func easy(most int64) int64 { return most * 5 / 8 }

// share says what is left, of what all trackers may have, for flows that need not
// show themselves.
func (d *door) share(has, all, most int64) {
	if d != nil {
		d.from = has + max(0, easy(most)-all)
	}
}

// heard is when something was heard of f's session, as far as it counts for
// staying: a flow that had but one packet goes before those that had more.
func (t *Tracker) heard(f *flow) int64 {
	at := t.since(f.heard())
	if t.door != nil && !f.gone && f.peer == nil && f.packets <= 1 && (f.hall == nil || f.hall.n <= 1) {
		at -= guestTime
	}
	return at
}
