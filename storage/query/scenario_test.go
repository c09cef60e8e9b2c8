package query_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// analysed is a scenario with all records of its analysis.
type analysed struct {
	origin    schema.Origin
	result    *pipeline.Result
	sessions  []schema.Session
	intervals []record.FlowInterval
	findings  []schema.Finding
	r         query.Range // all of it
}

// analyse runs a scenario through the pipeline.
func analyse(t testing.TB, name string) *analysed {
	t.Helper()
	path, _ := scenariotest.File(t, name)
	src, err := capture.OpenAll([]string{path}, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	a := &analysed{origin: schema.Origin{Probe: "probe", Run: "run of " + name}}
	cfg := pipeline.DefaultConfig()
	cfg.Workers = 1
	cfg.Track.Intervals.Sink = func(list []record.FlowInterval) {
		for _, iv := range list {
			a.intervals = append(a.intervals, kept(iv))
		}
	}
	if a.result, err = pipeline.Run(t.Context(), src, cfg); err != nil {
		t.Fatal(err)
	}
	for _, in := range src.Inputs() {
		tap := schema.Input{Tap: name}
		for i := range in.Interfaces {
			tap.Interfaces = append(tap.Interfaces, in.Interfaces[i].Name)
		}
		a.origin.Inputs = append(a.origin.Inputs, tap)
	}
	from, to := a.result.First, a.result.Last
	a.r = query.Range{From: time.Unix(0, from).UTC(), To: time.Unix(0, to+1).UTC()}
	for i := range a.result.Sessions.Len() {
		a.sessions = append(a.sessions, schema.Session{Session: a.result.Sessions.At(i), Updated: to, Final: true})
	}
	for _, f := range finding.Find(&finding.Facts{Inputs: src.Inputs(), Result: a.result}) {
		row, err := schema.NewFinding(&f, from, to)
		if err != nil {
			t.Fatal(err)
		}
		a.findings = append(a.findings, row)
	}
	return a
}

// kept is an interval with histograms of its own.
func kept(iv record.FlowInterval) record.FlowInterval {
	all := []*sketch.Histogram{&iv.AckLatency, &iv.NakReaction, &iv.NPDelay, &iv.MarkWait, &iv.ToSlow, &iv.ToRecover}
	for k := range iv.Latency {
		all = append(all, &iv.Latency[k])
	}
	for _, h := range all {
		var c sketch.Histogram
		c.Merge(h)
		*h = c
	}
	return iv
}

func (a *analysed) load(t testing.TB, m *made) {
	t.Helper()
	old := slices.Clone(a.sessions) // as it was known while the session was open
	for i := range old {
		s := *old[i].Session
		s.AToB.Packets, s.State = s.AToB.Packets/2, record.StateOpen
		old[i] = schema.Session{Session: &s, Updated: a.result.First}
	}
	load(t, m, schema.Sessions(), &a.origin, a.sessions)
	load(t, m, schema.Sessions(), &a.origin, old)
	load(t, m, schema.Events(), &a.origin, a.result.Events)
	load(t, m, schema.PauseIntervals(), &a.origin, a.result.Pause.Intervals)
	load(t, m, schema.Findings(), &a.origin, a.findings)
	load(t, m, schema.FlowIntervals(), &a.origin, a.intervals)
}

// TestScenarios holds the answers about analysed scenarios against the records
// of their analysis.
func TestScenarios(t *testing.T) {
	m := start(t)
	seen := map[string]int{}
	for _, name := range []string{
		"clean_write", "clean_cm", "loss_before", "loss_bidirectional", "several_tries", "random_loss", "retry_exceeded", "ud_sequence", "equal_qpns", "reorder_nak_ipv6",
		"cnp", "incast", "pfc_toggle", "pfc_storm", "pfc_priorities",
	} {
		a := analyse(t, name)
		a.load(t, m)
		t.Run(name, func(t *testing.T) {
			a.checkSessions(t, m, seen)
			a.checkTotals(t, m)
			a.checkWorst(t, m, seen)
			a.checkStorms(t, m, seen)
		})
	}
	for _, what := range []string{"events", "findings", "retransmitted", "lost", "ce", "latency", "lag", "storms", "pauses", "counters", "paused flows", "no retransmitted"} {
		if seen[what] == 0 {
			t.Errorf("no scenario had %s", what)
		}
	}
}

func (a *analysed) where() query.Where { return query.Where{Run: a.origin.Run} }

// bucketed says whether a distribution is that of a histogram.
func bucketed(d query.Distribution, h *sketch.Histogram) bool {
	if h == nil || h.Count == 0 {
		return d == query.Distribution{}
	}
	for q, got := range map[float64]int64{0.5: d.P50, 0.99: d.P99, 0.999: d.P999} {
		if sketch.Bucket(got) != sketch.Bucket(h.Quantile(q)) {
			return false
		}
	}
	return d.Count == h.Count
}

// checkSessions finds each session by the QPN of either end, its address, both,
// and its id, and holds its story against the events.
func (a *analysed) checkSessions(t *testing.T, m *made, seen map[string]int) {
	for i := range a.sessions {
		s := a.sessions[i].Session
		ask := []query.Sessions{{ID: s.ID}}
		for _, e := range []record.Endpoint{s.A, s.B} {
			addr := netip.MustParseAddr(unmapped(e.Addr))
			ask = append(ask, query.Sessions{Addr: addr, Range: a.r})
			if e.HasQPN {
				ask = append(ask, query.Sessions{QPN: e.QPN, HasQPN: true}, query.Sessions{QPN: e.QPN, HasQPN: true, Addr: addr})
			}
		}
		var got *query.Session
		for _, q := range ask {
			q.Where = a.where()
			found, err := m.Sessions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for j := range found.Rows {
				f := &found.Rows[j]
				if f.Session == s.ID {
					got = f
					n++
				}
				ends := []string{f.A.Addr, f.B.Addr}
				if q.Addr.IsValid() && !slices.Contains(ends, q.Addr.String()) || q.HasQPN && q.QPN != f.A.QPN && q.QPN != f.B.QPN {
					t.Errorf("%+v found %s", q, f.Session)
				}
				if q.Addr.IsValid() && q.HasQPN && !(ends[0] == q.Addr.String() && f.A.QPN == q.QPN || ends[1] == q.Addr.String() && f.B.QPN == q.QPN) {
					t.Errorf("%+v found %s, where the number is the other end's", q, f.Session)
				}
			}
			if n != 1 {
				t.Fatalf("%+v found %s %d times, among %d", q, s.ID, n, len(found.Rows))
			}
		}
		if got.State != s.State.String() || !got.Final || got.Tap != a.origin.Inputs[0].Tap || got.Service != s.Service.String() ||
			!got.First.Equal(time.Unix(0, s.First.Time)) || !got.Last.Equal(time.Unix(0, s.Last.Time)) || got.A.Addr != unmapped(s.A.Addr) || got.CM != (s.CM != nil) {
			t.Errorf("%s: %+v", s.ID, got)
		}
		for _, side := range []struct {
			got *query.Side
			d   *record.Direction
		}{{&got.A, &s.AToB}, {&got.B, &s.BToA}} {
			g, d := side.got, side.d
			have := []uint64{g.Packets, g.WireBytes, g.PayloadBytes, g.GoodputBytes, g.MessagesCompleted, g.RetransmittedPackets, g.RetransmittedBytes, g.LostBeforeTap, g.LostAfterTap, g.CNPsReceived, g.PeakPackets, g.PeakBytes, uint64(g.Counters["acks"])}
			want := []uint64{d.Packets, d.WireBytes, d.PayloadBytes, d.GoodputBytes, d.Messages.Completed, d.Retransmitted.Packets, d.Retransmitted.Bytes, d.Lost.BeforeTap, d.Lost.AfterTap, d.CNPsReceived, d.PeakPackets, d.PeakBytes, d.Acks}
			if !slices.Equal(have, want) {
				t.Errorf("%s: %v, want %v", s.ID, have, want)
			}
			seen["counters"] += len(g.Counters)
			c := d.Congestion
			if c == nil {
				c = new(record.Congestion)
			}
			if !bucketed(g.AckLatency, &d.AckLatency) || !bucketed(g.MessageLatency, &d.MessageLatency) || !bucketed(g.NakReaction, &d.NakReaction) ||
				!bucketed(g.NPDelay, &c.NPDelay) || !bucketed(g.MarkWait, &c.MarkWait) || !bucketed(g.CNPToSlow, &c.ToSlow) || !bucketed(g.SlowToRecover, &c.ToRecover) {
				t.Errorf("%s: durations %+v", s.ID, g)
			}
		}
		a.checkStory(t, m, got, seen)
	}
}

func (a *analysed) checkStory(t *testing.T, m *made, s *query.Session, seen map[string]int) {
	story, err := m.Story(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, e := range a.result.Events {
		if e.Session == s.Session {
			want = append(want, fmt.Sprint(e.Time, " ", e.Detail.Kind(), " frame ", e.Frame.Number, " ", max(e.Count, 1), " times"))
		}
	}
	for _, e := range story.Events.Rows {
		got = append(got, fmt.Sprint(e.Time.UnixNano(), " ", e.Kind, " frame ", e.Frame, " ", e.Count, " times"))
	}
	if !slices.IsSortedFunc(story.Events.Rows, func(a, b query.Event) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("events of %s are not in order", s.Session)
	}
	slices.Sort(want)
	slices.Sort(got)
	seen["events"] += len(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of %s (-want +got):\n%s", s.Session, diff)
	}
	want, got = nil, nil
	for _, f := range a.findings {
		if slices.Contains(f.Sessions, s.Session) {
			want = append(want, f.Severity.String()+" "+f.Code+": "+f.Title)
		}
	}
	for _, f := range story.Findings.Rows {
		got = append(got, f.Severity+" "+f.Code+": "+f.Title)
	}
	slices.Sort(want)
	slices.Sort(got)
	seen["findings"] += len(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings on %s (-want +got):\n%s", s.Session, diff)
	}
}

// checkTotals: sessions and flows sum up to the same, which is what the sessions
// of the analysis sum up to.
func (a *analysed) checkTotals(t *testing.T, m *made) {
	var want query.Total
	for _, s := range a.sessions {
		for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
			if d.Packets > 0 {
				want.Flows++
			}
			want.Packets += d.Packets
			want.WireBytes += d.WireBytes
			want.PayloadBytes += d.PayloadBytes
			want.GoodputBytes += d.GoodputBytes
			want.MessagesCompleted += d.Messages.Completed
			want.RetransmittedPackets += d.Retransmitted.Packets
			want.RetransmittedBytes += d.Retransmitted.Bytes
			want.LostBeforeTap += int64(d.Lost.BeforeTap)
			want.LostAfterTap += int64(d.Lost.AfterTap)
			want.CE += d.ECN[3]
			want.CNPsReceived += d.CNPsReceived
		}
	}
	want.Group = a.origin.Run
	var r query.Range
	for range 2 {
		totals, err := m.Totals(t.Context(), query.Totals{By: query.PerRun, Where: a.where(), Range: r})
		if err != nil {
			t.Fatal(err)
		}
		if len(totals.Rows) != 1 {
			t.Fatalf("%+v", totals)
		}
		got := totals.Rows[0]
		if (got.First.IsZero() || got.Last.Before(got.First)) && got.Packets > 0 {
			t.Errorf("from %v to %v", got.First, got.Last)
		}
		got.First, got.Last = time.Time{}, time.Time{}
		if got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", totals.Table, got, want)
		}
		r = query.Range{From: a.r.From.Truncate(time.Second), To: a.r.To}
	}
}

