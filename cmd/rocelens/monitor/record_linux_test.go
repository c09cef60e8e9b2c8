package monitor_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// replayTimed sends the frames of a capture as far apart as they are in it, but for
// what the machine can't keep up with.
func replayTimed(t *testing.T, path string) (n int) {
	t.Helper()
	fd, index := cable(t)
	begun, first := time.Now(), int64(0)
	frametest.Each(t, path, func(f *capture.Frame) {
		if first == 0 {
			first = f.Time
		}
		if ahead := time.Duration(f.Time-first) - time.Since(begun); ahead > time.Millisecond {
			time.Sleep(ahead)
		}
		if err := unix.Sendto(fd, f.Data, 0, &unix.SockaddrLinklayer{Ifindex: index}); err != nil {
			t.Fatal(err)
		}
		n++
	})
	return n
}

// findings are those of a file.
func findings(t *testing.T, path string) (all []record.Finding, in capture.Input, packets uint64) {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	in = src.Inputs()[0]
	if in.Damage != nil {
		t.Errorf("%s: %v", path, in.Damage)
	}
	return finding.Find(&finding.Facts{Inputs: src.Inputs(), Result: res}), in, res.Packets
}

// tshark reads a file, and returns how many packets match a filter.
func tshark(t *testing.T, path, filter string) int {
	t.Helper()
	out, err := exec.Command("tshark", "-r", path, "-Y", filter, "-T", "fields", "-e", "frame.number").Output()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Log("no tshark")
		return -1
	}
	if err != nil {
		t.Errorf("tshark: %v", err)
	}
	return strings.Count(string(out), "\n")
}

