package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

var update = flag.Bool("update", false, "write docs/events.md anew; read it before keeping it")

// TestEventsDoc keeps docs/events.md equal to the table.
func TestEventsDoc(t *testing.T) {
	capturetest.SameDoc(t, "events.md", report.EventsMarkdown(), *update, "go test ./dashboards/report -run EventsDoc")
}

// full are details of every kind with all that they can have, bare with as
// little as they can.
func full() []record.Detail {
	ns := int64(5000)
	request := record.FrameRef{Number: 7}
	r := record.Range{First: 0xfffffe, Last: 1}
	return []record.Detail{
		record.Connect{Answered: true, Requests: 2, Took: ns, Service: 0x0000000001061144},
		record.Reject{Reason: 28, Text: "consumer reject"},
		record.Disconnect{Answered: true},
		record.NewSession{Why: "cm", Previous: "x"},
		record.Closed{Why: "disconnect"},
		record.Failed{Why: "nak", Code: "remote_access"},
		record.Nak{Code: "sequence", PSN: 5, Opcode: "RC_SEND_ONLY", Request: &request, Refusal: true, Detect: &ns},
		record.RNRNak{PSN: 5, Timer: ns},
		&record.Try{
			PSN: 5, Cause: record.CauseNak, Place: record.BeforeTap, Mode: record.GoBackN, From: 6, Max: 7, Silence: ns, React: ns, HasReact: true,
			Resent: record.Amount{Packets: 2, Bytes: 3}, Wasted: record.Amount{Packets: 1, Bytes: 2}, LostBefore: 1, Number: 1, Opcode: "RC_SEND_ONLY",
		},
		&record.Episode{Tries: 1, Range: r, Cause: record.CauseNak, Place: record.BeforeTap, Resent: record.Amount{Packets: 2}, Lost: 1, Detect: &ns, Took: ns, Recovered: true},
		record.Silence{Lasted: ns, PSN: 5, Pending: 1},
		record.RetryExhausted{Unanswered: r, LastAcked: 5, HasAcked: true, Tries: 7, Spacing: ns},
		record.CaptureLoss{Range: r},
		record.Reorder{PSN: 5, Behind: 1, Late: ns},
		record.Duplicate{PSN: 5, Network: true},
		record.Corrupt{PSN: 5},
		record.Undecided{PSN: 5, Why: "no IP IDs"},
		record.ProtocolError{Rule: "order", PSN: 5, Got: "a", Want: "b"},
		&record.CE{PSN: 5, Lasted: ns, Packets: 2},
		&record.CNP{Delay: &ns, Lasted: ns, CNPs: 2},
		record.Slow{Took: ns, Share: 0.5, Rate: 1e9},
		record.Recovered{Took: ns, Depth: 0.25},
		&record.Pauses{Pauser: record.Pauser{PFC: true}, Priority: 3, Lasted: ns, Paused: ns, Longest: ns, Frames: 1, Quanta: 100},
		&record.Storm{Pauser: record.Pauser{PFC: true}, Priorities: []record.StormPriority{{Priority: 3, Start: 1, End: 6001, Paused: ns, Frames: 1}}, Lasted: ns, Ended: true},
	}
}

func bare() []record.Detail {
	return []record.Detail{
		record.Connect{}, record.Reject{}, record.Disconnect{}, record.NewSession{}, record.Closed{}, record.Failed{}, record.Nak{}, record.RNRNak{},
		&record.Try{}, &record.Episode{}, record.Silence{}, record.RetryExhausted{}, record.CaptureLoss{}, record.Reorder{}, record.Duplicate{},
		record.Corrupt{}, record.Undecided{}, record.ProtocolError{}, &record.CE{}, &record.CNP{}, record.Slow{}, record.Recovered{},
		&record.Pauses{}, &record.Storm{},
	}
}

// congested is all that marks and CNPs can say.
func congested() *record.Congestion {
	x := &record.Congestion{
		Marks: record.MarksSeen, DataMarked: 3, CNPs: 2, Unmarked: 1, Pacing: record.Pacing{Known: true, QP: true, Interval: 5000},
		Reaction: record.ReactionSlowed, Slowed: 1, Recovered: 1, Depth: 0.25,
	}
	for _, h := range []*sketch.Histogram{&x.NPDelay, &x.MarkWait, &x.Spacing, &x.ToSlow, &x.ToRecover} {
		h.Add(5000)
	}
	return x
}

