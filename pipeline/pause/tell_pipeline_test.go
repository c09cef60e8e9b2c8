package pause_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// TestTellScenarios: the pauses, runs and storms that are told of simulated
// captures are those that Run returns where nobody takes them, whatever the number
// of workers.
func TestTellScenarios(t *testing.T) {
	pauses, storms := 0, 0
	for _, sc := range scenario.Scenarios() {
		if !sc.FlowControl() {
			continue
		}
		path, truth := scenariotest.File(t, sc.Name)
		cfg := pipeline.DefaultConfig()
		cfg.Links.All = truth.Network.Speed
		want := analyse(t, cfg, path)
		for _, workers := range []int{1, 2, 5} {
			var x told
			cfg.Workers, cfg.Pause.Tell = workers, x.of(time.Hour)
			got := analyse(t, cfg, path)
			if len(got.Pause.Intervals)+len(got.Pause.Runs)+len(got.Pause.Storms) > 0 {
				t.Errorf("%s: something is left to the end", sc.Name)
			}
			if diff := cmp.Diff(byStart(slices.Clone(want.Pause.Intervals)), byStart(x.intervals)); diff != "" {
				t.Errorf("%s, %d workers: pauses (- Run, + told):\n%s", sc.Name, workers, diff)
			}
			var events []record.Event
			for _, e := range want.Events {
				switch d := e.Detail.(type) {
				case *record.Pauses:
					events = append(events, e)
				case *record.Storm:
					if diff := cmp.Diff(d, x.storms[e.Frame]); diff != "" {
						t.Errorf("%s, %d workers: a storm (- Run, + told):\n%s", sc.Name, workers, diff)
					}
					delete(x.storms, e.Frame)
					storms++
				}
			}
			if diff := cmp.Diff(sortedRuns(events), sortedRuns(x.runs)); diff != "" {
				t.Errorf("%s, %d workers: runs (- Run, + told):\n%s", sc.Name, workers, diff)
			}
			if len(x.storms) > 0 {
				t.Errorf("%s: %d storms more than Run finds", sc.Name, len(x.storms))
			}
			pauses += len(x.intervals)
		}
	}
	if pauses == 0 || storms == 0 {
		t.Errorf("%d pauses and %d storms", pauses, storms)
	}
}
