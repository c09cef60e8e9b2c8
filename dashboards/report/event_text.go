package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

func psn(n uint32) string { return "PSN" + glue + strconv.FormatUint(uint64(n), 10) }

func psnRange(r record.Range) string {
	if r.First == r.Last {
		return psn(r.First)
	}
	return psn(r.First) + " to " + strconv.FormatUint(uint64(r.Last), 10)
}

// opcodeText is an opcode's name for people.
func opcodeText(name string) string { return strings.ReplaceAll(name, "_", glue) }

// nakTexts are what NAKs say, by their code.
var nakTexts = map[string]string{
	"invalid_request": "invalid request", "remote_access": "remote access error", "remote_operational": "remote operational error",
	"invalid_rd_request": "invalid RD request", "reserved": "reserved code",
}

// whyTexts are what the words of events mean.
var whyTexts = map[string]string{
	"retry_exhausted": "retries exhausted without an answer", "rnr_exhausted": "the responder was never ready",
	"cm": "the connection manager set it up", "psn_jump": "the PSNs jumped", "service": "another transport service",
	"disconnect": "disconnected", "new_life": "its QPN began another life", "evicted": "forgotten to save memory",
}

func why(word string) string {
	if s, ok := whyTexts[word]; ok {
		return s
	}
	return strings.ReplaceAll(word, "_", " ")
}

// EventText is what happened at a session, in words.
func EventText(s *record.Session, e *record.Event) string {
	return strings.ReplaceAll(eventText(s, e), glue, " ")
}

// eventText is what happened, in words. The subject is named where it is not
// the session as such.
func eventText(s *record.Session, e *record.Event) string {
	from, to := hostName(&s.A), hostName(&s.B)
	if e.Stream == 1 {
		from, to = to, from
	}
	text := ""
	switch d := e.Detail.(type) {
	case record.Connect:
		return connectText(s, &d)
	case record.Reject:
		text = "the connection was refused: reason " + strconv.Itoa(int(d.Reason)) + ", " + d.Text
	case record.Disconnect:
		text = "disconnect (DREQ)"
		if !d.Answered {
			text += ", not answered"
		}
	case record.NewSession:
		text = "a new life of these QPNs begins: " + why(d.Why)
	case record.Closed:
		text = "closed: " + why(d.Why)
	case record.Failed:
		text = from + " gave up: " + why(d.Why)
		if d.Code != "" {
			text = "that ended it: " + to + " refused a request (" + cmp.Or(nakTexts[d.Code], d.Code) + ")"
		}
	case record.Nak:
		text = nakText(to, &d)
	case record.RNRNak:
		text = to + " was not ready for " + psn(d.PSN) + " (RNR NAK): wait " + duration(d.Timer)
	case *record.Try:
		text = tryText(from, d)
	case *record.Episode:
		text = episodeText(from, d)
	case record.Silence:
		text = from + " had sent nothing for " + duration(d.Lasted)
		if d.Pending > 0 {
			text += ", with " + plural(uint64(d.Pending), "packet") + " not acknowledged"
		}
	case record.RetryExhausted:
		text = exhaustedText(from, to, &d, s.Failure == record.FailedUnseen)
	case record.CaptureLoss:
		text = psnRange(d.Range) + " not captured: acknowledged all the same, so the network did not lose it"
	case record.Reorder:
		text = psn(d.PSN) + " came late, "
		if d.Late > 0 {
			text += "by " + duration(d.Late) + ", "
		}
		text += "overtaken by " + plural(uint64(d.Behind), "packet")
	case record.Duplicate:
		text = psn(d.PSN) + " came twice, doubled by the network"
		if !d.Network {
			text = psn(d.PSN) + " was captured twice"
		}
	case record.Corrupt:
		text = "wrong ICRC, " + psn(d.PSN) + " as the packet says"
	case record.Undecided:
		text = psn(d.PSN) + ": whether it was sent again can't be told: " + d.Why
	case *record.CE:
		return marksText(from, e, d)
	case *record.CNP:
		return cnpText(from, to, e, d)
	case record.Slow:
		text = slowText(from, &d)
	case record.Recovered:
		text = recoveredText(from, &d)
	case record.ProtocolError:
		text = "rule broken at " + psn(d.PSN) + ": " + d.Rule
		if d.Got != "" || d.Want != "" {
			text += " (" + d.Got + " instead of " + d.Want + ")"
		}
	default:
		text = strings.ReplaceAll(string(e.Detail.Kind()), "_", " ")
	}
	if e.Count > 1 {
		text += ", " + times(e.Count)
	}
	return text
}

