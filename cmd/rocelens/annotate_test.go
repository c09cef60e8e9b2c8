package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
)

// frameKey is all of a frame that annotate may not change.
type frameKey struct {
	data, comments string
	time           int64
	wire           uint32
	fcs            int8
	link           capture.LinkType
}

func framesOf(t *testing.T, path string) (all []frameKey) {
	t.Helper()
	frametest.Each(t, path, func(f *capture.Frame) {
		all = append(all, frameKey{string(f.Data), strings.Join(f.Comments(), "\n"), f.Time, f.OrigLen, f.FCSLen, f.Link})
	})
	return all
}

// TestAnnotateFrames: all captures keep their frames byte for byte, and what is
// added are comments. Those with an event have some.
func TestAnnotateFrames(t *testing.T) {
	dir := t.TempDir()
	annotated := filepath.Join(dir, "annotated.pcapng")
	for _, c := range capturetest.Committed(t) {
		runOK(t, "annotate", "-o", annotated, c.Path)
		before, after := framesOf(t, c.Path), framesOf(t, annotated)
		if len(before) != len(after) || len(before) == 0 {
			t.Fatalf("%s: %d frames became %d", c.Name, len(before), len(after))
		}
		comments := 0
		for i := range after {
			comments += len(after[i].comments)
			for _, line := range strings.Split(after[i].comments, "\n") {
				if line != "" && !strings.HasPrefix(line, "rocelens ") || strings.ContainsAny(line, "\u00a0") {
					t.Fatalf("%s frame %d: comment %q", c.Name, i+1, line)
				}
			}
			after[i].comments = before[i].comments
			if before[i] != after[i] {
				t.Fatalf("%s: frame %d was %+v\nis %+v", c.Name, i+1, before[i], after[i])
			}
		}
		var report struct {
			Events []struct{ Kind string } `json:"events"`
		}
		if err := json.Unmarshal(runOK(t, "analyze", "--format", "json", c.Path), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Events) > 0 && comments == 0 {
			t.Errorf("%s: %d events, and no comment", c.Name, len(report.Events))
		}
	}
}

// commented are captures with events of all kinds that captures have.
var commented = []string{
	"loss_before_write_1pct", "rnr_until_posted", "corrupt_send_acks", "ecn_ce_with_synthetic_cnp", "nak_remote_access_atomic", "reorder_ud", "rdmacm_rping",
	"single_read_resp_middle_after", "partition_heal_before", "any_sll2_with_mirror_duplicates", "nvmeof_fio_loss_after_1pct", "qpn_reuse_three_connections",
}

