package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
)

func correlation(t *testing.T, names ...string) *report.Correlation {
	t.Helper()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = capturetest.Get(t, name).Path
	}
	r, err := correlate.Run(context.Background(), len(paths), func(tap int) (capture.Source, error) {
		return capture.OpenAll(paths[tap:tap+1], capture.DefaultConfig())
	}, correlate.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return report.NewCorrelation(names, r, correlate.Find(r, names), "test")
}

// madeCorrelation has in it whatever a correlation can have.
func madeCorrelation() *report.Correlation {
	one := uint64(1)
	counts := correlate.Counts{
		Upstream: 100, Matched: 90, Lost: correlate.Lost{SentAgain: 5, Open: 3, Answered: 2}, Appeared: 1, Duplicated: 2, Reordered: 3, Outside: 40,
		Marked: 5, Unmarked: 1, DSCP: correlate.Change{Packets: 4, From: 26, To: 0}, Priority: correlate.Change{Packets: 1, From: 3, To: 4}, Corrupted: 1, CorruptUp: 1,
		TTL: [4]uint64{1, 2, 3, 4}, TTLOdd: 1, DelayMin: -5, Negative: 1, Tries: 1, AnswerTries: 1,
	}
	counts.Delay.Add(1000)
	r := &correlate.Result{
		Taps: []correlate.Tap{
			{Packets: 10, RoCE: 9, First: 1, Last: 2, Aligned: true, Resolution: 1000, Doubled: true, Duplicates: 1, Missed: 1, Answered: 1, Unplaced: 1,
				Inputs: []capture.Input{{Path: "a", Drops: &one, Damage: &capture.DamagedError{Path: "a", Offset: 7, Reason: "cut"}}}},
			{Aligned: true, Resolution: 1}, {Packets: 1, Resolution: 1},
		},
		Clocks: []correlate.Clock{
			{A: 0, B: 1, Method: correlate.TwoWay, Offset: -5, Uncertainty: 3, Drift: 1.5, DriftUncertainty: 0.5, RoundTrip: 6, Samples: [3]uint64{1, 2, 3}},
			{A: 0, B: 2, Method: correlate.OneWay, Offset: int64(40 * time.Hour), Uncertainty: -1, Drift: 2, DriftUncertainty: -1, RoundTrip: -1},
			{A: 1, B: 2, Method: correlate.Same, Contradicted: 7, RoundTrip: -1}, {A: 1, B: 2, Method: correlate.Spread, Uncertainty: 9, DriftUncertainty: -1, RoundTrip: -1},
		},
		Paths: []correlate.Path{
			{Taps: []int{0, 1}, Sureness: correlate.ByLosses, Pairs: 2, Flows: 3, Conflicts: 1, Kind: decode.AddrIPv4},
			{Taps: []int{1, 0}, Sureness: correlate.ByTTL, Pairs: 1, Flows: 1, Kind: decode.AddrIPv4},
		},
		Hops:   []correlate.Hop{{Up: 0, Down: 1, Flows: 3, Counts: counts, DelayError: -1}, {Up: 1, Down: 0, Path: 1, Flows: 1, Counts: counts, DelayKnown: true, DelayError: 4}},
		Flows:  []correlate.Flow{{Kind: decode.AddrIPv4, DestQP: 5, SrcQP: 6, Hops: []correlate.FlowHop{{Hop: 0, Counts: counts}}, Packets: 9, Tries: 3, TriesBefore: 1, LostBefore: 2, Taps: []int{0, 1}, IPID: true}},
		Losses: []correlate.Loss{{Opcode: 4, PSN: 3, IPID: 2, Frame: record.FrameRef{Number: 1}, Fate: correlate.FateSentAgain}},
		Window: 5, Shortened: 1, ByTime: 1, LossesLeftOut: 1,
	}
	names := []string{"a", "b", "c\x1b[2J"}
	c := report.NewCorrelation(names, r, correlate.Find(r, report.TapNames(names)), "test")
	c.Partial = true
	return c
}

func correlationSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(capturetest.Root(t), "docs", "correlate.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func correlationJSON(t *testing.T, c *report.Correlation) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := report.CorrelationJSON(&b, c, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

// TestCorrelationSchema: what is written follows the schema, and the schema
// notices each key that is missing or of another type.
func TestCorrelationSchema(t *testing.T) {
	s := correlationSchema(t)
	optional := map[string]bool{
		"partial": true, "clocks[].contradicted_ns": true, "hops[].dscp_changed": true, "hops[].priority_changed": true,
		"flows[].hops[].dscp_changed": true, "flows[].hops[].priority_changed": true, "flows[].source_qp": true, "taps[].inputs[].damage": true,
	}
	free := []string{"findings[].evidence.", "hops[].ttl_less.", "flows[].hops[].ttl_less."}
	tried := make(map[string]bool)
	n := 0
	for _, c := range []*report.Correlation{madeCorrelation(), correlation(t, "dual_vantage_write_sender", "dual_vantage_write_receiver")} {
		r := correlationJSON(t, c)
		if err := s.Validate(r); err != nil {
			t.Fatal(err)
		}
		walk(r, "", func(path string, in map[string]any, key string) {
			for _, f := range free {
				if strings.HasPrefix(path, f) {
					return
				}
			}
			if tried[path] {
				return
			}
			tried[path] = true
			was := in[key]
			if !optional[path] {
				delete(in, key)
				n++
				if s.Validate(r) == nil {
					t.Errorf("%s may be missing", path)
				}
			}
			var wrong any = map[string]any{"": true}
			switch was.(type) {
			case map[string]any, []any:
				wrong = "text"
			case json.Number:
				wrong = "1"
			}
			in[key] = wrong
			n++
			if s.Validate(r) == nil {
				t.Errorf("%s may be %v", path, fmt.Sprint(wrong))
			}
			in[key] = was
		})
	}
	if n < 120 {
		t.Errorf("only %d reports were spoilt", n)
	}
}

// TestCorrelationDocs: docs/correlate.md has each key.
func TestCorrelationDocs(t *testing.T) {
	text := readDoc(t, "correlate.md")
	walk(correlationJSON(t, madeCorrelation()), "", func(path string, _ map[string]any, key string) {
		if strings.HasPrefix(path, "tool.") || strings.HasPrefix(path, "findings[].evidence.") || strings.Contains(path, "ttl_less.") || strings.HasPrefix(path, "taps[].inputs[].") {
			return
		}
		if !strings.Contains(text, "`"+key+"`") {
			t.Errorf("docs/correlate.md says nothing of %s", path)
		}
	})
	for _, f := range madeCorrelation().Findings {
		if !strings.Contains(text, "`"+f.Code+"`") {
			t.Errorf("docs/correlate.md says nothing of the finding %s", f.Code)
		}
	}
}

// TestCorrelationText: text says the answer first, keeps to its width, and
// names from outside can't control a terminal.
func TestCorrelationText(t *testing.T) {
	for _, c := range []*report.Correlation{madeCorrelation(), correlation(t, "dual_vantage_write_sender", "dual_vantage_write_receiver")} {
		for _, width := range []int{80, 120} {
			var b bytes.Buffer
			if err := report.CorrelationText(&b, c, report.Options{Width: width, Location: time.UTC}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if !strings.Contains(text, "critical  [lost-between-taps] ") || strings.ContainsAny(text, "\x1b\u00a0") {
				t.Errorf("width %d: %q", width, text)
			}
		}
	}
	var b bytes.Buffer
	c := correlation(t, "dual_vantage_write_sender", "dual_vantage_write_receiver")
	if err := report.CorrelationText(&b, c, report.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "critical  [lost-between-taps] 57 packets were lost between dual_vantage_write_sender and" {
		t.Errorf("it begins with %q", first)
	}
}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(capturetest.Root(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
