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
	*tally
}

// tally is what the events of a stream add to its session's figures. It is
// incomplete where events were left out.
type tally struct {
	first        map[record.EventKind]record.FrameRef
	waited       int64 // ns, before tries by timeout
	timeouts     [record.NumPlaces]uint64
	rnrTimers    int64 // ns that RNR NAKs asked for
	rnrResent    record.Amount
	rnrWasted    uint64          // packets of those that the tap had seen
	answersAfter uint64          // of these, those whose answer it was
	readsAfter   uint64          // READs and atomics of which request or answer was lost behind the tap
	gaveUp       uint64          // tries that ended in nothing
	firstTry     record.FrameRef // RNR aside
	hasTry       bool
	run, outage  outage // the tries under way, and the longest
}

// outage is a run of tries by timeout that all began at one PSN: nothing got
// through meanwhile.
type outage struct {
	psn   uint32
	n     uint64
	begun int64 // the silence before the first
	last  int64
	first record.FrameRef
}

func (o *outage) lasted() int64 { return o.last - o.begun }

// next takes the next try of a stream into account.
func (o *outage) next(e *record.Event, d *record.Try) {
	switch {
	case d.Cause != record.CauseTimeout || d.Place == record.Answer: // something got through
		*o = outage{}
		return
	case o.n == 0 || o.psn != d.PSN:
		*o = outage{psn: d.PSN, begun: e.Time - d.Silence, first: e.Frame}
	}
	o.n += max(e.Count, 1)
	o.last = e.Time
}

var noTally tally

// streamKey names a stream.
type streamKey struct {
	session string
	index   uint8
}

// tallies adds up the events.
func tallies(events []record.Event) map[streamKey]*tally {
	all := make(map[streamKey]*tally)
	for i := range events {
		e := &events[i]
		k := streamKey{e.Session, e.Stream}
		t := all[k]
		if t == nil {
			t = &tally{first: make(map[record.EventKind]record.FrameRef)}
			all[k] = t
		}
		kind := e.Detail.Kind()
		if first, ok := t.first[kind]; !ok || e.Frame.Before(first) {
			t.first[kind] = e.Frame
		}
		switch d := e.Detail.(type) {
		case record.RNRNak:
			t.rnrTimers += d.Timer * int64(max(e.Count, 1))
		case *record.Try:
			t.addTry(e, d)
		case record.RetryExhausted:
			if !d.RNR {
				t.gaveUp += uint64(d.Tries)
			}
		}
	}
	return all
}

func (t *tally) addTry(e *record.Event, d *record.Try) {
	if t.run.next(e, d); t.run.n > 0 && t.run.lasted() > t.outage.lasted() {
		t.outage = t.run
	}
	if d.Cause == record.CauseRNR {
		t.rnrResent.Packets += d.Resent.Packets
		t.rnrResent.Bytes += d.Resent.Bytes
		t.rnrWasted += d.Wasted.Packets
		return
	}
	if !t.hasTry || e.Frame.Before(t.firstTry) {
		t.firstTry, t.hasTry = e.Frame, true
	}
	if strings.Contains(d.Opcode, "READ_REQUEST") || strings.Contains(d.Opcode, "CMP_SWAP") || strings.Contains(d.Opcode, "FETCH_ADD") {
		t.readsAfter += d.LostAfter
		if d.Place == record.Answer {
			t.answersAfter += d.LostAfter
		}
	}
	if d.Cause == record.CauseTimeout {
		t.waited += d.Silence * int64(max(e.Count, 1))
		t.timeouts[d.Place] += max(e.Count, 1)
	}
}

// streams are all streams of the sessions that are not plain.
func (f *Facts) streams() iter.Seq[stream] {
	return func(yield func(stream) bool) {
		for _, s := range f.notable {
			for index := range uint8(2) {
				st := stream{s: s, index: index, req: &s.AToB, resp: &s.BToA, tally: f.tallies[streamKey{s.ID, index}]}
				if index == 1 {
					st.req, st.resp = st.resp, st.req
				}
				if st.tally == nil {
					st.tally = &noTally
				}
				if !yield(st) {
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
	st := stream{s: s, index: e.Stream, req: &s.AToB, resp: &s.BToA, tally: f.tallies[streamKey{s.ID, e.Stream}]}
	if e.Stream == 1 {
		st.req, st.resp = st.resp, st.req
	}
	if st.tally == nil {
		st.tally = &noTally
	}
	return st, true
}

// maxNotable is how many sessions the rules look at: those with something to
// tell, in the order of their first packets. A capture with more is in trouble
// whatever the rest of them say.
const maxNotable = 1 << 16

// prepared is f with what the rules on sessions look things up in.
func (f *Facts) prepared() *Facts {
	g := *f
	g.tallies = tallies(f.Events)
	g.behind = stalled(f.Events)
	ids := make(map[string]bool)
	for i := range f.Events {
		ids[f.Events[i].Session] = true
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
	if !g.alone {
		g.survey = g.surveyed()
	}
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
func (st *stream) onlyGaveUp() bool { return st.gaveUp > 0 && st.tries() <= st.gaveUp }

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
		if ref, ok := st.first[k]; ok && (!x.has || ref.Before(x.first)) {
			x.first, x.has = ref, true
		}
	}
	*h = append(*h, x)
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