// TestAnnotateAgainstTshark: tshark shows the comments, and what they say of
// other packets is so in tshark's eyes: each NAK has one, the frame that asked
// for a retransmission is a NAK of the PSN that it begins with, and a packet
// that was seen before is there with the same PSN.
func TestAnnotateAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	dir := t.TempDir()
	tried, asked, again := regexp.MustCompile(`rocelens try: \S+ sends again from PSN (\d+) `), regexp.MustCompile(`asked for in frame (\d+)`), regexp.MustCompile(`before, in frame (\d+)`)
	links, repeats := 0, 0
	for _, name := range commented {
		annotated := filepath.Join(dir, name+".pcapng")
		runOK(t, "annotate", "-o", annotated, capturetest.Get(t, name).Path)
		out := capturetest.RunTshark(t, annotated, "-T", "fields", "-E", "occurrence=l", "-e", "frame.number", "-e", "infiniband.aeth.syndrome.opcode", "-e", "infiniband.bth.psn", "-e", "infiniband.bth.destqp", "-e", "frame.comment", "-E", "occurrence=a", "-E", "aggregator=|")
		type row struct{ syndrome, psn, qp, comment string }
		var rows []row
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			rows = append(rows, row{f[1], f[2], f[3], f[4]})
		}
		at := func(number string) row {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > len(rows) {
				t.Fatalf("%s: there is no frame %s", name, number)
			}
			return rows[n-1]
		}
		found := 0
		for i, r := range rows {
			if r.comment != "" {
				found++
			}
			if nak := r.syndrome == "3" || r.syndrome == "1"; nak && !strings.Contains(r.comment, "nak: ") && !strings.Contains(r.comment, "rocelens duplicate: ") {
				t.Errorf("%s: frame %d is a NAK, and its comment is %q", name, i+1, r.comment)
			}
			if m := tried.FindStringSubmatch(r.comment); m != nil {
				if m[1] != r.psn {
					t.Errorf("%s: frame %d has PSN %s: %s", name, i+1, r.psn, r.comment)
				}
				if m := asked.FindStringSubmatch(r.comment); m != nil {
					links++
					if nak := at(m[1]); nak.psn != r.psn || nak.syndrome != "3" && nak.syndrome != "1" {
						t.Errorf("%s: frame %s is no NAK of PSN %s: %s", name, m[1], r.psn, r.comment)
					}
				}
			}
			for _, c := range strings.Split(r.comment, "|") {
				if m := again.FindStringSubmatch(c); m != nil && strings.Contains(c, "rocelens retransmission") {
					repeats++
					if before := at(m[1]); before.psn != r.psn || before.qp != r.qp {
						t.Errorf("%s: frame %s is not what frame %d repeats: %s", name, m[1], i+1, c)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: tshark shows no comment", name)
		}
	}
	if links < 50 || repeats < 1000 {
		t.Errorf("%d retransmissions with the NAK that asked for them, and %d packets with the one before were looked at", links, repeats)
	}
}

// TestAnnotateCounts: as many packets have a comment of a retransmission as the
// report counts.
func TestAnnotateCounts(t *testing.T) {
	annotated := filepath.Join(t.TempDir(), "annotated.pcapng")
	for _, name := range commented {
		path := capturetest.Get(t, name).Path
		runOK(t, "annotate", "-o", annotated, path)
		got := 0
		for _, f := range framesOf(t, annotated) {
			got += strings.Count(f.comments, "rocelens retransmission: ")
		}
		type direction struct {
			Retransmitted struct{ Packets int }       `json:"retransmitted"`
			Responses     struct{ Retransmitted int } `json:"read_responses"`
		}
		var report struct {
			Sessions []struct {
				A direction `json:"a_to_b"`
				B direction `json:"b_to_a"`
			} `json:"sessions"`
		}
		if err := json.Unmarshal(runOK(t, "analyze", "--format", "json", path), &report); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, s := range report.Sessions {
			want += s.A.Retransmitted.Packets + s.B.Retransmitted.Packets + s.A.Responses.Retransmitted + s.B.Responses.Retransmitted
		}
		if got != want {
			t.Errorf("%s: %d comments, %d packets were sent again", name, got, want)
		}
	}
}

// TestAnnotateTools: editcap and mergecap take the copy, and keep its comments.
func TestAnnotateTools(t *testing.T) {
	dir := t.TempDir()
	annotated := filepath.Join(dir, "annotated.pcapng")
	runOK(t, "annotate", "-o", annotated, capturetest.Get(t, "rnr_until_posted").Path)
	count := func(path string) (n int) {
		for _, f := range framesOf(t, path) {
			n += strings.Count(f.comments, "rocelens ")
		}
		return n
	}
	want := count(annotated)
	for _, args := range [][]string{{"editcap", annotated, "OUT"}, {"mergecap", "-w", "OUT", annotated}} {
		capturetest.Need(t, args[0])
		out := filepath.Join(dir, args[0]+".pcapng")
		for i := range args {
			if args[i] == "OUT" {
				args[i] = out
			}
		}
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, b)
		}
		if got := count(out); got != want || want == 0 {
			t.Errorf("%s keeps %d of %d comments", args[0], got, want)
		}
	}
}

