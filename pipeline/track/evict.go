package track

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// flowBytes is what a flow of a session that runs well takes, in bytes, with
// its share of everything: what MaxMemory is divided by.
const flowBytes = 800

// maxHeldPackets bounds the packets that wait for a pairing, of all flows
// together.
const maxHeldPackets = 1 << 16

// makeRoom forgets flows where there are as many as there may be: those whose
// QPN has begun another life, and of the others, among some, those that were
// silent longest.
func (t *Tracker) makeRoom() {
	most := max(t.cfg.MaxMemory/flowBytes, minFlows)
	if t.cfg.MaxMemory == 0 || t.live < most {
		return
	}
	var out []*flow
	n := int(most / 32)
	for looked := 0; len(out) < 4*n && looked < len(t.all); looked++ {
		if t.hand++; t.hand >= len(t.all) {
			t.hand = 0
		}
		if f := t.all[t.hand]; f != nil {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *flow) int {
		if a.gone != b.gone {
			if a.gone {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.last.time, b.last.time)
	})
	lives := make(map[*life]bool)
	for _, f := range out[:min(n, len(out))] {
		t.forget(f, lives)
		if f.peer != nil {
			t.forget(f.peer, lives)
		}
	}
	t.Evicted += uint64(len(lives))
	// Events outlive their flows.
	for i := range t.events {
		if e := &t.events[i]; e.stream != nil && lives[e.stream.life] {
			e.settle()
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
	if !f.gone {
		t.flows.remove(f)
		t.leaveGroup(f)
		t.settle(f)
		f.gone = true
		t.lives[f.key()]++
	}
	if m := f.more; m != nil && m.source != nil {
		if m.source.flows--; m.source.flows == 0 {
			delete(t.sources, m.source.key)
		}
	}
	t.name(f)
	t.cfg.Notes.forget(f)
	lives[f.life] = true
	t.all[f.slot] = nil
	t.free = append(t.free, f.slot)
	f.slot = -1
	t.live--
}

// keep gives a new flow a place among all.
func (t *Tracker) keep(f *flow) {
	t.live++
	if n := len(t.free); n > 0 {
		f.slot = t.free[n-1]
		t.free = t.free[:n-1]
		t.all[f.slot] = f
		return
	}
	f.slot = int32(len(t.all))
	t.all = append(t.all, f)
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
