package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/capture/livetest"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// TestInstalled installs the package in a system that systemd runs, has the
// service capture in its sandbox and write to the embedded ClickHouse, has it
// reloaded, upgraded and stopped, and removes and purges the package.
func TestInstalled(t *testing.T) {
	for _, program := range []string{"/lib/systemd/systemd", "systemd-analyze", "dpkg", "nsenter", "ip", "setpriv"} {
		capturetest.Need(t, program)
	}
	enginetest.Need(t)
	deb := packaged(t)
	m := boot(t)
	if err := os.Link(deb, filepath.Join(m.dir, "rocelens.deb")); err != nil {
		t.Fatal(err)
	}

	m.install(t)
	if out, _ := m.try("systemctl", "is-enabled", "rocelens-monitor"); out != "disabled\n" {
		t.Errorf("after the installation the service is %s", out)
	}
	// More exposure than this has to be a decision.
	m.run(t, "systemd-analyze", "verify", "--man=no", "rocelens-monitor.service")
	m.run(t, "systemd-analyze", "security", "--offline=true", "--threshold=17", "/lib/systemd/system/rocelens-monitor.service")

	m.run(t, "sh", "-c", "printf 'interface: vb\nrecord: /var/lib/rocelens/evidence\n' > /etc/rocelens/rocelens.yml")
	m.run(t, "systemctl", "enable", "rocelens-monitor")
	m.run(t, "systemctl", "start", "rocelens-monitor")
	m.wait(t, "it is ready", ready)
	want := m.replay(t, "loss_before_write_1pct")
	m.wait(t, "the packets are counted", func() bool { return m.packets(t) == want })
	if status := m.run(t, "sh", "-c", "cat /proc/$(systemctl show -P MainPID rocelens-monitor)/status"); !strings.Contains(status, "CapPrm:\t0000000000000000") || !strings.Contains(status, "Seccomp:\t2") {
		t.Errorf("what it may do: %s", status)
	}
	m.asksOften(t)

	m.run(t, "sh", "-c", "echo 'log-level: debug' >> /etc/rocelens/rocelens.yml")
	m.run(t, "systemctl", "reload", "rocelens-monitor")
	m.wait(t, "it reads the configuration again", func() bool { return strings.Contains(m.log(t), "log_level=debug") })

	before := m.run(t, "systemctl", "show", "-P", "MainPID", "rocelens-monitor")
	m.install(t)
	if after := m.run(t, "systemctl", "show", "-P", "MainPID", "rocelens-monitor"); after == before || after == "0\n" {
		t.Errorf("an upgrade goes from process %sto %s", before, after)
	}
	if config := m.run(t, "cat", "/etc/rocelens/rocelens.yml"); config != "interface: vb\nrecord: /var/lib/rocelens/evidence\nlog-level: debug\n" {
		t.Errorf("after an upgrade the configuration is %s", config)
	}
	m.wait(t, "it is ready again", ready)

	m.run(t, "systemctl", "stop", "rocelens-monitor")
	if how := m.run(t, "systemctl", "show", "-P", "Result", "rocelens-monitor"); how != "success\n" {
		t.Errorf("it stopped with %s%s", how, m.log(t))
	}
	if got := m.stored(t); got != want {
		t.Errorf("%d packets in the store, %d sent", got, want)
	}

	// The sandbox loads nothing from where the service may write, and says so.
	m.run(t, "touch", "/var/lib/rocelens/libchdb.so")
	m.run(t, "systemctl", "start", "rocelens-monitor")
	m.wait(t, "it says where the library is to be", func() bool {
		return strings.Contains(m.log(t), "there is no store") && strings.Contains(m.log(t), "(noexec): move it to /usr/local/lib")
	})

	m.run(t, "dpkg", "--no-triggers", "-r", "rocelens")
	if state, _ := m.try("systemctl", "is-active", "rocelens-monitor"); state != "inactive\n" {
		t.Errorf("after the removal the service is %s", state)
	}
	m.run(t, "sh", "-c", "test -e /etc/rocelens/rocelens.yml -a -d /var/lib/rocelens/data -a ! -e /usr/bin/rocelens")
	m.run(t, "dpkg", "--no-triggers", "-P", "rocelens")
	if left := m.run(t, "sh", "-c", "ls -d /etc/rocelens /var/lib/rocelens /usr/bin/rocelens /usr/share/doc/rocelens /*/systemd/system/rocelens-monitor.service /etc/systemd/system/*/rocelens-monitor.service 2>/dev/null; true"); left != "" {
		t.Errorf("after being purged there is still\n%s", left)
	}
}

