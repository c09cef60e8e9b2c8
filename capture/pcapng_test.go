package capture

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPcapNG(t *testing.T) {
	for _, o := range []byteOrder{little, big} {
		n := ng{o}
		head := slices.Concat(n.section(), n.face(LinkEthernet, 0))
		at := int64(len(head))
		for _, c := range []struct {
			name   string
			file   []byte
			damage string
			want   []want
		}{
			{"enhanced", slices.Concat(head, n.packet(0, 1_000_001, 99, "hello")), "",
				[]want{{1_000_001_000, "hello", 99, LinkEthernet, -1, 0, at, nil}}},
			{"original too short", slices.Concat(head, n.packet(0, 1, 2, "hello")), "",
				[]want{{1000, "hello", 5, LinkEthernet, -1, 0, at, nil}}},
			{"empty frame", slices.Concat(head, n.packet(0, 1, 0, "")), "",
				[]want{{1000, "", 0, LinkEthernet, -1, 0, at, nil}}},
			{"obsolete", slices.Concat(head, n.oldPacket(0, 3, 7, 99, "hello", n.option(optComment, "old"))), "",
				[]want{{7000, "hello", 99, LinkEthernet, -1, 0, at, []string{"old"}}}},
			{"simple", slices.Concat(n.section(), n.face(LinkRaw, 4), n.packet(0, 5, 1, "x"),
				n.block(blockSimple, n.words(6), []byte("abcd")), n.block(blockSimple, n.words(2), []byte("ab"))), "",
				[]want{{5000, "x", 1, LinkRaw, -1, 0, at, nil}, {5000, "abcd", 6, LinkRaw, -1, 0, at + 36, nil},
					{5000, "ab", 2, LinkRaw, -1, 0, at + 56, nil}}},
			{"simple without limit", slices.Concat(head, n.block(blockSimple, n.words(6), []byte("abcdef"))), "",
				[]want{{0, "abcdef", 6, LinkEthernet, -1, 0, at, nil}}},
			{"comments", slices.Concat(head, n.packet(0, 0, 3, "abc", n.option(optComment, "one"), n.option(9, "?"),
				n.option(optComment, "two\x00"), n.option(optComment, "bad \xff"), n.option(optEnd, ""), n.option(optComment, "hidden"))), "",
				[]want{{0, "abc", 3, LinkEthernet, -1, 0, at, []string{"one", "two", "bad \uFFFD"}}}},
			{"damaged options", slices.Concat(head, n.packet(0, 0, 3, "abc", n.option(optComment, "one"), n.halves(optComment, 100))), "",
				[]want{{0, "abc", 3, LinkEthernet, -1, 0, at, []string{"one"}}}},
			{"FCS", slices.Concat(n.section(), n.face(LinkEthernet, 0, n.option(ifFCSLen, "\x04")), n.packet(0, 0, 1, "a"),
				n.packet(0, 0, 1, "b", n.option(epbFlags, string(n.words(2<<5|1)))),
				n.packet(0, 0, 1, "c", n.option(epbFlags, string(n.words(1))))), "",
				[]want{{0, "a", 1, LinkEthernet, 4, 0, at + 8, nil}, {0, "b", 1, LinkEthernet, 2, 0, at + 44, nil},
					{0, "c", 1, LinkEthernet, 4, 0, at + 88, nil}}},
			{"several interfaces", slices.Concat(head, n.face(LinkSLL2, 0, n.option(ifTSResol, "\x09")),
				n.packet(1, 5, 1, "a"), n.face(LinkInfiniBand, 0), n.packet(2, 5, 1, "b"), n.packet(0, 5, 1, "c")), "",
				[]want{{5, "a", 1, LinkSLL2, -1, 1, at + 28, nil}, {5000, "b", 1, LinkInfiniBand, -1, 2, at + 84, nil},
					{5000, "c", 1, LinkEthernet, -1, 0, at + 120, nil}}},
			{"unknown blocks", slices.Concat(head, n.block(0xbad, []byte("whatever")), n.block(4, nil), n.packet(0, 0, 1, "a"), n.block(10, nil)), "",
				[]want{{0, "a", 1, LinkEthernet, -1, 0, at + 32, nil}}},
			{"no interface", slices.Concat(head, n.packet(1, 0, 1, "a")),
				fmt.Sprintf("standard input: damaged at byte %d: a frame of interface 1, which was never described", at), nil},
			{"no interface in this section", slices.Concat(head, n.section(), n.packet(0, 0, 1, "a")),
				fmt.Sprintf("standard input: damaged at byte %d: a frame of interface 0, which was never described", at+28), nil},
			{"simple without interface", slices.Concat(n.section(), n.block(blockSimple, n.words(1), []byte("a"))),
				"standard input: damaged at byte 28: a frame of interface 0, which was never described", nil},
			{"too long for its block", slices.Concat(head, n.block(blockEnhanced, n.words(0, 0, 0, 9, 9), []byte("12345678"))),
				fmt.Sprintf("standard input: damaged at byte %d: a frame of 9 bytes in a block with room for 8", at), nil},
			{"too short a block", slices.Concat(head, n.block(blockEnhanced, n.words(0, 0, 0, 9))),
				fmt.Sprintf("standard input: damaged at byte %d: a packet block of 28 bytes is shorter than its fields", at), nil},
			{"length of nothing", slices.Concat(head, n.words(9, 8, 8)),
				fmt.Sprintf("standard input: damaged at byte %d: a block of 8 bytes is shorter than any can be", at), nil},
			{"huge packet block", slices.Concat(head, n.words(blockEnhanced, 0x7ffffffc, 0)),
				fmt.Sprintf("standard input: damaged at byte %d: a block of 2147483644 bytes is longer than any frame needs", at), nil},
			{"lengths differ", slices.Concat(head, n.packet(0, 0, 1, "a")[:32], n.words(40)),
				fmt.Sprintf("standard input: damaged at byte %d: a block's two lengths differ: 36 and 36", at), nil},
			{"no magic", slices.Concat(n.words(blockSection, 28, 0, 0, 0, 0, 28)),
				"standard input: damaged at byte 0: a section header without its byte-order magic", nil},
			{"version 2", n.block(blockSection, n.words(ngMagic), n.halves(2, 0), n.words(0, 0)),
				"standard input: damaged at byte 0: pcapng version 2 is not known, only 1 is", nil},
		} {
			t.Run(fmt.Sprint(c.name, " ", o), func(t *testing.T) {
				if c.name == "lengths differ" {
					c.file[len(c.file)-4], c.file[len(c.file)-1] = 36, 36
					c.damage = strings.Replace(c.damage, "36 and 36", "36 and 603979812", 1)
				}
				expect(t, stream(t, c.file), c.damage, c.want...)
			})
		}
	}
}

