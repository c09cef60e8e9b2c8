package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/livetest"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// process is a monitor that runs.
type process struct {
	*exec.Cmd
	said *enginetest.Log // on both streams
}

func startMonitor(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd, new(enginetest.Log)}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	// A program that begins while SIGHUP is ignored, as under nohup, ignores it.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return p
}

// says waits until the process has said something, and returns it.
func (p *process) says(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if m := re.FindStringSubmatch(p.said.String()); m != nil {
			return m[len(m)-1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not say %s: %s", pattern, p.said)
		}
	}
}

// stop ends it in order.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.said)
	}
}

// scrape gets the metrics, from the test's own thread.
func scrape(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /metrics HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sendFrames sends RoCEv1 frames over lo, which nobody can decode.
func sendFrames(t *testing.T, n int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 100)
	binary.BigEndian.PutUint16(frame[12:], 0x8915)
	for range n {
		if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: lo.Index}); err != nil {
			t.Fatal(err)
		}
	}
}

// program is a copy of the program that anybody can run, with capabilities of its
// file or not.
func program(t *testing.T, capabilities ...uint) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rocelens") // t.TempDir is in one that is ours alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rocelens") // see TestMain
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if len(capabilities) == 0 {
		return path
	}
	// struct vfs_cap_data of linux/capability.h, as setcap writes it.
	const revision2, effective = 0x02000000, 1
	data := make([]uint32, 5)
	data[0] = revision2 | effective
	for _, c := range capabilities {
		data[1+2*(c/32)] |= 1 << (c % 32)
	}
	attr := new(bytes.Buffer)
	_ = binary.Write(attr, binary.LittleEndian, data)
	if err := unix.Setxattr(path, "security.capability", attr.Bytes(), 0); err != nil {
		t.Fatal(err)
	}
	return path
}

const nobody = 65534

// TestMonitorRights: an ordinary user captures with the capability of the file or
// an ambient one, root does too, and all of them have none once they capture, in no
// thread. Without it is said what to do.
func TestMonitorRights(t *testing.T) {
	livetest.Network(t)
	plain, able := program(t), program(t, unix.CAP_NET_RAW)
	user := func() *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	ambient := user()
	ambient.AmbientCaps = []uintptr{unix.CAP_NET_RAW}
	for _, tc := range []struct {
		name, program string
		attr          *syscall.SysProcAttr
	}{
		{"root", plain, nil},
		{"file", able, user()},
		{"ambient", plain, ambient},
	} {
		t.Run(tc.name, func(t *testing.T) {
			livetest.Network(t) // a subtest has a thread of its own
			cmd := exec.Command(tc.program, "monitor", "-i", "lo", "--listen", "127.0.0.1:0", "--store", "none")
			cmd.SysProcAttr, cmd.Dir, cmd.Env = tc.attr, "/", []string{"PATH=" + os.Getenv("PATH")}
			p := startMonitor(t, cmd)
			address := p.says(t, `metrics are at http://(\S+)/metrics\n`)
			sendFrames(t, 10)
			for deadline := time.Now().Add(20 * time.Second); !strings.Contains(scrape(t, address), `rocelens_capture_frames_total{interface="lo"} 10`); time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("it captures nothing: %s", scrape(t, address))
				}
			}
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.Process.Pid))
			if err != nil || len(threads) == 0 {
				t.Fatal(err, threads)
			}
			for _, path := range threads {
				text, err := os.ReadFile(path)
				if err != nil {
					continue // it has ended
				}
				for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
					if !strings.Contains(string(text), set+":\t0000000000000000\n") {
						t.Errorf("%s: %s is not empty: %s", path, set, text)
					}
				}
			}
			p.stop(t)
		})
	}
	cmd := exec.Command(plain, "monitor", "-i", "lo", "--listen", "127.0.0.1:0", "--store", "none")
	cmd.SysProcAttr, cmd.Dir, cmd.Env = user(), "/", []string{"PATH=" + os.Getenv("PATH")}
	out, _ := cmd.CombinedOutput()
	if want := "rocelens: interface lo: capturing needs the capability CAP_NET_RAW: run as root, or \"setcap cap_net_raw=ep\" on the program: operation not permitted\n"; cmd.ProcessState.ExitCode() != exitFailed || string(out) != want {
		t.Errorf("without: %v, %s", cmd.ProcessState, out)
	}
}

