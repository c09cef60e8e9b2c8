package schema

import (
	"fmt"
	"strconv"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/pipeline/record"
)

type event = record.Event

// Events is the table events.
func Events() *Rows[event] {
	return rows(Table{
		Name: "events",
		Doc: "A thing that happened, on a session or, with pause and storm, on a link. Kinds and their figures are those of events.md: " +
			"what several kinds have is in columns, the rest in the maps figures (numbers; true is 1) and words (text), by the names that " +
			"they have there. A figure that can't be told is not in the map.",
		Questions: []string{"what happened in a time", "what happened to a session", "how often, by kind, cause and place"},
		Engine:    "MergeTree",
		Partition: "toMonday(time)",
		Order:     []string{"toStartOfHour(time)", "kind", "session", "time"},
		Indexes:   []Index{{"session", "session", bloom}},
		Keep:      KeepRecords,
		Shard:     shardSession,
	}, []field[event]{
		placed("tap", docTap, func(o *Origin, r *event) string { return o.tap(r.Frame.Input) }),
		when("time", "When", func(r *event) int64 { return r.Time }),
		named("kind", "What", func(r *event) string { return string(r.Detail.Kind()) }),
		text("session", docSession+", or empty", func(r *event) string { return r.Session }),
		named("stream", "a for the requests of side a and the answers to them, b for those of b, or empty", func(r *event) string {
			if r.Session == "" {
				return ""
			}
			return streamName(r.Stream)
		}),
		placed("interface", "Of pause and storm: where", func(o *Origin, r *event) string {
			if p := pauserOf(r); p != nil {
				return o.pauser(p)
			}
			return ""
		}),
		u64("frame", codecZSTD, "Number of the frame in its input, from 1, or 0", func(r *event) uint64 { return r.Frame.Number }),
		u64("count", codecZSTD, "How many, of a run of the same", func(r *event) uint64 { return max(r.Count, 1) }),
		i32("psn", codecZSTD, "First PSN, or -1", func(r *event) int32 { first, _ := psns(r.Detail); return first }),
		i32("psn_last", codecZSTD, "Last PSN of a range, else as psn", func(r *event) int32 { _, last := psns(r.Detail); return last }),
		named("cause", "Of try and episode: why", func(r *event) string { c, _, _ := causes(r.Detail); return c }),
		named("place", "Of try and episode: where the packets went", func(r *event) string { _, p, _ := causes(r.Detail); return p }),
		named("mode", "Of try: what was sent again", func(r *event) string { _, _, m := causes(r.Detail); return m }),
		{Column{Name: "figures", Type: "Map(LowCardinality(String), Float64)", Codec: codecZSTD, Doc: "Numbers by name"}, func(*Origin) cells[event] {
			col := newMapColumn(new(proto.ColFloat64))
			add := col.add
			return cells[event]{col, func(rows []event) {
				for i := range rows {
					numbersOf(rows[i].Detail, add)
					col.end()
				}
			}}
		}},
		{Column{Name: "words", Type: "Map(LowCardinality(String), String)", Codec: codecZSTD, Doc: "Text by name"}, func(*Origin) cells[event] {
			col := newMapColumn(new(proto.ColStr))
			add := col.add
			return cells[event]{col, func(rows []event) {
				for i := range rows {
					wordsOf(rows[i].Detail, add)
					col.end()
				}
			}}
		}},
	})
}

// pauserOf is who paused, nil where it is another kind of event.
func pauserOf(e *event) *record.Pauser {
	switch d := e.Detail.(type) {
	case *record.Pauses:
		return &d.Pauser
	case *record.Storm:
		return &d.Pauser
	}
	return nil
}

// noPSN is what psn is where a kind has none.
const noPSN = -1

func psns(d record.Detail) (first, last int32) {
	one := func(psn uint32) (int32, int32) { return int32(psn), int32(psn) }
	both := func(r record.Range) (int32, int32) { return int32(r.First), int32(r.Last) }
	switch d := d.(type) {
	case record.Nak:
		return one(d.PSN)
	case record.RNRNak:
		return one(d.PSN)
	case *record.Try:
		return one(d.PSN)
	case *record.Episode:
		return both(d.Range)
	case record.Silence:
		return one(d.PSN)
	case record.RetryExhausted:
		return both(d.Unanswered)
	case record.CaptureLoss:
		return both(d.Range)
	case record.Reorder:
		return one(d.PSN)
	case record.Duplicate:
		return one(d.PSN)
	case record.Corrupt:
		return one(d.PSN)
	case record.Undecided:
		return one(d.PSN)
	case record.ProtocolError:
		return one(d.PSN)
	case *record.CE:
		return one(d.PSN)
	}
	return noPSN, noPSN
}

func causes(d record.Detail) (cause, place, mode string) {
	switch d := d.(type) {
	case *record.Try:
		return d.Cause.String(), d.Place.String(), d.Mode.String()
	case *record.Episode:
		return d.Cause.String(), d.Place.String(), ""
	}
	return "", "", ""
}

