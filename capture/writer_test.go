package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// rewrite writes all frames of a source to w, and nothing else.
func rewrite(s Source, out io.Writer, cfg WriterConfig) error {
	cfg.Inputs = s.Inputs
	w := NewWriter(out, cfg)
	var b Batch
	for s.ReadBatch(&b) == nil {
		for i := range b.Frames {
			if err := w.WriteFrame(&b.Frames[i]); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if w.Cut() != 0 {
		return fmt.Errorf("%d texts were cut", w.Cut())
	}
	return nil
}

// frameReader hands out a source's frames one by one.
type frameReader struct {
	s    Source
	b    Batch
	next int
	err  error
}

func (r *frameReader) read() *Frame {
	for r.next == len(r.b.Frames) && r.err == nil {
		r.next = 0
		r.err = r.s.ReadBatch(&r.b)
	}
	if r.err != nil {
		return nil
	}
	r.next++
	return &r.b.Frames[r.next-1]
}

// sameCapture reads a source to its end beside the copy that a Writer made of
// it, and says where they differ.
func sameCapture(source Source, copied *File) error {
	a, b := frameReader{s: source}, frameReader{s: copied}
	type port struct{ input, index int32 }
	descriptions := map[port][]int32{} // the copy's interfaces that stand for one
	for n := uint64(1); ; n++ {
		want, got := a.read(), b.read()
		if want == nil || got == nil {
			if want != got {
				return fmt.Errorf("frame %d: %v, in the copy %v (%w)", n, want, got, b.err)
			}
			break
		}
		if got.Number != n || got.Time != want.Time || got.OrigLen != want.OrigLen || got.Link != want.Link ||
			got.FCSLen != want.FCSLen || !bytes.Equal(got.Data, want.Data) {
			return fmt.Errorf("frame %d: %+v, in the copy %+v", n, want, got)
		}
		if !sameComments(want.Comments(), got.Comments()) {
			return fmt.Errorf("frame %d: comments %q, in the copy %q", n, want.Comments(), got.Comments())
		}
		if w, g := flagsOf(want), flagsOf(got); w != g {
			return fmt.Errorf("frame %d: flags %#x, in the copy %#x", n, w, g)
		}
		p := port{want.Input, want.Interface}
		if !slices.Contains(descriptions[p], got.Interface) {
			descriptions[p] = append(descriptions[p], got.Interface)
		}
	}
	if b.err != io.EOF {
		return fmt.Errorf("the copy: %w", b.err)
	}

	inputs, out := source.Inputs(), copied.Inputs()[0]
	used := map[int32]port{}
	for p, list := range descriptions {
		for _, index := range list {
			if other, ok := used[index]; ok {
				return fmt.Errorf("interface %d of the copy is %v and %v", index, other, p)
			}
			used[index] = p
			in := &inputs[p.input]
			err := sameInterface(in, in.Interfaces[p.index], out.Interfaces[index], false)
			if err != nil && sameInterface(in, in.Interfaces[p.index], out.Interfaces[index], true) != nil {
				return fmt.Errorf("interface %d of input %d: %w", p.index, p.input, err)
			}
		}
	}
	var comments []string
	var drops *uint64
	described := 0
	for i := range inputs {
		comments = append(comments, inputs[i].Comments...)
		described += len(inputs[i].Interfaces)
		if d := inputs[i].Drops; d != nil {
			if drops == nil {
				drops = new(uint64)
			}
			*drops = addSaturating(*drops, *d)
		}
	}
	if len(inputs) == 1 && described == len(out.Interfaces) { // in order, with those that no frame came by
		for i, info := range inputs[0].Interfaces {
			if err := sameInterface(&inputs[0], info, out.Interfaces[i], false); err != nil {
				return fmt.Errorf("interface %d: %w", i, err)
			}
		}
	}
	if len(out.Interfaces) < described {
		return fmt.Errorf("%d interfaces of %d", len(out.Interfaces), described)
	}
	if len(inputs) > 1 { // what comes late comes in the order in which it is known
		slices.Sort(comments)
		slices.Sort(out.Comments)
	}
	if !sameComments(comments, out.Comments) {
		return fmt.Errorf("comments %q, in the copy %q", comments, out.Comments)
	}
	if diff := cmp.Diff(drops, out.Drops); diff != "" {
		return fmt.Errorf("drops: %s", diff)
	}
	return nil
}

func flagsOf(f *Frame) uint32 {
	if f.options == nil {
		return 0
	}
	return f.options.flags() &^ epbFCS
}

// sameComments compares comments, of which long ones may be in pieces.
func sameComments(want, got []string) bool {
	for _, c := range got {
		if len(c) > math.MaxUint16 || !utf8.ValidString(c) {
			return false
		}
	}
	if len(want) != len(got) && !slices.ContainsFunc(want, func(c string) bool { return len(c) > math.MaxUint16 }) {
		return false
	}
	return strings.Join(want, "\x00") == strings.Join(got, "\x00") || // the same ones
		len(want) != len(got) && strings.Join(want, "") == strings.Join(got, "")
}

// sameInterface compares what is known of an interface. In a second description
// its times are different, and it has no statistics.
func sameInterface(in *Input, want, got Interface, again bool) error {
	switch {
	case again:
		if got.TSResol != 9 || got.TSOffset != 0 && got.TSOffset != -9_223_372_037 {
			return fmt.Errorf("resolution %d, offset %d", got.TSResol, got.TSOffset)
		}
		want.TSResol, want.TSOffset = got.TSResol, got.TSOffset
		want.Received, want.Dropped = nil, nil
	case want.TSResol > 9 && want.TSResol < 0x80, want.TSResol >= 0x80+30, in.Format == FormatPcap && want.Link == LinkERF:
		want.TSResol = 9
	}
	if want.Dropped == nil && in.Drops != nil && !again {
		want.Dropped = got.Dropped // the input tells of drops somewhere
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Comments" }, cmp.Comparer(sameComments))); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// checkRewrite copies what open opens, and compares. It returns the copy.
func checkRewrite(open func() (Source, error)) ([]byte, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := errors.Join(rewrite(s, &out, WriterConfig{}), s.Close()); err != nil {
		return nil, err
	}
	if s, err = open(); err != nil {
		return nil, err
	}
	f, err := Open("-", Config{Stdin: bytes.NewReader(out.Bytes())})
	if err != nil {
		return nil, err
	}
	return out.Bytes(), errors.Join(sameCapture(s, f), s.Close(), f.Close())
}

func opener(content []byte) func() (Source, error) {
	return func() (Source, error) {
		return asSource(Open("-", Config{Stdin: bytes.NewReader(content)}))
	}
}

func TestWriterSamples(t *testing.T) {
	n := ng{big}
	all := append(samples(),
		sample{name: "nothing but a header", file: n.section(n.option(optComment, "nothing"))},
		sample{name: "no frame", file: slices.Concat(n.section(), n.face(LinkRaw, 7, n.option(ifName, "idle")), n.statistics(0, n.option(isbReceived, n.quad(0))))},
		sample{name: "pcap with FCS", file: pcapMaker{little, pcapMicro, 4, 1 | pcapFCSPresent | 0xf<<28}.file(t)},
		sample{name: "ERF ports", file: slices.Concat(
			erfRecord(erfNow, 1<<31|1, 2, erfVarying|2, 3, 20, "  frame of twenty byte"), erfRecord(erfNow, 7, 2, erfVarying|1, 0, 60, "  cut"))},
		sample{name: "ERF in pcap", file: erfInPcap()},
		sample{name: "what the input says", file: slices.Concat(n.section(n.option(optComment, "of the file"), n.option(optComment, "")),
			n.face(LinkSLL2, 128, n.option(ifName, "mlx5_0"), n.option(ifDescription, "port"), n.option(ifMAC, "\x02\x00\x00\x00\x00\x01"),
				n.option(ifSpeed, n.quad(400_000_000_000)), n.option(ifTSResol, "\x03"), n.option(ifFilter, "\x00udp"), n.option(ifOS, "Linux"),
				n.option(ifHardware, "ConnectX"), n.option(ifTSOffset, n.quad(1<<64-77)), n.option(ifFCSLen, "\x04"),
				n.option(optComment, "c1"), n.option(optComment, ""), n.option(optComment, "c2")),
			n.packet(0, 1_700_000_000_000, 1500, "frame", n.option(optComment, "one"), n.option(epbFlags, string(n.words(2<<5|1|1<<31))),
				n.option(optComment, ""), n.option(optComment, "two\x00"), n.option(optComment, "bad \xff")),
			n.packet(0, 0, 5, "of 77 seconds before the epoch"), n.packet(0, 77_001, 5, "after", n.option(epbFlags, string(n.words(2)))),
			n.statistics(0, n.option(isbReceived, n.quad(10)), n.option(isbDropped, n.quad(2)), n.option(isbOSDrop, n.quad(3))),
			n.face(LinkNull, 0, n.option(ifName, "late")), n.packet(1, 1, 3, "abc", n.option(epbDropCount, n.quad(9))),
			n.section(n.option(optComment, "late")))},
	)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			file, err := checkRewrite(opener(s.file))
			if err != nil {
				t.Fatal(err)
			}
			again, err := checkRewrite(opener(file))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(file, again) {
				t.Error("the copy of the copy is another one")
			}
		})
	}
}

func (m pcapMaker) file(t *testing.T) []byte {
	t.Helper()
	return slices.Concat(m.header(), m.record(1, 2, 3, 4, "abc"), m.record(5, 6, 4, 4, "abcd"))
}

// erfInPcap has microseconds in its records and more in the ERF headers.
func erfInPcap() []byte {
	m := pcapMaker{big, pcapMicro, 4, uint32(LinkERF)}
	record := string(erfRecord(erfNow, 1<<20|12345, 21, erfVarying, 0, 8, "12345678"))
	return slices.Concat(m.header(), m.record(erfNow, 250, uint32(len(record)), uint32(len(record)), record))
}

// Every capture that there is comes back as it was.
func TestWriterCaptures(t *testing.T) {
	for _, path := range capturetest.Paths(t) {
		if _, err := checkRewrite(func() (Source, error) { return asSource(Open(path, DefaultConfig())) }); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	vantages := []string{capturetest.Get(t, "dual_vantage_write_receiver").Path, capturetest.Get(t, "formats_write_usec").Path,
		capturetest.Get(t, "dual_vantage_write_sender").Path}
	if _, err := checkRewrite(func() (Source, error) { return OpenAll(vantages, DefaultConfig()) }); err != nil {
		t.Errorf("merged: %v", err)
	}
}

// drawNG draws a pcapng file, such as any writer may write.
func drawNG(t *rapid.T, label string) []byte {
	n := ng{little}
	if rapid.Bool().Draw(t, label+" big-endian") {
		n.order = big
	}
	texts := rapid.OneOf(rapid.StringN(0, 20, -1), rapid.SampledFrom([]string{"", "\xff\xfe", "a\x00b\x00", strings.Repeat("ü", 32767), strings.Repeat("x", 65535)}))
	words := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 63, math.MaxUint64, 1_700_000_000_000_000}))
	var file []byte
	for range rapid.IntRange(1, 3).Draw(t, "sections") {
		var options [][]byte
		for range rapid.IntRange(0, 2).Draw(t, "section comments") {
			options = append(options, n.option(optComment, texts.Draw(t, "comment")))
		}
		file = append(file, n.section(options...)...)
		faces := uint32(0)
		for range rapid.IntRange(0, 12).Draw(t, "blocks") {
			kind := rapid.IntRange(0, 6).Draw(t, "kind")
			if faces == 0 && kind != 6 {
				kind = 0
			}
			switch kind {
			case 0:
				faces++
				options = nil
				maybe := func(code uint16, value string) {
					if rapid.Bool().Draw(t, "option") {
						options = append(options, n.option(code, value))
					}
				}
				maybe(ifName, texts.Draw(t, "name"))
				maybe(ifDescription, texts.Draw(t, "description"))
				maybe(ifHardware, texts.Draw(t, "hardware"))
				maybe(ifOS, texts.Draw(t, "OS"))
				maybe(ifFilter, "\x00udp port 4791")
				maybe(ifMAC, string(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "MAC")))
				maybe(ifSpeed, n.quad(words.Draw(t, "speed")))
				maybe(ifTSResol, string([]byte{rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{3, 6, 9, 12, 0x80 | 10, 0x80 | 29, 0x80 | 32})).Draw(t, "resolution")}))
				maybe(ifTSOffset, n.quad(rapid.OneOf(words, rapid.SampledFrom([]uint64{77, 1<<64 - 77, 1<<64 - 1<<33})).Draw(t, "offset")))
				maybe(ifFCSLen, string([]byte{rapid.Byte().Draw(t, "FCS")}))
				maybe(optComment, texts.Draw(t, "comment"))
				file = append(file, n.face(LinkType(rapid.Uint16().Draw(t, "link")), rapid.SampledFrom([]uint32{0, 10, 262144}).Draw(t, "snap length"), options...)...)
			case 1, 2, 3:
				face := rapid.Uint32Range(0, faces-1).Draw(t, "interface")
				data := string(rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "data"))
				options = nil
				for range rapid.IntRange(0, 3).Draw(t, "comments") {
					options = append(options, n.option(optComment, texts.Draw(t, "comment")))
				}
				if rapid.Bool().Draw(t, "has flags") {
					options = append(options, n.option(epbFlags, string(n.words(rapid.Uint32().Draw(t, "flags")))))
				}
				if rapid.Bool().Draw(t, "has drops") {
					options = append(options, n.option(epbDropCount, n.quad(words.Draw(t, "drops"))))
				}
				ts, orig := words.Draw(t, "time"), rapid.Uint32().Draw(t, "length")
				if kind == 3 {
					file = append(file, n.oldPacket(uint16(face), rapid.Uint16().Draw(t, "drops"), ts, orig, data, options...)...)
				} else {
					file = append(file, n.packet(face, ts, orig, data, options...)...)
				}
			case 4:
				data := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")
				file = append(file, n.block(blockSimple, n.words(uint32(len(data))), data)...)
			case 5:
				file = append(file, n.statistics(rapid.Uint32Range(0, faces-1).Draw(t, "interface"),
					n.option(rapid.SampledFrom([]uint16{isbReceived, isbDropped, isbOSDrop}).Draw(t, "figure"), n.quad(words.Draw(t, "count"))))...)
			case 6:
				file = append(file, n.block(0xbad, []byte("not for us"))...)
			}
		}
	}
	return file
}

