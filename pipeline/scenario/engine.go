package scenario

import (
	"container/heap"
	"math/rand/v2"
)

// epoch is the time of the capture at which the virtual clock stands at 0:
// 2026-01-05 09:00 UTC, in nanoseconds.
const epoch int64 = 1767603600 * 1e9

// engine is a discrete-event simulation: a clock in nanoseconds and what is to
// happen when. Events of the same time happen in the order in which they were
// asked for, so that a run depends on its input alone.
type engine struct {
	now    int64
	seq    uint64
	events eventHeap
	halted bool
	rng    *rand.Rand
}

type event struct {
	at  int64
	seq uint64
	do  func()
}

// at lets do happen at a time, or now if that has passed.
func (e *engine) at(t int64, do func()) {
	e.seq++
	heap.Push(&e.events, event{max(t, e.now), e.seq, do})
}

// run lets everything happen up to a time, or until it is halted.
func (e *engine) run(until int64) {
	for !e.halted && len(e.events) > 0 && e.events[0].at <= until {
		ev := heap.Pop(&e.events).(event)
		e.now = ev.at
		ev.do()
	}
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	n := len(old) - 1
	x := old[n]
	old[n] = event{}
	*h = old[:n]
	return x
}
