package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

const (
	// slowShare is the share of the rate before below which a sender is slow,
	// and backShare that from which on it has recovered.
	slowShare = 0.8
	backShare = 0.9
	// windowPackets is how many data packets a rate is taken of.
	windowPackets = 32
	// recentWindows is how many rates are kept: the least of them is the rate
	// before a CNP, so that one that varies by itself is not taken for slow.
	recentWindows = 4
	// patience is for how many windows after a CNP the sender may become slow.
	// After half of them the next CNP begins anew.
	patience = 8
	// minReach and windowReach, in nanoseconds and in windows at the rate
	// before, are how long after a CNP a sender becomes slow for it, if it does,
	// and maxReach is the most. Of one that takes longer to send a window nothing
	// can be told.
	minReach    = 1_000_000
	windowReach = 16
	maxReach    = 10_000_000
	// cnpReach is how long after a mark, in nanoseconds, another CNP may come
	// for it than the first: several are under way at once where the receiver
	// does not pace them.
	cnpReach = 1_000_000
	// runPause ends a run of marks or CNPs, in nanoseconds.
	runPause = 10_000_000
)

// ceMark is the two bits of a packet that met congestion.
const ceMark = 3

// congestion is what the marks of a flow and the CNPs for it say. A flow has
// it from its first mark or CNP on.
type congestion struct {
	data, acks, cnps uint64 // of the flow's packets that are marked
	first            int64  // mark since the last CNP, with since
	last             int64  // mark, with data > 0
	ack              int64  // last mark of an acknowledgement, with acks > 0
	since            bool
	marks            *record.CE
	pace             pace
	told             *told // nil without a CNP to the flow's sender
}

// pace is the rate at which a flow's sender sends data.
type pace struct {
	kept uint8  // of recent
	size uint32 // of the last data packet, bytes, 0 where there was none
	// The window under way: packets, and the bytes and the time between them.
	packets uint32
	bytes   uint64
	busy    int64
	window  uint64                 // bytes of the last window that is complete
	last    int64                  // time of the last data packet
	recent  [recentWindows]float64 // bytes a nanosecond
}

// told are the CNPs to a flow's sender, and what it makes of them.
type told struct {
	count    uint64
	unmarked uint64 // of them, those without a mark that they could be for
	last     int64

	delay, wait, spacing sketch.Histogram
	way                  *cnpWay // nil beyond the bound on them
	run                  *record.CNP

	state       toldState
	guessed     bool  // before is of all that the sender sent before
	windows     uint8 // since the CNP that is waited for
	before, low float64
	from        int64    // the CNP, or since when it is slow
	doubt       frameRef // the end of a slow window, before another confirms it
	share       float64  // its rate, of that before; 0 without one

	judged            uint64 // CNPs that could be held against the rate
	slowed, recovered uint64
	depth             float64
	toSlow, toRecover sketch.Histogram
}

type toldState uint8

const (
	stateUsual toldState = iota
	stateTold            // and nothing has shown yet
	stateSlow
)

// congested is f's congestion, new where it has none.
func (f *flow) congested() *congestion {
	m := f.extra()
	if m.congestion == nil {
		m.congestion = new(congestion)
	}
	return m.congestion
}

// watched says whether p, of f, has anything to do with congestion.
func (f *flow) watched(p *Packet) bool {
	return (p.TOS&ceMark == ceMark || f.more != nil && f.more.congestion != nil) && p.Copy == NoCopy && !p.Corrupt
}

// mark follows a packet of f that is no CNP.
func (t *Tracker) mark(f *flow, p *Packet, op *operation) {
	c := f.congested()
	marked := p.TOS&ceMark == ceMark
	switch {
	case op.class == classAck:
		if marked {
			c.acks++
			c.ack = p.Time
		}
		return
	case marked:
		t.markRun(f, c, p)
		c.data++
		c.last = p.Time
		if !c.since {
			c.first, c.since = p.Time, true
		}
	}
	if rate := c.pace.next(f, p, op); rate > 0 {
		t.judge(f, c, p, rate)
	}
}

