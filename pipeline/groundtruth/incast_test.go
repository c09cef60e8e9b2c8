package groundtruth_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// findings are those of a capture.
func findings(a *analysed) []record.Finding {
	return finding.Find(&finding.Facts{Result: a.res})
}

func findingOf(all []record.Finding, code string) *record.Finding {
	if i := slices.IndexFunc(all, func(f record.Finding) bool { return f.Code == code }); i >= 0 {
		return &all[i]
	}
	return nil
}

// TestLateAnswers: where answers are said to be late, nothing was dropped: no
// request of the stream and no answer to it is in any drop list, and all that
// was sent again arrived a second time, as the receiver's kernel counted.
func TestLateAnswers(t *testing.T) {
	want := map[string]bool{ // whose descriptions and counters say so
		"incast_ecn_segment": false, "latency_netem_10ms_write": false, "rc_send_lat_64B": false,
	}
	for _, a := range all(t) {
		f := findingOf(findings(a), "answer-late")
		if f == nil {
			continue
		}
		if _, ok := want[a.name]; ok {
			want[a.name] = true
		}
		lost := append(a.truth.before(t), a.truth.after(t)...)
		streams := f.Evidence.Get("streams").([]record.Evidence)
		for _, s := range streams {
			for _, d := range lost {
				for _, end := range []string{"from", "to"} {
					addr, qpn, _ := strings.Cut(s.Get(end).(string), "/0x")
					n, err := strconv.ParseUint(qpn, 16, 24)
					if err != nil {
						t.Fatal(err)
					}
					// The answers to the requests, and the requests; the other stream of the session
					// may lose what it sends itself.
					if end == "to" != (d.class == classRequest) {
						continue
					}
					if d.dst == parseAddr(t, addr) && uint64(d.qpn) == n {
						t.Errorf("%s: %v to %v: %+v was lost", a.name, s.Get("from"), s.Get("to"), d)
					}
				}
			}
		}
		if len(lost) > 0 || f.Evidence.Get("streams_affected") != uint64(len(streams)) {
			continue
		}
		again := make(tally) // by receiver
		for _, s := range streams {
			addr, _, _ := strings.Cut(s.Get("to").(string), "/")
			again.add(host(parseAddr(t, addr)), int(s.Get("packets").(uint64)))
		}
		for h, n := range again {
			if got := a.truth.Counters[h]["rxe0.duplicate_request"]; got < n {
				t.Errorf("%s: %d sent again to %s, which took %d for duplicates", a.name, n, h, got)
			}
		}
	}
	for _, a := range all(t) {
		if found, ok := want[a.name]; ok && !found {
			t.Errorf("%s: nothing of late answers: %v", a.name, findingOf(findings(a), "ack-timeout"))
		}
	}
}

// TestIncastQueueing is the capture ahead of a queue so deep that timers fire:
// each step back that the requesters' kernels counted, each packet sent again,
// who sends to whom, and no word of a loss.
func TestIncastQueueing(t *testing.T) {
	for _, a := range all(t) {
		if a.name != "incast_ecn_segment" {
			continue
		}
		found := findings(a)
		late := findingOf(found, "answer-late")
		if late == nil {
			t.Fatal("no answer-late")
		}
		retries, again := 0, 0
		for _, c := range a.truth.Counters {
			retries += c["rxe0.completer_retry_err"]
			again += c["rxe0.duplicate_request"]
		}
		if late.Evidence.Get("timeouts") != uint64(retries) || late.Evidence.Get("packets") != uint64(again) || late.Evidence.Get("marked") != uint64(0) {
			t.Errorf("%+v, want %d timeouts and %d packets", late.Evidence, retries, again)
		}
		worst := late.Evidence.Get("streams").([]record.Evidence)[0]
		if p50, timer := worst.Get("ack_p50_ns").(int64), worst.Get("ack_timeout_ns").(int64); p50 < timer {
			t.Errorf("ACKs take %d, the timer is %d", p50, timer)
		}
		for _, code := range []string{"lost-before-tap", "lost-after-tap", "go-back-n", "ack-timeout", "answer-lost"} {
			if f := findingOf(found, code); f != nil {
				t.Errorf("%s: %s", code, f.Title)
			}
		}
		x := findingOf(found, "incast").Evidence.Get("worst").([]record.Evidence)[0]
		if x.Get("receiver") != "10.10.0.1" || !slices.Equal(x.Get("senders").([]string), []string{"10.10.0.2", "10.10.0.3"}) || x.Get("timeouts") != uint64(retries) {
			t.Errorf("%+v", x)
		}
	}
}

