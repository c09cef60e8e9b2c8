package capture

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Options of pcapng blocks (draft-ietf-opsawg-pcapng, section 3.5), in the byte
// order of their section; the value is padded to 4 bytes, Option Length does
// not count the padding. A list ends with opt_endofopt or with its block.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|          Option Code          |         Option Length         |
//	+-------------------------------+-------------------------------+
//	/                        Option Value ...                       /
//	+---------------------------------------------------------------+
const (
	optEnd     = 0
	optComment = 1

	epbFlags     = 2
	epbDropCount = 4

	ifName        = 2
	ifDescription = 3
	ifMAC         = 6
	ifSpeed       = 8
	ifTSResol     = 9
	ifFilter      = 11
	ifOS          = 12
	ifFCSLen      = 13
	ifTSOffset    = 14
	ifHardware    = 15

	isbReceived = 4
	isbDropped  = 5
	isbOSDrop   = 7
)

// blockOptions are the options of one block, raw: most are never looked at.
type blockOptions struct {
	raw  []byte
	swap bool // the section's byte order is big-endian
}

// next takes the first option off raw. It reports false at the end of the list,
// and where the list is damaged, because what was read up to there stands and
// nothing after it can be told apart.
func (o *blockOptions) next() (code uint16, value []byte, ok bool) {
	if len(o.raw) < 4 {
		return 0, nil, false
	}
	code = order16(o.raw, o.swap)
	n := int(order16(o.raw[2:], o.swap))
	if code == optEnd || n > len(o.raw)-4 {
		return 0, nil, false
	}
	value = o.raw[4 : 4+n : 4+n]
	o.raw = o.raw[min(4+(n+3)&^3, len(o.raw)):]
	return code, value, true
}

// The bits of a frame's flags that have the length of its FCS, 0 for not known.
const (
	epbFCSShift = 5
	epbFCS      = 0xf << epbFCSShift
)

// flags are a frame's (epb_flags): its direction, how it was received, errors.
// The last option holds, as for the reader.
func (o blockOptions) flags() (flags uint32) {
	for {
		code, value, ok := o.next()
		if !ok {
			return flags
		}
		if code == epbFlags && len(value) == 4 {
			flags = order32(value, o.swap)
		}
	}
}

// Comments are the frame's comments (pcapng's opt_comment), nil where it has
// none. They are copies, and are looked for only when asked for; like Data they
// can be asked for until the batch is read into again.
func (f *Frame) Comments() []string {
	if f.options == nil {
		return nil
	}
	var comments []string
	for o := *f.options; ; {
		code, value, ok := o.next()
		if !ok {
			return comments
		}
		if code == optComment {
			comments = append(comments, text(value))
		}
	}
}

// text is an option's string, which some writers end with a zero byte although
// the format says not to.
func text(value []byte) string {
	return strings.ToValidUTF8(strings.TrimRight(string(value), "\x00"), "\uFFFD")
}

func order16(b []byte, swap bool) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if swap {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func order32(b []byte, swap bool) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if swap {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func order64(b []byte, swap bool) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if swap {
		v = bits.ReverseBytes64(v)
	}
	return v
}
