package scenario

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/capture"
)

// The points of a line at which packets can be captured: at side a, where the
// tap is, and at side b.
const (
	AtA = iota
	AtTap
	AtB
	numPoints
)

// Point is a place of capture with a clock of its own. The one at the tap
// captures what Spec.Tap says, those at the ends everything, as it is on the
// link.
type Point struct {
	Sink   Sink          // nil captures nothing
	Offset time.Duration // by how much its clock is ahead of the true time
	Drift  float64       // how much faster it runs, parts per million
	// Jitter is by how much time stamps are late, at most, and Resolution what
	// they are cut to.
	Jitter     time.Duration
	Resolution time.Duration
	Thin       float64       // share of the frames that this capture loses
	From, To   time.Duration // true time: nothing before and after; To 0 is no end
	Only       Direction
}

// LineTruth is what happened between the points, as the wire knows it.
type LineTruth struct {
	// Hops are from a to the tap, from there to b, and back: from b to the tap,
	// from there to a.
	Hops [4]HopTruth
	// Missed counts the frames that the capture at each point lost.
	Missed [numPoints]uint64
}

// HopTruth is one part of the way in one direction.
type HopTruth struct {
	From, To   int // points
	Packets    uint64
	Lost       []LostPacket
	Marked     uint64
	Corrupted  uint64
	Duplicated uint64
	// Overtaken counts packets that arrived behind one of the same QP that had
	// left later.
	Overtaken uint64
	Delay     []int64 // of each packet that arrived, copies aside, ns, in the order of arrival
}

// LostPacket is a packet that the wire lost.
type LostPacket struct {
	Op     uint8
	DestQP uint32
	PSN    uint32
	IPID   uint16 // 0 where there is none
	Time   int64  // true time of leaving the point before
	// Repeat says that the PSN was sent before.
	Repeat bool
}

// line is what a simulation with several points has besides.
type line struct {
	s      *simulation
	points [numPoints]*pointTap
	truth  *LineTruth
	last   [4]int64                    // when the packet that came last arrived, where there are queues
	newest map[[2]int]map[uint32]int64 // by hop and way: when the one left that left last, by QP
}

// pointTap writes the frames of one point.
type pointTap struct {
	Point
	at     int
	rng    *rand.Rand
	buf    []byte
	frames uint64
	last   int64
}

// RunPoints simulates a spec and writes what is seen at each of three points.
// The truth of the tap is in frames of its own capture.
func RunPoints(spec *Spec, points [numPoints]Point) (*Truth, *LineTruth, error) {
	l := &line{truth: &LineTruth{}, newest: make(map[[2]int]map[uint32]int64)}
	for i, ends := range [4][2]int{{AtA, AtTap}, {AtTap, AtB}, {AtB, AtTap}, {AtTap, AtA}} {
		l.truth.Hops[i].From, l.truth.Hops[i].To = ends[0], ends[1]
	}
	for i := range points {
		l.points[i] = &pointTap{Point: points[i], at: i, rng: rand.New(rand.NewPCG(spec.Seed, uint64(i)+1))}
	}
	truth, err := runLine(spec, l.points[AtTap], l)
	return truth, l.truth, err
}

// hopOf is which hop a part of a packet's way is.
func hopOf(from int, where Where) int {
	h := 2 * from
	if where == AfterTap {
		h++
	}
	return h
}

// WriteFrame is the tap's sink: it gives frames the time of the point's clock.
func (t *pointTap) WriteFrame(f *capture.Frame, _ ...string) error {
	if t.Sink == nil {
		return nil
	}
	at := f.Time - epoch
	at += int64(t.Offset) + int64(math.Round(float64(at)*t.Drift/1e6))
	if t.Jitter > 0 {
		at += t.rng.Int64N(int64(t.Jitter))
	}
	if t.Resolution > 1 {
		at -= at % int64(t.Resolution)
	}
	if t.frames > 0 {
		at = max(t.last, at)
	}
	t.last = at
	g := *f
	g.Time = epoch + t.last
	t.frames++
	g.Number = t.frames
	return t.Sink.WriteFrame(&g)
}