// TestPriorities: the classes of the captures with two priorities have the
// packets of each, what was dropped and sent again is of the one whose queue
// dropped, and no other.
func TestPriorities(t *testing.T) {
	for _, a := range all(t) {
		if !strings.HasPrefix(a.name, "vlan_two_prio_") {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			raw, err := os.ReadFile(truthPath(a.path))
			if err != nil {
				t.Fatal(err)
			}
			var x struct {
				Switch struct {
					Packets []struct {
						Priority uint8 `json:"pcp"`
					}
				} `json:"switch_drops"`
				Summary struct {
					Encapsulation map[string]uint64 `json:"encapsulation"` // "vlan100/p3"
					TOS           map[string]uint64 `json:"ip_tos"`
				} `json:"summary"`
				Counters map[string]map[string]uint64 `json:"counter_delta"`
			}
			if err := json.Unmarshal(raw, &x); err != nil {
				t.Fatal(err)
			}
			var drops [8]int
			for _, d := range x.Switch.Packets {
				drops[d.Priority]++
			}
			again := uint64(0)
			for _, n := range a.truth.Summary.Repeated {
				again += uint64(n)
			}
			classes := a.res.TrafficClasses()
			if len(classes) != len(x.Summary.Encapsulation) || len(classes) != 2 {
				t.Fatalf("%+v", classes)
			}
			for _, c := range classes {
				if n := x.Summary.Encapsulation["vlan100/p"+strconv.Itoa(int(c.Priority))]; !c.Tagged || c.Packets() != n {
					t.Errorf("priority %d: %d packets, want %d", c.Priority, c.Packets(), n)
				}
				dscp := uint64(0)
				for k, n := range x.Summary.TOS {
					_, value, _ := strings.Cut(k, " tos=")
					tos, err := strconv.ParseUint(value, 0, 8)
					if err != nil {
						t.Fatal(err)
					}
					if tos>>2 == uint64(c.DSCP) {
						dscp += n
					}
				}
				if dscp != c.Packets() {
					t.Errorf("DSCP %d: %d packets, want %d", c.DSCP, c.Packets(), dscp)
				}
				if c.ECN[3] != 0 || c.CNPs != 0 {
					t.Errorf("priority %d: %d marks, %d CNPs", c.Priority, c.ECN[3], c.CNPs)
				}
				want, timeouts := uint64(0), uint64(0)
				if c.Priority == 3 {
					want = again
				}
				if drops[c.Priority] > 0 && a.truth.CapturePoint == switchIngress {
					for _, h := range x.Counters {
						timeouts += h["rxe0.completer_retry_err"]
					}
				}
				if c.Retransmitted != want || c.Timeouts != timeouts || c.NAKs != 0 || drops[c.Priority] == 0 && c.Retransmitted+c.Lost() > 0 {
					t.Errorf("priority %d: %d sent again, %d timeouts, %d NAKs, want %d and %d", c.Priority, c.Retransmitted, c.Timeouts, c.NAKs, want, timeouts)
				}
			}
			if drops[5] > 0 || strings.Contains(a.name, "drops") != (drops[3] > 0) {
				t.Errorf("drops by priority: %v", drops)
			}
		})
	}
}

// TestCleanFabric: what is clean has no finding above info, and none of congestion.
func TestCleanFabric(t *testing.T) {
	n := 0
	for _, a := range all(t) {
		if !a.truth.clean() || a.truth.Clocks == nil {
			continue
		}
		n++
		for _, f := range findings(a) {
			if f.Severity > record.Info || slices.Contains([]string{"incast", "congested", "ecn-no-reaction", "answer-late"}, f.Code) {
				t.Errorf("%s: %s: %s", a.name, f.Code, f.Title)
			}
		}
	}
	if n == 0 {
		capturetest.NeedShared(t) // which has some
		t.Error("no clean capture of several hosts")
	}
}
