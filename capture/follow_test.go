package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// impatient looks for more whenever it is asked.
func impatient(t testing.TB, said io.Writer, paths ...string) *follow {
	t.Helper()
	cfg := DefaultFollowConfig(paths...)
	cfg.Poll, cfg.Tick, cfg.Log = 1, 1, slog.New(slog.NewTextHandler(said, nil))
	src, err := OpenFollow(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src.(*follow)
}

// some are copies of the frames that there are by now.
func some(t testing.TB, src Source) []Frame {
	t.Helper()
	var all []Frame
	var b Batch
	for range 3 { // files are opened twice before the next one is begun
		for {
			if err := src.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
			if len(b.Frames) == 0 {
				break
			}
			for _, f := range b.Frames {
				f.Data = bytes.Clone(f.Data)
				all = append(all, f)
			}
		}
	}
	return all
}

// add writes behind the end of a file.
func add(t testing.TB, path string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names are what frames of pcapOf hold.
func names(frames []Frame) string {
	var all []string
	for i := range frames {
		all = append(all, fmt.Sprint(frames[i].Time/1e9))
	}
	return strings.Join(all, " ")
}

// seconds is a pcap file with a frame at each of some seconds.
func seconds(list ...int64) []byte {
	for i := range list {
		list[i] *= 1e9
	}
	return pcapOf(LinkEthernet, list...)
}

func followed(t *testing.T, src Source, want Followed) {
	t.Helper()
	if d := cmp.Diff(want, *src.Inputs()[0].Followed); d != "" {
		t.Error(d)
	}
}

// TestFollowByteByByte: a frame is there with the last byte of its record, and not
// before, and no part of one is taken for damage.
func TestFollowByteByByte(t *testing.T) {
	n := ng{little}
	files := map[string][]byte{
		"pcap": seconds(1, 2, 3),
		"pcapng": bytes.Join([][]byte{
			n.section(), n.face(LinkEthernet, 0), n.packet(0, 1_000_000, 4, "one."), n.block(0x0bad, make([]byte, 400)), n.statistics(0),
			n.packet(0, 2_000_000, 4, "two."), n.section(), n.face(LinkEthernet, 0), n.packet(0, 3_000_000, 9, "three"),
		}, nil),
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			whole, err := readAll(t, stream(t, content))
			if !errors.Is(err, io.EOF) || len(whole) != 3 {
				t.Fatalf("%d frames, %v", len(whole), err)
			}
			path := writeFile(t, "growing", nil)
			src := impatient(t, io.Discard, path)
			var b Batch
			got := 0
			for i := range content {
				add(t, path, content[i:i+1])
				if err := src.ReadBatch(&b); err != nil {
					t.Fatal(err)
				}
				for _, f := range b.Frames {
					end := int64(len(content))
					if got+1 < len(whole) {
						end = whole[got+1].Offset
					}
					if f.Time != whole[got].Time || !bytes.Equal(f.Data, whole[got].Data) || f.Number != whole[got].Number || f.Offset != whole[got].Offset || int64(i) >= end {
						t.Fatalf("byte %d: %+v, want %+v", i, f, whole[got])
					}
					got++
				}
			}
			if got != len(whole) {
				t.Errorf("%d frames of %d", got, len(whole))
			}
			followed(t, src, Followed{Files: 1})
		})
	}
}

