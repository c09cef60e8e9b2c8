package spool

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// holder says which process has a file locked, as far as the kernel tells us:
// not those outside of a container.
func holder(path string) string {
	const unknown = "another program"
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return unknown
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return unknown
	}
	defer locks.Close()
	// proc_locks(5): 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != file || strings.Trim(f[4], "0123456789") != "" || f[4] == "0" {
			continue
		}
		name, err := os.ReadFile("/proc/" + f[4] + "/comm")
		if err != nil {
			return "process " + f[4]
		}
		return fmt.Sprintf("process %s (%s)", f[4], strings.TrimSpace(string(name)))
	}
	return unknown
}
