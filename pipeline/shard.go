package pipeline

import (
	"slices"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// maxConns is how many connections of CM a shard remembers at a time.
const maxConns = 1 << 12

// shard follows the packets between some pairs of addresses, in their order.
// One worker at a time has it.
type shard struct {
	senders Senders
	good    [2]*Sender // where the last good ICRCs were counted, if it is a row; it may be another's by now
	doubles *doubles
	conns   *cm.Tracker
	tracker *track.Tracker
	packets uint64 // since memory was shared out
	// The first packets wait for the tracker until it is known which of them
	// are copies; nil once they are through.
	first  []track.Packet
	copies []copySeen

	batch   [shardBatch]*track.Packet
	unknown [shardBatch]*leg
}

func newShard(cfg track.Config) *shard {
	return &shard{doubles: newDoubles(), tracker: track.New(cfg), conns: cm.New(maxConns), first: []track.Packet{}}
}

const (
	// firstPackets is how many packets wait before the first of them is
	// followed: of directions whose IP IDs say nothing, it takes some to know
	// whether a mirror doubles them.
	firstPackets = 1 << 12
	// shardBatch is how many packets are looked for together. Each is somewhere
	// else in memory, and several at a time take hardly longer than one.
	shardBatch = 64
)

// take takes the shard's packets of a block.
func (s *shard) take(b *block, number int, src capture.Source) error {
	list := b.of(number)
	s.packets += uint64(len(list))
	for len(list) > 0 {
		n := min(len(list), shardBatch)
		if err := s.some(b, list[:n], src); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// some takes at most shardBatch packets.
func (s *shard) some(b *block, list []uint16, src capture.Source) error {
	unknown := s.unknown[:0]
	for _, i := range list {
		it := &b.items[i]
		s.doubles.touch(it.same)
		if l := &b.legs[it.leg]; l.wanted(&it.Packet) {
			s.doubles.approach(l)
			unknown = append(unknown, l)
		}
	}
	for _, l := range unknown {
		s.find(l)
	}
	n := 0
	for _, i := range list {
		it := &b.items[i]
		p := &it.Packet
		l := &b.legs[it.leg]
		if checked(it.status) {
			s.check(it)
		}
		if l.found {
			p.SetMACs(l.macs)
		} else {
			p.SetMACs(s.tracker.MACs(l.src, l.dst))
		}
		c := s.doubles.look(l, it.same, p)
		if s.first != nil {
			if n := len(s.first); n == cap(s.first) { // append would go by a quarter, and leave much behind
				n = min(max(n, shardBatch), firstPackets-n)
				s.first, s.copies = slices.Grow(s.first, n), slices.Grow(s.copies, n)
			}
			s.first = append(s.first, *p)
			s.copies = append(s.copies, c)
			if len(s.first) == firstPackets {
				s.begin()
			}
		} else {
			s.doubles.judge(&c, p)
			s.batch[n] = p
			n++
		}
		if it.message {
			s.doubles.judge(&c, p)
			s.tracker.Add(s.batch[:n])
			n = 0
			if err := s.connect(b.messageAt(i), p, src); err != nil {
				return err
			}
		}
	}
	s.tracker.Add(s.batch[:n])
	return nil
}

// find finds what the packets of a leg have in common that copies are looked for of.
func (s *shard) find(l *leg) {
	if l.found { // there are two packets of it
		return
	}
	l.found = true
	l.macs = s.tracker.MACs(l.src, l.dst)
	l.dir = s.doubles.direction(l)
}

// check counts the ICRC of a packet, and says whether the packet is corrupt.
func (s *shard) check(it *item) {
	sender := senderKey{it.Src, it.Kind}
	if it.status != decode.ICRCGood {
		s.senders.count(sender, false, it.icrc, it.Ref())
		it.Corrupt = s.senders.computes(sender, it.icrc)
		return
	}
	row := &s.good[it.Src.Lo&1]
	if *row != nil && (*row).compare(sender) == 0 {
		(*row).Good++
		return
	}
	if *row = s.senders.count(sender, true, 0, record.FrameRef{}); *row == &s.senders.Other {
		*row = nil
	}
}

// firstWait is, in nanoseconds, how long the first packets wait at most where
// nothing more comes.
const firstWait = 1e9

// idle lets the tracker have packets that have waited for too long.
func (s *shard) idle(now int64) {
	if len(s.first) > 0 && now-s.first[0].Time > firstWait {
		s.begin()
	}
}

// begin lets the tracker have the first packets.
func (s *shard) begin() {
	s.release()
	s.first, s.copies = nil, nil
}

// release lets the tracker have the packets that wait.
func (s *shard) release() {
	for i := range s.first {
		p := &s.first[i]
		s.doubles.judge(&s.copies[i], p)
		s.batch[i%shardBatch] = p
		if (i+1)%shardBatch == 0 {
			s.tracker.Add(s.batch[:])
		}
	}
	s.tracker.Add(s.batch[:len(s.first)%shardBatch])
	s.first, s.copies = s.first[:0], s.copies[:0]
}

// connect takes a message of connection management, which comes behind all
// packets before it.
func (s *shard) connect(m *decode.Packet, p *track.Packet, src capture.Source) error {
	if s.first != nil {
		s.release()
	}
	if p.Copy != track.NoCopy || p.Corrupt {
		return nil
	}
	return capture.Guard(src, func() error {
		if ch := s.conns.Add(m, p.Ref()); ch != nil {
			s.tracker.Connection(ch, p.Ref())
		}
		return nil
	})
}

// close ends all sessions.
func (s *shard) close(end int64) {
	s.begin()
	s.tracker.Close(end)
}