// TestFollowCaptures: real captures, written in pieces, have the frames that they
// have when they are read at once.
func TestFollowCaptures(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range capturetest.Committed(t) {
		packed, err := os.ReadFile(c.Path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		z.Close()
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := readAll(t, stream(t, content))
		path := writeFile(t, "growing", nil)
		src := impatient(t, io.Discard, path)
		var got []Frame
		for len(content) > 0 {
			n := min(len(content), 1+random.IntN(len(content)/2+2000))
			add(t, path, content[:n])
			content = content[n:]
			got = append(got, some(t, src)...)
		}
		if len(got) != len(whole) {
			t.Errorf("%s: %d frames of %d", c.Name, len(got), len(whole))
			continue
		}
		for i := range got {
			a, b := &got[i], &whole[i]
			if !bytes.Equal(a.Data, b.Data) || a.Time != b.Time || a.Number != b.Number || a.OrigLen != b.OrigLen || a.Interface != b.Interface || a.Link != b.Link || a.FCSLen != b.FCSLen {
				t.Fatalf("%s: frame %d: %+v, want %+v", c.Name, i, a, b)
			}
		}
	}
}

// TestFollowSeries: the files of a directory come in the order in which they were
// begun, those that are begun again included.
func TestFollowSeries(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var said bytes.Buffer
	add(t, in("notes.txt"), []byte("not a capture"))
	add(t, in(".hidden.pcap"), seconds(99))
	add(t, in("ring.pcap10"), seconds(30, 31))
	add(t, in("ring.pcap9"), seconds(20, 21))
	add(t, in("ring.pcap8"), seconds(10, 11))
	src := impatient(t, &said, dir)
	step := func(what, want string, files Followed) {
		t.Helper()
		if got := names(some(t, src)); got != want {
			t.Errorf("%s: %q, want %q: %s", what, got, want, said.String())
		}
		if d := cmp.Diff(files, *src.Inputs()[0].Followed); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		said.Reset()
	}
	step("at first", "10 11 20 21 30 31", Followed{Files: 3})
	record := seconds(32)[pcapHeader:]
	add(t, in("ring.pcap10"), record[:20])
	step("a part of a record", "", Followed{Files: 3})
	add(t, in("ring.pcap10"), record[20:])
	step("the rest of it", "32", Followed{Files: 3})

	// A clock that was put back does not change the order of what comes later.
	add(t, in("ring.pcap11"), seconds(5))
	step("a clock put back", "5", Followed{Files: 4})

	// tcpdump -W writes into the oldest file anew.
	if err := os.WriteFile(in("ring.pcap8"), seconds(50), 0o600); err != nil {
		t.Fatal(err)
	}
	step("the oldest anew", "50", Followed{Files: 5})
	if err := os.WriteFile(in("ring.pcap9"), seconds(60, 61, 62, 63), 0o600); err != nil { // longer than it was
		t.Fatal(err)
	}
	step("and the next", "60 61 62 63", Followed{Files: 6})
	if err := os.Remove(in("ring.pcap10")); err != nil {
		t.Fatal(err)
	}
	step("one is deleted", "", Followed{Files: 6})

	// What is being read is written anew.
	if err := os.WriteFile(in("ring.pcap9"), seconds(70), 0o600); err != nil {
		t.Fatal(err)
	}
	step("the one that is read anew", "70", Followed{Files: 7, Cut: 1})

	// A file ends within a record, and another one comes.
	add(t, in("ring.pcap9"), record[:20])
	add(t, in("ring.pcap12"), seconds(80))
	step("a cut file", "80", Followed{Files: 8, Cut: 2})
	add(t, in("ring.pcap9"), record[20:])
	step("an old file goes on", "", Followed{Files: 8, Cut: 2, Grown: 1})

	// An empty file is none yet.
	add(t, in("ring.pcap13"), nil)
	add(t, in("ring.pcap12"), seconds(81)[pcapHeader:])
	step("the next is empty", "81", Followed{Files: 8, Cut: 2, Grown: 1})
	add(t, in("ring.pcap13"), seconds(90))
	step("and begins", "90", Followed{Files: 9, Cut: 2, Grown: 1})

	// One gets bytes that are no record, with a newer one behind it.
	add(t, in("ring.pcap13"), make([]byte, 50))
	step("zeros", "", Followed{Files: 9, Cut: 2, Grown: 1})
	add(t, in("ring.pcap14"), seconds(100))
	step("zeros, and a newer one", "100", Followed{Files: 10, Cut: 3, Grown: 1})
}

// TestFollowTooSlow: what a ring deletes, or writes over, before it was read, is
// counted.
func TestFollowTooSlow(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for i := range int64(5) {
		add(t, in(fmt.Sprint("ring", i, ".pcap")), seconds(10*i+1, 10*i+2))
	}
	var said bytes.Buffer
	src := impatient(t, &said, dir)
	if err := errors.Join(os.Remove(in("ring0.pcap")), os.Remove(in("ring1.pcap")), os.WriteFile(in("ring2.pcap"), seconds(51), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, want := names(some(t, src)), "31 32 41 42 51"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	followed(t, src, Followed{Files: 3, Missed: 3})
	for _, what := range []string{"deleted before it was read", "begun again before it was read"} {
		if !strings.Contains(said.String(), what) {
			t.Errorf("it does not say %q: %s", what, said.String())
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	some(t, src)
	if f := src.Inputs()[0].Followed; f.Away == "" {
		t.Error("it does not say that the directory is gone")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, in("new.pcap"), seconds(61))
	if got := names(some(t, src)); got != "61" || src.Inputs()[0].Followed.Away != "" {
		t.Errorf("%q in the directory that is back, away %q", got, src.Inputs()[0].Followed.Away)
	}
	// One that has another name for a while is the same when it is back.
	said.Reset()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	add(t, filepath.Join(dir+".away", "new.pcap"), seconds(62)[pcapHeader:])
	some(t, src)
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	add(t, in("next.pcap"), seconds(71))
	if got := names(some(t, src)); got != "71" || src.Inputs()[0].Followed.Away != "" {
		t.Errorf("%q in the directory that has its name again, away %q", got, src.Inputs()[0].Followed.Away)
	}
	if text := said.String(); strings.Count(text, "the directory can't be read") != 1 || strings.Count(text, "the directory can be read again") != 1 {
		t.Errorf("it says %s", text)
	}
}

// TestFollowFile: a file that another one takes the place of, that goes, and that
// is written anew.
func TestFollowFile(t *testing.T) {
	path := writeFile(t, "growing.pcap", seconds(1))
	var said bytes.Buffer
	src := impatient(t, &said, path)
	step := func(want string, files Followed) {
		t.Helper()
		if got := names(some(t, src)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		followed(t, src, files)
	}
	step("1", Followed{Files: 1})
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(t, path+".1", seconds(2)[pcapHeader:])
	step("2", Followed{Files: 1, Away: "no such file or directory"})
	add(t, path+".1", seconds(3)[pcapHeader:])
	add(t, path, seconds(4))
	step("3 4", Followed{Files: 2})
	if err := os.WriteFile(path, seconds(5, 6, 7), 0o600); err != nil {
		t.Fatal(err)
	}
	step("5 6 7", Followed{Files: 3, Cut: 1})
	if text := said.String(); strings.Count(text, "the file can't be read") != 1 || strings.Count(text, "the file is there again") != 1 {
		t.Errorf("it says %s", text)
	}
	if n := src.Inputs()[0].Frames; n != 7 || len(src.Inputs()[0].Interfaces) != 1 {
		t.Errorf("%d frames, %d interfaces", n, len(src.Inputs()[0].Interfaces))
	}
}

// TestFollowOther: what is no file any more is waited for.
func TestFollowOther(t *testing.T) {
	path := writeFile(t, "growing.pcap", seconds(1))
	src := impatient(t, io.Discard, path)
	if got := names(some(t, src)); got != "1" {
		t.Errorf("%q", got)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := names(some(t, src)); got != "" {
			t.Errorf("%q", got)
		}
		followed(t, src, Followed{Files: 1, Away: "it is not a file any more"})
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add(t, path, seconds(2))
	if got := names(some(t, src)); got != "2" {
		t.Errorf("%q", got)
	}
	followed(t, src, Followed{Files: 2})
}

// TestFollowDamage: what can't be read is told once it has been so for a while, and
// goes on where it becomes right.
func TestFollowDamage(t *testing.T) {
	path := writeFile(t, "growing.pcap", append(seconds(1), make([]byte, 16)...))
	src := impatient(t, io.Discard, path)
	src.cfg.Late = time.Hour
	if got := names(some(t, src)); got != "1" {
		t.Errorf("%q", got)
	}
	followed(t, src, Followed{Files: 1})
	right, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer right.Close()
	if _, err := right.Write(seconds(1, 2)); err != nil { // in place, as a network file system would
		t.Fatal(err)
	}
	if got := names(some(t, src)); got != "2" {
		t.Errorf("%q when it is right", got)
	}
	add(t, path, make([]byte, 16))
	some(t, src)
	followed(t, src, Followed{Files: 1})
	src.cfg.Late = 1
	some(t, src)
	followed(t, src, Followed{Files: 1, Cut: 1})
}

// TestFollowSeveral: frames of several inputs come in the order of time, and one
// that has none holds up others only for a while.
func TestFollowSeveral(t *testing.T) {
	a, b, silent := writeFile(t, "a.pcap", seconds(1, 3, 5)), writeFile(t, "b.pcap", seconds(2, 4, 6)), writeFile(t, "c.pcap", nil)
	src := impatient(t, io.Discard, a, b)
	var got []Frame
	for deadline := time.Now().Add(10 * time.Second); len(got) < 6 && time.Now().Before(deadline); {
		got = append(got, some(t, src)...)
	}
	if names(got) != "1 2 3 4 5 6" || got[0].Input != 0 || got[1].Input != 1 {
		t.Errorf("%s", names(got))
	}
	src = impatient(t, io.Discard, silent, a)
	got = nil
	began := time.Now()
	for deadline := began.Add(10 * time.Second); len(got) < 3 && time.Now().Before(deadline); {
		got = append(got, some(t, src)...)
	}
	if waited := time.Since(began); names(got) != "1 3 5" || waited < otherFiles/2 {
		t.Errorf("%s after %v", names(got), waited)
	}
}

// TestFollowNow: time goes on from the last frame's while nothing comes.
func TestFollowNow(t *testing.T) {
	path := writeFile(t, "growing.pcap", nil)
	src := impatient(t, io.Discard, path)
	src.cfg.Late = 20 * time.Millisecond
	var b Batch
	now := func() int64 {
		t.Helper()
		if err := src.ReadBatch(&b); err != nil {
			t.Fatal(err)
		}
		return b.Now
	}
	if n := now(); n != 0 {
		t.Errorf("%d before the first frame", n)
	}
	add(t, path, seconds(7))
	if n := now(); n != 7e9 || len(b.Frames) != 1 {
		t.Errorf("%d with the frame", n)
	}
	if n := now(); n < 7e9 || n > 7e9+30e9 {
		t.Errorf("%d at once", n)
	}
	time.Sleep(60 * time.Millisecond)
	if n := now(); n < 7e9+40e6 || n > 7e9+30e9 || len(b.Frames) != 0 {
		t.Errorf("%d after 60 ms", n)
	}
}

func TestFollowRefuses(t *testing.T) {
	text, packed := writeFile(t, "a.txt", []byte("just a text")), writeFile(t, "a.pcap.gz", gzipped(t, seconds(1)))
	for _, tc := range []struct {
		paths []string
		want  string
	}{
		{nil, "no file or directory to follow"},
		{[]string{"/nix"}, "no such file"},
		{[]string{text, text}, "is named twice"},
		{[]string{text}, "not a pcap, pcapng"},
		{[]string{packed}, "compressed by gzip"},
	} {
		src, err := OpenFollow(DefaultFollowConfig(tc.paths...))
		if err == nil {
			_ = src.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	list := []string{"a", "a_00009_x", "a_10_x", "a_00010_y", "a_99999999999999999999998", "a_99999999999999999999999", "b1", "b01c", "b2"}
	for i := range list {
		for j := range list {
			if got, want := compareNatural(list[i], list[j]), i-j; got*want < 0 || got == 0 && want != 0 {
				t.Errorf("%q and %q: %d", list[i], list[j], got)
			}
		}
	}
}

// ringed has a program write a ring of files from what it gets at its standard
// input, frames of a kilobyte of which the first eight bytes are the number, and
// follows them. lead is by how many bytes the program may be ahead up to a frame,
// behind which it may be by any.
func ringed(t *testing.T, frames, lead, upTo int, program string, args ...string) (dir string, got []Frame, src *follow, said *bytes.Buffer) {
	t.Helper()
	capturetest.Need(t, program)
	const size = 1000
	dir = t.TempDir()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said = new(bytes.Buffer)
	src = impatient(t, said, dir)
	maker := pcapMaker{order: little, magic: pcapMicro, minor: 4, network: uint32(LinkEthernet)}
	if _, err := to.Write(maker.header()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(60 * time.Second)
	more := func() {
		t.Helper()
		got = append(got, some(t, src)...)
		if time.Now().After(deadline) {
			t.Fatalf("%d frames of %d: %s %s", len(got), frames, said.String(), out.String())
		}
	}
	for i := range frames {
		data := fmt.Sprintf("%08d", i) + strings.Repeat("x", size-8)
		if _, err := to.Write(maker.record(uint32(1000+i/1000), uint32(i%1000*1000), size, size, data)); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		for i < upTo && (i-len(got))*size > lead {
			more()
		}
	}
	if err := errors.Join(to.Close(), cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for len(got) == 0 || string(got[len(got)-1].Data[:8]) != fmt.Sprintf("%08d", frames-1) {
		more()
	}
	return dir, got, src, said
}

// rings are those of other programs, of some megabytes in files of one.
var rings = map[string][]string{
	"tcpdump": {"-r", "-", "-w", "DIR/ring.pcap", "-C", "1", "-W", "4", "-Z", "root"},
	"dumpcap": {"-q", "-i", "-", "-w", "DIR/ring.pcapng", "-b", "filesize:1000", "-b", "files:4"},
}

// TestFollowRings: what tcpdump and dumpcap write into their rings comes whole, in
// order, while they write it.
func TestFollowRings(t *testing.T) {
	for program, args := range rings {
		t.Run(program, func(t *testing.T) {
			const frames = 12_000
			dir, got, src, said := ringed(t, frames, 1_500_000, frames, program, append([]string(nil), args...)...)
			if len(got) != frames {
				t.Fatalf("%d frames of %d: %s", len(got), frames, said.String())
			}
			for i := range got {
				if string(got[i].Data[:8]) != fmt.Sprintf("%08d", i) || got[i].Number != uint64(i+1) || len(got[i].Data) != 1000 {
					t.Fatalf("frame %d is %q, number %d", i, got[i].Data[:8], got[i].Number)
				}
			}
			f := *src.Inputs()[0].Followed
			if f.Missed+f.Cut+f.Grown != 0 || f.Files < 10 || f.Waiting != 0 {
				t.Errorf("%+v: %s", f, said.String())
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
				t.Errorf("%d files are left: %v", len(left), err)
			}
			if n := src.Inputs()[0].Bytes; n != frames*1000 {
				t.Errorf("%d bytes", n)
			}
		})
	}
}

// TestFollowRingsLost: where the programs are faster, what is lost is told, and
// the rest comes in order.
func TestFollowRingsLost(t *testing.T) {
	for program, args := range rings {
		t.Run(program, func(t *testing.T) {
			const frames = 12_000
			_, got, src, said := ringed(t, frames, 100_000, 500, program, append([]string(nil), args...)...)
			for i := 1; i < len(got); i++ {
				if string(got[i].Data[:8]) <= string(got[i-1].Data[:8]) {
					t.Fatalf("%q after %q", got[i].Data[:8], got[i-1].Data[:8])
				}
			}
			f := *src.Inputs()[0].Followed
			if len(got) == frames || f.Missed+f.Cut == 0 || !strings.Contains(said.String(), "lost") {
				t.Errorf("%d frames, %+v: %s", len(got), f, said.String())
			}
		})
	}
}
