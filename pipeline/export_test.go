package pipeline

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
)

// Doubles is the detector on its own, for tests: as one shard has it, however
// many pairs of addresses there are.
type Doubles struct {
	w decoding
	b block
	s shard
}

func NewDoubles() *Doubles {
	return &Doubles{s: shard{doubles: newDoubles(), tracker: track.New(track.Config{})}}
}

// Add takes the next packet.
func (d *Doubles) Add(p *decode.Packet) {
	b := &d.b
	b.items, b.legs, b.shards = b.items[:0], b.legs[:0], b.shards[:0]
	if cap(b.items) == 0 {
		b.items, b.shards = make([]item, 0, 1), make([]uint8, 0, 1)
	}
	d.w.legs = legIndex{}
	d.w.pkt = *p
	if d.w.take(b); len(b.items) == 0 {
		return
	}
	it := &b.items[0]
	l := &b.legs[it.leg]
	if l.wanted(&it.Packet) {
		d.s.find(l)
	}
	d.s.doubles.look(l, it.same, &it.Packet)
}

// Found is what several found.
func Found(all ...*Doubles) Duplicates {
	var list []*doubles
	for _, d := range all {
		list = append(list, d.s.doubles)
	}
	return duplicates(list)
}

func (d *Doubles) Result() Duplicates { return Found(d) }

// Decoding is what is done with a block before the shards have it, for
// benchmarks.
type Decoding struct {
	w         *decoding
	b         block
	peaks     bool
	receivers receivers
}

func NewDecoding(cfg Config) *Decoding { return &Decoding{w: newDecoding(&cfg), peaks: cfg.Receivers} }

// Block is what src fills with frames.
func (d *Decoding) Block() *capture.Batch { return &d.b.batch }

// Decode takes the block.
func (d *Decoding) Decode(src capture.Source) error {
	err := d.w.decode(&d.b, src)
	if d.peaks {
		d.receivers.take(&d.b)
	}
	return err
}

// Legs are how many packets of the block each leg has.
func (d *Decoding) Legs() []int {
	n := make([]int, len(d.b.legs))
	for i := range d.b.items {
		n[d.b.items[i].leg]++
	}
	return n
}

// Receivers is how many there are.
func (d *Decoding) Receivers() int { return len(d.receivers.now) }

// Bursts counts what goes to receivers, a block at a time.
type Bursts struct {
	all receivers
}

// Add takes a block of packets.
func (x *Bursts) Add(list []track.Packet) {
	b := block{items: make([]item, len(list)), legs: make([]leg, len(list))}
	for i := range list {
		b.items[i] = item{Packet: list[i], leg: uint16(i)}
	}
	x.all.take(&b)
}

// Receivers is how many there are.
func (x *Bursts) Receivers() int { return len(x.all.now) }

// Packets is how many went to an address.
func (x *Bursts) Packets(addr uint64) uint64 {
	for _, r := range x.all.result() {
		if r.Addr.Lo == addr {
			return r.Packets
		}
	}
	return 0
}

// PointOf is the digest of the point where a packet was captured.
func PointOf(p *decode.Packet) uint32 { return pointOf(p) }
