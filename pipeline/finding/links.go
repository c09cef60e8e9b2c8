package finding

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// links ties findings to one another, by what shows it and nothing else: the
// same tries, streams that are in both, at the same time, or the same sender of
// pauses.
type links struct {
	f   *Facts
	all []record.Finding
}

// link fills in Related of all findings.
func link(f *Facts, all []record.Finding) {
	if len(all) < 2 {
		return
	}
	l := &links{f, all}
	l.tries()
	l.failures()
	l.marks()
	l.crowds()
	l.pauses()
	l.captures()
}

func (l *links) get(code string) *record.Finding {
	if i := slices.IndexFunc(l.all, func(f record.Finding) bool { return f.Code == code }); i >= 0 {
		return &l.all[i]
	}
	return nil
}

// add says that n of all of what an effect counts come from a cause.
func (l *links) add(cause, effect string, n, all uint64, noun, nouns string) {
	if n > 0 {
		l.tie(cause, effect, record.Explains, record.ExplainedBy, count(n)+" of "+count(all)+" "+isAre(all, noun, nouns))
	}
}

// about says that two findings speak of the same.
func (l *links) about(a, b, why string) { l.tie(a, b, record.SeeAlso, record.SeeAlso, why) }

func (l *links) tie(a, b string, is, back record.Relation, why string) {
	x, y := l.get(a), l.get(b)
	if x == nil || y == nil {
		return
	}
	x.Related = append(x.Related, record.Related{Code: b, Relation: is, Why: why})
	y.Related = append(y.Related, record.Related{Code: a, Relation: back, Why: why})
}

// tries ties steps back to what was lost where, try by try.
func (l *links) tries() {
	var tries, timeouts, asTimeout, selective, lost, unheard, late uint64
	var tryAt, timeoutAt [record.NumPlaces]uint64
	var repeated, corrupt uint64
	for st := range l.f.whole() {
		lost += lostBefore(&st)
		corrupt += st.req.Lost.Corrupt
		switch {
		case st.onlyGaveUp() || st.late():
		case st.selective():
			selective += st.again().Packets
			if lostBefore(&st)+st.req.Lost.AfterTap > 0 {
				repeated += st.again().Packets
			}
		case st.tries() > 0:
			at := st.placesLost(&st.req.Places)
			for p, n := range at {
				tryAt[p] += n
			}
			tries += st.tries()
			asTimeout += st.req.Tries[record.CauseTimeout]
			if st.s.OneSided {
				unheard += st.req.Tries[record.CauseUnknown]
			}
			if d := st.req; d.Reordered > 0 && d.Lost.BeforeTap+d.Lost.AfterTap == 0 {
				late += d.Tries[record.CauseNak]
			}
		}
		if n := st.req.Tries[record.CauseTimeout]; n > 0 && !st.onlyGaveUp() && !st.late() {
			timeouts += n
			at := st.placesLost(&st.Timeouts)
			for p, k := range at {
				timeoutAt[p] += k
			}
		}
	}
	for _, x := range [...]struct {
		code string
		at   record.Place
	}{{"lost-before-tap", record.BeforeTap}, {"lost-after-tap", record.AfterTap}, {"answer-lost", record.Answer}} {
		l.add(x.code, "go-back-n", tryAt[x.at], tries, "try", "tries")
		l.add(x.code, "ack-timeout", timeoutAt[x.at], timeouts, "timeout", "timeouts")
	}
	l.add("reordering", "go-back-n", late, tries, "try", "tries")
	l.add("one-sided", "go-back-n", unheard, tries, "try without a cause here", "tries without a cause here")
	l.add("ack-timeout", "go-back-n", asTimeout, tries, "try", "tries")
	l.add("lost-before-tap", "selective-repeat", repeated, selective, "packet", "packets")
	l.add("icrc-bad", "lost-before-tap", min(corrupt, lost), lost, "packet", "packets")
}

func lostBefore(st *stream) uint64 {
	return st.req.Lost.BeforeTap + st.resp.ReadResponses.LostBeforeTap
}

// placesLost are the places of tries, where the stream is one that the finding
// on that place has.
func (st *stream) placesLost(at *[record.NumPlaces]uint64) (out [record.NumPlaces]uint64) {
	if lostBefore(st) > 0 {
		out[record.BeforeTap] = at[record.BeforeTap]
	}
	if st.req.Lost.AfterTap > 0 { // READ answers among it
		out[record.AfterTap] = at[record.AfterTap] + min(at[record.Answer], st.AnswersAfter)
	}
	if st.answersLost() > 0 {
		out[record.Answer] = at[record.Answer] - min(at[record.Answer], st.AnswersAfter)
	}
	return out
}

