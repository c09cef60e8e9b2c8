package packets

import (
	"bufio"
	"io"
	"strconv"

	"github.com/rocelens/rocelens/decode"
)

// List writes packets, one a line in columns:
//
//	number  seconds since the first frame  source → destination  protocol  length  info
//
// The columns suit the packets that were fitted: before a batch is written, all
// its packets are. An address that is longer than nearly all others moves the
// rest of its own line and no other.
type List struct {
	w       *bufio.Writer
	several bool // more than one input: numbers are INPUT:NUMBER
	hex     bool // bytes after each line
	color   bool

	number, source, dest, protocol int // widths of columns
	sources, dests                 lengths
	line                           []byte
	field                          []byte
}

// lengths counts texts by their length.
type lengths [64]int

func (l *lengths) add(n int) { l[min(n, len(l)-1)]++ }

// most is the length that nineteen of twenty texts don't exceed.
func (l *lengths) most() int {
	total := 0
	for _, n := range l {
		total += n
	}
	longer := 0
	for i := len(l) - 1; i > 0; i-- {
		if longer += l[i]; longer*20 > total {
			return i
		}
	}
	return 0
}

// lengthWidth is the width of the length: five digits are enough for Ethernet.
const lengthWidth = 5

// ListOptions say what a List shows.
type ListOptions struct {
	Several bool // more than one input: numbers are INPUT:NUMBER
	Hex     bool // each packet's bytes after its line
	Color   bool // for a terminal: what is wrong is red, what slows down yellow
}

// NewList returns a List that writes to w.
func NewList(w io.Writer, opt ListOptions) *List {
	return &List{
		w: bufio.NewWriterSize(w, bufferSize), several: opt.Several, hex: opt.Hex, color: opt.Color,
		number: 5, source: 9, dest: 9, protocol: 6,
	}
}

// Fit takes p into account for the widths of the columns.
func (l *List) Fit(p *decode.Packet) {
	l.field = l.appendNumber(l.field[:0], p)
	l.number = max(l.number, len(l.field))
	l.field = p.AppendSrc(l.field[:0])
	l.sources.add(len(l.field))
	l.field = p.AppendDst(l.field[:0])
	l.dests.add(len(l.field))
	l.protocol = max(l.protocol, len(decode.Protocol(p)))
}

// Settle makes the columns wide enough for the packets that were fitted since
// it was last called. They never get narrower.
func (l *List) Settle() {
	l.source = max(l.source, l.sources.most())
	l.dest = max(l.dest, l.dests.most())
	l.sources, l.dests = lengths{}, lengths{}
}

func (l *List) appendNumber(dst []byte, p *decode.Packet) []byte {
	if l.several {
		dst = strconv.AppendInt(dst, int64(p.Frame.Input)+1, 10)
		dst = append(dst, ':')
	}
	return strconv.AppendUint(dst, p.Frame.Number, 10)
}

// Write writes one packet.
func (l *List) Write(p *decode.Packet, x *decode.Extra) {
	b := l.line[:0]
	paint := ""
	if l.color {
		paint = colorOf(p, x.Note)
		b = append(b, paint...)
	}
	l.field = l.appendNumber(l.field[:0], p)
	b = append(spaces(b, l.number-len(l.field)), l.field...)

	l.field = decode.AppendSeconds(l.field[:0], p.Frame.Time-x.First)
	b = append(spaces(b, 15-len(l.field)), l.field...)

	b = append(b, ' ')
	start := len(b)
	b = p.AppendSrc(b)
	b = spaces(b, l.source-(len(b)-start))
	b = append(b, " → "...)
	start = len(b)
	b = p.AppendDst(b)
	b = spaces(b, l.dest-(len(b)-start))

	b = append(b, ' ')
	start = len(b)
	b = append(b, decode.Protocol(p)...)
	b = spaces(b, l.protocol-(len(b)-start))

	l.field = strconv.AppendUint(l.field[:0], uint64(p.WireLen), 10)
	b = append(spaces(b, 1+lengthWidth-len(l.field)), l.field...)

	b = append(b, ' ')
	b = decode.AppendInfo(b, p)
	b = appendNote(trimSpaces(b), x.Note)
	if paint != "" {
		b = append(b, colorReset...)
	}
	b = append(b, '\n')
	if l.hex {
		b = append(appendHexDump(b, p.Data), '\n')
	}
	l.line = b
	_, _ = l.w.Write(b) // a bufio.Writer keeps the error for Flush
}

// Flush hands on what is buffered and returns the first error of writing.
func (l *List) Flush() error { return l.w.Flush() }

// Close ends the list.
func (l *List) Close() error { return l.w.Flush() }

// Colours of a terminal.
const (
	colorRed    = "\x1b[31m"
	colorYellow = "\x1b[33m"
	colorGray   = "\x1b[90m"
	colorReset  = "\x1b[0m"
)

// appendNote appends in brackets what is notable of a packet in its session.
func appendNote(b []byte, n *decode.Note) []byte {
	if n == nil {
		return b
	}
	start := len(b)
	b = append(b, " ["...)
	if b = n.AppendText(b); len(b) == start+2 {
		return b[:start]
	}
	return append(b, ']')
}

// colorOf is the colour of a packet's line: red for damage and refusals, yellow
// for what slows traffic down and what was sent again, gray for what is not
// RoCE.
func colorOf(p *decode.Packet, n *decode.Note) string {
	switch {
	case p.ICRCStatus == decode.ICRCBad, p.VCRCStatus == decode.ICRCBad, p.Malformed(),
		p.Has&decode.HasAETH != 0 && p.Syndrome.Type() != decode.Ack:
		return colorRed
	case p.Kind == decode.KindPFC, p.Kind == decode.KindPause, p.Has&decode.HasBTH != 0 && p.Opcode == decode.OpCNP,
		p.RoCE() && p.ECN() == 3, n != nil && n.Retransmission():
		return colorYellow
	case !p.RoCE():
		return colorGray
	}
	return ""
}

func spaces(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

func trimSpaces(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// appendHexDump appends data, 16 bytes a line: the offset of the first, the
// bytes in hexadecimal, and as ASCII with a dot for what is not printable.
func appendHexDump(b, data []byte) []byte {
	const perLine, digits = 16, "0123456789abcdef"
	for off := 0; off < len(data); off += perLine {
		for shift := 12; shift >= 0; shift -= 4 {
			if off>>16 != 0 && shift == 12 {
				b = strconv.AppendInt(b, int64(off>>16), 16)
			}
			b = append(b, digits[off>>shift&15])
		}
		row := data[off:min(off+perLine, len(data))]
		b = append(b, ' ')
		for i := range perLine {
			if i%8 == 0 {
				b = append(b, ' ')
			}
			if i < len(row) {
				b = append(b, digits[row[i]>>4], digits[row[i]&15], ' ')
			} else {
				b = append(b, "   "...)
			}
		}
		b = append(b, ' ')
		for _, c := range row {
			if c < ' ' || c > '~' {
				c = '.'
			}
			b = append(b, c)
		}
		b = append(b, '\n')
	}
	return b
}
