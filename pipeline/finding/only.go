package finding

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// about says whether findings are told of a session.
func (f *Facts) about(s *record.Session) bool { return f.Only == nil || f.Only.Sessions[s.ID] }

// narrow leaves those sessions to the rules on sessions that findings are told
// of. What the others say of these is known by then.
func (f *Facts) narrow() {
	if f.Only == nil {
		return
	}
	f.notable = slices.DeleteFunc(f.notable, func(s *record.Session) bool { return !f.about(s) })
	for id := range f.byID {
		if !f.Only.Sessions[id] {
			delete(f.byID, id)
		}
	}
}

// onPackets are the findings that rest on packets by themselves: whether there
// are such packets among some.
var onPackets = map[string]func(c *pipeline.Counters) bool{
	"icrc-bad":          func(c *pipeline.Counters) bool { return c.ICRC.Bad > 0 },
	"icrc-not-computed": func(c *pipeline.Counters) bool { return c.ICRC.Bad > 0 },
	"vcrc-bad":          func(c *pipeline.Counters) bool { return c.VCRC.Bad > 0 },
	"malformed":         func(c *pipeline.Counters) bool { return c.Malformed > 0 },
	"roce-port":         func(c *pipeline.Counters) bool { return c.Ports.N > 0 },
	"icmp-error":        func(c *pipeline.Counters) bool { return c.Flag(decode.QuotesRoCE) > 0 },
	"unknown-link-type": func(c *pipeline.Counters) bool { return c.Kind(decode.KindUnknownLink) > 0 },

	"truncated":           flagged(decode.Snapped),
	"truncated-by-mirror": flagged(decode.MirrorCut),
	"unknown-inner":       flagged(decode.UnknownInner),
	"cnp-reserved":        flagged(decode.CNPBodyNotZero),

	"pfc-storm": paused, "pause-deadlock-suspect": paused, "pause-ignored": paused, "pause-speed-unknown": paused, "pause-time": paused, "pause-tree": paused,

	// These are on hosts, whatever packets there are.
	"mixed-mtu": never, "ecmp-polarized": never,
}

func flagged(f decode.Flags) func(c *pipeline.Counters) bool {
	return func(c *pipeline.Counters) bool { return c.Flag(f) > 0 }
}

func paused(c *pipeline.Counters) bool { return c.Kind(decode.KindPFC)+c.Kind(decode.KindPause) > 0 }

func never(*pipeline.Counters) bool { return false }

// told are the findings that are told of.
func (f *Facts) told(all []record.Finding) []record.Finding {
	if f.Only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(x record.Finding) bool {
		if has := onPackets[x.Code]; has != nil {
			return !has(&f.Only.Counters)
		}
		return len(x.Sessions) > 0 && !slices.ContainsFunc(x.Sessions, func(id string) bool { return f.Only.Sessions[id] })
	})
}