// markRun notes a mark as an event, or as one more of the last.
func (t *Tracker) markRun(f *flow, c *congestion, p *Packet) {
	if m := c.marks; m != nil && p.Time-c.last <= runPause {
		m.Packets++
		m.Lasted = between(m.Began, p.Time)
		return
	}
	c.marks = &record.CE{PSN: p.PSN, Packets: 1, Began: p.Time}
	t.emit(f, p, c.marks)
}

// notify follows a CNP of g's sender. It is for the sender of g's peer.
func (t *Tracker) notify(g *flow, p *Packet) {
	b := g.bad()
	b.cnps++
	if p.TOS&ceMark == ceMark {
		g.congested().cnps++
	}
	way := t.cnpWay(g)
	way.add(p.Time, b.cnps)
	f := g.peer
	if f == nil {
		return
	}
	t.touch(f, p)
	c := f.congested()
	if c.told == nil {
		c.told = new(told)
	}
	n := c.told
	n.way = way
	var delay *int64
	switch {
	case c.data > 0 && (c.since || p.Time-c.last <= cnpReach):
		d := between(c.last, p.Time)
		delay = &d
		n.delay.Add(d)
		if c.since {
			n.wait.Add(between(c.first, p.Time))
			way.waited(between(c.first, p.Time))
		}
		if l := t.lags(f); l != nil {
			l.delay.Add(d)
			if c.since {
				l.wait.Add(between(c.first, p.Time))
			}
		}
	case c.acks > 0 && (n.count == 0 || c.ack >= n.last):
	default:
		n.unmarked++
	}
	if n.count > 0 {
		n.spacing.Add(between(n.last, p.Time))
	}
	if r := n.run; r != nil && p.Time-n.last <= runPause {
		r.CNPs++
		r.Lasted = between(r.Began, p.Time)
	} else {
		n.run = &record.CNP{Delay: delay, CNPs: 1, Began: p.Time}
		t.emit(f, p, n.run)
	}
	n.count++
	c.since, n.last = false, p.Time
	c.await(f, p.Time)
}

// await waits for what f's sender makes of a CNP. The rate before is that of
// the windows before; where there was none it is what was sent since f's first
// packet, which may be less than the sender's rate: to be below it says that it
// became slow, and not to be says nothing.
func (c *congestion) await(f *flow, now int64) {
	n, r := c.told, &c.pace
	if n.state == stateSlow || n.state == stateTold && (n.windows < patience/2 || n.share > 0) || !f.paced() {
		return
	}
	if n.guessed = r.kept == 0; n.guessed {
		took := f.last.time - f.first.time
		if f.packets-f.acks < windowPackets || took <= 0 {
			return
		}
		n.before = float64(f.bytes) / float64(took)
	} else {
		n.before = r.recent[0]
		for _, v := range r.recent[1:r.kept] {
			n.before = min(n.before, v)
		}
		n.judged++
	}
	n.state, n.from, n.windows, n.share = stateTold, now, 0, 0
	r.packets, r.bytes, r.busy = 0, 0, 0
}

// next takes a data packet of f into its rate, and returns that of the window
// which it ends, else 0. The time before it does not count where the sender had
// nothing to send, or went back.
func (r *pace) next(f *flow, p *Packet, op *operation) float64 {
	if !f.paced() {
		return 0
	}
	gap := p.Time - r.last
	size := r.size // after which the sender waits
	counts := size > 0 && gap >= 0 && !f.held(p, op)
	r.size, r.last = p.WireLen, p.Time
	if !counts {
		return 0
	}
	r.packets++
	r.bytes += uint64(size)
	r.busy += gap
	if r.packets < windowPackets || r.busy == 0 {
		return 0
	}
	rate := float64(r.bytes) / float64(r.busy)
	r.window = r.bytes
	r.packets, r.bytes, r.busy = 0, 0, 0
	return rate
}