// failures ties requesters that gave up to what is known of the way.
func (l *links) failures() {
	if l.get("retry-exhausted") == nil {
		return
	}
	refused := make(map[string]bool) // by whoever sent ICMP errors
	if x := l.get("icmp-error"); x != nil {
		list, _ := x.Evidence.Get("errors").([]record.Evidence)
		for _, e := range list {
			if s, ok := e.Get("sender").(string); ok {
				refused[s] = true
			}
		}
	}
	var n, by, before, after uint64
	for _, x := range gaveUp(l.f, false) {
		n++
		if refused[host(x.to())] {
			by++
		}
		if lostBefore(&x.stream) > 0 {
			before++
		}
		if x.req.Lost.AfterTap > 0 {
			after++
		}
	}
	l.add("icmp-error", "retry-exhausted", by, n, "requester that gave up", "requesters that gave up")
	if before > 0 {
		l.about("lost-before-tap", "retry-exhausted", count(before)+" of "+plural(n, "stream")+" that gave up")
	}
	if after > 0 {
		l.about("lost-after-tap", "retry-exhausted", count(after)+" of "+plural(n, "stream")+" that gave up")
	}
}

// marks ties what ECN marks and CNPs say.
func (l *links) marks() {
	var marked, streams uint64
	for st := range l.f.whole() {
		if st.late() {
			streams++
			if n, _ := st.marked(); n > 0 {
				marked++
			}
		}
	}
	l.add("congested", "answer-late", marked, streams, "stream", "streams")
	l.about("congested", "ecn-no-reaction", "the same marks")
	l.about("congested", "cnp-ignored", "the marks and their CNPs")
	var queued, streamsMarked uint64
	for st := range l.f.streams() {
		x := st.req.Congestion
		if x == nil || x.CNPsMarked == 0 {
			continue
		}
		streamsMarked++
		main, ok := st.resp.DataDSCP()
		if ok && slices.ContainsFunc(st.req.CNPDSCP, func(c record.DSCPCount) bool { return c.DSCP == main && c.Packets > 0 }) {
			queued++
		}
	}
	l.add("cnp-class", "cnp-ce-marked", queued, streamsMarked, "stream", "streams")
}

// crowds ties what happened to hosts that sent to one at the same time to that:
// while they did, in their sessions with it.
func (l *links) crowds() {
	if l.get("incast") == nil {
		return
	}
	type way struct {
		from, to decode.Addr
		vni      uint32
	}
	in := make(map[way]stretch)
	crowds := l.f.crowds()
	for i := range crowds {
		x := &crowds[i]
		var begun, ended []int64
		for _, s := range x.senders {
			begun, ended = append(begun, s.first), append(ended, s.last)
		}
		slices.Sort(begun)
		slices.Sort(ended)
		for _, s := range x.senders { // while two of them or more did
			in[way{s.end.Addr, x.r.end.Addr, x.r.vni}] = stretch{begun[1], ended[len(ended)-2]}
		}
	}
	var n, all [5]uint64
	codes := [...]string{"lost-before-tap", "lost-after-tap", "ack-timeout", "answer-late", "congested"}
	l.about("incast", "microbursts", "the same receivers")
	for st := range l.f.streams() {
		span, ok := in[way{st.from().Addr, st.to().Addr, st.s.VNI}]
		within := func(ref record.FrameRef, has bool) bool {
			return ok && has && ref.Time >= span.from && ref.Time <= span.to
		}
		tried := within(st.FirstTry(record.AnyTry))
		mark, has := st.First(record.KindCE)
		marks, _ := st.marked()
		late := st.late()
		for i, x := range [...]struct{ is, here bool }{
			{lostBefore(&st) > 0, tried},
			{st.req.Lost.AfterTap > 0, tried},
			{st.req.Tries[record.CauseTimeout] > 0 && !st.onlyGaveUp() && !late, tried},
			{late, tried},
			{marks > 0, within(mark, has)},
		} {
			if x.is && (i == len(codes)-1 || !l.f.partly(&st)) {
				all[i]++
				if x.here {
					n[i]++
				}
			}
		}
	}
	sure := l.get("incast").Severity > record.Info // else it may be one sender's own path
	for i, code := range codes {
		switch {
		case sure:
			l.add("incast", code, n[i], all[i], "stream", "streams")
		case n[i] > 0:
			l.about("incast", code, "at the same time in "+count(n[i])+" of "+plural(all[i], "stream"))
		}
	}
}

