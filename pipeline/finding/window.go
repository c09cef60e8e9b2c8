package finding

import "github.com/rocelens/rocelens/pipeline/record"

// liveRules are the rules that hold for a time of a capture that goes on, of which
// only the sessions with trouble are known, with their codes. The others compare
// all sessions, need the end, or rest on counters that are there only then.
var liveRules = [...]struct {
	code string
	rule rule
}{
	{"sampled-capture", sampledCapture},
	{"retry-exhausted", retryExhausted},
	{"rnr-exhausted", rnrExhausted},
	{"remote-error", remoteError},
	{"pfc-storm", pfcStorm},
	{"lost-before-tap", lostBeforeTap},
	{"lost-after-tap", lostAfterTap},
	{"go-back-n", goBackN},
	{"ack-timeout", ackTimeout},
	{"answer-late", answerLate},
	{"rnr-stall", rnrStall},
	{"answer-lost", answerLost},
	{"silence", silence},
	{"connection-unanswered", unansweredConnect},
	{"protocol-error", protocolError},
	{"capture-drops", captureDrops},
	{"selective-repeat", selectiveRepeat},
	{"reordering", reordering},
	{"capture-loss", captureLoss},
	{"undecided", undecided},
}

// OfWindow is what there is to say of a time of a capture that goes on, the worst
// first. The facts are of that time: sessions with what they did in it, the signs
// and storms of it, and what the inputs lost in it. Sessions without trouble need
// not be among them.
func OfWindow(f *Facts) []record.Finding {
	g := *f
	g.live = true
	rules := make([]rule, len(liveRules))
	for i, r := range liveRules {
		rules[i] = r.rule
	}
	return find(&g, rules)
}

// Live says whether a kind of finding is made while capturing too.
func (c *Code) Live() bool {
	for _, r := range liveRules {
		if r.code == c.Code {
			return true
		}
	}
	return false
}
