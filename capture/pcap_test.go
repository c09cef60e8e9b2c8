package capture

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestPcapVariants(t *testing.T) {
	for _, v := range []struct {
		name       string
		magic      uint32
		minor      uint16
		network    uint32
		header     int64
		record     int64
		scale      int64
		link       LinkType
		fcs        int8
		firstCap   [2]uint32 // the lengths of the two records as they stand
		secondCap  [2]uint32
		secondOrig uint32
	}{
		{"microseconds", pcapMicro, 4, 1, 24, 16, 1000, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"nanoseconds", pcapNano, 4, 1, 24, 16, 1, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"modified", pcapModified, 4, 113, 24, 24, 1000, LinkSLL, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"lcap hardware", lcapHardware, 4, 1, 28, 16, 1, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"lcap software", lcapSoftware, 4, 1, 28, 16, 1000, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"swapped lengths", pcapMicro, 2, 1, 24, 16, 1000, LinkEthernet, -1, [2]uint32{60, 3}, [2]uint32{4, 9}, 9},
		{"perhaps swapped", pcapMicro, 3, 1, 24, 16, 1000, LinkEthernet, -1, [2]uint32{60, 3}, [2]uint32{4, 9}, 9},
		{"original too short", pcapMicro, 4, 1, 24, 16, 1000, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 1}, 4},
		{"FCS of 4", pcapMicro, 4, 0x24000001, 24, 16, 1000, LinkEthernet, 4, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"FCS of 0", pcapMicro, 4, 0x04000001, 24, 16, 1000, LinkEthernet, 0, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"FCS of 30", pcapMicro, 4, 0xf4000114, 24, 16, 1000, LinkSLL2, 30, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
		{"FCS bits without their flag", pcapMicro, 4, 0x20000001, 24, 16, 1000, LinkEthernet, -1, [2]uint32{3, 60}, [2]uint32{4, 4}, 4},
	} {
		for _, o := range []byteOrder{little, big} {
			t.Run(fmt.Sprint(v.name, " ", o), func(t *testing.T) {
				m := pcapMaker{o, v.magic, v.minor, v.network}
				file := append(m.header(), m.record(4294967295, 999999, v.firstCap[0], v.firstCap[1], "abc")...)
				file = append(file, m.record(1, 4294967295, v.secondCap[0], v.secondCap[1], "defg")...)
				expect(t, stream(t, file), "",
					want{4294967295*nsPerSecond + 999999*v.scale, "abc", 60, v.link, v.fcs, 0, v.header, nil},
					want{nsPerSecond + 4294967295*v.scale, "defg", v.secondOrig, v.link, v.fcs, 0, v.header + v.record + 3, nil})
			})
		}
	}
}

func TestPcapLinkTypes(t *testing.T) {
	for _, link := range []LinkType{
		LinkNull, LinkEthernet, LinkRawBSD, LinkRawOpenBSD, LinkRaw, LinkLoop, LinkSLL, LinkERF,
		LinkIPv4, LinkIPv6, LinkIPoIB, LinkInfiniBand, LinkSLL2, 65535,
	} {
		frames, _ := readAll(t, stream(t, pcapOf(link, 1)))
		if len(frames) != 1 || frames[0].Link != link {
			t.Errorf("link type %v is read as %v", link, frames)
		}
	}
}

func TestPcapDamage(t *testing.T) {
	m := pcapMaker{little, pcapMicro, 4, 1}
	good := append(m.header(), m.record(1, 2, 3, 3, "abc")...)
	first := want{nsPerSecond + 2000, "abc", 3, LinkEthernet, -1, 0, 24, nil}
	huge := m.record(1, 2, MaxFrame+1, MaxFrame+1, "")
	expect(t, stream(t, append(bytes.Clone(good), huge...)),
		"standard input: damaged at byte 43: the record claims 16777217 captured bytes, more than any frame has", first)
	expect(t, stream(t, append(bytes.Clone(good), m.record(1, 2, 4, 4, "abc")...)),
		"standard input: damaged at byte 43: the file ends in the middle of a record", first)
	expect(t, stream(t, good[:20]),
		"standard input: damaged at byte 0: the file ends in its header, after 20 of 24 bytes")
	old := bytes.Clone(good)
	old[4] = 1
	expect(t, stream(t, old), "standard input: damaged at byte 0: pcap version 1.4 is not known, only 2.x is")
}

