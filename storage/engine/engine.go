// Package engine runs a ClickHouse of our own: it finds one, starts it on
// loopback, keeps it running, and ends it with us.
//
// What is started is a clickhouse found in PATH, or the program itself once
// more, which then loads libchdb.so (ClickHouse as a library) and becomes its
// clickhouse-local with listening ports. Every program that starts engines
// therefore calls Child first thing in main. See docs/adr/0010.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// Engine is a ClickHouse in a directory. Its methods may be called from several
// goroutines.
type Engine struct {
	cfg    Config
	log    *slog.Logger
	client *http.Client

	ctx    context.Context // until Stop
	cancel context.CancelFunc
	kill   chan struct{} // closed when there is no more time to stop in order
	killed sync.Once
	done   chan struct{} // closed when the supervisor has ended

	// Set by Start before the supervisor runs.
	binary binary
	lock   *os.File
	secret string

	mu       sync.Mutex
	started  bool
	endpoint Endpoint
	version  string
	pid      int // 0 while none answers
	restarts uint64
	err      error
}

// Endpoint is where clients in this process connect.
type Endpoint struct {
	Addr     string // of HTTP, as in 127.0.0.1:8123
	Native   string // of ClickHouse's own protocol, or ""
	User     string
	Password string // never shown
}

// URL is the endpoint's address for HTTP, without user and password.
func (p Endpoint) URL() string { return "http://" + p.Addr + "/" }

func (p Endpoint) String() string { return p.User + " at " + p.URL() }

// GoString is String, so that no way of printing shows the password.
func (p Endpoint) GoString() string { return p.String() }

// New returns an engine that does nothing yet. A nil log is for silence.
func New(cfg Config, log *slog.Logger) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, log: log, kill: make(chan struct{}), done: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.client = &http.Client{
		// No proxy, since it is on this machine, and nothing kept open: ClickHouse
		// waits some seconds for open connections when it stops.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// Start starts ClickHouse and returns when it answers, or with the reason why it
// doesn't. An engine is started once.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	again := e.started
	e.started = true
	e.mu.Unlock()
	if again {
		return errors.New("the embedded ClickHouse was started before: make a new one")
	}
	if err := e.prepare(ctx); err != nil {
		if e.lock != nil {
			e.lock.Close()
		}
		e.finish(err)
		return err
	}
	ready := make(chan error, 1)
	go e.supervise(ready)
	select {
	case err := <-ready:
		if err != nil {
			<-e.done
		}
		return err
	case <-ctx.Done():
		e.killed.Do(func() { close(e.kill) })
		e.cancel()
		<-e.done
		return ctx.Err()
	}
}

// prepare does what is done once, before the first process.
func (e *Engine) prepare(ctx context.Context) (err error) {
	if err := checkSystem(); err != nil {
		return err
	}
	if e.cfg.Dir, err = filepath.Abs(e.cfg.Dir); err != nil {
		return err
	}
	if err := checkDir(e.cfg.Dir); err != nil {
		return err
	}
	if e.binary, err = find(ctx, e.cfg.Library, e.cfg.Dir); err != nil {
		return err
	}
	if e.binary.library != "" { // the child's working directory is another
		if e.binary.library, err = filepath.Abs(e.binary.library); err != nil {
			return err
		}
	}
	if err := makeDirs(e.cfg.Dir); err != nil {
		return err
	}
	if e.lock, err = lockDir(ctx, e.cfg.Dir, e.cfg.Owner); err != nil {
		return err
	}
	// An engine that stopped just now may have taken it away.
	if err := makeDirs(e.cfg.Dir); err != nil {
		return err
	}
	listen, err := e.cfg.listen()
	if err != nil {
		return err
	}
	if e.secret, err = password(e.cfg.Dir, listen.Addr().String()); err != nil {
		return fmt.Errorf("the password of the embedded ClickHouse: %w", err)
	}
	return nil
}

// Stop ends ClickHouse in order, and kills it when Config.StopTimeout is over or
// ctx ends.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	started := e.started
	e.started = true // it can't be started any more
	e.mu.Unlock()
	e.cancel()
	if !started {
		e.finish(nil)
		return nil
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		e.killed.Do(func() { close(e.kill) })
		<-e.done
	}
	return e.Err()
}

// finish says that the supervisor has ended.
func (e *Engine) finish(err error) {
	e.mu.Lock()
	e.err, e.pid = err, 0
	e.mu.Unlock()
	e.cancel()
	close(e.done)
}

// Done is closed when the engine has ended: by Stop, or because it gave up.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is why the engine gave up. It is nil before Done is closed, and after Stop.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Endpoint is where to connect, once Start has returned. Address and port stay
// the same when ClickHouse is started again, unless the port was free to choose
// and somebody else has taken it.
func (e *Engine) Endpoint() Endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.endpoint
}

// CredentialsFile is the file with user and password, for clients outside this
// process, in the format of netrc.
func (e *Engine) CredentialsFile() string { return filepath.Join(e.cfg.Dir, credentialsName) }

// Version is the version of the ClickHouse that answered last.
func (e *Engine) Version() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

// PID is the process of ClickHouse, or 0 while none answers.
func (e *Engine) PID() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pid
}

// Restarts counts how often ClickHouse ended and was started again.
func (e *Engine) Restarts() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.restarts
}

// Health asks ClickHouse for an answer, now.
func (e *Engine) Health(ctx context.Context) error {
	select {
	case <-e.done:
		if err := e.Err(); err != nil {
			return err
		}
		return errors.New("the embedded ClickHouse is stopped")
	default:
	}
	if e.PID() == 0 {
		return errors.New("the embedded ClickHouse is being started")
	}
	_, err := e.query(ctx, e.Endpoint().Addr, "SELECT 1")
	return err
}
