package report

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rocelens/rocelens/pipeline/record"
)

// eventJSON is an event as the JSON report has it: what all have, and beside
// it the figures of its kind.
type eventJSON struct{ *record.Event }

// ofSession says whether events of a kind are of a session.
func ofSession(k record.EventKind) bool { return k != record.KindPause && k != record.KindStorm }

type eventHead struct {
	Time    int64            `json:"time"`
	Kind    record.EventKind `json:"kind"`
	Session *string          `json:"session,omitempty"` // absent where it is of none
	Stream  string           `json:"stream,omitempty"`
	Frame   *Frame           `json:"frame"`
	Count   uint64           `json:"count"`
}

// MarshalJSON puts the two into one object.
func (e eventJSON) MarshalJSON() ([]byte, error) {
	h := eventHead{Time: e.Time, Kind: e.Detail.Kind(), Frame: newFrame(e.Frame), Count: max(e.Count, 1)}
	if ofSession(h.Kind) {
		h.Session, h.Stream = &e.Session, streamName(e.Stream)
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(figures(e.Detail))
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Detail.Kind(), err)
	}
	if len(body) == len("{}") {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), body[1:]...), nil
}

func streamName(stream uint8) string {
	if stream == 1 {
		return "b"
	}
	return "a"
}

// The figures of the kinds whose records are not written as they are.
type (
	connectJSON struct {
		Answered  bool   `json:"answered"`
		Requests  uint32 `json:"requests"`
		Took      *int64 `json:"took_ns"`
		ServiceID string `json:"service_id"`
	}
	nakJSON struct {
		Code    string `json:"code"`
		PSN     uint32 `json:"psn"`
		Opcode  string `json:"opcode,omitempty"`
		Request *Frame `json:"request,omitempty"`
		Refusal bool   `json:"refusal,omitempty"`
		Detect  *int64 `json:"detect_ns"`
	}
	tryJSON struct {
		PSN     uint32     `json:"psn"`
		Cause   string     `json:"cause"`
		Place   string     `json:"place"`
		Mode    string     `json:"mode"`
		From    uint32     `json:"from"`
		Max     uint32     `json:"max"`
		Silence int64      `json:"silence_ns"`
		React   *int64     `json:"react_ns"`
		Resent  amountJSON `json:"resent"`
		Wasted  amountJSON `json:"wasted"`
		Lost    tryLost    `json:"lost"`
		Number  uint32     `json:"number"`
		Opcode  string     `json:"opcode,omitempty"`
	}
	tryLost struct {
		BeforeTap uint64 `json:"before_tap"`
		AfterTap  uint64 `json:"after_tap"`
	}
	episodeJSON struct {
		Tries     uint32       `json:"tries"`
		Range     record.Range `json:"range"`
		Cause     string       `json:"cause"`
		Place     string       `json:"place"`
		Resent    amountJSON   `json:"resent"`
		Wasted    amountJSON   `json:"wasted"`
		Lost      uint64       `json:"lost"`
		Detect    *int64       `json:"detect_ns"`
		Took      int64        `json:"took_ns"`
		Recovered bool         `json:"recovered"`
	}
	exhaustedJSON struct {
		Unanswered record.Range `json:"unanswered"`
		LastAcked  *uint32      `json:"last_acked"`
		Tries      uint32       `json:"tries"`
		Spacing    *int64       `json:"spacing_ns"`
		RNR        bool         `json:"rnr"`
	}
	captureLossJSON struct {
		Range record.Range `json:"range"`
	}
	pauserJSON struct {
		Interface string `json:"interface"`
		SrcMAC    string `json:"src_mac"`
		Type      string `json:"type"`
	}
	pauseJSON struct {
		pauserJSON
		Priority *uint8 `json:"priority,omitempty"`
		Lasted   int64  `json:"lasted_ns"`
		Paused   int64  `json:"paused_ns"`
		Longest  int64  `json:"longest_ns"`
		Frames   uint64 `json:"frames"`
		Quanta   uint64 `json:"quanta"`
		End      string `json:"end"`
	}
	stormJSON struct {
		pauserJSON
		Priorities []int  `json:"priorities,omitempty"`
		Lasted     int64  `json:"lasted_ns"`
		Paused     int64  `json:"paused_ns"`
		Frames     uint64 `json:"frames"`
		Ended      bool   `json:"ended"`
	}
)

func newPauser(p *record.Pauser) pauserJSON {
	name := p.Name
	if name == "" {
		name = strconv.Itoa(int(p.Interface))
	}
	return pauserJSON{Interface: name, SrcMAC: p.MAC.String(), Type: pauseType(p)}
}

// figures is what is written of an event's details.
func figures(d record.Detail) any {
	switch d := d.(type) {
	case record.Connect:
		out := connectJSON{Answered: d.Answered, Requests: d.Requests, ServiceID: fmt.Sprintf("0x%016x", d.Service)}
		if d.Answered {
			out.Took = &d.Took
		}
		return out
	case record.Nak:
		out := nakJSON{Code: d.Code, PSN: d.PSN, Opcode: d.Opcode, Refusal: d.Refusal, Detect: d.Detect}
		if d.Request != nil {
			out.Request = newFrame(*d.Request)
		}
		return out
	case *record.Try:
		out := tryJSON{
			PSN: d.PSN, Cause: d.Cause.String(), Place: d.Place.String(), Mode: d.Mode.String(), From: d.From, Max: d.Max, Silence: d.Silence,
			Resent: amountJSON(d.Resent), Wasted: amountJSON(d.Wasted), Lost: tryLost{d.LostBefore, d.LostAfter}, Number: d.Number, Opcode: d.Opcode,
		}
		if d.HasReact {
			out.React = &d.React
		}
		return out
	case *record.Episode:
		return episodeJSON{
			Tries: d.Tries, Range: d.Range, Cause: d.Cause.String(), Place: d.Place.String(), Resent: amountJSON(d.Resent), Wasted: amountJSON(d.Wasted),
			Lost: d.Lost, Detect: d.Detect, Took: d.Took, Recovered: d.Recovered,
		}
	case record.RetryExhausted:
		out := exhaustedJSON{Unanswered: d.Unanswered, Tries: d.Tries, RNR: d.RNR, Spacing: known(d.Spacing)}
		if d.HasAcked {
			out.LastAcked = &d.LastAcked
		}
		return out
	case record.CaptureLoss:
		return captureLossJSON{d.Range}
	case *record.Pauses:
		out := pauseJSON{
			pauserJSON: newPauser(&d.Pauser), Lasted: d.Lasted, Paused: d.Paused, Longest: d.Longest, Frames: d.Frames, Quanta: d.Quanta, End: d.End.String(),
		}
		if d.PFC {
			out.Priority = &d.Priority
		}
		return out
	case *record.Storm:
		out := stormJSON{pauserJSON: newPauser(&d.Pauser), Lasted: d.Lasted, Ended: d.Ended}
		for _, p := range d.Priorities {
			if d.PFC {
				out.Priorities = append(out.Priorities, int(p.Priority))
			}
			out.Paused, out.Frames = max(out.Paused, p.Paused), max(out.Frames, p.Frames)
		}
		return out
	}
	return d
}
