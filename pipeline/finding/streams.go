package finding

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// stream is one requester of a session: its requests, and what answers them.
type stream struct {
	s     *record.Session
	index uint8             // 0 where A is the requester, 1 where B is
	req   *record.Direction // what the requester sent
	resp  *record.Direction // what the responder sent
	*record.Marks
}

var noMarks record.Marks

// streamKey names a stream.
type streamKey struct {
	session string
	index   uint8
}

// streamOf is one of the streams of a session, that of A's requests or of B's.
func streamOf(s *record.Session, index uint8) stream {
	st := stream{s: s, index: index, req: &s.AToB, resp: &s.BToA}
	if index == 1 {
		st.req, st.resp = st.resp, st.req
	}
	if st.Marks = st.req.Marks; st.Marks == nil {
		st.Marks = &noMarks
	}
	return st
}

// streams are all streams of the sessions that are not plain.
func (f *Facts) streams() iter.Seq[stream] {
	return func(yield func(stream) bool) {
		for _, s := range f.notable {
			for index := range uint8(2) {
				if !yield(streamOf(s, index)) {
					return
				}
			}
		}
	}
}

// stream is the stream of an event, whose session is among the listed.
func (f *Facts) stream(e *record.Event) (stream, bool) {
	s := f.byID[e.Session]
	if s == nil {
		return stream{}, false
	}
	return streamOf(s, e.Stream), true
}

// maxNotable is how many sessions the rules look at: those with something to
// tell, in the order of their first packets. A capture with more is in trouble
// whatever the rest of them say.
const maxNotable = 1 << 16

// prepared is f with what the rules on sessions look things up in.
func (f *Facts) prepared() *Facts {
	g := *f
	g.behind = stalled(f.Signs)
	ids := make(map[string]bool)
	for i := range f.Signs {
		ids[f.Signs[i].Session] = true
	}
	g.byID = make(map[string]*record.Session, len(ids))
	for _, s := range f.Sessions.Notable() {
		if len(g.notable) < maxNotable {
			g.notable = append(g.notable, s)
		} else {
			g.unseen++
		}
		if ids[s.ID] {
			g.byID[s.ID] = s
		}
	}
	g.sampling = g.sampled()
	if !g.alone && !g.live {
		g.survey = g.surveyed()
	}
	g.narrow()
	return &g
}

// from is the requester.
func (st *stream) from() *record.Endpoint {
	if st.index == 1 {
		return &st.s.B
	}
	return &st.s.A
}

// to is the responder.
func (st *stream) to() *record.Endpoint {
	if st.index == 1 {
		return &st.s.A
	}
	return &st.s.B
}

// reliable says whether lost packets are sent again.
func (st *stream) reliable() bool {
	return st.s.Service != record.UC && st.s.Service != record.UD
}

// span is the time from the first packet that the requester sent to the last,
// in ns.
func (st *stream) span() int64 {
	if st.req.Packets == 0 {
		return 0
	}
	return st.req.Last - st.req.First
}

// tries are the times that the requester went back, RNR NAKs aside.
func (st *stream) tries() uint64 {
	var n uint64
	for c, k := range st.req.Tries {
		if record.Cause(c) != record.CauseRNR {
			n += k
		}
	}
	return n
}

// onlyGaveUp says whether all that the requester sent again was its last try
// to be heard, which is a finding of its own.
func (st *stream) onlyGaveUp() bool { return st.GaveUp > 0 && st.tries() <= st.GaveUp }

// requests are the packets that the requester sent as such: all but answers to
// the other side's requests.
func (st *stream) requests() uint64 {
	d := st.req
	others := d.Acks + d.RNRNaks + d.ReadResponses.Packets
	for _, n := range d.Naks {
		others += n
	}
	if d.Packets < others {
		return 0
	}
	return d.Packets - others
}

func endpoint(e *record.Endpoint) string { return string(e.AppendID(nil)) }

func host(e *record.Endpoint) string { return string(e.Append(nil)) }

