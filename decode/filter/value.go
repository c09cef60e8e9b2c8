package filter

import (
	"bytes"
	"cmp"
	"math/bits"

	"github.com/rocelens/rocelens/decode"
)

// kind is what a value is.
type kind uint8

const (
	kindNumber   kind = iota
	kindBool          // num is 0 or 1
	kindDuration      // num is nanoseconds
	kindTime          // num is nanoseconds since the epoch
	kindIPv4          // num and b
	kindIPv6          // b
	kindEther         // b
	kindBytes         // b
	kindString        // b
)

var kindNames = [...]string{
	"a number", "yes or no", "a duration", "a time", "an IPv4 address", "an IPv6 address", "a MAC address", "bytes", "text",
}

func (k kind) String() string { return kindNames[k] }

// scalar says that values of the kind are compared by num, and others by b.
func (k kind) scalar() bool { return k <= kindIPv4 }

// hasBytes says that values of the kind have b.
func (k kind) hasBytes() bool { return k >= kindIPv4 }

// comparable says whether values of two kinds can be compared. What has bytes
// can be with bytes.
func comparable(a, b kind) bool {
	return a == b || a.hasBytes() && b.hasBytes() && (a == kindBytes || b == kindBytes)
}

// value is a value. Numbers have a sign of their own, so that those of 64 bits
// fit, and differences of them.
type value struct {
	num uint64
	neg bool // never with num 0
	b   []byte
}

func signed(n int64) value {
	if n < 0 {
		return value{num: -uint64(n), neg: true}
	}
	return value{num: uint64(n)}
}

// compareNum orders numbers.
func compareNum(a, b *value) int {
	switch {
	case a.neg && b.neg:
		return cmp.Compare(b.num, a.num)
	case a.neg:
		return -1
	case b.neg:
		return 1
	}
	return cmp.Compare(a.num, b.num)
}

// compareBytes orders bytes: what is longer is more.
func compareBytes(a, b *value) int {
	return cmp.Or(cmp.Compare(len(a.b), len(b.b)), bytes.Compare(a.b, b.b))
}

func compareText(a, b *value) int { return bytes.Compare(a.b, b.b) }

// comparer orders values of two kinds that can be compared.
func comparer(a, b kind) func(a, b *value) int {
	switch {
	case a == b && a.scalar():
		return compareNum
	case a == kindString && b == kindString:
		return compareText
	}
	return compareBytes
}

// add is a+b; ok is false where it does not fit.
func add(a, b value) (v value, ok bool) {
	if a.neg == b.neg {
		sum, carry := bits.Add64(a.num, b.num, 0)
		return value{num: sum, neg: a.neg}, carry == 0
	}
	if a.num < b.num {
		a, b = b, a
	}
	v = value{num: a.num - b.num, neg: a.neg}
	v.neg = v.neg && v.num != 0
	return v, true
}

func negate(v value) value {
	return value{num: v.num, neg: !v.neg && v.num != 0}
}

// multiply is a*b; ok is false where it does not fit.
func multiply(a, b value) (v value, ok bool) {
	hi, lo := bits.Mul64(a.num, b.num)
	return value{num: lo, neg: a.neg != b.neg && lo != 0}, hi == 0
}

// divide is a/b rounded towards zero, and what is left over, which has a's
// sign. ok is false for a division by zero.
func divide(a, b value) (quotient, rest value, ok bool) {
	if b.num == 0 {
		return quotient, rest, false
	}
	q, r := a.num/b.num, a.num%b.num
	return value{num: q, neg: a.neg != b.neg && q != 0}, value{num: r, neg: a.neg && r != 0}, true
}

// twos is a number in two's complement, as bitwise operators see it.
func twos(v value) uint64 {
	if v.neg {
		return -v.num
	}
	return v.num
}

// fieldKind is the kind of a field's values.
func fieldKind(f *decode.Field) kind {
	switch f.Type {
	case decode.TypeBool:
		return kindBool
	case decode.TypeBytes, decode.TypeNone:
		return kindBytes
	case decode.TypeEther:
		return kindEther
	case decode.TypeIPv4:
		return kindIPv4
	case decode.TypeIPv6:
		return kindIPv6
	case decode.TypeString:
		return kindString
	case decode.TypeTime:
		return kindTime
	case decode.TypeDuration:
		return kindDuration
	}
	return kindNumber
}

// width is how many bytes a value of the field has on the wire, 0 where that is
// not fixed.
func width(f *decode.Field) int {
	switch f.Type {
	case decode.TypeBool, decode.TypeUint8:
		return 1
	case decode.TypeUint16:
		return 2
	case decode.TypeUint24:
		return 3
	case decode.TypeUint32:
		return 4
	case decode.TypeUint64:
		return 8
	}
	return 0
}

// most is the largest number that the field can have.
func most(f *decode.Field) uint64 {
	return ^uint64(0) >> (64 - 8*width(f))
}

// convert makes a value of what the field table says.
func convert(k kind, v *decode.Value) value {
	switch k {
	case kindNumber:
		return value{num: v.Num}
	case kindBool:
		if v.Num != 0 {
			return value{num: 1}
		}
		return value{}
	case kindDuration, kindTime:
		return signed(int64(v.Num))
	case kindIPv4:
		return value{num: uint64(be32(v.Bytes)), b: v.Bytes}
	}
	return value{b: v.Bytes}
}

func be32(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// truth says whether a value counts as true where it stands for a test: a
// number other than 0, bytes of which one is other than 0.
func truth(k kind, v *value) bool {
	if k.scalar() {
		return v.num != 0
	}
	for _, c := range v.b {
		if c != 0 {
			return true
		}
	}
	return false
}
