package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// linked are the links, "cause > effect: why", and "a ~ b: why" of what is about
// the same, each once. It fails where a link has no other end.
func linked(t *testing.T, all []record.Finding) []string {
	t.Helper()
	list := []string{}
	for _, f := range all {
		for _, r := range f.Related {
			other := slices.IndexFunc(all, func(x record.Finding) bool { return x.Code == r.Code })
			if other < 0 || r.Why == "" || r.Code == f.Code {
				t.Errorf("%s: %+v", f.Code, r)
				continue
			}
			back := record.Related{Code: f.Code, Relation: [...]record.Relation{record.Explains, record.ExplainedBy, record.SeeAlso}[r.Relation], Why: r.Why}
			if !slices.Contains(all[other].Related, back) {
				t.Errorf("%s has %+v, and %s has not %+v", f.Code, r, r.Code, back)
			}
			switch {
			case r.Relation == record.Explains:
				list = append(list, f.Code+" > "+r.Code+": "+r.Why)
			case r.Relation == record.SeeAlso && f.Code < r.Code:
				list = append(list, f.Code+" ~ "+r.Code+": "+r.Why)
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestLinksOfCaptures: what explains what in real captures, where the truth is
// known: the drops, the marks and who sent.
func TestLinksOfCaptures(t *testing.T) {
	for name, want := range map[string][]string{
		// 37 drops ahead of the tap, and nothing else.
		"loss_before_write_1pct": {"ack-timeout > go-back-n: 3 of 21 tries", "lost-before-tap > ack-timeout: 3 of 3 timeouts", "lost-before-tap > go-back-n: 21 of 21 tries"},
		"loss_after_send_1pct":   {"ack-timeout > go-back-n: 4 of 31 tries", "lost-after-tap > ack-timeout: 3 of 4 timeouts", "lost-after-tap > go-back-n: 30 of 31 tries"},
		"corrupt_write":          {"icrc-bad > lost-before-tap: 22 of 22 packets", "lost-before-tap > go-back-n: 16 of 16 tries"},
		// Packets dropped by the responder's host, which says so.
		"icmp_unreachable_reject": {"icmp-error > retry-exhausted: 1 of 1 requester that gave up"},
		"ecn_netem_ce_5pct":       {"congested ~ ecn-no-reaction: the same marks"},
		// Queueing without a drop, from two hosts to one.
		"incast_ecn_segment":    {"incast > answer-late: 4 of 4 streams", "incast ~ microbursts: the same receivers"},
		"incast_ecn_sw2A":       {"incast > congested: 2 of 6 streams", "one-sided > go-back-n: 7 of 7 tries without a cause here", "one-sided ~ silence: it may wait for answers that are not here, in 4 sessions"},
		"incast_clean_hostA":    {},
		"partition_heal_before": {}, // a silence, of which nothing is known
		"rc_write_1024":         {},
		// One host's own link loses packets: the others have nothing to do with it.
		"incast_lossy_C_segment": {
			"ack-timeout > go-back-n: 3 of 21 tries", "ack-timeout ~ incast: at the same time in 2 of 2 streams", "incast ~ lost-before-tap: at the same time in 2 of 2 streams",
			"lost-before-tap > ack-timeout: 3 of 3 timeouts", "lost-before-tap > go-back-n: 21 of 21 tries",
		},
	} {
		at := slices.IndexFunc(capturetest.All(t), func(c capturetest.Capture) bool { return c.Name == name })
		if at < 0 {
			continue // it is not among those that come with the source
		}
		_, all := analyze(t, pipeline.DefaultConfig(), capturetest.All(t)[at].Path)
		if d := cmp.Diff(want, linked(t, all)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLinksOfScenarios: pauses, those who wait for them, and mirrors that lose
// packets.
func TestLinksOfScenarios(t *testing.T) {
	for name, want := range map[string][]string{
		"pfc_storm":       {"pfc-storm > pause-victims: 1 of 1 stream listed"},
		"pfc_toggle":      {"pause-time > pause-victims: 1 of 1 stream listed"},
		"pfc_tree":        {"pause-time > pause-victims: 4 of 4 streams listed", "pause-time ~ pause-tree: its root 02:52:4f:00:00:01"},
		"pfc_cycle":       {"pause-deadlock-suspect > pfc-storm: 3 of 3 storms", "pfc-storm > pause-victims: 3 of 3 streams listed"},
		"thinned_erspan":  {"mirror-gaps > capture-loss: 11 frames counted"},
		"thinned_counted": {"capture-drops > capture-loss: 14 frames counted"},
		"reorder_nak":     {"reordering > go-back-n: 3 of 3 tries"},
		"incast":          {"incast > congested: 3 of 4 streams"},
		"cnp":             {},
	} {
		sc, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		_, all, _ := analyzeScenario(t, sc)
		if d := cmp.Diff(want, linked(t, all)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLinksNeedEvidence: findings of other streams, or of another time, are not
// tied to one another.
func TestLinksNeedEvidence(t *testing.T) {
	lossy, waiting := session("lossy", end(1, 0x11), end(2, 0x12)), session("waiting", end(3, 0x13), end(4, 0x14))
	lossy.AToB.Lost.BeforeTap = 3
	d := &waiting.AToB
	d.Retransmitted.Packets, d.Tries[record.CauseTimeout], d.Modes[record.GoBackN], d.Places[record.BeforeTap] = 20, 2, 2, 2
	d.Marks = &record.Marks{}
	d.Marks.Timeouts[record.BeforeTap] = 2
	f := facts()
	f.Sessions = record.SessionsOf(lossy, waiting)
	if got := linked(t, finding.Find(f)); !slices.Equal(got, []string{"ack-timeout > go-back-n: 2 of 2 tries"}) {
		t.Errorf("%v", got)
	}
	// The same in one stream.
	d.Lost.BeforeTap = 1
	f = facts()
	f.Sessions = record.SessionsOf(waiting)
	if got := linked(t, finding.Find(f)); !slices.Equal(got, []string{
		"ack-timeout > go-back-n: 2 of 2 tries", "lost-before-tap > ack-timeout: 2 of 2 timeouts", "lost-before-tap > go-back-n: 2 of 2 tries",
	}) {
		t.Errorf("%v", got)
	}
	// And of that session alone.
	if got := linked(t, finding.OfSession(&waiting, nil)); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// TestLinksOfPauses: timeouts and silences of those who wait for a pause are
// tied to it where most of them falls into pauses, and not where it does not.
func TestLinksOfPauses(t *testing.T) {
	const ms = int64(1_000_000)
	for _, tc := range []struct {
		name   string
		detail record.Detail
		at     int64 // when it ended
		storms uint64
		other  bool // it is of another session
		want   []string
	}{
		{"a timeout in the storm", &record.Try{Cause: record.CauseTimeout, Place: record.AfterTap, Silence: 100 * ms}, 900 * ms, 1, false,
			[]string{"ack-timeout > go-back-n: 1 of 1 try", "pause-victims > ack-timeout: 1 of 1 long wait", "pfc-storm > pause-victims: 1 of 1 stream listed"}},
		{"a timeout at another time", &record.Try{Cause: record.CauseTimeout, Place: record.AfterTap, Silence: 100 * ms}, 1500 * ms, 1, false,
			[]string{"ack-timeout > go-back-n: 1 of 1 try", "pfc-storm > pause-victims: 1 of 1 stream listed"}},
		{"less than half of it", &record.Try{Cause: record.CauseTimeout, Place: record.AfterTap, Silence: 100 * ms}, 1060 * ms, 1, false,
			[]string{"ack-timeout > go-back-n: 1 of 1 try", "pfc-storm > pause-victims: 1 of 1 stream listed"}},
		{"of another session", &record.Try{Cause: record.CauseTimeout, Place: record.AfterTap, Silence: 100 * ms}, 900 * ms, 1, true,
			[]string{"ack-timeout > go-back-n: 1 of 1 try", "pfc-storm > pause-victims: 1 of 1 stream listed"}},
		{"a silence, and many pauses", record.Silence{Lasted: 100 * ms}, 900 * ms, 0, false,
			[]string{"pause-time > pause-victims: 1 of 1 stream listed", "pause-victims > silence: 1 of 1 silence"}},
	} {
		f := facts()
		f.First, f.Last = 0, 2000*ms
		s, o := session("s", end(1, 0x11), end(2, 0x12)), session("o", end(3, 0x13), end(4, 0x14))
		s.AToB.WireBytes = 10_000 * 1000
		by := record.Pauser{MAC: decode.MAC{5: 9}, PFC: true}
		f.Pause.Rows = []pause.Row{{
			Pauser: by, Priority: 3, Speed: 1e11, XOff: 9, Pauses: 50, Paused: 500 * ms, Longest: 10 * ms, Storms: tc.storms, First: record.FrameRef{Number: 5, Time: 500 * ms},
		}}
		if tc.storms > 0 {
			f.Pause.Storms = []pause.Storm{{First: f.Pause.Rows[0].First, Storm: record.Storm{Pauser: by, Lasted: 500 * ms, Ended: true, Priorities: []record.StormPriority{{Priority: 3}}}}}
		}
		for i := range int64(50) { // from 0.5 to 1 s, back to back
			f.Pause.Intervals = append(f.Pause.Intervals, record.PauseInterval{Pauser: by, Priority: 3, Start: record.FrameRef{Time: (500 + 10*i) * ms}, Paused: 10 * ms})
		}
		f.Pause.Traffic = []pause.Traffic{{
			Flow: pause.Flow{Src: s.A.Addr, Dst: s.B.Addr, Kind: s.A.Kind, DestQP: 0x12}, First: 500 * ms, Last: 2000 * ms, Paused: 500 * ms, Waits: 1, Waited: 500 * ms,
		}}
		whose := &s
		if tc.other {
			whose = &o
		}
		if try, ok := tc.detail.(*record.Try); ok {
			d := &whose.AToB
			d.Retransmitted.Packets, d.Tries[record.CauseTimeout], d.Modes[record.GoBackN], d.Places[record.AfterTap] = 5, 1, 1, 1
			d.Marks = &record.Marks{Waited: try.Silence}
			d.Marks.Timeouts[record.AfterTap] = 1
		}
		f.Signs = []record.Event{{Time: tc.at, Session: whose.ID, Frame: record.FrameRef{Number: 9, Time: tc.at}, Count: 1, Detail: tc.detail}}
		f.Sessions = record.SessionsOf(s, o)
		if d := cmp.Diff(tc.want, linked(t, finding.Find(f))); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}

// TestRank: of one severity what costs most comes first, together with what
// explains it, and what can't be compared stays where it is.
func TestRank(t *testing.T) {
	build := func(wait int64, lost uint64, linked bool) *finding.Facts {
		f := facts()
		f.First, f.Last = 0, 2*second
		rnr, lossy := session("rnr", end(1, 0x11), end(2, 0x12)), session("lossy", end(3, 0x13), end(4, 0x14))
		rnr.AToB.RNRTime, rnr.AToB.Tries[record.CauseRNR], rnr.BToA.RNRNaks = wait, 3, 3
		d := &lossy.AToB
		d.Lost.BeforeTap, d.Retransmitted.Packets, d.Tries[record.CauseNak], d.Modes[record.GoBackN] = 1, lost, 1, 1
		if linked {
			d.Places[record.BeforeTap] = 1
		} else {
			d.Places[record.AfterTap] = 1
		}
		f.Sessions = record.SessionsOf(rnr, lossy)
		f.Malformed = 1
		return f
	}
	for _, tc := range []struct {
		name   string
		wait   int64
		again  uint64
		linked bool
		want   string
	}{
		{"waits cost most", second / 10, 20, true, "rnr-stall lost-before-tap go-back-n malformed"},
		{"repeats cost most", second / 1000, 400, true, "lost-before-tap go-back-n rnr-stall malformed"},
		{"each by itself", second / 1000, 400, false, "go-back-n rnr-stall lost-before-tap malformed"},
	} {
		var got []string
		for _, x := range withoutPauses(finding.Find(build(tc.wait, tc.again, tc.linked))) {
			if x.Severity == record.Warning {
				got = append(got, x.Code)
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, s, tc.want)
		}
	}
}
