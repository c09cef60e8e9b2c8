package finding_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
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
		"pfc_toggle":     {"warning pause-time", []string{switchA + " paused priority 3 at port1 for 15.0 % of the time.", "in 200 pauses, the longest of 30.0 µs"}},
		"pfc_untagged":   {"warning pause-time", nil},
		"pfc_expiry":     {"warning pause-time", []string{"in 21 pauses, the longest of 335.5 µs"}},
		"pfc_priorities": {"warning pause-time", []string{"and 4 others like it", "paused all traffic at port2 for 7.5 % of the time", "802.3x PAUSE stops all priorities"}},
		"pfc_no_speed":   {"info pause-speed-unknown", []string{"how long traffic was paused at port1: the speed of the link is not known", "--link-speed port1=100G"}},
		"pfc_storm":      {"critical pfc-storm", []string{switchA + " kept priorities 3 and 4 paused at port1 for 500.0 ms."}},
		"pfc_storm_open": {"critical pfc-storm", []string{a + " kept priority 3 paused at port1 for 500.0 ms.", "had not ended when the capture did"}},
		"pfc_deaf": {"warning pause-time, warning pause-ignored", []string{
			a + " goes on sending priority 3 while " + switchA + " pauses it: 4", "in 10 of 10 pauses at port1",
		}},
		"pfc_tree": {"warning pause-tree, info pause-time", []string{
			"Congestion at " + a + " spreads: it pauses priority 3 at leaf-host, and that goes on to 3 more links.",
			switchA + ", paused by " + a + " at leaf-host, paused others at leaf-spine (20 of 20 pauses began meanwhile)",
			switchB + ", paused by " + switchA + " at leaf-spine, paused others at spine-c",
		}},
		"pfc_cycle": {"critical pause-deadlock-suspect, critical pfc-storm", []string{
			"3 stations kept one another from sending priority 3 in a circle, for 499.9 ms", switchA + " pauses " + switchB + " at a-b", "pauses " + switchA + " at c-a",
			"3 pause storms, the longest: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := scenario.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := sc.Write(&b, scenario.Options{Seed: 1}, scenario.PcapNG, ""); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "made.pcapng")
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			_, all := analyze(t, pipeline.DefaultConfig(), path)
			checkPauses(t, all, want.codes, want.has)
		})
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
			r.Storms, r.StormsLeftOut = []pause.Storm{s}, 2
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
