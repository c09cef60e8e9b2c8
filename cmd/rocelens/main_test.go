package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/storage/engine"
)

var update = flag.Bool("update", false, "write the golden files anew; read them before keeping them")

func TestMain(m *testing.M) {
	if code, is := engine.Child(os.Args, os.Stderr); is { // of engines that tests start
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){"rocelens": main})
}

// TestScripts runs the scripts of testdata/script, each with rocelens as a
// process of its own. Besides testscript's commands they have
//
//	first N FILE OUT    the first N bytes of FILE
//	gzip FILE OUT
//	unzstd FILE OUT
//
// and $CAPTURES, the directory of the captures.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("CAPTURES", capturetest.Testdata(t))
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"first": func(ts *testscript.TestScript, neg bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				data := ts.ReadFile(args[1])
				ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(data)[:n], 0o644))
			},
			"gzip": func(ts *testscript.TestScript, neg bool, args []string) {
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				_, err := io.WriteString(w, ts.ReadFile(args[0]))
				ts.Check(err)
				ts.Check(w.Close())
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o644))
			},
			"unzstd": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), unzstd(ts, args[0]), 0o644))
			},
		},
	})
}

// goldens are captures that between them show everything that reports and
// lists can say, each with the frames of its golden list.
var goldens = []struct{ name, frames string }{
	{"any_sll2_with_mirror_duplicates", "1-40"},
	{"corrupt_send_acks", "20-50,125-140"}, // bad ICRCs, and a corrupt IP length
	{"ecn_ce_with_synthetic_cnp", "10-30,140-160"},
	{"erspan2_truncated_mtu4096", "1-40"},
	{"erspan2_vlan_rc_write", "1-40"},
	{"formats_write_snap60", "1-40"},
	{"gretap_rc_send_ipv6", "1-40"},
	{"icmp_unreachable_reject", "1-25,1000-1010"},
	{"loss_before_write_1pct", "15-60"},
	{"loss_ud_2pct", "1-50"},
	{"loss_uc_write_1pct", "1-50"},
	{"nak_remote_access_atomic", ""},
	{"qinq_100_7_rc_read", "1-10,20-60"},
	{"rc_mixed_imm_psn_wrap", "5-35,150-220"}, // immediates, atomics, READs, and the wrap of the PSN
	{"rdmacm_rping", "1-30,230-245"},          // a connection from REQ to DREP
	{"rnr_until_posted", "1-60"},
	{"vlan_two_prio_bottleneck_drops_segment", "1-40"},
	{"vxlan_rc_write", "1-40"},
}

// correlateGoldens are captures of several taps: of two hosts, of both sides of
// a switch, and the same without a word on clocks.
var correlateGoldens = map[string][]string{
	"hosts":  {"--tap", "sender=dual_vantage_write_sender.pcap.zst", "--tap", "receiver=dual_vantage_write_receiver.pcap.zst"},
	"switch": {"--same-clock", "incast_bottleneck_drops_segment.pcap.zst", "incast_bottleneck_drops_sw2A.pcap.zst"},
	"vlan":   {"vlan_two_prio_bottleneck_drops_segment.pcap.zst", "vlan_two_prio_bottleneck_drops_sw2A.pcap.zst"},
}

