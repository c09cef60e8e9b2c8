package capture

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// However a capture comes, its frames are the same.
func TestSameFramesEveryWay(t *testing.T) {
	n := ng{little}
	large := slices.Concat(n.section(), n.face(LinkEthernet, 0))
	for i := range 3000 {
		large = append(large, n.packet(0, uint64(i), 9000, strings.Repeat("x", i%1500), n.option(optComment, "c"))...)
	}
	all := append(samples(), sample{name: "pcap of many", file: largePcap(t, 20_000, erfNow)}, sample{name: "pcapng of many", file: large})
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			frames, err := readAll(t, stream(t, s.file))
			wantError(t, err, "")
			if len(frames) == 0 {
				t.Fatal("no frames")
			}
			same := func(how string, f *File, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				got, err := readAll(t, f)
				wantError(t, err, "")
				if !slices.EqualFunc(frames, got, sameFrame) {
					t.Errorf("%s: the frames differ", how)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			half := len(s.file) / 2
			for how, content := range map[string][]byte{
				"plain": s.file, "gzip": gzipped(t, s.file[:half], s.file[half:]), "zstd": zstded(t, s.file[:half], s.file[half:]),
			} {
				path := writeFile(t, "f", content)
				for _, policy := range []MapPolicy{MapAuto, MapNever, MapAlways} {
					f, err := Open(path, Config{Map: policy})
					same(how, f, err)
				}
				for _, r := range []io.Reader{
					bytes.NewReader(content), iotest.OneByteReader(bytes.NewReader(content)), iotest.DataErrReader(bytes.NewReader(content)),
				} {
					f, err := Open("-", Config{Stdin: r})
					same(how+" from stdin", f, err)
				}
			}
		})
	}
}

func sameFrame(a, b Frame) bool {
	same := bytes.Equal(a.Data, b.Data) && slices.Equal(a.Comments(), b.Comments())
	a.Data, b.Data, a.options, b.options = nil, nil, nil, nil
	return same && reflect.DeepEqual(a, b)
}

func TestFormats(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a.pcap", Size: 0}), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, want string }{
		{"ELF", "\x7fELF\x02\x01\x01\x00 and so on", "begins with 7f 45 4c 46 02 01 01 00, looks like an ELF program or library"},
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "begins with 73 6e 6f 6f 70 00 00 00, looks like a Solaris snoop capture: convert it with editcap -F pcapng"},
		{"NetMon", "GMBU\x00\x02", "begins with 47 4d 42 55 00 02, looks like a Microsoft NetMon 2 capture: convert it with editcap -F pcapng"},
		{"JSON", `{"a": [1, 2, 3]}`, "begins with 7b 22 61 22 3a 20 5b 31, looks like a JSON document"},
		{"text", "Dear all,\n", "begins with 44 65 61 72 20 61 6c 6c, looks like text"},
		{"UTF-8", "Grüße aus Köln", "begins with 47 72 c3 bc c3 9f 65 20, looks like text"},
		{"zeroes", strings.Repeat("\x00", 1000), "begins with 00 00 00 00 00 00 00 00, looks like nothing but zero bytes"},
		{"tar", archive.String(), "begins with 61 2e 70 63 61 70 00 00, looks like a tar archive: unpack it first"},
		{"one byte", "\xff", "begins with ff and ends, too early to tell what it is"},
		{"no gzip", "\x1f\x8b\x07\x00\x00", "begins with 1f 8b 07 00 00, looks like compressed by gzip in a way that is not defined"},
		{"anything", "\x01\x02\x03\x04\xff\xfe\xfd\xfc\xfb", "begins with 01 02 03 04 ff fe fd fc"},
	} {
		expect(t, stream(t, []byte(c.content)),
			"standard input: not a pcap, pcapng or ERF capture ("+c.want+")")
		expect(t, stream(t, gzipped(t, []byte(c.content))),
			"standard input: not a pcap, pcapng or ERF capture ("+c.want+")")
	}
	expect(t, stream(t, nil), "standard input: the input is empty")
	// What is cut within the bytes that it is told by is taken for nothing else.
	for _, magic := range []string{"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "\x0a\x0d\x0d\x0a", "\xd4\xc3\xb2\xa1"} {
		for n := 1; n < min(len(magic), leastToTell); n++ {
			expect(t, stream(t, []byte(magic[:n])), fmt.Sprintf("standard input: not a pcap, pcapng or ERF capture (begins with % x and ends, too early to tell what it is)", magic[:n]))
		}
	}
}

