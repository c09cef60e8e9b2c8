package query

import (
	"context"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Totals asks what all flows together did, by run, probe or tap. With a time it
// reads flows, and else sessions.
type Totals struct {
	Range
	Where
	Source Source // of flows
	By     Group
	Limit  int
}

// Total is the sum over the flows of a group.
type Total struct {
	Group string `json:"group"` // as in the question, "" with Ungrouped

	Flows                uint64    `json:"flows"` // with packets; a session has two
	Packets              uint64    `json:"packets"`
	WireBytes            uint64    `json:"wire_bytes"`
	PayloadBytes         uint64    `json:"payload_bytes"`
	GoodputBytes         uint64    `json:"goodput_bytes"`
	MessagesCompleted    uint64    `json:"messages_completed"`
	RetransmittedPackets uint64    `json:"retransmitted_packets"`
	RetransmittedBytes   uint64    `json:"retransmitted_bytes"`
	LostBeforeTap        int64     `json:"lost_before_tap"`
	LostAfterTap         int64     `json:"lost_after_tap"`
	CE                   uint64    `json:"ce"`
	CNPsReceived         uint64    `json:"cnps_received"`
	First                time.Time `json:"first"` // as fine as the table that is read
	Last                 time.Time `json:"last"`
}

// summed are the columns that are sums of the same names in flows, and of both
// sides in sessions.
var summed = [...]string{
	"packets", "wire_bytes", "payload_bytes", "goodput_bytes", "messages_completed",
	"retransmitted_packets", "retransmitted_bytes", "lost_before_tap", "lost_after_tap", "cnps_received",
}

// Statement is the SQL of the question.
func (q Totals) Statement(o *schema.Options) (*Statement, error) {
	var b builder
	key, err := q.By.key()
	if err != nil {
		return nil, err
	}
	bounded := !q.From.IsZero() || !q.To.IsZero()
	if !bounded && (q.By == PerDSCP || q.By == PerPriority) {
		return nil, fmt.Errorf("totals by %v are those of a time: say which", q.By)
	}
	sel := key + " AS group"
	var from string
	if bounded {
		if from, err = b.flows(o, q.Source, q.Range); err != nil {
			return nil, err
		}
		for _, c := range summed {
			sel += ",\n    sum(s." + c + ") AS " + c
		}
		sel += `,
    uniqExactIf((s.probe, s.run, s.tap, s.flow, s.flow_start), s.packets > 0) AS flows, sum(s.ce) AS ce,
    toDateTime64(min(s.time), 9, 'UTC') AS first, toDateTime64(max(s.time), 9, 'UTC') AS last`
	} else {
		t := schema.Sessions().Table
		b.Table = t.Name
		from = o.Name(t) + " AS s FINAL"
		for _, c := range summed {
			sum := "sum(s.a_" + c + " + s.b_" + c + ")"
			if c == "lost_before_tap" || c == "lost_after_tap" {
				sum = "toInt64(" + sum + ")"
			}
			sel += ",\n    " + sum + " AS " + c
		}
		sel += `,
    toUInt64(countIf(s.a_packets > 0) + countIf(s.b_packets > 0)) AS flows, toUInt64(sum(s.a_counters['ce'] + s.b_counters['ce'])) AS ce,
    min(s.first) AS first, max(s.last) AS last`
	}
	b.place(q.Where)
	return b.limited("SELECT "+sel+"\nFROM "+from+b.conditions()+"\nGROUP BY group\nHAVING flows > 0\nORDER BY group", q.Limit, defaultLimit)
}

// Totals answers the question.
func (s *Store) Totals(ctx context.Context, q Totals) (*Answer[Total], error) {
	return answer[Total](ctx, s, q)
}
