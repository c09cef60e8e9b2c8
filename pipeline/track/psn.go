package track

// PSNs are 24 bits wide and compared modulo 2^24 with a half window of 2^23
// (InfiniBand Architecture Specification, volume 1, 9.7.2).
const (
	psnMask    = 1<<24 - 1
	halfWindow = 1 << 23
)

// psnDiff is how far a is ahead of b, negative where it is behind.
func psnDiff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

func psnAdd(a uint32, n uint32) uint32 { return (a + n) & psnMask }

// span is the PSNs from lo to before hi.
type span struct{ lo, hi uint32 }

func (s span) len() uint32 { return (s.hi - s.lo) & psnMask }

func (s span) has(psn uint32) bool { return psnDiff(psn, s.lo) >= 0 && psnDiff(psn, s.hi) < 0 }

// spans are disjoint ranges of PSNs in ascending order, all within half a
// window of one another.
type spans []span

// maxSpans bounds the holes that one stream keeps. The oldest give way.
const maxSpans = 1 << 12

// find is the index of the first span that ends behind psn.
func (s spans) find(psn uint32) int {
	lo, hi := 0, len(s)
	for lo < hi {
		mid := (lo + hi) / 2
		if psnDiff(s[mid].hi, psn) > 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

func (s spans) has(psn uint32) bool {
	i := s.find(psn)
	return i < len(s) && psnDiff(s[i].lo, psn) <= 0
}

// overlap is how many PSNs of [lo, hi) are in s.
func (s spans) overlap(lo, hi uint32) (n uint32) {
	for i := s.find(lo); i < len(s) && psnDiff(s[i].lo, hi) < 0; i++ {
		a, b := s[i].lo, s[i].hi
		if psnDiff(a, lo) < 0 {
			a = lo
		}
		if psnDiff(b, hi) > 0 {
			b = hi
		}
		n += (b - a) & psnMask
	}
	return n
}

// near forgets what is so far behind hi, up to which something is added next, that
// PSNs there could not be told from later ones.
func (s *spans) near(hi uint32) { s.cutBelow((hi - halfWindow + 1) & psnMask) }

// add adds [lo, hi).
func (s *spans) add(lo, hi uint32) {
	if psnDiff(hi, lo) <= 0 {
		return
	}
	t := *s
	i := t.find(lo)
	if i > 0 && t[i-1].hi == lo {
		i--
	}
	j := i
	for j < len(t) && psnDiff(t[j].lo, hi) <= 0 {
		if psnDiff(t[j].lo, lo) < 0 {
			lo = t[j].lo
		}
		if psnDiff(t[j].hi, hi) > 0 {
			hi = t[j].hi
		}
		j++
	}
	switch {
	case j > i:
		t[i] = span{lo, hi}
		t = append(t[:i+1], t[j:]...)
	default:
		if len(t) >= maxSpans {
			copy(t, t[1:])
			t = t[:len(t)-1]
			i = max(i-1, 0)
		}
		t = append(t, span{})
		copy(t[i+1:], t[i:])
		t[i] = span{lo, hi}
	}
	*s = t
}

// remove takes [lo, hi) out, and returns how many PSNs of it were in.
func (s *spans) remove(lo, hi uint32) (n uint32) {
	t := *s
	i := t.find(lo)
	for i < len(t) && psnDiff(t[i].lo, hi) < 0 {
		a, b := t[i].lo, t[i].hi
		left, right := psnDiff(a, lo) < 0, psnDiff(b, hi) > 0
		switch {
		case left && right:
			n += (hi - lo) & psnMask
			t = append(t, span{})
			copy(t[i+1:], t[i:])
			t[i].hi, t[i+1].lo = lo, hi
			i += 2
		case left:
			n += (b - lo) & psnMask
			t[i].hi = lo
			i++
		case right:
			n += (hi - a) & psnMask
			t[i].lo = hi
			i++
		default:
			n += (b - a) & psnMask
			t = append(t[:i], t[i+1:]...)
		}
	}
	*s = t
	return n
}

// cutBelow takes everything below psn out, and returns how many PSNs that was.
func (s *spans) cutBelow(psn uint32) (n uint32) {
	t := *s
	i := 0
	for i < len(t) && psnDiff(t[i].hi, psn) <= 0 {
		n += t[i].len()
		i++
	}
	if i < len(t) && psnDiff(t[i].lo, psn) < 0 {
		n += (psn - t[i].lo) & psnMask
		t[i].lo = psn
	}
	if i > 0 {
		t = append(t[:0], t[i:]...)
	}
	*s = t
	return n
}
