package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Left alone, the garbage collector lets the heap grow to twice of what is in
// use. With little of it in use that is too often: up to freeMemory it need not
// run. Where sessions come, and little that is allocated is garbage, it finds next
// to nothing for its work, so that the heap may grow to four times. With millions
// of sessions memory is scarcer than time: beyond easyMemory the heap grows by an
// eighth. Both are less where the user allows sessions less.
const (
	freeMemory  = 128 << 20
	easyMemory  = 1200 << 20
	memorySlack = 32 << 20
	memoryCheck = 20 * time.Millisecond
)

// keepMemoryClose lets memory follow what is in use until the function that it
// returns is called, unless GOGC or GOMEMLIMIT says otherwise. allowed is what
// sessions may take.
func keepMemoryClose(allowed byteSize) (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(memoryCheck)
		defer tick.Stop()
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
		const usual = 100
		percent := usual
		var last collection
		for {
			select {
			case <-quit:
				debug.SetGCPercent(usual)
				return
			case <-tick.C:
			}
			metrics.Read(heap)
			if !last.next(heap[0].Value.Uint64(), heap[1].Value.Uint64()) {
				continue
			}
			if p := growth(last.live, last.kept, uint64(allowed)); p != percent {
				percent = p
				debug.SetGCPercent(p)
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// collection is what the last run of the garbage collector left.
type collection struct {
	live, allocated uint64 // bytes; allocated since the process began
	kept            bool   // most of what was allocated since the run before is in use
}

// next takes what is in use and what was allocated, and says whether that tells of
// another run.
func (c *collection) next(live, allocated uint64) bool {
	if live == c.live {
		return false
	}
	kept := live > c.live && (live-c.live)/3 >= (allocated-c.allocated)/4
	*c = collection{live, allocated, kept}
	return true
}

// growth is by how many percent the heap may grow from what is in use.
func growth(used uint64, kept bool, allowed uint64) int {
	used = max(used, 1<<20)
	free, easy := min(freeMemory, allowed/4), min(easyMemory, allowed)
	times := uint64(2)
	if kept {
		times = 4
	}
	goal := max(free, min(times*used, easy), used+used/8+memorySlack)
	return int((goal - used) * 100 / used)
}
