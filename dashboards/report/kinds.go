package report

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// EventKind documents one kind of event: a row of docs/events.md.
type EventKind struct {
	Kind   record.EventKind
	When   string
	Fields []EventField
}

// EventField documents one figure of a kind. Durations are in nanoseconds and
// end in _ns.
type EventField struct {
	Key, Text string
	// Optional says that it is absent where it does not apply.
	Optional bool
}

// EventKinds are all kinds, in the order of docs/events.md.
func EventKinds() []EventKind {
	amount := func(what string) string { return what + ": `packets` and `bytes` of payload" }
	pauser := []EventField{
		{Key: "interface", Text: "where, as the capture names it, or its number"},
		{Key: "src_mac", Text: "the sender"},
		{Key: "type", Text: "`pfc`, or `802.3x` for PAUSE"},
	}
	pauser = pauser[:len(pauser):len(pauser)] // what is appended is a copy
	return []EventKind{
		{record.KindConnect, "the connection manager's REQ was answered by a REP, or was given up", []EventField{
			{Key: "answered", Text: "whether by a REP"},
			{Key: "requests", Text: "REQs sent, repetitions included"},
			{Key: "took_ns", Text: "REQ to REP; null without one"},
			{Key: "service_id", Text: "hexadecimal"},
		}},
		{record.KindReject, "a REJ", []EventField{{Key: "reason", Text: "its number"}, {Key: "text", Text: "in words"}}},
		{record.KindDisconnect, "a DREQ", []EventField{{Key: "answered", Text: "whether by a DREP"}}},
		{record.KindNewSession, "a QPN began another life", []EventField{
			{Key: "why", Text: "`cm`, `psn_jump` or `service`"},
			{Key: "previous", Text: "id of the session before"},
		}},
		{record.KindClosed, "the session ended in order, or gave way to a new life of its QPN", []EventField{{Key: "why", Text: "`disconnect`, `new_life` or `evicted`"}}},
		{record.KindFailed, "the requester gave up", []EventField{
			{Key: "why", Text: "`retry_exhausted`, `rnr_exhausted` or `nak`"},
			{Key: "code", Text: "of the NAK", Optional: true},
		}},
		{record.KindNak, "a NAK other than RNR", []EventField{
			{Key: "code", Text: "`sequence`, `invalid_request`, `remote_access`, `remote_operational`, `invalid_rd_request` or `reserved`"},
			{Key: "psn", Text: "as the NAK says; for `sequence`, the PSN that is missing"},
			{Key: "opcode", Text: "of the request that drew it", Optional: true},
			{Key: "request", Text: "its frame", Optional: true},
			{Key: "refusal", Text: "true where it only repeats an RNR NAK", Optional: true},
			{Key: "detect_ns", Text: "from the first packet out of order to the NAK; null where none was seen"},
		}},
		{record.KindRNRNak, "an RNR NAK: no receive buffer", []EventField{
			{Key: "psn", Text: "of the refused request"},
			{Key: "timer_ns", Text: "the wait that it asks for"},
		}},
		{record.KindTry, "a requester stepped back and sends again", []EventField{
			{Key: "psn", Text: "where it begins again"},
			{Key: "cause", Text: "`nak`, `rnr`, `read`, `timeout` or `unknown`"},
			{Key: "place", Text: "where the packets went: `before_tap`, `after_tap`, `answer`, `refused` or `unknown`"},
			{Key: "mode", Text: "`go_back_n`, `selective`, `go_back_0`, or `unknown` where it was broken off"},
			{Key: "from", Text: "the position before: one past the last request packet seen, in whatever pass"},
			{Key: "max", Text: "the maximum before: one past the highest PSN seen"},
			{Key: "silence_ns", Text: "how long the requester had sent nothing"},
			{Key: "react_ns", Text: "from the NAK, the response or the end of the RNR timer; null where there was none"},
			{Key: "resent", Text: amount("sent again")},
			{Key: "wasted", Text: amount("of those, seen in the pass before")},
			{Key: "lost", Text: "packets lost `before_tap` and `after_tap`"},
			{Key: "number", Text: "which try of its episode, from 1"},
			{Key: "opcode", Text: "of the first packet sent again", Optional: true},
		}},
		{record.KindEpisode, "all tries until the position reached the old maximum, or until the session failed", []EventField{
			{Key: "tries", Text: "how many"},
			{Key: "range", Text: "PSNs from the lowest begun again (`first`) to the old maximum (`last`)"},
			{Key: "cause", Text: "of its first try"},
			{Key: "place", Text: "of its first try"},
			{Key: "resent", Text: amount("sent again")},
			{Key: "wasted", Text: amount("of those, seen in the pass before")},
			{Key: "lost", Text: "packets"},
			{Key: "detect_ns", Text: "from the first packet out of order to the NAK; null without one"},
			{Key: "took_ns", Text: "from the first sign to the end"},
			{Key: "recovered", Text: "whether the old maximum was reached"},
		}},
		{record.KindSilence, "a long pause in the middle of a stream that no step back explains", []EventField{
			{Key: "lasted_ns", Text: "how long"},
			{Key: "psn", Text: "of the packet that ended it"},
			{Key: "pending", Text: "packets sent and not acknowledged when it began"},
		}},
		{record.KindRetryExhausted, "the same packet was sent again until the requester gave up", []EventField{
			{Key: "unanswered", Text: "PSNs without an answer, `first` to `last`"},
			{Key: "last_acked", Text: "the last PSN that was acknowledged; null where none was"},
			{Key: "tries", Text: "how often it was sent again"},
			{Key: "spacing_ns", Text: "the median between tries; null for a single one"},
			{Key: "rnr", Text: "true where each was refused with an RNR NAK"},
		}},
		{record.KindCaptureLoss, "packets skipped, never gone back for, and yet acknowledged: lost by the mirror", []EventField{{Key: "range", Text: "PSNs, `first` to `last`"}}},
		{record.KindReorder, "a packet that came late", []EventField{
			{Key: "psn", Text: "of that packet"},
			{Key: "behind", Text: "packets that overtook it, at least"},
			{Key: "late_ns", Text: "after the first of those"},
		}},
		{record.KindDuplicate, "the same packet again, not sent again", []EventField{
			{Key: "psn", Text: "of that packet"},
			{Key: "network", Text: "true: doubled by the network, false: by the mirror"},
		}},
		{record.KindCorrupt, "a wrong ICRC", []EventField{{Key: "psn", Text: "as the packet says"}}},
		{record.KindUndecided, "out of order or there twice, and nothing tells whether it was sent again", []EventField{
			{Key: "psn", Text: "of that packet"},
			{Key: "why", Text: "what is missing to tell"},
		}},
		{record.KindProtocolError, "a rule of the transport was broken", []EventField{
			{Key: "rule", Text: "`opcode_order`, `payload_length`, `dma_length`, `response_order`, `response_length`, `response_beyond` or `msn_backwards`"},
			{Key: "psn", Text: "of the packet"},
			{Key: "got", Text: "what came"},
			{Key: "want", Text: "what the rule asks for"},
		}},
		{record.KindCE, "data packets are marked CE, once, or several times with less than 10 ms between; `stream` is the side that sent them", []EventField{
			{Key: "psn", Text: "of the first"},
			{Key: "lasted_ns", Text: "from the first to the last of them"},
		}},
		{record.KindCNP, "CNPs tell a side to slow down, once, or several times with less than 10 ms between; `stream` is the side that is told", []EventField{
			{Key: "np_delay_ns", Text: "of the first, from the last marked packet before it; null where none was seen"},
			{Key: "lasted_ns", Text: "from the first to the last of them"},
		}},
		{record.KindSlow, "a side sends slower after a CNP: the end of the first of two windows of 32 data packets below 80 % of the rate before, which is the least of the last four windows; before the first CNP it may be that of all that the side had sent", []EventField{
			{Key: "cnp_to_slow_ns", Text: "from the CNP, at most"},
			{Key: "share", Text: "the rate of that window, of that before"},
			{Key: "rate_bps", Text: "the rate before, in bits of packets a second"},
		}},
		{record.KindRecovered, "it is as fast again, or nearly: the end of the first window from 90 % of the rate before on", []EventField{
			{Key: "slow_to_recover_ns", Text: "since it became slow"},
			{Key: "depth", Text: "the lowest rate of a window meanwhile, of that before"},
		}},
		{record.KindPause, "PFC or PAUSE frames stopped traffic, once, or several times with less than a millisecond between; only where the speed of the link is known", append(pauser,
			EventField{Key: "priority", Text: "0 to 7, with `pfc`", Optional: true},
			EventField{Key: "lasted_ns", Text: "from the start of the first pause to the end of the last"},
			EventField{Key: "paused_ns", Text: "without what is between them"},
			EventField{Key: "longest_ns", Text: "the longest of them"},
			EventField{Key: "frames", Text: "that stop the priority"},
			EventField{Key: "quanta", Text: "their times, summed up"},
			EventField{Key: "end", Text: "what ended the last one: `xon` (a frame with the time 0), `expired`, or `capture_end`"},
		)},
		{record.KindStorm, "a sender kept priorities paused for most of a time, by default for more than 90 % of 200 ms", append(pauser,
			EventField{Key: "priorities", Text: "those that were paused so, with `pfc`", Optional: true},
			EventField{Key: "lasted_ns", Text: "from the start of the first pause to the end of the last"},
			EventField{Key: "paused_ns", Text: "of the priority that was paused longest"},
			EventField{Key: "frames", Text: "that stop a priority, of that with the most"},
			EventField{Key: "ended", Text: "whether before the end of the capture"},
		)},
	}
}

