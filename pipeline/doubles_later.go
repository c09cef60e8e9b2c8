package pipeline

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
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
type sample [sampleSize]sampledPacket

// look notes a packet that is not among the recent ones.
func (t *sample) look(p *waitingPacket) {
	s := &t[p.hash%sampleSize]
	switch {
	case s.hash == p.hash:
		if !s.again {
			s.again, s.second = true, p.ref
		}
	case s.hash == 0 || p.hash < s.hash:
		*s = sampledPacket{hash: p.hash, time: p.ref.Time, dir: p.dir, input: p.ref.Input}
	}
}

// LaterCopies is what a sample of the packets says of copies that come later
// than Doubles looks for them: of one input in another, whose clock is
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
	for i := range t {
		s := &t[i]
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