// Whatever the inputs are, all that the reader knows of them comes back.
func TestWriterKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files [][]byte
		for i := range rapid.IntRange(1, 3).Draw(t, "inputs") {
			files = append(files, drawNG(t, fmt.Sprint(i)))
		}
		open := opener(files[0])
		if len(files) > 1 {
			open = func() (Source, error) {
				var inputs []mergeInput
				for i, content := range files {
					f, err := Open("-", Config{Stdin: bytes.NewReader(content)})
					if err != nil {
						return nil, err
					}
					inputs = append(inputs, mergeInput{path: fmt.Sprint(i), file: f})
				}
				return newMerge(inputs, Config{}), nil
			}
		}
		if _, err := checkRewrite(open); err != nil {
			t.Fatal(err)
		}
	})
}

// There is a time stamp for each time of each resolution, and it is the
// earliest.
func TestStampIsInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock(rapid.Byte().Draw(t, "resolution"), rapid.OneOf(rapid.Int64(), rapid.Int64Range(-100, 100)).Draw(t, "offset"))
		ts := rapid.Uint64().Draw(t, "time stamp")
		at := c.nanoseconds(ts)
		got, ok := c.stamp(at)
		if !ok || got > ts || c.nanoseconds(got) != at {
			t.Fatalf("the stamp of %d is %d, %v; want at most %d", at, got, ok, ts)
		}
		if got > 0 && c.nanoseconds(got-1) == at && c.offset != 0 {
			t.Fatalf("%d is not the earliest stamp of %d", got, at)
		}
	})
	for _, c := range []struct {
		resol  uint8
		offset int64
	}{{9, 0}, {9, beforeEpoch}} {
		k := newClock(c.resol, c.offset)
		for _, at := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
			if (at < 0) != (c.offset < 0) {
				continue
			}
			if ts, ok := k.stamp(at); !ok || k.nanoseconds(ts) != at {
				t.Errorf("%d ns: %d, %v", at, ts, ok)
			}
		}
	}
}

