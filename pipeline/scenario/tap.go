package scenario

import (
	"github.com/rocelens/rocelens/capture"
)

// tap is what captures: it decides which packets are in the file and numbers
// their frames.
type tap struct {
	s        *simulation
	sink     Sink
	err      error
	buf      []byte
	frames   uint64
	passed   uint64 // frames that it should have captured
	mirrored uint64 // frames that the mirror made, for outer IP IDs
	sequence uint32 // of ERSPAN: counts frames that were lost as well
	requests int
	thinned  map[Thinned]bool
}

func (t *tap) init(s *simulation, sink Sink) {
	t.s, t.sink = s, sink
	t.thinned = make(map[Thinned]bool)
	for _, x := range s.spec.Tap.ThinList {
		t.thinned[x] = true
	}
}

// see is called with each packet that passes.
func (t *tap) see(p *packet) {
	spec := &t.s.spec.Tap
	if spec.Only == AtoB && p.from == 1 || spec.Only == BtoA && p.from == 0 {
		return
	}
	if t.s.now < int64(spec.From) || spec.To > 0 && t.s.now >= int64(spec.To) {
		return
	}
	t.sequence++
	t.passed++
	if t.loses(p) {
		t.s.truth.Tap.Lost++
		p.sess.missed(p)
		return
	}
	t.write(p, false)
	p.frame = t.frames
	p.sess.seen(p)
	if spec.Twice != Once {
		const apart = 300 // ns
		q := *p
		t.s.at(t.s.now+apart, func() {
			t.s.truth.Tap.Copies++
			t.sequence++
			t.write(&q, true)
		})
	}
}

// loses says whether the mirror fails to hand on a packet.
func (t *tap) loses(p *packet) bool {
	spec := &t.s.spec.Tap
	if spec.Sample > 1 && t.passed%uint64(spec.Sample) != 0 {
		return true
	}
	if spec.Thin > 0 && t.s.rng.Float64() < spec.Thin {
		return true
	}
	if p.kind != kindRequest {
		return false
	}
	if t.requests++; spec.ThinReqs > 0 && t.requests%spec.ThinReqs == 0 {
		return true
	}
	return p.nth == 0 && t.thinned[Thinned{p.sess.id, p.stream, int(p.psn)}]
}

// write makes a frame of a packet.
func (t *tap) write(p *packet, second bool) {
	if t.err != nil {
		return
	}
	t.mirrored++
	t.buf = t.s.appendFrame(t.buf[:0], p, second)
	t.frame()
}

// frame writes the frame in the buffer.
func (t *tap) frame() {
	data := t.buf
	if n := t.s.spec.Tap.Snaplen; n > 0 && len(data) > n {
		data = data[:n]
	}
	t.frames++
	at := stamp(t.s.now)
	truth := t.s.truth
	if truth.Frames = t.frames; t.frames == 1 {
		truth.First = at
	}
	truth.Last = at
	truth.Bytes += uint64(len(t.buf))
	f := capture.Frame{
		Data: data, Time: at, Number: t.frames, OrigLen: uint32(len(t.buf)),
		Link: capture.LinkEthernet, FCSLen: -1,
	}
	if t.err = t.sink.WriteFrame(&f); t.err != nil {
		t.s.halted = true
	}
}
