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

// markOneSided finds the flows of which the capture has one side alone: what
// they ask would be answered, and no packet at all comes back between the two
// addresses. Where both QPs are of one address, nothing tells the two sides
// apart, and they count as one.
func (t *Tracker) markOneSided() {
	var seen map[way]bool
	for _, f := range t.all {
		if !f.lonely() {
			continue
		}
		if seen == nil {
			seen = make(map[way]bool)
			for _, g := range t.all {
				if g.src != g.dst {
					seen[way{g.src, g.dst, g.vni, g.kind}] = true
				}
			}
		}
		f.life.oneSided = !seen[way{f.dst, f.src, f.vni, f.kind}]
	}
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
