package decode

import (
	"math"
	"testing"
)

func TestAppendSeconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", 1_031_657_604: "1.031657604", -1_500_000_000: "-1.500000000",
		math.MinInt64: "-9223372036.854775808",
	} {
		if got := string(AppendSeconds(nil, ns)); got != want {
			t.Errorf("%d is %s, want %s", ns, got, want)
		}
	}
}
