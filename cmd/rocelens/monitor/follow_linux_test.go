package monitor_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
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

// shifted are the records of a pcap file, later by some seconds.
func shifted(file []byte, seconds int64) []byte {
	le := binary.LittleEndian
	const header, record = 24, 16
	out := bytes.Clone(file[header:])
	for rest := out; len(rest) > 0; rest = rest[record+le.Uint32(rest[8:]):] {
		le.PutUint32(rest, uint32(int64(le.Uint32(rest))+seconds))
	}
	return out
}

// growing is a capture that grows by what is written.
func growing(t *testing.T) (path string, write func([]byte)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "growing.pcap")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path, func(content []byte) {
		t.Helper()
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFollowClocks: one frame with an odd time, or a clock that is put back, does not
// keep what is found afterwards from being told and recorded.
func TestFollowClocks(t *testing.T) {
	network(t)
	file := unpacked(t, capturetest.Get(t, "loss_before_write_1pct").Path)
	const header, record = 24, 16
	one := file[:header+record+binary.LittleEndian.Uint32(file[header+8:])]
	path, write := growing(t)
	write(file[:header])
	var log enginetest.Log
	s := start(t, func(c *monitor.Config) {
		c.Follow.Paths, c.Follow.Poll, c.Follow.Tick, c.Follow.Late = []string{path}, time.Millisecond, 10*time.Millisecond, 200*time.Millisecond
		c.FindEvery, c.Record.Dir, c.Record.Around = 100*time.Millisecond, filepath.Join(t.TempDir(), "evidence"), time.Second
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	wait := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s", what, log.String())
			}
		}
	}
	for i := range 3 { // the third time it is of fewer sessions than it was told of
		write(shifted(file, int64(i)*120))
		write(shifted(one, int64(i)*120+20)) // time goes on
		wait("losses are not told", func() bool {
			return strings.Count(log.String(), "code=lost-before-tap severity=critical recording=") > i
		})
		const decades = 2_000_000_000
		write(shifted(one, decades))
		wait("sessions are not over after decades", func() bool { return s.scrape(t)["rocelens_sessions"] == 0 })
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
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