// name is "10.0.0.1/0x11 to 10.0.0.2/0x12".
func (st *stream) name() string { return endpoint(st.from()) + " to " + endpoint(st.to()) }

// hit is a stream that a rule found something on.
type hit struct {
	stream
	n     uint64          // how much; the worst comes first
	more  record.Evidence // beside the stream's ends
	say   string          // what to say of it beside its name
	first record.FrameRef
	has   bool // first is known
}

// hits are the findings of one rule, the worst first.
type hits []hit

func (h *hits) add(st stream, n uint64, say string, more record.Evidence, kinds ...record.EventKind) {
	x := hit{stream: st, n: n, more: more, say: say}
	for _, k := range kinds {
		if ref, ok := st.First(k); ok && (!x.has || ref.Before(x.first)) {
			x.first, x.has = ref, true
		}
	}
	*h = append(*h, x)
}

// tried says that the newest of them began with the first try of a kind: of
// several kinds, of the first one that its stream has.
func (h hits) tried(kinds ...record.TryKind) {
	x := &h[len(h)-1]
	x.first, x.has = x.FirstTry(kinds...)
}

// sort puts the worst first. Equal ones stay in the order of the sessions.
func (h hits) sort() {
	slices.SortStableFunc(h, func(a, b hit) int { return cmp.Compare(b.n, a.n) })
}

// sum adds up.
func (h hits) sum() (n uint64) {
	for i := range h {
		n += h[i].n
	}
	return n
}

// maxSessions bounds the ids in a finding.
const maxSessions = 100

// sessions are their sessions, each once.
func (h hits) sessions() (ids []string, n uint64) {
	seen := make(map[string]bool, len(h))
	for i := range h {
		id := h[i].s.ID
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(ids) < maxSessions {
			ids = append(ids, id)
		}
	}
	return ids, uint64(len(seen))
}

// evidence is what every finding on streams has: the worst of them, how many
// sessions there are, and the first frame where an event tells it.
func (h hits) evidence() record.Evidence {
	list := []record.Evidence{}
	var first record.FrameRef
	has := false
	for i := range h {
		x := &h[i]
		if i < maxListed {
			e := record.Evidence{{Key: "session", Value: x.s.ID}, {Key: "from", Value: endpoint(x.from())}, {Key: "to", Value: endpoint(x.to())}}
			list = append(list, append(e, x.more...))
		}
		if x.has && (!has || x.first.Before(first)) {
			first, has = x.first, true
		}
	}
	_, n := h.sessions()
	out := record.Evidence{{Key: "streams", Value: list}, {Key: "streams_affected", Value: uint64(len(h))}, {Key: "sessions_affected", Value: n}}
	if has {
		out = append(out, record.Fact{Key: "first", Value: first})
	}
	return out
}

// finding is one on these streams. The evidence given comes first.
func (h hits) finding(severity record.Severity, code, title, detail string, more record.Evidence) []record.Finding {
	ids, _ := h.sessions()
	return one(record.Finding{
		Severity: severity, Code: code, Title: title, Detail: detail, Sessions: ids, Evidence: append(more, h.evidence()...),
	})
}

// maxNamed bounds the streams that a sentence names; the evidence has more.
const maxNamed = 3

// worst names the worst of several streams, " The worst: A to B (12), ...",
// and is empty where there is only one, which the title names.
func (h hits) worst() string {
	if len(h) < 2 {
		return ""
	}
	var names []string
	for i := range h[:min(len(h), maxNamed)] {
		names = append(names, h[i].name()+" ("+h[i].say+")")
	}
	s := " Most of all: " + strings.Join(names, ", ")
	if n := len(h) - maxNamed; n > 0 {
		s += ", and " + plural(uint64(n), "more stream")
	}
	return s + "."
}

// between is "A/0x1 to B/0x2" of the only stream, else "3 sessions".
func (h hits) between() string {
	if len(h) == 1 {
		return h[0].name()
	}
	if _, n := h.sessions(); n > 1 {
		return plural(n, "session")
	}
	return "both directions of " + h[0].name()
}
