package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func openAll(t testing.TB, cfg Config, paths ...string) Source {
	t.Helper()
	s, err := OpenAll(paths, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// order is which frame of which input came when.
func order(frames []Frame) []string {
	var got []string
	for _, fr := range frames {
		got = append(got, fmt.Sprintf("%d.%d@%d", fr.Input, fr.Number, fr.Time))
	}
	return got
}

func TestMerge(t *testing.T) {
	a := writeFile(t, "a", pcapOf(1, 10, 30, 30, 50))
	b := writeFile(t, "b", gzipped(t, pcapOf(1, 30, 30, 60)))
	c := writeFile(t, "c", pcapOf(1, 5, 100))
	cfg := Config{Stdin: bytes.NewReader(zstded(t, pcapOf(LinkRaw, 1, 30, 200)))}
	s := openAll(t, cfg, a, b, "-", c)
	frames, err := readAll(t, s)
	if err != io.EOF {
		t.Error(err)
	}
	if diff := gocmp.Diff([]string{
		"2.1@1", "3.1@5", "0.1@10", "0.2@30", "0.3@30", "1.1@30", "1.2@30", "2.2@30", "0.4@50", "1.3@60", "3.2@100", "2.3@200",
	}, order(frames)); diff != "" {
		t.Error(diff)
	}
	in := s.Inputs()
	if in[1].Compression != Gzip || in[2].Path != "-" || in[2].Interfaces[0].Link != LinkRaw {
		t.Errorf("%+v", in)
	}
}

// Damage of one input keeps none of the others from being read.
func TestMergeDamage(t *testing.T) {
	whole := writeFile(t, "whole", pcapOf(1, 10, 30))
	cut := writeFile(t, "cut", pcapOf(1, 5, 20)[:80])
	empty := writeFile(t, "empty", nil)
	other := writeFile(t, "other", []byte("hello"))
	bare := writeFile(t, "bare", pcapOf(LinkSLL))
	s := openAll(t, DefaultConfig(), whole, cut, empty, other, bare)
	frames, err := readAll(t, s)
	if err != io.EOF {
		t.Error(err)
	}
	if diff := gocmp.Diff([]string{"1.1@5", "0.1@10", "0.2@30"}, order(frames)); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, in := range s.Inputs() {
		if in.Damage == nil {
			got = append(got, fmt.Sprint(in.Format, " ", len(in.Interfaces)))
		} else {
			got = append(got, fmt.Sprint(in.Format, " ", filepath.Base(in.Damage.Error())))
		}
	}
	if diff := gocmp.Diff([]string{
		"pcap 1",
		"pcap cut: damaged at byte 60: the file ends in the middle of a record",
		"unknown empty: the input is empty",
		"unknown other: not a pcap, pcapng or ERF capture (begins with 68 65 6c 6c 6f, looks like text)",
		"pcap 1",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeFileGone(t *testing.T) {
	a := writeFile(t, "a", pcapOf(1, 10))
	b := writeFile(t, "b", pcapOf(1, 20))
	s := openAll(t, DefaultConfig(), a, b)
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	frames, err := readAll(t, s)
	if err != io.EOF || len(frames) != 1 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	if d := s.Inputs()[1].Damage; d == nil || !errors.Is(d, os.ErrNotExist) {
		t.Errorf("damage %v", d)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"a": pcapOf(1, 300), "b.txt": pcapOf(1, 100), "c.gz": gzipped(t, pcapOf(1, 200)), "d.pcap": []byte("no capture"),
		"e": nil, "f": pcapOf(1), "g": gzipped(t, []byte("text")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "z"), pcapOf(1, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	var skipped []string
	cfg.Skipped = func(path, _ string) { skipped = append(skipped, filepath.Base(path)) }
	s := openAll(t, cfg, dir)
	frames, err := readAll(t, s)
	if err != io.EOF {
		t.Error(err)
	}
	if diff := gocmp.Diff([]string{"0.1@100", "1.1@200", "2.1@300"}, order(frames)); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, in := range s.Inputs() {
		names = append(names, filepath.Base(in.Path))
	}
	// What is named like a capture is expected to be one; all else is left out,
	// and said to be.
	if diff := gocmp.Diff([]string{"b.txt", "c.gz", "a", "d.pcap", "f"}, names); diff != "" {
		t.Error(diff)
	}
	if d := s.Inputs()[3].Damage; d == nil || !d.NotCapture {
		t.Errorf("d.pcap: %v", d)
	}
	if diff := gocmp.Diff([]string{"below", "e", "g"}, skipped); diff != "" {
		t.Error(diff)
	}
	if _, single := openAll(t, DefaultConfig(), below).(*File); !single {
		t.Error("a directory with one capture is merged")
	}
	if _, single := openAll(t, DefaultConfig(), filepath.Join(dir, "a")).(*File); !single {
		t.Error("a single file is merged")
	}
}

// Files that follow each other are open one at a time.
func TestMergeOpensLate(t *testing.T) {
	var paths []string
	for i := range int64(300) {
		paths = append(paths, writeFile(t, "f", pcapOf(1, i*100, i*100+50)))
	}
	s := openAll(t, DefaultConfig(), paths...).(*merge)
	var b Batch
	count := 0
	for s.ReadBatch(&b) == nil {
		count += len(b.Frames)
		for i := range s.inputs {
			if f := s.inputs[i].file; f != nil && f.file != nil {
				if first := s.inputs[i].first; first > b.Frames[len(b.Frames)-1].Time {
					t.Fatalf("input %d is open before its time", i)
				}
			}
		}
	}
	if count != 600 {
		t.Errorf("%d frames", count)
	}
}

// The merge is the stable sort of its inputs.
func TestMergeIsStableSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			time          int64
			input, number int
		}
		var keys []key
		var paths []string
		for i := range rapid.IntRange(2, 6).Draw(t, "files") {
			times := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 700).Draw(t, "times")
			slices.Sort(times)
			for n, at := range times {
				keys = append(keys, key{at, i, n + 1})
			}
			content := pcapOf(1, times...)
			path := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(a.time, b.time) })
		policy := rapid.SampledFrom([]MapPolicy{MapNever, MapAlways}).Draw(t, "policy")
		s, err := OpenAll(paths, Config{Map: policy})
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		for err = s.ReadBatch(&b); err == nil; err = s.ReadBatch(&b) {
			for _, fr := range b.Frames {
				if len(keys) == 0 {
					t.Fatal("too many frames")
				}
				want := keys[0]
				keys = keys[1:]
				if fr.Time != want.time || int(fr.Input) != want.input || int(fr.Number) != want.number ||
					len(fr.Data) != 20+(want.number-1)%50 || fr.Data[0] != byte(want.number-1) {
					t.Fatalf("got %d.%d@%d, want %+v", fr.Input, fr.Number, fr.Time, want)
				}
			}
		}
		if err != io.EOF || len(keys) != 0 {
			t.Fatalf("%v with %d frames missing", err, len(keys))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
