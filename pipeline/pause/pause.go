// Package pause follows the frames that pause traffic: priority-based flow
// control (IEEE 802.1Qbb) and 802.3x PAUSE. Fed with what they say, in the
// order of time, it tells for how long each sender kept each priority paused at
// each interface, which pauses are storms, and which began while another one
// lasted.
//
// A pause lasts from a frame with a time until one with the time 0, until that
// time is up, or until the capture ends. Times are in quanta of 512 bit times,
// so they mean something only where the speed of the link is known; elsewhere
// frames are counted, and that is all.
package pause

import (
	"math"
	"math/bits"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Frame is what a PFC or PAUSE frame says.
type Frame struct {
	Time             int64 // ns
	Number           uint64
	Offset           int64
	Input, Interface int32
	MAC              decode.MAC // the sender
	PFC              bool       // otherwise PAUSE, of which bit and time 0 count
	Enable           uint8      // bit n: the time of priority n counts
	Quanta           [8]uint16  // units of 512 bit times
}

// Read takes over what p, a PFC or PAUSE frame, says.
func (f *Frame) Read(p *decode.Packet) {
	at := p.Frame
	*f = Frame{
		Time: at.Time, Number: at.Number, Offset: at.Offset, Input: at.Input, Interface: at.Interface,
		MAC: p.SrcMAC, PFC: p.Kind == decode.KindPFC, Enable: p.Pause.Enable, Quanta: p.Pause.Quanta,
	}
}

func (f *Frame) ref() record.FrameRef {
	return record.FrameRef{Input: f.Input, Number: f.Number, Time: f.Time, Offset: f.Offset}
}

// Link is what is known of an interface.
type Link struct {
	Name  string
	Speed uint64 // bits a second, 0 where unknown
}

// Config says what a storm is, and bounds what is kept.
type Config struct {
	// StormShare and StormWindow: a storm is a priority paused for more than
	// that share of that time.
	StormShare  float64
	StormWindow time.Duration
	// MaxIntervals bounds Result.Intervals.
	MaxIntervals int
	// Tell takes pauses before the end.
	Tell Tell
}

// DefaultConfig has the time after which PFC watchdogs step in: SONiC's
// "pfcwd start_default" detects after 200 ms and restores after 200 ms
// (sonic-utilities, pfcwd/main.py), Junos polls every 100 ms, detects after two
// polls and recovers after 200 ms (Junos class of service guide, "PFC
// watchdog").
func DefaultConfig() Config {
	return Config{StormShare: 0.9, StormWindow: 200 * time.Millisecond, MaxIntervals: 1 << 16}
}

// Bounds of what a tracker keeps, in a megabyte or two.
const (
	maxPausers   = 256     // a fabric of 64 switches' ports; what others say is counted
	maxStorms    = 1 << 10 // and runs, in 200 KiB each
	maxRuns      = 1 << 12
	maxRelations = 1 << 12
)

// minSpeed is the least speed that is taken for a link's, and maxTime a time
// that no sum with a pause goes beyond: captures can say anything.
const (
	minSpeed = 1_000_000
	maxTime  = math.MaxInt64 - int64(time.Hour)
)

// class is what a frame can pause: a priority, or, with PAUSE, everything.
type class uint8

const (
	everything class = 8
	numClasses int   = 9
)

type pauserKey struct {
	input, iface int32
	mac          decode.MAC
	pfc          bool
}

// pauser is a sender at an interface.
type pauser struct {
	key   pauserKey
	of    record.Pauser
	speed uint64
	rows  [numClasses]*row
	storm *Storm // the last one
}

// row is a priority of a sender.
type row struct {
	Row
	by    *pauser
	class class
	order int // among all rows, as they came

	last   int64 // time up to which it is accounted for
	paused bool
	until  int64 // when it may go on, if paused
	now    record.PauseInterval
	run    *Run // nil where none is open
	runEnd int64
	window window
	storm  *Storm // nil where there is none

	flows     map[Flow]*Traffic
	latePause uint64 // number of the last pause with late packets
}

// Tracker follows pauses.
type Tracker struct {
	cfg       Config
	link      func(input, iface int32) Link
	need      int64 // ns of a window that make a storm
	pausers   map[pauserKey]*pauser
	rows      []*row
	active    [numClasses][]*row // paused ones, and some that are no longer
	storms    []*Storm
	runs      []*Run
	relations map[[2]int]*Relation
	places    map[placeKey][]*pauser
	lanes     map[laneKey]*lane
	flows     int // of all rows
	result    Result
	teller    *teller // nil where nobody takes pauses before the end

	lanesLeftOut bool
}

// New makes a tracker. link says what is known of an interface; it is asked
// once for each sender there.
func New(cfg Config, link func(input, iface int32) Link) *Tracker {
	t := &Tracker{
		cfg: cfg, link: link, pausers: make(map[pauserKey]*pauser), relations: make(map[[2]int]*Relation),
		places: make(map[placeKey][]*pauser), lanes: make(map[laneKey]*lane),
	}
	t.teller = newTeller(&cfg)
	t.need = max(1, int64(cfg.StormShare*float64(cfg.StormWindow)))
	return t
}

// Add takes a frame. One that is earlier than what came before is taken to be
// of the same time.
func (t *Tracker) Add(f *Frame) {
	enable := f.Enable
	if !f.PFC {
		enable &= 1
	}
	if enable == 0 {
		return // it was cut off before its times, or says nothing
	}
	p := t.pauser(f)
	if p == nil {
		t.result.LeftOut += uint64(bits.OnesCount8(enable))
		return
	}
	for rest := enable; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros8(rest)
		c := class(i)
		if !f.PFC {
			c = everything
		}
		t.take(t.row(p, c), f, f.Quanta[i])
	}
}

