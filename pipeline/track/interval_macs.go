package track

import "github.com/rocelens/rocelens/decode"

// macs are the pairs of MACs that packets were seen with, by number.
type macs struct {
	list   []macPair
	byPair map[macPair]uint16
	recent [16]struct {
		pair   macPair
		number uint16
	}
}

// macPair are source and destination.
type macPair [2]decode.MAC

// maxMACs bounds them, in half a megabyte.
const maxMACs = 1 << 13

// Seen says with which MACs p was captured. They are for its interval: without
// Intervals nothing is done.
func (t *Tracker) Seen(p *Packet, src, dst decode.MAC) {
	if x := t.intervals; x != nil {
		p.macs = x.macs.number(macPair{src, dst})
	}
}

// number is the number of a pair, 0 for that without MACs and for those that
// are too many.
func (m *macs) number(pair macPair) uint16 {
	at := &m.recent[(pair[0][5]^pair[1][5]<<1^pair[0][4]^pair[1][4]<<1)%uint8(len(m.recent))]
	if at.pair != pair {
		at.pair, at.number = pair, m.find(pair)
	}
	return at.number
}

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
