package pause_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

func analyse(t *testing.T, cfg pipeline.Config, paths ...string) *pipeline.Result {
	t.Helper()
	src, err := capture.OpenAll(paths, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// key names a row as the truth does.
func key(p *record.Pauser, priority uint8) string {
	typ := "802.3x"
	if p.PFC {
		typ = "pfc"
	}
	return fmt.Sprint(p.Name, " ", p.MAC, " ", typ, " ", priority)
}

// TestScenarios holds what is found in each simulated capture against what
// really happened in it.
func TestScenarios(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		if !sc.FlowControl() {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			path, truth := scenariotest.File(t, sc.Name)
			r := analyse(t, pipeline.DefaultConfig(), path)
			judge(t, &r.Pause, truth)
			if truth.Pauses[0].Speed > 0 {
				return
			}
			// The user says it.
			told := *truth
			told.Pauses = nil
			for _, x := range truth.Pauses {
				y := *x
				y.Speed = truth.Network.Speed
				told.Pauses = append(told.Pauses, &y)
			}
			for _, l := range []pipeline.LinkSpeeds{
				{All: told.Network.Speed}, {All: 5, ByName: map[string]uint64{"port1": told.Network.Speed}}, {ByName: map[string]uint64{"0": told.Network.Speed}},
				{ByName: map[string]uint64{"1:port1": told.Network.Speed, "port1": 10 * gbit}}, {ByName: map[string]uint64{"1:0": told.Network.Speed}},
			} {
				cfg := pipeline.DefaultConfig()
				cfg.Links = l
				r := analyse(t, cfg, path)
				judge(t, &r.Pause, &told)
			}
		})
	}
}

