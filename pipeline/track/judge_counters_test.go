package track_test

import (
	"strconv"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

// judgeCounters compares what hosts' cards should have counted with what they
// would have. Where the tap sees all that a card sees, they are the same.
func judgeCounters(c *complaints, r *pipeline.Result, truth *scenario.Truth) {
	if truth.SessionCount != len(truth.Sessions) {
		return
	}
	cards := make(map[string]*scenario.Counters)
	for _, s := range truth.Sessions {
		if !wholly(truth, s) {
			return
		}
		for side := range 2 {
			me, _ := ends(s, side)
			if cards[me.Addr] == nil {
				cards[me.Addr] = new(scenario.Counters)
			}
			sum(cards[me.Addr], &me.Counters)
		}
	}
	list := hwcounters.Counters()
	for _, h := range hwcounters.Expect(r.Sessions, r.Events) {
		card := cards[h.Addr.IP().Unmap().String()]
		if card == nil {
			c.add("counters of a host that there is not: %v", h.Addr.IP())
			continue
		}
		for id, truth := range map[hwcounters.ID]uint64{
			hwcounters.SequenceNaks: card.PacketSeqErr, hwcounters.Timeouts: card.LocalAckTimeout, hwcounters.ImpliedNaks: card.ImpliedNAKSeqErr,
			hwcounters.RNRNaks: card.RNRNAKRetryErr, hwcounters.OutOfSequence: card.OutOfSequence, hwcounters.Duplicates: card.DuplicateRequest,
			hwcounters.BadICRC: card.ICRCErrors, hwcounters.CEMarked: card.ECNMarked, hwcounters.CNPsSent: card.CNPSent,
			hwcounters.CNPsHandled: card.CNPHandled,
		} {
			found := h.Counts[id]
			if found > truth || !list[id].AtLeast && found < truth {
				c.add("%s of %v: found %d, truth %d", list[id].MLX5, h.Addr.IP(), found, truth)
			}
		}
	}
}

// wholly says whether the tap sees all of a session that its cards see, and
// why they do what they do.
func wholly(truth *scenario.Truth, s *scenario.SessionTruth) bool {
	if truth.Tap.Lost > 0 || truth.Tap.Sample > 0 || truth.Tap.From != 0 || truth.Tap.To != 0 || truth.Tap.Direction != "both" {
		return false
	}
	for _, st := range s.Streams {
		for _, t := range st.Tries {
			if !t.Visible || t.Cause != t.AtTap {
				return false
			}
		}
		for _, l := range st.Drops {
			if l.Kind != "request" {
				return false
			}
		}
		for _, l := range st.Corruptions {
			if l.Where == scenario.AfterTap && l.Kind != "request" {
				return false
			}
		}
		for _, h := range st.CE {
			if h.Where == scenario.AfterTap {
				return false
			}
		}
	}
	return true
}

func sum(to, n *scenario.Counters) {
	to.OutOfSequence += n.OutOfSequence
	to.DuplicateRequest += n.DuplicateRequest
	to.PacketSeqErr += n.PacketSeqErr
	to.ImpliedNAKSeqErr += n.ImpliedNAKSeqErr
	to.LocalAckTimeout += n.LocalAckTimeout
	to.RNRNAKRetryErr += n.RNRNAKRetryErr
	to.ICRCErrors += n.ICRCErrors
	to.ECNMarked += n.ECNMarked
	to.CNPSent += n.CNPSent
	to.CNPHandled += n.CNPHandled
}
