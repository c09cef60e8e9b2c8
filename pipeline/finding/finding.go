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

// rules are all rules. Among findings of one severity theirs is the order, so
// first comes what the reader must know before believing the rest.
var rules = [...]rule{
	inputDamaged,
	noRoCE,
	sampledCapture,
	retryExhausted,
	rnrExhausted,
	retryingAtEnd,
	remoteError,
	pauseDeadlock,
	pfcStorm,
	icrcBad,
	icrcNotComputed,
	vcrcBad,
	lostBeforeTap,
	lostAfterTap,
	goBackN,
	ackTimeout,
	answerLate,
	rnrStall,
	answerLost,
	missing,
	silence,
	refused,
	unansweredConnect,
	unanswered,
	protocolError,
	pauseTree,
	pauseTime,
	pauseIgnored,
	pauseZeroMAC,
	pauseVictims,
	incast,
	microbursts,
	gidUnroutable,
	pkeyMismatch,
	cmTimeouts,
	dscpDrift,
	cnpClass,
	captureDrops,
	mirrorGaps,
	mirroredTwice,
	copiesApart,
	partlyDoubled,
	rocePort,
	malformed,
	unknownLinkType,
	unknownInner,
	icmpError,
	headersCut,
	truncated,
	truncatedByMirror,
	selectiveRepeat,
	reordering,
	captureLoss,
	undecided,
	oneSided,
	unpaired,
	cnpMarked,
	congested,
	ecnNoReaction,
	cnpIgnored,
	cnpWithoutCE,
	notECT,
	mixedMTU,
	ecmpPolarized,
	migReqDiffers,
	pauseSpeedUnknown,
	cnpReserved,
}

// sessionRules are those of them that speak of sessions one by one.
var sessionRules = [...]rule{
	sampledCapture, retryExhausted, rnrExhausted, retryingAtEnd, remoteError, lostBeforeTap, lostAfterTap, goBackN, ackTimeout, answerLate, rnrStall, answerLost, missing,
	silence, refused, unansweredConnect, unanswered, protocolError, selectiveRepeat, reordering, captureLoss, undecided, oneSided, unpaired,
	cnpMarked, congested, ecnNoReaction, cnpIgnored, cnpWithoutCE,
	gidUnroutable, pkeyMismatch, cmTimeouts, dscpDrift, cnpClass, migReqDiffers, headersCut,
}

// Find is all findings, the worst first, in an order that depends on f alone.
func Find(f *Facts) []record.Finding { return find(f, rules[:]) }

// OfSession is what there is to say of one session alone, the worst first. The
// signs may be those of other sessions too, which tell why it stood still.
func OfSession(s *record.Session, signs []record.Event) []record.Finding {
	return find(&Facts{alone: true, Result: &pipeline.Result{Sessions: record.SessionsOf(*s), Signs: signs}}, sessionRules[:])
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
