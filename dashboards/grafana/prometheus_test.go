package grafana_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
	"github.com/rocelens/rocelens/storage/metrics"
	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/writer"
)

// monitor has the metrics of one, of scenarios instead of a network.
type monitor struct {
	*httptest.Server
	mu     sync.Mutex // of what follows, while Prometheus asks
	flows  *metrics.Flows
	pauses *metrics.Pauses
	found  *metrics.Findings
	many   pipeline.Followed
	inputs []capture.Input
	stored writer.Counts

	healthy bool // nothing is wrong with the probe itself
}

func newMonitor(t *testing.T) *monitor {
	port := func(_, _ int32) string { return "mirror0" }
	drops := uint64(0)
	m := &monitor{
		flows: metrics.NewFlows(port), pauses: metrics.NewPauses(port),
		found:  metrics.NewFindings(func() (sessions, events uint64) { return 0, 0 }),
		inputs: []capture.Input{{Path: "mirror0", Drops: &drops, Followed: &capture.Followed{Waiting: 2}, Interfaces: []capture.Interface{{Name: "mirror0"}}}},
		stored: writer.Counts{"flow_intervals": {}},
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m.flows, m.pauses, m.found, metrics.NewSessions(func() pipeline.Followed { return m.many }), metrics.NewCapture(func() []capture.Input { return m.inputs }), metrics.NewBuild("test"),
		metrics.NewStore(func() writer.Counts { return m.stored }, func() spool.Size { return spool.Size{Rows: 5, Bytes: 100, Max: 1000} }, func() bool { return true }),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// see adds what scenarios did, and some trouble of the probe itself unless it is
// healthy.
func (m *monitor) see(t *testing.T, scenarios ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range scenarios {
		path, truth := scenariotest.File(t, name)
		analyse(t, path, m.flows.Add, func(r *pipeline.Result, inputs []capture.Input) {
			for _, f := range finding.Find(&finding.Facts{Inputs: inputs, Result: r}) {
				m.found.Add(&f)
			}
			m.pauses.Add(r.Pause.Intervals)
			for i := range r.Pause.Storms {
				m.pauses.Storm(&r.Pause.Storms[i].Storm)
			}
		})
		m.inputs[0].Frames += truth.Frames
		if m.healthy {
			continue
		}
		*m.inputs[0].Drops += 10
		m.inputs[0].Followed.Missed++
		m.many.Sessions, m.many.Evicted, m.many.Refused = m.many.Sessions+1, m.many.Evicted+1, m.many.Refused+1
	}
	if m.healthy {
		return
	}
	c := m.stored["flow_intervals"]
	c.Written, c.Dropped, c.Failures = c.Written+100, c.Dropped+1, c.Failures+1
	m.stored = writer.Counts{"flow_intervals": c}
}

// prom is a real Prometheus.
type prom struct{ url string }

// startPrometheus starts one that asks a monitor twice a second, and has rules.
func startPrometheus(t *testing.T, target string, native bool, rules ...string) *prom {
	t.Helper()
	capturetest.Need(t, "prometheus")
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs: [{job_name: rocelens, static_configs: [{targets: [%q]}]}]\n", target)
	text += "rule_files:\n"
	for _, path := range rules {
		text += fmt.Sprintf("  - %q\n", path)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address}
	if native {
		args = append(args, "--enable-feature=native-histograms")
	}
	cmd := exec.Command("prometheus", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return &prom{"http://" + address}
}

// sample is one series of an answer at one time.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s *sample) number() float64 {
	f, err := strconv.ParseFloat(fmt.Sprint(s.Value[1]), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// query asks Prometheus; an error is that of the query, or that it does not answer yet.
func (p *prom) query(expr string) ([]sample, error) {
	resp, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var a struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("%w: %.200s", err, body)
	}
	if a.Status != "success" {
		return nil, errors.New(a.Error)
	}
	return a.Data.Result, nil
}

// knows waits until an expression is true.
func (p *prom) knows(t *testing.T, expr string) {
	t.Helper()
	var rows []sample
	var err error
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if rows, err = p.query(expr); err == nil && len(rows) > 0 {
			return
		}
	}
	t.Fatalf("%s is not so: %v", expr, err)
}

// promQuiet are queries that may say 0 though something is wrong with the network.
var promQuiet = []string{"Interfaces down", "Lost by the mirror A", "Lost by the mirror B", "Standing still B", "Marks and CNPs C"}

var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

// TestPrometheus runs every query of every board in a real Prometheus that boardtest.Query
// for metrics of scenarios, with native histograms and without.
func TestPrometheus(t *testing.T) {
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native %v", native), func(t *testing.T) {
			m := newMonitor(t)
			trouble := []string{"loss_before", "loss_after", "loss_tail", "rnr", "corrupt", "cnp", "pfc_storm"}
			m.see(t, trouble...) // so that all series are there before they rise
			p := startPrometheus(t, strings.TrimPrefix(m.URL, "http://"), native)
			p.knows(t, "rocelens_build_info")
			first, err := p.query("sum(rocelens_packets_total)")
			if err != nil || len(first) != 1 {
				t.Fatal(first, err)
			}
			m.see(t, trouble...)
			p.knows(t, fmt.Sprintf("sum(rocelens_packets_total) > %v", first[0].number()))
			p.knows(t, "count_over_time(rocelens_paused_seconds_total[5m]) > 5") // so many that there is a rate at a full second
			s := &boardtest.Screen{From: time.Unix(0, 0), To: time.Unix(300, 0), Variables: map[string][]string{
				"instance": {strings.TrimPrefix(m.URL, "http://"), "another:9797"}, "priority": {"0", "1", "2", "3", "4", "5", "6", "7", "none"},
			}}
			for _, q := range boardtest.Queries(t) {
				if q.Source != "prometheus" {
					continue
				}
				expr := s.PromQL(q.Text)
				if m := labelValues.FindStringSubmatch(q.Text); m != nil { // of Grafana, and not PromQL
					expr = "count by (" + m[2] + ") (" + m[1] + ")"
				}
				checkPromQL(t, p, q, expr)
			}
		})
	}
}

func checkPromQL(t *testing.T, p *prom, q boardtest.Query, expr string) {
	t.Helper()
	rows, err := p.query(expr)
	if err != nil {
		t.Errorf("%s: %v\n%s", q.Name, err, expr)
		return
	}
	sum := 0.0
	for i := range rows {
		if n := rows[i].number(); !math.IsNaN(n) {
			sum += n
		}
	}
	quiet := false
	for _, name := range promQuiet {
		quiet = quiet || strings.Contains(q.Name, " "+name)
	}
	if len(rows) == 0 || sum < 0 || sum == 0 && !quiet {
		t.Errorf("%s says %v\n%s", q.Name, rows, expr)
	}
}