// TestWiresharkProfile: tshark loads the profile, its columns have what they are
// for, and each colour has a filter that compiles. On the captures chosen each
// filter but PFC's finds something.
func TestWiresharkProfile(t *testing.T) {
	capturetest.Need(t, "tshark")
	config := t.TempDir()
	profile := filepath.Join(capturetest.Root(t), "docs", "wireshark", "RoCE")
	if err := os.CopyFS(filepath.Join(config, "profiles", "RoCE"), os.DirFS(profile)); err != nil {
		t.Fatal(err)
	}
	annotated := filepath.Join(config, "annotated.pcapng")
	tshark := func(args ...string) string {
		cmd := exec.Command("tshark", append([]string{"-n", "-C", "RoCE", "-r", annotated}, args...)...)
		cmd.Env = append(os.Environ(), "WIRESHARK_CONFIG_DIR="+config)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tshark %v: %v: %s", args, err, errOut.String())
		}
		for line := range strings.Lines(errOut.String()) {
			if !strings.Contains(line, "Running as user") {
				t.Errorf("tshark %v: %s", args, line)
			}
		}
		return string(out)
	}
	runOK(t, "annotate", "-o", annotated, capturetest.Get(t, "loss_before_write_1pct").Path)
	if got := tshark("-Y", "frame.number == 103", "-T", "tabs"); !regexp.MustCompile(`^\s*103\t.*\t1082\t.*RDMA WRITE Last\t0x00008c\t16224849\t.*\trocelens retransmission: `).MatchString(got) {
		t.Errorf("the columns are %q", got)
	}
	list, err := os.ReadFile(filepath.Join(profile, "colorfilters"))
	if err != nil {
		t.Fatal(err)
	}
	filters := regexp.MustCompile(`(?m)^@([^@]+)@([^@]+)@\[\d+,\d+,\d+\]\[\d+,\d+,\d+\]$`).FindAllStringSubmatch(string(list), -1)
	if lines := strings.Count(string(list), "\n@"); len(filters) != lines || lines < 10 {
		t.Fatalf("%d of %d colours were understood", len(filters), lines)
	}
	simulated := filepath.Join(config, "pfc.pcapng")
	runOK(t, "generate", "pfc_toggle", "-o", simulated)
	merge := []string{"packets", "-w", annotated, simulated}
	for _, name := range []string{"rnr_until_posted", "corrupt_send_acks", "single_write_last_before", "ecn_ce_with_synthetic_cnp", "rdmacm_rping"} {
		one := filepath.Join(config, name+".pcapng")
		runOK(t, "annotate", "-o", one, capturetest.Get(t, name).Path)
		merge = append(merge, one)
	}
	runOK(t, merge...)
	for _, f := range filters {
		if tshark("-Y", f[2], "-T", "fields", "-e", "frame.number") == "" {
			t.Errorf("the filter of %s finds nothing: %s", f[1], f[2])
		}
	}
}

// TestAnnotateKeepsComments: comments that are there stay, ahead of new ones.
func TestAnnotateKeepsComments(t *testing.T) {
	dir := t.TempDir()
	path, annotated := filepath.Join(dir, "commented.pcapng"), filepath.Join(dir, "annotated.pcapng")
	src, err := capture.Open(capturetest.Get(t, "nak_remote_access_atomic").Path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := capture.NewWriter(file, capture.WriterConfig{Comments: []string{"of the file"}, Inputs: src.Inputs})
	var b capture.Batch
	for src.ReadBatch(&b) == nil {
		for i := range b.Frames {
			if err := w.WriteFrame(&b.Frames[i], fmt.Sprintf("mine %d", i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	runOK(t, "annotate", "-o", annotated, path)
	frames := framesOf(t, annotated)
	for i, f := range frames {
		if !strings.HasPrefix(f.comments, fmt.Sprintf("mine %d", i+1)) {
			t.Errorf("frame %d has %q", i+1, f.comments)
		}
	}
	if got := frames[20].comments; !strings.HasPrefix(got, "mine 21\nrocelens nak: 10.10.0.2 refused PSN 14333646 for good: remote access error") {
		t.Errorf("the NAK has %q", got)
	}
	copied, err := capture.Open(annotated, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if err := copied.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	if got := copied.Inputs()[0].Comments; len(got) != 2 || !strings.Contains(got[0], "critical ") || !slices.Contains(got, "of the file") {
		t.Errorf("the file has %q", got)
	}
}
