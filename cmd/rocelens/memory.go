package main

import (
	"context"
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

// keepMemoryClose lets memory follow what is in use until ctx ends, unless GOGC
// or GOMEMLIMIT says otherwise.
func keepMemoryClose(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := int64(easyMemory)
	before := debug.SetMemoryLimit(limit)
	go func() {
		tick := time.NewTicker(memoryCheck)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-ctx.Done():
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
}
