package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// pcap files (draft-ietf-opsawg-pcap, sections 4 and 5). All fields are in the
// byte order of the magic number; the sub-seconds are micro- or nanoseconds.
//
//	                       1                   2                   3
//	   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	  +---------------------------------------------------------------+
//	0 |                         Magic Number                          |
//	  +-------------------------------+-------------------------------+
//	4 |         Major Version         |         Minor Version         |
//	  +-------------------------------+-------------------------------+
//	8 |                           Reserved1                           |
//	12|                           Reserved2                           |
//	16|                            SnapLen                            |
//	  +-------+-+---------------------+-------------------------------+
//	20|FCS len|.|f|                   |            LinkType           |
//	  +-------+-+---------------------+-------------------------------+
//
//	  +---------------------------------------------------------------+
//	0 |                      Timestamp (Seconds)                      |
//	4 |            Timestamp (Microseconds or nanoseconds)            |
//	8 |                    Captured Packet Length                     |
//	12|                    Original Packet Length                     |
//	  +---------------------------------------------------------------+
//	16/                     Packet Data, not padded                   /
//
// Variants: the "modified" libpcap of A. Kuznetzov has 8 more bytes in each
// record header (interface, protocol, packet type); IXIA's lcap has 4 more in
// the file header (the size of all that follows). Up to version 2.3 some
// writers swapped the two lengths.
const (
	pcapMicro    = 0xa1b2c3d4
	pcapNano     = 0xa1b23c4d
	pcapModified = 0xa1b2cd34
	lcapHardware = 0x1c0001ac // nanoseconds
	lcapSoftware = 0x1c0001ab // microseconds

	pcapHeader         = 24
	lcapHeader         = 28
	pcapRecord         = 16
	pcapRecordModified = 24

	pcapFCSPresent = 0x04000000
)

type pcapParser struct {
	header  int // bytes of the file's header
	record  int // bytes of a record's header
	scale   int64
	snapLen uint32
	swap    bool // the file is big-endian
	// unordered says that the shorter of the two lengths is the captured one,
	// whichever comes first.
	unordered bool
	fcsLen    int8
	link      LinkType
	resol     uint8
	// Of files appended to one another: what those before this one said of
	// their interface, and the number of this one's.
	before []Interface
	face   int32
}

// maxAppended bounds how many files one may be made of, and with it what is
// kept of each.
const maxAppended = 1 << 16

// newPcapParser takes the first four bytes of a file. It is nil if they are not
// pcap's; the file's header is parsed when it is all there, by parseHeader.
func newPcapParser(head []byte) *pcapParser {
	magic := binary.LittleEndian.Uint32(head)
	p := &pcapParser{header: pcapHeader, record: pcapRecord, scale: 1000, resol: 6}
	for range 2 {
		switch magic {
		case pcapNano:
			p.scale, p.resol = 1, 9
			return p
		case pcapMicro:
			return p
		case pcapModified:
			p.record = pcapRecordModified
			return p
		case lcapHardware:
			p.header, p.scale, p.resol = lcapHeader, 1, 9
			return p
		case lcapSoftware:
			p.header = lcapHeader
			return p
		}
		magic, p.swap = bits.ReverseBytes32(magic), true
	}
	return nil
}

// parseHeader takes the p.header bytes at the file's start and says what is
// wrong with them, if anything.
func (p *pcapParser) parseHeader(h []byte) (reason string) {
	major, minor := order16(h[4:], p.swap), order16(h[6:], p.swap)
	if major != 2 {
		return fmt.Sprintf("pcap version %d.%d is not known, only 2.x is", major, minor)
	}
	p.unordered = minor <= 3
	p.snapLen = order32(h[16:], p.swap)
	network := order32(h[20:], p.swap)
	p.link = LinkType(network)
	p.fcsLen = -1
	if network&pcapFCSPresent != 0 {
		p.fcsLen = int8(network >> 28 * 2)
	}
	return ""
}

func (p *pcapParser) describe(in *Input) {
	in.Interfaces = append(append([]Interface(nil), p.before...), Interface{
		Link: p.link, SnapLen: p.snapLen, FCSLen: p.fcsLen, TSResol: p.resol,
	})
}

