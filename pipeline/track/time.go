package track

// maxBetween is the longest time, in nanoseconds, that is reckoned with: time
// stamps can say anything, and sums of such times have to stay numbers.
const maxBetween = 1 << 55 // 417 days

// between is the time from one moment to a later one, in nanoseconds; 0 where
// it is none that is later.
func between(from, to int64) int64 {
	if to <= from {
		return 0
	}
	if d := to - from; d >= 0 && d < maxBetween {
		return d
	}
	return maxBetween
}
