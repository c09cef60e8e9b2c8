package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Left alone, the garbage collector lets the heap grow to twice of what is in
// use. With little of it in use that is too often: up to freeMemory it need not
// run. With millions of sessions memory is scarcer than time: beyond easyMemory
// the heap grows by an eighth. Both are less where the user allows sessions less.
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
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		const usual = 100
		percent := usual
		for {
			select {
			case <-quit:
				debug.SetGCPercent(usual)
				return
			case <-tick.C:
			}
			metrics.Read(live)
			if p := growth(live[0].Value.Uint64(), uint64(allowed)); p != percent {
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

// growth is by how many percent the heap may grow from what is in use.
func growth(used, allowed uint64) int {
	used = max(used, 1<<20)
	free, easy := min(freeMemory, allowed/4), min(easyMemory, allowed)
	goal := max(free, min(2*used, easy), used+used/8+memorySlack)
	return int((goal - used) * 100 / used)
}
