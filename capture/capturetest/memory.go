package capturetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// WatchAnonymous watches how much anonymous memory a process takes (0 is this
// one), until peak is called, which returns the most in bytes. Mapped pages of a
// file are the system's cache and don't count. Where the system does not say, it
// is 0.
func WatchAnonymous(pid int) (peak func() int64) {
	path := "/proc/self/status"
	if pid != 0 {
		path = fmt.Sprintf("/proc/%d/status", pid)
	}
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, anonymous(path))
			select {
			case <-tick.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-result
	}
}

func anonymous(path string) int64 {
	status, _ := os.ReadFile(path) // the process may have ended
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