// oneInput describes interfaces for frames that come from no file.
func oneInput(faces ...Interface) func() []Input {
	return func() []Input { return []Input{{Interfaces: faces}} }
}

// A frame may have any time, whatever its interface's resolution is, and any
// comments.
func TestWriterAnyFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		w := NewWriter(&out, WriterConfig{Inputs: oneInput(Interface{Link: 1, FCSLen: -1, TSResol: rapid.Byte().Draw(t, "resolution")})})
		type frame struct {
			time     int64
			orig     uint32
			data     []byte
			comments []string
		}
		var want []frame
		for range rapid.IntRange(0, 10).Draw(t, "frames") {
			f := frame{
				time:     rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 10_000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, "time"),
				data:     rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "data"),
				comments: rapid.SliceOfN(rapid.StringN(0, 100_000, 200_000), 0, 3).Draw(t, "comments"),
			}
			f.orig = rapid.Uint32Range(uint32(len(f.data)), math.MaxUint32).Draw(t, "length")
			want = append(want, f)
			if err := w.WriteFrame(&Frame{Data: f.data, Time: f.time, OrigLen: f.orig, Link: 1, FCSLen: -1}, f.comments...); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || w.Cut() != 0 {
			t.Fatal(err, w.Cut())
		}
		f, err := Open("-", Config{Stdin: &out})
		if err != nil {
			t.Fatal(err)
		}
		r := frameReader{s: f}
		for i, fr := range want {
			for j, c := range fr.comments {
				fr.comments[j] = strings.TrimRight(c, "\x00")
			}
			got := r.read()
			if got == nil || got.Time != fr.time || got.OrigLen != fr.orig || !bytes.Equal(got.Data, fr.data) || !sameComments(fr.comments, got.Comments()) {
				t.Fatalf("frame %d: %v, want %v", i, got, fr)
			}
		}
		if r.read() != nil || r.err != io.EOF {
			t.Fatal(r.err)
		}
	})
}

