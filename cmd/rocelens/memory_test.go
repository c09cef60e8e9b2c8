package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestKeepMemoryClose: the limit is there while the command runs, does not
// stay behind what is in use, and goes with it.
func TestKeepMemoryClose(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	stop := keepMemoryClose()
	if got := debug.SetMemoryLimit(-1); got != easyMemory {
		t.Errorf("the limit is %d", got)
	}
	held := make([]byte, easyMemory) // never touched: it counts, and takes no memory
	runtime.GC()
	wait(t, func() bool { l := debug.SetMemoryLimit(-1); return l > easyMemory && l < math.MaxInt64 })
	runtime.KeepAlive(held)
	stop()
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the limit is %d afterwards, %d before", got, before)
	}
}

func wait(t *testing.T, done func() bool) {
	t.Helper()
	for range 200 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("it did not happen within 10 s")
}
