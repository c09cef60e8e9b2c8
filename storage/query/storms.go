package query

import (
	"context"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Storms asks which ports made others pause for too long, by priority.
type Storms struct {
	Range
	Where
	// All asks for all that paused, storm or not.
	All   bool
	Limit int
}

// Storm is what one sender of pauses did to one priority of a link.
type Storm struct {
	Probe     string `json:"probe"`
	Tap       string `json:"tap"`
	Interface string `json:"interface"`
	SrcMAC    string `json:"src_mac"`
	Type      string `json:"type"`     // pfc, or 802.3x, which stops all
	Priority  uint8  `json:"priority"` // 0 with 802.3x

	// Storms is how many storms began, and those that follow are of the pauses
	// that began.
	Storms    uint64    `json:"storms"`
	Pauses    uint64    `json:"pauses"`
	Frames    uint64    `json:"frames"`
	PausedNS  int64     `json:"paused_ns"`
	StormNS   int64     `json:"storm_ns"` // of PausedNS in storms
	LongestNS int64     `json:"longest_ns"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

// Statement is the SQL of the question.
func (q Storms) Statement(o *schema.Options) (*Statement, error) {
	var b builder
	pauses, events := schema.PauseIntervals().Table, schema.Events().Table // both are sorted by the hour
	b.Table = pauses.Name
	if err := b.during(pauses, q.Range); err != nil {
		return nil, err
	}
	b.place(q.Where)
	having := "\n    HAVING storm_ns > 0"
	if q.All {
		having = ""
	}
	// How many storms there were, only events say. One is of several priorities.
	return b.limited(`SELECT p.*, e.storms AS storms
FROM
(
    SELECT probe, tap, interface, src_mac, type, priority,
        count() AS pauses, sum(frames) AS frames, sum(paused_ns) AS paused_ns, sumIf(s.paused_ns, storm) AS storm_ns, max(s.paused_ns) AS longest_ns,
        min(s.time) AS first, max(s.time) AS last
    FROM `+o.Name(pauses)+` AS s`+b.conditions()+`
    GROUP BY probe, tap, interface, src_mac, type, priority`+having+`
) AS p
LEFT JOIN
(
    SELECT probe, tap, interface, words['src_mac'] AS src_mac, words['type'] AS type,
        toUInt8OrZero(arrayJoin(splitByChar(',', words['priorities']))) AS priority, sum(count) AS storms
    FROM `+o.Name(events)+` AS s`+b.conditions("kind = 'storm'")+`
    GROUP BY probe, tap, interface, src_mac, type, priority
) AS e USING (probe, tap, interface, src_mac, type, priority)
ORDER BY storm_ns DESC, paused_ns DESC, probe, tap, interface, src_mac, type, priority`, q.Limit, defaultLimit)
}

// Storms answers the question.
func (s *Store) Storms(ctx context.Context, q Storms) (*Answer[Storm], error) {
	return answer[Storm](ctx, s, q)
}
