package finding

import "github.com/rocelens/rocelens/pipeline/record"

// OfWindow is what there is to say of a time of a capture that goes on, the worst
// first. The facts are of that time: sessions with what they did in it, the signs
// and storms of it, and what the inputs lost in it. Sessions without trouble need
// not be among them.
func OfWindow(f *Facts) []record.Finding {
	g := *f
	g.live = true
	return find(&g, rulesIn(ofWindow))
}

// Live says whether a kind of finding is made while capturing too.
func (c *Code) Live() bool {
	for i := range rules {
		if rules[i].code == c.Code {
			return rules[i].in&ofWindow != 0
		}
	}
	return false
}
