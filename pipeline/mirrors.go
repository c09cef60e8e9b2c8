package pipeline

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// maxMirrors is how many mirror sessions are told apart, the first ones.
	maxMirrors = 256
	// maxMirrorGap is how many numbers a mirror may leave out for it to be a
	// loss; beyond, its numbering began anew. A switch that starts again
	// counts from 0, or from any of 2^32 numbers.
	maxMirrorGap = 1 << 16
	// maxMirrorLate is how many numbers late a frame may be that was overtaken
	// on the way, by those that went through other queues.
	maxMirrorLate = 1 << 12
	// maxMirrorHoles is how many gaps wait for late frames.
	maxMirrorHoles = 64
)

// Mirrors are the mirror sessions that number their frames: ERSPAN II and III,
// by the sequence number of GRE.
type Mirrors struct {
	Rows []Mirror // in the order of inputs, addresses and sessions
	// Unplaced counts the frames of sessions beyond those that are told apart.
	Unplaced uint64
}

// Mirror is one mirror session as one input has it, and what the numbers of its
// frames say. They go up by one with each frame that the mirror sends.
type Mirror struct {
	Input    int32
	Src, Dst decode.Addr // the mirror and who it sends to
	Kind     decode.AddrKind
	Version  uint8  // of ERSPAN: 2 or 3
	Hardware uint8  // type III: the part of the switch that numbers
	Session  uint16 // of ERSPAN

	Frames   uint64
	Missing  uint64 // numbers between others that never came
	Gaps     uint64 // in a row each
	Late     uint64 // frames that came behind one with a higher number
	Repeated uint64 // frames with the number of another
	// Restarts is how often the numbering began anew, or so many frames were
	// missing that it looks like it: what was lost there is not in Missing.
	Restarts uint64
	FirstGap record.FrameRef // the frame behind the first gap, valid where Gaps is not 0

	// Known says whether the numbers count frames, so that it is known which
	// are missing. Some switches always send 0, and where several parts of a
	// switch number their own frames there are several counts in one session.
	Known bool
}

// Lost is how many frames of all mirror sessions are missing; known says
// whether any session tells.
func (m *Mirrors) Lost() (frames, missing uint64, known bool) {
	for i := range m.Rows {
		if r := &m.Rows[i]; r.Known {
			frames, missing, known = frames+r.Frames, missing+r.Missing, true
		}
	}
	return frames, missing, known
}

// mirrorKey names a mirror session.
type mirrorKey struct {
	src, dst decode.Addr
	input    int32
	session  uint16
	kind     decode.AddrKind
	version  uint8
	hardware uint8
}

// mirrorRun is frames of one mirror session in a block, one after the other in
// the block and in their numbers.
type mirrorRun struct {
	mirrorKey
	first, n uint32
	ref      record.FrameRef // of the first
}

// mirrorLook is how many runs back the one that a frame belongs to is looked
// for: a capture has a few mirror sessions.
const mirrorLook = 16

// numbered notes the number that a mirror gave a frame.
func (b *block) numbered(p *decode.Packet) {
	e := &p.ERSPAN
	k := mirrorKey{src: e.Src, dst: e.Dst, kind: e.AddrKind, input: p.Frame.Input, session: e.Session, version: e.Version, hardware: e.HardwareID}
	for i := len(b.mirrored) - 1; i >= max(0, len(b.mirrored)-mirrorLook); i-- {
		r := &b.mirrored[i]
		if r.mirrorKey != k {
			continue
		}
		if e.Sequence == r.first+r.n {
			r.n++
			return
		}
		break
	}
	b.mirrored = append(b.mirrored, mirrorRun{mirrorKey: k, first: e.Sequence, n: 1, ref: refOf(p.Frame)})
}

// mirrorCount follows the numbers of all mirror sessions. Blocks come in their
// order.
type mirrorCount struct {
	rows     []*mirrorRow
	unplaced uint64
}

// mirrorRow is a mirror session while its numbers are followed.
type mirrorRow struct {
	key   mirrorKey
	m     Mirror
	begun bool
	next  uint32       // one past the highest number
	holes []mirrorHole // what is missing and may come late, ascending
	isFar bool         // a frame far away came
	far   uint32       // the number behind it

	stray    uint64 // frames far away, with nothing that goes on from them
	advanced uint64 // frames that came right behind the one with the highest number, or a gap
	mixed    uint64 // restarts at numbers that were taken for missing
}

// counts says whether the numbers count frames.
func (r *mirrorRow) counts() bool {
	m := &r.m
	n := m.Frames
	return r.advanced > 0 && r.mixed < 2 && 16*(m.Restarts+r.stray) <= n && 4*m.Late <= n && 8*m.Repeated <= 7*n
}