// numbersOf calls add with what goes into the column figures.
func numbersOf(d record.Detail, add func(key string, v float64)) {
	yes := func(key string, v bool) {
		n := 0.0
		if v {
			n = 1
		}
		add(key, n)
	}
	known := func(key string, v *int64) {
		if v != nil {
			add(key, float64(*v))
		}
	}
	amounts := func(resent, wasted record.Amount) {
		add("resent_packets", float64(resent.Packets))
		add("resent_bytes", float64(resent.Bytes))
		add("wasted_packets", float64(wasted.Packets))
		add("wasted_bytes", float64(wasted.Bytes))
	}
	switch d := d.(type) {
	case record.Connect:
		yes("answered", d.Answered)
		add("requests", float64(d.Requests))
		if d.Answered {
			add("took_ns", float64(d.Took))
		}
	case record.Reject:
		add("reason", float64(d.Reason))
	case record.Disconnect:
		yes("answered", d.Answered)
	case record.Nak:
		yes("refusal", d.Refusal)
		known("detect_ns", d.Detect)
	case record.RNRNak:
		add("timer_ns", float64(d.Timer))
	case *record.Try:
		add("from", float64(d.From))
		add("max", float64(d.Max))
		add("silence_ns", float64(d.Silence))
		if d.HasReact {
			add("react_ns", float64(d.React))
		}
		amounts(d.Resent, d.Wasted)
		add("lost_before_tap", float64(d.LostBefore))
		add("lost_after_tap", float64(d.LostAfter))
		add("number", float64(d.Number))
	case *record.Episode:
		add("tries", float64(d.Tries))
		amounts(d.Resent, d.Wasted)
		add("lost", float64(d.Lost))
		known("detect_ns", d.Detect)
		add("took_ns", float64(d.Took))
		yes("recovered", d.Recovered)
	case record.Silence:
		add("lasted_ns", float64(d.Lasted))
		add("pending", float64(d.Pending))
	case record.RetryExhausted:
		if d.HasAcked {
			add("last_acked", float64(d.LastAcked))
		}
		add("tries", float64(d.Tries))
		if d.Spacing != 0 {
			add("spacing_ns", float64(d.Spacing))
		}
		yes("rnr", d.RNR)
	case record.Reorder:
		add("behind", float64(d.Behind))
		add("late_ns", float64(d.Late))
	case record.Duplicate:
		yes("network", d.Network)
	default:
		congestionNumbers(d, add)
	}
}

// congestionNumbers are those of marks, CNPs and pauses.
func congestionNumbers(d record.Detail, add func(key string, v float64)) {
	switch d := d.(type) {
	case *record.CE:
		add("lasted_ns", float64(d.Lasted))
	case *record.CNP:
		if d.Delay != nil {
			add("np_delay_ns", float64(*d.Delay))
		}
		add("lasted_ns", float64(d.Lasted))
	case record.Slow:
		add("cnp_to_slow_ns", float64(d.Took))
		add("share", d.Share)
		add("rate_bps", d.Rate)
	case record.Recovered:
		add("slow_to_recover_ns", float64(d.Took))
		add("depth", d.Depth)
	case *record.Pauses:
		if d.PFC {
			add("priority", float64(d.Priority))
		}
		add("lasted_ns", float64(d.Lasted))
		add("paused_ns", float64(d.Paused))
		add("longest_ns", float64(d.Longest))
		add("frames", float64(d.Frames))
		add("quanta", float64(d.Quanta))
	case *record.Storm:
		paused, frames := int64(0), uint64(0)
		for i := range d.Priorities {
			paused, frames = max(paused, d.Priorities[i].Paused), max(frames, d.Priorities[i].Frames)
		}
		add("lasted_ns", float64(d.Lasted))
		add("paused_ns", float64(paused))
		add("frames", float64(frames))
		ended := 0.0
		if d.Ended {
			ended = 1
		}
		add("ended", ended)
	}
}

// wordsOf calls add with what goes into the column words.
func wordsOf(d record.Detail, add func(key, v string)) {
	known := func(key, v string) {
		if v != "" {
			add(key, v)
		}
	}
	switch d := d.(type) {
	case record.Connect:
		add("service_id", fmt.Sprintf("0x%016x", d.Service))
	case record.Reject:
		add("text", d.Text)
	case record.NewSession:
		add("why", d.Why)
		add("previous", d.Previous)
	case record.Closed:
		add("why", d.Why)
	case record.Failed:
		add("why", d.Why)
		known("code", d.Code)
	case record.Nak:
		add("code", d.Code)
		known("opcode", d.Opcode)
	case *record.Try:
		known("opcode", d.Opcode)
	case record.Undecided:
		add("why", d.Why)
	case record.ProtocolError:
		add("rule", d.Rule)
		add("got", d.Got)
		add("want", d.Want)
	case *record.Pauses:
		add("src_mac", d.MAC.String())
		add("type", pauseType(d.PFC))
		add("end", d.End.String())
	case *record.Storm:
		add("src_mac", d.MAC.String())
		add("type", pauseType(d.PFC))
		if d.PFC {
			list := []byte(nil)
			for i, p := range d.Priorities {
				if i > 0 {
					list = append(list, ',')
				}
				list = strconv.AppendUint(list, uint64(p.Priority), 10)
			}
			add("priorities", string(list))
		}
	}
}