func connectText(s *record.Session, d *record.Connect) string {
	text := hostName(&s.A) + " asked " + hostName(&s.B) + " for a connection"
	if d.Requests > 1 {
		text += " " + times(uint64(d.Requests))
	}
	if !d.Answered {
		return text + ", without an answer"
	}
	if d.Took == 0 { // it was refused
		return text
	}
	return text + ", granted after " + duration(d.Took)
}

func nakText(to string, d *record.Nak) string {
	if d.Code != "sequence" {
		text := to + " refused " + psn(d.PSN) + " for good: " + cmp.Or(nakTexts[d.Code], d.Code)
		if d.Opcode != "" {
			text += ", drawn by " + opcodeText(d.Opcode)
		}
		if d.Request != nil {
			text += " in frame " + count(d.Request.Number)
		}
		return text
	}
	text := "NAK from " + to + ": " + psn(d.PSN) + " is missing"
	switch {
	case d.Refusal:
		return "NAK from " + to + " for " + psn(d.PSN) + ", which repeats the RNR NAK"
	case d.Detect != nil:
		text += ", " + duration(*d.Detect) + " after the first packet out of order"
	}
	return text
}

// causeTexts are why a requester went back.
var causeTexts = [record.NumCauses]string{
	record.CauseNak: "on the NAK", record.CauseRNR: "after the RNR NAK", record.CauseRead: "for a missing READ response",
	record.CauseTimeout: "on a timeout", record.CauseUnknown: "for a reason that this tap can't see",
}

// placeTexts are where the packets went.
var placeTexts = [record.NumPlaces]string{
	record.BeforeTap: "lost before this tap", record.AfterTap: "everything had passed this tap",
	record.Answer: "the request had arrived, only the answer was lost or late",
}

func tryText(from string, d *record.Try) string {
	text := from + " sends again from " + psn(d.PSN) + " " + causeTexts[d.Cause]
	switch {
	case d.Cause == record.CauseTimeout && d.Silence > 0:
		text += ", after " + duration(d.Silence) + " of silence"
	case d.HasReact:
		text += ", " + duration(d.React) + " after it"
	}
	if d.Resent.Packets > 0 {
		text += ": " + plural(d.Resent.Packets, "packet")
		switch d.Wasted.Packets {
		case 0:
		case d.Resent.Packets:
			text += " that had passed before"
		default:
			text += ", " + count(d.Wasted.Packets) + " of them had passed before"
		}
	}
	if d.Partly {
		text += "; what it begins with had arrived, and not all behind it was acknowledged"
	} else if place := placeTexts[d.Place]; place != "" {
		text += "; " + place
		if n := d.LostBefore + d.LostAfter; n > 1 {
			text += " (" + plural(n, "packet") + ")"
		}
	}
	return text
}

func episodeText(from string, d *record.Episode) string {
	text := from + " had sent everything again up to " + psn(d.Range.Last) + " after " + duration(d.Took)
	if !d.Recovered {
		text = from + " did not get through again up to " + psn(d.Range.Last) + ", in " + duration(d.Took)
	}
	text += ": " + plural(d.Resent.Packets, "packet")
	if d.Tries > 1 {
		text += ", " + count(uint64(d.Tries)) + glue + "tries"
	}
	if d.Lost > 0 {
		text += ", " + count(d.Lost) + glue + "lost"
	}
	return text
}

func exhaustedText(from, to string, d *record.RetryExhausted, unseen bool) string {
	text := from + " gave up: " + psnRange(d.Unanswered) + " never answered by " + to
	switch {
	case d.RNR:
		text = from + " gave up: " + to + " was never ready for " + psnRange(d.Unanswered)
	case unseen:
		text = from + " gave up: " + psnRange(d.Unanswered) + " never answered by " + to + ", or refused each time (its answers are not in this capture)"
	}
	text += ", sent again " + times(uint64(d.Tries))
	if d.Spacing > 0 && d.Tries > 1 {
		text += " about " + duration(d.Spacing) + " apart"
	}
	if d.HasAcked {
		text += "; last acknowledged " + psn(d.LastAcked)
	}
	return text
}

