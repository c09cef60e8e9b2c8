package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func gcPercent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestKeepMemoryClose: while a command runs the heap grows by less the more is
// in use, and afterwards as ever.
func TestKeepMemoryClose(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := gcPercent()
	stop := keepMemoryClose(defaultMaxMemory)
	held := make([]byte, easyMemory) // never touched: it counts, and takes no memory
	runtime.GC()
	wait(t, func() bool { return gcPercent() < 25 })
	runtime.KeepAlive(held)
	stop()
	if got := gcPercent(); got != before {
		t.Errorf("%d %% afterwards, %d before", got, before)
	}
}

// TestGrowth: up to freeMemory anything, up to easyMemory twice of what is in
// use, then just what is left of it, then an eighth.
func TestGrowth(t *testing.T) {
	const mega = 1 << 20
	for used, want := range map[uint64]int{0: 12700, 64 * mega: 100, 32 * mega: 300, 600 * mega: 100, 800 * mega: 50, 1000 * mega: 20, 1200 * mega: 15, 12000 * mega: 12} {
		if got := growth(used, false, defaultMaxMemory); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", used/mega, got, want)
		}
	}
	// Where little is garbage it is four times, up to easyMemory.
	for used, want := range map[uint64]int{32 * mega: 300, 64 * mega: 300, 250 * mega: 300, 600 * mega: 100, 1000 * mega: 20, 12000 * mega: 12} {
		if got := growth(used, true, defaultMaxMemory); got != want {
			t.Errorf("%d MiB in use, all of it kept: %d %%, want %d", used/mega, got, want)
		}
	}
}

// TestCollection: what was allocated since is kept where most of it is in use.
func TestCollection(t *testing.T) {
	var c collection
	for i, x := range []struct {
		live, allocated uint64
		next, kept      bool
	}{
		{100, 120, true, true},   // 100 of 120
		{100, 150, false, true},  // no other run
		{190, 240, true, true},   // 90 of 120
		{270, 350, true, false},  // 80 of 110
		{260, 400, true, false},  // less than before
		{1300, 1500, true, true}, // 1040 of 1100
	} {
		if next := c.next(x.live, x.allocated); next != x.next || c.kept != x.kept {
			t.Errorf("%d: %v, %v", i, next, c.kept)
		}
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
