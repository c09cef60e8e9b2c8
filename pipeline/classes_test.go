package pipeline_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// classesOf are the classes of a simulated capture, and its truth.
func classesOf(t *testing.T, name string, cfg pipeline.Config) ([]pipeline.Class, *pipeline.Result, *scenario.Truth) {
	t.Helper()
	path, truth := scenariotest.File(t, name)
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	res, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	classes := res.TrafficClasses()
	return classes, res, truth
}

// TestClassesOfScenarios: what sessions tell goes to the class of their data,
// and CNPs to the one that they travel in.
func TestClassesOfScenarios(t *testing.T) {
	all, _, truth := classesOf(t, "vlan", pipeline.DefaultConfig())
	n := &truth.Totals
	if len(all) != 1 || !all[0].Tagged || !all[0].HasPriority || all[0].Priority != truth.Tap.Priority || all[0].Packets() != truth.Frames ||
		all[0].Bytes != truth.Bytes || all[0].NAKs != n.NAKsSeen || all[0].Retransmitted != n.Fills+n.Repeats || all[0].LostBefore != n.DropsBefore {
		t.Errorf("%+v, want %+v", all, n)
	}
	all, _, truth = classesOf(t, "cnp", pipeline.DefaultConfig())
	if len(all) != 2 || all[0].DSCP != 26 || all[1].DSCP != 48 || all[0].CNPs != 0 || all[0].ECN[3] != truth.Totals.CESeen ||
		all[1].CNPs != truth.Totals.CNPsSeen || all[1].Packets() != all[1].CNPs || all[0].HasPriority {
		t.Errorf("%+v, want %+v", all, truth.Totals)
	}
	// DSCP 26 has priority 3, which is paused.
	cfg := pipeline.DefaultConfig()
	cfg.Priorities[26] = 1 + 3
	all, res, _ := classesOf(t, "pfc_untagged", cfg)
	longest := int64(0)
	for i := range res.Pause.Rows {
		if r := &res.Pause.Rows[i]; r.PFC && r.Priority == 3 {
			longest = max(longest, r.Paused)
		}
	}
	found := false
	for _, c := range all {
		if c.DSCP == 26 && !c.Tagged {
			found = c.HasPriority && c.Priority == 3 && c.IsPaused && c.Paused == longest && longest > 0
		}
	}
	if !found {
		t.Errorf("%+v", all)
	}
}

// TestClasses holds the classes of captures against the tags and types of
// service that their truth counts.
func TestClasses(t *testing.T) {
	capturetest.NeedShared(t)
	type class struct {
		name                                       string
		packets, ect0, ce, retransmitted, timeouts uint64
	}
	paths := map[string]string{}
	for _, c := range capturetest.All(t) {
		paths[c.Name] = c.Path
	}
	for name, want := range map[string][]class{
		// DSCP 26 with priority 3 goes through a queue that drops, and 46 with 5
		// before it.
		"vlan_two_prio_bottleneck_drops_segment": {{"26 tagged 3", 1518, 1518, 0, 128, 4}, {"46 tagged 5", 680, 0, 0, 0, 0}},
		"vlan_two_prio_bottleneck_drops_sw2A":    {{"26 tagged 3", 1310, 1310, 0, 30, 0}, {"46 tagged 5", 640, 0, 0, 0, 0}},
		"vlan_two_prio_clean_segment":            {{"26 tagged 3", 2720, 2720, 0, 0, 0}, {"46 tagged 5", 1360, 0, 0, 0, 0}},
		"incast_ecn_sw2A":                        {{"26", 6598, 100, 6498, 838, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := capture.Open(paths[name], capture.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			var got []class
			for _, c := range res.TrafficClasses() {
				name := fmt.Sprint(c.DSCP)
				if c.Tagged {
					name += fmt.Sprint(" tagged ", c.Priority)
				}
				got = append(got, class{name, c.Packets(), c.ECN[2], c.ECN[3], c.Retransmitted, c.Timeouts})
				if c.CNPs+c.NAKs+c.RNRNAKs != 0 || c.IsPaused {
					t.Errorf("%s: %d CNPs, %d NAKs, %d RNR NAKs, paused %v", name, c.CNPs, c.NAKs, c.RNRNAKs, c.IsPaused)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
