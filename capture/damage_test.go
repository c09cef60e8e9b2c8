package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// sample is a small file of one format, and where its records end.
type sample struct {
	name   string
	file   []byte
	ends   []int // where a cut is a clean end
	frames []int // the ends that are those of frames
}

func (s *sample) add(part []byte, frame bool) {
	s.file = append(s.file, part...)
	s.ends = append(s.ends, len(s.file))
	if frame {
		s.frames = append(s.frames, len(s.file))
	}
}

func samples() []sample {
	var all []sample
	for _, v := range []struct {
		name  string
		magic uint32
		order byteOrder
	}{
		{"pcap", pcapMicro, little}, {"pcap big-endian ns", pcapNano, big},
		{"pcap modified", pcapModified, little}, {"lcap", lcapHardware, big},
	} {
		s := sample{name: v.name}
		m := pcapMaker{v.order, v.magic, 4, 1}
		s.add(m.header(), false)
		for i := range 5 {
			data := strings.Repeat("x", i*5)
			s.add(m.record(erfNow, uint32(i), uint32(len(data)), 99, data), true)
		}
		all = append(all, s)
	}
	for _, o := range []byteOrder{little, big} {
		n := ng{o}
		s := sample{name: "pcapng " + o.String()}
		s.add(n.section(n.option(optComment, "hi")), false)
		s.add(n.face(LinkEthernet, 0, n.option(ifName, "eth0")), false)
		s.add(n.packet(0, 1, 9, "abcdefg", n.option(optComment, "hello")), true)
		s.add(n.block(0xbad, []byte("not for us")), false)
		s.add(n.block(blockSimple, n.words(3), []byte("xyz")), true)
		s.add(n.oldPacket(0, 0, 1, 5, "abc"), true)
		s.add(n.statistics(0, n.option(isbDropped, n.quad(3))), false)
		s.add(n.section(), false)
		s.add(n.face(LinkRaw, 0), false)
		s.add(n.packet(0, 1, 9, "abc"), true)
		all = append(all, s)
	}
	s := sample{name: "ERF"}
	for i := range 6 {
		s.add(erfRecord(erfNow, uint32(i), 21, erfVarying, 0, uint16(8+i*6), strings.Repeat("i", 8+i*6)), true)
	}
	return append(all, s)
}

// upTo is how many of ends are not beyond n, and the last of them.
func upTo(ends []int, n int) (count, last int) {
	for _, e := range ends {
		if e > n {
			break
		}
		count, last = count+1, e
	}
	return count, last
}

// A file that is cut at any byte gives the frames before, and says where it is
// cut unless that is between two records.
func TestCutAnywhere(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			path := writeFile(t, "f", s.file)
			for n := len(s.file); n >= 0; n-- {
				if err := os.Truncate(path, int64(n)); err != nil {
					t.Fatal(err)
				}
				for _, policy := range []MapPolicy{MapNever, MapAlways} {
					f, err := Open(path, Config{Map: policy})
					if err != nil {
						t.Fatal(err)
					}
					checkCut(t, &s, f, n)
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
				}
				checkCut(t, &s, stream(t, s.file[:n]), n)
			}
		})
	}
}

func checkCut(t *testing.T, s *sample, f *File, n int) {
	t.Helper()
	frames, err := readAll(t, f)
	want, _ := upTo(s.frames, n)
	if len(frames) != want {
		t.Fatalf("cut at %d: %d frames, want %d", n, len(frames), want)
	}
	_, last := upTo(s.ends, n)
	var d *DamagedError
	switch {
	case n == last && n > 0:
		if err != io.EOF || f.Inputs()[0].Damage != nil {
			t.Fatalf("cut at %d, between records: %v", n, err)
		}
	case !errors.As(err, &d) || d.Offset != int64(last) || f.Inputs()[0].Damage != d:
		t.Fatalf("cut at %d: %v, want damage at %d", n, err, last)
	}
}

