package track

import "github.com/rocelens/rocelens/decode"

// macs are the pairs of MACs that packets were seen with, by number.
type macs struct {
	list   []macPair
	byPair map[macPair]uint16
}

// macPair are source and destination.
type macPair [2]decode.MAC

// maxMACs bounds them, in half a megabyte.
const maxMACs = 1 << 13

// MACs is the number of the MACs that packets were captured with, for SetMACs. They are
// for intervals: without Intervals it is 0.
func (t *Tracker) MACs(src, dst decode.MAC) uint16 {
	if x := t.intervals; x != nil {
		return x.macs.find(macPair{src, dst})
	}
	return 0
}

// SetMACs says with which MACs t was captured.
func (t *Packet) SetMACs(number uint16) { t.macs = number }

// find is the number of a pair, 0 for that without MACs and for those that
// are too many.
func (m *macs) find(pair macPair) uint16 {
	if m.byPair == nil {
		m.list = []macPair{{}}
		m.byPair = map[macPair]uint16{{}: 0}
	}
	n, known := m.byPair[pair]
	if !known && len(m.list) < maxMACs {
		n = uint16(len(m.list))
		m.list = append(m.list, pair)
		m.byPair[pair] = n
	}
	return n
}

func (m *macs) pair(number uint16) (pair macPair) {
	if int(number) < len(m.list) {
		pair = m.list[number]
	}
	return pair
}
