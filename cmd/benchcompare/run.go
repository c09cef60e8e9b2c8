package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// run runs a program to its end, and says what it took.
func run(args []string) (usage, error) {
	cmd := exec.Command(args[0], args[1:]...)
	var errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &errOut
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	quit, peak := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				peak <- most
				return
			case <-tick.C:
				most = max(most, anonymous(cmd.Process.Pid))
			}
		}
	}()
	err := cmd.Wait()
	u := usage{wall: time.Since(began)}
	close(quit)
	u.anon = <-peak
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u, nil
}

// anonymous is the anonymous memory of a process in bytes, 0 where the system
// does not say.
func anonymous(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// warm reads a file, so that it is in memory.
func warm(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, struct{ io.Reader }{f})
	return err
}

// processor is the processor's name as the system has it.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return "unknown processor"
}
