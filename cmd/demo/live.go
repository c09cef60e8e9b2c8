package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
)

// live is a monitor that follows a directory, into which the captures of the demo come
// as if they were taken now, and a Prometheus that asks the monitor. Each comes once:
// the same packets again would be old sessions to the monitor, and lost or sent again.
type live struct {
	monitor *monitor.Monitor
	// tasks run until the context ends, or one of them fails.
	tasks  sync.WaitGroup
	cancel context.CancelCauseFunc
	ctx    context.Context
	// played is closed when the last capture has come to the monitor.
	played chan struct{}
}

// scrapes is how many times in the time between two captures Prometheus asks.
const scrapes = 2

// startLive starts them. Where there is no Prometheus, or another one has its address, it
// is nil, and why says that.
func (o *options) startLive(ctx context.Context, sh *shown) (_ *live, why string, err error) {
	program, err := exec.LookPath("prometheus")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, "there is no prometheus in PATH", nil
	case err != nil:
		return nil, "", err
	}
	l, err := net.Listen("tcp", o.prometheus)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, o.prometheus + " is in use by another program, maybe a Prometheus of your own", nil
	case err != nil:
		return nil, "", err
	}
	o.prometheus = l.Addr().String() // port 0 was any
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	dir := o.path("live")
	for _, d := range []string{dir, o.path("prometheus")} {
		if err := errors.Join(os.RemoveAll(d), os.MkdirAll(d, 0o755)); err != nil {
			return nil, "", err
		}
	}
	v := &live{played: make(chan struct{})}
	v.ctx, v.cancel = context.WithCancelCause(ctx)
	cfg := monitor.DefaultConfig()
	cfg.Follow, cfg.Listen, cfg.Version = capture.DefaultFollowConfig(dir), "127.0.0.1:0", "demo"
	cfg.Follow.Context = v.ctx
	if v.monitor, err = monitor.Start(v.ctx, cfg); err != nil {
		return nil, "", err
	}
	at, err := url.Parse(v.monitor.URL())
	if err != nil {
		return nil, "", errors.Join(err, v.monitor.Close())
	}
	config := o.path("prometheus", "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: %[1]dms, scrape_timeout: %[1]dms}\nscrape_configs: [{job_name: rocelens, static_configs: [{targets: [%[2]q]}]}]\n", (o.every / scrapes).Milliseconds(), at.Host)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", errors.Join(err, v.monitor.Close())
	}
	v.run(func() error { return v.monitor.Run(v.ctx) })
	v.run(func() error { return v.ask(program, config, o.path("prometheus", "data"), o.prometheus) })
	v.tasks.Go(func() {
		if err := o.feed(v.ctx, sh, dir); err != nil {
			v.cancel(err)
			return
		}
		close(v.played)
	})
	return v, "", nil
}

// run runs a task, whose end is the end of all.
func (v *live) run(task func() error) { v.tasks.Go(func() { v.cancel(task()) }) }

// stop ends them, and says what failed before.
func (v *live) stop() error {
	if v == nil {
		return nil
	}
	v.cancel(nil)
	v.tasks.Wait()
	if err := context.Cause(v.ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// done is closed when one of them has ended.
func (v *live) done() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.ctx.Done()
}

// allPlayed is closed when the last capture has come to the monitor.
func (v *live) allPlayed() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.played
}

// ask runs Prometheus, which ends with us whatever happens.
func (v *live) ask(program, config, data, address string) error {
	runtime.LockOSThread() // or it would end with the thread alone
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(v.ctx, program, "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+address, "--log.level=error")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = ours()
	out, err := cmd.CombinedOutput()
	if v.ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("prometheus ended: %w\n%s", err, out)
}

// longest is how long a capture may be that comes to the monitor: the next one waits for it.
const longest = 30 * time.Second

// kept is how many files the monitor has before it, of which it has read all but the last.
const kept = 3

// feed puts one capture after the other into a directory. Each ends now, and begins after the
// one before it has ended.
func (o *options) feed(ctx context.Context, sh *shown, dir string) error {
	var fed []string
	for c, wait := range o.waits(sh) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		to := filepath.Join(dir, fmt.Sprintf("%03d.pcapng", c))
		if err := o.move(ctx, c, time.Now().Add(-sh.lengths[c]), to); err != nil {
			return err
		}
		if fed = append(fed, to); len(fed) > kept {
			if err := os.Remove(fed[0]); err != nil {
				return err
			}
			fed = fed[1:]
		}
	}
	return nil
}

// waits has the captures that come to the monitor, and how long each is waited for.
func (o *options) waits(sh *shown) iter.Seq2[int, time.Duration] {
	return func(yield func(int, time.Duration) bool) {
		for c, length := range sh.lengths {
			if length <= longest && !yield(c, max(o.every, length)) {
				return
			}
		}
	}
}

// move copies a capture, with the first frame at a time, to where it is only seen when it is whole.
func (o *options) move(ctx context.Context, example int, at time.Time, to string) error {
	made := o.path("prometheus", filepath.Base(to))
	if _, err := shift(ctx, o.path("captures", o.examples[example].name+".pcapng"), made, at); err != nil {
		return err
	}
	return os.Rename(made, to)
}
