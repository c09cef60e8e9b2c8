package capture

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The blocks that a Writer writes, as they are drawn in pcapng.go, and their
// options, as they are drawn in options.go.
const (
	shbApplication = 4

	// maxOption is the most that an option's 16-bit length can say.
	maxOption = math.MaxUint16
	// blockRest is what still comes after a block's last comment: the end of
	// its options and its length.
	blockRest = 4 + 4
)

// section writes a section header with as many of the pending comments as it
// should hold.
func (w *Writer) section() {
	start := len(w.buf)
	b := appendBlock(w.buf, blockSection)
	b = binary.LittleEndian.AppendUint32(b, ngMagic)
	b = binary.LittleEndian.AppendUint16(b, 1) // version 1.0
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint64(b, math.MaxUint64) // length not known
	options := len(b)
	b = w.appendText(b, shbApplication, "", w.cfg.Application)
	for len(w.pending) > 0 && len(b)-start < maxSectionText {
		b = w.appendComments(b, start, w.pending[:1])
		w.pending = w.pending[1:]
	}
	w.buf = sealBlock(b, start, options)
}

// describeInterface writes an Interface Description Block and returns the
// number that it has.
func (w *Writer) describeInterface(info *Interface) uint32 {
	start := len(w.buf)
	b := appendBlock(w.buf, blockInterface)
	b = binary.LittleEndian.AppendUint16(b, uint16(info.Link))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, info.SnapLen)
	options := len(b)
	b = w.appendText(b, ifName, "", info.Name)
	b = w.appendText(b, ifDescription, "", info.Description)
	if info.MAC != [6]byte{} {
		b = appendOptionHeader(b, ifMAC, len(info.MAC))
		b = appendPadding(append(b, info.MAC[:]...))
	}
	if info.Speed != 0 {
		b = appendNumber(b, ifSpeed, info.Speed)
	}
	b = appendOptionHeader(b, ifTSResol, 1)
	b = appendPadding(append(b, info.TSResol))
	b = w.appendText(b, ifFilter, "\x00", info.Filter)
	b = w.appendText(b, ifOS, "", info.OS)
	if info.FCSLen >= 0 {
		b = appendOptionHeader(b, ifFCSLen, 1)
		b = appendPadding(append(b, byte(info.FCSLen)))
	}
	if info.TSOffset != 0 {
		b = appendNumber(b, ifTSOffset, uint64(info.TSOffset))
	}
	b = w.appendText(b, ifHardware, "", info.Hardware)
	b = w.appendComments(b, start, info.Comments)
	w.buf = sealBlock(b, start, options)
	w.interfaces++
	if len(w.buf) >= flushFrom {
		_ = w.flush() // keeps its error
	}
	return w.interfaces - 1
}

// statistics writes what an input counted, an Interface Statistics Block for
// each interface that there are figures of. Their time is that of the latest
// frame.
func (w *Writer) statistics(in *Input, done *writtenInput) {
	rest := dropsElsewhere(in)
	for j := range done.interfaces {
		info, face := &in.Interfaces[j], &done.interfaces[j]
		dropped := info.Dropped
		if dropped == nil {
			dropped, rest = rest, nil
		}
		if info.Received == nil && dropped == nil {
			continue
		}
		start := len(w.buf)
		b := appendBlock(w.buf, blockStatistics)
		b = binary.LittleEndian.AppendUint32(b, face.id)
		ts, _ := face.clock.stamp(w.last) // to within the resolution
		b = appendStamp(b, ts)
		options := len(b)
		if info.Received != nil {
			b = appendNumber(b, isbReceived, *info.Received)
		}
		if dropped != nil {
			b = appendNumber(b, isbDropped, *dropped)
		}
		w.buf = sealBlock(b, start, options)
		if len(w.buf) >= flushFrom {
			_ = w.flush() // keeps its error
		}
	}
}