// pauses ties those who wait to who pauses them, and their timeouts to that.
func (l *links) pauses() {
	deadlocked := l.f.circular()
	storms := uint64(0)
	for i := range l.f.Pause.Rows {
		if deadlocked[i] && l.f.Pause.Rows[i].Storms > 0 {
			storms++
		}
	}
	l.add("pause-deadlock-suspect", "pfc-storm", storms, uint64(len(l.f.Pause.Storms)), "storm", "storms")
	if tree := l.get("pause-tree"); tree != nil {
		roots, _ := tree.Evidence.Get("worst").([]record.Evidence)
		if len(roots) > 0 {
			switch row := l.f.rowOf(roots[0]); {
			case row == nil:
			case row.Storms > 0:
				l.about("pause-tree", "pfc-storm", "its root "+row.MAC.String())
			default:
				l.about("pause-tree", "pause-time", "its root "+row.MAC.String())
			}
		}
	}
	victims := l.get("pause-victims")
	if victims == nil {
		return
	}
	list, _ := victims.Evidence.Get("streams").([]record.Evidence)
	pauses := make(map[string][]stretch, len(list)) // by session
	var stormy, quiet uint64
	for _, e := range list {
		row := l.f.rowOf(e)
		if row == nil {
			continue
		}
		if row.Storms > 0 {
			stormy++
		} else {
			quiet++
		}
		id := e.Get("session").(string)
		if pauses[id] == nil { // the other direction is paused by another, and waits less
			pauses[id] = l.f.pausesOf(row)
		}
	}
	n := uint64(len(list))
	l.add("pfc-storm", "pause-victims", stormy, n, "stream listed", "streams listed")
	l.add("pause-time", "pause-victims", quiet, n, "stream listed", "streams listed")
	var paused, timeouts, silent, silences uint64
	for i := range l.f.Signs {
		e := &l.f.Signs[i]
		covered := func(lasted int64) uint64 {
			if p := pauses[e.Session]; len(p) > 0 && 2*within(p, e.Time-lasted, e.Time) >= lasted {
				return 1
			}
			return 0
		}
		switch d := e.Detail.(type) {
		case *record.Try:
			if d.Cause == record.CauseTimeout {
				timeouts++
				paused += covered(d.Silence)
			}
		case record.Silence:
			if d.Lasted >= minSilence {
				silences++
				silent += covered(d.Lasted)
			}
		}
	}
	l.add("pause-victims", "ack-timeout", paused, timeouts, "long wait", "long waits")
	l.add("pause-victims", "answer-late", paused, timeouts, "long wait", "long waits")
	l.add("pause-victims", "silence", silent, silences, "silence", "silences")
}

// rowOf is the row that evidence names, see rowEvidence, nil without one.
func (f *Facts) rowOf(e record.Evidence) *pause.Row {
	for i := range f.Pause.Rows {
		r := &f.Pause.Rows[i]
		if !slices.ContainsFunc(f.rowEvidence(r), func(x record.Fact) bool { return e.Get(x.Key) != x.Value }) {
			return r
		}
	}
	return nil
}

// stretch is a length of time.
type stretch struct{ from, to int64 }

// pausesOf are the pauses of a row that are kept, in the order of time.
func (f *Facts) pausesOf(r *pause.Row) (all []stretch) {
	for i := range f.Pause.Intervals {
		if x := &f.Pause.Intervals[i]; x.Pauser == r.Pauser && x.Priority == r.Priority {
			all = append(all, stretch{x.Start.Time, x.Start.Time + x.Paused})
		}
	}
	return all
}

// within is for how long of a time some of them lasted.
func within(all []stretch, from, to int64) (ns int64) {
	i, _ := slices.BinarySearchFunc(all, from, func(s stretch, t int64) int { return cmp.Compare(s.to, t) })
	for ; i < len(all) && all[i].from < to; i++ {
		ns += max(0, min(to, all[i].to)-max(from, all[i].from))
	}
	return ns
}

// captures ties what can't be told to what is not in the capture, and what the
// mirror lost to who says so.
func (l *links) captures() {
	if x, y := l.get("one-sided"), l.get("silence"); x != nil && y != nil {
		var n uint64
		for _, id := range y.Sessions {
			if slices.Contains(x.Sessions, id) {
				n++
			}
		}
		if n > 0 {
			l.about("one-sided", "silence", "it may wait for answers that are not here, in "+plural(n, "session"))
		}
	}
	x := l.get("capture-loss")
	if x == nil {
		return
	}
	for _, from := range [...]struct{ key, code string }{{"mirror_missing", "mirror-gaps"}, {"capture_drops", "capture-drops"}} {
		if n, _ := x.Evidence.Get(from.key).(uint64); n > 0 {
			l.tie(from.code, "capture-loss", record.Explains, record.ExplainedBy, plural(n, "frame")+" counted")
		}
	}
}
