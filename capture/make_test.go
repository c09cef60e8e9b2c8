package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The makers of the files that the tests read.

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var (
	little byteOrder = binary.LittleEndian
	big    byteOrder = binary.BigEndian
)

// want is what a test expects of a frame.
type want struct {
	Time      int64
	Data      string
	OrigLen   uint32
	Link      LinkType
	FCSLen    int8
	Interface int32
	Offset    int64
	Comments  []string
}

// pcapMaker makes the pcap files of one variant.
type pcapMaker struct {
	order   byteOrder
	magic   uint32
	minor   uint16
	network uint32
}

func (m pcapMaker) header() []byte {
	o := m.order
	b := o.AppendUint32(nil, m.magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, m.minor)
	b = append(b, make([]byte, 8)...)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, m.network)
	if m.magic == lcapHardware || m.magic == lcapSoftware {
		b = o.AppendUint32(b, 0)
	}
	return b
}

// record has the lengths in the order in which the file has them.
func (m pcapMaker) record(sec, sub, first, second uint32, data string) []byte {
	b := m.order.AppendUint32(nil, sec)
	b = m.order.AppendUint32(b, sub)
	b = m.order.AppendUint32(b, first)
	b = m.order.AppendUint32(b, second)
	if m.magic == pcapModified {
		b = append(b, 0, 0, 0, 7, 8, 0, 0, 0xee)
	}
	return append(b, data...)
}

func pcapOf(link LinkType, times ...int64) []byte {
	m := pcapMaker{little, pcapNano, 4, uint32(link)}
	b := m.header()
	for i, t := range times {
		data := string(bytes.Repeat([]byte{byte(i)}, 20+i%50))
		b = append(b, m.record(uint32(t/nsPerSecond), uint32(t%nsPerSecond), uint32(len(data)), uint32(len(data)+4), data)...)
	}
	return b
}

// ng makes pcapng blocks.
type ng struct{ order byteOrder }

func (n ng) block(kind uint32, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	for len(all)%4 != 0 {
		all = append(all, 0)
	}
	b := n.order.AppendUint32(nil, kind)
	b = n.order.AppendUint32(b, uint32(len(all)+12))
	b = append(b, all...)
	return n.order.AppendUint32(b, uint32(len(all)+12))
}

func (n ng) words(v ...uint32) []byte {
	var b []byte
	for _, w := range v {
		b = n.order.AppendUint32(b, w)
	}
	return b
}

func (n ng) halves(v ...uint16) []byte {
	var b []byte
	for _, w := range v {
		b = n.order.AppendUint16(b, w)
	}
	return b
}

func (n ng) quad(v uint64) string { return string(n.order.AppendUint64(nil, v)) }

