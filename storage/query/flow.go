package query

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// FlowSeries asks what one flow did over a time, step by step.
type FlowSeries struct {
	Range
	Where
	Source Source
	Flow   uint64
	// Step is the length of a step, 0 for one that suits the time.
	Step  time.Duration
	Limit int
}

// FlowPoint is what a flow did in one step. Steps in which it did nothing have
// none.
type FlowPoint struct {
	Time time.Time `json:"time"` // when the step begins
	// Taps is how many taps saw the flow in the step. It counts at each of them.
	Taps uint64 `json:"taps"`

	Packets              uint64 `json:"packets"`
	WireBytes            uint64 `json:"wire_bytes"`
	GoodputBytes         uint64 `json:"goodput_bytes"`
	MessagesCompleted    uint64 `json:"messages_completed"`
	Acks                 uint64 `json:"acks"`
	Naks                 uint64 `json:"naks"`
	RNRNaks              uint64 `json:"rnr_naks"`
	RetransmittedPackets uint64 `json:"retransmitted_packets"`
	LostBeforeTap        int64  `json:"lost_before_tap"`
	LostAfterTap         int64  `json:"lost_after_tap"`
	CE                   uint64 `json:"ce"`
	CNPsSent             uint64 `json:"cnps_sent"`
	CNPsReceived         uint64 `json:"cnps_received"`
	PeakBytes            uint64 `json:"peak_bytes"`

	AckLatency Distribution `json:"ack_latency"`
	NPDelay    Distribution `json:"np_delay"`
}

// steps are those that suit people, and enoughSteps as many as a screen can
// show.
var steps = [...]time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}

const enoughSteps = 1500

// step is the step of a question that reads from s.
func (q *FlowSeries) step(s Source) (time.Duration, error) {
	if q.Step != 0 {
		if least := max(s.step(), time.Millisecond); q.Step < least || q.Step%least != 0 {
			return 0, fmt.Errorf("a step of %v: from %v, use multiples of %v", q.Step, s.table().Name, least)
		}
		return q.Step, nil
	}
	for _, d := range steps {
		if d >= s.step() && !q.From.IsZero() && !q.To.IsZero() && q.To.Sub(q.From) <= enoughSteps*d {
			return d, nil
		}
	}
	return steps[len(steps)-1], nil
}

// Statement is the SQL of the question.
func (q FlowSeries) Statement(o *schema.Options) (*Statement, error) {
	var b builder
	from, err := b.flows(o, q.Source, q.Range)
	if err != nil {
		return nil, err
	}
	step, err := q.step(q.Source.pick(q.Range))
	if err != nil {
		return nil, err
	}
	b.and("flow = " + b.number("flow", "UInt64", q.Flow))
	b.place(q.Where)
	ns := b.param("step_ns", "Int64", strconv.FormatInt(int64(step), 10))
	return b.limited(`WITH `+merged("ack_latency")+` AS latency, `+merged("np_delay")+` AS delay
SELECT fromUnixTimestamp64Nano(intDiv(toUnixTimestamp64Nano(toDateTime64(s.time, 9, 'UTC')), `+ns+`) * `+ns+`, 'UTC') AS time,
    uniqExact(probe, tap) AS taps,
    sum(packets) AS packets, sum(wire_bytes) AS wire_bytes, sum(goodput_bytes) AS goodput_bytes, sum(messages_completed) AS messages_completed,
    sum(acks) AS acks, sum(naks) AS naks, sum(rnr_naks) AS rnr_naks,
    sum(retransmitted_packets) AS retransmitted_packets, sum(lost_before_tap) AS lost_before_tap, sum(lost_after_tap) AS lost_after_tap,
    sum(ce) AS ce, sum(cnps_sent) AS cnps_sent, sum(cnps_received) AS cnps_received, max(peak_bytes) AS peak_bytes,
    `+distribution("ack_latency", "sum(arraySum(mapValues(ack_latency)))", "latency")+`,
    `+distribution("np_delay", "sum(arraySum(mapValues(np_delay)))", "delay")+`
FROM `+from+b.conditions()+`
GROUP BY time
ORDER BY time`, q.Limit, defaultLimit*10)
}

// FlowSeries answers the question.
func (s *Store) FlowSeries(ctx context.Context, q FlowSeries) (*Answer[FlowPoint], error) {
	return answer[FlowPoint](ctx, s, q)
}