// TestMonitorHangup: SIGHUP changes the log, says which keys need a restart, and
// a file with an error changes nothing.
func TestMonitorHangup(t *testing.T) {
	livetest.Network(t)
	path := filepath.Join(t.TempDir(), "rocelens.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("interface: lo\nlisten: 127.0.0.1:0\nstore: none\n")
	p := startMonitor(t, exec.Command(program(t), "monitor", "--config", path))
	p.says(t, `there is no store, the metrics are all that is kept: --store none says so`)
	hangup := func(text, says string) {
		t.Helper()
		write(text)
		if err := p.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		p.says(t, says)
	}
	hangup("interface: lo\nlisten: 127.0.0.1:0\nstore: none\nintervall: 1s\n", `level=ERROR msg="the configuration can't be read again: all stays as it is" error=".*rocelens\.yml:4: there is no key intervall: did you mean interval\?"`)
	hangup("interface: lo\nlisten: 127.0.0.1:0\nstore: none\nlog-format: json\ninterval: 2s\nworkers: 1\n", `"level":"WARN","msg":"keys have other values than those in use, which need a restart","keys":"interval workers"`)
	hangup("interface: lo\nlisten: 127.0.0.1:0\nstore: none\n", `level=INFO msg="the configuration was read again" file=\S+ log_level=info log_format=text`)
	// While it stops, which a request that does not end holds up, it is of no effect.
	address := p.says(t, `metrics are at http://(\S+)/metrics\n`)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		more, err := net.Dial("tcp", address)
		if err != nil {
			break // it does not listen any more
		}
		more.Close()
		if time.Now().After(deadline) {
			t.Fatal("it goes on")
		}
	}
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.said)
	}

	// Without a file there is nothing to read: it stops, as when its terminal goes.
	p = startMonitor(t, exec.Command(program(t), "monitor", "-i", "lo", "--listen", "127.0.0.1:0", "--store", "none"))
	p.says(t, "there is no store")
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.said)
	}
}

// TestMonitorAlone: with an interface and nothing else, what flows do is kept where
// there is a ClickHouse to start, and it is said where. A second one is told which
// process has the spool. Where there is no ClickHouse, that is said.
func TestMonitorAlone(t *testing.T) {
	livetest.Network(t)
	state := filepath.Join(t.TempDir(), "state")
	monitor := func(env ...string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "monitor", "-i", "lo", "--listen", "127.0.0.1:0")
		cmd.Args[0] = "rocelens" // see TestMain
		cmd.Env = append(os.Environ(), "STATE_DIRECTORY="+state)
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	p := startMonitor(t, monitor(engine.LibraryEnv+"=/nowhere"))
	p.says(t, `capturing on lo\nmetrics are at http://\S+\nthere is no store, the metrics are all that is kept: .*/nowhere.*; or name one with --store\n`)
	p.stop(t)

	enginetest.Need(t)
	p = startMonitor(t, monitor())
	p.says(t, "capturing on lo\nmetrics are at http://\\S+\nwhat flows do, sessions and events go to embedded:"+state+" as of probe \\S+, by way of "+state+"/monitor.spool; docs/store.md says how to ask\n")
	second := monitor()
	out, _ := second.CombinedOutput()
	if want := fmt.Sprintf("the spool %s/monitor.spool is in use by process %d (", state, p.Process.Pid); second.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v: %s", second.ProcessState, out)
	}
	p.stop(t)
	if _, err := os.Stat(filepath.Join(state, "credentials")); err != nil {
		t.Error(err)
	}
}

// TestMonitorFails: what can't be had is said in one sentence, with exit code 1.
func TestMonitorFails(t *testing.T) {
	livetest.Network(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "rocelens.yml")
	if err := os.WriteFile(file, []byte("interface: lo\nlisen: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"-i nosuch0", "rocelens: interface nosuch0: there is none of that name\n"},
		{"-i lo --listen " + taken.Addr().String(), "rocelens: listening for Prometheus: listen tcp " + taken.Addr().String() + ": bind: address already in use\n"},
		{"--config " + file, "rocelens: " + file + ":2: there is no key lisen: did you mean listen?\n"},
	} {
		cmd := exec.Command("/proc/self/exe", append([]string{"monitor", "--store", "none"}, strings.Fields(tc.args)...)...)
		cmd.Args[0] = "rocelens"
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitFailed || string(out) != tc.want {
			t.Errorf("%s: %v, %s", tc.args, cmd.ProcessState, out)
		}
	}
}

// keyPair is a certificate and its key, in PEM.
func keyPair(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// TestMonitorOutOfReach: what root may read no more, once its rights are given up, is
// told with the reason.
func TestMonitorOutOfReach(t *testing.T) {
	livetest.Network(t)
	dir := t.TempDir()
	write := func(name, text string, owner int) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, owner, owner)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const config = "interface: lo\nlisten: 127.0.0.1:0\nstore: none\n"
	theirs, key := write("theirs.yml", config, nobody), write("key.pem", keyPair(t), nobody)
	web := write("web.yml", "tls_server_config: {cert_file: "+key+", key_file: "+key+"}\n", 0)
	for file, want := range map[string]string{
		theirs: "rocelens: the configuration: open " + theirs, write("ours.yml", config+"web-config: "+web+"\n", 0): "rocelens: web configuration " + web + ": failed to read cert_file (" + key + "): open " + key,
	} {
		cmd := exec.Command("/proc/self/exe", "monitor", "--config", file)
		cmd.Args[0] = "rocelens"
		out, _ := cmd.CombinedOutput()
		want += ": permission denied: monitor has given up the rights of root by now, so it can do only what any user called root may (docs/monitor.md)\n"
		if cmd.ProcessState.ExitCode() != exitFailed || string(out) != want {
			t.Errorf("%v, %s, want %s", cmd.ProcessState, out, want)
		}
	}
}

// TestMonitorStops: whoever tells it to stop stops it, however early: while it gives up
// its rights too. Before it listens for signals they end it.
func TestMonitorStops(t *testing.T) {
	livetest.Network(t)
	path := program(t)
	for after := time.Millisecond; after < 100*time.Millisecond; after += 1 + after/8 {
		cmd := exec.Command(path, "monitor", "-i", "lo", "--listen", "127.0.0.1:0", "--store", "none")
		p := startMonitor(t, cmd)
		time.Sleep(after)
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(30*time.Second, func() { _ = p.Process.Kill() })
		_ = p.Wait()
		status := p.ProcessState.Sys().(syscall.WaitStatus)
		if !late.Stop() || status.ExitStatus() != exitDone && (!status.Signaled() || status.Signal() != syscall.SIGTERM) {
			t.Errorf("after %v: %v: %s", after, p.ProcessState, p.said)
		}
	}
}

// TestMonitorPassword: a store that does not take the password ends the start, in
// one sentence without the password.
func TestMonitorPassword(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("capturing needs root")
	}
	e := enginetest.Start(t, "", false)
	const secret = "no such password"
	t.Setenv("ROCELENS_STORE_PASSWORD", secret)
	var out, errOut bytes.Buffer
	args := []string{"monitor", "-i", "lo", "--listen", "127.0.0.1:0", "--spool", filepath.Join(t.TempDir(), "spool"), "--store", "http://rocelens@" + e.Endpoint().Addr}
	code := run(context.Background(), args, nil, &out, &errOut)
	if said := errOut.String(); code != exitFailed || strings.Count(said, "\n") != 1 || !strings.Contains(said, "does not accept user") || strings.Contains(said, secret) || out.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, out.String(), said)
	}
}

