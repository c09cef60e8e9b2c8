package pipeline

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/track"
)

// block is a batch of frames on its way through the engine, and what decoding
// made of it: the RoCE packets, dealt out to the shards. It is used again and
// again.
type block struct {
	batch   capture.Batch
	number  uint64 // of those read, from 0
	state   blockState
	open    uint64 // the shards that have packets in it and have not had them, a bit each
	running int    // workers that give them to shards
	back    bool   // time goes back before it, by step
	step    step

	items    []item
	messages []message
	legs     []leg
	shards   []uint8  // of each item
	order    []uint16 // the items by shard, each shard's in their order
	begin    [numShards + 1]uint16

	decoded  Decoded      // what its packets were
	mirrored []mirrorRun  // see mirrors.go
	pauses   []pauseFrame // what PFC and PAUSE frames say
}

// blockState is how far a block is.
type blockState uint8

const (
	blockRead    blockState = iota
	blockDecoded            // memory is to be shared out before it goes on
	blockSharing
	blockOpen // to the shards
)

// item is a RoCE packet that has a place among flows.
type item struct {
	track.Packet
	same    uint64 // see sameHash
	icrc    uint32
	leg     uint16 // in block.legs
	status  decode.ICRCStatus
	message bool // it is one of block.messages
}

// message is a packet of connection management.
type message struct {
	item   uint16
	packet decode.Packet
}

// messageAt is the message that an item is.
func (b *block) messageAt(item uint16) *decode.Packet {
	i, _ := slices.BinarySearchFunc(b.messages, item, func(m message, item uint16) int { return cmp.Compare(m.item, item) })
	return &b.messages[i].packet
}

// of are the items of a shard.
func (b *block) of(shard int) []uint16 { return b.order[b.begin[shard]:b.begin[shard+1]] }

// deal sorts the items by their shards.
func (b *block) deal() {
	b.open = 0
	clear(b.begin[:])
	for _, s := range b.shards {
		b.begin[s+1]++
	}
	for i := range numShards {
		if b.begin[i+1] > 0 {
			b.open |= 1 << i
		}
		b.begin[i+1] += b.begin[i]
	}
	b.open |= 1 << inputShard
	next := b.begin
	b.order = slices.Grow(b.order[:0], len(b.items))[:len(b.items)]
	for i, s := range b.shards {
		b.order[next[s]] = uint16(i)
		next[s]++
	}
}

// shardOf is the number of the shard that a packet belongs to: that of all
// packets between the same two addresses.
func shardOf(p *track.Packet) uint8 { return uint8(p.Pair() >> (64 - shardBits)) }

// The shards are as many as there are whatever the number of workers, so that
// it changes no result. block.open has a bit for each.
const (
	shardBits = 6
	numShards = 1 << shardBits
)

// decoding is what a worker needs to decode blocks. Workers share nothing of
// it.
type decoding struct {
	dec      *decode.Decoder
	icrc     bool
	pkt      decode.Packet
	counters Counters // but for Senders of packets that have a shard
	notes    *track.Notes
	legs     legIndex // of the block at hand
}

func newDecoding(cfg *Config) *decoding {
	return &decoding{dec: decode.New(cfg.Decode), icrc: cfg.ICRC, notes: cfg.Track.Notes}
}

// decode decodes and counts the frames of a block, and deals the packets out.
// Where memory under a mapped file goes away meanwhile, what was decoded before
// stays.
func (w *decoding) decode(b *block, src capture.Source) error {
	b.items, b.messages, b.legs, b.shards = b.items[:0], b.messages[:0], b.legs[:0], b.shards[:0]
	if n := len(b.batch.Frames); cap(b.items) < n {
		n = max(n, capture.BatchFrames)
		b.items, b.shards = make([]item, 0, n), make([]uint8, 0, n)
	}
	b.mirrored, b.pauses = b.mirrored[:0], b.pauses[:0]
	w.legs = legIndex{}
	b.decoded = Decoded{}
	before := w.counters.since(new(Decoded))
	err := capture.Guard(src, func() error {
		w.frames(b)
		return nil
	})
	now := w.counters.since(&before)
	b.decoded.add(&now)
	b.deal()
	return err
}

func (w *decoding) frames(b *block) {
	for i := range b.batch.Frames {
		w.dec.Decode(&b.batch.Frames[i], &w.pkt)
		if w.pkt.Encap&(decode.EncapERSPAN2|decode.EncapERSPAN3) != 0 && w.pkt.ERSPAN.HasSeq && w.pkt.ERSPAN.Version > 0 {
			b.numbered(&w.pkt)
		}
		if w.icrc {
			w.dec.VerifyICRC(&w.pkt)
		}
		switch {
		case w.pkt.RoCE():
			w.take(b)
		case w.icrc && w.pkt.Kind == decode.KindUDP:
			w.counters.Add(&w.pkt)
			w.counters.AddProbe(&w.pkt, w.dec.ProbeRoCE(&w.pkt))
		case w.pkt.Kind == decode.KindPFC, w.pkt.Kind == decode.KindPause:
			w.counters.Add(&w.pkt)
			b.pauses = append(b.pauses, pauseFrame{items: len(b.items)})
			b.pauses[len(b.pauses)-1].Read(&w.pkt)
		default:
			w.counters.Add(&w.pkt)
		}
	}
}

// take makes an item of a RoCE packet.
func (w *decoding) take(b *block) {
	p := &w.pkt
	n := len(b.items)
	items := b.items[:n+1]
	it := &items[n]
	way, ok := it.Read(p)
	if !ok {
		w.counters.Add(p)
		w.notes.Unread(p)
		return
	}
	w.counters.add(p)
	it.same = sameHash(way, p)
	it.icrc, it.status = p.ICRC, p.ICRCStatus
	if it.DestQP <= track.LastManagement {
		b.decoded.Management++
	}
	it.leg = w.leg(b, way, &it.Packet)
	b.items = items // now that all of it is there: who reads it looks no further
	if it.message = cm.Is(p); it.message {
		b.messages = append(b.messages, message{uint16(n), *p})
	}
	b.shards = b.shards[:n+1]
	b.shards[n] = b.legs[it.leg].shard
}
