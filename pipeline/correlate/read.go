package correlate

import (
	"context"
	"errors"
	"math"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// sight is a packet as a tap saw it at the second reading.
type sight struct {
	time  int64 // on the clock of the first tap
	ref   record.FrameRef
	id    identity
	flow  uint32 // noFlow for one that there was no room for
	icrc  uint32
	state icrcState
	ttl   uint8
	tos   uint8
	prio  uint8 // priority of its VLAN tag, untagged without one
	acks  bool  // an answer that acknowledges
}

const (
	noFlow   = math.MaxUint32
	untagged = 0xff
)

// icrcState is what is known of an ICRC.
type icrcState uint8

const (
	icrcUnknown icrcState = iota // none, or not captured
	icrcRead                     // there, but not computed
	icrcGood
	icrcBad
)

// reader reads one tap in blocks.
type reader struct {
	out    chan []sight
	free   chan []sight
	err    error // valid once out is closed
	inputs []capture.Input
}

// blocksAhead is how many blocks of a tap are decoded ahead.
const blocksAhead = 2

// read decodes a tap from its beginning to its end.
func (r *reader) read(ctx context.Context, src capture.Source, p *plan, tap int, told func([]capture.Input)) {
	defer close(r.out)
	dec := decode.New(p.cfg.Decode)
	var pkt decode.Packet
	look := lookup{plan: p}
	clock := p.clocks[tap]
	var block []sight
	n := 0
	err := pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
		select {
		case block = <-r.free:
			block = block[:0]
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for i := range b.Frames {
			dec.Decode(&b.Frames[i], &pkt)
			if !correlatable(&pkt) {
				continue
			}
			if p.cfg.ICRC {
				dec.VerifyICRC(&pkt)
			}
			block = append(block, sightOf(&pkt, look.flow(&pkt), clock))
		}
		if n++; n%tellEvery == 0 {
			told(src.Inputs())
		}
		select {
		case r.out <- block:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	})
	r.inputs, r.err = inputsAfter(src, err)
	r.err = errors.Join(r.err, src.Close())
}

func sightOf(p *decode.Packet, flow uint32, clock affine) sight {
	f := p.Frame
	s := sight{
		time: clock.of(f.Time), ref: record.FrameRef{Input: f.Input, Number: f.Number, Time: f.Time, Offset: f.Offset},
		id: identityOf(p), flow: flow, ttl: p.TTL, tos: p.TOS, prio: untagged,
	}
	if p.Flags&decode.Tagged != 0 {
		s.prio = uint8(p.VLAN >> 13)
	}
	if readableICRC(p) {
		s.icrc, s.state = p.ICRC, icrcRead
		switch p.ICRCStatus {
		case decode.ICRCGood:
			s.state = icrcGood
		case decode.ICRCBad:
			s.state = icrcBad
		}
	}
	s.acks = p.Has&decode.HasAETH != 0 && p.Syndrome.Type() == decode.Ack
	return s
}

// lookup finds flows by their keys. Packets of a flow come in runs, so that the
// last flows are at hand.
type lookup struct {
	plan *plan
	last [64]struct {
		key  flowKey
		flow uint32
	}
}

func (l *lookup) flow(p *decode.Packet) uint32 {
	key := keyOf(p)
	at := &l.last[(key.destQP^uint32(key.dst.Lo)^uint32(key.src.Lo)<<3)%uint32(len(l.last))]
	if at.key == key {
		return at.flow
	}
	flow, ok := l.plan.index[key]
	if !ok {
		flow = noFlow
	}
	at.key, at.flow = key, flow
	return flow
}

// readAll reads all taps that share packets with others, in the order of one
// clock. It returns what is then known of their inputs, nil for those that were
// not read.
func (m *matcher) readAll(parent context.Context, open Open) ([][]capture.Input, error) {
	inputs := make([][]capture.Input, len(m.plan.taps))
	var taps []int
	for t := range m.plan.taps {
		if m.inPath[t] {
			taps = append(taps, t)
		}
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	told := teller(m.plan.cfg)
	readers := make([]*reader, len(taps))
	for i, t := range taps {
		src, err := open(t)
		if err != nil {
			cancel()
			drain(readers[:i])
			return inputs, err
		}
		r := &reader{out: make(chan []sight, blocksAhead), free: make(chan []sight, blocksAhead+1)}
		for range blocksAhead + 1 {
			r.free <- make([]sight, 0, capture.BatchFrames)
		}
		readers[i] = r
		go r.read(ctx, src, m.plan, t, told)
	}
	m.merge(readers, taps)
	cancel() // those that are not at their end
	drain(readers)
	var errs []error
	for i, r := range readers {
		inputs[taps[i]] = r.inputs
		if parent.Err() != nil || !errors.Is(r.err, context.Canceled) { // else it was called off here
			errs = append(errs, r.err)
		}
	}
	return inputs, errors.Join(errs...)
}

// drain waits for readers to end.
func drain(readers []*reader) {
	for _, r := range readers {
		for range r.out {
			continue // what is left is dropped
		}
	}
}

// merge takes packets in the order of their times, equal ones in the order of
// the taps. It ends with the first tap that can't be read on, since the others
// mean nothing without it.
func (m *matcher) merge(readers []*reader, taps []int) {
	blocks := make([][]sight, len(readers))
	next := make([]int, len(readers))
	done := make([]bool, len(readers))
	refill := func(i int) {
		for !done[i] && next[i] == len(blocks[i]) {
			if blocks[i] != nil {
				readers[i].free <- blocks[i]
			}
			b, ok := <-readers[i].out
			blocks[i], next[i], done[i] = b, 0, !ok
			m.stopped = m.stopped || !ok && readers[i].err != nil
		}
	}
	for i := range readers {
		refill(i)
	}
	for !m.stopped {
		best, limit := -1, int64(math.MaxInt64)
		for i := range readers {
			if done[i] {
				continue
			}
			t := blocks[i][next[i]].time
			switch {
			case best < 0 || t < blocks[best][next[best]].time:
				if best >= 0 {
					limit = min(limit, blocks[best][next[best]].time)
				}
				best = i
			default:
				limit = min(limit, t)
			}
		}
		if best < 0 {
			return
		}
		b, n := blocks[best], next[best]
		for first := true; n < len(b) && (first || b[n].time < limit); n++ {
			m.take(taps[best], &b[n])
			first = false
		}
		next[best] = n
		refill(best)
	}
}
