package pipeline

import (
	"cmp"
	"context"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// Matcher applies a display filter to the frames of a source, in their order.
type Matcher struct {
	// Packet is the frame that Match was given last, decoded, and Extra what is
	// known of it besides.
	Packet decode.Packet
	Extra  decode.Extra

	filter *filter.Filter // nil matches everything
	src    capture.Source
	dec    *decode.Decoder
	icrc   bool
	notes  *track.Notes
	note   decode.Note
	inputs []capture.Input // where interfaces have names
	begun  bool            // a frame was seen
	shown  bool            // one matched
}

// NewMatcher returns a Matcher for the frames of src. f may be nil, and so may
// notes, which are those of the same frames. icrc says that ICRCs are checked
// even if the filter does not ask for it.
func NewMatcher(src capture.Source, cfg decode.Config, f *filter.Filter, notes *track.Notes, icrc bool) *Matcher {
	return &Matcher{filter: f, src: src, dec: decode.New(cfg), icrc: icrc || f != nil && f.NeedICRC(), notes: notes}
}

// Match decodes the next frame and says whether it matches.
func (m *Matcher) Match(f *capture.Frame) bool {
	m.begin(f)
	m.dec.Decode(f, &m.Packet)
	if m.icrc {
		m.dec.VerifyICRC(&m.Packet)
	}
	if !m.shown {
		m.Extra.Displayed = f.Time
	}
	m.About(f, &m.Extra)
	is := m.filter == nil || m.filter.Match(&m.Packet, &m.Extra)
	if is {
		m.shown, m.Extra.Displayed = true, f.Time
	}
	m.Extra.Previous = f.Time
	return is
}

// Skip passes the next frame over.
func (m *Matcher) Skip(f *capture.Frame) {
	m.begin(f)
	m.Extra.Previous = f.Time
}

func (m *Matcher) begin(f *capture.Frame) {
	if !m.begun {
		m.begun = true
		m.Extra.First, m.Extra.Previous, m.Extra.Displayed = f.Time, f.Time, f.Time
	}
}

// About says in x what is known of a frame beside its bytes and other frames:
// its interface and its note. Descriptions of interfaces come before their first
// frame, so they are asked for when one is new.
func (m *Matcher) About(f *capture.Frame, x *decode.Extra) {
	if int(f.Input) >= len(m.inputs) || int(f.Interface) >= len(m.inputs[f.Input].Interfaces) {
		m.inputs = m.src.Inputs()
	}
	in := &m.inputs[f.Input]
	x.HasInterface = in.Format == capture.FormatPcapNG
	var about capture.Interface
	if int(f.Interface) < len(in.Interfaces) {
		about = in.Interfaces[f.Interface]
	}
	x.InterfaceDescription = about.Description
	x.InterfaceName = cmp.Or(about.Name, about.Description, "unknown") // as tshark says
	x.Note = nil
	if m.notes != nil && m.notes.Get(f.Input, f.Number, &m.note) {
		x.Note = &m.note
	}
}

// Matching is what of a capture matches a display filter.
type Matching struct {
	// Counters are those of the packets that match.
	Counters Counters
	// Copies are the packets among them that the capture has twice.
	Copies uint64
	// Sessions are those with such a packet, by their IDs.
	Sessions map[string]bool
}

// frameKey names a frame.
type frameKey struct {
	input  int32
	number uint64
}

// Match reads src once more, the source of r, and says what of it matches f.
// notes are those that were taken while r was made. Errors are EachBatch's.
func Match(ctx context.Context, src capture.Source, cfg *Config, f *filter.Filter, notes *track.Notes, r *Result) (*Matching, error) {
	out := &Matching{Sessions: make(map[string]bool)}
	m := NewMatcher(src, cfg.Decode, f, notes, cfg.ICRC)
	named := r.connectionFrames()
	err := EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			frame := &b.Frames[i]
			if !m.Match(frame) {
				continue
			}
			p := &m.Packet
			out.Counters.Add(p)
			if cfg.ICRC && p.Kind == decode.KindUDP {
				out.Counters.AddProbe(p, m.dec.ProbeRoCE(p))
			}
			n := m.Extra.Note
			if n == nil {
				continue
			}
			if n.Verdict == decode.VerdictCopy && !n.Has(decode.NoteByNetwork) {
				out.Copies++
			}
			if n.Session != "" {
				out.Sessions[n.Session] = true
			} else if id := named[frameKey{frame.Input, frame.Number}]; id != "" {
				out.Sessions[id] = true
			}
		}
		return nil
	})
	return out, err
}

// MatchFrames reads src once more and says which of some frames match f. Errors
// are EachBatch's.
func MatchFrames(ctx context.Context, src capture.Source, cfg *Config, f *filter.Filter, notes *track.Notes, frames []record.FrameRef) (map[record.FrameRef]bool, error) {
	asked := make(map[frameKey]record.FrameRef, len(frames))
	for _, ref := range frames {
		asked[frameKey{ref.Input, ref.Number}] = ref
	}
	out := make(map[record.FrameRef]bool)
	m := NewMatcher(src, cfg.Decode, f, notes, cfg.ICRC)
	err := EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			frame := &b.Frames[i]
			ref, ok := asked[frameKey{frame.Input, frame.Number}]
			if !ok && !f.NeedDisplayed() {
				m.Skip(frame)
			} else if m.Match(frame) && ok {
				out[ref] = true
			}
		}
		return nil
	})
	return out, err
}

// connectionFrames are the frames of connection management that made events, by
// the sessions that they are about: a message to QP 1 belongs to no session by
// itself.
func (r *Result) connectionFrames() map[frameKey]string {
	all := make(map[frameKey]string)
	for _, events := range [][]record.Event{r.Signs, r.Events} {
		for i := range events {
			switch e := &events[i]; e.Detail.Kind() {
			case record.KindConnect, record.KindReject, record.KindDisconnect, record.KindNewSession:
				all[frameKey{e.Frame.Input, e.Frame.Number}] = e.Session
			}
		}
	}
	for s := range r.Sessions.All() {
		if s.CM != nil {
			all[frameKey{s.First.Input, s.First.Number}] = s.ID
		}
	}
	return all
}