// checkWorst: the worst flow is the worst direction, and a clean scenario has
// none.
func (a *analysed) checkWorst(t *testing.T, m *made, seen map[string]int) {
	r := query.Range{From: a.r.From.Truncate(time.Second), To: a.r.To}
	for by, of := range map[query.Measure]func(d *record.Direction) uint64{
		query.ByRetransmitted: func(d *record.Direction) uint64 { return d.Retransmitted.Packets },
		query.ByLost:          func(d *record.Direction) uint64 { return d.Lost.BeforeTap + d.Lost.AfterTap },
		query.ByCE:            func(d *record.Direction) uint64 { return d.ECN[3] },
		query.ByLatency:       func(d *record.Direction) uint64 { return d.AckLatency.Count },
	} {
		n, most := 0, uint64(0)
		for _, s := range a.sessions {
			for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
				if of(d) > 0 {
					n++
					most = max(most, of(d))
				}
			}
		}
		worst, err := m.WorstFlows(t.Context(), query.WorstFlows{Range: r, Where: a.where(), By: by, Limit: query.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		if len(worst.Rows) != n {
			t.Errorf("%d flows with %v, want %d", len(worst.Rows), by, n)
		}
		if n == 0 {
			seen["no "+by.String()]++
			continue
		}
		seen[by.String()]++
		f := worst.Rows[0]
		got := map[query.Measure]uint64{query.ByRetransmitted: f.RetransmittedPackets, query.ByLost: uint64(f.LostBeforeTap + f.LostAfterTap)}
		if v, ok := got[by]; ok && v != most {
			t.Errorf("the worst has %d %v, want %d", v, by, most)
		}
	}
	paused, err := m.WorstFlows(t.Context(), query.WorstFlows{Range: r, Where: a.where(), By: query.ByPause})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.result.Pause.Intervals) == 0 && len(paused.Rows) > 0 {
		t.Errorf("paused without pauses: %+v", paused.Rows)
	}
	seen["paused flows"] += len(paused.Rows)
	lag, err := m.Percentiles(t.Context(), query.LagByDSCP(r, a.where()))
	if err != nil {
		t.Fatal(err)
	}
	var all [4]sketch.Histogram
	for _, s := range a.sessions {
		for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
			if c := d.Congestion; c != nil {
				for i, h := range []*sketch.Histogram{&c.NPDelay, &c.MarkWait, &c.ToSlow, &c.ToRecover} {
					all[i].Merge(h)
				}
			}
		}
	}
	for _, row := range lag.Rows {
		if !bucketed(row.Distribution, &all[slices.Index(query.Lag(), row.Of)]) {
			t.Errorf("lag %+v", row)
		}
		seen["lag"]++
	}
}