// made is a report with sessions and events that no capture is needed for.
func made(events []record.Detail) *report.Report {
	end := func(i uint64, qpn uint32) record.Endpoint {
		return record.Endpoint{Addr: decode.Addr{Lo: 0xffff_0a000000 | i}, Kind: decode.AddrIPv4, QPN: qpn, HasQPN: true}
	}
	at := func(n uint64) record.FrameRef { return record.FrameRef{Number: n, Time: int64(n) * 1000} }
	s := record.Session{
		ID: "one", Service: record.RC, Version: record.V2, VNI: 5, HasVNI: true, Incarnation: 1, A: end(1, 0x11), B: end(2, 0x12),
		Pairing: record.Pairing{Method: record.PairCM, Confidence: 1}, State: record.StateFailed, FailedStream: 1, Vantage: record.VantageBetween,
		Application: "nvme-rdma", First: at(1), Last: at(9), PathMTU: 1024, AckTimeout: [2]int64{67_108_864, 67_108_864},
		CM: &record.CM{
			ServiceID: 0x0000000001061144, SourcePort: 40000, DestPort: 4420, Service: record.RC, Requested: 5, Replied: 6, Established: 7, Disconnected: 8,
			RejectReason: 28, Private: []byte{1, 2}, PathMTU: 1024, AckTimeout: 67_108_864, RetryCount: 7, StartPSN: [2]uint32{1, 2}, HasStartPSN: [2]bool{true, true},
		},
	}
	s.AToB = record.Direction{
		Packets: 9, First: 1000, Last: 9000, DSCP: []record.DSCPCount{{DSCP: 26, Packets: 9}}, SourcePort: 0xc001,
		CNPDSCP: []record.DSCPCount{{DSCP: 26, Packets: 2}}, Priorities: []record.PriorityCount{{Packets: 1}, {Tagged: true, Priority: 3, Packets: 8}},
		PKeys: []record.PKeyCount{{PKey: 0xffff, Packets: 1}, {PKey: 0x8001, Packets: 6}},
	}
	s.AToB.AckLatency.Add(5000)
	s.AToB.Congestion = congested()
	s.AToB.MessageLatency.Add(5000)
	s.AToB.Latency[record.Write].Add(5000)
	s.AToB.NakReaction.Add(5000)
	s.BToA = record.Direction{Packets: 1, First: 1000, Last: 1000}
	// Nothing is known of the other one but that it is there.
	lone := record.Session{ID: "two", Service: record.RC, First: at(2), Last: at(3), A: end(1, 0), B: end(2, 0x13)}
	lone.A.HasQPN = false
	lone.AToB = record.Direction{Packets: 1, First: 2000, Last: 3000}
	c := &pipeline.Result{Sessions: record.SessionsOf(s, lone), EventsLeftOut: 3}
	c.Packets, c.First, c.Last = 10, 1000, 9000
	for i, d := range events {
		c.Events = append(c.Events, record.Event{Time: int64(i) * 1000, Session: "one", Stream: uint8(i % 2), Frame: at(uint64(i + 1)), Count: uint64(i), Detail: d})
	}
	return report.New([]capture.Input{{Path: "a.pcap"}}, c, nil, "test")
}

func written(t *testing.T, r *report.Report) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

// common are the keys of every event.
var common = []string{"time", "kind", "session", "stream", "frame", "count"}

