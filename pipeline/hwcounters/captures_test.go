package hwcounters_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
)

// blind are captures that do not show what a counter counted.
var blind = map[string]string{
	"formats_write_onlyout":        "the answers are not in it",
	"incast_bottleneck_drops_sw2A": "one direction",
}

// TestCaptures holds what is expected against what the kernel's counters of
// both hosts counted meanwhile (rxe).
func TestCaptures(t *testing.T) {
	checked := 0
	for _, c := range capturetest.All(t) {
		raw, err := os.ReadFile(c.Truth)
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			// Delta is by host and counter, as in A and rxe0.send_rnr_err.
			Delta map[string]map[string]float64 `json:"counter_delta"`
		}
		if err := json.Unmarshal(raw, &truth); err != nil {
			t.Fatal(err)
		}
		if len(truth.Delta) == 0 || blind[c.Name] != "" {
			continue
		}
		src, err := capture.Open(c.Path, capture.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		r, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		src.Close()
		wire := make(map[string]uint64)
		for _, h := range hwcounters.Expect(r.Sessions, r.Events) {
			addr := string(h.Addr.Append(nil, h.Kind))
			host := string(rune('A' + addr[len(addr)-1] - '1')) // 10.10.0.1 and fd00:10::1 are A
			for id, counter := range hwcounters.Counters() {
				wire[host+" "+counter.RXE] += h.Counts[id]
			}
		}
		for host, counters := range truth.Delta {
			card := make(map[string]uint64)
			for name, n := range counters {
				_, short, _ := strings.Cut(name, ".")
				card[short] += uint64(n)
			}
			for _, name := range []string{"out_of_seq_request", "send_rnr_err", "rcvd_rnr_err", "retry_exceeded_err", "retry_rnr_exceeded_err"} {
				if wire[host+" "+name] != card[name] {
					t.Errorf("%s: %s of %s is %d on the wire, and %d on the card", c.Name, name, host, wire[host+" "+name], card[name])
				}
				if card[name] > 0 {
					checked++
				}
			}
			if at, n := wire[host+" duplicate_request"], card["duplicate_request"]; at > n {
				t.Errorf("%s: duplicate_request of %s is at least %d on the wire, and %d on the card", c.Name, host, at, n)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d counters to look at", checked)
	}
}
