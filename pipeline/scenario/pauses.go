package scenario

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocelens/rocelens/capture"
)

// pauses is a scenario of flow control: links with a station at either end,
// stations that pause the one at the other end, and traffic that stops for it,
// or does not. Each link has a tap in it, and is an interface of the file.
type pauses struct {
	links   []pauseLink
	holds   []hold
	sources []source
	length  time.Duration
	spreads [][2]int // holds: the second is there because of the first
}

type pauseLink struct {
	name  string
	speed uint64 // bits a second
	quiet bool   // the file does not say the speed
	ends  [2]int // stations
}

// hold is a station that pauses the one at the other end of a link, and goes on
// doing so for a time.
type hold struct {
	link, from int // from is a station
	global     bool
	priorities []int // none with global
	start      time.Duration
	length     time.Duration
	refresh    time.Duration // between frames that say so again; 0: said once
	quanta     uint16
	expire     bool // nothing is sent at the end
	times      int  // it does so this often
	every      time.Duration
	storm      bool
}

// source is a station that sends packets of one priority over a link.
type source struct {
	link, from int
	priority   int
	dscp       int
	untagged   bool
	every      time.Duration
	deaf       bool          // goes on while it is paused
	react      time.Duration // until it stops; 0 is a microsecond
}

// lateAfter is from when on packets count in PacketsTruth.Late.
const lateAfter = 50 * time.Microsecond

// everyPriority is the class of 802.3x PAUSE, behind the eight priorities.
const everyPriority = 8

// pauseRun is one run.
type pauseRun struct {
	engine
	*pauses
	truth  *Truth
	sink   Sink
	err    error
	snap   int
	buf    []byte
	timers map[timerKey]*timer
}

type timerKey struct{ link, from, class int }

// timer is for how long a priority stands still at the tap.
type timer struct {
	row   *PauseTruth
	span  *PauseSpan // nil while it may go on
	armed int        // counts, so that what was set before does nothing
	waits []func()   // to go on
}

func (p *pauses) run(name string, o Options, sink Sink) (*Truth, error) {
	r := &pauseRun{pauses: p, sink: sink, snap: o.Snaplen, timers: make(map[timerKey]*timer)}
	r.rng = rand.New(rand.NewPCG(o.Seed, 0x9a05e))
	r.truth = &Truth{Scenario: name, Seed: o.Seed, Sessions: []*SessionTruth{}}
	r.truth.Network = NetworkTruth{Speed: p.links[0].speed, Vantage: "between", IPID: "rising"}
	r.truth.Tap = TapTruth{Direction: "both", Snaplen: o.Snaplen}
	for i := range p.sources {
		r.send(i, &p.sources[i])
	}
	for i := range p.holds {
		h := &p.holds[i]
		for n := range max(h.times, 1) {
			r.at(int64(h.start+time.Duration(n)*h.every), func() { r.hold(h, r.now) })
		}
		if h.storm {
			l := &p.links[h.link]
			r.truth.Storms = append(r.truth.Storms, &StormTruth{
				Interface: l.name, MAC: macString(hostMAC(h.from)), Priorities: append([]int{}, h.priorities...),
				Start: stamp(int64(h.start)), End: stamp(int64(min(h.start+h.length, p.length))),
			})
		}
	}
	r.engine.run(int64(p.length))
	if r.err != nil {
		return nil, r.err
	}
	r.finish()
	return r.truth, nil
}

func (r *pauseRun) finish() {
	for _, t := range r.timers {
		if t.span != nil {
			r.stop(t, r.truth.Last, "capture_end")
		}
		r.truth.Pauses = append(r.truth.Pauses, t.row)
	}
	slices.SortFunc(r.truth.Pauses, func(a, b *PauseTruth) int {
		return cmp.Or(cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.MAC, b.MAC), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Priority, b.Priority))
	})
	for _, s := range r.spreads {
		a, b := &r.holds[s[0]], &r.holds[s[1]]
		r.truth.Spreads = append(r.truth.Spreads, &SpreadTruth{
			PausedBy: macString(hostMAC(a.from)), At: r.links[a.link].name, MAC: macString(hostMAC(b.from)), Then: r.links[b.link].name,
			Priority: a.priorities[0], Times: uint64(max(b.times, 1)),
		})
	}
}