func (n ng) option(code uint16, value string) []byte {
	b := n.halves(code, uint16(len(value)))
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func (n ng) section(options ...[]byte) []byte {
	return n.block(blockSection, append([][]byte{n.words(ngMagic), n.halves(1, 0), n.words(0xffffffff, 0xffffffff)}, options...)...)
}

func (n ng) face(link LinkType, snap uint32, options ...[]byte) []byte {
	return n.block(blockInterface, append([][]byte{n.halves(uint16(link), 0), n.words(snap)}, options...)...)
}

func (n ng) packet(face uint32, ts uint64, orig uint32, data string, options ...[]byte) []byte {
	return n.block(blockEnhanced, append([][]byte{
		n.words(face, uint32(ts>>32), uint32(ts), uint32(len(data)), orig), pad4(data)}, options...)...)
}

func (n ng) oldPacket(face, drops uint16, ts uint64, orig uint32, data string, options ...[]byte) []byte {
	return n.block(blockPacket, append([][]byte{n.halves(face, drops),
		n.words(uint32(ts>>32), uint32(ts), uint32(len(data)), orig), pad4(data)}, options...)...)
}

func (n ng) statistics(face uint32, options ...[]byte) []byte {
	return n.block(blockStatistics, append([][]byte{n.words(face, 0, 0)}, options...)...)
}

func pad4(s string) []byte {
	b := []byte(s)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// erfRecord makes a record that ends on 8 bytes. body is all that follows the
// fixed header.
func erfRecord(seconds, fraction uint32, kind, flags byte, lost, wire uint16, body string) []byte {
	for len(body)%8 != 0 {
		body += "\x00"
	}
	b := little.AppendUint32(nil, fraction)
	b = little.AppendUint32(b, seconds)
	b = append(b, kind, flags)
	b = big.AppendUint16(b, uint16(erfHeader+len(body)))
	b = big.AppendUint16(b, lost)
	b = big.AppendUint16(b, wire)
	return append(b, body...)
}

func gzipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, p := range parts { // each a member of its own
		w := gzip.NewWriter(&out)
		_, err := w.Write(p)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func zstded(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, p := range parts {
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(p)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stream opens content as standard input.
func stream(t testing.TB, content []byte) *File {
	t.Helper()
	f, err := Open("-", Config{Stdin: bytes.NewReader(content)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll reads a source to its end through one dirty batch, and keeps copies.
// It fails the test if what the source says of itself does not add up.
func readAll(t testing.TB, s Source) ([]Frame, error) {
	t.Helper()
	var all []Frame
	b := Batch{Frames: make([]Frame, 3), buf: []byte("dirt")}
	for {
		err := s.ReadBatch(&b)
		if err == nil && (len(b.Frames) == 0 || len(b.Frames) > BatchFrames) {
			t.Fatalf("a batch of %d frames", len(b.Frames))
		}
		if err != nil {
			if len(b.Frames) != 0 {
				t.Fatalf("%d frames together with %v", len(b.Frames), err)
			}
			if again := s.ReadBatch(&b); !errors.Is(again, err) {
				t.Fatalf("%v, and then %v", err, again)
			}
			check(t, s, all)
			return all, err
		}
		for _, fr := range b.Frames {
			fr.Data = bytes.Clone(fr.Data)
			if fr.options != nil {
				fr.options = &blockOptions{bytes.Clone(fr.options.raw), fr.options.swap}
			}
			all = append(all, fr)
		}
	}
}

// check holds the frames of a source against its inputs.
func check(t testing.TB, s Source, frames []Frame) {
	t.Helper()
	inputs := s.Inputs()
	count, total := make([]uint64, len(inputs)), make([]uint64, len(inputs))
	for i, fr := range frames {
		in := &inputs[fr.Input]
		count[fr.Input]++
		total[fr.Input] += uint64(fr.OrigLen)
		if fr.Number != count[fr.Input] {
			t.Fatalf("frame %d has number %d, want %d", i, fr.Number, count[fr.Input])
		}
		if int(fr.Interface) >= len(in.Interfaces) {
			t.Fatalf("frame %d is of interface %d of %d", i, fr.Interface, len(in.Interfaces))
		}
		if int64(fr.OrigLen) < int64(len(fr.Data)) && fr.Link != LinkERF {
			t.Fatalf("frame %d has %d bytes of %d", i, len(fr.Data), fr.OrigLen)
		}
	}
	for i, in := range inputs {
		if in.Frames != count[i] || in.Bytes != total[i] {
			t.Fatalf("input %d says %d frames, %d bytes; it gave %d, %d", i, in.Frames, in.Bytes, count[i], total[i])
		}
	}
}

// expect reads s and compares frame by frame. The error must be io.EOF or, if
// damage is not empty, a *DamagedError with that text.
func expect(t *testing.T, s Source, damage string, frames ...want) {
	t.Helper()
	got, err := readAll(t, s)
	var have []want
	for _, fr := range got {
		have = append(have, want{fr.Time, string(fr.Data), fr.OrigLen, fr.Link, fr.FCSLen,
			fr.Interface, fr.Offset, fr.Comments()})
	}
	if diff := cmp.Diff(frames, have); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	wantError(t, err, damage)
}

func wantError(t *testing.T, err error, damage string) {
	t.Helper()
	var d *DamagedError
	switch {
	case damage == "" && errors.Is(err, io.EOF) && !errors.As(err, &d):
	case damage != "" && errors.As(err, &d) && d.Error() == damage:
	case damage == "":
		t.Errorf("error %v, want io.EOF", err)
	default:
		t.Errorf("error %q, want %q", err, damage)
	}
}

// largePcap is a capture that mapping is worth while for: n frames of 128 bytes
// a microsecond apart, of the time given.
func largePcap(t testing.TB, n int, start uint32) []byte {
	t.Helper()
	m := pcapMaker{little, pcapMicro, 4, 1}
	file := make([]byte, 0, pcapHeader+n*(pcapRecord+128))
	file = append(file, m.header()...)
	data := strings.Repeat("d", 128)
	for i := range uint32(n) {
		file = append(file, m.record(start+i/1_000_000, i%1_000_000, 128, 4200, data)...)
	}
	return file
}

func openFile(t testing.TB, path string, policy MapPolicy) *File {
	t.Helper()
	f, err := Open(path, Config{Map: policy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}
