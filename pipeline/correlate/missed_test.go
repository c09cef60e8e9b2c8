package correlate_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/correlate"
)

// load reads a capture into memory.
func load(t *testing.T, path string) *frames {
	t.Helper()
	out := &frames{}
	frametest.Each(t, path, func(f *capture.Frame) {
		if err := out.WriteFrame(f); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// TestUpstreamMisses takes packets out of the capture next to the sender that
// the other one has, and cuts its end off. What it misses is not lost ahead of
// it, and what was lost behind it did not arrive for an ACK that came when it
// was over.
func TestUpstreamMisses(t *testing.T) {
	up, down := find(t, "dual_vantage_write_sender"), find(t, "dual_vantage_write_receiver")
	truth := loadPair(t, up)
	list := truth.Drops.Packets
	for _, host := range truth.After {
		list = append(list, host.Packets...)
	}
	dropped := keys(t, list)
	var dec decode.Decoder
	var p decode.Packet
	request := func(f *capture.Frame) bool {
		dec.Decode(f, &p)
		return p.RoCE() && p.DestQP == list[0].DQP
	}
	lost := func(f *capture.Frame) bool {
		return request(f) && slices.Contains(dropped, lossKey(uint8(p.Opcode), p.DestQP, p.PSN, p.IPID))
	}
	for every := 20; every < 200; every += 37 {
		sender := load(t, up)
		n := 0
		sender.list = slices.DeleteFunc(sender.list, func(f capture.Frame) bool {
			n++
			return n%every == 0 && request(&f) && !lost(&f)
		})
		r, err := correlate.Run(context.Background(), 2, opener(sender, load(t, down)), correlate.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if got := lostKeys(r); !slices.Equal(got, dropped) {
			t.Errorf("each %dth frame taken out: lost\n%v, dropped were\n%v", every, got, dropped)
		}
		for i := range r.Flows {
			if n := r.Flows[i].LostBefore; n > 0 {
				t.Errorf("each %dth frame taken out: %d packets lost ahead of it", every, n)
			}
		}
	}
	for cut := 500; cut < 2800; cut += 250 {
		sender := load(t, up)
		sender.list = sender.list[:cut]
		r, err := correlate.Run(context.Background(), 2, opener(sender, load(t, down)), correlate.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Losses {
			if r.Losses[i].Fate == correlate.FateAnswered {
				t.Errorf("cut to %d frames: PSN %d is said to have arrived", cut, r.Losses[i].PSN)
			}
		}
	}
}