// hold sends a frame that stops, those that say so again, and one that ends it.
func (r *pauseRun) hold(h *hold, start int64) {
	end := start + int64(h.length)
	if r.now >= end {
		if !h.expire {
			r.control(h, 0)
		}
		return
	}
	r.control(h, h.quanta)
	next := end
	if h.refresh > 0 {
		next = min(end, r.now+int64(h.refresh))
	}
	r.at(next, func() { r.hold(h, start) })
}

// control sends a PFC or PAUSE frame.
func (r *pauseRun) control(h *hold, quanta uint16) {
	if h.global {
		r.arm(h, everyPriority, quanta)
	}
	for _, p := range h.priorities {
		r.arm(h, p, quanta)
	}
	r.buf = appendPause(r.buf[:0], hostMAC(h.from), h.priorities, quanta)
	r.write(h.link, r.buf)
}

// appendPause makes a PFC frame of priorities, or without any a PAUSE frame.
//
//	| 01:80:c2:00:00:01 | source | 0x8808 | 0x0101 | enable (16) | eight times (16 each) | pad to 60 |
//	| 01:80:c2:00:00:01 | source | 0x8808 | 0x0001 | time (16)                          | pad to 60 |
func appendPause(b []byte, from [6]byte, priorities []int, quanta uint16) []byte {
	be := binary.BigEndian
	start := len(b)
	b = appendEthernet(b, [6]byte{1, 0x80, 0xc2, 0, 0, 1}, from, 0x8808)
	if len(priorities) == 0 {
		b = be.AppendUint16(b, 0x0001)
		b = be.AppendUint16(b, quanta)
	} else {
		var enable uint16
		var times [8]uint16
		for _, p := range priorities {
			enable |= 1 << p
			times[p] = quanta
		}
		b = be.AppendUint16(b, 0x0101)
		b = be.AppendUint16(b, enable)
		for _, t := range times {
			b = be.AppendUint16(b, t)
		}
	}
	const shortest = 60
	return append(b, make([]byte, start+shortest-len(b))...)
}

// arm sets a timer anew.
func (r *pauseRun) arm(h *hold, class int, quanta uint16) {
	k := timerKey{h.link, h.from, class}
	t := r.timers[k]
	l := &r.links[h.link]
	if t == nil {
		t = &timer{row: &PauseTruth{Interface: l.name, MAC: macString(hostMAC(h.from)), Type: "pfc", Priority: class, Spans: []*PauseSpan{}}}
		if !l.quiet {
			t.row.Speed = l.speed
		}
		if class == everyPriority {
			t.row.Type, t.row.Priority = "802.3x", 0
		}
		r.timers[k] = t
	}
	t.armed++
	if quanta == 0 {
		t.row.XOn++
		if t.span != nil {
			r.stop(t, stamp(r.now), "xon")
		}
		return
	}
	t.row.XOff++
	if t.span == nil {
		t.span = &PauseSpan{Start: stamp(r.now)}
		t.row.Spans = append(t.row.Spans, t.span)
	}
	t.span.Frames++
	armed := t.armed
	// Bit times, to the nearest nanosecond.
	ns := (int64(quanta)*512*nsPerSecond + int64(l.speed)/2) / int64(l.speed)
	r.at(r.now+ns, func() {
		if t.armed == armed {
			r.stop(t, stamp(r.now), "expired")
		}
	})
}

func (r *pauseRun) stop(t *timer, at int64, why string) {
	t.span.End, t.span.Why = at, why
	t.span = nil
	for _, w := range t.waits {
		r.at(r.now, w)
	}
	t.waits = nil
}

