package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
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
	peak := capturetest.WatchAnonymous(cmd.Process.Pid)
	err := cmd.Wait()
	u := usage{wall: time.Since(began)}
	u.anon = peak()
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u, nil
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
