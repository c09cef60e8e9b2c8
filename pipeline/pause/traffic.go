package pause

import (
	"cmp"
	"slices"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Packet is what is needed of a RoCE packet, to see whether those who are told
// to pause do so, and who stands still for it.
type Packet struct {
	Time             int64
	Number           uint64
	Offset           int64
	Input, Interface int32
	Src, Dst         decode.MAC
	Priority         int8 // NoPriority where it is not known
	WireLen          uint32
	Flow             Flow
}

// NoPriority is the priority of a packet that has none.
const NoPriority = -1

// Flow names the flow of a packet.
type Flow struct {
	Src, Dst decode.Addr
	Kind     decode.AddrKind
	DestQP   uint32
	VNI      uint32
}

// Traffic is what a flow sent to a station that paused it, from the first frame
// of that row on.
type Traffic struct {
	Row  int
	Flow Flow
	// Packets and Bytes are those captured while it was paused.
	Packets, Bytes uint64
	First, Last    int64 // times of its packets, from the row's first frame on
	// Paused is for how long it was, in ns: Before the first packet, and up to
	// the last.
	PausedBefore, Paused int64
	// Waits counts the pauses that interrupted it: it sent shortly before, or in
	// the pause, and went on shortly after. Waited is how long it sent nothing
	// in them, in ns. Stopped says that the last one did not end.
	Waits   uint64
	Waited  int64
	Stopped bool
	// Opening is how long the pause was that ended shortly before First, 0 where
	// there was none: a flow that is older than that may have waited for it.
	Opening int64
}

// Late is what went on after a pause began, when it should have stopped.
type Late struct {
	Packets uint64
	Pauses  uint64 // in which there were any
	Longest int64  // ns after the beginning of the pause
	First   record.FrameRef
	From    decode.MAC
	Mixed   bool // they come from several stations
}

// Bounds of what is kept of traffic.
const (
	maxLanes = 1 << 12
	maxFlows = 1 << 12
)

// laneKey is a priority of what goes from one station to another at an
// interface.
type laneKey struct {
	input, iface int32
	src, dst     decode.MAC
	priority     int8
}

// lane is its traffic.
type lane struct {
	known int        // pausers when this was looked up
	by    [2]*pauser // who may pause it, with PFC and with PAUSE; nil for nobody
}

// placeKey is an interface.
type placeKey struct{ input, iface int32 }

// Active says whether anything was ever paused: before, packets mean nothing.
func (t *Tracker) Active() bool { return len(t.pausers) > 0 }

// Packet takes a packet that came after the frames before it.
func (t *Tracker) Packet(p *Packet) {
	k := laneKey{p.Input, p.Interface, p.Src, p.Dst, p.Priority}
	l := t.lanes[k]
	if l == nil {
		if len(t.lanes) >= maxLanes {
			t.lanesLeftOut = true
			return
		}
		l = new(lane)
		t.lanes[k] = l
	}
	if l.known != len(t.pausers) {
		l.known = len(t.pausers)
		l.by = t.whoPauses(&k)
	}
	for i, by := range l.by {
		c := everything
		if i == 0 {
			if c = class(p.Priority); p.Priority == NoPriority {
				continue
			}
		}
		if by == nil || by.rows[c] == nil || by.speed == 0 {
			continue
		}
		t.sent(by.rows[c], p)
	}
}

// whoPauses are the pausers that can stop a lane, those at the end of the link
// to which it goes. That is where the destination is; behind a switch that only
// forwards it is where the source is not, if there is one other.
func (t *Tracker) whoPauses(k *laneKey) (by [2]*pauser) {
	at := t.places[placeKey{k.input, k.iface}]
	has := func(mac decode.MAC) bool {
		return slices.ContainsFunc(at, func(p *pauser) bool { return p.key.mac == mac })
	}
	to := k.dst
	if !has(k.dst) && has(k.src) {
		for _, p := range at {
			switch {
			case p.key.mac == k.src || p.key.mac == to:
			case to != k.dst:
				return by // more than two ends: it is no link
			default:
				to = p.key.mac
			}
		}
	}
	for _, p := range at {
		if p.key.mac == to && p.key.pfc {
			by[0] = p
		} else if p.key.mac == to {
			by[1] = p
		}
	}
	return by
}

// sent takes a packet to the station that a row is of.
func (t *Tracker) sent(r *row, p *Packet) {
	now := max(min(p.Time, maxTime), r.last)
	paused, soFar := r.paused && now < r.until, r.Paused
	if r.paused {
		soFar += min(now, r.until) - r.last
	}
	f := r.flows[p.Flow]
	if f == nil {
		if t.flows >= maxFlows {
			t.result.TrafficLeftOut++
		} else {
			t.flows++
			if r.flows == nil {
				r.flows = make(map[Flow]*Traffic)
			}
			f = &Traffic{Flow: p.Flow, First: now, Last: now, PausedBefore: soFar, Paused: soFar}
			if start, end := r.now.Start.Time, r.ended(); !paused && r.Pauses > 0 && now <= end+max(end-start, nearPause) {
				f.Opening = end - start
			}
			r.flows[p.Flow] = f
		}
	}
	if f != nil {
		if now >= f.Last { // else it is out of order
			if !paused {
				f.wait(r, now)
			}
			f.Last, f.Paused = now, max(f.Paused, soFar)
		}
		if paused {
			f.Packets++
			f.Bytes += uint64(p.WireLen)
		}
	}
	if since := now - r.now.Start.Time; paused && since > allowed(r.Speed) {
		r.late(p, since)
	}
}

// nearPause is the least time around a pause that counts as short, in ns.
const nearPause = 50 * int64(time.Microsecond)

// wait looks, at a packet after a pause, whether that interrupted the flow: what
// is short is as long as the pause.
func (f *Traffic) wait(r *row, now int64) {
	start, end := r.now.Start.Time, r.ended()
	near := max(end-start, nearPause)
	if r.Pauses > 0 && f.Last < end && f.Last >= start-near && now <= end+near {
		f.Waits++
		f.Waited += end - max(start, f.Last)
	}
}

// ended is when the last pause ended, or will.
func (r *row) ended() int64 {
	if r.paused {
		return r.until
	}
	return r.now.Start.Time + r.now.Paused
}

func (r *row) late(p *Packet, since int64) {
	l := &r.Late
	if l.Packets == 0 {
		l.First = record.FrameRef{Input: p.Input, Number: p.Number, Time: p.Time, Offset: p.Offset}
		l.From = p.Src
	}
	l.Packets++
	l.Mixed = l.Mixed || l.From != p.Src
	l.Longest = max(l.Longest, since)
	if r.latePause != r.Pauses {
		r.latePause = r.Pauses
		l.Pauses++
	}
}

// allowed is for how long packets may still be seen after a pause began. The
// station takes its time: IEEE 802.3 (annex 31B) allows 60 quanta at
// 10 Gbit/s, 118 at 40, 394 at 100, all of which is 1.5 to 3.1 us. The frame
// that it is sending has to end, and so has the one that is on its way in; the
// cable takes 5 ns a metre, twice. Ten microseconds and two large frames leave
// room for that, and for the time stamps.
func allowed(speed uint64) int64 {
	const frame = 9216 * 8 // bits
	return 10*int64(time.Microsecond) + int64(2*frame*uint64(time.Second)/speed)
}

// traffic lists the flows, in an order that depends on them alone.
func (t *Tracker) traffic() {
	for i, r := range t.rows {
		n := len(t.result.Traffic)
		for _, f := range r.flows {
			f.Row = i
			if start := r.now.Start.Time; r.Pauses > 0 && r.now.End == record.PauseCaptured && f.Last >= start-max(r.now.Paused, nearPause) {
				f.Waits++
				f.Waited += max(0, start+r.now.Paused-max(start, f.Last))
				f.Stopped = true
			}
			t.result.Traffic = append(t.result.Traffic, *f)
		}
		slices.SortFunc(t.result.Traffic[n:], func(a, b Traffic) int { return a.Flow.compare(b.Flow) })
	}
	t.result.TrafficOf(Flow{}) // makes its index
}

func (f Flow) compare(g Flow) int {
	return cmp.Or(
		cmp.Compare(f.Kind, g.Kind), cmp.Compare(f.Src.Hi, g.Src.Hi), cmp.Compare(f.Src.Lo, g.Src.Lo), cmp.Compare(f.Dst.Hi, g.Dst.Hi),
		cmp.Compare(f.Dst.Lo, g.Dst.Lo), cmp.Compare(f.DestQP, g.DestQP), cmp.Compare(f.VNI, g.VNI),
	)
}
