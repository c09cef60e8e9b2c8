package finding

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// behind are the silences in which another stream waited for its ACK timer: a
// job whose members wait for one another stands still as a whole.
type behind struct {
	events  map[int]bool // which events
	streams map[streamKey]bool
	lasted  int64
}

// wait is the time that a stream spent before a try by timeout.
type wait struct {
	from, to int64
	key      streamKey
}

// mostOf is how much of a silence has to be covered, as a share of four.
const mostOf = 3

// stalled finds them among the events.
func stalled(events []record.Event) behind {
	out := behind{events: make(map[int]bool), streams: make(map[streamKey]bool)}
	var waits []wait
	longest := int64(0)
	for i := range events {
		e := &events[i]
		if d, ok := e.Detail.(*record.Try); ok && d.Cause == record.CauseTimeout && d.Silence >= minSilence {
			waits = append(waits, wait{e.Time - d.Silence, e.Time, streamKey{e.Session, e.Stream}})
			longest = max(longest, d.Silence)
		}
	}
	if len(waits) == 0 {
		return out
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.from, b.from) })
	for i := range events {
		e := &events[i]
		d, ok := e.Detail.(record.Silence)
		if !ok || d.Lasted < minSilence {
			continue
		}
		key := streamKey{e.Session, e.Stream}
		from, to := e.Time-d.Lasted, e.Time
		at, _ := slices.BinarySearchFunc(waits, from-longest, func(w wait, t int64) int { return cmp.Compare(w.from, t) })
		covered, upTo := int64(0), from
		for _, w := range waits[at:] {
			if w.from >= to {
				break
			}
			if lo, hi := max(w.from, upTo), min(w.to, to); w.key != key && lo < hi {
				covered, upTo = covered+hi-lo, hi
			}
		}
		if 4*covered >= mostOf*d.Lasted {
			out.events[i], out.streams[key] = true, true
			out.lasted += d.Lasted
		}
	}
	return out
}
