package capture

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fuzzBatches are used again for each input: what an earlier one left must not
// show, and fuzzing is not slowed down by making them.
var fuzzBatches [2]Batch

// fuzzRead reads content in more than one way. Whatever it is, reading ends
// without a panic, in the end of the input or in damage, with every frame inside
// what was read, and the ways agree. Mapping takes a file, and so many times the
// time: one input in 256 is mapped too.
func fuzzRead(t *testing.T, content []byte) {
	streamed := fuzzConsume(t, stream(t, content), &fuzzBatches[0], len(content))
	dribbled, err := Open("-", Config{Stdin: &dribble{content, 1 + len(content)%61}})
	if err != nil {
		t.Fatal(err)
	}
	fuzzAgree(t, streamed, fuzzConsume(t, dribbled, &fuzzBatches[1], len(content)))
	if crc32.ChecksumIEEE(content)%256 != 0 {
		return
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	mapped, err := Open(path, Config{Map: MapAlways})
	if err != nil {
		t.Fatal(err)
	}
	fuzzAgree(t, streamed, fuzzConsume(t, mapped, &fuzzBatches[1], len(content)))
	if err := mapped.Close(); err != nil {
		t.Fatal(err)
	}
}

// dribble is a reader that gives few bytes at a time.
type dribble struct {
	content []byte
	most    int
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.content) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), d.most)], d.content)
	d.content = d.content[n:]
	return n, nil
}

// fuzzConsume reads f to its end and checks each frame.
func fuzzConsume(t *testing.T, f *File, b *Batch, size int) Input {
	before := int64(-1)
	for {
		err := f.ReadBatch(b)
		if err != nil {
			in := f.Inputs()[0]
			var d *DamagedError
			switch {
			case len(b.Frames) != 0:
				t.Fatalf("%d frames together with %v", len(b.Frames), err)
			case errors.As(err, &d):
				if d.Offset < before || in.Damage == nil {
					t.Fatalf("%v after the frame at %d, the input says %v", d, before, in.Damage)
				}
			case !errors.Is(err, io.EOF) || in.Damage != nil:
				t.Fatalf("the reader ends with %v, the input with %v", err, in.Damage)
			}
			for i := range in.Interfaces {
				if in.Interfaces[i].FCSLen < -1 {
					t.Fatalf("an FCS of %d bytes", in.Interfaces[i].FCSLen)
				}
			}
			return in
		}
		if cap(b.buf) > 4*(maxBlock+maxBuffer) {
			t.Fatalf("a buffer of %d bytes", cap(b.buf))
		}
		for i := range b.Frames {
			fr := &b.Frames[i]
			if len(fr.Data) > MaxFrame || int(fr.OrigLen) < len(fr.Data) {
				t.Fatalf("a frame of %d bytes, on the wire %d", len(fr.Data), fr.OrigLen)
			}
			if fr.Offset <= before || f.in.Compression == Plain && fr.Offset+int64(len(fr.Data)) > int64(size) {
				t.Fatalf("a frame of %d bytes at %d, after one at %d, in %d bytes", len(fr.Data), fr.Offset, before, size)
			}
			before = fr.Offset
			_ = fr.Comments()
		}
	}
}

// fuzzAgree compares what two ways of reading say of one input.
func fuzzAgree(t *testing.T, a, b Input) {
	if a.Frames != b.Frames || a.Bytes != b.Bytes || len(a.Interfaces) != len(b.Interfaces) ||
		(a.Damage == nil) != (b.Damage == nil) ||
		a.Damage != nil && (a.Damage.Offset != b.Damage.Offset || a.Damage.Reason != b.Damage.Reason) {
		t.Fatalf("one way: %+v, %v; another: %+v, %v", a, a.Damage, b, b.Damage)
	}
}

func fuzzFormat(f *testing.F, format Format) {
	for _, s := range samples() {
		in := stream(f, s.file)
		if in.Inputs()[0].Format == format {
			f.Add(s.file)
			f.Add(s.file[:len(s.file)-3])
		}
	}
	f.Fuzz(fuzzRead)
}

func FuzzPcap(f *testing.F) { fuzzFormat(f, FormatPcap) }

func FuzzPcapNG(f *testing.F) {
	n := ng{little}
	f.Add(slices.Concat(n.section(), n.face(1, 0, n.option(ifTSResol, "\xff"), n.option(ifTSOffset, n.quad(1<<63))),
		n.packet(0, 1<<63, 0, "abc", n.option(optComment, "c"), n.option(epbDropCount, n.quad(1<<63))),
		n.statistics(0, n.option(isbDropped, n.quad(1)), n.option(isbOSDrop, n.quad(1<<63)))))
	f.Add(slices.Concat(n.section(), n.words(0xbad, 0xfffffff0), make([]byte, 64)))
	fuzzFormat(f, FormatPcapNG)
}

func FuzzERF(f *testing.F) {
	f.Add(slices.Concat(erfRecord(erfNow, 0, 2|erfExtension, erfVarying, 1, 60, "\x80.......\x00.......\x00\x00frame"),
		erfRecord(0, 0, erfPad, 0, 0, 0, ""), erfRecord(erfNow, 0, erfMeta, 0, 0, 0, "meta")))
	fuzzFormat(f, FormatERF)
}

// FuzzOpen is about telling what an input is, compressed or not.
func FuzzOpen(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.file)
		f.Add(gzipped(f, s.file))
		f.Add(zstded(f, s.file))
		f.Add(bytes.Join([][]byte{gzipped(f, s.file[:30]), gzipped(f, s.file[30:])}, nil))
	}
	for _, o := range others {
		f.Add([]byte(o.magic))
	}
	f.Fuzz(fuzzRead)
}

// FuzzRoundTrip is about what is read being written: the copy reads the same.
func FuzzRoundTrip(f *testing.F) {
	n := ng{little}
	for _, s := range samples() {
		f.Add(s.file)
	}
	f.Add(erfInPcap())
	f.Add(slices.Concat(n.section(n.option(optComment, "s")), n.face(1, 0, n.option(ifTSResol, "\x85"), n.option(ifTSOffset, n.quad(1<<63)), n.option(ifName, "a\xff")),
		n.face(7, 0, n.option(ifTSResol, "\x09"), n.option(ifFCSLen, "\x7f")), n.packet(1, 1<<63, 0, "abc", n.option(epbFlags, "\xff\xff\xff\xff")),
		n.block(blockSimple, n.words(3), []byte("xyz")), n.packet(0, 1<<63, 0, "abc", n.option(optComment, "c"), n.option(epbDropCount, n.quad(1<<63))),
		n.statistics(1, n.option(isbDropped, n.quad(1)), n.option(isbOSDrop, n.quad(1<<63))), n.section(n.option(optComment, "late"))))
	f.Fuzz(func(t *testing.T, content []byte) {
		if stream(t, content).Inputs()[0].Compression != Plain {
			return // it may unpack to more than there is memory for a copy of
		}
		if _, err := checkRewrite(opener(content)); err != nil {
			t.Fatal(err)
		}
	})
}