func TestWriterComments(t *testing.T) {
	n := ng{big}
	f := stream(t, slices.Concat(n.section(), n.face(1, 0), n.packet(0, 1, 1, "a", n.option(optComment, "old"))))
	var b Batch
	if err := f.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter(&out, WriterConfig{Application: "a program", Comments: []string{"first", "second"}, Inputs: f.Inputs})
	long := strings.Repeat("12ü", 20_000) // 80,000 bytes
	for _, comments := range [][]string{{"new", "newer"}, nil, {"", long, "bad \xff and \x00\x00"}} {
		if err := w.WriteFrame(&b.Frames[0], comments...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := stream(t, out.Bytes())
	frames, err := readAll(t, got)
	wantError(t, err, "")
	var have [][]string
	for i := range frames {
		have = append(have, frames[i].Comments())
	}
	if diff := cmp.Diff([][]string{{"old", "new", "newer"}, {"old"}, {"old", "", long[:65534], long[65534:], "bad \uFFFD and "}}, have); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"first", "second"}, got.Inputs()[0].Comments); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(out.Bytes()[:100], []byte("\x04\x00\x09\x00a program\x00\x00\x00")) {
		t.Error("the application is not in the section header")
	}
}

// What is too long for an option is cut between two characters, what is too
// much for a block is left out, and both are counted.
func TestWriterCuts(t *testing.T) {
	var out bytes.Buffer
	name := strings.Repeat("ü", 40_000)
	w := NewWriter(&out, WriterConfig{Inputs: oneInput(Interface{Link: 1, TSResol: 6, Name: name, Filter: name})})
	many := slices.Repeat([]string{strings.Repeat("x", 65_000)}, 300)
	big := &Frame{Data: make([]byte, MaxFrame), Link: 1}
	for _, err := range []error{w.WriteFrame(big), w.WriteFrame(&Frame{Link: 1}, many...), w.WriteFrame(big, many...), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f := stream(t, out.Bytes())
	frames, err := readAll(t, f)
	wantError(t, err, "")
	if len(frames) != 3 {
		t.Fatalf("%d frames", len(frames))
	}
	info := f.Inputs()[0].Interfaces[0]
	if info.Name != name[:65534] || info.Filter != name[:65534] {
		t.Errorf("%d bytes of the name, %d of the filter", len(info.Name), len(info.Filter))
	}
	kept := len(frames[1].Comments()) + len(frames[2].Comments())
	if lost := w.Cut() - 2; kept+int(lost) != 600 || len(frames[1].Comments()) != 274 || len(frames[2].Comments()) != 16 {
		t.Errorf("%d comments kept, %d cut; by frame %d, %d", kept, lost, len(frames[1].Comments()), len(frames[2].Comments()))
	}
	if err := NewWriter(io.Discard, WriterConfig{Inputs: oneInput(Interface{Link: 1})}).WriteFrame(&Frame{Data: make([]byte, MaxFrame+1), Link: 1}); err == nil {
		t.Error("a frame is written that can't be read again")
	}
}

// The largest block that is written is the largest that is read.
func TestWriterLargestBlock(t *testing.T) {
	full := slices.Repeat([]string{strings.Repeat("x", 65_532)}, 271)
	rest := maxBlock - 271*65_536 - enhancedMinimum - 4 // without the end of the options
	for more, cut := range []uint64{0, 1, 1, 1, 1} {
		var out bytes.Buffer
		w := NewWriter(&out, WriterConfig{Inputs: oneInput(Interface{})})
		last := strings.Repeat("x", rest-4+more)
		if err := errors.Join(w.WriteFrame(&Frame{}, append(full, last)...), w.Close()); err != nil || w.Cut() != cut {
			t.Fatalf("%d bytes more: %v, %d cut", more, err, w.Cut())
		}
		f := stream(t, out.Bytes())
		frames, err := readAll(t, f)
		wantError(t, err, "")
		if len(frames) != 1 || len(frames[0].Comments()) != 272-int(cut) {
			t.Errorf("%d bytes more: %d comments", more, len(frames[0].Comments()))
		}
	}
}

// Comments on the file that are too much for one block, or that are known only
// in the end, go on behind the frames.
func TestWriterLateComments(t *testing.T) {
	n := ng{little}
	var content, head []byte
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprint(i, strings.Repeat("x", 60_000)))
		head = append(head, n.option(optComment, want[i])...)
	}
	content = slices.Concat(n.section(head), n.face(1, 0), bytes.Repeat(n.packet(0, 1, 1, "a"), 1000),
		n.section(n.option(optComment, "late")), n.face(1, 0), n.packet(0, 1, 1, "b"))
	file, err := checkRewrite(opener(content))
	if err != nil {
		t.Fatal(err)
	}
	if n := little.Uint32(file[4:]); n > maxSectionText+maxOption {
		t.Errorf("the section header has %d bytes", n)
	}
	f := stream(t, file)
	if _, err := readAll(t, f); err != io.EOF {
		t.Error(err)
	}
	if diff := cmp.Diff(append(want, "late"), f.Inputs()[0].Comments); diff != "" {
		t.Error(diff)
	}
}

