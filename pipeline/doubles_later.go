package pipeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// sampleSize is how many packets are remembered for as long as it takes, in
// 64 KiB.
const sampleSize = 1 << 10

// sampledPacket is the packet with the lowest hash of those that fall to its
// place in the sample. hash 0 is a free place.
type sampledPacket struct {
	hash   uint64
	time   int64
	dir    *direction
	input  int32
	again  bool            // it came again
	second record.FrameRef // then, where
}

// sample is a sample of all different packets of the capture, whatever their
// number: it finds copies that come too late, or too many packets later, for
// the table of recent packets. A packet that stays in the sample to the end
// was in it from its first copy on, so none of its copies is missed.
type sample struct {
	packets [sampleSize]sampledPacket
	changes int
	most    uint64 // see look
}

// look notes a packet that is not among the recent ones. It returns a hash that
// is no less than the highest in the sample, so that most packets need not be
// held against the one at their place.
func (t *sample) look(d *direction, same uint64, p *track.Packet) (most uint64) {
	s := &t.packets[same%sampleSize]
	switch {
	case s.hash == same:
		if !s.again {
			s.again, s.second = true, p.Ref()
		}
	case s.hash == 0 || same < s.hash:
		*s = sampledPacket{hash: same, time: p.Time, dir: d, input: p.Input}
		if t.changes%(sampleSize/4) == 0 {
			t.most = t.highest()
		}
		t.changes++
	}
	return t.most
}

// highest is the highest hash, and that of a free place is beyond any.
func (t *sample) highest() (h uint64) {
	for i := range t.packets {
		if h = max(h, t.packets[i].hash-1); h == math.MaxUint64 {
			return h
		}
	}
	return h + 1
}

// merge makes t the sample of the packets of both.
func (t *sample) merge(o *sample) {
	for i := range t.packets {
		s, at := &o.packets[i], &t.packets[i]
		if s.hash != 0 && (at.hash == 0 || s.hash < at.hash) {
			*at = *s
		}
	}
}

// LaterCopies is what a sample of the packets says of copies that come later
// than they are looked for: of one input in another, whose clock is
// another, or of an input in itself.
type LaterCopies struct {
	// From and To are the inputs, the lower number first. They are the same
	// where the copies are in the input that has the packet.
	From, To int32
	Sampled  uint64 // different packets that were looked at
	Again    uint64 // those of them that came again
	// Low and High are the shortest and the longest time from the packet in
	// From to that in To, in nanoseconds.
	Low, High int64
	First     record.FrameRef // the first copy
}

// maxLater bounds the pairs of inputs that are told apart.
const maxLater = 64

// later is all pairs of inputs with packets that come again. IP IDs tell
// copies from retransmissions. Where there is none to go by, packets that come
// again are taken as copies only between two inputs, if half of the packets do
// and all after the same time, as from a clock that is off.
func (t *sample) later() []LaterCopies {
	var withID, without []LaterCopies
	var sampled, sampledWithout uint64
	for i := range t.packets {
		s := &t.packets[i]
		if s.hash == 0 {
			continue
		}
		sampled++
		usable := s.dir.usable()
		if !usable {
			sampledWithout++
		}
		switch {
		case !s.again:
		case usable:
			withID = s.addTo(withID)
		case s.input != s.second.Input:
			without = s.addTo(without)
		}
	}
	for i := range without {
		r := &without[i]
		if r.Again < minDoubled || 2*r.Again < sampledWithout || r.High-r.Low > doubleWindow {
			continue
		}
		if j := slices.IndexFunc(withID, r.samePair); j >= 0 {
			withID[j].add(r)
		} else {
			withID = append(withID, *r)
		}
	}
	for i := range withID {
		withID[i].Sampled = sampled
	}
	slices.SortFunc(withID, func(a, b LaterCopies) int {
		return cmp.Or(cmp.Compare(b.Again, a.Again), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return withID
}

// addTo adds a packet that came again to the pair of inputs that it is of.
func (s *sampledPacket) addTo(all []LaterCopies) []LaterCopies {
	one := LaterCopies{From: s.input, To: s.second.Input, Again: 1, Low: s.second.Time - s.time, First: s.second}
	if one.From > one.To {
		one.From, one.To, one.Low = one.To, one.From, -one.Low
	}
	one.High = one.Low
	if i := slices.IndexFunc(all, one.samePair); i >= 0 {
		all[i].add(&one)
	} else if len(all) < maxLater {
		all = append(all, one)
	}
	return all
}

func (r *LaterCopies) samePair(o LaterCopies) bool { return r.From == o.From && r.To == o.To }

func (r *LaterCopies) add(o *LaterCopies) {
	earlier(&r.First, o.First, true)
	r.Again += o.Again
	r.Low, r.High = min(r.Low, o.Low), max(r.High, o.High)
}
