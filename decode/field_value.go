package decode

import (
	"strconv"
	"time"
)

// AppendRaw appends a value as tshark -T fields writes it: numbers without
// their names, booleans as 1 and 0, bytes as hexadecimal digits.
func (f *Field) AppendRaw(dst []byte, v *Value) []byte { return f.append(dst, v, false) }

// AppendJSON appends a value as tshark -T json writes it, without quotes:
// bytes are separated by colons.
func (f *Field) AppendJSON(dst []byte, v *Value) []byte { return f.append(dst, v, true) }

func (f *Field) append(dst []byte, v *Value, colons bool) []byte {
	switch f.Type {
	case TypeBytes:
		for i, b := range v.Bytes {
			if colons && i > 0 {
				dst = append(dst, ':')
			}
			dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
		}
		return dst
	case TypeEther:
		if len(v.Bytes) == 6 {
			return MAC(v.Bytes).Append(dst)
		}
		return dst
	case TypeIPv4:
		return addrFrom4(v.Bytes).IP().AppendTo(dst)
	case TypeIPv6:
		// A mapped address stays in IPv6's notation, as it is on the wire.
		return addrFrom16(v.Bytes).v6().AppendTo(dst)
	case TypeString:
		if colons { // JSON has its own way
			return append(dst, v.Bytes...)
		}
		return appendPrintable(dst, v.Bytes)
	case TypeTime:
		return time.Unix(0, int64(v.Num)).AppendFormat(dst, "Jan _2, 2006 15:04:05.000000000 MST")
	case TypeDuration:
		return AppendSeconds(dst, int64(v.Num))
	case TypeNone:
		return dst
	}
	if f.Base == Hex {
		return appendHex(dst, v.Num, f.Type.digits())
	}
	return strconv.AppendUint(dst, v.Num, 10)
}

// appendPrintable appends text from a capture so that it can't break a line or
// control a terminal.
func appendPrintable(dst, text []byte) []byte {
	for _, c := range text {
		switch {
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendSeconds appends nanoseconds as seconds with nine digits.
func AppendSeconds(dst []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	point := len(dst)
	dst = strconv.AppendUint(dst, 1e9+u%1e9, 10) // ten digits, the first in place of the point
	dst[point] = '.'
	return dst
}

// maxTreeBytes is how many bytes of a field a line of the tree shows.
const maxTreeBytes = 32

// AppendText appends the node as a line of the tree says it, without
// indentation: "Opcode: Reliable Connection (RC) - SEND Only (4)", with the
// bits in front for a part of a byte: "0... .... = Solicited Event: False".
func (n *Node) AppendText(dst []byte) []byte {
	if n.Field == nil {
		title := table.frame.title
		if t := table.layers[n.Layer]; t != nil {
			title = t.title
		}
		return append(dst, title...)
	}
	f, v := n.Field, &n.Value
	if n.mask != 0 && n.size > 0 && n.size <= 4 {
		dst = appendBits(dst, n.raw, n.mask, n.size*8)
		dst = append(dst, " = "...)
	}
	dst = append(dst, f.Label...)
	if f.Type == TypeNone {
		return dst
	}
	dst = append(dst, ": "...)
	switch {
	case f.Type == TypeBool:
		name := f.Values
		if name == nil {
			name = trueFalse
		}
		return append(dst, name(v.Num)...)
	case f.Type == TypeBytes && len(v.Bytes) > maxTreeBytes:
		short := Value{Bytes: v.Bytes[:maxTreeBytes]}
		dst = append(f.AppendRaw(dst, &short), "... ("...)
		return append(appendUint(dst, uint64(len(v.Bytes))), " bytes)"...)
	case f.Values != nil:
		if name := f.Values(v.Num); name != "" {
			dst = append(append(dst, name...), " ("...)
			return append(f.AppendRaw(dst, v), ')')
		}
	}
	return f.AppendRaw(dst, v)
}

// appendBits draws the bits of mask in a number of so many bits, in groups of
// four: ".... 0101".
func appendBits(dst []byte, num, mask uint64, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		switch {
		case mask>>i&1 == 0:
			dst = append(dst, '.')
		case num>>i&1 == 0:
			dst = append(dst, '0')
		default:
			dst = append(dst, '1')
		}
		if i%4 == 0 && i > 0 {
			dst = append(dst, ' ')
		}
	}
	return dst
}