func TestWriterStatistics(t *testing.T) {
	number := func(v uint64) *uint64 { return &v }
	inputs := []Input{
		{Interfaces: []Interface{{TSResol: 6, Received: number(10)}, {TSResol: 6, Dropped: number(0)}}, Drops: number(7)},
		{Interfaces: []Interface{{TSResol: 6, Dropped: number(3)}, {TSResol: 6, Received: number(1), Dropped: number(4)}}, Drops: number(7)},
		{Interfaces: []Interface{{TSResol: 6}, {TSResol: 6}}, Drops: number(5)},
		{Interfaces: []Interface{{TSResol: 6}}, Drops: number(0)},
		{Interfaces: []Interface{{TSResol: 6}}},
	}
	var out bytes.Buffer
	w := NewWriter(&out, WriterConfig{Inputs: func() []Input { return inputs }})
	if err := errors.Join(w.WriteFrame(&Frame{Time: 5_000_000, Input: 2, Interface: 1}), w.Close()); err != nil {
		t.Fatal(err)
	}
	f := stream(t, out.Bytes())
	if _, err := readAll(t, f); err != io.EOF {
		t.Error(err)
	}
	var got [][2]*uint64
	for _, info := range f.Inputs()[0].Interfaces {
		got = append(got, [2]*uint64{info.Received, info.Dropped})
	}
	if diff := cmp.Diff([][2]*uint64{{number(10), number(7)}, {nil, number(0)}, {nil, number(3)}, {number(1), number(4)},
		{nil, number(5)}, {}, {nil, number(0)}, {}}, got); diff != "" {
		t.Error(diff)
	}
	if got := f.Inputs()[0].Drops; got == nil || *got != 19 {
		t.Errorf("%v drops in all", got)
	}
	if !bytes.Contains(out.Bytes(), ng{little}.words(0, 0, 5000, isbReceived|8<<16, 10, 0)) {
		t.Error("the statistics' time is not that of the last frame")
	}
}

