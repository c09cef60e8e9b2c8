package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/cmd/benchlive/sender"
)

type options struct {
	rocelens string
	args     string
	rate     int
	sessions int
	length   time.Duration
	rounds   int
	priority int
	out      io.Writer
}

func command(args []string, out io.Writer) error {
	o := options{out: out}
	flags := flag.NewFlagSet("benchlive", flag.ContinueOnError)
	flags.StringVar(&o.rocelens, "rocelens", "bin/rocelens", "the program to measure")
	flags.StringVar(&o.args, "args", "", "more arguments for rocelens monitor, with spaces between them")
	flags.IntVar(&o.rate, "rate", 500_000, "frames a second")
	flags.IntVar(&o.sessions, "sessions", 64, "sessions that they are of")
	flags.DurationVar(&o.length, "time", time.Minute, "how long each program runs")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each program runs")
	flags.IntVar(&o.priority, "priority", 0, "run at this real-time priority (SCHED_FIFO), for a machine with others on it; 0 for none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.LockOSThread() // all that is started is in this thread's network
	if err := network(); err != nil {
		return fmt.Errorf("making a network, which needs root: %w", err)
	}
	if o.priority > 0 {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(o.priority)}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return fmt.Errorf("priority: %w", err)
		}
	}
	fmt.Fprintf(out, "%d frames a second for %v, %d processors\n\n", o.rate, o.length, runtime.NumCPU())
	fmt.Fprintf(out, "| program | sent | lost on the cable | lost in the ring | seen | CPU a frame |\n|---|---|---|---|---|---|\n")
	for range o.rounds {
		for _, measure := range []func() (*result, error){o.monitor, o.tcpdump} {
			r, err := measure()
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %.0f ns |\n", r.name, r.sent, r.sent-r.seen-r.dropped, r.dropped, r.seen, float64(r.cpu)/float64(max(r.seen, 1)))
		}
	}
	return nil
}

// network puts the thread into a network namespace with a cable from va to vb.
func network() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	for _, line := range []string{"link set lo up", "link add va type veth peer name vb", "link set va addrgenmode none up", "link set vb addrgenmode none up"} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	for range 500 { // until there is a carrier
		out, err := exec.Command("ip", "-brief", "link", "show", "up", "type", "veth").Output()
		if err == nil && strings.Count(string(out), " UP ") == 2 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the cable does not come up")
}

// result is what a program did.
type result struct {
	name                string
	sent, seen, dropped int
	cpu                 time.Duration
}

func (o *options) send() (int, error) {
	s, err := sender.Open("va", o.sessions)
	if err != nil {
		return 0, err
	}
	n, err := s.Steady(o.rate, o.length)
	return n, errors.Join(err, s.Close())
}

// settle is how long frames may be on their way to a program.
const settle = 2 * time.Second

func (o *options) monitor() (*result, error) {
	args := append([]string{"monitor", "-i", "vb", "--listen", "127.0.0.1:0", "--store", "none"}, strings.Fields(o.args)...)
	cmd := exec.Command(o.rocelens, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill() }() // it has ended, unless something went wrong
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "metrics are at ")
	}
	r := &result{name: "rocelens monitor"}
	if r.sent, err = o.send(); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	text, err := get(address)
	if err != nil {
		return nil, err
	}
	for name, n := range map[string]*int{"rocelens_capture_frames_total": &r.seen, "rocelens_capture_dropped_frames_total": &r.dropped} {
		if *n, err = value(text, name); err != nil {
			return nil, err
		}
	}
	err = r.end(cmd, syscall.SIGTERM)
	return r, err
}

func (o *options) tcpdump() (*result, error) {
	const buffer = "65536" // KiB, as rocelens has
	cmd := exec.Command("tcpdump", "-n", "-i", "vb", "-B", buffer, "-w", os.DevNull, "udp", "port", "4791")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill() }()
	time.Sleep(settle) // until it captures
	r := &result{name: "tcpdump -w /dev/null"}
	var err error
	if r.sent, err = o.send(); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	if err := r.end(cmd, syscall.SIGINT); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	for pattern, n := range map[string]*int{`(\d+) packets? captured`: &r.seen, `(\d+) packets? dropped by kernel`: &r.dropped} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(said.String())
		if m == nil {
			return nil, fmt.Errorf("tcpdump does not say what it captured: %s", said.String())
		}
		if *n, err = strconv.Atoi(m[1]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// end ends a program and notes what it took of the processors.
func (r *result) end(cmd *exec.Cmd, sig os.Signal) error {
	if err := cmd.Process.Signal(sig); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return nil
}

// get asks on this thread, which is in the network; http.Client would dial on
// others.
func get(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// value is that of a metric with one series.
func value(text, name string) (int, error) {
	m := regexp.MustCompile(`(?m)^` + name + `(?:\{[^}]*\})? (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return int(n), err
}