// The same with compressed files: what could be decompressed counts.
func TestCutCompressed(t *testing.T) {
	for _, s := range samples() {
		half := len(s.file) / 2
		for _, c := range []struct {
			kind Compression
			file []byte
			read func(io.Reader) (io.Reader, error)
		}{
			{Gzip, gzipped(t, s.file[:half], s.file[half:]), func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
			{Zstd, zstded(t, s.file[:half], s.file[half:]), func(r io.Reader) (io.Reader, error) {
				return zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			}},
		} {
			t.Run(fmt.Sprint(s.name, " ", c.kind), func(t *testing.T) {
				for n := range len(c.file) + 1 {
					var plain []byte
					var broken error
					if r, err := c.read(bytes.NewReader(c.file[:n])); err == nil {
						plain, broken = io.ReadAll(r)
					} else {
						broken = err
					}
					f := stream(t, c.file[:n])
					frames, err := readAll(t, f)
					_, last := upTo(s.ends, len(plain))
					want, _ := upTo(s.frames, len(plain))
					if s.name == "ERF" && len(plain) < erfHeader {
						want, last = 0, 0
					}
					if len(frames) != want {
						t.Fatalf("cut at %d: %d frames, want %d", n, len(frames), want)
					}
					var d *DamagedError
					if broken == nil && last == len(plain) && last > 0 {
						if err != io.EOF {
							t.Fatalf("cut at %d: %v", n, err)
						}
					} else if !errors.As(err, &d) || d.Offset != int64(last) || d.Decompressed != (n >= 4 || n == 3 && c.kind == Gzip) {
						t.Fatalf("cut at %d: %#v, want damage at %d of what is decompressed", n, err, last)
					}
				}
			})
		}
	}
}

// Random damage: any end will do, as long as there is one.
func TestCorruption(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range samples() {
		for _, file := range [][]byte{s.file, gzipped(t, s.file), zstded(t, s.file)} {
			for range 400 {
				bad := bytes.Clone(file)
				for range 1 + random.IntN(4) {
					bad[random.IntN(len(bad))] = byte(random.Uint32())
				}
				consume(t, stream(t, bad))
			}
		}
	}
}

// consume reads f to whatever end it has and looks at all there is.
func consume(t testing.TB, f *File) {
	t.Helper()
	var b Batch
	for {
		err := f.ReadBatch(&b)
		if err != nil {
			if len(b.Frames) != 0 {
				t.Fatalf("%d frames together with %v", len(b.Frames), err)
			}
			var d *DamagedError
			if err != io.EOF && !errors.As(err, &d) {
				t.Fatalf("neither the end nor damage: %v", err)
			}
			break
		}
		if cap(b.buf) > 4*(maxBlock+maxBuffer) {
			t.Fatalf("a buffer of %d bytes", cap(b.buf))
		}
		for i := range b.Frames {
			fr := &b.Frames[i]
			sum := 0
			for _, v := range fr.Data {
				sum += int(v)
			}
			if len(fr.Data) > MaxFrame || cap(fr.Data) != len(fr.Data) || sum < 0 {
				t.Fatalf("a frame of %d bytes with room for %d", len(fr.Data), cap(fr.Data))
			}
			fr.Comments()
		}
	}
	f.Inputs()
}

func TestCompressionDamage(t *testing.T) {
	m := pcapMaker{little, pcapMicro, 4, 1}
	file := append(m.header(), m.record(1, 0, 3, 3, "abc")...)
	first := want{nsPerSecond, "abc", 3, LinkEthernet, -1, 0, 24, nil}
	const where = "standard input: damaged at byte 43 of the decompressed data: "

	checksum := gzipped(t, file)
	checksum[len(checksum)-5] ^= 1
	expect(t, stream(t, checksum), where+"the gzip stream is damaged: gzip: invalid checksum", first)
	// What follows a stream that is whole: nothing of the capture is missing.
	again := first
	again.Offset = 43
	twice := gzipped(t, file)
	record := gzipped(t, m.record(1, 0, 3, 3, "abc"))
	for _, c := range []struct {
		behind []byte
		want   string
		frames []want
	}{
		{[]byte("garbage, more than a header is"), "standard input: 30 bytes that are no gzip follow the gzip stream, and are left out", []want{first}},
		{[]byte("x"), "standard input: 1 byte that is no gzip follows the gzip stream, and are left out", []want{first}},
		{[]byte{0x1f, 0x8b}, "standard input: 2 bytes that are no gzip follow the gzip stream, and are left out", []want{first}},
		{make([]byte, 100_000), "", []want{first}},
		{append(make([]byte, 100_000), 1), "standard input: 100001 bytes that are no gzip follow the gzip stream, and are left out", []want{first}},
		{record, "", []want{first, again}},
		{append(slices.Clip(record), 7), "standard input: 1 byte that is no gzip follows the gzip stream, and are left out", []want{first, again}},
		{record[:len(record)-1], "standard input: damaged at byte 62 of the decompressed data: the gzip stream is cut", []want{first, again}},
	} {
		expect(t, stream(t, append(slices.Clip(twice), c.behind...)), c.want, c.frames...)
	}
	expect(t, stream(t, append(gzipped(t, file[:len(file)-1]), "garbage"...)), "standard input: damaged at byte 24 of the decompressed data: "+
		"the file ends in the middle of a record, and 7 bytes that are no gzip follow the gzip stream")
	expect(t, stream(t, append(zstded(t, file), "garbage"...)), "standard input: bytes that are no zstd follow the zstd stream, and are left out", first)
	expect(t, stream(t, gzipped(t, file)[:12]), "standard input: damaged at byte 0 of the decompressed data: the gzip stream is cut")
	expect(t, stream(t, gzipped(t)), "standard input: the input is empty")
	expect(t, stream(t, gzipped(t, nil)), "standard input: the gzip stream is empty")
	expect(t, stream(t, gzipped(t, gzipped(t, file))), "standard input: "+
		"not a pcap, pcapng or ERF capture (begins with 1f 8b 08 00 00 00 00 00, looks like compressed by gzip, again: unpack it first)")

	skippable := slices.Concat([]byte{0x5e, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2}, zstded(t, file))
	expect(t, stream(t, skippable), "", first)
	// A frame header that asks for a window of 256 MiB.
	expect(t, stream(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x90, 1, 0, 0}),
		"standard input: damaged at byte 0 of the decompressed data: "+
			"the zstd stream needs a window of more than 128 MiB: unpack it with zstd --long=31 first")
}
