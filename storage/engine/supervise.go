package engine

import (
	"context"
	"runtime"
	"time"
)

const (
	// unhealthyAfter is how many checks in a row must fail: one alone may be a
	// busy moment.
	unhealthyAfter = 3
	// stableAfter is how long a process must have run for its end not to add to
	// the wait before the next.
	stableAfter = time.Minute
	// askPatience is how long it may take ClickHouse to take the request to stop.
	askPatience = 3 * time.Second
)

// supervise keeps one ClickHouse running until Stop, and reports to ready
// whether the first one answers.
func (e *Engine) supervise(ready chan<- error) {
	// The kernel ends a child with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var final error
	defer func() {
		if err := removeConfig(e.cfg.Dir); err != nil && final == nil {
			e.log.Warn("the configuration of the embedded ClickHouse is left behind", "error", err)
		}
		e.lock.Close()
		e.finish(final)
	}()

	begin := time.Now()
	p, err := e.launch()
	if err != nil {
		final = err
		ready <- err
		return
	}
	e.log.Info("the embedded ClickHouse answers", "version", e.Version(), "address", e.Endpoint().Addr,
		"directory", e.cfg.Dir, "after", time.Since(begin).Round(time.Millisecond))
	ready <- nil

	wait := e.cfg.BackoffMin
	for {
		begin = time.Now()
		if e.watch(p) {
			return
		}
		if time.Since(begin) > stableAfter {
			wait = e.cfg.BackoffMin
		}
		e.mu.Lock()
		e.pid = 0
		e.mu.Unlock()
		e.log.Warn("the embedded ClickHouse has ended and is started again", "again_in", wait, "error", p.failure())
		if p, wait, err = e.relaunch(wait); err != nil {
			if e.ctx.Err() == nil {
				final = err
				e.log.Error("the embedded ClickHouse does not start any more", "error", err)
			}
			return
		}
		e.mu.Lock()
		e.restarts++
		e.mu.Unlock()
		e.log.Info("the embedded ClickHouse answers again", "address", e.Endpoint().Addr)
	}
}

// relaunch starts ClickHouse after wait, and again after longer waits until it
// answers. It returns the wait that comes next.
func (e *Engine) relaunch(wait time.Duration) (*process, time.Duration, error) {
	var err error
	for try := range e.cfg.MaxFailures {
		select {
		case <-time.After(wait):
		case <-e.ctx.Done():
			return nil, wait, e.ctx.Err()
		}
		wait = min(2*wait, e.cfg.BackoffMax)
		var p *process
		if p, err = e.launch(); err == nil {
			return p, wait, nil
		}
		if e.ctx.Err() != nil {
			return nil, wait, e.ctx.Err()
		}
		if try < e.cfg.MaxFailures-1 { // else who asked says it
			e.log.Warn("the embedded ClickHouse does not start", "again_in", wait, "error", err)
		}
	}
	return nil, wait, err
}

// watch returns when a process has ended, and says whether that was asked for.
func (e *Engine) watch(p *process) (stopped bool) {
	tick := time.NewTicker(e.cfg.HealthInterval)
	defer tick.Stop()
	failed := 0
	for {
		select {
		case <-e.ctx.Done():
			e.shutDown(p)
			return true
		case <-p.exited:
			return false
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(e.ctx, e.cfg.HealthInterval)
		_, err := e.query(ctx, e.Endpoint().Addr, "SELECT 1")
		cancel()
		if failed++; err == nil {
			failed = 0
		}
		if failed == unhealthyAfter {
			e.log.Warn("the embedded ClickHouse does not answer and is killed", "error", err)
			p.end()
		}
	}
}

// shutDown ends a process, in order if there is time for it.
func (e *Engine) shutDown(p *process) {
	var err error
	if e.binary.program != "" {
		err = askToEnd(p.cmd.Process)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), min(askPatience, e.cfg.StopTimeout))
		defer cancel()
		go func() {
			select {
			case <-e.kill:
				cancel()
			case <-ctx.Done():
			}
		}()
		_, err = e.query(ctx, e.Endpoint().Addr, killWaiting)
	}
	if err == nil {
		timer := time.NewTimer(e.cfg.StopTimeout)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-e.kill:
		case <-timer.C:
		}
	}
	e.log.Warn("the embedded ClickHouse did not stop in time and is killed; what it had acknowledged is kept", "error", err)
	p.end()
}