// TestEventKinds: events of all kinds follow the schema, and the table, the
// schema and the JSON have the same keys.
func TestEventKinds(t *testing.T) {
	s := schema(t)
	raw, err := os.ReadFile(filepath.Join(capturetest.Root(t), "docs", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defs := parse(t, raw)["$defs"].(map[string]any)
	kinds := report.EventKinds()
	for name, details := range map[string][]record.Detail{"full": full(), "bare": bare()} {
		r := written(t, made(details))
		if err := s.Validate(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		events := r["events"].([]any)
		if len(events) != len(kinds) {
			t.Fatalf("%d events, and %d kinds in the table", len(events), len(kinds))
		}
		for i, e := range events {
			e := e.(map[string]any)
			k := kinds[i]
			if e["kind"] != string(k.Kind) {
				t.Errorf("%v is not %s", e["kind"], k.Kind)
			}
			want := slices.Clone(common)
			if k.Kind == record.KindPause || k.Kind == record.KindStorm {
				want = slices.DeleteFunc(want, func(key string) bool { return key == "session" || key == "stream" })
			}
			def := defs["event_"+string(k.Kind)].(map[string]any)
			for _, f := range k.Fields {
				if !f.Optional || name == "full" {
					want = append(want, f.Key)
				}
				if _, ok := def["properties"].(map[string]any)[f.Key]; !ok {
					t.Errorf("%s: the schema does not know %s", k.Kind, f.Key)
				}
				if required := slices.Contains(def["required"].([]any), any(f.Key)); required == f.Optional {
					t.Errorf("%s: is %s required?", k.Kind, f.Key)
				}
			}
			slices.Sort(want)
			if d := cmp.Diff(want, slices.Sorted(maps.Keys(e))); d != "" {
				t.Errorf("%s, %s (- table, + JSON):\n%s", k.Kind, name, d)
			}
			if n := len(def["properties"].(map[string]any)); n != len(k.Fields) {
				t.Errorf("%s: %d figures in the schema, %d in the table", k.Kind, n, len(k.Fields))
			}
			// The schema looks at the figures.
			for _, f := range k.Fields {
				was, there := e[f.Key]
				e[f.Key] = []any{"wrong"}
				if s.Validate(r) == nil {
					t.Errorf("%s: %s may be anything", k.Kind, f.Key)
				}
				if e[f.Key] = was; !there {
					delete(e, f.Key)
				}
			}
		}
	}
}

// TestSessionJSON: what is not known is null, what does not apply is absent.
func TestSessionJSON(t *testing.T) {
	r := written(t, made(nil))
	if err := schema(t).Validate(r); err != nil {
		t.Fatal(err)
	}
	one, two := r["sessions"].([]any)[0].(map[string]any), r["sessions"].([]any)[1].(map[string]any)
	for _, key := range []string{"cm", "vni", "failed_stream"} {
		if _, there := two[key]; there || one[key] == nil {
			t.Errorf("%s: %v, %v", key, one[key], two[key])
		}
	}
	for _, key := range []string{"application", "vantage", "path_mtu"} {
		if v, there := two[key]; !there || v != nil || one[key] == nil {
			t.Errorf("%s: %v, %v", key, one[key], two[key])
		}
	}
	for key, want := range map[string]map[string]any{
		"cnp_dscp": {"26": json.Number("2")}, "vlan_priorities": {"3": json.Number("8"), "untagged": json.Number("1")}, "p_keys": {"0x8001": json.Number("6"), "0xffff": json.Number("1")},
	} {
		if d := cmp.Diff(want, one["a_to_b"].(map[string]any)[key]); d != "" {
			t.Errorf("%s (- want, + got):\n%s", key, d)
		}
		if _, there := one["b_to_a"].(map[string]any)[key]; there {
			t.Errorf("%s is there without any", key)
		}
	}
	if v, there := two["a"].(map[string]any)["qpn"]; !there || v != nil {
		t.Errorf("an unknown QPN is %v", v)
	}
	unseen, sent := two["b_to_a"].(map[string]any), two["a_to_b"].(map[string]any)
	for _, key := range []string{"goodput_bytes", "messages", "retransmitted", "episodes", "tries", "places", "lost", "first"} {
		if v, there := unseen[key]; !there || v != nil || sent[key] == nil {
			t.Errorf("%s of what is not in the capture: %v, of what is: %v", key, v, sent[key])
		}
	}
	if v, there := sent["ack_latency_ns"]; !there || v != nil || one["a_to_b"].(map[string]any)["ack_latency_ns"] == nil {
		t.Errorf("ACK latency without a sample: %v", v)
	}
	if hosts := r["expected_counters"].([]any); len(hosts) != 4 {
		t.Errorf("%v", hosts)
	}
}

// TestCountersDoc: docs/report.md has every counter, with its meaning.
func TestCountersDoc(t *testing.T) {
	have, err := os.ReadFile(filepath.Join(capturetest.Root(t), "docs", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(name string) string {
		if name == "" {
			return ""
		}
		return "`" + name + "`"
	}
	for _, c := range hwcounters.Counters() {
		if row := "| " + quoted(c.MLX5) + " | " + quoted(c.RXE) + " | " + c.Meaning + " |\n"; !strings.Contains(string(have), row) {
			t.Errorf("docs/report.md misses the row %s", row)
		}
	}
}
