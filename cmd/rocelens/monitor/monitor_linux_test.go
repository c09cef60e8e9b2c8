package monitor_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/livetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// network puts the test's thread into a network namespace of its own, with a
// cable between va and vb. It ends with the goroutine.
func network(t *testing.T) {
	t.Helper()
	livetest.Network(t)
	for _, line := range []string{"link add va type veth peer name vb", "link set va addrgenmode none mtu 9216 up", "link set vb addrgenmode none mtu 9216 up"} {
		livetest.IP(t, line)
	}
	// Until the carrier is there, what is sent goes nowhere, and nobody says so.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("ip", "-brief", "link", "show", "up", "type", "veth").CombinedOutput()
		if err == nil && strings.Count(string(out), " UP ") == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cable does not come up: %v: %s", err, out)
		}
	}
}

// service is a monitor that runs, on a thread in the same network.
type service struct {
	url  string
	stop func() error
}

func start(t *testing.T, change func(*monitor.Config)) *service {
	t.Helper()
	return startAround(t, change, func(src capture.Source) capture.Source { return src })
}

// startAround starts one that gets what it captures by way of another source.
func startAround(t *testing.T, change func(*monitor.Config), around func(capture.Source) capture.Source) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	cfg := monitor.DefaultConfig()
	cfg.Live.Interfaces = []string{"vb"}
	cfg.Live.Context, cfg.Follow.Context = ctx, ctx
	cfg.Live.Tick = 50 * time.Millisecond
	cfg.Listen = "127.0.0.1:0"
	cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.Pipeline.Track.Intervals.Length = int64(100 * time.Millisecond)
	if change != nil {
		change(&cfg)
	}
	m, err := monitor.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Wrap(around)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	s := &service{url: strings.TrimSuffix(m.URL(), "/metrics"), stop: func() error { cancel(); return <-ended }}
	return s
}

// request asks from the test's thread, which is in the network; http.Client would
// dial on others.
func (s *service) request(path string, change func(*http.Request)) (int, string, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	if change != nil {
		change(req)
	}
	if err := req.Write(conn); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func (s *service) ask(t *testing.T, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	code, body, err := s.request(path, change)
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// try is for who may not be there yet.
func (s *service) try(path string) (int, error) {
	code, _, err := s.request(path, nil)
	return code, err
}

func (s *service) get(t *testing.T, path string) (int, string) { return s.ask(t, path, nil) }

// scrape sums up counters by name.
func (s *service) scrape(t *testing.T) map[string]float64 {
	t.Helper()
	code, text := s.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetType() == dto.MetricType_COUNTER {
				sums[name] += m.GetCounter().GetValue()
			} else {
				sums[name] += m.GetGauge().GetValue()
			}
		}
	}
	return sums
}

// burst is how many frames are sent at a time: the kernel has room for a thousand
// between the two ends of a cable.
const burst = 200

// cable is a socket to send on, and the interface for it.
func cable(t *testing.T) (fd, index int) {
	t.Helper()
	iface, err := net.InterfaceByName("va")
	if err != nil {
		t.Fatal(err)
	}
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	livetest.OnOneProcessor(t)
	return fd, iface.Index
}

// replay sends the Ethernet frames of a capture, and returns how many.
func replay(t *testing.T, path string) int {
	t.Helper()
	fd, index := cable(t)
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	n := 0
	var b capture.Batch
	for src.ReadBatch(&b) == nil {
		for i := range b.Frames {
			f := &b.Frames[i]
			if f.Link != capture.LinkEthernet || len(f.Data) < int(f.OrigLen) {
				return 0 // not what can be sent
			}
			if err := unix.Sendto(fd, f.Data, 0, &unix.SockaddrLinklayer{Ifindex: index}); err != nil {
				return 0
			}
			if n++; n%burst == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	return n
}

// of are the same sums from the file.
func of(t *testing.T, path string) map[string]float64 {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]float64)
	for i := range res.Sessions.Len() {
		s := res.Sessions.At(i)
		sums["sessions"]++
		if s.State == record.StateOpen {
			sums["open"]++
		}
		for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
			sums["rocelens_packets_total"] += float64(d.Packets)
			sums["rocelens_bytes_total"] += float64(d.WireBytes)
			sums["rocelens_payload_bytes_total"] += float64(d.PayloadBytes)
			sums["rocelens_retransmitted_packets_total"] += float64(d.Retransmitted.Packets)
			sums["rocelens_icrc_errors_total"] += float64(d.ICRCBad)
			sums["rocelens_rnr_naks_total"] += float64(d.RNRNaks)
			for _, n := range d.Tries {
				sums["tries"] += float64(n)
			}
			for _, n := range d.Naks {
				sums["rocelens_naks_total"] += float64(n)
			}
			sums["writes"] += float64(d.Latency[record.Write].Count)
			for _, n := range d.ECN {
				sums["rocelens_ecn_packets_total"] += float64(n)
			}
		}
	}
	return sums
}

// otherwise are captures that say something else when they are replayed, and
// why.
var otherwise = map[string]string{
	"merged_both_ends_aligned": "two taps saw it, and here there is one: its copies are no mirror's",
}

// abandoned are captures of requesters that gave up, which is known from how long
// nothing came after. In the file that is told by frames which the kernel leaves
// out, and here it takes longer than silence.
var abandoned = map[string]bool{"partition_retry_exceeded_long_timeout": true}

