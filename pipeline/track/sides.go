package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// way is from one address to another.
type way struct {
	src, dst decode.Addr
	vni      uint32
	kind     decode.AddrKind
}

// back is what the capture has of what should come back to a flow's sender.
type back uint8

const (
	backSeen    back = iota // it would be seen, if there was any
	backMissing             // no packet at all comes back between the two addresses
	backUnsure              // there are answers that may be for this flow
)

// lookBack finds what comes back to flows that were not paired. Where both QPs
// are of one address, nothing tells the two sides apart, and they count as one.
func (t *Tracker) lookBack() {
	var seen map[way]back
	for _, f := range t.all {
		if !f.lonely() {
			continue
		}
		if seen == nil {
			seen = t.ways()
		}
		var ok bool
		if f.life.back, ok = seen[way{f.dst, f.src, f.vni, f.kind}]; !ok {
			f.life.back = backMissing
		}
	}
}

// way is the way that f's packets go.
func (f *flow) way() way { return way{f.src, f.dst, f.vni, f.kind} }

// ways are the directions that any packet took: backUnsure where there are
// answers that were not paired.
func (t *Tracker) ways() map[way]back {
	seen := make(map[way]back)
	for _, f := range t.all {
		if f.src == f.dst {
			continue
		}
		w := f.way()
		answers := f.lonely() && (f.acks > 0 || !f.requests)
		switch before, ok := seen[w]; {
		case answers:
			seen[w] = backUnsure
		case !ok:
			seen[w] = before
		}
	}
	return seen
}

// lonely says whether something should come back to f's sender, and nothing
// was found that does.
func (f *flow) lonely() bool {
	if f.peer != nil || f.ud || f.service == record.UC || f.service == record.ServiceUnknown {
		return false
	}
	cm := f.life.cm()
	return cm == nil || cm.Replied == 0 // a REP comes back
}