// dropsElsewhere is what the input tells of drops beyond those of its
// interfaces, nil if that is nothing.
func dropsElsewhere(in *Input) *uint64 {
	if in.Drops == nil {
		return nil
	}
	var sum uint64
	told := false
	for i := range in.Interfaces {
		if d := in.Interfaces[i].Dropped; d != nil {
			sum, told = addSaturating(sum, *d), true
		}
	}
	rest := *in.Drops - min(sum, *in.Drops)
	if told && rest == 0 {
		return nil
	}
	return &rest
}

// appendBlock begins a block, sealBlock ends it. Blocks are multiples of 4
// bytes, and the buffer holds nothing else, so that padding to 4 can go by the
// buffer's length.
func appendBlock(b []byte, kind uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(b, 0, 0, 0, 0) // its length, by sealBlock
}

// sealBlock ends the block at start, whose options begin at options.
func sealBlock(b []byte, start, options int) []byte {
	if len(b) > options {
		b = appendOptionHeader(b, optEnd, 0)
	}
	total := uint32(len(b) - start + 4)
	binary.LittleEndian.PutUint32(b[start+4:], total)
	return binary.LittleEndian.AppendUint32(b, total)
}

func appendPadding(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendStamp appends a block's time stamp, the upper half first.
func appendStamp(b []byte, ts uint64) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(ts>>32))
	return binary.LittleEndian.AppendUint32(b, uint32(ts))
}

func appendOptionHeader(b []byte, code uint16, n int) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	return binary.LittleEndian.AppendUint16(b, uint16(n))
}

func appendNumber(b []byte, code uint16, v uint64) []byte {
	b = appendOptionHeader(b, code, 8)
	return binary.LittleEndian.AppendUint64(b, v)
}

// appendText appends prefix and s as one option, cut to what one can hold, or
// nothing if s is empty.
func (w *Writer) appendText(b []byte, code uint16, prefix, s string) []byte {
	s = text([]byte(s))
	if s == "" {
		return b
	}
	n := textLength(s, maxOption-len(prefix))
	if n < len(s) {
		w.cut++
	}
	b = appendOptionHeader(b, code, len(prefix)+n)
	b = append(b, prefix...)
	return appendPadding(append(b, s[:n]...))
}

// appendComments appends comments to the block at start.
func (w *Writer) appendComments(b []byte, start int, comments []string) []byte {
	for _, c := range comments {
		at := len(b)
		b = w.sealComment(append(appendOptionHeader(b, 0, 0), c...), start, at)
	}
	return b
}

// sealComment makes an option of the comment that was appended at at, behind
// room for the option's header: the usual one needs no other handling.
func (w *Writer) sealComment(b []byte, start, at int) []byte {
	value := bytes.TrimRight(b[at+4:], "\x00")
	if len(value) > maxOption || !utf8.Valid(value) {
		s := text(value)
		b = b[:at]
		for _, piece := range appendPieces(nil, s) {
			at = len(b)
			b = w.sealComment(append(appendOptionHeader(b, 0, 0), piece...), start, at)
		}
		return b
	}
	if at+4+(len(value)+3)&^3+blockRest-start > maxBlock {
		w.cut++
		return b[:at]
	}
	binary.LittleEndian.PutUint16(b[at:], optComment)
	binary.LittleEndian.PutUint16(b[at+2:], uint16(len(value)))
	return appendPadding(b[:at+4+len(value)])
}

// appendPieces appends a text to a list in pieces that an option can hold.
func appendPieces(list []string, s string) []string {
	for {
		n := textLength(s, maxOption)
		list = append(list, s[:n])
		if s = s[n:]; s == "" {
			return list
		}
	}
}

// textLength is how much of s fits into limit bytes without cutting a
// character.
func textLength(s string, limit int) int {
	if len(s) <= limit {
		return len(s)
	}
	for n := limit; n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(s[n]) {
			return n
		}
	}
	return limit // no text at all
}
