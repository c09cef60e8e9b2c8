package pipeline

// A table holds what is counted for each of many things (senders, ports, ...),
// in memory that is bounded whatever a capture holds. It keeps the rows whose
// keys are lowest, in ascending order, and one more row, other, for all that
// have no row of their own. Which keys are kept so depends on the keys alone,
// and neither on the order of the packets nor on who counted them: a key that
// gave way once is above the highest one kept for ever after.

// tableRow is a row with a key of type K.
type tableRow[R, K any] interface {
	*R
	compare(K) int // of the row's key with another
	reset(K)       // makes it an empty row with that key
	add(*R)        // adds another row's counts to its own
}

// place is the row of a key, a new one if there is none, or other. rows[:*n]
// are in use.
func place[P tableRow[R, K], R, K any](rows []R, n *int, other *R, key K) P {
	lo, hi := 0, *n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch c := P(&rows[mid]).compare(key); {
		case c == 0:
			return &rows[mid]
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	switch {
	case lo == len(rows):
		return other
	case *n == len(rows): // the highest gives way
		P(other).add(&rows[*n-1])
	default:
		*n++
	}
	copy(rows[lo+1:*n], rows[lo:])
	P(&rows[lo]).reset(key)
	return &rows[lo]
}
