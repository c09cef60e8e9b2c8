package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/metrics"
	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/writer"
)

var update = flag.Bool("update", false, "write the golden files anew")

// gather is what a scrape gets.
func gather(t *testing.T, c prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// values are those of a metric, by the value of a label, summed over all others.
func values(all []*dto.MetricFamily, name, label string) map[string]float64 {
	sums := make(map[string]float64)
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					key = l.GetValue()
				}
			}
			sums[key] += m.GetCounter().GetValue()
		}
	}
	return sums
}

func analyse(t *testing.T, path string, flows *metrics.Flows) *pipeline.Result {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := pipeline.DefaultConfig()
	cfg.Track.Intervals.Length = 10_000_000
	cfg.Track.Intervals.Sink = flows.Add
	res, err := pipeline.Run(context.Background(), src, cfg)
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	return res
}

func port(_, _ int32) string { return "eth0" }

// TestSums: what a scrape gets after a capture is what its sessions did.
func TestSums(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range capturetest.Committed(t) {
		flows := metrics.NewFlows(port)
		res := analyse(t, c.Path, flows)
		want := map[string]float64{}
		for i := range res.Sessions.Len() {
			s := res.Sessions.At(i)
			for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
				want["rocelens_packets_total"] += float64(d.Packets)
				want["rocelens_bytes_total"] += float64(d.WireBytes)
				want["rocelens_retransmitted_packets_total"] += float64(d.Retransmitted.Packets)
				want["rocelens_rnr_naks_total"] += float64(d.RNRNaks)
				want["rocelens_icrc_errors_total"] += float64(d.ICRCBad)
				for _, n := range d.Naks {
					want["rocelens_naks_total"] += float64(n)
				}
				for _, n := range d.ECN {
					want["rocelens_ecn_packets_total"] += float64(n)
				}
			}
		}
		all := gather(t, flows)
		for name, n := range want {
			got := 0.0
			for _, v := range values(all, name, "") {
				got += v
			}
			if got != n {
				t.Errorf("%s: %s is %v, not %v", c.Name, name, got, n)
			}
			seen[name] = seen[name] || n > 0
		}
	}
	for name, ok := range seen {
		if !ok {
			t.Errorf("%s was 0 everywhere", name)
		}
	}
}

// TestHistograms: classic buckets are exact, native ones within their width.
func TestHistograms(t *testing.T) {
	flows := metrics.NewFlows(port)
	x := record.FlowInterval{Priority: -1}
	for _, ns := range []int64{0, 1, 511, 512, 513, 1000, 5000, 5000, 70_000, 1_000_000_000, 9_000_000_000} {
		x.AckLatency.Add(ns)
	}
	flows.Add([]record.FlowInterval{x})
	flows.Add([]record.FlowInterval{x})
	for _, f := range gather(t, flows) {
		if f.GetName() != "rocelens_ack_latency_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 22 || math.Abs(h.GetSampleSum()-2*float64(x.AckLatency.Sum)/1e9) > 1e-9 {
			t.Errorf("%d values, sum %v", h.GetSampleCount(), h.GetSampleSum())
		}
		below := func(bound float64) uint64 {
			for _, b := range h.GetBucket() {
				if b.GetUpperBound() == bound {
					return b.GetCumulativeCount()
				}
			}
			t.Fatalf("no bucket ends at %v", bound)
			return 0
		}
		for bound, n := range map[float64]uint64{512e-9: 6, 1024e-9: 12, 8192e-9: 16, 131072e-9: 18, 1.073741824: 20, 8.589934592: 20} {
			if got := below(bound); got != n {
				t.Errorf("%d values below %v, not %d", got, bound, n)
			}
		}
		if h.GetZeroCount() != 2 || h.GetSchema() != 3 {
			t.Errorf("%d zeros, schema %d", h.GetZeroCount(), h.GetSchema())
		}
		// Spans and deltas say which native buckets have how many.
		native := map[int32]int64{}
		at, n, k := int32(0), int64(0), 0
		for _, s := range h.GetPositiveSpan() {
			at += s.GetOffset()
			for range s.GetLength() {
				n += h.GetPositiveDelta()[k]
				native[at] += n
				at++
				k++
			}
		}
		for _, ns := range []float64{1, 511, 1000, 5000, 70_000, 1e9, 9e9} {
			i := int32(math.Ceil(math.Log2(ns/1e9) * 8))
			if native[i-1]+native[i]+native[i+1] == 0 {
				t.Errorf("%v ns is in no native bucket near %d: %v", ns, i, native)
			}
		}
		sum := int64(h.GetZeroCount())
		for _, n := range native {
			sum += n
		}
		if sum != 22 {
			t.Errorf("%d values in native buckets", sum)
		}
		return
	}
	t.Error("no histogram")
}