// maxEvents bounds the events in the text of analyze; JSON has them all.
const maxEvents = 12

// maxLong bounds those that are only long. They are left out where there is
// worse.
const maxLong = 4

// longEpisode is how long an episode has to be to be worth a line of its own,
// veryLong that of a silence, which senders have for reasons of their own.
const (
	longEpisode = 10_000_000 // ns
	veryLong    = 100_000_000
)

// weight says whether an event is worth a line in analyze's text (class 1 or
// 2, of which 2 comes first), and how it compares with others of its class.
func weight(e *record.Event) (class int, size int64) {
	switch d := e.Detail.(type) {
	case record.RetryExhausted, record.Reject:
		return 2, int64(e.Count)
	case record.Connect:
		if !d.Answered {
			return 2, int64(d.Requests)
		}
	case record.Nak:
		if d.Code != "sequence" {
			return 2, int64(e.Count)
		}
	case *record.Episode:
		if d.Took >= longEpisode || !d.Recovered {
			return 1, d.Took
		}
	case record.Silence:
		if d.Lasted >= veryLong {
			return 1, d.Lasted
		}
	case record.ProtocolError:
		return 1, 0
	}
	return 0, 0
}

// events writes the few that matter most, in the order of time.
func (t *text) events() {
	type candidate struct {
		class int
		size  int64
		index int
	}
	var all []candidate
	for i := range t.Events {
		if class, size := weight(&t.Events[i]); class > 0 {
			all = append(all, candidate{class, size, i})
		}
	}
	total := count(uint64(len(t.Events)) + t.EventsLeftOut)
	left := " were left out, a larger --max-events keeps more"
	if t.EventsLeftOut == 1 {
		left = strings.Replace(left, "were", "was", 1)
	}
	if len(all) == 0 {
		if t.EventsLeftOut > 0 {
			t.b.WriteByte('\n')
			t.row("Events", count(t.EventsLeftOut)+" of "+total+left)
		}
		return
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.size, a.size), cmp.Compare(a.index, b.index))
	})
	n := 0
	for ; n < len(all) && n < maxEvents; n++ {
		if all[n].class == 1 && (n >= maxLong || all[0].class > 1) {
			break
		}
	}
	all = all[:n]
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.index, b.index) })
	sessions := make(map[string]*record.Session, len(all))
	for _, c := range all {
		sessions[t.Events[c.index].Session] = nil
	}
	for _, s := range t.Sessions.Notable() {
		if _, ok := sessions[s.ID]; ok {
			sessions[s.ID] = s
		}
	}
	t.b.WriteByte('\n')
	matter := count(uint64(len(all))) + " that matter most of "
	if len(all) == 1 {
		matter = "one that matters most of "
	}
	head := "the " + matter + total + "; rocelens session tells all of one session"
	if t.EventsLeftOut > 0 {
		head += "; " + count(t.EventsLeftOut) + left
	}
	t.row("Events", head)
	start, _ := t.span()
	for _, c := range all {
		e := &t.Events[c.index]
		if s := sessions[e.Session]; s != nil {
			lead := pad("+"+seconds(e.Time-start), 14) + "  frame " + padRight(t.frameNumber(e.Frame), 9)
			what := eventText(s, e)
			if t.Sessions.Len() > 1 {
				what = endpoint(&s.A) + " to " + endpoint(&s.B) + ": " + what
			}
			t.b.WriteString(wrap(lead, what, t.opt.Width))
		}
	}
}

// seconds is a time to the microsecond.
func seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) + glue + "s" }

// frameNumber is a frame's number, with its input where there are several.
func (t *text) frameNumber(f record.FrameRef) string {
	n := strconv.FormatUint(f.Number, 10)
	if len(t.Inputs) > 1 {
		n = strconv.Itoa(int(f.Input)+1) + ":" + n
	}
	return n
}

// padRight puts s at the left of width columns.
func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(1, width-columnsWidth(s)))
}
