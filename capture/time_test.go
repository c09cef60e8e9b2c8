package capture

import (
	"math"
	bigint "math/big"
	"testing"
)

// Every resolution, against arbitrary-precision arithmetic.
func TestClock(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1_700_000_000, 1_700_000_000_123_456, 1_700_000_000_123_456_789, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}
	offsets := []int64{0, 1, -1, 3600, -1_700_000_000, math.MaxInt64, math.MinInt64}
	for resol := range 256 {
		for _, offset := range offsets {
			c := newClock(uint8(resol), offset)
			for _, ts := range stamps {
				if got, want := c.nanoseconds(ts), exactTime(uint8(resol), offset, ts); got != want {
					t.Fatalf("resolution %#x, offset %d: %d is %d ns, want %d", resol, offset, ts, got, want)
				}
			}
		}
	}
}

func exactTime(resol uint8, offset int64, ts uint64) int64 {
	base := int64(10)
	if resol&0x80 != 0 {
		base = 2
	}
	unit := new(bigint.Int).Exp(bigint.NewInt(base), bigint.NewInt(int64(resol&0x7f)), nil)
	ns := new(bigint.Int).Mul(new(bigint.Int).SetUint64(ts), bigint.NewInt(nsPerSecond))
	ns.Div(ns, unit)
	ns.Add(ns, new(bigint.Int).Mul(bigint.NewInt(offset), bigint.NewInt(nsPerSecond)))
	switch {
	case ns.IsInt64():
		return ns.Int64()
	case ns.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestERFTime(t *testing.T) {
	for ns := int64(0); ns < nsPerSecond; ns += 999_983 {
		if got := erfTime(uint64(ns) << 32 / nsPerSecond); got != ns && got != ns-1 {
			t.Fatalf("%d ns come back as %d", ns, got)
		}
	}
	if got := erfTime(math.MaxUint64); got != math.MaxUint32*nsPerSecond+nsPerSecond {
		t.Errorf("the last time is %d", got)
	}
}