// send starts a source: unreliable SENDs of one packet each, at a steady pace.
func (r *pauseRun) send(n int, s *source) {
	l := &r.links[s.link]
	other := l.ends[0] + l.ends[1] - s.from
	row := &PacketsTruth{
		Interface: l.name, MAC: macString(hostMAC(s.from)), Priority: s.priority, DSCP: s.dscp, Tagged: !s.untagged, QPN: 0x200 + uint32(n),
	}
	r.truth.Packets = append(r.truth.Packets, row)
	from, to := &host{addr: hostAddr(s.from, false), ipid: uint16(n) << 12}, &host{addr: hostAddr(other, false)}
	psn := uint32(n) << 16
	react := s.react
	setIfZero(&react, time.Microsecond)
	var next func()
	next = func() {
		since, stopped := r.stopped(s.link, other, s.priority)
		if stopped != nil && !s.deaf && r.now-since >= int64(react) {
			stopped.waits = append(stopped.waits, next)
			return
		}
		row.Packets++
		if stopped != nil {
			row.Paused++
			if r.now-since > int64(lateAfter) {
				row.Late++
			}
		}
		from.ipid++
		r.write(s.link, r.packet(s, from, to, other, row.QPN, psn))
		psn++
		r.at(r.now+int64(s.every), next)
	}
	r.at(int64(s.every)*int64(n)/int64(len(r.sources)), next)
}

// stopped is the timer that stops a priority, and since when.
func (r *pauseRun) stopped(link, by, priority int) (since int64, t *timer) {
	for _, class := range []int{priority, everyPriority} {
		if x := r.timers[timerKey{link, by, class}]; x != nil && x.span != nil {
			return x.span.Start - epoch, x
		}
	}
	return 0, nil
}

// packet is a SEND ONLY of the unreliable connection service.
func (r *pauseRun) packet(s *source, from, to *host, other int, qpn, psn uint32) []byte {
	b := r.buf[:0]
	if s.untagged {
		b = appendEthernet(b, hostMAC(other), hostMAC(s.from), etherIPv4)
	} else {
		b = appendEthernet(b, hostMAC(other), hostMAC(s.from), etherVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(s.priority)<<13|100)
		b = binary.BigEndian.AppendUint16(b, etherIPv4)
	}
	ip := len(b)
	n := bthLen + kib + icrcLen
	b = appendIPv4(b, from, to, udpLen+n, protoUDP, uint8(s.dscp)<<2|ecnECT0, defaultTTL, from.ipid)
	b = appendUDP(b, labelPort(qpnFlowLabel(qpn, qpn)), udpLen+n)
	bth := len(b)
	b = append(b, groupUC|opSendOnly, 0x40, 0xff, 0xff)
	b = binary.BigEndian.AppendUint32(b, qpn)
	b = binary.BigEndian.AppendUint32(b, psn&psnMask)
	b = append(b, pattern[psn%patternHalf:][:kib]...)
	b = binary.BigEndian.AppendUint32(b, icrc(b[ip:], bth-ip, false))
	r.buf = b
	return b
}

func (r *pauseRun) write(link int, b []byte) {
	if r.err != nil {
		return
	}
	t := r.truth
	t.Frames++
	if t.Frames == 1 {
		t.First = stamp(r.now)
	}
	t.Last = stamp(r.now)
	t.Bytes += uint64(len(b))
	f := capture.Frame{Data: b, Time: t.Last, Number: t.Frames, OrigLen: uint32(len(b)), Interface: int32(link), Link: capture.LinkEthernet, FCSLen: -1}
	if r.snap > 0 && len(b) > r.snap {
		f.Data = b[:r.snap]
	}
	if r.err = r.sink.WriteFrame(&f); r.err != nil {
		r.halted = true
	}
}

// interfaces describes the taps.
func (p *pauses) interfaces(snaplen int) []capture.Interface {
	var all []capture.Interface
	for _, l := range p.links {
		i := capture.Interface{Name: l.name, Description: "simulated tap", Link: capture.LinkEthernet, SnapLen: uint32(snaplen), FCSLen: -1, TSResol: 9}
		if !l.quiet {
			i.Speed = l.speed
		}
		all = append(all, i)
	}
	return all
}