// captures says whether the point captures a packet that passes now, the tap's
// own rules aside.
func (t *pointTap) captures(l *line, p *packet) bool {
	now := time.Duration(l.s.now)
	if t.Sink == nil || now < t.From || t.To > 0 && now >= t.To || t.Only == AtoB && p.from == 1 || t.Only == BtoA && p.from == 0 {
		return false
	}
	if t.Thin > 0 && t.rng.Float64() < t.Thin {
		l.truth.Missed[t.at]++
		return false
	}
	return true
}

// end is called with each packet that passes an end of the line.
func (l *line) end(at int, p *packet) {
	t := l.points[at]
	if !t.captures(l, p) {
		return
	}
	s := l.s
	ttl := uint8(defaultTTL)
	if at != 2*p.from { // it has come all the way
		ttl -= s.spec.Network.RoutersA + s.spec.Network.RoutersB
	}
	kind := uint16(etherIPv4)
	switch {
	case s.spec.Network.RoCEv1:
		kind = etherRoCE
	case s.spec.Network.IPv6:
		kind = etherIPv6
	}
	b := appendEthernet(t.buf[:0], s.hostOf(p.sess, 1-p.from).mac, s.hostOf(p.sess, p.from).mac, kind)
	b = s.appendPacket(b, p, ttl)
	t.buf = b
	f := capture.Frame{Data: b, Time: stamp(s.now), OrigLen: uint32(len(b)), Link: capture.LinkEthernet, FCSLen: -1}
	if err := t.WriteFrame(&f); err != nil && s.tap.err == nil {
		s.tap.err = err
		s.halted = true
	}
}

// depart notes that a packet leaves on a hop.
func (l *line) depart(p *packet, where Where, left int64) {
	p.left[hopIndex(where)] = left
	l.truth.Hops[hopOf(p.from, where)].Packets++
}

func hopIndex(where Where) int {
	if where == BeforeTap {
		return 0
	}
	return 1
}

// queue is when a packet arrives that waits in the queue of a hop: packets do
// not overtake each other there.
func (l *line) queue(p *packet, where Where, due int64) int64 {
	most := l.s.spec.Network.Queue
	if most == 0 {
		return due
	}
	h := hopOf(p.from, where)
	if l.s.rng.IntN(4) > 0 { // now and then it is empty
		due += int64(l.s.rng.Float64() * l.s.rng.Float64() * float64(most))
	}
	l.last[h] = max(l.last[h]+1, due)
	return l.last[h]
}

// arrived notes that a packet has come to the end of a hop.
func (l *line) arrived(p *packet, where Where) {
	h := hopOf(p.from, where)
	left := p.left[hopIndex(where)]
	t := &l.truth.Hops[h]
	if p.copied {
		return
	}
	t.Delay = append(t.Delay, l.s.now-left)
	by := l.newest[[2]int{h, p.sess.id}]
	if by == nil {
		by = make(map[uint32]int64)
		l.newest[[2]int{h, p.sess.id}] = by
	}
	qp := p.destQP()
	if left < by[qp] {
		t.Overtaken++
	}
	by[qp] = max(by[qp], left)
}

// did notes what the wire did to a packet.
func (l *line) did(p *packet, where Where, a Action) {
	t := &l.truth.Hops[hopOf(p.from, where)]
	switch a {
	case Drop:
		id := p.ipid
		if n := &l.s.spec.Network; n.IPv6 || n.RoCEv1 {
			id = 0
		}
		t.Lost = append(t.Lost, LostPacket{
			Op: p.op, DestQP: p.destQP(), PSN: p.wirePSN(), IPID: id, Time: stamp(p.left[hopIndex(where)]), Repeat: p.nth > 0,
		})
	case MarkCE:
		t.Marked++
	case Corrupt:
		t.Corrupted++
	case Duplicate:
		t.Duplicated++
	}
}