// TestReplay: a capture that is sent over a cable has the totals of the file in
// the metrics, while the monitor runs.
func TestReplay(t *testing.T) {
	network(t)
	const together = 8 // mostly they wait
	var tried atomic.Int32
	var all sync.WaitGroup
	places := make(chan struct{}, together)
	for _, c := range capturetest.Committed(t) {
		if otherwise[c.Name] != "" {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			t.Run(c.Name, func(t *testing.T) {
				if replayed(t, c.Name, c.Path) {
					tried.Add(1)
				}
			})
		})
	}
	all.Wait()
	if n := tried.Load(); n < 50 {
		t.Errorf("%d captures were sent", n)
	}
}

const captured = "rocelens_capture_frames_total"

// silence is for how long nothing comes after a capture. That a requester gave up
// can be known from that alone.
const silence = time.Second

// replayed replays a capture, and returns false where it can't be sent.
func replayed(t *testing.T, name, path string) bool {
	network(t)
	want := of(t, path)
	var tells records
	s := startAround(t, func(c *monitor.Config) {
		c.Live.BufferBytes = 16 << 20
		tells.listen(&c.Pipeline)
	}, func(src capture.Source) capture.Source { return &retimed{Source: src, file: framesOf(t, path)} })
	if replay(t, path) == 0 {
		return false
	}
	// Some have messages of connection management alone, which are no flow's packets.
	got := s.scrape(t)
	quiet := time.Now()
	for deadline := quiet.Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		before := got[captured]
		got = s.scrape(t)
		if got[captured] != before || got[captured] == 0 || got["rocelens_packets_total"] < want["rocelens_packets_total"] {
			quiet = time.Now()
		} else if time.Since(quiet) > silence {
			break
		}
	}
	for name, n := range want {
		if strings.HasPrefix(name, "rocelens_") && got[name] != n {
			t.Errorf("%s is %v, not %v", name, got[name], n)
		}
	}
	if got["rocelens_capture_dropped_frames_total"] != 0 || got["rocelens_capture_up"] != 1 {
		t.Errorf("%v frames dropped, up is %v", got["rocelens_capture_dropped_frames_total"], got["rocelens_capture_up"])
	}
	// Those that failed are in memory too, until they were silent for long.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		n := s.scrape(t)["rocelens_sessions"]
		if n >= want["open"] && n <= want["sessions"] {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%v sessions are in memory, %v are open of %v", n, want["open"], want["sessions"])
			break
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	tells.judge(t, path, abandoned[name])
	return true
}

// TestHealth: what the monitor says of itself, as the interface goes.
func TestHealth(t *testing.T) {
	network(t)
	s := start(t, nil)
	expect := func(path string, code int, text string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			got, body := s.get(t, path)
			if got == code && strings.Contains(body, text) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %q, want %d %q", path, got, body, code, text)
			}
		}
	}
	expect("/healthz", http.StatusOK, "it runs")
	expect("/readyz", http.StatusOK, "it captures")
	expect("/", http.StatusOK, "/metrics")
	expect("/debug/pprof/", http.StatusNotFound, "")
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ip("link set vb down")
	expect("/readyz", http.StatusServiceUnavailable, "down: vb\n")
	expect("/metrics", http.StatusOK, `rocelens_capture_up{interface="vb"} 0`)
	ip("link del vb")
	expect("/readyz", http.StatusServiceUnavailable, "gone: vb\n")
	ip("link add va type veth peer name vb")
	ip("link set va up")
	ip("link set vb up")
	expect("/readyz", http.StatusOK, "it captures")
	code, text := s.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	promtool := exec.Command("promtool", "check", "metrics")
	promtool.Stdin = strings.NewReader(text)
	if out, err := promtool.CombinedOutput(); errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Log("no promtool")
	} else if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool: %v: %s", err, out)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// TestRefuses: what can't be is said in one sentence.
func TestRefuses(t *testing.T) {
	network(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bad := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(bad, []byte("tls_server_config:\n  cert: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		change func(*monitor.Config)
		want   string
	}{
		{func(c *monitor.Config) { c.Live.Interfaces = []string{"nix"} }, "interface nix: there is none of that name"},
		{func(c *monitor.Config) { c.Listen = taken.Addr().String() }, "address already in use"},
		{func(c *monitor.Config) { c.WebConfig = bad }, "web configuration " + bad},
		{func(c *monitor.Config) { c.WebConfig = bad + "x" }, "no such file"},
	} {
		cfg := monitor.DefaultConfig()
		cfg.Live.Interfaces, cfg.Listen = []string{"vb"}, "127.0.0.1:0"
		tc.change(&cfg)
		m, err := monitor.Start(t.Context(), cfg)
		if err == nil {
			_ = m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

// TestUsers: with a web configuration, only its users get metrics.
func TestUsers(t *testing.T) {
	network(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "basic_auth_users:\n  prometheus: %s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *monitor.Config) { c.WebConfig = path })
	if code, _ := s.get(t, "/metrics"); code != http.StatusUnauthorized {
		t.Errorf("%d without a user", code)
	}
	for password, want := range map[string]int{"secret": http.StatusOK, "other": http.StatusUnauthorized} {
		code, _ := s.ask(t, "/metrics", func(r *http.Request) { r.SetBasicAuth("prometheus", password) })
		if code != want {
			t.Errorf("%d with password %s", code, password)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
