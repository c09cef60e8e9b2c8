package pipeline_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
)

// TestClasses holds the classes of captures against the tags and types of
// service that their truth counts.
func TestClasses(t *testing.T) {
	capturetest.NeedShared(t)
	type class struct {
		name                             string
		packets, ect0, ce, retransmitted uint64
	}
	paths := map[string]string{}
	for _, c := range capturetest.All(t) {
		paths[c.Name] = c.Path
	}
	for name, want := range map[string][]class{
		// DSCP 26 with priority 3 goes through a queue that drops, and 46 with 5
		// before it.
		"vlan_two_prio_bottleneck_drops_segment": {{"26 tagged 3", 1518, 1518, 0, 128}, {"46 tagged 5", 680, 0, 0, 0}},
		"vlan_two_prio_bottleneck_drops_sw2A":    {{"26 tagged 3", 1310, 1310, 0, 30}, {"46 tagged 5", 640, 0, 0, 0}},
		"vlan_two_prio_clean_segment":            {{"26 tagged 3", 2720, 2720, 0, 0}, {"46 tagged 5", 1360, 0, 0, 0}},
		"incast_ecn_sw2A":                        {{"26", 6598, 100, 6498, 838}},
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
				got = append(got, class{name, c.Packets(), c.ECN[2], c.ECN[3], c.Retransmitted})
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