func (t *Tracker) pauser(f *Frame) *pauser {
	k := pauserKey{f.Input, f.Interface, f.MAC, f.PFC}
	if p := t.pausers[k]; p != nil {
		return p
	}
	if len(t.pausers) >= maxPausers {
		return nil
	}
	l := t.link(f.Input, f.Interface)
	if l.Speed < minSpeed {
		l.Speed = 0
	}
	p := &pauser{key: k, speed: l.Speed, of: record.Pauser{Input: f.Input, Interface: f.Interface, Name: l.Name, MAC: f.MAC, PFC: f.PFC}}
	t.pausers[k] = p
	at := placeKey{f.Input, f.Interface}
	t.places[at] = append(t.places[at], p)
	return p
}

func (t *Tracker) row(p *pauser, c class) *row {
	if p.rows[c] == nil {
		r := &row{by: p, class: c, order: len(t.rows), window: newWindow(math.MinInt64)}
		r.Pauser, r.Speed = p.of, p.speed
		if c != everything {
			r.Priority = uint8(c)
		}
		p.rows[c] = r
		t.rows = append(t.rows, r)
	}
	return p.rows[c]
}

// take takes what a frame says of one priority.
func (t *Tracker) take(r *row, f *Frame, quanta uint16) {
	if r.XOff+r.XOn == 0 {
		r.First, r.last = f.ref(), min(f.Time, maxTime)
	}
	if quanta > 0 {
		r.XOff++
		r.QuantaSum += uint64(quanta)
		r.QuantaMax = max(r.QuantaMax, quanta)
	} else {
		r.XOn++
	}
	if r.Speed == 0 {
		return
	}
	now := max(min(f.Time, maxTime), r.last)
	t.advance(r, now)
	if quanta == 0 {
		if r.paused {
			t.end(r, now, record.PauseResumed)
		}
		return
	}
	if !r.paused {
		t.begin(r, f, now)
	}
	r.until = now + quantaTime(quanta, r.Speed)
	r.now.Frames++
	r.now.Quanta += uint64(quanta)
	r.window.slot().frames++
	if r.storm != nil {
		r.storm.priority(r.class).Frames++
	}
}

// quantaTime is a time in ns, to the nearest.
func quantaTime(quanta uint16, speed uint64) int64 {
	const bitTimes = 512
	return int64((uint64(quanta)*bitTimes*uint64(time.Second) + speed/2) / speed)
}

// advance accounts for the time until now: a pause whose time was up before
// has ended.
func (t *Tracker) advance(r *row, now int64) {
	if r.paused && r.until < now {
		t.account(r, r.until)
		t.end(r, r.until, record.PauseExpired)
	}
	t.account(r, now)
}

// account accounts for the time until now, through which the row was paused or
// not.
func (t *Tracker) account(r *row, now int64) {
	t.watch(r, now)
	if r.paused {
		r.Paused += now - r.last
	}
	r.last = now
}

func (t *Tracker) begin(r *row, f *Frame, now int64) {
	r.paused = true
	r.Pauses++
	start := f.ref()
	start.Time = now
	r.now = record.PauseInterval{Pauser: r.Pauser, Priority: r.Priority, Start: start}
	t.relate(r, now)
	t.active[r.class] = append(t.active[r.class], r)
}

// relate counts who else pauses the same, and drops from the list who no
// longer does.
func (t *Tracker) relate(r *row, now int64) {
	list := t.active[r.class][:0]
	for _, o := range t.active[r.class] {
		if !o.paused || o.until < now || o == r {
			continue
		}
		list = append(list, o)
		if o.until == now {
			continue
		}
		k := [2]int{o.order, r.order}
		rel := t.relations[k]
		if rel == nil {
			if len(t.relations) >= maxRelations {
				t.result.RelationsLeftOut++
				continue
			}
			rel = &Relation{First: o.order, Then: r.order, Frame: r.now.Start}
			t.relations[k] = rel
		}
		rel.Began++
	}
	t.active[r.class] = list
}

func (t *Tracker) end(r *row, now int64, why record.PauseEnd) {
	r.paused = false
	i := &r.now
	i.Paused, i.End = now-i.Start.Time, why
	r.Longest = max(r.Longest, i.Paused)
	if why == record.PauseExpired {
		r.Expired++
	}
	switch {
	case t.teller != nil:
		t.hold(r, i, now)
	case len(t.result.Intervals) < t.cfg.MaxIntervals:
		t.result.Intervals = append(t.result.Intervals, *i)
	default:
		t.result.IntervalsLeftOut++
	}
	t.extend(r, i, now)
}

// extend adds a pause to the run of those before, or begins a new one.
func (t *Tracker) extend(r *row, i *record.PauseInterval, now int64) {
	if r.run == nil || i.Start.Time-r.runEnd >= runGap {
		if t.teller != nil && r.run != nil {
			t.teller.run(r.run)
		}
		r.run = &Run{First: i.Start, Pauses: record.Pauses{Pauser: i.Pauser, Priority: i.Priority}}
		switch {
		case t.teller != nil:
		case len(t.runs) < maxRuns:
			t.runs = append(t.runs, r.run)
		default:
			t.result.RunsLeftOut++
		}
	}
	run := r.run
	run.Count++
	run.Lasted = now - run.First.Time
	run.Paused += i.Paused
	run.Longest = max(run.Longest, i.Paused)
	run.Frames += i.Frames
	run.Quanta += i.Quanta
	run.End = i.End
	r.runEnd = now
}