// TestNeverFalls: what is taken back does not make a counter fall, and counts
// against what comes.
func TestNeverFalls(t *testing.T) {
	flows := metrics.NewFlows(port)
	for _, tc := range []struct {
		lost int64
		want float64
	}{{5, 5}, {-3, 5}, {2, 5}, {4, 8}} {
		flows.Add([]record.FlowInterval{{LostBeforeTap: tc.lost}})
		if got := values(gather(t, flows), "rocelens_lost_packets_total", "place")["before_tap"]; got != tc.want {
			t.Errorf("%v after %+d, not %v", got, tc.lost, tc.want)
		}
	}
}

// TestFull: buckets of an interval that are full don't make a histogram that
// contradicts itself, and sums go on beyond 2^32.
func TestFull(t *testing.T) {
	flows := metrics.NewFlows(port)
	var h sketch.Histogram
	h.Add(1000)
	for range 33 {
		h.Merge(&h)
	}
	for range 3 {
		flows.Add([]record.FlowInterval{{AckLatency: h}})
	}
	for _, f := range gather(t, flows) {
		if f.GetName() == "rocelens_ack_latency_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			if last := h.GetBucket()[len(h.GetBucket())-1].GetCumulativeCount(); h.GetSampleCount() != 3*math.MaxUint32 || last != h.GetSampleCount() {
				t.Errorf("%d values, %d in buckets", h.GetSampleCount(), last)
			}
		}
	}
}

// collectors are several as one.
type collectors []prometheus.Collector

func (all collectors) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range all {
		c.Describe(ch)
	}
}

func (all collectors) Collect(ch chan<- prometheus.Metric) {
	for _, c := range all {
		c.Collect(ch)
	}
}