// packaged is the path of the package.
func packaged(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dist")
	t.Chdir(capturetest.Root(t))
	err := run([]string{"-version", "v0.0.1", "-time", "1796000000", "-dir", dir, "-only", debName, "--", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "./cmd/rocelens"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "rocelens_0.0.1-1_amd64.deb")
}

// machine is a system that runs.
type machine struct {
	dir string // its /run/test
	pid string
}

// boot puts the test's thread into a network of its own, with a cable between va
// and vb, and starts a system in that.
func boot(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	// Units run as other users, and write their log there.
	for _, d := range []string{filepath.Dir(m.dir), m.dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("cmd/release/testdata/boot.sh")
	if err == nil {
		err = os.Mkdir(filepath.Join(m.dir, "changes"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	livetest.Network(t)
	for _, line := range []string{"link add va type veth peer name vb", "link set va up", "link set vb up"} {
		livetest.IP(t, line)
	}
	group := controlGroup(t)
	cmd := exec.Command("bash", script, m.dir, library(t))
	said := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS, UseCgroupFD: true, CgroupFD: int(group.Fd()),
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { // with process 1, all end
		_ = cmd.Process.Kill()
		if err := <-ended; err == nil {
			t.Error("the system ended by itself")
		}
	})
	m.pid = strconv.Itoa(cmd.Process.Pid)
	m.wait(t, "systemd is up", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("no system: %v: %s", err, said)
		default:
		}
		out, err := m.try("systemctl", "is-active", "idle.target")
		return err == nil && out == "active\n"
	})
	return m
}

// controlGroup makes one, and removes it when the test has ended.
func controlGroup(t *testing.T) *os.File {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^\S+ (\S+) cgroup2 `).FindSubmatch(mounts)
	if at == nil {
		t.Fatal("there is no cgroup2, which systemd needs")
	}
	top, err := os.MkdirTemp(string(at[1]), "rocelens-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 { // processes that were killed take a moment
			out, err := exec.Command("find", top, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").CombinedOutput()
			if _, e := os.Stat(top); e != nil {
				return
			}
			t.Log(err, string(out))
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s can't be removed", top)
	})
	group, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	return group
}

// library is libchdb.so in the user's cache, "" where there is none.
func library(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "rocelens", "chdb-*", "libchdb.so"))
	if err != nil || len(found) == 0 {
		return "" // a clickhouse in PATH does
	}
	return found[len(found)-1]
}

// try runs a command in the system, as root.
func (m *machine) try(command ...string) (string, error) {
	cmd := exec.Command("nsenter", append([]string{"-t", m.pid, "-m", "-u", "-i", "-p", "-C", "-r", "-w", "--"}, command...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=", "LC_ALL=C"}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		out = append(out, exit.Stderr...)
	}
	return string(out), err
}

func (m *machine) run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := m.try(command...)
	if err != nil {
		t.Fatalf("%s: %v: %s\n%s", strings.Join(command, " "), err, out, m.log(t))
	}
	return out
}

// install installs the package. What triggers would do (an index of all manual
// pages) takes long, and is nothing of the package's.
func (m *machine) install(t *testing.T) {
	t.Helper()
	m.run(t, "dpkg", "--no-triggers", "--force-unsafe-io", "-i", "/run/test/rocelens.deb")
}

// log is what the service says.
func (m *machine) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	return string(text)
}

func (m *machine) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so in a minute: %s\n%s", what, m.log(t))
		}
	}
}

// replay sends the frames of a capture to the interface, and returns how many RoCE
// packets are among them, by the truth beside it.
func (m *machine) replay(t *testing.T, name string) (packets int) {
	t.Helper()
	c := capturetest.Get(t, name)
	va, err := net.InterfaceByName("va")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	sent := 0
	frametest.Each(t, c.Path, func(f *capture.Frame) {
		if err := unix.Sendto(fd, f.Data, 0, &unix.SockaddrLinklayer{Ifindex: va.Index}); err != nil {
			t.Fatal(err)
		}
		if sent++; sent%200 == 0 { // the cable has room for a thousand
			time.Sleep(20 * time.Millisecond)
		}
	})
	for _, n := range capturetest.LoadTruth(t, c).OpcodeTotals() {
		packets += n
	}
	return packets
}

// get asks from the test's own thread, which is in the network.
func get(address, path, user, password string) (int, string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	req, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	req.SetBasicAuth(user, password)
	if err := req.Write(conn); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func ready() bool {
	code, _, err := get("127.0.0.1:9797", "/readyz", "", "")
	return err == nil && code == http.StatusOK
}

// packets are those that the metrics count.
func (m *machine) packets(t *testing.T) (n int) {
	t.Helper()
	_, text, err := get("127.0.0.1:9797", "/metrics", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range regexp.MustCompile(`(?m)^rocelens_packets_total\{.*\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		f, err := strconv.ParseFloat(count[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		n += int(f)
	}
	return n
}

// asksOften asks a question of ClickHouse as often as makes it compile what is
// asked, which the sandbox does not allow: it must not try.
func (m *machine) asksOften(t *testing.T) {
	t.Helper()
	address := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`).FindStringSubmatch(m.log(t))
	f := strings.Fields(m.run(t, "cat", "/var/lib/rocelens/credentials")) // machine H login U password P
	if address == nil || len(f) != 6 {
		t.Fatalf("where is ClickHouse? %s", m.log(t))
	}
	const question = "/?query=SELECT%20sum((number*3%2B7)%2511%2B(number*5)%2513),min(number)%20FROM%20numbers(100000)%20GROUP%20BY%20number%257%20ORDER%20BY%201%20LIMIT%201"
	for range 6 {
		if code, text, err := get(address[1], question, f[3], f[5]); err != nil || code != http.StatusOK {
			t.Fatalf("ClickHouse answers %d %s %v", code, text, err)
		}
	}
}

// stored are the packets in the store.
func (m *machine) stored(t *testing.T) int {
	t.Helper()
	out := m.run(t, "setpriv", "--reuid", "rocelens", "--regid", "rocelens", "--clear-groups", "env", "HOME=/var/lib/rocelens",
		"rocelens", "store", "query", "embedded:/var/lib/rocelens", "totals", "--format", "json")
	var answer struct {
		Rows []struct {
			Packets json.Number `json:"packets"`
		} `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n := 0
	for _, r := range answer.Rows {
		i, err := r.Packets.Int64()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		n += int(i)
	}
	return n
}