// TestGolden compares what the commands print with testdata/golden.
func TestGolden(t *testing.T) {
	saved, savedVersion := time.Local, version
	time.Local, version = time.UTC, "golden"
	t.Cleanup(func() { time.Local, version = saved, savedVersion })
	dir := filepath.Join(capturetest.Root(t), "testdata", "golden")
	var paths []string
	for _, g := range goldens {
		paths = append(paths, filepath.Base(capturetest.Get(t, g.name).Path))
	}
	t.Chdir(capturetest.Testdata(t)) // paths are in the reports
	cases := make(map[string][]string)
	for i, g := range goldens {
		path := paths[i]
		cases[g.name+".txt"] = []string{"analyze", path}
		cases[g.name+".json"] = []string{"analyze", "--format", "json", path}
		cases[g.name+".list"] = []string{"packets", "--frames", g.frames, path}
	}
	for name, args := range correlateGoldens {
		cases[filepath.Join("correlate", name+".txt")] = append([]string{"correlate"}, args...)
		cases[filepath.Join("correlate", name+".json")] = append([]string{"correlate", "--format", "json", "--max-losses", "5"}, args...)
	}
	for name, args := range cases {
		var out, errOut bytes.Buffer
		if code := run(context.Background(), args, nil, &out, &errOut); code != exitDone || errOut.Len() > 0 {
			t.Errorf("%v: exit code %d, %s", args, code, errOut.String())
		}
		got := out.String()
		file := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("%s (- golden, + got; after checking: go test ./cmd/rocelens -run Golden -update):\n%s", file, d)
		}
	}
}

// TestInterruptedReport: Ctrl-C while standard input waits ends the reading,
// and what came until then is reported.
func TestInterruptedReport(t *testing.T) {
	plain := unzstd(t, capturetest.Get(t, "rdmacm_rping").Path)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = w.Write(plain[:len(plain)/2]) // and then nothing, for ever
		time.Sleep(50 * time.Millisecond)
		cancel()
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"analyze", "--format", "json", "-"}, r, &out, &errOut)
	if code != exitDamaged || !strings.Contains(errOut.String(), "interrupted") {
		t.Errorf("exit code %d, %s", code, errOut.String())
	}
	for _, s := range []string{`"partial": true`, `"damaged_at": null`} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%s is missing in %s", s, out.String())
		}
	}
	var read struct{ Capture struct{ Packets int } }
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.Capture.Packets == 0 {
		t.Errorf("nothing was counted (%v): %s", err, out.String())
	}
}

// TestInterruptedWrite: what came until then is written, as it came.
func TestInterruptedWrite(t *testing.T) {
	plain := unzstd(t, capturetest.Get(t, "rdmacm_rping").Path)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	path := filepath.Join(t.TempDir(), "out.pcapng")
	flushed := func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > int64(len(plain)/4)
	}
	go func() {
		_, _ = w.Write(plain[:len(plain)/2]) // and then nothing, for ever
		for range 1000 {
			if flushed() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"packets", "-w", path, "-"}, r, &out, &errOut)
	if code != exitDamaged || !strings.Contains(errOut.String(), "interrupted") || out.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	if !flushed() {
		t.Error("nothing was written before the end")
	}
	errOut.Reset()
	if code := run(context.Background(), []string{"packets", path}, nil, &out, &errOut); code != exitDone {
		t.Errorf("the part can't be read: exit code %d, %s", code, errOut.String())
	}
	if lines := strings.Count(out.String(), "\n"); lines < 50 || lines > 200 {
		t.Errorf("%d packets", lines)
	}
}

// TestInterruptedNotes: Ctrl-C while standard input is kept ends it, and leaves
// no file behind.
func TestInterruptedNotes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = w.Write(make([]byte, 1<<16)) // and then nothing, for ever
		cancel()
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"packets", "--sessions", "-"}, r, &out, &errOut)
	if code != exitDamaged || !strings.Contains(errOut.String(), "interrupted") || out.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

// TestClosedPipe: whoever reads may go away at any time.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errOut bytes.Buffer
	path := capturetest.Get(t, "rdmacm_rping").Path
	for _, args := range [][]string{{"packets", path}, {"packets", "-w", "-", path}, {"analyze", path}} {
		if code := run(context.Background(), args, nil, w, &errOut); code != exitDone || errOut.Len() > 0 {
			t.Errorf("%v: exit code %d, %s", args, code, errOut.String())
		}
	}
}

type fataler interface{ Fatalf(string, ...any) }

// unzstd is what a zstd file holds. The captures are compressed, and tests of
// damage need them plain.
func unzstd(t fataler, path string) []byte {
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(packed, nil)
	if err != nil {
		t.Fatalf("unpacking %s: %v", path, err)
	}
	return plain
}
