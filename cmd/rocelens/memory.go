package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// With millions of sessions memory is scarcer than time: left alone, the
// garbage collector lets the heap grow to twice of what is in use. Up to
// easyMemory it may; from there on to a twelfth more.
const (
	easyMemory  = 3 << 28
	memorySlack = 32 << 20
	memoryCheck = 50 * time.Millisecond
)

// keepMemoryClose lets memory follow what is in use until the function that it
// returns is called, unless GOGC or GOMEMLIMIT says otherwise.
func keepMemoryClose() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	limit := int64(easyMemory)
	before := debug.SetMemoryLimit(limit)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(memoryCheck)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-quit:
				debug.SetMemoryLimit(before)
				return
			case <-tick.C:
			}
			metrics.Read(live)
			if used := int64(live[0].Value.Uint64()); used+used/12+memorySlack > limit {
				limit = used + used/12 + memorySlack
				debug.SetMemoryLimit(limit)
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}
