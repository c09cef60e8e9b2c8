package pipeline_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
)

// TestLegs: packets with the same addresses are of one leg for each way in which they
// were captured, in whatever order they come.
func TestLegs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *capture.Frame) // what is otherwise at another point, or of another leg
		same   bool
	}{
		{"nothing", func(f *capture.Frame) {}, true},
		{"PSN", func(f *capture.Frame) { f.Data[bth+11]++ }, true},
		{"destination QP", func(f *capture.Frame) { f.Data[bth+7]++ }, true},
		{"TTL", func(f *capture.Frame) { f.Data[ip+8]-- }, false},
		{"source MAC", func(f *capture.Frame) { f.Data[11]++ }, false},
		{"destination MAC", func(f *capture.Frame) { f.Data[0] = 2 }, false},
		{"source address", func(f *capture.Frame) { f.Data[ip+15]++ }, false},
		{"destination address", func(f *capture.Frame) { f.Data[ip+19]++ }, false},
		{"the way back", func(f *capture.Frame) { f.Data[ip+15], f.Data[ip+19] = f.Data[ip+19], f.Data[ip+15] }, false},
		{"an IP ID", func(f *capture.Frame) { f.Data[ip+5]++ }, false},
		{"interface", func(f *capture.Frame) { f.Interface++ }, false},
		{"input", func(f *capture.Frame) { f.Input++ }, false},
		{"a VLAN tag", func(f *capture.Frame) { f.Data = slices.Insert(f.Data, 12, 0x81, 0, 0, 7) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := pipeline.DefaultConfig()
			cfg.ICRC = false
			d := pipeline.NewDecoding(cfg)
			const frames = 100
			for i := range frames {
				f := capture.Frame{Data: make([]byte, 200), Link: capture.LinkEthernet, FCSLen: -1, Number: uint64(i) + 1}
				middle(f.Data)
				if i%2 == 1 {
					tc.change(&f)
				}
				f.OrigLen = uint32(len(f.Data))
				d.Block().Frames = append(d.Block().Frames, f)
			}
			if err := d.Decode(nil); err != nil {
				t.Fatal(err)
			}
			want := []int{frames / 2, frames / 2}
			if tc.same {
				want = []int{frames}
			}
			if got := d.Legs(); !slices.Equal(got, want) {
				t.Errorf("legs of %d packets, not of %d", got, want)
			}
		})
	}
}