// mirrorHole are numbers that did not come.
type mirrorHole struct {
	lo, hi uint32
	ref    record.FrameRef // the frame behind it
}

func (h mirrorHole) has(n uint32) bool { return n-h.lo < h.hi-h.lo }

func (c *mirrorCount) take(runs []mirrorRun) {
	for i := range runs {
		r := &runs[i]
		if row := c.row(&r.mirrorKey); row != nil {
			row.take(r)
		} else {
			c.unplaced += uint64(r.n)
		}
	}
}

// row is the row of a session, nil where there are too many.
func (c *mirrorCount) row(k *mirrorKey) *mirrorRow {
	for _, r := range c.rows {
		if r.key == *k {
			return r
		}
	}
	if len(c.rows) == maxMirrors {
		return nil
	}
	r := &mirrorRow{key: *k, m: Mirror{Input: k.input, Src: k.src, Dst: k.dst, Kind: k.kind, Version: k.version, Hardware: k.hardware, Session: k.session}}
	c.rows = append(c.rows, r)
	return r
}

// take takes a run. It comes to the same as taking its frames one by one, so
// that it does not matter where blocks end.
func (r *mirrorRow) take(run *mirrorRun) {
	m := &r.m
	m.Frames += uint64(run.n)
	lo, end := run.first, run.first+run.n
	if !r.begun {
		r.begun, r.next = true, end
		r.advanced += uint64(run.n - 1)
		return
	}
	for d := int32(lo - r.next); d > maxMirrorGap || d < -maxMirrorLate; d = int32(lo - r.next) { // a frame far away
		if r.isFar && lo == r.far { // the second there in a row
			r.stray--
			r.restart(lo)
		} else {
			r.isFar, r.far = true, lo+1
			r.stray++
		}
		if lo++; lo == end {
			return
		}
	}
	if d := int32(r.next - lo); d > 0 {
		behind := min(end-lo, uint32(d))
		late := r.fill(lo, lo+behind)
		m.Late += uint64(late)
		m.Repeated += uint64(behind - late)
		if lo += behind; lo == end {
			return
		}
	}
	if lo != r.next {
		r.skip(mirrorHole{lo: r.next, hi: lo, ref: run.ref})
	}
	r.advanced += uint64(end - lo)
	r.next = end
}

// skip notes a hole. The oldest is taken for lost where there are many.
func (r *mirrorRow) skip(h mirrorHole) {
	if len(r.holes) == maxMirrorHoles {
		r.lose(r.holes[0])
		r.holes = append(r.holes[:0], r.holes[1:]...)
	}
	r.holes = append(r.holes, h)
}

func (r *mirrorRow) lose(h mirrorHole) {
	earlier(&r.m.FirstGap, h.ref, r.m.Gaps > 0)
	r.m.Gaps++
	r.m.Missing += uint64(h.hi - h.lo)
}

// fill takes numbers that came late out of the holes, and returns how many were
// in them.
func (r *mirrorRow) fill(lo, hi uint32) (n uint32) {
	for i := 0; i < len(r.holes); i++ {
		h := r.holes[i]
		a, b := lo, hi
		if int32(h.lo-a) > 0 {
			a = h.lo
		}
		if int32(b-h.hi) > 0 {
			b = h.hi
		}
		if int32(b-a) <= 0 {
			continue
		}
		n += b - a
		switch {
		case a == h.lo && b == h.hi:
			r.holes = slices.Delete(r.holes, i, i+1)
			i--
		case a == h.lo:
			r.holes[i].lo = b
		case b == h.hi:
			r.holes[i].hi = a
		default:
			r.holes[i].hi = a
			h.lo = b
			r.holes = slices.Insert(r.holes, i+1, h)
			i++
		}
	}
	return n
}

// restart begins anew at a number. Where that was taken for missing, it was
// not: several counts are mixed up here.
func (r *mirrorRow) restart(at uint32) {
	r.m.Restarts++
	for _, h := range r.holes {
		if h.has(at) {
			r.mixed++
		} else {
			r.lose(h)
		}
	}
	r.holes, r.isFar = r.holes[:0], false
	r.next = at + 1
}

// result is what the numbers say in the end.
func (c *mirrorCount) result() Mirrors {
	out := Mirrors{Unplaced: c.unplaced}
	for _, r := range c.rows {
		for _, h := range r.holes {
			r.lose(h)
		}
		r.holes, r.m.Known = nil, r.counts()
		out.Rows = append(out.Rows, r.m)
	}
	slices.SortFunc(out.Rows, func(a, b Mirror) int {
		return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Src.Hi, b.Src.Hi), cmp.Compare(a.Src.Lo, b.Src.Lo), cmp.Compare(a.Dst.Hi, b.Dst.Hi),
			cmp.Compare(a.Dst.Lo, b.Dst.Lo), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Hardware, b.Hardware))
	})
	return out
}
