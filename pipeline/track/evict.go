package track

import (
	"cmp"
	"math"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// flowBytes is what a flow of a session that runs well takes, in bytes, with
// its share of everything: what MaxMemory is divided by.
const flowBytes = 800

// maxHeldPackets bounds the packets that wait for a pairing, of all flows of a
// Tracker together.
const maxHeldPackets = 1 << 14

// flows is how many flows there may be, 0 for any number.
func (c *Config) flows() int64 {
	if c.MaxMemory == 0 {
		return 0
	}
	each := int64(flowBytes)
	if c.Intervals.Sink != nil {
		each += intervalBytes
	}
	if c.Tell.On() {
		each += tellBytes
	}
	memory := c.MaxMemory
	if c.Admission {
		memory -= memory / 16
	}
	return max(memory/each, minFlows)
}

// Packets is how many packets trackers may be told between one Share and the
// next for flows to stay within MaxMemory: each is of one new flow at most. It
// is 0 for any number.
func (c *Config) Packets() int64 { return c.flows() / 8 }

// Share shares what cfg allows out among trackers: each may have what it has,
// and what is left, which they have in common until the next time. Where that is
// little, those flows of all are forgotten that were silent longest.
func Share(cfg Config, trackers []*Tracker) {
	events, live := 0, int64(0)
	for _, t := range trackers {
		events += len(t.events)
		live += t.live
	}
	for _, t := range trackers {
		if t.teller == nil {
			t.room = len(t.events) + max(0, cfg.MaxEvents-events)
		}
	}
	most := cfg.flows()
	if most == 0 {
		return
	}
	if live > most-cfg.Packets() {
		before := oldest(trackers, live, live-most*3/4)
		live = 0
		for _, t := range trackers {
			t.forgetBefore(before)
			live += t.live
		}
	}
	for _, t := range trackers {
		t.most = t.live + max(0, most-live)
		t.door.share(t.live, live, most)
	}
}

// oldest is a time before which so many of the flows were heard last, as a
// sample of them says.
func oldest(trackers []*Tracker, live, number int64) int64 {
	const sampled = 1 << 12
	every := int(live/sampled) + 1
	var times []int64
	at := 0
	for _, t := range trackers {
		for ; at < len(t.all); at += every {
			if f := t.all[at]; f != nil {
				times = append(times, t.heard(f))
			}
		}
		at -= len(t.all)
	}
	slices.Sort(times)
	return times[min(int64(len(times))-1, int64(len(times))*number/live)]
}

// heard is when a session was heard last. Flows of a life that is over are the
// first to go.
func (f *flow) heard() int64 {
	switch {
	case f.gone:
		return math.MinInt64
	case f.peer == nil:
		return f.last.time
	}
	return max(f.last.time, f.peer.last.time)
}

// forgetBefore forgets the flows that were not heard from a time on.
func (t *Tracker) forgetBefore(time int64) {
	var out []*flow
	for _, f := range t.all {
		if f != nil && t.heard(f) < time {
			out = append(out, f)
		}
	}
	t.forgetAll(out)
}

// makeRoom forgets flows where there are as many as there may be: those whose
// QPN has begun another life, and of the others, among some, those that were
// silent longest.
func (t *Tracker) makeRoom() {
	if t.most == 0 || t.live < t.most {
		return
	}
	var out []*flow
	n := int(t.most/32) + 1
	for looked := 0; len(out) < 4*n && looked < len(t.all); looked++ {
		if t.hand++; t.hand >= len(t.all) {
			t.hand = 0
		}
		if f := t.all[t.hand]; f != nil {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *flow) int { return cmp.Compare(t.heard(a), t.heard(b)) })
	t.forgetAll(out[:min(n, len(out))])
}

func (t *Tracker) forgetAll(out []*flow) { t.Evicted += t.leave(out, record.SessionEvicted) }

// leave forgets flows and their sessions, and returns how many of these there
// are.
func (t *Tracker) leave(out []*flow, why record.SessionEnd) uint64 {
	t.teller.leaving(out)
	lives := make(map[*life]bool)
	for _, f := range out {
		t.forget(f, lives)
		if f.peer != nil {
			t.forget(f.peer, lives)
		}
	}
	n := uint64(len(lives))
	if t.teller != nil {
		t.tellLeft(out, lives, why)
		return n
	}
	// Events outlive their flows.
	t.settleEvents(func(l *life) bool { return lives[l] })
	return n
}

// settleEvents settles the events of some lives.
func (t *Tracker) settleEvents(of func(*life) bool) {
	for _, list := range [...][]event{t.events, t.signs} {
		for i := range list {
			if e := &list[i]; e.stream != nil && of(e.stream.life) {
				e.settle()
			}
		}
	}
}

// minFlows is how many flows there may be at least.
const minFlows = 1 << 10

// forget takes a flow out of everything.
func (t *Tracker) forget(f *flow, lives map[*life]bool) {
	if f.slot < 0 {
		return
	}
	if f.gone {
		if t.flows.find(f.key()) == nil {
			delete(t.lives, f.lifeKey())
		}
	} else {
		t.flows.remove(f)
		t.leaveGroup(f)
		t.settle(f)
		f.gone = true
		delete(t.lives, f.lifeKey()) // nothing is kept of what is forgotten, its earlier lives included
	}
	if m := f.more; m != nil && m.source != nil {
		if m.source.flows--; m.source.flows == 0 {
			delete(t.sources, m.source.key)
		}
		if m.source.only == f {
			m.source.only = nil
		}
	}
	t.cfg.Notes.forget(f)
	t.intervals.forget(f)
	t.teller.forget(f)
	t.spare(f.hall)
	f.hall = nil // which knows others that are forgotten, and they others
	lives[f.life] = true
	if f.peer != nil && f.peer.slot >= 0 { // which is forgotten next
		t.pairs--
	}
	t.all[f.slot] = nil
	t.free = append(t.free, f.slot)
	f.slot = -1
	t.live--
}

// Sessions is how many sessions there are. Each flow that has no other yet counts
// as one.
func (t *Tracker) Sessions() uint64 { return uint64(t.live - t.pairs) }

// keep gives a new flow a place among all.
func (t *Tracker) keep(f *flow) {
	t.live++
	if n := len(t.free); n > 0 {
		f.slot = t.free[n-1]
		t.free = t.free[:n-1]
		t.all[f.slot] = f
	} else {
		f.slot = int32(len(t.all))
		t.all = push(t.all, f)
	}
	t.intervals.keep(f)
	t.teller.keep(f)
}

// settle gives the event its session's name, so that it needs no flow.
func (e *event) settle() {
	e.session = e.stream.sessionName()
	if e.stream.life.began != e.stream {
		e.index = 1
	}
	if _, is := e.detail.(record.Duplicate); is && e.stream.trouble.duplicates.Network == 0 {
		e.detail = nil // it was the mirror's
	}
	e.stream = nil
}
