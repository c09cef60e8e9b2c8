package groundtruth_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
)

var update = flag.Bool("update", false, "write docs/ground-truth.md, docs/loss.md and docs/loss.svg anew; read them before keeping them")

// golden keeps a file of docs equal to what the captures give.
func golden(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(capturetest.Root(t), "docs", name)
	if *update {
		if t.Failed() {
			t.Fatalf("docs/%s is not written", name)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(have)); d != "" {
		t.Errorf("docs/%s is not what the captures give (go test ./pipeline/groundtruth -update):\n%s", name, d)
	}
}

const groundTruthIntro = `# Ground truth

<!-- Written by "go test ./pipeline/groundtruth -update" from a run on %[1]d captures and the table in
pipeline/groundtruth/exceptions_test.go. Change it there. -->

How far can you believe what rocelens says of a capture? It is held against %[1]d captures of real RoCEv2 traffic (Linux
Soft-RoCE) of which the truth is known from elsewhere: what the kernels of the hosts counted meanwhile, and which packets
the fault injection or the switch dropped or marked. Each quantity is compared host by host or queue pair by queue
pair, not only in total.

A tap does not see everything. Where it cannot know what the hosts know, the capture is named below with the reason, and
the test demands that rocelens finds exactly what can be known, and nothing that was not there. An exception that is no
longer needed makes the test fail.

| quantity | captures | of them with any | agree | the tap cannot know |
|---|---:|---:|---:|---:|
`

// TestGroundTruthDoc keeps docs/ground-truth.md equal to a run.
func TestGroundTruthDoc(t *testing.T) {
	capturetest.NeedShared(t)
	golden(t, "ground-truth.md", groundTruthDoc(t))
}

func groundTruthDoc(t *testing.T) string {
	captures := all(t)
	var head, body strings.Builder
	fmt.Fprintf(&head, groundTruthIntro, len(captures))
	for _, q := range []quantity{tries, sequenceNaks, rnrNaks, lostBefore, responsesLost, ceMarks} {
		var with, agree int
		var rows strings.Builder
		for _, a := range captures {
			v := compare(t, q, a)
			if !v.ok {
				t.Errorf("%s: %s %s: truth %v, found %v", a.name, q.title, v.complaint, v.want, v.got)
			}
			if v.want.total() > 0 || v.got.total() > 0 {
				with++
			}
			if v.exception == nil {
				agree++
				continue
			}
			fmt.Fprintf(&rows, "| `%s` | %d | %d | %s |\n", a.name, v.want.total(), v.got.total(), v.exception.reason)
		}
		fmt.Fprintf(&head, "| %s | %d | %d | %d | %d |\n", q.title, len(captures), with, agree, len(captures)-agree)
		fmt.Fprintf(&body, "\n## %s\n\n%s\n", upper(q.title), wrap(q.how))
		if rows.Len() > 0 {
			fmt.Fprintf(&body, "\n| capture | truth | found | why the tap cannot know |\n|---|---:|---:|---|\n%s", rows.String())
		} else {
			body.WriteString("\nAll captures agree.\n")
		}
	}
	head.WriteString(body.String())
	head.WriteString(afterDoc(t, captures))
	head.WriteString(groundTruthRules)
	return head.String()
}

const afterIntro = `
## Packets lost behind the tap

Packets that the tap saw and the receiver did not get. Nothing at the tap shows them but a NAK that names them, and a
receiver sends one NAK for a gap, however many packets wide it is; where nothing follows the lost packet it sends none. So
the count is "at least". It never exceeds the truth between any two hosts of any capture, and it has every packet that a
NAK names. What a timeout repairs is found as a try with the place after_tap, and not as a counted loss: the requester
may be mistaken. The exception are a READ and an atomic that are asked again where their answer is due: that is one loss,
of the request or of its answer (loss_atomic_3pct: all of answers, ahead of the tap).

| capture | dropped behind the tap | named by a NAK | found |
|---|---:|---:|---:|
`

func afterDoc(t *testing.T, captures []*analysed) string {
	var b strings.Builder
	b.WriteString(afterIntro)
	for _, a := range captures {
		listed := countDrops(a.truth.after(t), classRequest, classResponse).total()
		v := compareAfter(t, a)
		if listed > 0 || v.found.total() > 0 && !unlisted(a.name) {
			fmt.Fprintf(&b, "| `%s` | %d | %d | %d |\n", a.name, listed, v.named.total(), v.found.total())
		}
	}
	return b.String()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// wrap breaks text into lines of at most 120 bytes.
func wrap(s string) string {
	const width = 120
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		switch {
		case i > 0 && n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		case i > 0:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
