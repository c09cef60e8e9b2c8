package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/storage/dsn"
)

// refuse answers the first that a client says on a connection with an error that
// repeats it, as careless servers and proxies do: of a wrong password, or another.
func refuse(t *testing.T, c net.Conn, native bool, code uint32) {
	t.Helper()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 4096)
	n, err := c.Read(b)
	if err != nil {
		return // it asks on another one
	}
	const name = "DB::Exception"
	said, _, _ := bytes.Cut(b[:n], []byte("\r\n\r\n")) // of HTTP the head, with the password
	text := fmt.Sprintf("u: the password is %s or %s, you said %s", awkward, url.QueryEscape(awkward), said)
	if !native {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 403 Forbidden\r\nX-ClickHouse-Exception-Code: %[1]d\r\nConnection: close\r\n\r\nCode: %[1]d. %[2]s: %[3]s", code, name, text)
		return
	}
	answer := []byte{2} // an exception
	answer = binary.LittleEndian.AppendUint32(answer, code)
	for _, s := range []string{name, text, "no stack"} {
		answer = append(binary.AppendUvarint(answer, uint64(len(s))), s...)
	}
	_, _ = c.Write(append(answer, 0)) // none in it
}

// TestAnalyzePasswordHidden: with a store that does not accept the password,
// wherever that comes from and over both protocols, it is in no command line, and in
// nothing that is printed.
func TestAnalyzePasswordHidden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(awkward+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	capture := capturetest.Committed(t)[0].Path
	for _, scheme := range []string{"http", "clickhouse"} {
		for _, c := range []struct {
			name, user, query, env string
			code                   uint32
		}{
			{name: "in the name", user: url.UserPassword("u", awkward).String()},
			{name: "escaped in another way", user: "u:" + strings.ReplaceAll(url.QueryEscape(awkward), "+", "%20")},
			{name: "in the environment", user: "u", env: dsn.PasswordEnv + "=" + awkward},
			{name: "in a file", user: "u", query: "?password_file=" + url.QueryEscape(file)},
			{name: "with another error", user: url.UserPassword("u", awkward).String(), code: 1000},
		} {
			t.Run(scheme+", "+c.name, func(t *testing.T) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				cmd := exec.Command("/proc/self/exe", "analyze", "--store", scheme+"://"+c.user+"@"+l.Addr().String()+"/rocelens"+c.query, capture)
				cmd.Args[0] = "rocelens" // see TestMain
				cmd.Env = os.Environ()
				if c.env != "" {
					cmd.Env = append(cmd.Env, c.env)
				}
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				conn, err := l.Accept() // it is past its arguments
				if err != nil {
					t.Fatal(err)
				}
				line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
				if err != nil {
					t.Fatal(err)
				}
				_, secret, _ := strings.Cut(c.user, ":")
				if shows(string(line), awkward) != "" || secret != "" && bytes.Contains(line, []byte(secret)) {
					t.Errorf("its command line is %q", line)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				refuse(t, conn, scheme == "clickhouse", cmp.Or(c.code, 516))
				go func() {
					for { // whatever it asks besides
						conn, err := l.Accept()
						if err != nil {
							return
						}
						refuse(t, conn, scheme == "clickhouse", cmp.Or(c.code, 516))
					}
				}()
				if err := <-ended; err == nil || c.code == 0 && !strings.Contains(out.String(), "does not accept user u with this password") ||
					c.code != 0 && !strings.Contains(out.String(), "the password is ***") {
					t.Errorf("%v: %s", err, out.String())
				}
				if form := shows(out.String(), awkward); form != "" {
					t.Errorf("it prints %q: %s", form, out.String())
				}
			})
		}
	}
}

// TestReportHasNoPassword: an analysis that is stored shows the password nowhere,
// nor does a help, and it is not in the store itself.
func TestReportHasNoPassword(t *testing.T) {
	c := startClickHouse(t)
	capture := capturetest.Committed(t)[0].Path
	name := strings.Replace(c.dsn, "@", ":"+c.password+"@", 1)
	wrong := strings.Replace(c.dsn, "@", ":"+strings.Repeat("f00d", 8)+"@", 1)
	for _, x := range []struct {
		args   []string
		secret string
		has    string
		works  bool
	}{
		{[]string{"analyze", "--store", name, capture}, c.password, "packets", true},
		{[]string{"analyze", "--store", name, "--interval", "2s", "--format", "json", capture}, c.password, `"sessions"`, true},
		{[]string{"analyze", "--store", name, "--interval", "2s", "--format", "json", capture}, c.password, "in the store already", true},
		{[]string{"analyze", "--store", wrong, capture}, strings.Repeat("f00d", 8), "does not accept user", false},
		{[]string{"analyze", "--store", name + "?no=such", capture}, c.password, "rocelens: ", false},
		{[]string{"analyze", "--store", name + "/x y", "--no-such-flag", capture}, c.password, "rocelens: ", false},
		{[]string{"analyze", "--help"}, c.password, "--store", true},
		{[]string{"store", "migrate", "--help"}, c.password, "password", true},
	} {
		cmd := exec.Command("/proc/self/exe", x.args...)
		cmd.Args[0] = "rocelens"
		out, err := cmd.CombinedOutput()
		text := string(out)
		if (err == nil) != x.works || !strings.Contains(text, x.has) || strings.Contains(text, x.secret) {
			t.Errorf("%v: %v\n%s", slices.Clone(x.args[:2]), err, text)
		}
	}
	if n := c.row(t, "SELECT count() FROM rocelens.runs FINAL WHERE state = 'finished'")[0]; n != "2" {
		t.Errorf("%s runs are finished", n)
	}
	if n := c.row(t, "SELECT count() FROM rocelens.runs WHERE position(toString(tuple(*)), '%s') > 0", c.password)[0]; n != "0" {
		t.Errorf("%s rows of the store have the password", n)
	}
}