func TestOpenEnvironment(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	good := writeFile(t, "good", pcapOf(1, 1))
	cfg := Config{Stdin: bytes.NewReader(pcapOf(1, 1))}
	if _, err := Open(missing, cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(dir, cfg); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open("-", Config{}); err == nil {
		t.Error("no standard input, and no error")
	}
	for name, paths := range map[string][]string{
		"no input": {}, "missing": {missing}, "missing among others": {good, missing},
		"directory without captures": {dir}, "standard input twice": {"-", "-"},
	} {
		if s, err := OpenAll(paths, cfg); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestReadError(t *testing.T) {
	failure := errors.New("input/output error")
	whole := pcapOf(1, 1, 2)
	f, err := Open("-", Config{Stdin: io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(failure))})
	if err != nil {
		t.Fatal(err)
	}
	frames, err := readAll(t, f)
	if len(frames) != 2 || !errors.Is(err, failure) {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	wantError(t, err, "standard input: damaged at byte 97: reading failed: input/output error")

	f, err = Open("-", Config{Stdin: iotest.ErrReader(failure)})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, f, "standard input: damaged at byte 0: reading failed: input/output error")
}

// What has come down a pipe is handed out; nobody waits for a full batch.
func TestLive(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file := pcapOf(LinkEthernet, 1, 2)
	if _, err := w.Write(file); err != nil {
		t.Fatal(err)
	}
	f, err := Open("-", Config{Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := f.ReadBatch(&b); err != nil || len(b.Frames) != 2 {
		t.Fatalf("%d frames, %v", len(b.Frames), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadBatch(&b); err != io.EOF {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err) // ours to close
	}
}

// A steady reader allocates nothing.
func TestNoAllocation(t *testing.T) {
	n := ng{big}
	commented := slices.Concat(n.section(), n.face(1, 0))
	for i := range uint64(400_000) {
		commented = append(commented, n.packet(0, i, 4000, "some bytes", n.option(optComment, "comment"))...)
	}
	erf := bytes.Repeat(erfRecord(erfNow, 0, 21, erfVarying, 0, 100, strings.Repeat("x", 100)), 400_000)
	for name, file := range map[string][]byte{"pcap": largePcap(t, 400_000, erfNow), "pcapng": commented, "ERF": erf} {
		path := writeFile(t, "f", file)
		for _, policy := range []MapPolicy{MapNever, MapAlways} {
			f := openFile(t, path, policy)
			var b Batch
			for range 10 {
				if err := f.ReadBatch(&b); err != nil {
					t.Fatal(err)
				}
			}
			allocs := testing.AllocsPerRun(100, func() {
				if err := f.ReadBatch(&b); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s, policy %d: %v allocations a batch", name, policy, allocs)
			}
		}
		s, err := OpenAll([]string{path, writeFile(t, "g", file)}, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		for range 20 {
			if err := s.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
		}
		if allocs := testing.AllocsPerRun(100, func() { _ = s.ReadBatch(&b) }); allocs != 0 {
			t.Errorf("%s, merged: %v allocations a batch", name, allocs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Batches in flight don't disturb each other.
func TestBatchesInFlight(t *testing.T) {
	path := writeFile(t, "f", pcapOf(1, slices.Repeat([]int64{1}, 3000)...))
	for _, policy := range []MapPolicy{MapNever, MapAlways} {
		f := openFile(t, path, policy)
		var batches [8]Batch
		for i := range batches {
			if err := f.ReadBatch(&batches[i]); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		number := 0
		for _, b := range batches {
			for _, fr := range b.Frames {
				if len(fr.Data) != 20+number%50 || fr.Data[0] != byte(number) {
					t.Fatalf("frame %d has changed", number)
				}
				number++
			}
		}
		if number != 3000 {
			t.Errorf("%d frames", number)
		}
	}
}

// TestQuoted: names are shown as they are, unless a terminal would obey them.
func TestQuoted(t *testing.T) {
	for s, want := range map[string][2]string{
		`a\.b c`: {`a\.b c`, `"a\.b c"`},
		"a\x1b":  {`"a\x1b"`, `"a\x1b"`},
		"":       {"", `""`},
	} {
		if PathText(s) != want[0] || Quoted(s) != want[1] {
			t.Errorf("%q is %s and %s", s, PathText(s), Quoted(s))
		}
	}
}