// piped is a pipe for a process to read from.
func piped(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

// runProgram runs rocelens as a process, and returns its exit code.
func runProgram(t *testing.T, args []string, stdin *os.File, out *bytes.Buffer) int {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Stdin, cmd.Stdout, cmd.Stderr = "rocelens", stdin, out, out
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode()
}

// TestMonitorCheck: --check says what would be done, and does nothing of it.
func TestMonitorCheck(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("STATE_DIRECTORY", state)
	file := filepath.Join(t.TempDir(), "rocelens.yml")
	if err := os.WriteFile(file, []byte("interface: lo\nstore: clickhouse://probe:secret@ch1,ch2/fabric?cluster=rails\nprobe: leaf-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := run(context.Background(), []string{"monitor", "--config", file, "--spool", filepath.Dir(state) + "/s", "--check"}, nil, &out, &errOut)
	want := file + " is right; this would be done:\ncapturing on lo\nmetrics are at http://127.0.0.1:9797/metrics\n" +
		"what flows do, sessions and events go to clickhouse://probe@ch1:9000,ch2:9000/fabric?cluster=rails as of probe leaf-1, by way of " + filepath.Dir(state) + "/s; docs/store.md says how to ask\n"
	if code != exitDone || out.String() != want || errOut.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	out.Reset()
	if code := run(context.Background(), []string{"monitor", "-i", "lo", "--check"}, nil, &out, &errOut); code != exitDone || !strings.HasPrefix(out.String(), "the configuration is right; this would be done:\ncapturing on lo\n") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	out.Reset()
	out.Reset()
	evidence := filepath.Join(state, "evidence")
	want = "the configuration is right; this would be done:\nfollowing /dev/stdin\nmetrics are at http://127.0.0.1:9797/metrics\n" +
		"what flows do, sessions and events go to http://u@h:8123/d as of probe p, by way of " + state + "/monitor.spool; docs/store.md says how to ask\n" +
		"frames of critical findings go to " + evidence + ", 1G at most; those of the last 30s are kept in memory, 64M at most\n"
	args := []string{"monitor", "-r", "-", "--store", "http://u@h/d", "--probe", "p", "--record", evidence, "--record-level", "critical", "--record-span", "30s", "--record-memory", "64M", "--check"}
	pipe, _ := piped(t)
	if code := runProgram(t, args, pipe, &out); code != exitDone || out.String() != want {
		t.Errorf("exit code %d, %s", code, out.String())
	}
	out.Reset()
	example := filepath.Join(capturetest.Root(t), "deploy", "rocelens.yml")
	want = example + " is right; this would be done:\ncapturing on lo\nmetrics are at http://127.0.0.1:9797/metrics\nthere is no store, the metrics are all that is kept: --store none says so\n"
	if code := run(context.Background(), []string{"monitor", "-i", "lo", "--store", "none", "--config", example, "--check"}, nil, &out, &errOut); code != exitDone || out.String() != want {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("it has made a directory")
	}
}