// recordings are the files in a directory.
func recordings(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRecord: what goes wrong on the wire leaves a file of the evidence, which an
// analysis finds the same in, and findings that name it: in the log, in the metrics and
// in the store.
func TestRecord(t *testing.T) {
	enginetest.Need(t)
	for _, tc := range []struct {
		scenario, code string
		filter         string // of frames that have to be in the file
		comment        string
		dir            string // of the store; one engine at a time
	}{
		{scenario: "pfc_storm", code: "pfc-storm", filter: "macc.opcode == 0x0101", comment: "rocelens finding pfc-storm, critical"},
		{scenario: "loss_before", code: "lost-before-tap", filter: `frame.comment contains "rocelens event: try"`, comment: "rocelens finding"},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			network(t)
			dir := t.TempDir()
			d, err := dsn.Parse("embedded:" + filepath.Join(dir, "store"))
			if err != nil {
				t.Fatal(err)
			}
			var log enginetest.Log
			files := filepath.Join(dir, "evidence")
			s := start(t, func(c *monitor.Config) {
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
				c.Store.DSN, c.Store.Probe, c.Store.Spool.Path = d, "leaf-1", filepath.Join(dir, "monitor.spool")
				c.StopTimeout = 20 * time.Second
				c.FindEvery = 200 * time.Millisecond
				c.Record.Dir, c.Record.Around = files, 500*time.Millisecond
				c.Pipeline.Links.All = 1_000_000_000 // a pause is of 33 ms then, which a busy machine can refresh in time
			})
			made, _ := scenariotest.File(t, tc.scenario)
			if replayTimed(t, made) == 0 {
				t.Fatal("nothing was sent")
			}
			for deadline := time.Now().Add(30 * time.Second); !strings.Contains(log.String(), "code="+tc.code) && time.Now().Before(deadline); {
				time.Sleep(50 * time.Millisecond)
			}
			counts := s.scrape(t)
			storm := tc.code == "pfc-storm"
			for deadline := time.Now().Add(30 * time.Second); storm && counts["rocelens_pause_storms_open"] != 0 && time.Now().Before(deadline); counts = s.scrape(t) {
				time.Sleep(50 * time.Millisecond)
			}
			if open, found := counts["rocelens_pause_storms_open"], counts["rocelens_pause_storms_total"]; open != 0 || (found > 0) != storm {
				t.Errorf("%v storms were found, of which %v are not over", found, open)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if counts["rocelens_findings_total"] == 0 || counts["rocelens_recordings_total"] == 0 {
				t.Errorf("%v findings, %v recordings", counts["rocelens_findings_total"], counts["rocelens_recordings_total"])
			}
			found := false
			for _, path := range recordings(t, files) {
				all, in, packets := findings(t, path)
				if slices.ContainsFunc(all, func(x record.Finding) bool { return x.Code == tc.code }) {
					found = true
					if !strings.Contains(log.String(), "recording="+path) {
						t.Errorf("the log does not name %s: %s", path, log.String())
					}
					if n := tshark(t, path, tc.filter); n == 0 {
						t.Errorf("%s has no frame with %s", path, tc.filter)
					}
					if n := tshark(t, path, "frame"); n >= 0 && uint64(n) != packets {
						t.Errorf("tshark reads %d packets of %s, and rocelens %d", n, path, packets)
					}
					if !slices.ContainsFunc(in.Comments, func(c string) bool { return strings.Contains(c, tc.comment) }) {
						t.Errorf("%q does not say %q", in.Comments, tc.comment)
					}
				}
			}
			if !found {
				t.Errorf("no file has the evidence: %q; %s", recordings(t, files), log.String())
			}
			st, err := storage.Open(t.Context(), d, engine.DefaultConfig(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close(context.Background())
			var path string
			if err := st.Row(t.Context(), []any{&path}, `SELECT JSONExtractString(evidence, 'recording') FROM rocelens.findings WHERE code = '`+tc.code+`' AND probe = 'leaf-1' ORDER BY time LIMIT 1`); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(recordings(t, files), path) {
				t.Errorf("the store names %q, and there is %q", path, recordings(t, files))
			}
		})
	}
}

// TestRecordNothing: of traffic that is well nothing is found, and no file written, and
// that there was none shows.
func TestRecordNothing(t *testing.T) {
	network(t)
	dir := filepath.Join(t.TempDir(), "evidence")
	var log enginetest.Log
	s := start(t, func(c *monitor.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.FindEvery = 100 * time.Millisecond
		c.Record.Dir, c.Record.Around = dir, 100*time.Millisecond
	})
	path, _ := scenariotest.File(t, "clean_mixed")
	n := replayTimed(t, path)
	for deadline := time.Now().Add(20 * time.Second); s.scrape(t)["rocelens_packets_total"] < float64(n) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if got := s.scrape(t)["rocelens_packets_total"]; got < float64(n) {
		t.Errorf("%v of %d packets", got, n)
	}
	if storms, there := s.scrape(t)["rocelens_pause_storms_total"]; storms != 0 || !there {
		t.Errorf("%v storms; they are counted from 0 on: %v", storms, there)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if list := recordings(t, dir); len(list) > 0 || strings.Contains(log.String(), "severity=warning") || strings.Contains(log.String(), "severity=critical") {
		t.Errorf("%q, %s", list, log.String())
	}
}

// TestRecordNowhere: where the directory is gone this is said and counted, and all goes
// on.
func TestRecordNowhere(t *testing.T) {
	network(t)
	dir := filepath.Join(t.TempDir(), "evidence")
	var log enginetest.Log
	s := start(t, func(c *monitor.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.FindEvery = 100 * time.Millisecond
		c.Record.Dir, c.Record.Around = dir, 100*time.Millisecond
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	path, _ := scenariotest.File(t, "loss_before")
	n := replayTimed(t, path)
	// Packets are counted when their interval is over, whether or not it was told by then.
	counts := s.scrape(t)
	told := func() bool {
		return strings.Contains(log.String(), "not_recorded=") && counts["rocelens_recordings_total"] > 0 && counts["rocelens_packets_total"] >= float64(n)
	}
	for deadline := time.Now().Add(30 * time.Second); !told() && time.Now().Before(deadline); counts = s.scrape(t) {
		time.Sleep(50 * time.Millisecond)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "evidence could not be recorded") || !strings.Contains(log.String(), "not_recorded=") {
		t.Errorf("it does not say so: %s", log.String())
	}
	if counts["rocelens_packets_total"] < float64(n) || counts["rocelens_recordings_total"] == 0 {
		t.Errorf("%v of %d packets, %v recordings", counts["rocelens_packets_total"], n, counts["rocelens_recordings_total"])
	}
}
