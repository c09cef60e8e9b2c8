package livetest

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Network puts the test's thread, and the processes that it starts, into a network
// of their own, with lo up. It ends with the goroutine. Who may not do that skips
// the test, but in CI it must run.
func Network(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // and never unlocked: the thread is of no more use
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no network of its own: %v", err)
		}
		t.Skipf("needs root: %v", err)
	}
	IP(t, "link set lo up")
}

// IP runs the program ip.
func IP(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// OnOneProcessor keeps the thread on one of its processors: frames that are sent
// from two can change places on their way.
func OnOneProcessor(t *testing.T) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu, n := 0, rand.IntN(all.Count()); ; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		if n == 0 {
			one.Set(cpu)
			break
		}
		n--
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
}