// TestExposition holds what a scrape gets against a golden file, and names
// against Prometheus's conventions: by its library, and by promtool where it is
// installed.
func TestExposition(t *testing.T) {
	flows := metrics.NewFlows(func(input, _ int32) string { return []string{"eth0", "eth1"}[input] })
	x := record.FlowInterval{Version: record.V2, Priority: 3, Packets: 100, WireBytes: 110_000, Acks: 10, CNPsSent: 2, LostBeforeTap: 1}
	x.Tries[record.CauseNak] = 1
	x.AckLatency.Add(12_345)
	y := record.FlowInterval{Version: record.V1, Priority: -1, Input: 1, Packets: 7}
	flows.Add([]record.FlowInterval{x, y})
	pauses := metrics.NewPauses(port)
	clock := time.Unix(1_796_000_000, 250_000_000)
	pauses.SetClock(func() time.Time { return clock })
	pauses.Add([]record.PauseInterval{
		{Pauser: record.Pauser{Name: "swp1", PFC: true}, Priority: 3, Paused: 1_500_000, Frames: 2}, {Pauser: record.Pauser{Name: "swp1", PFC: true}, Priority: 3, Paused: 500_000, Frames: 1},
		{Pauser: record.Pauser{}, Frames: 4},
	})
	pauses.Watch("swp2")
	for range 3 {
		pauses.Storm(&record.Storm{Pauser: record.Pauser{Name: "swp1"}})
	}
	pauses.StormOver(&record.Storm{Pauser: record.Pauser{Name: "swp1"}})
	pauses.Storm(&record.Storm{Pauser: record.Pauser{Name: "swp3"}})
	pauses.StormOver(&record.Storm{Pauser: record.Pauser{Name: "swp3"}})
	clock = clock.Add(time.Minute) // one at swp1 goes on
	in, received, dropped := capture.Input{Path: "eth0", Frames: 5, Bytes: 500}, uint64(6), uint64(1)
	in.Drops, in.Interfaces = &dropped, []capture.Interface{{Received: &received, Down: true}}
	files := capture.Input{Path: "/ring", Frames: 3, Followed: &capture.Followed{Files: 4, Waiting: 1, Missed: 2, Cut: 1}}
	counts := writer.Counts{"events": {Written: 7, Dropped: 1, Failures: 2}}
	followed := func() pipeline.Followed {
		return pipeline.Followed{Sessions: 12, Evicted: 3, Refused: 4, Decoded: pipeline.Decoded{ICRCGood: 200, ICRCBad: 6, ICRCUnverifiable: 7, Management: 8, Malformed: 9}}
	}
	findings := metrics.NewFindings(func() (sessions, events uint64) { return 1, 2 })
	findings.Add(&record.Finding{Code: "pfc-storm", Severity: record.Critical})
	recordings := metrics.NewRecorder(func() recorder.Counts {
		return recorder.Counts{Written: 5, Failed: 1, Skipped: 2, Deleted: 3, Cut: 4, Disk: 1000, DiskMax: 2000, Memory: 3000, Span: 60_000_000_000}
	})
	all := collectors{flows, pauses, metrics.NewSessions(followed), metrics.NewPackets(followed), findings, recordings, metrics.NewCapture(func() []capture.Input { return []capture.Input{in, files} }), metrics.NewStepsBack(),
		metrics.NewStore(func() writer.Counts { return counts }, func() spool.Size { return spool.Size{Rows: 3, Bytes: 4096, Max: 1 << 20} }, func() bool { return true })}
	var out bytes.Buffer
	for _, f := range gather(t, all) {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	golden := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("another exposition than %s; -update writes it anew", golden)
	}
	problems, err := promlint.New(bytes.NewReader(want)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no promtool")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(want)
	if said, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "" {
		t.Errorf("promtool: %v: %s", err, said)
	}
}

// TestRecorderUnread: how much recordings take is left out where it is not known.
func TestRecorderUnread(t *testing.T) {
	c := metrics.NewRecorder(func() recorder.Counts { return recorder.Counts{Disk: -1, DiskMax: 2000} })
	for _, f := range gather(t, c) {
		if f.GetName() == "rocelens_recordings_bytes" {
			t.Errorf("%v", f)
		}
	}
}

// TestDocs holds docs/metrics.md against the metrics.
func TestDocs(t *testing.T) {
	var out bytes.Buffer
	if err := metrics.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`fqName: "([a-z_]+)"`)
	descs := make(chan *prometheus.Desc, 200)
	for _, c := range []prometheus.Collector{metrics.NewFlows(port), metrics.NewPauses(port), metrics.NewCapture(nil), metrics.NewStore(nil, nil, nil), metrics.NewFindings(nil), metrics.NewRecorder(nil), metrics.NewSessions(nil), metrics.NewPackets(nil), metrics.NewStepsBack(), metrics.NewBuild("1")} {
		c.Describe(descs)
	}
	close(descs)
	for d := range descs {
		if m := name.FindStringSubmatch(d.String()); len(m) < 2 || !strings.Contains(out.String(), "| `"+m[1]+"` |") {
			t.Errorf("docs/metrics.md does not have %s", d)
		}
	}
	path := filepath.Join("..", "..", "docs", "metrics.md")
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%s is another; -update writes it anew", path)
	}
}

// TestLabels: names are not always text, and labels must be.
func TestLabels(t *testing.T) {
	const name, want = "ring\xff.pcap", `"ring\xff.pcap"`
	flows, pauses := metrics.NewFlows(func(_, _ int32) string { return name }), metrics.NewPauses(func(_, _ int32) string { return "" })
	flows.Add([]record.FlowInterval{{Version: record.V2, Packets: 1}})
	pauses.Add([]record.PauseInterval{{Pauser: record.Pauser{Name: name}}})
	pauses.Watch(name)
	pauses.Storm(&record.Storm{Pauser: record.Pauser{Name: name}})
	in := capture.Input{Path: name, Followed: new(capture.Followed)}
	families := gather(t, collectors{flows, pauses, metrics.NewCapture(func() []capture.Input { return []capture.Input{in} })})
	seen := 0
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "interface" {
					seen++
					if l.GetValue() != want {
						t.Errorf("%s of %q", f.GetName(), l.GetValue())
					}
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d labels", seen)
	}
}
