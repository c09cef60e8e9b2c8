package storetest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ProcessCPU is the processor time that another process has used so far, 0 where
// it is not known.
func ProcessCPU(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Behind the name, in parentheses: state, ... and as fields 12 and 13 the
	// times in user and system mode, in hundredths of a second.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err1 := strconv.Atoi(string(f[11]))
	system, err2 := strconv.Atoi(string(f[12]))
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
