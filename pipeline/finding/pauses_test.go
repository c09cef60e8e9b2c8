package finding_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestFlowControl: what each simulated capture of flow control has to say.
func TestFlowControl(t *testing.T) {
	a, switchA, switchB := "02:52:4f:00:00:01", "02:52:4f:00:00:02", "02:52:4f:00:00:03"
	for name, want := range map[string]struct {
		codes string
		has   []string
	}{
		"pfc_toggle":     {"warning pause-time, warning pause-victims", []string{switchA + " paused priority 3 at port1 for 15.0 % of the time.", "in 200 pauses, the longest of 30.0 µs"}},
		"pfc_untagged":   {"warning pause-time", nil},
		"pfc_expiry":     {"warning pause-time, warning pause-victims", []string{"in 21 pauses, the longest of 335.5 µs"}},
		"pfc_priorities": {"warning pause-time, warning pause-victims", []string{"and 4 others like it", "paused all traffic at port2 for 7.5 % of the time", "802.3x PAUSE stops all priorities"}},
		"pfc_no_speed":   {"info pause-speed-unknown", []string{"how long traffic was paused at port1: the speed of the link is not known", "--link-speed port1=100G"}},
		"pfc_storm":      {"critical pfc-storm, warning pause-victims", []string{switchA + " kept priorities 3 and 4 paused at port1 for 500.0 ms."}},
		"pfc_storm_open": {"critical pfc-storm, warning pause-victims", []string{a + " kept priority 3 paused at port1 for 500.0 ms.", "had not ended when the capture did"}},
		"pfc_deaf": {"warning pause-time, warning pause-ignored", []string{
			a + " goes on sending priority 3 while " + switchA + " pauses it: 4", "in 10 of 10 pauses at port1",
		}},
		"pfc_tree": {"warning pause-tree, info pause-time, info pause-victims", []string{
			"Congestion at " + a + " spreads: it pauses priority 3 at leaf-host, and that goes on to 3 more links.",
			switchA + ", paused by " + a + " at leaf-host, paused others at leaf-spine (20 of 20 pauses began meanwhile)",
			switchB + ", paused by " + switchA + " at leaf-spine, paused others at spine-c",
		}},
		"pfc_cycle": {"critical pause-deadlock-suspect, critical pfc-storm, warning pause-victims", []string{
			"3 stations kept one another from sending priority 3 in a circle, for 499.9 ms", switchA + " pauses " + switchB + " at a-b", "pauses " + switchA + " at c-a",
			"3 pause storms, the longest: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := scenario.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			_, all, truth := analyzeScenario(t, sc)
			checkPauses(t, all, want.codes, want.has)
			checkVictims(t, all, truth)
		})
	}
}

// checkVictims: those who stop are victims, and wait for as long as they are
// paused; nobody else is.
func checkVictims(t *testing.T, all []record.Finding, truth *scenario.Truth) {
	t.Helper()
	waited := make(map[string]int64)
	for _, f := range all {
		if f.Code == "pause-victims" {
			for _, e := range f.Evidence.Get("streams").([]record.Evidence) {
				waited[e.Get("to").(string)] = e.Get("waited_ns").(int64)
			}
		}
	}
	for _, x := range truth.Packets {
		paused := int64(0)
		for _, p := range truth.Pauses {
			if p.Speed == 0 || p.Interface != x.Interface || p.MAC == x.MAC || p.Type == "pfc" && (p.Priority != x.Priority || !x.Tagged) || x.Late > 0 {
				continue
			}
			for _, s := range p.Spans {
				paused += s.End - s.Start
			}
		}
		found := int64(0)
		for to, ns := range waited {
			if strings.HasSuffix(to, "/0x"+strconv.FormatUint(uint64(x.QPN), 16)) {
				found = ns
				delete(waited, to)
			}
		}
		// Some packets come before it stops.
		if found > paused || found < paused*95/100 {
			t.Errorf("%+v: waited for %d ns, was paused for %d", x, found, paused)
		}
	}
	if len(waited) > 0 {
		t.Errorf("no victims: %v", waited)
	}
}

// checkPauses looks at severities, codes and texts, and that all evidence is
// documented.
func checkPauses(t *testing.T, all []record.Finding, codes string, has []string) {
	t.Helper()
	var got []string
	var text strings.Builder
	known := finding.Codes()
	for _, f := range all {
		got = append(got, f.Severity.String()+" "+f.Code)
		text.WriteString(f.Title + ". " + f.Detail + "\n")
		row := slices.IndexFunc(known, func(c finding.Code) bool { return c.Code == f.Code })
		if row < 0 || !slices.Contains(known[row].Severities, f.Severity) {
			t.Errorf("%s with severity %s is not in the table", f.Code, f.Severity)
			continue
		}
		hasKeys(t, &known[row], f.Evidence)
		if strings.HasSuffix(f.Title, ".") || !strings.HasSuffix(f.Detail, ".") {
			t.Errorf("%s: title %q, detail %q", f.Code, f.Title, f.Detail)
		}
		if _, ok := f.Evidence.Get("first").(record.FrameRef); !ok {
			t.Errorf("%s: no first frame", f.Code)
		}
	}
	if s := strings.Join(got, ", "); s != codes {
		t.Errorf("%s, want %s", s, codes)
	}
	for _, s := range has {
		if !strings.Contains(text.String(), s) {
			t.Errorf("%q is not in\n%s", s, text.String())
		}
	}
}

