package pipeline_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestTrafficBetween: the parts add up to what the tracker counted, whatever
// they are cut by.
func TestTrafficBetween(t *testing.T) {
	for _, name := range []string{"loss_before_write_1pct", "vxlan_rc_write", "rc_write_ipv6", "loss_ud_2pct", "qinq_100_7_rc_read"} {
		path := capturetest.Get(t, name).Path
		open := func() capture.Source {
			src, err := capture.Open(path, capture.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { src.Close() })
			return src
		}
		r, err := pipeline.Run(context.Background(), open(), pipeline.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		var together []pipeline.Cuts // all sessions in one reading
		var apart [][]pipeline.Traffic
		for i := range r.Sessions.Len() {
			s := r.Sessions.At(i)
			want := [2]uint64{s.AToB.Packets, s.BToA.Packets}
			for _, cuts := range [][]record.FrameRef{nil, {s.First}, {s.First, s.Last}} {
				all, err := pipeline.TrafficBetween(context.Background(), open(), decode.Config{}, []pipeline.Cuts{{Session: s, Frames: cuts}})
				if err != nil || len(all) != 1 || len(all[0]) != len(cuts)+1 {
					t.Fatal(err)
				}
				parts := all[0]
				together, apart = append(together, pipeline.Cuts{Session: s, Frames: cuts}), append(apart, parts)
				var got [2]uint64
				for i := range parts {
					got[0] += parts[i].Packets[0]
					got[1] += parts[i].Packets[1]
				}
				if got[0]+got[1]+uint64(len(cuts)) != want[0]+want[1] {
					t.Errorf("%s, %s, %d cuts: %v packets, want %v", name, s.ID, len(cuts), got, want)
				}
				if len(cuts) == 2 && (!parts[0].Empty() || !parts[2].Empty()) {
					t.Errorf("%s, %s: %v outside", name, s.ID, parts)
				}
			}
		}
		all, err := pipeline.TrafficBetween(context.Background(), open(), decode.Config{}, together)
		if err != nil || !reflect.DeepEqual(all, apart) {
			t.Errorf("%s: %v in one reading, %v in one each (%v)", name, all, apart, err)
		}
	}
}
