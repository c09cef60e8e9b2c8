package capture

import (
	"math"
	"math/bits"
)

const nsPerSecond = 1_000_000_000

// clock turns the time stamps of a pcapng interface into nanoseconds since the
// epoch. Arithmetic is in 128-bit integers and saturates at the end, so that no
// resolution and no offset can make a time wrap round.
//
//	if_tsresol   +-+-+-+-+-+-+-+-+    s = 0: units of 10^-n seconds
//	             |s|      n      |    s = 1: units of  2^-n seconds
//	             +-+-+-+-+-+-+-+-+
type clock struct {
	mul    uint64 // nanoseconds are ts * mul >> shift / div + offset
	div    uint64
	shift  uint8
	offset int64 // seconds
}

// defaultResol is pcapng's microseconds, for an interface that names no other.
const defaultResol = 6

// nanoResol is nanoseconds.
const nanoResol = 9

// finerThanTime says whether units of that if_tsresol are shorter than the
// nanoseconds of Frame.Time.
func finerThanTime(resol uint8) bool {
	if n := resol & 0x7f; resol&0x80 != 0 {
		return n >= 30 // 2^-30 s is 0.93 ns
	}
	return resol > nanoResol
}

func newClock(resol uint8, offset int64) clock {
	n := resol & 0x7f
	if resol&0x80 != 0 {
		return clock{mul: nsPerSecond, div: 1, shift: n, offset: offset}
	}
	c := clock{mul: 1, div: 1, offset: offset}
	for ; n < 9; n++ {
		c.mul *= 10
	}
	for ; n > 9; n-- {
		if c.div > math.MaxUint64/10 {
			c.mul = 0 // a unit so fine that 2^64 of them are less than 1 ns
			break
		}
		c.div *= 10
	}
	return c
}

// nanoseconds are rounded down.
func (c *clock) nanoseconds(ts uint64) int64 {
	hi, lo := bits.Mul64(ts, c.mul)
	if s := c.shift; s >= 64 {
		hi, lo = 0, hi>>(s-64)
	} else if s > 0 {
		hi, lo = hi>>s, lo>>s|hi<<(64-s)
	}
	if c.div > 1 { // only with mul = 1, so that hi is 0
		lo /= c.div
	}
	if c.offset == 0 && hi == 0 && lo <= math.MaxInt64 {
		return int64(lo)
	}
	offHi, offLo := mulSigned(c.offset, nsPerSecond)
	lo, carry := bits.Add64(lo, offLo, 0)
	hi, _ = bits.Add64(hi, offHi, carry)
	return saturate(hi, lo)
}

// stamp is the inverse of nanoseconds: the earliest time stamp of a time. ok is
// false if there is none; ts is then the first one after t, or the last of all.
func (c *clock) stamp(t int64) (ts uint64, ok bool) {
	if c.offset == 0 && c.shift == 0 && c.div == 1 && c.mul > 0 && t >= 0 {
		if ts = uint64(t) / c.mul; ts*c.mul == uint64(t) {
			return ts, true
		}
	}
	// Nanoseconds never fall as the time stamp rises, whatever the clock.
	lo, hi := uint64(0), uint64(math.MaxUint64)
	for lo < hi {
		if mid := lo + (hi-lo)/2; c.nanoseconds(mid) < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, c.nanoseconds(lo) == t
}

// mulSigned is a*b as a two's complement number of 128 bits.
func mulSigned(a int64, b uint64) (hi, lo uint64) {
	if a >= 0 {
		return bits.Mul64(uint64(a), b)
	}
	hi, lo = bits.Mul64(-uint64(a), b)
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(0, hi, borrow)
	return hi, lo
}

// saturate is the int64 nearest to a two's complement number of 128 bits.
func saturate(hi, lo uint64) int64 {
	switch {
	case hi == 0 && lo <= math.MaxInt64, hi == math.MaxUint64 && lo > math.MaxInt64:
		return int64(lo)
	case int64(hi) < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// erfTime is ERF's 32.32 fixed-point seconds in nanoseconds, rounded to the
// nearest, which gives back the decimal time that the fraction was made from.
func erfTime(ts uint64) int64 {
	fraction := (ts&math.MaxUint32*nsPerSecond + 1<<31) >> 32
	return int64(ts>>32)*nsPerSecond + int64(fraction)
}
