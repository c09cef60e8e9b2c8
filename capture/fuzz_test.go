package capture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fuzzRead reads content in every way there is. Whatever it is, reading ends
// without a panic, in the end of the input or in damage, with every frame inside
// what was read, and the ways agree.
func fuzzRead(t *testing.T, content []byte) {
	f := stream(t, content)
	consume(t, f)
	streamed := f.Inputs()[0]
	for i := range streamed.Interfaces {
		if streamed.Interfaces[i].FCSLen < -1 {
			t.Fatalf("an FCS of %d bytes", streamed.Interfaces[i].FCSLen)
		}
	}

	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Config{Map: MapAlways})
	if err != nil {
		t.Fatal(err)
	}
	frames, err := readAll(t, f)
	mapped := f.Inputs()[0]
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if streamed.Frames != mapped.Frames || streamed.Bytes != mapped.Bytes || len(streamed.Interfaces) != len(mapped.Interfaces) {
		t.Fatalf("streamed: %+v, mapped: %+v", streamed, mapped)
	}
	if (streamed.Damage == nil) != (mapped.Damage == nil) ||
		streamed.Damage != nil && (streamed.Damage.Offset != mapped.Damage.Offset || streamed.Damage.Reason != mapped.Damage.Reason) {
		t.Fatalf("streamed: %v, mapped: %v", streamed.Damage, mapped.Damage)
	}
	if (err == io.EOF) != (mapped.Damage == nil) {
		t.Fatalf("the reader ends with %v, the input with %v", err, mapped.Damage)
	}
	before := int64(-1)
	for _, fr := range frames {
		if fr.Offset <= before || mapped.Compression == Plain && fr.Offset+int64(len(fr.Data)) > int64(len(content)) {
			t.Fatalf("a frame of %d bytes at %d, after one at %d, in %d bytes", len(fr.Data), fr.Offset, before, len(content))
		}
		before = fr.Offset
	}
	var d *DamagedError
	if errors.As(err, &d) && d.Offset < before {
		t.Fatalf("damage at %d, after the frame at %d", d.Offset, before)
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
