package track

import (
	"math"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Intervals says who takes what flows did in each interval, while packets are
// followed.
type Intervals struct {
	// Length is that of an interval, in nanoseconds; 0 is one second.
	Length int64
	// Sink takes records of intervals that are over; nil takes none, and nothing
	// is kept for it. The records, and the buckets of their histograms, are the
	// tracker's again when it returns. A Tracker calls it from within its own
	// methods, and Records does, never two at a time for the same Tracker. Where
	// several goroutines have a Tracker each, they call it at the same time.
	//
	// The records of a flow come in the order of their intervals, once time has
	// gone beyond them. Those of its first packets come later, when the flow has
	// its peer or does not wait for it any more.
	Sink func([]record.FlowInterval)
}

const (
	defaultInterval = 1_000_000_000
	maxInterval     = 1 << 60
)

// intervals are those of a tracker that are open: one for each flow of which
// something was counted in it. What a flow's totals were when it began is kept,
// and what they are more when it ends is told.
//
// So each change of a flow's totals has to find its interval open. A packet
// opens that of its flow, an answer or a CNP that of the peer, whose requests it
// is about, and the end of a flow that of a flow with something to settle.
type intervals struct {
	length int64
	sink   func([]record.FlowInterval)

	at   []*interval // by flow.slot
	open []*interval
	edge int64 // what ends until then is closed, but for flows whose first packets have waited
	next int64 // the time to look for more

	macs   macs
	batch  []record.FlowInterval
	closed []*interval // whose histograms those in batch are
	pools  pools

	// What at holds of flows without an open interval: one that has had none, and
	// one that has.
	never, over interval
}

// intervalBytes is what a flow's interval takes, as flowBytes has it.
const intervalBytes = 500

// recordsAtOnce is how many records the sink gets at most.
const recordsAtOnce = 16

func newIntervals(cfg *Intervals) *intervals {
	if cfg.Sink == nil {
		return nil
	}
	x := &intervals{length: cfg.Length, sink: cfg.Sink, edge: math.MinInt64, next: math.MinInt64, batch: make([]record.FlowInterval, 0, recordsAtOnce)}
	if x.length <= 0 {
		x.length = defaultInterval
	}
	x.length = min(x.length, maxInterval)
	x.never.end, x.over.end = math.MinInt64, math.MinInt64
	return x
}

// startOf is the start of the interval that a time is in. Times at the ends of
// what an int64 holds count as less extreme ones.
func (x *intervals) startOf(time int64) int64 {
	time = min(max(time, -1<<62), 1<<62)
	into := time % x.length
	if into < 0 {
		into += x.length
	}
	return time - into
}

// keep makes room for the interval of a new flow.
func (x *intervals) keep(f *flow) {
	if x == nil {
		return
	}
	for int(f.slot) >= len(x.at) {
		x.at = append(x.at, &x.never)
	}
}

// forget closes the interval of a flow that goes.
func (x *intervals) forget(f *flow) {
	if x == nil {
		return
	}
	if iv := x.at[f.slot]; iv.isOpen() {
		x.takeOut(iv)
		x.close(iv)
	}
	f.open = false
	x.at[f.slot] = &x.never
}

// move moves what is kept of the flow in a slot to another before it.
func (x *intervals) move(from, to int) {
	if x != nil {
		x.at[to] = x.at[from]
	}
}

// has says whether the interval of f that p is in is sure to be open: f's last
// packet has opened it. It looks at what is at hand, which is quick.
func (x *intervals) has(f *flow, p *Packet) bool {
	return f.open && f.last.time >= x.edge && p.Time < x.next && f.packets > 0 // else its packets wait, and last is one of them
}

// see opens the interval of f for its packet p, which is about to be counted.
func (x *intervals) see(f *flow, p *Packet) {
	if f.slot < 0 { // it was forgotten while its packets waited
		return
	}
	iv := x.at[f.slot]
	if p.Time >= iv.end {
		iv = x.begin(f, p.Time, p)
	}
	if p.Copy == NoCopy && !iv.any {
		iv.any, iv.first = true, p.Time
		iv.macs, iv.input, iv.iface = p.macs, p.Input, p.Interface
	}
}

// touch opens the interval of f, the counts of which p may change.
func (t *Tracker) touch(f *flow, p *Packet) {
	x := t.intervals
	if x == nil || x.has(f, p) || f.slot < 0 {
		return
	}
	if p.Time >= x.at[f.slot].end {
		x.begin(f, p.Time, p)
	}
}

// interval is the open interval of f, one of the time that it is now where none
// is open. It is nil where none are asked for.
func (t *Tracker) interval(f *flow) *interval {
	if t.intervals == nil {
		return nil
	}
	return t.intervals.of(f, t.now)
}

func (x *intervals) of(f *flow, now int64) *interval {
	if f.slot < 0 {
		return nil
	}
	if iv := x.at[f.slot]; iv.isOpen() {
		return iv
	}
	return x.begin(f, now, nil)
}

// begin opens the interval of f that a time is in, and closes the one before.
// p is the packet that it begins with, nil without one.
func (x *intervals) begin(f *flow, time int64, p *Packet) *interval {
	start := x.startOf(time)
	last := x.at[f.slot]
	switch {
	case last == &x.over:
		start = max(start, x.edge)
	case last == &x.never:
	case start <= last.start:
		return last
	}
	iv := x.pools.intervals.get()
	*iv = interval{start: start, end: start + x.length, f: f, input: f.last.ref().Input, iface: -1, before: f.totals()}
	if p != nil {
		iv.input, iv.iface = p.Input, p.Interface
	}
	if f.trouble != nil || f.more != nil {
		iv.oddBefore = x.pools.odd.get()
		*iv.oddBefore = f.oddTotals()
	}
	if m := f.more; m != nil && (m.tos != nil || m.odd != nil) {
		iv.classesBefore = x.pools.classes.get()
		iv.classesBefore.take(m)
	}
	if last.isOpen() {
		iv.place = last.place
		x.open[iv.place] = iv
		x.close(last)
	} else {
		iv.place = len(x.open)
		x.open = append(x.open, iv)
	}
	x.at[f.slot], f.open = iv, true
	return iv
}

// takeOut takes an interval out of those that are open.
func (x *intervals) takeOut(iv *interval) {
	last := len(x.open) - 1
	x.open[iv.place] = x.open[last]
	x.open[iv.place].place = iv.place
	x.open[last] = nil
	x.open = x.open[:last]
}

// Advance tells that time has come to now, in nanoseconds, though there was no
// packet: intervals that are over by then need not wait for one, and nor does
// what Config.Tell takes.
func (t *Tracker) Advance(now int64) {
	t.closeBefore(now)
	if x := t.teller; x != nil && now >= x.next {
		t.looks(now)
	}
}

// closeBefore closes intervals that are over by now.
func (t *Tracker) closeBefore(now int64) {
	if x := t.intervals; x != nil && now >= x.next {
		x.sweep(now)
	}
}

// sweep closes what is over by now.
func (x *intervals) sweep(now int64) {
	x.edge = max(x.startOf(now), x.edge)
	x.next = x.edge + x.length
	x.closeAll(func(iv *interval) bool { return iv.end <= x.edge })
}

// stepBack closes all, and goes on from an earlier time.
func (x *intervals) stepBack(now int64) {
	x.closeAll(func(*interval) bool { return true })
	x.edge = x.startOf(now)
	x.next = x.edge + x.length
}

// closeAll closes some of what is open.
func (x *intervals) closeAll(some func(iv *interval) bool) {
	for i := 0; i < len(x.open); {
		iv := x.open[i]
		if !some(iv) {
			i++
			continue
		}
		x.takeOut(iv)
		x.at[iv.f.slot], iv.f.open = &x.over, false
		x.close(iv)
	}
	x.flush()
}

// close makes the record of an interval that is over, unless it has nothing to
// tell.
func (x *intervals) close(iv *interval) {
	if iv.empty() {
		x.pools.put(iv)
		return
	}
	x.batch = x.batch[:len(x.batch)+1]
	iv.record(&x.batch[len(x.batch)-1], x)
	x.closed = append(x.closed, iv)
	if len(x.batch) == cap(x.batch) {
		x.flush()
	}
}

// flush lets the sink have the records there are.
func (x *intervals) flush() {
	if len(x.batch) == 0 {
		return
	}
	x.sink(x.batch)
	x.batch = x.batch[:0]
	for i, iv := range x.closed {
		x.pools.put(iv)
		x.closed[i] = nil
	}
	x.closed = x.closed[:0]
}

// beforeSettling opens the interval of a flow that has something to settle.
func (t *Tracker) beforeSettling(f *flow) {
	if t.intervals == nil {
		return
	}
	b, s := f.trouble, f.req
	if s.rec != nil || s.resp != nil && len(s.resp.jumbled) > 0 || b != nil && b.duplicates.Network > 0 {
		t.interval(f)
	}
}

// unsure says whether what f lost is known only once all trackers are closed: it
// carries datagrams, and where its sender sends others may be told by another
// one.
func (f *flow) unsure() bool {
	return f.ud && f.trouble != nil && f.trouble.lost.BeforeTap != 0 && f.more.source.destinations == 1
}

// closeIntervals closes all intervals but those of flows of which more may be
// told by other trackers.
func (t *Tracker) closeIntervals() {
	x := t.intervals
	if x == nil {
		return
	}
	for _, f := range t.all {
		if f.unsure() {
			t.interval(f)
		}
	}
	x.closeAll(func(iv *interval) bool { return !iv.f.unsure() })
}

// finish closes all intervals.
func (x *intervals) finish() {
	if x != nil {
		x.closeAll(func(*interval) bool { return true })
	}
}

// otherDestination notes that the sender of datagrams sends to another QP too, by
// p. What is missing of those to the first one says nothing any more.
func (t *Tracker) otherDestination(s *udSource, p *Packet) {
	if s.only != nil {
		t.touch(s.only, p)
		s.only = nil
	}
}