// Some writers leave the padding out of the length, and put it there.
func TestPcapNGUnpaddedLength(t *testing.T) {
	n := ng{little}
	odd := n.packet(0, 0, 5, "hello") // 40 bytes
	odd[4], odd[len(odd)-4] = 37, 37
	unknown := n.block(0xbad, make([]byte, 300<<10))
	length := uint32(len(unknown) - 2)
	little.PutUint32(unknown[4:], length)
	little.PutUint32(unknown[len(unknown)-4:], length)
	file := slices.Concat(n.section(), n.face(1, 0), odd, unknown, odd)
	expect(t, stream(t, file), "", want{0, "hello", 5, 1, -1, 0, 48, nil},
		want{0, "hello", 5, 1, -1, 0, int64(88 + len(unknown)), nil})
}

func TestPcapNGSections(t *testing.T) {
	l, b := ng{little}, ng{big}
	file := slices.Concat(
		l.section(l.option(optComment, "first")), l.face(LinkEthernet, 0), l.packet(0, 1, 1, "a"),
		b.section(b.option(optComment, "second")), b.face(LinkRaw, 0, b.option(ifTSResol, "\x03")), b.face(LinkSLL, 0),
		b.packet(0, 1, 1, "b"), b.packet(1, 1, 1, "c"),
		l.section(), l.face(LinkNull, 0), l.packet(0, 1, 1, "d"))
	f := stream(t, file)
	frames, err := readAll(t, f)
	wantError(t, err, "")
	var got []string
	for _, fr := range frames {
		got = append(got, fmt.Sprint(string(fr.Data), " ", fr.Interface, " ", fr.Link, " ", fr.Time))
	}
	if diff := cmp.Diff([]string{"a 0 EN10MB 1000", "b 1 RAW 1000000", "c 2 LINUX_SLL 1000", "d 3 NULL 1000"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"first", "second"}, f.Inputs()[0].Comments); diff != "" {
		t.Error(diff)
	}
}