// judge holds the rate of a window, which p ended, against that before the CNP.
func (t *Tracker) judge(f *flow, c *congestion, p *Packet, rate float64) {
	n, r := c.told, &c.pace
	switch {
	case n == nil || n.state == stateUsual:
		r.keep(rate)
	case n.state == stateSlow:
		n.low = min(n.low, rate)
		n.deepen()
		if rate < backShare*n.before {
			return
		}
		n.recovered++
		took := between(n.from, p.Time)
		n.toRecover.Add(took)
		if l := t.lags(f); l != nil {
			l.toRecover.Add(took)
		}
		t.emit(f, p, record.Recovered{Took: took, Depth: n.low / n.before})
		n.state, r.kept = stateUsual, 0
		r.keep(rate)
	case n.share == 0 && p.Time-n.from > n.reach(r.window):
		n.state = stateUsual
		if n.windows == 0 && !n.guessed {
			n.judged--
		}
		r.keep(rate)
	case rate >= slowShare*n.before:
		n.share = 0
		if n.windows++; n.windows == patience {
			n.state = stateUsual
		}
		r.keep(rate)
	case n.share == 0: // one slow window may be chance
		n.share, n.doubt = rate/n.before, refOf(p)
	default:
		n.slowed++
		if n.guessed {
			n.judged++
		}
		took := between(n.from, n.doubt.time)
		n.toSlow.Add(took)
		if l := t.lags(f); l != nil {
			l.toSlow.Add(took)
		}
		n.state, n.low, n.from = stateSlow, min(rate, n.share*n.before), n.doubt.time
		n.deepen()
		t.emitAt(f, n.doubt.ref(), record.Slow{Took: took, Share: n.share, Rate: 8e9 * n.before})
	}
}

// reach is how long after a CNP a sender that sends windows of so many bytes
// becomes slow for it.
func (n *told) reach(window uint64) int64 {
	return int64(min(minReach+windowReach*float64(window)/n.before, maxReach))
}

// keep keeps a rate.
func (r *pace) keep(rate float64) {
	copy(r.recent[1:], r.recent[:])
	r.recent[0] = rate
	r.kept = min(r.kept+1, recentWindows)
}

func (n *told) deepen() {
	if share := n.low / n.before; n.depth == 0 || share < n.depth {
		n.depth = share
	}
}

// paced says whether it can be told when f's sender has nothing to send: it
// waits for answers, and they are seen.
func (f *flow) paced() bool {
	return f.peer != nil && (f.service == record.RC || f.service == record.XRC)
}

// held says that the time before p, since the data packet before, need not be
// that which f's sender keeps between packets: it may have had nothing to send,
// or waited for the answer that came, or packets are missing between the two. Within a
// message it has something to send.
func (f *flow) held(p *Packet, op *operation) bool {
	if op.begins() {
		return true
	}
	if op.class == classResponse {
		r := f.peer.req.resp
		return r == nil || f.peer.req.blind || p.PSN != r.pos
	}
	s := f.req
	return !s.begun || s.blind || p.PSN != s.pos || s.lastAnswer >= s.last
}

// cnpKey is who sends CNPs to whom.
type cnpKey struct {
	from, to decode.Addr
	vni      uint32
}

// cnpWay is the CNPs from one address to another, whatever their QPs.
type cnpWay struct {
	count   uint64
	most    uint64 // to one QP
	last    int64
	spacing sketch.Histogram
	wait    sketch.Histogram // as congestion has it, of all QPs
	times   []int64          // of the first ones
	sender  *cnpSender
}

// cnpSender is the CNPs of one address.
type cnpSender struct {
	count, most uint64 // most: to one address
	spacing     sketch.Histogram
	wait        sketch.Histogram
}

// What is kept to tell how CNPs are paced.
const (
	maxCNPWays  = 256
	maxCNPTimes = 256
)

// cnpWay is the way that the CNPs of g go, nil beyond the bound.
func (t *Tracker) cnpWay(g *flow) *cnpWay {
	key := cnpKey{g.src, g.dst, g.vni}
	w := t.cnpWays[key]
	if w == nil && len(t.cnpWays) < maxCNPWays {
		if t.cnpWays == nil {
			t.cnpWays = make(map[cnpKey]*cnpWay)
		}
		w = new(cnpWay)
		t.cnpWays[key] = w
	}
	return w
}

// add counts a CNP, the nth of its QP.
func (w *cnpWay) add(now int64, nth uint64) {
	if w == nil {
		return
	}
	w.most = max(w.most, nth)
	if w.count > 0 && now >= w.last {
		w.spacing.Add(now - w.last)
	}
	w.count++
	w.last = max(w.last, now)
	if len(w.times) < maxCNPTimes {
		w.times = append(w.times, now)
	}
}

func (w *cnpWay) waited(ns int64) {
	if w != nil {
		w.wait.Add(ns)
	}
}
