package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// TestStoreMigrate: the tables are made, a second time there is nothing to do,
// and a dry run changes nothing.
func TestStoreMigrate(t *testing.T) {
	enginetest.Need(t)
	dir := filepath.Join(t.TempDir(), "store")
	migrate := func(args ...string) (string, string) {
		t.Helper()
		cmd := exec.Command("/proc/self/exe", append([]string{"store", "migrate", "embedded:" + dir}, args...)...)
		cmd.Args[0] = "rocelens" // see TestMain
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, errOut.String())
		}
		return out.String(), errOut.String()
	}
	const made, done, not = "CREATE TABLE IF NOT EXISTS `rocelens`.`flow_intervals`", "are up to date (schema 1)", "are not up to date (schema 1)"
	for i, c := range []struct {
		args       []string
		has        string
		statements bool
	}{
		{args: []string{"--dry-run"}, has: not, statements: true},
		{has: done, statements: true},
		{has: done},
		{args: []string{"--dry-run"}, has: done},
		{args: []string{"--dry-run", "--keep", "hours=forever"}, has: "`flow_1h` REMOVE TTL"},
	} {
		out, errOut := migrate(c.args...)
		if !strings.Contains(out, c.has) || strings.Contains(out, made) != c.statements || errOut != "" {
			t.Errorf("%v: %s%s", c.args, out, errOut)
		}
		if _, err := os.Stat(dir); (err == nil) == (i == 0) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

// TestPasswordHidden: while a command works, and in all that it prints, the
// password of its DSN is nowhere.
func TestPasswordHidden(t *testing.T) {
	const secret = "hunter2"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("/proc/self/exe", "store", "migrate", "http://u:"+secret+"@"+l.Addr().String())
	cmd.Args[0] = "rocelens"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept() // it is past its arguments
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(line), "http://u:*******@127.0.0.1") {
		t.Errorf("its command line is %q", line)
	}
	// An answer that repeats what came.
	b := make([]byte, 4096)
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("HTTP/1.1 500 x\r\nConnection: close\r\n\r\n" + secret + "\n" + string(b[:n])))
	conn.Close()
	l.Close()
	if err := cmd.Wait(); err == nil || strings.Contains(out.String(), secret) || !strings.HasPrefix(out.String(), "rocelens: ") {
		t.Errorf("%v: %s", err, out.String())
	}
}
