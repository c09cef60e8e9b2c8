package finding_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestNoPauses: where a finding makes one ask for flow control, and there are
// no frames of it, it is said that none are visible; and nowhere else.
func TestNoPauses(t *testing.T) {
	asks := []string{"lost-before-tap", "lost-after-tap", "ack-timeout", "silence", "incast", "congested", "uc-ud-missing"}
	check := func(t *testing.T, all []record.Finding, frames bool) {
		t.Helper()
		want := !frames && slices.ContainsFunc(all, func(f record.Finding) bool { return slices.Contains(asks, f.Code) })
		at := slices.IndexFunc(all, func(f record.Finding) bool { return f.Code == "pfc-not-visible" })
		if (at >= 0) != want {
			t.Errorf("said %v, want %v: %v", at >= 0, want, above(all, record.Info))
		}
		for i := range all {
			f := &all[i]
			if text := f.Title + f.Detail; i == at && (f.Severity != record.Info || !strings.Contains(text, "visible at this tap, which does not mean that there were none")) {
				t.Errorf("%+v", f)
			}
		}
	}
	for _, c := range capturetest.Committed(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			out := capturetest.RunTshark(t, c.Path, "-Y", "macc")
			_, all := analyze(t, pipeline.DefaultConfig(), c.Path)
			check(t, all, len(out) > 0)
		})
	}
	// Frames are there, and packets are late for them.
	for _, name := range []string{"pfc_toggle", "pfc_no_speed", "pfc_storm"} {
		sc, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		_, all, _ := analyzeScenario(t, sc)
		check(t, all, true)
	}
	// Native InfiniBand has none.
	f := facts()
	f.Kinds = [256]uint64{decode.KindIB: 1000}
	s := session("s", end(1, 0x11), end(2, 0x12))
	s.AToB.Lost.BeforeTap = 3
	f.Sessions = record.SessionsOf(s)
	if all := finding.Find(f); len(all) != 1 || all[0].Code != "lost-before-tap" {
		t.Errorf("%+v", all)
	}
}

// TestZeroMAC: pauses from the address of nobody are a finding, and kept apart
// from those of others.
func TestZeroMAC(t *testing.T) {
	_, all := analyze(t, pipeline.DefaultConfig(), filepath.Join(capturetest.NeedShared(t), "public", "mac-control-vectors", "pause_pfc_vectors.pcap"))
	f := find(t, all, "pause-zero-mac")
	if f.Severity != record.Warning || f.Evidence.Get("frames") != uint64(2) || f.Evidence.Get("xoff") != uint64(1) || f.Evidence.Get("first").(record.FrameRef).Number != 3 {
		t.Errorf("%+v", f)
	}
	rows := f.Evidence.Get("rows").([]record.Evidence)
	if len(rows) != 1 || rows[0].Get("src_mac") != "00:00:00:00:00:00" || rows[0].Get("type") != "802.3x" {
		t.Errorf("%+v", rows)
	}
	documented(t, &f)

	of := func(mac decode.MAC, pfc bool) pause.Row {
		r := pause.Row{XOff: 3, XOn: 1, First: record.FrameRef{Number: 7}}
		r.MAC, r.PFC, r.Priority = mac, pfc, 3
		return r
	}
	for _, tc := range []struct {
		rows []pause.Row
		want uint64
		has  string
	}{
		{[]pause.Row{of(decode.MAC{5: 7}, true)}, 0, ""},
		{[]pause.Row{of(decode.MAC{}, true), of(decode.MAC{5: 1}, true)}, 4, "PFC frames at 0 have"},
		{[]pause.Row{of(decode.MAC{}, true), of(decode.MAC{}, false)}, 8, "PAUSE frames at 0 have"},
	} {
		f := facts()
		f.Pause.Rows = tc.rows
		var n uint64
		for _, x := range finding.Find(f) {
			if x.Code == "pause-zero-mac" {
				n = x.Evidence.Get("frames").(uint64)
				if !strings.Contains(x.Title, tc.has) {
					t.Errorf("%q", x.Title)
				}
			}
		}
		if n != tc.want {
			t.Errorf("%d frames, want %d", n, tc.want)
		}
	}
}
