package correlate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/correlate"
)

// dropped is a packet in the list of a fault injector or of a switch.
type dropped struct {
	Op   any    `json:"op"` // a name or a number
	DQP  uint32 `json:"dqp"`
	PSN  uint32 `json:"psn"`
	IPID uint16 `json:"ipid"`
}

func (d *dropped) opcode(t *testing.T) decode.Opcode {
	t.Helper()
	switch v := d.Op.(type) {
	case float64:
		return decode.Opcode(v)
	case string:
		for op := range 256 {
			if decode.Opcode(op).String() == v {
				return decode.Opcode(op)
			}
		}
	}
	t.Fatalf("no opcode %v", d.Op)
	return 0
}

// pairTruth is what is known of two captures of the same traffic.
type pairTruth struct {
	After map[string]struct {
		Packets []dropped `json:"packets"`
	} `json:"dropped_after_capture"`
	Before map[string]struct {
		Count uint64 `json:"count"`
	} `json:"dropped_before_capture"`
	Drops struct {
		Packets []dropped `json:"packets"`
	} `json:"switch_drops"`
	Marks struct {
		Count uint64 `json:"count"` // its list is not whole
	} `json:"switch_marks"`
	Counters map[string]map[string]int `json:"counter_delta"`
}

// find is the path of a capture, of the module or of the large collection.
func find(t *testing.T, name string) string {
	t.Helper()
	for _, c := range capturetest.All(t) {
		if c.Name == name {
			return c.Path
		}
	}
	capturetest.NeedShared(t)
	t.Fatalf("no capture %s", name)
	return ""
}

