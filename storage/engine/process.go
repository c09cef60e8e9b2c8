package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// process is one ClickHouse, from its start to its end.
type process struct {
	cmd    *exec.Cmd
	guard  *os.File // our end of the pipe
	tail   *tail
	exited chan struct{} // closed when it has ended; what follows is then set
	err    error         // as exec.Cmd.Wait says
}

// spawn starts a process. The thread that calls it must live as long.
func (e *Engine) spawn(config string) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &process{guard: w, tail: &tail{secret: e.secret}, exited: make(chan struct{})}
	if e.binary.program != "" {
		p.cmd = exec.Command(e.binary.program, "server", "--config-file", config)
	} else {
		kind := "http"
		if e.cfg.Native {
			kind = "native"
		}
		// Whatever is at our path by now: this is the program that runs.
		p.cmd = exec.Command("/proc/self/exe", childArg, e.binary.library, config, kind)
		p.cmd.Args[0] = os.Args[0]
	}
	p.cmd.Env = childEnv()
	p.cmd.Dir = filepath.Join(e.cfg.Dir, dataName)
	p.cmd.Stdout, p.cmd.Stderr = p.tail, p.tail
	p.cmd.ExtraFiles = []*os.File{lockFD - 3: e.lock, guardFD - 3: r}
	p.cmd.WaitDelay = time.Second
	setProcess(p.cmd)
	if err := p.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("ClickHouse can't be started: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		w.Close()
		close(p.exited)
	}()
	return p, nil
}

// end kills a process that has not ended, and waits for it.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// Lines of what ClickHouse printed that an error shows.
const shownLines = 8

// failure says how a process ended and what it said last.
func (p *process) failure() error {
	s := "ClickHouse " + describeStop(p.err)
	if lines := p.tail.last(shownLines); len(lines) > 0 {
		s += ", and said last:\n  " + strings.Join(lines, "\n  ")
	}
	return errors.New(s)
}

// portTries is how often another port is tried when somebody took the one that
// was free a moment ago.
const portTries = 5

// launch starts ClickHouse and returns when it answers.
func (e *Engine) launch() (*process, error) {
	listen, err := e.cfg.listen()
	if err != nil {
		return nil, err
	}
	var p *process
	for range portTries {
		p, err = e.launchOn(listen)
		if err == nil || listen.Port() != 0 || !errors.Is(err, ErrPortTaken) {
			break
		}
		e.setAddrs("", "")
	}
	return p, err
}

// ErrPortTaken says that another program listens on the address.
var ErrPortTaken = errors.New("in use by another program")

// launchOn is launch with one choice of ports.
func (e *Engine) launchOn(listen netip.AddrPort) (*process, error) {
	at := e.Endpoint()
	if at.Addr == "" {
		at.Addr = listen.String()
	}
	if e.cfg.Native && at.Native == "" {
		at.Native = netip.AddrPortFrom(listen.Addr(), 0).String()
	}
	addr, err := freeAddr(at.Addr)
	if err != nil {
		return nil, err
	}
	var native netip.AddrPort
	if e.cfg.Native {
		if native, err = freeAddr(at.Native); err != nil {
			return nil, err
		}
		at.Native = native.String()
	}
	e.setAddrs(addr.String(), at.Native)
	config, err := writeConfig(e.cfg.Dir, listen.Addr().String(), addr.Port(), native.Port(), e.cfg.MaxMemory, e.secret)
	if err != nil {
		return nil, fmt.Errorf("the configuration of the embedded ClickHouse: %w", err)
	}
	p, err := e.spawn(config)
	if err != nil {
		return nil, err
	}
	version, err := e.await(p, addr.String())
	if err == nil && !newEnough(version) {
		err = fmt.Errorf("%s is ClickHouse %s: use %d.%d or newer", e.binary.program+e.binary.library, version, minMajor, minMinor)
	}
	if err != nil {
		p.end()
		return nil, err
	}
	e.mu.Lock()
	e.version, e.pid = version, p.cmd.Process.Pid
	e.mu.Unlock()
	return p, nil
}

func (e *Engine) setAddrs(addr, native string) {
	e.mu.Lock()
	e.endpoint = Endpoint{Addr: addr, Native: native, User: user, Password: e.secret}
	e.mu.Unlock()
}

// freeAddr is addr, with a port that is free if its own is 0. ClickHouse opens it
// after us: only then is it sure to be free.
func freeAddr(addr string) (netip.AddrPort, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case isAddrInUse(err):
		return netip.AddrPort{}, fmt.Errorf("%s is %w: stop that, or take another address", addr, ErrPortTaken)
	case err != nil:
		return netip.AddrPort{}, fmt.Errorf("%s can't be listened on: %w", addr, err)
	}
	defer l.Close()
	return netip.ParseAddrPort(l.Addr().String())
}

// await waits until ClickHouse answers, and returns its version.
func (e *Engine) await(p *process, addr string) (version string, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.StartTimeout)
	defer cancel()
	for {
		if version, err = e.query(ctx, addr, "SELECT version()"); err == nil {
			return version, nil
		}
		select {
		case <-p.exited:
			return "", e.explain(p)
		case <-ctx.Done():
			if e.ctx.Err() != nil {
				return "", e.ctx.Err()
			}
			p.end()
			return "", fmt.Errorf("ClickHouse did not answer within %v: %w", e.cfg.StartTimeout, p.failure())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// explain says why a process ended before it answered.
func (e *Engine) explain(p *process) error {
	said := strings.Join(p.tail.last(tailLines), "\n")
	switch {
	case strings.Contains(said, "Address already in use"):
		return fmt.Errorf("%s is %w: stop that, or take another address", e.Endpoint().Addr, ErrPortTaken)
	case strings.Contains(said, "Cannot lock file"):
		return &InUseError{Dir: e.cfg.Dir, PID: dataOwner(e.cfg.Dir)}
	}
	return p.failure()
}

// query runs a statement and returns what it prints, without the last line's end.
func (e *Engine) query(ctx context.Context, addr, sql string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	req.SetBasicAuth(user, e.secret)
	resp, err := e.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	const enough = 64 << 10 // for one value, or an error
	body, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ClickHouse: %s: %s", resp.Status, text)
	}
	return text, nil
}
