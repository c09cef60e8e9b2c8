package monitor_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
)

// unpacked is what a capture has when it is not compressed.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestFollow: what is in files that grow in a directory is in the metrics while
// they grow, up to the last interval, and it is told what became of them.
func TestFollow(t *testing.T) {
	network(t)
	dir := t.TempDir()
	s := start(t, func(c *monitor.Config) {
		c.Follow.Paths, c.Follow.Poll, c.Follow.Tick, c.Follow.Late = []string{dir}, time.Millisecond, 10*time.Millisecond, 200*time.Millisecond
	})
	want := make(map[string]float64)
	for i, name := range []string{"vxlan_rc_write", "loss_before_write_1pct"} {
		path := capturetest.Get(t, name).Path
		for k, n := range of(t, path) {
			want[k] += n
		}
		content := unpacked(t, path)
		f, err := os.Create(filepath.Join(dir, []string{"b.pcap", "a.pcap"}[i]))
		if err != nil {
			t.Fatal(err)
		}
		for len(content) > 0 {
			n := min(len(content), 50_001)
			if _, err := f.Write(content[:n]); err != nil {
				t.Fatal(err)
			}
			content = content[n:]
			time.Sleep(time.Millisecond)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string]float64
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = s.scrape(t); got["rocelens_packets_total"] >= want["rocelens_packets_total"] {
			break
		}
	}
	got = s.scrape(t)
	for name, n := range want {
		if strings.HasPrefix(name, "rocelens_") && got[name] != n {
			t.Errorf("%s is %v, not %v", name, got[name], n)
		}
	}
	if got["rocelens_capture_files_total"] != 2 || got["rocelens_capture_lost_files_total"] != 0 || got["rocelens_capture_up"] != 1 {
		t.Errorf("%v files, %v lost, up is %v", got["rocelens_capture_files_total"], got["rocelens_capture_lost_files_total"], got["rocelens_capture_up"])
	}
	ready := func(code int) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if got, body := s.get(t, "/readyz"); got == code {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("%d %s, want %d", got, bytes.TrimSpace([]byte(body)), code)
			}
		}
	}
	ready(http.StatusOK)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ready(http.StatusServiceUnavailable)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
