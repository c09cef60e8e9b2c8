package scenario_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

var update = flag.Bool("update", false, "write testdata/truth.txt and docs/scenarios.md anew; read them before keeping them")

// TestTruth holds what the truths say against testdata/truth.txt, in which a
// reader can see whether each scenario does what its line in the list says.
func TestTruth(t *testing.T) {
	var b bytes.Buffer
	for _, sc := range withRoCE() {
		o := scenariotest.Small(&sc)
		_, truth := run(t, sc, o)
		fmt.Fprintf(&b, "%s: %s\n", sc.Name, sc.About)
		fmt.Fprintf(&b, "    %d frames, %d messages done", truth.Frames, truth.Totals.MessagesDone)
		for _, x := range []struct {
			n    uint64
			what string
		}{
			{truth.Tap.Lost, "lost by the tap"}, {truth.Tap.Copies, "copies"}, {truth.Totals.Late, "late"}, {truth.Totals.Fills, "fills"},
			{truth.Totals.Repeats, "repeats"}, {truth.Totals.Wasted, "wasted"}, {truth.Totals.CESeen, "CE"}, {truth.Totals.CNPs, "CNPs"},
			{truth.Totals.CorruptSeen, "corrupt"}, {truth.Totals.NetworkCopies, "doubled"}, {truth.Totals.PausesSeen, "PFC"},
		} {
			if x.n > 0 {
				fmt.Fprintf(&b, ", %d %s", x.n, x.what)
			}
		}
		b.WriteByte('\n')
		if len(truth.Sessions) > 4 {
			continue
		}
		for _, s := range truth.Sessions {
			if s.State != "done" || s.CM != nil || s.Life > 1 {
				fmt.Fprintf(&b, "    session %d, life %d: %s %s%s\n", s.ID, s.Life, s.State, s.Why, handshake(s.CM))
			}
			for _, st := range s.Streams {
				summarise(&b, st)
			}
		}
	}
	path := filepath.Join("testdata", "truth.txt")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("testdata/truth.txt (-as kept +as simulated):\n%s", d)
	}
}

func handshake(cm *scenario.CMTruth) string {
	if cm == nil {
		return ""
	}
	var list []string
	for _, m := range cm.Messages {
		s := m.Message
		if m.Again {
			s += " again"
		}
		if m.Frame == 0 {
			s += " (not seen)"
		}
		list = append(list, s)
	}
	return " " + cm.Result + ": " + strings.Join(list, ", ")
}

func shown(visible bool, why string) string {
	if visible {
		return ""
	}
	return " (does not show: " + why + ")"
}

// summarise writes the losses and tries of a stream, PSNs counted from its
// first one.
func summarise(b *bytes.Buffer, st *scenario.StreamTruth) {
	psn := func(p uint32) int { return int((p - st.StartPSN) & 0xffffff) }
	losses := len(st.Drops)
	for i, l := range st.Drops {
		if losses > 8 && i >= 4 && i < losses-1 {
			continue
		}
		why := l.Why
		if l.Deduced {
			why = "deduced, " + why
		}
		if l.Kind == "cnp" || l.Kind == "cm" {
			continue
		}
		fmt.Fprintf(b, "    %s drop: %s %d, pass %d, %s%s\n", st.Requester, l.Kind, psn(l.PSN), l.Pass, l.Where, shown(l.Visible, why))
	}
	for _, l := range st.Corruptions {
		fmt.Fprintf(b, "    %s corrupt: %s %d, pass %d, %s%s\n", st.Requester, l.Kind, psn(l.PSN), l.Pass, l.Where, shown(l.Visible, l.Why))
	}
	for i, x := range st.CaptureLosses {
		if i < 3 {
			fmt.Fprintf(b, "    %s not captured: %s %d, visible %v\n", st.Requester, x.Kind, psn(x.PSN), x.Visible)
		}
	}
	for _, x := range st.Tries {
		fmt.Fprintf(b, "    %s try: %s from %d, %s (at the tap: %s), place %s%s, lost %d+%d of %d before, %d after, %d answers",
			st.Requester, x.Mode, psn(x.PSN), x.Cause, x.AtTap, x.Place, shown(x.PlaceVisible, x.PlaceWhy),
			x.LostVisible, x.LostDeduced, x.LostBefore, x.LostAfter, x.LostAnswers)
		if x.Reordered {
			fmt.Fprint(b, ", reordered")
		}
		fmt.Fprintf(b, "; again %d", x.SentAgain)
		if x.Frame != 0 {
			fmt.Fprintf(b, ", in the file from %d on: %d fills, %d repeats, %d wasted", psn(x.FirstPSN), x.Fills, x.Repeats, x.Wasted)
		}
		fmt.Fprintln(b, shown(x.Visible, x.Why))
	}
	for _, e := range st.Episodes {
		if len(e.Tries) > 1 || e.End != "recovered" {
			fmt.Fprintf(b, "    %s episode: tries %v, up to %d, %s\n", st.Requester, e.Tries, psn(e.MaxPSN), e.End)
		}
	}
	for _, n := range st.NAKs {
		quirk := ""
		if n.Quirk {
			quirk = " (quirk)"
		}
		fmt.Fprintf(b, "    %s nak: %02x for %d%s%s\n", st.Requester, n.Code, psn(n.PSN), quirk, map[bool]string{true: " not seen"}[n.Frame == 0])
	}
}