// hasKeys looks for the keys of evidence, and of what is in it.
func hasKeys(t *testing.T, c *finding.Code, e record.Evidence) {
	t.Helper()
	for _, f := range e {
		if !strings.Contains(c.Evidence, "`"+f.Key+"`") {
			t.Errorf("%s: the evidence %s is not documented", c.Code, f.Key)
		}
		if list, ok := f.Value.([]record.Evidence); ok {
			for _, inner := range list {
				hasKeys(t, c, inner)
			}
		}
	}
}

// TestPauseRules has what no scenario shows.
func TestPauseRules(t *testing.T) {
	const second = int64(1e9)
	by := func(iface int32, sender byte) record.Pauser {
		return record.Pauser{Interface: iface, Name: []string{"eth0", ""}[iface&1], MAC: decode.MAC{2, 5: sender}, PFC: true}
	}
	row := func(iface int32, sender byte, paused int64) pause.Row {
		return pause.Row{Pauser: by(iface, sender), Priority: 3, Speed: 1e11, XOff: 9, Pauses: 9, Paused: paused, Longest: paused / 2}
	}
	for _, tc := range []struct {
		name string
		set  func(r *pause.Result)
		want string
		has  []string
	}{
		{"hardly any", func(r *pause.Result) { r.Rows = []pause.Row{row(0, 1, second/200)} }, "", nil},
		{"some", func(r *pause.Result) { r.Rows = []pause.Row{row(1, 1, second/50)} }, "info pause-time", []string{"at 1 for 2.0 % of the time"}},
		{"much", func(r *pause.Result) { r.Rows = []pause.Row{row(0, 1, second/50), row(0, 2, second/5)} }, "warning pause-time",
			[]string{"02:00:00:00:00:02 paused priority 3 at eth0 for 20.0 % of the time, and 1 other like it"}},
		{"only going on", func(r *pause.Result) { r.Rows = []pause.Row{{Pauser: by(0, 1), XOn: 5}} }, "", nil},
		{"late, of one", func(r *pause.Result) {
			x := row(0, 1, 0)
			x.Late = pause.Late{Packets: 8, Pauses: 2, From: decode.MAC{5: 9}}
			r.Rows = []pause.Row{x, row(0, 2, 0)}
		}, "warning pause-ignored", []string{"00:00:00:00:00:09 goes on sending priority 3 while 02:00:00:00:00:01 pauses it: 8 packets", "in 2 of 9 pauses"}},
		{"late, too few", func(r *pause.Result) {
			x := row(0, 1, 0)
			x.Late = pause.Late{Packets: 7, Pauses: 2}
			r.Rows = []pause.Row{x}
		}, "", nil},
		{"late, of several", func(r *pause.Result) {
			x := row(0, 1, 0)
			x.Late = pause.Late{Packets: 70, Pauses: 2, Mixed: true}
			r.Rows = []pause.Row{x}
		}, "", nil},
		{"late, where several ports are mirrored", func(r *pause.Result) {
			x := row(0, 1, 0)
			x.Late = pause.Late{Packets: 70, Pauses: 2}
			r.Rows = []pause.Row{x, row(0, 2, 0), row(0, 3, 0)}
		}, "", nil},
		{"two roots", func(r *pause.Result) {
			r.Rows = []pause.Row{row(0, 1, 0), row(1, 2, 0), row(2, 3, 0), row(3, 4, 0)}
			r.Spreads = []pause.Spread{{First: 0, Then: 1, Began: 9}, {First: 2, Then: 1, Began: 9}}
		}, "warning pause-tree", []string{"goes on to 1 more link; likewise from 1 other station"}},
		{"both ways at once", func(r *pause.Result) {
			r.Rows = []pause.Row{row(0, 1, 0), row(1, 2, 0)}
			r.Spreads = []pause.Spread{{First: 0, Then: 1, Began: 9}, {First: 1, Then: 0, Began: 9}}
		}, "", nil},
		{"storm of PAUSE", func(r *pause.Result) {
			s := pause.Storm{Storm: record.Storm{Pauser: by(0, 1), Lasted: second, Ended: true, Priorities: []record.StormPriority{{Paused: second, Frames: 9}}}}
			s.PFC = false
			r.Storms, r.StormsLeftOut = []pause.Storm{s, s}, 1
		}, "critical pfc-storm", []string{"3 pause storms, the longest: 02:00:00:00:00:01 kept all traffic paused at eth0 for 1.000 s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := facts()
			f.First, f.Last = 0, second
			tc.set(&f.Pause)
			checkPauses(t, finding.Find(f), tc.want, tc.has)
		})
	}
}