func loadPair(t *testing.T, path string) *pairTruth {
	t.Helper()
	raw, err := os.ReadFile(path[:len(path)-len(".pcap.zst")] + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var p pairTruth
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func correlateFiles(t *testing.T, cfg correlate.Config, paths ...string) *correlate.Result {
	t.Helper()
	r, err := correlate.Run(context.Background(), len(paths), func(tap int) (capture.Source, error) {
		return capture.OpenAll([]string{paths[tap]}, capture.DefaultConfig())
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keys are dropped packets by name.
func keys(t *testing.T, list []dropped) (out []string) {
	for i := range list {
		d := &list[i]
		out = append(out, lossKey(uint8(d.opcode(t)), d.DQP, d.PSN, d.IPID))
	}
	slices.Sort(out)
	return out
}

func lostKeys(r *correlate.Result) (out []string) {
	for i := range r.Losses {
		l := &r.Losses[i]
		out = append(out, lossKey(uint8(l.Opcode), r.Flows[l.Flow].DestQP, l.PSN, l.IPID))
	}
	slices.Sort(out)
	return out
}

// TestCapturedPairs holds captures from both sides of a loss or of a switch
// against what was dropped and marked there, packet by packet, and the tries of
// requesters against what their kernels counted.
func TestCapturedPairs(t *testing.T) {
	for _, c := range []struct {
		up, down string
		same     bool // one clock
	}{
		{up: "dual_vantage_write_sender", down: "dual_vantage_write_receiver"},
		{up: "incast_bottleneck_drops_segment", down: "incast_bottleneck_drops_sw2A", same: true},
		{up: "incast_bottleneck_drops_segment", down: "incast_bottleneck_drops_sw2A"},
		{up: "vlan_two_prio_bottleneck_drops_segment", down: "vlan_two_prio_bottleneck_drops_sw2A", same: true},
		{up: "vlan_two_prio_bottleneck_drops_segment", down: "vlan_two_prio_bottleneck_drops_sw2A"},
		{up: "incast_ecn_segment", down: "incast_ecn_sw2A", same: true},
		{up: "incast_ecn_segment", down: "incast_ecn_sw2A"},
		{up: "incast_clean_segment", down: "incast_clean_hostA"},
		{up: "incast_lossy_C_segment", down: "incast_lossy_C_hostA"},
		{up: "vlan_two_prio_clean_segment", down: "vlan_two_prio_clean_hostA_eth0"},
	} {
		for _, swapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s same=%v swapped=%v", filepath.Base(c.up), c.same, swapped), func(t *testing.T) {
				paths := []string{find(t, c.up), find(t, c.down)}
				truth := loadPair(t, paths[0])
				up, down := 0, 1
				if swapped {
					slices.Reverse(paths)
					up, down = 1, 0
				}
				cfg := correlate.DefaultConfig()
				cfg.SameClock = c.same
				r := correlateFiles(t, cfg, paths...)
				want := truth.Drops.Packets
				for _, host := range truth.After {
					want = append(want, host.Packets...)
				}
				if got, want := lostKeys(r), keys(t, want); !slices.Equal(got, want) {
					t.Errorf("lost\n%v, dropped were\n%v", got, want)
				}
				var marked, appeared, missed uint64
				for i := range r.Hops {
					h := &r.Hops[i]
					if h.Lost.Network() > 0 && (h.Up != up || h.Down != down) {
						t.Errorf("%d lost from tap %d to %d", h.Lost.Network(), h.Up, h.Down)
					}
					marked += h.Marked
					appeared += h.Appeared + h.Unmarked + h.Corrupted + h.Duplicated + h.Reordered
					missed += h.Lost.Answered
				}
				if marked != truth.Marks.Count || appeared > 0 || missed > 0 {
					t.Errorf("%d marked of %d, %d appeared or changed, %d missed by a capture", marked, truth.Marks.Count, appeared, missed)
				}
				var tries, kernel, ahead, injected uint64
				for i := range r.Flows {
					tries += r.Flows[i].Tries
					ahead += r.Flows[i].LostBefore
				}
				for _, host := range truth.Before {
					injected += host.Count
				}
				if ahead != injected {
					t.Errorf("%d lost ahead of the taps, %d were dropped there", ahead, injected)
				}
				for _, host := range truth.Counters {
					kernel += uint64(host["rxe0.completer_retry_err"])
				}
				if tries != kernel {
					t.Errorf("requesters went back %d times, their kernels counted %d", tries, kernel)
				}
			})
		}
	}
}

// TestHostClocks: two hosts on one segment whose clocks were compared by other
// means as well, to about a millisecond.
func TestHostClocks(t *testing.T) {
	for name, other := range map[string]string{"incast_clean": "incast_clean_hostA", "incast_lossy_C": "incast_lossy_C_hostA"} {
		path := find(t, name+"_segment")
		raw, err := os.ReadFile(path[:len(path)-len(".pcap.zst")] + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			Offsets map[string]struct {
				Ahead     float64 `json:"guest_minus_host_s"`
				RoundTrip float64 `json:"round_trip_s"`
			} `json:"clock_offsets"`
		}
		if err := json.Unmarshal(raw, &truth); err != nil {
			t.Fatal(err)
		}
		r := correlateFiles(t, correlate.DefaultConfig(), path, find(t, other))
		a := truth.Offsets["A"]
		got := float64(r.Clocks[0].Offset) / 1e9
		if d := got - a.Ahead; r.Clocks[0].Method != correlate.TwoWay || d > a.RoundTrip/2 || -d > a.RoundTrip/2 {
			t.Errorf("%s: %v, offset %.6f s, measured otherwise %.6f s within %.6f s", name, r.Clocks[0].Method, got, a.Ahead, a.RoundTrip/2)
		}
	}
}

// TestFormats: one run as two hosts saw it, in many formats and lengths of what
// was kept. Each packet is found again, and the clocks are as far apart as the
// captures' README says, about 0.35 s.
func TestFormats(t *testing.T) {
	capturetest.NeedShared(t)
	peer := find(t, "formats_write_peer")
	for _, name := range []string{"full", "full_ns", "sll", "sll2", "snap60", "snap96", "snap128", "bpf4791", "usec"} {
		r := correlateFiles(t, correlate.DefaultConfig(), find(t, "formats_write_"+name), peer)
		var matched, other uint64
		for i := range r.Hops {
			h := &r.Hops[i]
			matched += h.Matched
			other += h.Lost.Network() + h.Lost.Answered + h.Appeared + h.Outside + h.Duplicated + h.Reordered + h.Negative
		}
		if matched != r.Taps[1].RoCE || matched != r.Taps[0].RoCE || other > 0 {
			t.Errorf("%s: %d of %d and %d packets matched, of %d something is said", name, matched, r.Taps[0].RoCE, r.Taps[1].RoCE, other)
		}
		c := r.Clocks[0]
		if seconds := float64(c.Offset) / 1e9; name != "usec" && (seconds < -0.4 || seconds > -0.3) || c.Method != correlate.TwoWay {
			t.Errorf("%s: clocks %+v", name, c)
		}
	}
}
