package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestLive: whoever follows all captures as one, as the monitor does, finds in them what is in
// each: none is taken for more of another.
func TestLive(t *testing.T) {
	o := demo(t.TempDir(), new(strings.Builder))
	sh := new(shown)
	var paths []string
	at := o.now
	for i, c := range o.examples {
		path := o.path(c.name)
		length, err := o.write(t.Context(), c, uint64(i+1), path, at)
		if err != nil {
			t.Fatal(err)
		}
		paths, sh.lengths = append(paths, path), append(sh.lengths, length)
		at = at.Add(length + o.every)
	}
	var alone sums
	var come []string
	for c := range o.waits(sh) {
		come = append(come, paths[c])
		alone.add(t, paths[c])
	}
	if len(come) < len(paths)/2 {
		t.Errorf("only %d of %d captures come to the monitor", len(come), len(paths))
	}
	var together sums
	together.add(t, come...)
	if alone != together || alone.lost.BeforeTap == 0 || alone.lost.AfterTap == 0 || alone.retransmitted == 0 {
		t.Errorf("alone %+v, together %+v", alone, together)
	}
}

// sums are over all sessions.
type sums struct {
	packets, retransmitted uint64
	lost                   record.Lost
}

func (s *sums) add(t *testing.T, paths ...string) {
	t.Helper()
	src, err := capture.OpenAll(paths, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := pipeline.Run(t.Context(), src, pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Sessions.Len() {
		session := r.Sessions.At(i)
		for _, d := range []*record.Direction{&session.AToB, &session.BToA} {
			s.packets += d.Packets
			s.retransmitted += d.Retransmitted.Packets
			s.lost.BeforeTap += d.Lost.BeforeTap
			s.lost.AfterTap += d.Lost.AfterTap
		}
	}
}

// TestFull: an error of a disk that is full is said once.
func TestFull(t *testing.T) {
	o := demo(t.TempDir(), new(strings.Builder))
	_, err := shift(t.Context(), filepath.Join(o.captures, o.examples[0].file()), "/dev/full", o.now)
	if err == nil || strings.Count(err.Error(), "no space left") != 1 {
		t.Error(err)
	}
}

// TestArguments: what is no option is refused.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-once", "extra"}, {"-unknown"}} {
		var said strings.Builder
		if _, err := parse(args, &said); err == nil || strings.Count(said.String(), args[len(args)-1]) != 1 {
			t.Errorf("%q: %v, and it said %s", args, err, said.String())
		}
	}
	if o, err := parse([]string{"-once", "-dir", "d"}, io.Discard); err != nil || !o.once || o.dir != "d" {
		t.Error(o, err)
	}
}

// parentArg makes the test's program one that runs a Prometheus and waits.
const parentArg = "test-parent"

func parent(program string) {
	v := &live{}
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	fmt.Fprintln(os.Stderr, v.ask(program, "", "", ""))
	os.Exit(1)
}

// TestKilled: what runs as Prometheus ends with a demo that is killed.
func TestKilled(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if err := syscall.Mkfifo(out, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "prometheus")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $$ >'"+out+"'\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", parentArg, program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	f, err := os.Open(out) // waits for the program
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(60 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// alive says whether a process has not ended. One that has may wait for somebody to ask how.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