// EventsMarkdown is docs/events.md.
func EventsMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Events

<!-- Written by "go test ./dashboards/report -run EventsDoc -update" from the table in dashboards/report/kinds.go. Change it there. -->

An event is a thing that happened, on a session or, with ` + "`pause`" + ` and ` + "`storm`" + `, on a link. The array ` + "`events`" + ` of the [JSON report](report.md#events) has them in
the order of time; ` + "`rocelens session`" + ` tells those of one session. Their number is bounded by ` + "`--max-events`" + `: failures
(` + "`retry_exhausted`" + `, ` + "`failed`" + `, ` + "`reject`" + `, a ` + "`connect`" + ` without an answer, a ` + "`nak`" + ` other than ` + "`sequence`" + `) are kept before others, and of those the
first. What was left out is counted in ` + "`events_left_out`" + `. Sessions and findings do not depend on it.

Every event has ` + "`time`" + ` (nanoseconds since the epoch), ` + "`kind`" + `, ` + "`session`" + ` (its id), ` + "`stream`" + ` (` + "`a`" + ` for the requests
of side a and the answers to them, ` + "`b`" + ` for those of b), ` + "`frame`" + ` and ` + "`count`" + ` (a run of the same is one event); those of a link
have neither ` + "`session`" + ` nor ` + "`stream`" + `. Beside them it has the figures of its kind. Keys that end in ` + "`_ns`" + ` are durations in nanoseconds. *Optional* ones are absent where they
don't apply. Kinds may be added.

| kind | when | figures |
|---|---|---|
`)
	for _, k := range EventKinds() {
		var fields []string
		for _, f := range k.Fields {
			s := "`" + f.Key + "`: " + f.Text
			if f.Optional {
				s += " (*optional*)"
			}
			fields = append(fields, s)
		}
		b.WriteString("| `" + string(k.Kind) + "` | " + k.When + " | " + strings.Join(fields, "<br>") + " |\n")
	}
	return b.String()
}