func TestPcapNGInterface(t *testing.T) {
	for _, o := range []byteOrder{little, big} {
		n := ng{o}
		f := stream(t, slices.Concat(n.section(), n.face(LinkEthernet, 128,
			n.option(ifName, "mlx5_0"), n.option(ifDescription, "port\x00"), n.option(ifMAC, "\x02\x00\x00\x00\x00\x01"),
			n.option(ifSpeed, n.quad(100_000_000_000)), n.option(ifTSResol, "\x89"), n.option(ifFilter, "\x00udp"),
			n.option(ifOS, "Linux"), n.option(ifHardware, "ConnectX"), n.option(ifTSOffset, n.quad(77)),
			n.option(ifFCSLen, "\x04"), n.option(optComment, "c1"), n.option(optComment, "c2")),
			n.face(LinkRaw, 0, n.option(ifFilter, "\x01\x00\x00\x00"), n.option(ifMAC, "short"), n.option(ifSpeed, "x")),
			n.packet(0, 512, 1, "a"),
			n.statistics(0, n.option(isbReceived, n.quad(5)), n.option(isbDropped, n.quad(1))),
			n.statistics(0, n.option(isbReceived, n.quad(10)), n.option(isbDropped, n.quad(2)), n.option(isbOSDrop, n.quad(3))),
			n.statistics(9, n.option(isbDropped, n.quad(1000))),
			n.block(blockStatistics, n.words(0))))
		frames, err := readAll(t, f)
		wantError(t, err, "")
		if len(frames) != 1 || frames[0].Time != 78*nsPerSecond || frames[0].FCSLen != 4 {
			t.Errorf("frames %+v", frames)
		}
		received, dropped := uint64(10), uint64(5)
		if diff := cmp.Diff([]Interface{
			{Link: LinkEthernet, SnapLen: 128, FCSLen: 4, Name: "mlx5_0", Description: "port", Hardware: "ConnectX",
				OS: "Linux", Filter: "udp", MAC: [6]byte{2, 0, 0, 0, 0, 1}, Speed: 100_000_000_000, TSResol: 0x89,
				TSOffset: 77, Comments: []string{"c1", "c2"}, Received: &received, Dropped: &dropped},
			{Link: LinkRaw, FCSLen: -1, TSResol: 6},
		}, f.Inputs()[0].Interfaces); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPcapNGDrops(t *testing.T) {
	n := ng{little}
	head := slices.Concat(n.section(), n.face(1, 0), n.face(1, 0))
	frame := n.packet(0, 0, 1, "a")
	lost := func(face uint32, k uint64) []byte {
		return n.packet(face, 0, 1, "a", n.option(epbDropCount, n.quad(k)))
	}
	number := func(v uint64) *uint64 { return &v }
	for _, c := range []struct {
		name string
		file []byte
		want *uint64
	}{
		{"nothing said", frame, nil},
		{"none", lost(0, 0), number(0)},
		{"frame by frame", slices.Concat(lost(0, 2), frame, lost(0, 3), lost(1, 4)), number(9)},
		{"obsolete", slices.Concat(n.oldPacket(0, 2, 0, 1, "a"), n.oldPacket(1, 0xffff, 0, 1, "a")), number(2)},
		{"statistics win", slices.Concat(lost(0, 2), lost(1, 4), n.statistics(0, n.option(isbDropped, n.quad(7)))), number(11)},
		{"statistics without drops", slices.Concat(lost(0, 2), n.statistics(0, n.option(isbReceived, n.quad(7)))), number(2)},
		{"too many to count", slices.Concat(lost(0, 1<<63), lost(0, 1<<63), lost(1, 1)), number(1<<64 - 1)},
	} {
		f := stream(t, slices.Concat(head, c.file))
		if _, err := readAll(t, f); err != io.EOF {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, f.Inputs()[0].Drops); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A block that is not needed is skipped without being held, however large it
// is and however it comes.
func TestPcapNGLargeUnknownBlock(t *testing.T) {
	n := ng{big}
	const size = 3<<30 + 12
	head := slices.Concat(n.section(), n.face(1, 0), n.packet(0, 0, 1, "a"), n.words(0xbad, size))
	tail := slices.Concat(n.words(size), n.packet(0, 0, 1, "b"))
	open := func(zeroes int64) (*File, *Batch) {
		f, err := Open("-", Config{Stdin: io.MultiReader(bytes.NewReader(head),
			io.LimitReader(nought{}, zeroes), bytes.NewReader(tail))})
		if err != nil {
			t.Fatal(err)
		}
		return f, new(Batch)
	}
	f, b := open(size - 12)
	for _, data := range []string{"a", "b"} {
		if err := f.ReadBatch(b); err != nil || len(b.Frames) != 1 || string(b.Frames[0].Data) != data {
			t.Fatalf("want frame %s, got %v, %v", data, b.Frames, err)
		}
	}
	if got := b.Frames[0].Offset; got != 84+size {
		t.Errorf("the frame after the block is at %d", got)
	}
	if err := f.ReadBatch(b); err != io.EOF {
		t.Errorf("%v at the end", err)
	}
	if cap(b.buf) > maxBuffer {
		t.Errorf("the block made a buffer of %d", cap(b.buf))
	}

	f, b = open(1 << 20) // cut in the middle
	if err := f.ReadBatch(b); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.ReadBatch(b), "standard input: damaged at byte 84: the file ends in the middle of a record")

	f, b = open(size - 8) // its trailer is elsewhere
	if err := f.ReadBatch(b); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.ReadBatch(b), "standard input: damaged at byte 84: a block's two lengths differ: 3221225484 and 0")
}

// nought is zeroes without end.
type nought struct{}

func (nought) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The same from a file, where it is skipped by seeking or in the mapping.
func TestPcapNGSkipInFile(t *testing.T) {
	n := ng{little}
	file := slices.Concat(n.section(), n.face(1, 0), n.packet(0, 0, 1, "a"), n.block(0xbad, make([]byte, 2<<20)), n.packet(0, 0, 1, "b"))
	for _, policy := range []MapPolicy{MapNever, MapAlways} {
		for _, cut := range []int{0, 36, 40, 1 << 20} {
			f, err := Open(writeFile(t, "f", file[:len(file)-cut]), Config{Map: policy})
			if err != nil {
				t.Fatal(err)
			}
			frames, err := readAll(t, f)
			if cut >= 40 {
				wantError(t, err, f.name+": damaged at byte 84: the file ends in the middle of a record")
			} else {
				wantError(t, err, "")
			}
			if want := 2 - min(cut, 1); len(frames) != want {
				t.Errorf("%d frames, want %d", len(frames), want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPcapNGBounds(t *testing.T) {
	n := ng{little}
	many := bytes.Repeat(n.face(1, 0), maxInterfaces)
	file := slices.Concat(n.section(), many)
	expect(t, stream(t, file), "")
	expect(t, stream(t, append(file, n.face(1, 0)...)),
		fmt.Sprintf("standard input: damaged at byte %d: more than 65536 interfaces", len(file)))

	name := n.face(1, 0, n.option(ifName, strings.Repeat("x", 65000)))
	f := stream(t, slices.Concat(n.section(), bytes.Repeat(name, 1000)))
	if _, err := readAll(t, f); err != io.EOF {
		t.Error(err)
	}
	kept := 0
	for _, face := range f.Inputs()[0].Interfaces {
		kept += len(face.Name)
	}
	if kept > maxText || kept < maxText/2 {
		t.Errorf("%d bytes of names kept", kept)
	}
}
