// Package finding draws conclusions from what the pipeline counted, and from
// nothing else: it sees no packet. A conclusion is no guess: what a capture
// can't show, the finding says.
package finding

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Facts is what conclusions are drawn from. Rules only read it.
type Facts struct {
	Inputs []capture.Input // as they are once reading has ended
	*pipeline.Result
	// Only, if it is not nil, is what findings are told of: those on sessions
	// that it has, with the figures of these alone unless sessions are compared
	// with one another, and those on packets of which it has some. All of the
	// capture is looked at for them.
	Only *pipeline.Matching

	// What the rules on sessions look things up in, see prepared.
	byID     map[string]*record.Session // of the sessions that signs name
	notable  []*record.Session          // those that are not plain
	unseen   uint64                     // those among them beyond maxNotable
	behind   behind
	alone    bool // there is one session, and the reader looks at it
	live     bool // see OfWindow
	sampling sampling
	survey   *survey // nil where alone or live
}

// A rule looks for one kind of thing.
type rule func(*Facts) []record.Finding

// scope says where a rule holds beside a whole capture.
type scope uint8

const (
	// ofSession is of rules that speak of sessions one by one.
	ofSession scope = 1 << iota
	// ofWindow is of rules that hold for a time of a capture that goes on, of which
	// only the sessions with trouble are known. The others compare all sessions,
	// need the end, or rest on counters that are there only then.
	ofWindow
	everywhere = ofSession | ofWindow
)

// rules are all rules, each with the code of its findings. Among findings of one
// severity theirs is the order, so first comes what the reader must know before
// believing the rest.
var rules = [...]struct {
	code string
	find rule
	in   scope
}{
	{"input-damaged", inputDamaged, 0},
	{"no-roce", noRoCE, 0},
	{"sampled-capture", sampledCapture, everywhere},
	{"retry-exhausted", retryExhausted, everywhere},
	{"rnr-exhausted", rnrExhausted, everywhere},
	{"retrying-at-end", retryingAtEnd, ofSession},
	{"remote-error", remoteError, everywhere},
	{"pause-deadlock-suspect", pauseDeadlock, 0},
	{"pfc-storm", pfcStorm, ofWindow},
	{"icrc-bad", icrcBad, 0},
	{"icrc-not-computed", icrcNotComputed, 0},
	{"vcrc-bad", vcrcBad, 0},
	{"lost-before-tap", lostBeforeTap, everywhere},
	{"lost-after-tap", lostAfterTap, everywhere},
	{"go-back-n", goBackN, everywhere},
	{"ack-timeout", ackTimeout, everywhere},
	{"answer-late", answerLate, everywhere},
	{"rnr-stall", rnrStall, everywhere},
	{"answer-lost", answerLost, everywhere},
	{"uc-ud-missing", missing, ofSession},
	{"silence", silence, everywhere},
	{"connection-refused", refused, ofSession},
	{"connection-unanswered", unansweredConnect, everywhere},
	{"unanswered", unanswered, ofSession},
	{"protocol-error", protocolError, everywhere},
	{"pause-tree", pauseTree, 0},
	{"pause-time", pauseTime, 0},
	{"pause-ignored", pauseIgnored, 0},
	{"pause-zero-mac", pauseZeroMAC, 0},
	{"pause-victims", pauseVictims, 0},
	{"incast", incast, 0},
	{"microbursts", microbursts, 0},
	{"gid-unroutable", gidUnroutable, ofSession},
	{"pkey-mismatch", pkeyMismatch, ofSession},
	{"cm-timeouts", cmTimeouts, ofSession},
	{"dscp-drift", dscpDrift, ofSession},
	{"cnp-class", cnpClass, ofSession},
	{"capture-drops", captureDrops, ofWindow},
	{"mirror-gaps", mirrorGaps, 0},
	{"mirrored-twice", mirroredTwice, 0},
	{"copies-apart", copiesApart, 0},
	{"partly-doubled", partlyDoubled, 0},
	{"roce-port", rocePort, 0},
	{"malformed", malformed, 0},
	{"unknown-link-type", unknownLinkType, 0},
	{"unknown-inner", unknownInner, 0},
	{"icmp-error", icmpError, 0},
	{"headers-cut", headersCut, ofSession},
	{"truncated", truncated, 0},
	{"truncated-by-mirror", truncatedByMirror, 0},
	{"selective-repeat", selectiveRepeat, everywhere},
	{"reordering", reordering, everywhere},
	{"capture-loss", captureLoss, everywhere},
	{"undecided", undecided, everywhere},
	{"one-sided", oneSided, ofSession},
	{"unpaired", unpaired, ofSession},
	{"cnp-ce-marked", cnpMarked, ofSession},
	{"congested", congested, ofSession},
	{"ecn-no-reaction", ecnNoReaction, ofSession},
	{"cnp-ignored", cnpIgnored, ofSession},
	{"cnp-without-ce", cnpWithoutCE, ofSession},
	{"not-ect", notECT, 0},
	{"mixed-mtu", mixedMTU, 0},
	{"ecmp-polarized", ecmpPolarized, 0},
	{"migreq-differs", migReqDiffers, ofSession},
	{"pause-speed-unknown", pauseSpeedUnknown, 0},
	{"cnp-reserved", cnpReserved, 0},
}

// rulesIn are the rules that hold there.
func rulesIn(where scope) []rule {
	var list []rule
	for i := range rules {
		if rules[i].in&where == where {
			list = append(list, rules[i].find)
		}
	}
	return list
}

// Find is all findings, the worst first, in an order that depends on f alone.
func Find(f *Facts) []record.Finding { return find(f, rulesIn(0)) }

// OfSession is what there is to say of one session alone, the worst first. The
// signs may be those of other sessions too, which tell why it stood still.
func OfSession(s *record.Session, signs []record.Event) []record.Finding {
	return find(&Facts{alone: true, Result: &pipeline.Result{Sessions: record.SessionsOf(*s), Signs: signs}}, rulesIn(ofSession))
}

func find(f *Facts, rules []rule) []record.Finding {
	var all []record.Finding
	f = f.prepared()
	for _, r := range rules {
		all = append(all, r(f)...)
	}
	all = f.told(all)
	for i := range all {
		if x := &all[i]; f.unseen > 0 && x.Evidence.Get("streams_affected") != nil {
			x.Detail += " " + plural(f.unseen, "more session") + " with something to tell " + isAre(f.unseen, "was", "were") + " not looked at for this."
		}
	}
	if !f.alone && !f.live {
		all = append(all, pfcNotVisible(f, all)...)
	}
	slices.SortStableFunc(all, func(a, b record.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	link(f, all)
	rank(f, all)
	return all
}

// maxListed bounds the lists in a finding (senders, ports, ...): who has more
// of them has one cause, and not that many.
const maxListed = 8

func one(f record.Finding) []record.Finding { return []record.Finding{f} }