// A length field is not trusted: only what arrives is made room for.
func TestPcapLargeRecord(t *testing.T) {
	m := pcapMaker{little, pcapMicro, 4, 1}
	large := string(bytes.Repeat([]byte("0123456789abcde\n"), MaxFrame/16))
	file := append(m.header(), m.record(1, 0, 3, 3, "abc")...)
	file = append(file, m.record(2, 0, MaxFrame, MaxFrame, large)...)
	file = append(file, m.record(3, 0, 3, 3, "def")...)
	frames, err := readAll(t, stream(t, file))
	wantError(t, err, "")
	if len(frames) != 3 || string(frames[1].Data) != large || string(frames[2].Data) != "def" {
		t.Fatal("the large record did not come through whole")
	}

	f := stream(t, append(m.header(), m.record(1, 0, MaxFrame, MaxFrame, "abc")...))
	var b Batch
	if err := f.ReadBatch(&b); err == nil || cap(b.buf) > 2*firstRead {
		t.Errorf("%v; a record of 3 bytes made a buffer of %d", err, cap(b.buf))
	}
}

// An ERF frame has a finer time than the record that it is in.
func TestPcapERFTime(t *testing.T) {
	m := pcapMaker{little, pcapMicro, 4, uint32(LinkERF)}
	frame := string(erfRecord(erfNow, 1<<31+1000, 21, erfVarying, 0, 8, "12345678"))
	record := func(sec, sub uint32, data string) []byte {
		return m.record(sec, sub, uint32(len(data)), uint32(len(data)), data)
	}
	expect(t, stream(t, slices.Concat(m.header(),
		record(erfNow, 500_000, frame), record(erfNow+1, 500_000, frame), record(erfNow, 500_000, frame[:8]))), "",
		want{erfNow*nsPerSecond + 500_000_233, frame, 24, LinkERF, -1, 0, 24, nil},
		want{(erfNow+1)*nsPerSecond + 500_000_000, frame, 24, LinkERF, -1, 0, 64, nil},
		want{erfNow*nsPerSecond + 500_000_000, frame[:8], 8, LinkERF, -1, 0, 104, nil})
}

// A tail of zeroes is what a crash or a full disk leaves, and no frames.
func TestPcapZeroTail(t *testing.T) {
	m := pcapMaker{little, pcapMicro, 4, 1}
	file := append(m.header(), m.record(1, 0, 3, 3, "abc")...)
	first := want{nsPerSecond, "abc", 3, LinkEthernet, -1, 0, 24, nil}
	const reason = "standard input: damaged at byte 43: zero bytes where a record should be: the end of the file was never written"
	expect(t, stream(t, append(file, make([]byte, 4096)...)), reason, first)
	expect(t, stream(t, append(file, make([]byte, 16)...)), reason, first)
	// An empty frame at another time is a frame.
	empty := append(bytes.Clone(file), m.record(2, 0, 0, 0, "")...)
	expect(t, stream(t, empty), "", first, want{2 * nsPerSecond, "", 0, LinkEthernet, -1, 0, 43, nil})
}

// Files that were appended to one another are read one after the other, each
// with its own link type, byte order and time unit.
func TestPcapAppended(t *testing.T) {
	a := pcapMaker{little, pcapMicro, 4, 1}
	b := pcapMaker{big, pcapNano, 4, 113}
	file := slices.Concat(a.header(), a.record(1, 5, 3, 3, "abc"), b.header(), b.record(2, 7, 2, 2, "de"), a.header(), a.record(3, 9, 1, 1, "f"))
	all := []want{
		{nsPerSecond + 5000, "abc", 3, LinkEthernet, -1, 0, 24, nil},
		{2*nsPerSecond + 7, "de", 2, LinkSLL, -1, 1, 24 + 19 + 24, nil},
		{3*nsPerSecond + 9000, "f", 1, LinkEthernet, -1, 2, 24 + 19 + 24 + 18 + 24, nil},
	}
	expect(t, stream(t, file), "", all...)
	for cut := 24 + 19 + 1; cut < 24+19+24; cut++ { // in the second header
		f := stream(t, file[:cut])
		frames, err := readAll(t, f)
		if len(frames) != 1 || err == io.EOF {
			t.Errorf("cut at %d: %d frames, %v", cut, len(frames), err)
		}
	}
}
