package scenario_test

import (
	"bytes"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// TestImports: who judges the decoder and the tracker shares nothing with them.
func TestImports(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/rocelens/rocelens/"
	for _, p := range pkg.Imports {
		if p != module+"capture" && strings.Contains(strings.Split(p, "/")[0], ".") {
			t.Errorf("imports %s", p)
		}
	}
}

// all writes every scenario into one pcap file and says how many frames there
// are of each.
func all(t *testing.T) (path string, frames []uint64) {
	t.Helper()
	var list []capture.Frame
	for _, sc := range withRoCE() {
		o := scenariotest.Small(&sc)
		if o.Packets > 0 {
			o.Packets = 300
		}
		f, truth := run(t, sc, o)
		list = append(list, f.list...)
		frames = append(frames, truth.Frames)
	}
	var b bytes.Buffer
	w := capture.NewWriter(&b, capture.WriterConfig{Inputs: func() []capture.Input {
		return []capture.Input{{Interfaces: []capture.Interface{{Link: capture.LinkEthernet, FCSLen: -1, TSResol: 9}}}}
	}})
	for i := range list {
		if err := w.WriteFrame(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "all.pcapng")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, frames
}

// TestTshark shows every frame to tshark: each has a BTH or is of flow control,
// and none is malformed.
func TestTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	path, frames := all(t)
	total := uint64(0)
	for _, n := range frames {
		total += n
	}
	// One line a frame: the opcodes, a 1 where tshark finds it malformed, and
	// the opcode of MAC control.
	out := capturetest.RunTshark(t, path, "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed", "-e", "macc.opcode")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if uint64(len(lines)) != total {
		t.Fatalf("tshark sees %d frames of %d", len(lines), total)
	}
	at := 0
	for i, sc := range withRoCE() {
		for n := range frames[i] {
			f := strings.Split(lines[at], "\t")
			if op, bad, control := f[0], f[1], f[2]; (op == "") == (control == "") || bad != "" {
				t.Errorf("%s: frame %d: opcode %q, malformed %q, MAC control %q", sc.Name, n+1, op, bad, control)
			}
			at++
		}
	}
}

// TestPcap: the classic format holds the same frames.
func TestPcap(t *testing.T) {
	sc, err := scenario.Find("loss_before")
	if err != nil {
		t.Fatal(err)
	}
	read := func(format scenario.Format) []capture.Frame {
		path := filepath.Join(t.TempDir(), "x")
		var b bytes.Buffer
		if _, err := sc.Write(&b, scenario.Options{Seed: 1, Snaplen: 200}, format, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		var list []capture.Frame
		frametest.Each(t, path, func(f *capture.Frame) {
			list = append(list, *f)
			list[len(list)-1].Data = bytes.Clone(f.Data)
		})
		return list
	}
	ng, classic := read(scenario.PcapNG), read(scenario.Pcap)
	if len(ng) != len(classic) || len(ng) == 0 {
		t.Fatalf("%d frames in pcapng, %d in pcap", len(ng), len(classic))
	}
	for i := range ng {
		if ng[i].Time != classic[i].Time || ng[i].OrigLen != classic[i].OrigLen || !bytes.Equal(ng[i].Data, classic[i].Data) {
			t.Fatalf("frame %d differs", i+1)
		}
	}
}

// TestOptions: what a scenario does not have is refused.
func TestOptions(t *testing.T) {
	for _, x := range []struct {
		name string
		o    scenario.Options
		want string
	}{
		{"loss_before", scenario.Options{Loss: 0.1}, "scenario loss_before has no loss to set"},
		{"clean_send", scenario.Options{Sessions: 2}, "scenario clean_send has no sessions to set"},
		{"bulk_write", scenario.Options{Payload: 1000}, "a payload of 1000 is no path MTU"},
		{"bulk_write", scenario.Options{Loss: 1}, "is not a share"},
		{"bulk_write", scenario.Options{Sessions: 5_000_000}, "at most 4000000 sessions"},
		{"bulk_write", scenario.Options{Packets: -1}, "negative"},
	} {
		sc, err := scenario.Find(x.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sc.Run(x.o, &frames{}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %+v: %v, want %s", x.name, x.o, err, x.want)
		}
	}
	if _, err := scenario.Find("loss_befor"); err == nil || !strings.Contains(err.Error(), "loss_before") {
		t.Errorf("a name that is nearly right: %v", err)
	}
}
