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
	// slowReach is how long after a CNP, in nanoseconds, a sender becomes slow
	// for it, if it does. Of one that takes longer to send a window nothing can
	// be told.
	slowReach = 10_000_000
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

	// CNPs to the flow's sender.
	told     uint64
	unmarked uint64 // of them, those without a mark that they could be for
	first    int64  // mark since the last CNP, with since
	last     int64  // mark, with data > 0
	ack      int64  // last mark of an acknowledgement, with acks > 0
	since    bool
	cnp      int64 // the last, with told > 0

	delay, wait, spacing sketch.Histogram
	way                  *cnpWay // nil beyond the bound on them
	marks                *record.CE
	run                  *record.CNP
	runEnd               int64 // time of the last CNP of run

	pace pace
}

// pace is the rate at which a flow's sender sends data, and what CNPs make of
// it.
type pace struct {
	begun   bool
	state   paceState
	kept    uint8 // of recent
	windows uint8 // since the CNP that is waited for
	last    int64 // time of the last data packet
	// The window under way: packets, and the bytes and the time between them.
	packets uint32
	bytes   uint64
	busy    int64

	recent      [recentWindows]float64 // bytes a nanosecond
	before, low float64
	from        int64 // the CNP, or since when it is slow

	guessed bool // before is of all that the sender sent before

	judged            uint64 // CNPs that could be held against the rate
	slowed, recovered uint64
	toSlow, toRecover sketch.Histogram
	depth             float64
}

type paceState uint8

const (
	paceUsual paceState = iota
	paceTold
	paceSlow
)

// congested is f's congestion, new where it has none.
func (f *flow) congested() *congestion {
	b := f.bad()
	if b.congestion == nil {
		b.congestion = new(congestion)
	}
	return b.congestion
}

// watched says whether p, of f, has anything to do with congestion.
func (f *flow) watched(p *Packet) bool {
	return (p.TOS&ceMark == ceMark || f.trouble != nil && f.trouble.congestion != nil) && p.Copy == NoCopy && !p.Corrupt
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
	t.follow(f, &c.pace, p, op)
}

// markRun notes a mark as an event, or as one more of the last.
func (t *Tracker) markRun(f *flow, c *congestion, p *Packet) {
	if m := c.marks; m != nil && p.Time-c.last <= runPause {
		m.Packets++
		m.Lasted = p.Time - m.Began
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
	c := f.congested()
	c.way = way
	var delay *int64
	switch {
	case c.data > 0 && (c.since || p.Time-c.last <= cnpReach):
		d := p.Time - c.last
		delay = &d
		c.delay.Add(d)
		if c.since {
			c.wait.Add(p.Time - c.first)
			way.waited(p.Time - c.first)
		}
	case c.acks > 0 && (c.told == 0 || c.ack >= c.cnp):
	default:
		c.unmarked++
	}
	if c.told > 0 {
		c.spacing.Add(p.Time - c.cnp)
	}
	c.told++
	c.since, c.cnp = false, p.Time
	if r := c.run; r != nil && p.Time-c.runEnd <= runPause {
		r.CNPs++
		r.Lasted = p.Time - r.Began
	} else {
		c.run = &record.CNP{Delay: delay, CNPs: 1, Began: p.Time}
		t.emit(f, p, c.run)
	}
	c.runEnd = p.Time
	c.pace.told(f, p.Time)
}

// told notes a CNP to f's sender. The rate before is that of the windows
// before; where there was none it is what was sent since f's first packet, which
// may be less than the sender's rate: to be below it says that it became slow,
// and not to be says nothing.
func (r *pace) told(f *flow, now int64) {
	if r.state == paceSlow || r.state == paceTold && r.windows < patience/2 || !f.paced() {
		return
	}
	if r.guessed = r.kept == 0; r.guessed {
		took := f.last.time - f.first.time
		if f.packets-f.acks < windowPackets || took <= 0 {
			return
		}
		r.before = float64(f.bytes) / float64(took)
	} else {
		r.before = r.recent[0]
		for _, v := range r.recent[1:r.kept] {
			r.before = min(r.before, v)
		}
		r.judged++
	}
	r.state, r.from, r.windows = paceTold, now, 0
	r.packets, r.bytes, r.busy = 0, 0, 0
}

// follow takes a data packet of f into its rate. The time before it does not
// count where the sender had nothing to send, or went back.
func (t *Tracker) follow(f *flow, r *pace, p *Packet, op *operation) {
	if !f.paced() {
		return
	}
	gap := p.Time - r.last
	counts := r.begun && gap >= 0 && !f.idleBefore(r.last, p, op)
	r.begun, r.last = true, p.Time
	if !counts {
		return
	}
	r.packets++
	r.bytes += uint64(p.WireLen)
	r.busy += gap
	if r.packets < windowPackets || r.busy == 0 {
		return
	}
	rate := float64(r.bytes) / float64(r.busy)
	r.packets, r.bytes, r.busy = 0, 0, 0
	switch r.state {
	case paceUsual:
		r.keep(rate)
	case paceTold:
		if p.Time-r.from > slowReach {
			r.state = paceUsual
			if r.windows == 0 && !r.guessed {
				r.judged--
			}
			r.keep(rate)
			return
		}
		if rate >= slowShare*r.before {
			if r.windows++; r.windows == patience {
				r.state = paceUsual
			}
			r.keep(rate)
			return
		}
		r.slowed++
		if r.guessed {
			r.judged++
		}
		took := p.Time - r.from
		r.toSlow.Add(took)
		r.state, r.low, r.from = paceSlow, rate, p.Time
		r.deepen()
		t.emit(f, p, record.Slow{Took: took, Share: rate / r.before, Rate: 8e9 * r.before})
	case paceSlow:
		r.low = min(r.low, rate)
		r.deepen()
		if rate < backShare*r.before {
			return
		}
		r.recovered++
		took := p.Time - r.from
		r.toRecover.Add(took)
		t.emit(f, p, record.Recovered{Took: took, Depth: r.low / r.before})
		r.state, r.kept = paceUsual, 0
		r.keep(rate)
	}
}

// keep keeps a rate.
func (r *pace) keep(rate float64) {
	copy(r.recent[1:], r.recent[:])
	r.recent[0] = rate
	r.kept = min(r.kept+1, recentWindows)
}

func (r *pace) deepen() {
	if share := r.low / r.before; r.depth == 0 || share < r.depth {
		r.depth = share
	}
}

// paced says whether it can be told when f's sender has nothing to send: it
// waits for answers, and they are seen.
func (f *flow) paced() bool {
	return f.peer != nil && (f.service == record.RC || f.service == record.XRC)
}

// idleBefore says that the time before p, since the data packet before, is none
// in which f's sender kept to a rate.
func (f *flow) idleBefore(last int64, p *Packet, op *operation) bool {
	if op.class == classResponse {
		return op.begins() && f.peer.req.last >= last // it was asked for only now
	}
	s := f.req
	if !s.begun || p.PSN != s.pos {
		return true
	}
	return op.begins() && (!s.heard || s.hasAcked && psnDiff(s.acked, s.pos) >= 0)
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
