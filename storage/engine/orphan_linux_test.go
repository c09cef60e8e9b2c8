package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/disktest"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// parentArg makes the test's program one that has an engine and waits.
const parentArg = "test-parent"

func parent(dir string) int {
	e, err := engine.New(config(dir), nil)
	if err == nil {
		err = e.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, e.PID(), e.Endpoint().Addr)
	select {}
}

// TestParentKilled: ClickHouse is gone when the program is that started it, and
// the directory can be used again at once, with every acknowledged row.
func TestParentKilled(t *testing.T) {
	enginetest.Need(t)
	dir := t.TempDir()
	for round := range 2 {
		cmd := osexec.Command("/proc/self/exe", parentArg, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		var addr string
		if _, err := fmt.Sscan(line, &pid, &addr); err != nil {
			t.Fatal(line, err)
		}
		if e, err := engine.New(config(dir), nil); err != nil {
			t.Fatal(err)
		} else if err := e.Start(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", cmd.Process.Pid)) {
			t.Errorf("a second engine in the same directory: %v", err)
		}
		secret, err := os.ReadFile(filepath.Join(dir, "credentials"))
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, engine.Endpoint{Addr: addr, User: "rocelens", Password: strings.Fields(string(secret))[5]}, false)
		if round == 0 {
			exec(t, c, "CREATE DATABASE d")
			exec(t, c, createX)
		}
		insert(t, c, 100)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		e := enginetest.StartConfig(t, config(dir)) // right away
		c = open(t, e.Endpoint(), false)
		if n := count(t, c); n != uint64(round+1)*100 {
			t.Errorf("%d rows", n)
		}
		c.Close()
		if err := unix.Kill(pid, 0); err == nil && !isZombie(pid) {
			t.Errorf("process %d is still there", pid)
		}
		stop(t, e)
	}
}

// isZombie says whether a process has ended that nobody has waited for.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(after, "Z")
}

// TestSecret: the password is where it must be and nowhere else.
func TestSecret(t *testing.T) {
	t.Setenv("ROCELENS_TEST_TOKEN", "not for children")
	dir := t.TempDir()
	e := enginetest.StartConfig(t, config(dir))
	p := e.Endpoint()
	if len(p.Password) < 32 {
		t.Fatalf("password of %d characters", len(p.Password))
	}
	for _, s := range []string{fmt.Sprint(p), fmt.Sprintf("%+v %#v %s", p, p, p), p.URL()} {
		if strings.Contains(s, p.Password) {
			t.Errorf("printed: %s", s)
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) == 0 {
		t.Fatal(err)
	}
	for _, process := range processes {
		for _, name := range []string{"cmdline", "environ"} {
			text, _ := os.ReadFile(filepath.Join(process, name)) // others may end
			if strings.Contains(string(text), p.Password) {
				t.Errorf("%s/%s has the password", process, name)
			}
		}
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", e.PID()))
	if err != nil || strings.Contains(string(environ), "not for children") {
		t.Errorf("the child has our environment (%v)", err)
	}

	found := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/data/") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), p.Password) {
			found++
		}
		return err
	})
	if err != nil || found != 1 {
		t.Errorf("the password is in %d files (%v)", found, err)
	}

	stop(t, e)
	if err := os.Chmod(e.CredentialsFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	e = enginetest.StartConfig(t, config(dir))
	if e.Endpoint().Password == p.Password {
		t.Error("a password that others could read was kept")
	}
	if info, err := os.Stat(e.CredentialsFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestPorts: the process listens on loopback, for HTTP alone.
func TestPorts(t *testing.T) {
	e := enginetest.StartConfig(t, config(t.TempDir()))
	if e.Endpoint().Native != "" {
		t.Errorf("native at %s", e.Endpoint().Native)
	}
	inodes := make(map[string]bool)
	fds := fmt.Sprintf("/proc/%d/fd", e.PID())
	entries, err := os.ReadDir(fds)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		link, _ := os.Readlink(filepath.Join(fds, entry.Name()))
		if s, ok := strings.CutPrefix(link, "socket:["); ok {
			inodes[strings.TrimSuffix(s, "]")] = true
		}
	}
	var listening []string
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + name)
		if err != nil {
			continue // a system without IPv6
		}
		for line := range strings.Lines(string(text)) {
			const state, inode, listen = 3, 9, "0A"
			if f := strings.Fields(line); len(f) > inode && f[state] == listen && inodes[f[inode]] {
				listening = append(listening, f[1])
			}
		}
	}
	_, port, _ := net.SplitHostPort(e.Endpoint().Addr)
	n, _ := strconv.Atoi(port)
	if want := fmt.Sprintf("0100007F:%04X", n); len(listening) != 1 || listening[0] != want {
		t.Errorf("listens on %v, not on %s alone", listening, want)
	}
}

// TestDisk: a directory that can't be written to, or that is full, is said to be.
func TestDisk(t *testing.T) {
	enginetest.Need(t)
	for _, c := range []struct {
		name, options string
		flags         uintptr
		fill          int64
		want          string
	}{
		{"read only", "size=1m", unix.MS_RDONLY, 0, "read-only file system"},
		{"full", "size=64k", 0, 64 << 10, "no space left on device"},
		{"full once ClickHouse writes", "size=64k,nr_inodes=8", 0, 0, "No space left on device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := disktest.Mount(t, c.options, c.flags)
			if c.fill > 0 {
				err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, c.fill), 0o600)
				if err != nil && !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
					t.Fatal(err)
				}
			}
			e, err := engine.New(config(dir), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err = e.Start(t.Context()); err == nil {
				stop(t, e)
				t.Fatal("it starts")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q is missing in: %v", c.want, err)
			}
			t.Log(err)
		})
	}
}

// TestDiskFills: when the disk fills up while ClickHouse runs, inserts fail and
// say why, and it goes on with what it has.
func TestDiskFills(t *testing.T) {
	enginetest.Need(t)
	e := enginetest.StartConfig(t, config(disktest.Mount(t, "size=32m", 0)))
	pid := e.PID()
	c := open(t, e.Endpoint(), false)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, createX)
	insert(t, c, 1000)
	err := c.Exec(t.Context(), "INSERT INTO d.x SELECT rand64() FROM numbers(20000000)") // 160 MB that can't be packed
	if err == nil || !strings.Contains(err.Error(), "No space left on device") && !strings.Contains(err.Error(), "NOT_ENOUGH_SPACE") {
		t.Errorf("the insert: %v", err)
	}
	if n := count(t, c); n < 1000 {
		t.Errorf("%d rows", n)
	}
	exec(t, c, "TRUNCATE TABLE d.x SYNC")
	insert(t, c, 1000)
	if n := count(t, c); n != 1000 || e.PID() != pid {
		t.Errorf("%d rows, process %d and then %d", n, pid, e.PID())
	}
}

// TestGuard: the end of the pipe ends ClickHouse, also where the kernel does not
// end it with its parent.
func TestGuard(t *testing.T) {
	lib, dir := enginetest.Library(t), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	config := filepath.Join(dir, "config.xml")
	text := fmt.Sprintf("<clickhouse><path>%s/data/</path><listen_host>127.0.0.1</listen_host><http_port>%d</http_port></clickhouse>", dir, addr.Port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := osexec.Command("/proc/self/exe", "__clickhouse", lib, config, "http")
	cmd.ExtraFiles = []*os.File{r, r} // the first stands for the lock
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, "the port", func() bool {
		conn, err := net.Dial("tcp", addr.String())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	w.Close()
	err = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		t.Errorf("it ended so: %v", err)
	}
}