func TestWriterRefuses(t *testing.T) {
	faces := oneInput(Interface{Link: 1, FCSLen: 4, TSResol: 6})
	good := Frame{Data: []byte("a"), Link: 1, FCSLen: 4}
	for name, change := range map[string]func(*Frame){
		"input": func(f *Frame) { f.Input = 1 }, "no input": func(f *Frame) { f.Input = -1 },
		"interface": func(f *Frame) { f.Interface = 1 }, "no interface": func(f *Frame) { f.Interface = -1 },
		"link": func(f *Frame) { f.Link = 2 }, "FCS": func(f *Frame) { f.FCSLen = -1 },
		"no FCS": func(f *Frame) { f.FCSLen = 0 }, "long FCS": func(f *Frame) { f.FCSLen = 16 },
	} {
		var out bytes.Buffer
		w := NewWriter(&out, WriterConfig{Inputs: faces})
		bad := good
		change(&bad)
		if w.WriteFrame(&good) != nil || w.WriteFrame(&bad) == nil || w.WriteFrame(&good) != nil || w.Close() != nil {
			t.Errorf("%s: not refused, or others with it", name)
		}
		if frames, err := readAll(t, stream(t, out.Bytes())); len(frames) != 2 || err != io.EOF {
			t.Errorf("%s: %d frames, %v", name, len(frames), err)
		}
		if err := w.WriteFrame(&good); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a frame after Close: %v", err)
		}
		if err := w.Flush(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Flush after Close: %v", err)
		}
		before := out.Len()
		if err := w.Close(); err != nil || out.Len() != before {
			t.Errorf("Close after Close: %v", err)
		}
	}
	if NewWriter(io.Discard, WriterConfig{}).WriteFrame(&good) == nil {
		t.Error("a frame of an unknown interface is written")
	}
}

