package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMapAuto(t *testing.T) {
	path := writeFile(t, "f", largePcap(t, 10_000, erfNow))
	if openFile(t, path, MapAuto).mapped == nil {
		t.Error("a finished file is not mapped")
	}
	if openFile(t, path, MapNever).mapped != nil {
		t.Error("a file is mapped although it must not be")
	}
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	// However long ago the last write was.
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if openFile(t, path, MapAuto).mapped != nil {
		t.Error("a file is mapped while somebody has it open for writing")
	}
	if openFile(t, path, MapAlways).mapped == nil {
		t.Error("a file is not mapped although it must be")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if openFile(t, path, MapAuto).mapped == nil {
		t.Error("a file is not mapped although its writer is gone")
	}
	if openFile(t, writeFile(t, "small", pcapOf(1, 1, 2, 3)), MapAuto).mapped != nil {
		t.Error("a small file is mapped")
	}
	if openFile(t, writeFile(t, "packed", gzipped(t, largePcap(t, 10_000, erfNow))), MapAlways).mapped != nil {
		t.Error("a compressed file is mapped")
	}
}

// A mapped file that is cut by somebody else is damage, not a crash: for a
// consumer that touches frames, and for the reader.
func TestMappedFileCut(t *testing.T) {
	const frames, record = 20_000, pcapRecord + 128
	for _, at := range []int64{0, 1, 4096, 5000, record*(BatchFrames+100) + pcapHeader, 1_000_000} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			path := writeFile(t, "f", largePcap(t, frames, erfNow))
			f := openFile(t, path, MapAuto)
			if f.mapped == nil {
				t.Fatal("not mapped")
			}
			var b Batch
			if err := f.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, at); err != nil {
				t.Fatal(err)
			}
			err := Guard(f, func() error {
				sum := 0
				for i := range b.Frames {
					for _, v := range b.Frames[i].Data {
						sum += int(v)
					}
				}
				if sum == 0 { // or the loads would be left out
					return io.EOF
				}
				return nil
			})
			var d *DamagedError
			if at <= record*BatchFrames-8<<10 { // that is in the first batch
				if !errors.As(err, &d) || d.Path != path || d.Reason != cutWhileRead {
					t.Errorf("touching what is gone: %v", err)
				}
			} else if err != nil {
				t.Errorf("touching what is there: %v", err)
			}

			read := len(b.Frames)
			for err = f.ReadBatch(&b); err == nil; err = f.ReadBatch(&b) {
				for _, fr := range b.Frames {
					if end := fr.Offset + record; end > at || len(fr.Data) != 128 {
						t.Fatalf("a frame of %d bytes up to %d, the file has %d", len(fr.Data), end, at)
					}
				}
				read += len(b.Frames)
			}
			if !errors.As(err, &d) || d.Reason != cutWhileRead {
				t.Errorf("reading on: %v", err)
			}
			if want := max(BatchFrames, int((at-pcapHeader)/record)); read != want {
				t.Errorf("%d frames, want %d", read, want)
			}
			if f.Inputs()[0].Damage == nil {
				t.Error("the input does not say so")
			}
		})
	}
}

// The same without the look at the file's size, which comes too late if the cut
// comes at the wrong moment.
func TestMappedFaultInParser(t *testing.T) {
	path := writeFile(t, "f", largePcap(t, 20_000, erfNow))
	f := openFile(t, path, MapAuto)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	var b Batch
	b.reset()
	f.feed = feed{batch: &b, frames: b.Frames[:BatchFrames]}
	if f.parseMapped() {
		t.Fatal("nothing happened")
	}
	if want := (4096 - pcapHeader) / (pcapRecord + 128); f.feed.count < want || f.feed.count > want+4096/pcapRecord {
		t.Errorf("%d frames before the fault", f.feed.count)
	}
}

// Guard is for faults in the source's mappings alone.
func TestGuardPassesOn(t *testing.T) {
	f := openFile(t, writeFile(t, "f", largePcap(t, 10_000, erfNow)), MapAuto)
	failure := errors.New("failure")
	if err := Guard(f, func() error { return failure }); err != failure {
		t.Errorf("%v, want what the function returns", err)
	}
	for name, fn := range map[string]func() error{
		"panic":       func() error { panic("panic") },
		"nil pointer": func() error { var p *int; *p = 1; return nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: swallowed", name)
				}
			}()
			_ = Guard(f, fn)
		}()
	}
}

// A merged source guards its files' mappings too.
func TestGuardMerged(t *testing.T) {
	one := writeFile(t, "one", largePcap(t, 20_000, erfNow))
	two := writeFile(t, "two", largePcap(t, 20_000, erfNow))
	s, err := OpenAll([]string{one, two}, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b Batch
	if err := s.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(two, 0); err != nil {
		t.Fatal(err)
	}
	var d *DamagedError
	err = Guard(s, func() error {
		if b.Frames[1].Data[0] == 0 {
			return io.EOF
		}
		return nil
	})
	if !errors.As(err, &d) || d.Path != two {
		t.Errorf("%v, want the damage of %s", err, two)
	}
	frames := len(b.Frames)
	for err = s.ReadBatch(&b); err == nil; err = s.ReadBatch(&b) {
		frames += len(b.Frames)
	}
	if in := s.Inputs(); err != io.EOF || in[0].Damage != nil || in[0].Frames != 20_000 || in[1].Damage == nil {
		t.Errorf("%v; inputs %+v", err, in)
	}
	if frames < 20_000 {
		t.Errorf("%d frames", frames)
	}
}

// Moving along a mapping keeps what was handed out.
func TestMappedFramesStay(t *testing.T) {
	const n = 1_500_000
	f := openFile(t, writeFile(t, "f", largePcap(t, n, erfNow)), MapAuto)
	var first, b Batch
	if err := f.ReadBatch(&first); err != nil {
		t.Fatal(err)
	}
	count := len(first.Frames)
	for f.ReadBatch(&b) == nil {
		count += len(b.Frames)
	}
	if count != n || f.dropped == 0 {
		t.Errorf("%d frames, %d bytes given back", count, f.dropped)
	}
	for i := range first.Frames {
		if string(first.Frames[i].Data) != strings.Repeat("d", 128) {
			t.Fatalf("frame %d has changed", i)
		}
	}
}

// A file that is cut while its frames are written leaves whole blocks behind.
func TestWriterFault(t *testing.T) {
	path := writeFile(t, "f", largePcap(t, 20_000, erfNow))
	f := openFile(t, path, MapAuto)
	var b Batch
	if err := f.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter(&out, WriterConfig{Inputs: f.Inputs})
	var d *DamagedError
	if err := Guard(f, func() error {
		for i := range b.Frames {
			if err := w.WriteFrame(&b.Frames[i]); err != nil {
				return err
			}
		}
		return nil
	}); !errors.As(err, &d) {
		t.Errorf("%v, want damage", err)
	}
	if err := w.WriteFrame(&b.Frames[0]); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	frames, err := readAll(t, stream(t, out.Bytes()))
	if want := 8192/(pcapRecord+128) + 1; err != io.EOF || len(frames) != want {
		t.Errorf("%d frames, %v, want %d", len(frames), err, want)
	}
	for i, fr := range frames {
		if string(fr.Data) != strings.Repeat("d", 128) {
			t.Errorf("frame %d has other bytes", i+1)
		}
	}
}
