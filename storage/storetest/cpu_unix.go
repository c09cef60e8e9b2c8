//go:build unix

package storetest

import (
	"syscall"
	"time"
)

// CPU is the processor time that this process has used so far.
func CPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
