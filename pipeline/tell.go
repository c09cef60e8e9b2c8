package pipeline

import "github.com/rocelens/rocelens/pipeline/record"

// pauseSlack is how long frames about pauses, in nanoseconds, may come after
// others that are later: pauses are told so much later.
const pauseSlack = 1e9

// withPauses adds what pauses say of sessions to those that the capture's end
// ended, before the sink has them.
func (e *engine) withPauses(sink func(*record.SessionUpdate)) func(*record.SessionUpdate) {
	if sink == nil {
		return nil
	}
	return func(u *record.SessionUpdate) {
		if e.found != nil && len(e.found.Rows) > 0 {
			e.found.Complete(u.Session)
		}
		sink(u)
	}
}
