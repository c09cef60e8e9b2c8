package capturetest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// TestTruthIsConsistent checks the truth files themselves: what they count by
// direction adds up to what they count in total.
func TestTruthIsConsistent(t *testing.T) {
	for _, c := range capturetest.All(t) {
		truth := capturetest.LoadTruth(t, c)
		s := truth.Summary
		sum := 0
		for _, n := range truth.OpcodeTotals() {
			sum += n
		}
		if sum != s.RoCEPackets {
			t.Errorf("%s: opcodes add up to %d, RoCE packets are %d", c.Name, sum, s.RoCEPackets)
		}
		if s.RoCEPackets+s.NonRoCEPackets != s.Packets || truth.Tshark.Frames != s.Packets {
			t.Errorf("%s: %d RoCE + %d other, %d packets, tshark saw %d",
				c.Name, s.RoCEPackets, s.NonRoCEPackets, s.Packets, truth.Tshark.Frames)
		}
		truth.Encapsulations(t)
		truth.TsharkOpcodes(t)
	}
}

func TestEncapsulations(t *testing.T) {
	truth := &capturetest.Truth{Summary: capturetest.Summary{Encapsulation: map[string]int{
		"vlan100/p3": 2, "vlan100/p5": 3, "vlan100/p3,vlan7/p0": 5, "erspan2,vlan100/p3": 7, "gretap": 11, "vxlan4242": 13,
	}}}
	want := map[string]int{"vlan": 12, "qinq": 5, "erspan2": 7, "gre": 11, "vxlan": 13}
	if d := cmp.Diff(want, truth.Encapsulations(t)); d != "" {
		t.Error(d)
	}
}
