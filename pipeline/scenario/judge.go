package scenario

import "slices"

// Places, besides those of a fault.
const (
	placeAnswer  = "answer"
	placeRefused = "refused"
	placeUnknown = "unknown"
)

// judge says of a step back to a PSN what had happened to the packets of the
// pass that it ends.
func (st *stream) judge(t *Try, to uint64, pass int, trigger *packet) {
	answersSeen := st.answersCaptured()
	captured := trigger != nil && trigger.frame != 0
	switch {
	case !answersSeen:
		t.AtTap = causeUnknown
	case captured && t.Cause == causeRead && st.req.gap < to && st.tap.answer <= to:
		t.AtTap = causeTimeout // what it acted on says nothing of the READ that it asks for again
	case captured:
		t.AtTap = t.Cause
	case st.tap.rnrPass == pass+1 && st.tap.rnrPSN == to:
		t.AtTap = causeRNR // the requester never got it
	default:
		t.AtTap = causeTimeout
	}
	var answerBefore bool
	for _, list := range [][]*Loss{st.truth.Drops, st.truth.Corruptions} {
		for _, l := range list {
			if l.Pass != pass || l.psn < to {
				continue
			}
			switch {
			case l.kind == kindAnswer:
				t.LostAnswers++
				if l.Where == BeforeTap && isResponse(l.Op) {
					answerBefore = true
				}
			case l.kind != kindRequest:
			case l.Where == BeforeTap:
				t.LostBefore++
			default:
				t.LostAfter++
			}
		}
	}
	t.PlaceVisible = true
	switch {
	case t.Cause == causeRNR:
		t.Place = placeRefused
	case t.LostBefore > 0:
		t.Place = string(BeforeTap)
		t.edge = st.tap.edge[pass]
	case t.LostAfter > 0:
		t.Place = string(AfterTap)
		if t.AtTap != causeNAK {
			t.hide("no NAK says that what was captured did not arrive")
		}
	case st.lostOnce(to) != "":
		t.Place = string(st.lostOnce(to)) // in an earlier pass, and not sent again since
	case answerBefore:
		t.Place = string(BeforeTap)
		if st.tap.answer <= to {
			t.hide("no later answer was captured before the step back")
		}
	case t.LostAnswers > 0:
		t.Place = placeAnswer
	case st.reordered(pass, min(to, st.req.gap)):
		t.Place, t.Reordered = placeUnknown, true
	case t.Cause == causeTimeout || t.Cause == causeRead:
		t.Place = placeAnswer // late, or overtaken by an ACK of duplicates
	default:
		t.Place = placeUnknown
	}
	if t.Place == placeAnswer && st.tap.answer <= to {
		t.hide("no answer to what was sent again was captured before the step back")
	}
	if t.r < st.tap.base {
		t.hide("the capture began after what was sent again")
	}
	if !answersSeen && t.Place != string(BeforeTap) {
		t.hide("answers were not captured")
	}
}

func (t *Try) hide(why string) { t.PlaceVisible, t.PlaceWhy = false, why }

// isResponse says whether an opcode is a READ's or an atomic's answer.
func isResponse(op uint8) bool {
	oper := op & 0x1f
	return oper >= opReadRespFirst && oper <= opReadRespOnly || oper == opAtomicAck
}

// answersCaptured says whether the tap captures the answers to this stream.
func (st *stream) answersCaptured() bool {
	switch st.sess.s.spec.Tap.Only {
	case AtoB:
		return st.index == 1
	case BtoA:
		return st.index == 0
	}
	return true
}

// reordered says whether a packet from a PSN on was delayed in a pass.
func (st *stream) reordered(pass int, from uint64) bool {
	for _, h := range st.truth.Reorders {
		if h.Pass == pass && h.psn >= from {
			return true
		}
	}
	return false
}

// lostOnce is where a request was lost when it was last lost, if it was.
func (st *stream) lostOnce(psn uint64) Where {
	for _, l := range slices.Backward(st.truth.Drops) {
		if l.kind == kindRequest && l.psn == psn && l.Nth+1 == st.req.nth[psn] {
			return l.Where
		}
	}
	return ""
}