// TestVictims has what no scenario shows: when nobody in particular waited.
func TestVictims(t *testing.T) {
	const second = int64(1e9)
	stopped := func() (*finding.Facts, *record.Session, *pause.Traffic) {
		f := facts()
		f.First, f.Last = 0, 2*second
		s := session("s", end(1, 0x11), end(2, 0x12))
		s.AToB.WireBytes = 10_000 * 1000
		f.Sessions = record.SessionsOf(s)
		// Paused from 0.5 to 1 s by its receiver.
		f.Pause.Rows = []pause.Row{{
			Pauser: record.Pauser{MAC: decode.MAC{5: 9}, PFC: true}, Priority: 3, Speed: 1e11, XOff: 9, Pauses: 1, Paused: second / 2, Longest: second / 2, Storms: 1,
			First: record.FrameRef{Number: 5, Time: second / 2},
		}}
		f.Pause.Traffic = []pause.Traffic{{
			Flow:  pause.Flow{Src: s.A.Addr, Dst: s.B.Addr, Kind: s.A.Kind, DestQP: 0x12},
			First: second / 2, Last: 2 * second, Paused: second / 2, Waits: 1, Waited: second / 2,
		}}
		return f, f.Sessions.At(0), &f.Pause.Traffic[0]
	}
	for _, tc := range []struct {
		name string
		set  func(f *finding.Facts, s *record.Session, x *pause.Traffic)
		want string
		has  []string
	}{
		{"stood still", func(*finding.Facts, *record.Session, *pause.Traffic) {}, "warning pause-victims",
			[]string{"10.0.0.1/0x11 to 10.0.0.2/0x12 waited for 500.0 ms, 25.0 % of its time", "It sent less than half as much as otherwise while 00:00:00:00:00:09 paused priority 3 at 0."}},
		{"a tenth of its pace", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) {
			x.Packets, x.Bytes, x.Waited = 322, 322_581, second/10
		}, "info pause-victims", []string{"waited for 100.0 ms"}},
		{"most of its pace", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) { x.Packets, x.Bytes = 2000, 2_000_000 }, "", nil},
		{"sent nothing around the pauses", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) { x.Waits, x.Waited = 0, 0 }, "", nil},
		{"one short pause", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) { x.Waited = second / 200 }, "", nil},
		{"three short pauses", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) { x.Waits, x.Waited = 3, second/200 }, "info pause-victims", nil},
		{"three of a microsecond", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) { x.Waits, x.Waited = 3, 3000 }, "", nil},
		{"first seen after it, and older", func(_ *finding.Facts, _ *record.Session, x *pause.Traffic) {
			x.First, x.PausedBefore, x.Waits, x.Waited, x.Opening = second, second/2, 0, 0, second/2
		}, "warning pause-victims", []string{"waited for 500.0 ms, 25.0 %"}},
		{"began after it", func(_ *finding.Facts, s *record.Session, x *pause.Traffic) {
			s.AToB.First, x.First, x.PausedBefore, x.Waits, x.Waited, x.Opening = second, second, second/2, 0, 0, second/2
		}, "", nil},
		{"it came rarely", func(_ *finding.Facts, s *record.Session, _ *pause.Traffic) {
			s.AToB.Packets, s.AToB.WireBytes = 20, 20_000
		}, "", nil},
		{"another life of the QPN", func(f *finding.Facts, s *record.Session, _ *pause.Traffic) {
			other := *s
			other.ID, other.Incarnation = "t", 2
			f.Sessions = record.SessionsOf(*s, other)
		}, "", nil},
		{"in a tunnel", func(_ *finding.Facts, s *record.Session, _ *pause.Traffic) { s.HasVNI, s.VNI = true, 5 }, "", nil},
		{"never again", func(f *finding.Facts, s *record.Session, x *pause.Traffic) {
			s.AToB.Last = second / 2
			x.Last, x.Paused, x.Stopped = second/2, 0, true
			f.Last = second
		}, "warning pause-victims", []string{"waited for 500.0 ms, 50.0 %"}},
		{"the answers", func(_ *finding.Facts, s *record.Session, x *pause.Traffic) {
			s.A, s.B, s.AToB, s.BToA = s.B, s.A, s.BToA, s.AToB
		}, "warning pause-victims", []string{"10.0.0.1/0x11 to 10.0.0.2/0x12 waited"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, s, x := stopped()
			tc.set(f, s, x)
			all := slices.DeleteFunc(finding.Find(f), func(f record.Finding) bool { return f.Code != "pause-victims" })
			checkPauses(t, all, tc.want, tc.has)
		})
	}
}
