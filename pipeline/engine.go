package pipeline

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/track"
)

// engine spreads the work on blocks over workers. One of them at a time reads a
// block, in the order of the source, and then decodes it while another reads;
// and each shard takes its packets from it once it has had those of the blocks
// before. Workers take whatever there is to do, the oldest blocks first, so that
// none waits though two hosts make all the traffic and one worker has their
// shard: the others decode ahead.
//
// Which shard a packet belongs to, and what a shard makes of its packets, does
// not depend on the workers, and nor does the result.
type engine struct {
	ctx       context.Context
	cfg       Config
	src       capture.Source
	shards    [numShards]*shard // nil before its first packet
	mirror    mirrorCount       // who has inputShard has it too
	pauses    *pause.Tracker    // likewise
	found     *pause.Result     // what they were, once all is read
	receivers receivers         // likewise
	every     uint64            // blocks from one share of memory to the next

	interfaces sync.Map // names by interfaceKey

	mu      sync.Mutex
	change  sync.Cond
	blocks  []*block // read, oldest first
	free    []*block
	read    uint64 // blocks
	reading bool
	told    time.Time // when Progress was; the reader's
	clock   clock     // likewise
	ended   bool      // nothing more is read
	busy    uint64    // shards that a worker has, a bit each
	err     error     // why reading ended, nil at the end of the source
	cut     error     // a file was cut while it was read
	cutAt   uint64    // the block where
	decoded Decoded   // what packets were
}

// blocksPerWorker is how many blocks there are for each worker: one that it is
// at, and some that wait.
const blocksPerWorker = 3

func newEngine(ctx context.Context, src capture.Source, cfg Config) *engine {
	e := &engine{ctx: ctx, cfg: cfg, src: src, told: time.Now(), every: shareEvery}
	if n := cfg.Track.Packets(); n > 0 {
		e.every = uint64(min(max(n/capture.BatchFrames, 1), shareEvery))
	}
	e.change.L = &e.mu
	e.cfg.Track.Intervals.Sink = e.intervalSink(cfg.Track.Intervals.Sink)
	e.pauses = pause.New(cfg.Pause, e.link)
	e.cfg.Track.Tell.Sessions = e.withPauses(e.cfg.Track.Tell.Sessions)
	return e
}

// run reads the source to its end.
func (e *engine) run(workers int) (*Counters, error) {
	for range blocksPerWorker*workers + 1 {
		e.free = append(e.free, new(block))
	}
	all := make([]*decoding, workers)
	var others sync.WaitGroup
	for i := range all {
		all[i] = newDecoding(&e.cfg)
		if i > 0 {
			others.Go(func() { e.work(all[i]) })
		}
	}
	e.work(all[0])
	others.Wait()
	counters := &all[0].counters
	for _, w := range all[1:] {
		counters.Merge(&w.counters)
	}
	if e.err == nil {
		e.err = e.cut
	}
	return counters, e.err
}

// work does what there is to do until nothing is left.
func (e *engine) work(w *decoding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		if e.share() || e.follow() || e.next(w) {
			continue
		}
		if e.ended && !e.reading && len(e.blocks) == 0 {
			return
		}
		e.change.Wait()
	}
}

// next reads a block and decodes it, and returns false where there is none to
// be had. What was just read is still close by.
func (e *engine) next(w *decoding) bool {
	if e.reading || e.ended || len(e.free) == 0 {
		return false
	}
	if e.ctx.Err() != nil {
		e.ended, e.err = true, context.Cause(e.ctx)
		e.change.Broadcast()
		return true
	}
	b := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	e.reading = true
	e.mu.Unlock()
	err := e.src.ReadBatch(&b.batch)
	var cut error
	if err == nil {
		b.step, b.back = e.clock.see(&b.batch)
		if e.cfg.Frames != nil {
			cut = e.handOut(b)
		}
	}
	e.progress()
	e.mu.Lock()
	e.reading = false
	e.change.Broadcast()
	if err != nil {
		e.ended, e.err = true, readError(err)
		e.free = append(e.free, b)
		return true
	}
	b.number, b.state, b.running = e.read, blockRead, 0
	e.read++
	e.blocks = append(e.blocks, b)
	e.damaged(cut, b)
	e.mu.Unlock()
	err = w.decode(b, e.src)
	e.mu.Lock()
	e.damaged(err, b)
	e.decoded.add(&b.decoded)
	b.state = blockOpen
	if b.number%e.every == 0 || len(b.batch.Frames) == 0 || b.back {
		b.state = blockDecoded
	}
	e.retire()
	e.change.Broadcast()
	return true
}

// handOut hands a block to who takes frames as they are read.
func (e *engine) handOut(b *block) error {
	return capture.Guard(e.src, func() error {
		e.cfg.Frames(&b.batch)
		return nil
	})
}

// progressEvery is how long nothing is said of progress.
const progressEvery = 250 * time.Millisecond

// progress is called by the worker that reads, which alone may ask the source.
func (e *engine) progress() {
	if e.cfg.Progress == nil || time.Since(e.told) < progressEvery {
		return
	}
	e.told = time.Now()
	e.cfg.Progress(e.src.Inputs())
}

// shareEvery is after how many blocks memory is shared out anew, where there is
// room for what they can bring.
const shareEvery = 16

// share shares memory out among the shards, and returns false where it is not
// time to. It is where all blocks up to one are done with, and none behind is
// begun, so that it depends on the packets alone.
func (e *engine) share() bool {
	if len(e.blocks) == 0 || e.blocks[0].state != blockDecoded {
		return false
	}
	b := e.blocks[0]
	b.state = blockSharing
	e.mu.Unlock()
	e.shareOut()
	e.advance(b)
	e.mu.Lock()
	b.state = blockOpen
	e.retire()
	e.change.Broadcast()
	return true
}