func judge(t *testing.T, r *pause.Result, truth *scenario.Truth) {
	t.Helper()
	type row struct {
		Speed, XOff, XOn, Pauses, Expired uint64
		Paused, Longest                   int64
	}
	found, want := make(map[string]row), make(map[string]row)
	foundSpans, wantSpans := make(map[string][]span), make(map[string][]span)
	for i := range r.Rows {
		x := &r.Rows[i]
		found[key(&x.Pauser, x.Priority)] = row{x.Speed, x.XOff, x.XOn, x.Pauses, x.Expired, x.Paused, x.Longest}
	}
	for i := range r.Intervals {
		x := &r.Intervals[i]
		k := key(&x.Pauser, x.Priority)
		foundSpans[k] = append(foundSpans[k], span{Start: x.Start.Time, Paused: x.Paused, Frames: x.Frames, End: x.End.String()})
	}
	for _, x := range truth.Pauses {
		k := fmt.Sprint(x.Interface, " ", x.MAC, " ", x.Type, " ", x.Priority)
		w := row{Speed: x.Speed, XOff: x.XOff, XOn: x.XOn}
		if x.Speed > 0 {
			for _, s := range x.Spans {
				wantSpans[k] = append(wantSpans[k], span{Start: s.Start, Paused: s.End - s.Start, Frames: s.Frames, End: s.Why})
				w.Pauses++
				w.Paused += s.End - s.Start
				w.Longest = max(w.Longest, s.End-s.Start)
				if s.Why == "expired" {
					w.Expired++
				}
			}
		}
		want[k] = w
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(wantSpans, foundSpans); d != "" {
		t.Error(d)
	}
	var storms, wantStorms []scenario.StormTruth
	for i := range r.Storms {
		s := &r.Storms[i]
		x := scenario.StormTruth{Interface: s.Name, MAC: s.MAC.String(), Start: s.First.Time, End: s.End}
		for _, p := range s.Priorities {
			x.Priorities = append(x.Priorities, int(p.Priority))
		}
		storms = append(storms, x)
	}
	for _, s := range truth.Storms {
		x := *s
		if x.End > truth.Last {
			x.End = truth.Last
		}
		wantStorms = append(wantStorms, x)
	}
	if d := cmp.Diff(wantStorms, storms); d != "" {
		t.Error(d)
	}
	judgeSpreads(t, r, truth)
	judgeTraffic(t, r, truth)
}

func judgeSpreads(t *testing.T, r *pause.Result, truth *scenario.Truth) {
	t.Helper()
	var spreads, want []scenario.SpreadTruth
	for _, s := range r.Spreads {
		a, b := &r.Rows[s.First], &r.Rows[s.Then]
		spreads = append(spreads, scenario.SpreadTruth{
			PausedBy: a.MAC.String(), At: a.Name, MAC: b.MAC.String(), Then: b.Name, Priority: int(a.Priority), Times: s.Began,
		})
	}
	for _, s := range truth.Spreads {
		want = append(want, *s)
	}
	if d := cmp.Diff(want, spreads); d != "" {
		t.Error(d)
	}
	var circles [][]string
	for _, c := range r.Circles {
		var names []string
		for _, i := range c.Rows {
			names = append(names, r.Rows[i].Name)
		}
		circles = append(circles, names)
		if lasted := c.End - c.Start; lasted < 499*ms || lasted > 500*ms {
			t.Errorf("%+v", c)
		}
	}
	var around [][]string
	if truth.Scenario == "pfc_cycle" {
		around = [][]string{{"a-b", "b-c", "c-a"}}
	}
	if d := cmp.Diff(around, circles); d != "" {
		t.Error(d)
	}
}

// judgeTraffic looks at what was sent while it should not.
func judgeTraffic(t *testing.T, r *pause.Result, truth *scenario.Truth) {
	t.Helper()
	late := make(map[int]uint64)
	for _, x := range truth.Packets {
		packets, rows := uint64(0), 0
		for i := range r.Traffic {
			f := &r.Traffic[i]
			row := &r.Rows[f.Row]
			if f.Flow.DestQP != x.QPN {
				continue
			}
			packets += f.Packets
			rows++
			late[f.Row] += x.Late
			if row.Name != x.Interface || row.PFC && int(row.Priority) != x.Priority || row.MAC.String() == x.MAC {
				t.Errorf("%+v of %+v is elsewhere, of another priority, or comes from there: %+v", f, row, x)
			}
			if f.PausedBefore > f.Paused || f.Paused > row.Paused || f.First > f.Last {
				t.Errorf("%+v", f)
			}
		}
		// The priorities of untagged packets are not known, unless the frame
		// stops all.
		known := slices.ContainsFunc(truth.Pauses, func(p *scenario.PauseTruth) bool {
			return p.Speed > 0 && p.Interface == x.Interface && p.MAC != x.MAC && (p.Type == "802.3x" || p.Priority == x.Priority && x.Tagged)
		})
		if known != (rows == 1) || known && packets != x.Paused {
			t.Errorf("%d packets while paused, in %d rows: %+v", packets, rows, x)
		}
	}
	for i := range r.Rows {
		// What is late is not the same: the truth has it from 50 us on.
		if l := &r.Rows[i].Late; l.Packets < late[i] || (l.Packets > 0) != (late[i] > 0) || l.Mixed {
			t.Errorf("%+v, the truth is %d", l, late[i])
		}
	}
}

// TestPriorities: what has no VLAN tag has the priority that the user gives its
// DSCP.
func TestPriorities(t *testing.T) {
	path, truth := scenariotest.File(t, "pfc_untagged")
	cfg := pipeline.DefaultConfig()
	cfg.Priorities[26] = 1 + 3
	r := analyse(t, cfg, path)
	if len(r.Pause.Traffic) != 1 || r.Pause.Traffic[0].Packets != truth.Packets[0].Paused || truth.Packets[0].Paused == 0 {
		t.Errorf("%+v, the truth is %+v", r.Pause.Traffic, truth.Packets[0])
	}
	cfg.Priorities[26] = 1 + 4
	if r := analyse(t, cfg, path); len(r.Pause.Traffic) > 0 {
		t.Errorf("%+v", r.Pause.Traffic)
	}
}

// TestWorkers: their number changes nothing.
func TestWorkers(t *testing.T) {
	for _, name := range []string{"pfc_tree", "pfc_priorities", "pfc_deaf"} {
		path, _ := scenariotest.File(t, name)
		cfg := pipeline.DefaultConfig()
		cfg.Workers = 1
		want := analyse(t, cfg, path)
		cfg.Workers = 4
		if d := cmp.Diff(want.Pause, analyse(t, cfg, path).Pause, cmpopts.IgnoreUnexported(pause.Result{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestInputsApart: the same interface of two inputs is two links, and each may
// have a speed of its own.
func TestInputsApart(t *testing.T) {
	path, truth := scenariotest.File(t, "pfc_expiry")
	second, _ := scenariotest.File(t, "pfc_expiry")
	cfg := pipeline.DefaultConfig()
	cfg.Links = pipeline.LinkSpeeds{ByName: map[string]uint64{"2:port1": 10 * gbit}}
	r := analyse(t, cfg, path, second)
	if len(r.Pause.Rows) != 2 || r.Pause.Rows[0].Speed != truth.Network.Speed || r.Pause.Rows[1].Speed != 10*gbit {
		t.Errorf("%+v", r.Pause.Rows)
	}
}

// TestVectors are PAUSE and PFC frames that others made: one stops priority 3
// for the longest time, one stops four priorities and lets four go on, and two
// are PAUSE.
func TestVectors(t *testing.T) {
	path := filepath.Join(capturetest.NeedShared(t), "public", "mac-control-vectors", "pause_pfc_vectors.pcap")
	cfg := pipeline.DefaultConfig()
	cfg.Links.All = 10 * gbit
	r := analyse(t, cfg, path)
	var got []string
	for _, x := range r.Pause.Rows {
		got = append(got, fmt.Sprint(x.MAC, " ", x.PFC, " ", x.Priority, ": ", x.XOff, " ", x.XOn, " ", x.QuantaMax, " ", x.Paused))
	}
	want := []string{
		"00:00:00:00:00:00 false 0: 1 1 65535 0", // its last frame is the capture's
		"00:00:00:00:00:07 true 0: 1 0 2055 105216",
		"00:00:00:00:00:07 true 1: 1 0 1541 78899",
		"00:00:00:00:00:07 true 2: 1 0 1027 52582",
		"00:00:00:00:00:07 true 3: 1 0 513 26266",
		"00:00:00:00:00:07 true 4: 0 1 0 0",
		"00:00:00:00:00:07 true 5: 0 1 0 0",
		"00:00:00:00:00:07 true 6: 0 1 0 0",
		"00:00:00:00:00:07 true 7: 0 1 0 0",
		"00:11:22:33:44:01 true 3: 1 0 65535 3355392",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = nil
	for _, x := range r.Pause.Intervals {
		got = append(got, fmt.Sprint(x.MAC, " ", x.PFC, " ", x.Priority, ": ", x.Start.Number, " ", x.Paused, " ", x.End))
	}
	want = []string{ // those whose time was up, in the order of the rows, then what the capture ended
		"00:11:22:33:44:01 true 3: 1 3355392 expired",
		"00:00:00:00:00:07 true 0: 2 105216 expired",
		"00:00:00:00:00:07 true 1: 2 78899 expired",
		"00:00:00:00:00:07 true 2: 2 52582 expired",
		"00:00:00:00:00:07 true 3: 2 26266 expired",
		"00:00:00:00:00:00 false 0: 4 0 capture_end",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestShortVectors: the same frames without their padding say the same.
func TestShortVectors(t *testing.T) {
	whole := filepath.Join(capturetest.NeedShared(t), "public", "mac-control-vectors", "pause_pfc_vectors.pcap")
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	short := slices.Clone(b[:24])
	for at := 24; at < len(b); at += 16 + 60 {
		record := slices.Clone(b[at : at+16+34])
		record[8], record[12] = 34, 34 // captured and original length
		short = append(short, record...)
	}
	path := filepath.Join(t.TempDir(), "short.pcap")
	if err := os.WriteFile(path, short, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := pipeline.DefaultConfig()
	cfg.Links.All = 10 * gbit
	want, got := analyse(t, cfg, whole), analyse(t, cfg, path)
	for _, r := range []*pipeline.Result{want, got} { // offsets differ
		for i := range r.Pause.Rows {
			r.Pause.Rows[i].First.Offset = 0
		}
	}
	if d := cmp.Diff(want.Pause.Rows, got.Pause.Rows); d != "" || got.Malformed > 0 || got.Truncated > 0 {
		t.Error(d, got.Malformed)
	}
}