// checkStorms: pauses and storms of each port and priority are those of the
// records.
func (a *analysed) checkStorms(t *testing.T, m *made, seen map[string]int) {
	want := map[string]query.Storm{}
	key := func(iface, mac, kind string, priority uint8) string {
		return strings.Join([]string{iface, mac, kind, fmt.Sprint(priority)}, " ")
	}
	kind := func(pfc bool) string {
		if pfc {
			return "pfc"
		}
		return "802.3x"
	}
	for _, p := range a.result.Pause.Intervals {
		k := key(p.Name, p.MAC.String(), kind(p.PFC), p.Priority)
		s := want[k]
		s.Pauses++
		s.Frames += p.Frames
		s.PausedNS += p.Paused
		if p.Storm {
			s.StormNS += p.Paused
		}
		s.LongestNS = max(s.LongestNS, p.Paused)
		want[k] = s
	}
	for _, e := range a.result.Events {
		if d, ok := e.Detail.(*record.Storm); ok {
			for _, p := range d.Priorities {
				k := key(d.Name, d.MAC.String(), kind(d.PFC), p.Priority)
				s := want[k]
				s.Storms++
				want[k] = s
			}
		}
	}
	for _, all := range []bool{false, true} {
		storms, err := m.Storms(t.Context(), query.Storms{Where: a.where(), All: all, Range: a.r})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]query.Storm{}
		for _, s := range storms.Rows {
			got[key(s.Interface, s.SrcMAC, s.Type, s.Priority)] = query.Storm{
				Storms: s.Storms, Pauses: s.Pauses, Frames: s.Frames, PausedNS: s.PausedNS, StormNS: s.StormNS, LongestNS: s.LongestNS,
			}
		}
		expect := map[string]query.Storm{}
		for k, s := range want {
			if all || s.StormNS > 0 {
				expect[k] = s
				seen["storms"] += int(s.Storms)
				seen["pauses"] += int(s.Pauses)
			}
		}
		if diff := cmp.Diff(expect, got); diff != "" {
			t.Errorf("all %v (-want +got):\n%s", all, diff)
		}
	}
}