// emptyFrame says whether a record header without any length is that of a
// frame. If not, it says in f what is wrong with it, or that more of it must be
// seen, or it has taken over the header of another file: "cat a.pcap b.pcap"
// makes one of two.
func (p *pcapParser) emptyFrame(rest []byte, f *feed) bool {
	if order32(rest, false) == 0 && order32(rest[4:], false) == 0 {
		f.damage("zero bytes where a record should be: the end of the file was never written")
		return false
	}
	next := newPcapParser(rest)
	if next == nil || order16(rest[4:], next.swap) != 2 {
		return true
	}
	if len(rest) < next.header {
		f.need = next.header
		return false
	}
	if next.parseHeader(rest) != "" {
		return true
	}
	if len(p.before) == maxAppended {
		f.damage("more than ", maxAppended, " files appended to one another")
		return false
	}
	var in Input
	p.describe(&in)
	next.before, next.face = in.Interfaces, p.face+1
	*p = *next
	return false
}

func (p *pcapParser) parse(buf []byte, f *feed) {
	for p.ordinary(buf, f); f.count < len(f.frames) && p.odd(buf[f.used:], f); {
		p.ordinary(buf, f)
	}
}

// ordinary is the hot loop: it takes records until one is not as nearly all are. What
// does not change from record to record is read through p and f each time, because as
// local variables it would push what does out of the registers, and each header must
// wait for the length in the one before. A fault in the file's memory may end it at any
// record, and those before are taken.
func (p *pcapParser) ordinary(buf []byte, f *feed) {
	frames, rest := f.frames, buf[f.used:]
	for i := f.count; i < len(frames) && len(rest) >= p.record; i++ {
		h := (*[pcapRecord]byte)(rest)
		captured := binary.LittleEndian.Uint32(h[8:])
		orig := binary.LittleEndian.Uint32(h[12:])
		sec := binary.LittleEndian.Uint32(h[0:])
		sub := binary.LittleEndian.Uint32(h[4:])
		if p.swap {
			sec, sub = bits.ReverseBytes32(sec), bits.ReverseBytes32(sub)
			captured, orig = bits.ReverseBytes32(captured), bits.ReverseBytes32(orig)
		}
		size := p.record + int(captured)
		if captured > orig || captured-1 >= MaxFrame || size > len(rest) {
			break
		}
		fr := &frames[i]
		fr.Time = int64(sec)*nsPerSecond + int64(sub)*p.scale
		fr.Number = f.number + uint64(i) + 1
		fr.Offset = f.base + int64(f.used)
		fr.OrigLen = orig
		fr.Input = f.input
		fr.Interface = p.face
		fr.Link = p.link
		fr.FCSLen = p.fcsLen
		fr.options = nil
		fr.Data = rest[p.record:size:size]
		if p.link == LinkERF {
			p.ownTime(fr)
		}
		rest = rest[size:]
		f.used += size
		f.count = i + 1
	}
}

// odd takes a record of which ordinary does not know what it is, with all that is behind
// it. It returns false where there is no more to take.
func (p *pcapParser) odd(rest []byte, f *feed) bool {
	if len(rest) < p.record {
		f.need = p.record
		return false
	}
	captured, orig := order32(rest[8:], p.swap), order32(rest[12:], p.swap)
	if captured > orig {
		if p.unordered {
			captured, orig = orig, captured
		} else {
			orig = captured
		}
	}
	if orig == 0 && captured == 0 && !p.emptyFrame(rest, f) {
		if f.reason != "" || f.need != 0 {
			return false
		}
		f.used += p.header // another file was appended to this one
		return true
	}
	if captured > MaxFrame {
		f.damage("the record claims ", captured, " captured bytes, more than any frame has")
		return false
	}
	size := p.record + int(captured)
	if size > len(rest) {
		f.need = size
		return false
	}
	fr := &f.frames[f.count]
	*fr = Frame{
		Data: rest[p.record:size:size], Time: int64(order32(rest, p.swap))*nsPerSecond + int64(order32(rest[4:], p.swap))*p.scale,
		Number: f.number + uint64(f.count) + 1, Offset: f.base + int64(f.used), OrigLen: orig,
		Input: f.input, Interface: p.face, Link: p.link, FCSLen: p.fcsLen,
	}
	if p.link == LinkERF {
		p.ownTime(fr)
	}
	f.used += size
	f.count++
	return true
}

// ownTime takes over the finer time that is in an ERF frame's own header.
func (p *pcapParser) ownTime(fr *Frame) {
	if len(fr.Data) >= erfHeader {
		fr.Time = finer(fr.Time, erfTime(binary.LittleEndian.Uint64(fr.Data)))
	}
}

// finer is the time that an ERF frame's own header has, as long as that is the
// record's to within its microsecond. Otherwise somebody moved the record in
// time, and meant it.
func finer(record, header int64) int64 {
	if d := header - record; d >= -1000 && d <= 1000 {
		return header
	}
	return record
}