// A file has no more interfaces than the package reads.
func TestWriterInterfaces(t *testing.T) {
	many := make([]Interface, maxInterfaces-1)
	for i := range many {
		many[i] = Interface{FCSLen: -1, TSResol: 6}
	}
	inputs := func() []Input { return []Input{{Interfaces: many}, {Interfaces: many[:3]}} }
	var out bytes.Buffer
	w := NewWriter(&out, WriterConfig{Inputs: inputs})
	for i, f := range []Frame{{Input: 0, Interface: maxInterfaces - 2}, {Input: 1}, {Input: 1, Interface: 1}, {Time: 1}, {Time: -1}, {Interface: 5}} {
		f.FCSLen = -1
		err := w.WriteFrame(&f)
		if fails := i >= 2 && i <= 4; (err != nil) != fails || fails && !errors.Is(err, errInterfaces) {
			t.Errorf("frame %d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil || w.Cut() != 2 {
		t.Errorf("%v, %d cut", err, w.Cut())
	}
	frames, err := readAll(t, stream(t, out.Bytes()))
	if len(frames) != 3 || err != io.EOF {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

// failing takes so many bytes, and then fails or loses the rest.
type failing struct {
	left   int
	silent bool
	err    error
}

func (w *failing) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return len(p), nil
	}
	n := w.left
	w.left = 0
	if w.silent {
		return n, nil
	}
	return n, w.err
}

func TestWriterErrors(t *testing.T) {
	full := errors.New("no space left on device")
	for _, room := range []int{0, 10, 100_000, 150_000, 1_000_000} {
		for _, silent := range []bool{false, true} {
			want := full
			if silent {
				want = io.ErrShortWrite
			}
			out := &failing{left: room, silent: silent, err: full}
			w := NewWriter(out, WriterConfig{Inputs: oneInput(Interface{TSResol: 6})})
			frame := Frame{Data: make([]byte, 1000)}
			var first error
			for range 190 { // 195 KB
				err := w.WriteFrame(&frame)
				if first == nil {
					first = err
				} else if !errors.Is(err, first) {
					t.Errorf("%v after %v", err, first)
				}
			}
			err := w.Close()
			switch {
			case room == 1_000_000:
				if err != nil || first != nil {
					t.Errorf("%v, %v", first, err)
				}
			case !errors.Is(err, want) || first != nil && !errors.Is(first, want) || first == nil && room < 100_000:
				t.Errorf("room for %d: %v from WriteFrame, %v from Close; want %v", room, first, err, want)
			}
			if again := w.Close(); !errors.Is(again, err) {
				t.Errorf("%v, and again %v", err, again)
			}
		}
	}
	// What does not fill the buffer fails in Close, or in Flush.
	w := NewWriter(&failing{err: full}, WriterConfig{Inputs: oneInput(Interface{TSResol: 6})})
	if err := w.WriteFrame(&Frame{}); err != nil {
		t.Error(err)
	}
	if err := w.Flush(); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Error(err)
	}
	w = NewWriter(&failing{err: full}, WriterConfig{})
	if err := w.Close(); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestWriterFlush(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterConfig{Inputs: oneInput(Interface{TSResol: 6})})
	if err := w.Flush(); err != nil || out.Len() != 0 {
		t.Errorf("%v, %d bytes before the first frame", err, out.Len())
	}
	for n := 1; n < 4; n++ {
		if err := errors.Join(w.WriteFrame(&Frame{}), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if frames, err := readAll(t, stream(t, out.Bytes())); len(frames) != n || err != io.EOF {
			t.Errorf("%d frames of %d, %v", len(frames), n, err)
		}
	}
}

func TestWriterDoesNotAllocate(t *testing.T) {
	n := ng{big}
	file := slices.Concat(n.section(), n.face(1, 0), n.face(1, 0, n.option(ifTSResol, "\x89")), n.face(1, 0, n.option(ifTSResol, "\x09")))
	for i := range uint64(BatchFrames) {
		file = append(file, n.packet(uint32(i%3), erfNow*1_000_000+i, 4000, strings.Repeat("x", int(i)), n.option(optComment, "comment"),
			n.option(epbFlags, string(n.words(2<<5|1))))...)
	}
	f := stream(t, file)
	var b Batch
	if err := f.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(io.Discard, WriterConfig{Inputs: f.Inputs})
	comments := []string{"a new comment", "another"}
	write := func() {
		for i := range b.Frames {
			b.Frames[i].Time++ // after some frames the microseconds don't do
			if err := w.WriteFrame(&b.Frames[i], comments...); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	if allocs := testing.AllocsPerRun(100, write); allocs != 0 {
		t.Errorf("%v allocations for %d frames", allocs, BatchFrames)
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	if err := os.WriteFile(path, largePcap(b, 100_000, erfNow), 0o600); err != nil {
		b.Fatal(err)
	}
	f := openFile(b, path, MapAlways)
	var batch Batch
	if err := f.ReadBatch(&batch); err != nil {
		b.Fatal(err)
	}
	w := NewWriter(io.Discard, WriterConfig{Inputs: f.Inputs})
	b.ReportAllocs()
	frames := 0
	for b.Loop() {
		for i := range batch.Frames {
			if err := w.WriteFrame(&batch.Frames[i]); err != nil {
				b.Fatal(err)
			}
		}
		frames += len(batch.Frames)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/packet")
}
