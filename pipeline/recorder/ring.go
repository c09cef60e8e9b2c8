package recorder

import (
	"encoding/binary"
	"sync"

	"github.com/rocelens/rocelens/capture"
)

// A ring keeps the last frames in segments, which are filled one after the other
// and then again. Only who fills a segment, and who copies one, has its lock, so
// that nobody waits for longer than that copy takes.
type ring struct {
	span int64 // ns: what is older is not kept if there is no room for more
	most int   // segments
	snap int

	mu       sync.Mutex
	segments []*segment // in the order of their frames
	number   uint64     // of segments that were begun
	latest   int64      // time of the last frames, or that no earlier one comes
}

// segment is some frames, each with a header before it.
type segment struct {
	mu          sync.Mutex
	number      uint64
	buf         []byte // as far as it is filled
	first, last int64  // times of frames
}

const (
	// segmentBytes is small enough to copy in some 20 us.
	segmentBytes = 256 << 10
	headerBytes  = 32
	// maxSnap leaves a segment room for some frames, whatever their size.
	maxSnap = 64 << 10
	// minSegments is one to fill, and some to keep.
	minSegments = 4
)

func newRing(bytes int64, span int64, snap int) *ring {
	if snap <= 0 || snap > maxSnap {
		snap = maxSnap
	}
	return &ring{span: span, most: int(max(bytes/segmentBytes, minSegments)), snap: snap}
}

// take keeps the frames of a batch.
func (r *ring) take(b *capture.Batch) {
	now := b.Now
	if n := len(b.Frames); n > 0 {
		now = max(now, b.Frames[n-1].Time)
	}
	list := b.Frames
	for len(list) > 0 {
		list = list[r.segment(len(list[0].Data), list[0].Time).fill(list, r.snap):]
	}
	if now != 0 { // else no time is known
		r.mu.Lock()
		r.latest = now // a clock can be put back
		r.mu.Unlock()
	}
}

// segment is the one to fill, with room for a frame.
func (r *ring) segment(size int, now int64) *segment {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.segments)
	if n > 0 {
		if s := r.segments[n-1]; len(s.buf)+headerBytes+min(size, r.snap) <= segmentBytes {
			return s
		}
	}
	r.number++
	if n > 1 && (n >= r.most || r.segments[0].last < now-r.span) {
		s := r.segments[0]
		copy(r.segments, r.segments[1:])
		r.segments[n-1] = s
		s.mu.Lock() // of who copies it, not for long
		s.buf, s.number, s.first, s.last = s.buf[:0], r.number, 0, 0
		s.mu.Unlock()
		return s
	}
	s := &segment{buf: make([]byte, 0, segmentBytes), number: r.number}
	r.segments = append(r.segments, s)
	return s
}

// fill keeps as many frames as there is room for, and returns how many.
func (s *segment) fill(list []capture.Frame, snap int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		f := &list[i]
		n := min(len(f.Data), snap)
		at := len(s.buf)
		if at+headerBytes+n > segmentBytes {
			return i
		}
		s.buf = s.buf[:at+headerBytes+n]
		h := s.buf[at:]
		binary.NativeEndian.PutUint64(h, uint64(f.Time))
		binary.NativeEndian.PutUint64(h[8:], f.Number)
		binary.NativeEndian.PutUint32(h[16:], max(f.OrigLen, uint32(len(f.Data))))
		binary.NativeEndian.PutUint32(h[20:], uint32(n))
		binary.NativeEndian.PutUint16(h[24:], uint16(f.Input))
		binary.NativeEndian.PutUint16(h[26:], uint16(f.Interface))
		binary.NativeEndian.PutUint16(h[28:], uint16(f.Link))
		h[30] = uint8(f.FCSLen)
		copy(h[headerBytes:], f.Data[:n])
		if at == 0 {
			s.first = f.Time
		}
		s.last = max(s.last, f.Time)
	}
	return len(list)
}

// next takes the first frame out of what a segment holds.
func next(buf []byte, f *capture.Frame) (rest []byte) {
	n := binary.NativeEndian.Uint32(buf[20:])
	*f = capture.Frame{
		Time: int64(binary.NativeEndian.Uint64(buf)), Number: binary.NativeEndian.Uint64(buf[8:]), OrigLen: binary.NativeEndian.Uint32(buf[16:]),
		Input: int32(binary.NativeEndian.Uint16(buf[24:])), Interface: int32(binary.NativeEndian.Uint16(buf[26:])),
		Link: capture.LinkType(binary.NativeEndian.Uint16(buf[28:])), FCSLen: int8(buf[30]),
		Data: buf[headerBytes : headerBytes+n : headerBytes+n],
	}
	return buf[headerBytes+n:]
}

// since is from when on all frames are kept: 0 while there are all of them.
func (r *ring) since() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.segments) == 0 || r.segments[0].number == 1 {
		return 0
	}
	s := r.segments[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// each calls do with the frames of a time, in their order, until it returns an
// error. A frame is valid until do returns.
func (r *ring) each(from, to int64, do func(*capture.Frame) error) error {
	r.mu.Lock()
	first, last := uint64(1), r.number
	if len(r.segments) > 0 {
		first = r.segments[0].number
	}
	r.mu.Unlock()
	var buf []byte
	var f capture.Frame
	for number := first; number <= last; number++ {
		var times [2]int64
		var ok bool
		if buf, times, ok = r.copy(number, buf); !ok {
			continue // overwritten meanwhile
		}
		if times[0] > to || times[1] < from {
			continue
		}
		for rest := buf; len(rest) > 0; {
			rest = next(rest, &f)
			if f.Time < from || f.Time > to {
				continue
			}
			if err := do(&f); err != nil {
				return err
			}
		}
	}
	return nil
}

// copy copies a segment, if it is still there.
func (r *ring) copy(number uint64, to []byte) (buf []byte, times [2]int64, ok bool) {
	r.mu.Lock()
	var s *segment
	for _, x := range r.segments {
		if x.number == number {
			s = x
		}
	}
	r.mu.Unlock()
	if s == nil {
		return to, times, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.number != number || len(s.buf) == 0 {
		return to, times, false
	}
	return append(to[:0], s.buf...), [2]int64{s.first, s.last}, true
}

// size is how many bytes the ring has, and for how long, in ns, it goes back.
func (r *ring) size() (bytes int64, span int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.segments) == 0 {
		return 0, 0
	}
	s := r.segments[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf) > 0 {
		span = max(r.latest-s.first, 0)
	}
	return int64(len(r.segments)) * segmentBytes, span
}
