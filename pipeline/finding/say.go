package finding

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
)

// count is n with thousands separators: 1,234,567.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 packet", "2 packets".
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// share is part of whole, 0 to 1.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// percent is that for people. It says 0 and 100 only where they are exact.
func percent(part, whole uint64) string {
	s := strconv.FormatFloat(100*share(part, whole), 'f', 1, 64)
	switch {
	case part > 0 && s == "0.0":
		s = "<0.1"
	case part < whole && s == "100.0":
		s = ">99.9"
	}
	return s + " %"
}

func address(a decode.Addr, k decode.AddrKind) string { return string(a.Append(nil, k)) }

func hex(v uint64, digits int) string {
	s := strconv.FormatUint(v, 16)
	return "0x" + strings.Repeat("0", max(0, digits-len(s))) + s
}

// listed is the first maxListed of a list, and what to say of the rest.
func listed(all []string) string {
	s := strings.Join(all[:min(len(all), maxListed)], ", ")
	if n := len(all) - maxListed; n > 0 {
		s += " and " + count(uint64(n)) + " more"
	}
	return s
}