// busyShare is which part of the packets a shard must have to count as busy.
const busyShare = 4 * numShards

func (e *engine) shareOut() {
	var trackers []*track.Tracker
	packets := uint64(0)
	for _, s := range e.shards {
		if s != nil {
			trackers = append(trackers, s.tracker)
			packets += s.packets
		}
	}
	track.Share(e.cfg.Track, trackers)
	busy := 0
	for _, s := range e.shards {
		if s != nil && s.packets*busyShare > packets {
			busy++
		}
	}
	for _, s := range e.shards {
		if s != nil {
			s.doubles.limit(maxDoubleSets >> bits.Len(uint(max(busy, 1)-1)))
			s.packets = 0
		}
	}
	if e.cfg.Followed != nil {
		e.mu.Lock()
		now := Followed{Decoded: e.decoded}
		e.mu.Unlock()
		for _, t := range trackers {
			now.Sessions += t.Sessions()
			now.Evicted += t.Evicted
			now.Refused += t.Refused
		}
		e.cfg.Followed(now)
	}
}

// advance tells all shards that time has come to that of a block, of which none
// has had a packet.
func (e *engine) advance(b *block) {
	if b.back {
		e.stepBack(b)
	}
	now := b.batch.Now
	if now != 0 { // live: what waits for more does not know when it comes
		for _, s := range e.shards {
			if s != nil {
				s.idle(now)
			}
		}
	}
	if len(b.batch.Frames) > 0 {
		now = b.batch.Frames[0].Time
	}
	if now == 0 {
		return
	}
	e.pauses.Advance(now - pauseSlack)
	if e.cfg.Track.Intervals.Sink == nil && !e.cfg.Track.Tell.On() {
		return
	}
	for _, s := range e.shards {
		if s != nil {
			s.tracker.Advance(now)
		}
	}
}

// follow lets shards have their packets of a block, and returns false where
// none is free to.
func (e *engine) follow() bool {
	taken := e.busy
	for _, b := range e.blocks {
		if b.state != blockOpen {
			return false
		}
		if free := b.open &^ taken; free != 0 {
			e.take(b, some(free))
			return true
		}
		taken |= b.open
	}
	return false
}

// some are a quarter of the bits of a set, or one: a worker leaves some for
// others.
func some(set uint64) uint64 {
	rest := set
	for range (bits.OnesCount64(set) + 3) / 4 {
		rest &= rest - 1
	}
	return set &^ rest
}

// inputShard is the shard in whose turn that is followed which is of no pair of
// addresses, but of the whole input.
const inputShard = 0

func (e *engine) take(b *block, shards uint64) {
	e.busy |= shards
	b.open &^= shards
	b.running++
	e.mu.Unlock()
	var cut error
	for rest := shards; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		if n == inputShard {
			e.mirror.take(b.mirrored)
			e.pause(b)
			if e.cfg.Receivers {
				e.receivers.take(b)
			}
		}
		if e.shards[n] == nil {
			e.shards[n] = newShard(e.cfg.Track)
		}
		if err := e.shards[n].take(b, n, e.src); err != nil {
			cut = err
		}
	}
	e.mu.Lock()
	e.busy &^= shards
	b.running--
	e.damaged(cut, b)
	e.retire()
	e.change.Broadcast()
}

// retire takes out the oldest blocks that all shards are done with.
func (e *engine) retire() {
	for len(e.blocks) > 0 {
		b := e.blocks[0]
		if b.state != blockOpen || b.open != 0 || b.running > 0 {
			return
		}
		e.blocks = append(e.blocks[:0], e.blocks[1:]...)
		e.free = append(e.free, b)
	}
}

// damaged notes that memory under a block went away: the rest of it is lost,
// and reading goes on.
func (e *engine) damaged(err error, b *block) {
	if err != nil && (e.cut == nil || b.number >= e.cutAt) {
		e.cut, e.cutAt = err, b.number
	}
}

// beginAll lets the trackers have the packets that still wait, where those may
// be of more sessions than there is room for: one after the other, so that what
// goes is what was silent longest.
func (e *engine) beginAll() {
	waiting := 0
	for _, s := range e.shards {
		if s != nil {
			waiting += len(s.first)
		}
	}
	if n := e.cfg.Track.Packets(); n == 0 || int64(waiting) <= n {
		return
	}
	for _, s := range e.shards {
		if s != nil && len(s.first) > 0 {
			e.shareOut()
			s.begin()
		}
	}
}

// close ends all sessions, and returns what was found. end is the time of the
// last frame.
func (e *engine) close(workers int, end int64, r *Result) {
	e.beginAll()
	var next atomic.Int32
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < numShards; i = next.Add(1) - 1 {
				if s := e.shards[i]; s != nil {
					s.close(end)
				}
			}
		})
	}
	all.Wait()
	var found []*doubles
	var trackers []*track.Tracker
	for _, s := range e.shards {
		if s != nil {
			r.Senders.merge(&s.senders)
			found = append(found, s.doubles)
			trackers = append(trackers, s.tracker)
			r.Forgotten += s.tracker.Evicted
			r.Refused += s.tracker.Refused
		}
	}
	r.Duplicates = duplicates(found)
	r.Mirrors = e.mirror.result()
	r.Receivers, r.ReceiversLeftOut = e.receivers.result(), e.receivers.leftOut
	r.Signs = track.Signs(trackers...)
	e.found = e.pauses.Close(end)
	r.Sessions, r.Events, r.EventsLeftOut = track.Records(e.cfg.Track, trackers...)
	r.pauses(e.found, e.cfg.Track.MaxEvents)
}
