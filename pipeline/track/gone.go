package track

// gone is a range that was missing in a pass when the requester went back to
// it or before it, and that is not sent again yet: each packet of it is one
// loss ahead of the tap.
type gone struct {
	span
	// soft says that the pass jumped over it to the maximum. Either the last
	// packets of the pass were lost, or the requester repairs selectively and
	// did not send them: two packets of it in one pass tell.
	soft bool
	open uint32 // packets of a soft one that were sent again and are not counted
	pass uint32 // of the last of them
	sent idRange
}

// idRange is from the IP ID with which a pass began to that with which the next
// one did. Without IDs that rise it says nothing.
type idRange struct {
	from, to uint16
	open     bool // from is not known: it was the first pass
	known    bool
}

// before says whether a packet was sent before the pass, after whether it was
// after it.
func (r idRange) before(id uint16) bool { return r.known && !r.open && int16(id-r.from) < 0 }
func (r idRange) after(id uint16) bool  { return r.known && int16(id-r.to) >= 0 }

// goneList holds them, one for each pass that missed a packet. They may
// overlap.
type goneList []gone

// maxGone bounds them.
const maxGone = 1 << 12

func (l *goneList) add(g gone) {
	if len(*l) < maxGone {
		*l = append(*l, g)
	}
}

// has says whether a PSN is in one that is sure to be lost.
func (l goneList) has(psn uint32) bool {
	for i := range l {
		if g := &l[i]; !g.soft && psnDiff(psn, g.lo) >= 0 && psnDiff(psn, g.hi) < 0 {
			return true
		}
	}
	return false
}

// take takes out the packet [lo, hi), which is sent again in a pass, and
// returns how many losses that makes. It lists them in paid.
func (l *goneList) take(lo, hi, pass uint32, paid *goneList) (lost uint64) {
	if len(*l) == 0 {
		return 0
	}
	alone := false
	for i := 0; i < len(*l); i++ {
		g := &(*l)[i]
		switch had := g.span; {
		case psnDiff(hi, had.lo) <= 0 || psnDiff(had.hi, lo) <= 0:
			continue
		case !g.soft:
			lost++
		case had.len() == 1 && g.open == 0:
			alone = true
		case g.open == 0 && lo == had.lo, g.open > 0 && g.pass != pass:
			g.open++
			g.pass = pass
		default:
			lost += 1 + uint64(g.open)
			g.soft, g.open = false, 0
		}
		if lost > 0 {
			paid.add(gone{span: span{lo, hi}, sent: g.sent})
		}
		i = l.cut(i, lo, hi)
	}
	if alone && lost == 0 {
		lost = 1
	}
	return lost
}

// takeLate takes out the packet [lo, hi), which others overtook. It was not
// lost in the pass that its IP ID says it is of; it makes losses of those that
// are missing since a pass before that, as it is sent again; of those since a
// later pass it says nothing.
func (l *goneList) takeLate(lo, hi, pass uint32, id uint16, paid *goneList) (lost uint64) {
	var mine goneList
	kept := (*l)[:0]
	for _, g := range *l {
		if g.sent.after(id) {
			mine = append(mine, g)
		} else {
			kept = append(kept, g)
		}
	}
	*l = kept
	lost = mine.take(lo, hi, pass, paid)
	l.dropLate(lo, hi, id)
	*l = append(*l, mine...)
	return lost
}

// dropLate takes out the packet [lo, hi), which others overtook, and returns how
// many ranges of its pass had it.
func (l *goneList) dropLate(lo, hi uint32, id uint16) (n uint64) {
	for i := 0; i < len(*l); i++ {
		g := &(*l)[i]
		if psnDiff(hi, g.lo) <= 0 || psnDiff(g.hi, lo) <= 0 || g.sent.before(id) || g.sent.after(id) {
			continue
		}
		n++
		i = l.cut(i, lo, hi)
	}
	return n
}

// cutBelow takes everything below psn out.
func (l *goneList) cutBelow(psn uint32) {
	kept := (*l)[:0]
	for _, g := range *l {
		if psnDiff(g.hi, psn) <= 0 {
			continue
		}
		if psnDiff(g.lo, psn) < 0 {
			g.lo = psn
		}
		kept = append(kept, g)
	}
	*l = kept
}

// drop takes [lo, hi) out: it was not lost. It returns how many of the ranges
// had some of it.
func (l *goneList) drop(lo, hi uint32) (n uint64) {
	for i := 0; i < len(*l); i++ {
		if g := (*l)[i].span; psnDiff(hi, g.lo) <= 0 || psnDiff(g.hi, lo) <= 0 {
			continue
		}
		n++
		i = l.cut(i, lo, hi)
	}
	return n
}

// cut takes [lo, hi) out of the range i, and returns the index of the last
// range that is left of it, i-1 if none is.
func (l *goneList) cut(i int, lo, hi uint32) int {
	g := (*l)[i]
	rest := spans{g.span}
	rest.remove(lo, hi)
	switch len(rest) {
	case 0:
		*l = append((*l)[:i], (*l)[i+1:]...)
		return i - 1
	case 1:
		(*l)[i].span = rest[0]
		return i
	}
	(*l)[i].span = rest[0]
	g.span = rest[1]
	*l = append(*l, gone{})
	copy((*l)[i+2:], (*l)[i+1:])
	(*l)[i+1] = g
	return i + 1
}

// leftOut drops the soft ranges that are acknowledged up to a PSN and were not
// sent again, and says whether there were any: the requester repairs
// selectively.
func (l *goneList) leftOut(upTo uint32) (any bool) {
	kept := (*l)[:0]
	for _, g := range *l {
		if g.soft && psnDiff(g.hi, upTo) <= 0 {
			any = true
			continue
		}
		kept = append(kept, g)
	}
	*l = kept
	return any
}
