package decode

import (
	"strconv"
	"time"
)

// AppendRaw appends a value as tshark -T fields writes it: numbers without
// their names, booleans as 1 and 0, bytes as hexadecimal digits.
func (f *Field) AppendRaw(dst []byte, v *Value) []byte {
	return f.append(dst, v.Num, v.Bytes, false)
}

// AppendJSON appends a value as tshark -T json writes it, without quotes:
// bytes are separated by colons.
func (f *Field) AppendJSON(dst []byte, v *Value) []byte {
	return f.append(dst, v.Num, v.Bytes, true)
}

// AppendAll appends all values that the field has in p as AppendRaw writes
// them, with sep between them. x is Reset between packets.
func (f *Field) AppendAll(dst []byte, sep byte, x *Extra, p *Packet) []byte {
	n := 0
	for _, l := range f.where(x, p) {
		for _, pl := range f.places {
			if pl.layer != l.Kind {
				continue
			}
			num, b, ok := uint64(0), []byte(nil), false
			if pl.each != nil {
				for i := 0; pl.each(x, p, i, &x.value); i++ {
					if n > 0 {
						dst = append(dst, sep)
					}
					dst = f.append(dst, x.value.Num, x.value.Bytes, false)
					n++
				}
				continue
			}
			if pl.read == nil {
				b, ok = pl.bytes(p, l)
				num = pl.number(b)
			} else {
				x.value = Value{}
				ok = !pl.beyond(p, l) && pl.read(x, p, l, &x.value)
				num, b = x.value.Num, x.value.Bytes
			}
			if !ok {
				continue
			}
			if n > 0 {
				dst = append(dst, sep)
			}
			dst = f.append(dst, num, b, false)
			n++
		}
	}
	return dst
}

func (f *Field) append(dst []byte, num uint64, b []byte, colons bool) []byte {
	switch f.Type {
	case TypeBytes:
		return appendBytes(dst, b, colons)
	case TypeEther:
		if len(b) == 6 {
			return MAC(b).Append(dst)
		}
		return dst
	case TypeIPv4:
		return appendIPv4(dst, b)
	case TypeIPv6:
		// A mapped address stays in IPv6's notation, as it is on the wire.
		return addrFrom16(b).v6().AppendTo(dst)
	case TypeString:
		if colons { // JSON has its own way
			return append(dst, b...)
		}
		return appendPrintable(dst, b)
	case TypeTime:
		return time.Unix(0, int64(num)).AppendFormat(dst, "Jan _2, 2006 15:04:05.000000000 MST")
	case TypeDuration:
		return AppendSeconds(dst, int64(num))
	case TypeNone:
		return dst
	}
	if f.Base == Hex {
		return appendHex(dst, num, f.Type.digits())
	}
	return strconv.AppendUint(dst, num, 10)
}

func appendBytes(dst, b []byte, colons bool) []byte {
	for i, c := range b {
		if colons && i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

// appendIPv4 appends four bytes with points between them.
func appendIPv4(dst, b []byte) []byte {
	for i, c := range b {
		if i > 0 {
			dst = append(dst, '.')
		}
		if c >= 100 {
			dst = append(dst, '0'+c/100)
		}
		if c >= 10 {
			dst = append(dst, '0'+c/10%10)
		}
		dst = append(dst, '0'+c%10)
	}
	return dst
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
	if n.Field == nil || n.title != "" {
		return append(dst, n.title...)
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
