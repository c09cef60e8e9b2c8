package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// TestPrometheus: the real Prometheus scrapes a monitor, with native histograms
// and without, and knows the totals of the capture that was sent.
func TestPrometheus(t *testing.T) {
	capturetest.Need(t, "prometheus")
	path := ""
	for _, c := range capturetest.Committed(t) {
		if c.Name == "loss_before_write_1pct" {
			path = c.Path
		}
	}
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native %v", native), func(t *testing.T) {
			network(t)
			want := of(t, path)
			s := start(t, nil)
			if replay(t, path) == 0 {
				t.Fatal("nothing was sent")
			}
			p := prometheus(t, strings.TrimPrefix(s.url, "http://"), native)
			value := func(query string) float64 {
				t.Helper()
				_, body := p.get(t, "/api/v1/query?query="+url.QueryEscape(query))
				var answer struct {
					Data struct {
						Result []struct{ Value [2]any }
					}
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil {
					t.Fatalf("%v: %s", err, body)
				}
				if len(answer.Data.Result) != 1 {
					return 0
				}
				v, err := strconv.ParseFloat(fmt.Sprint(answer.Data.Result[0].Value[1]), 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			reaches := func(query string, want float64) {
				t.Helper()
				got := 0.0
				for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
					if got = value(query); got == want {
						return
					}
				}
				t.Errorf("%s is %v, not %v", query, got, want)
			}
			reaches("sum(rocelens_packets_total)", want["rocelens_packets_total"])
			reaches("sum(rocelens_retransmitted_packets_total)", want["rocelens_retransmitted_packets_total"])
			count := "sum(rocelens_write_latency_seconds_count)"
			if native {
				count = "histogram_count(sum(rocelens_write_latency_seconds))"
			}
			reaches(count, want["writes"])
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// prometheus starts a Prometheus in the test's network that scrapes target.
func prometheus(t *testing.T, target string, native bool) *service {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\nscrape_configs:\n  - job_name: rocelens\n    static_configs:\n      - targets: [%q]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "127.0.0.1:9090" // of the test's own network
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
	p := &service{url: "http://" + address}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if code, err := p.try("/-/ready"); err == nil && code == http.StatusOK {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("Prometheus does not start")
		}
	}
}
