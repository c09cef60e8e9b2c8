// Package monitor is rocelens as a service: it captures from network interfaces, or
// reads files that others write, for as long as it runs, follows what it captures as analyze does, and keeps
// metrics of it for Prometheus.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding/live"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/metrics"
	"github.com/rocelens/rocelens/storage/writer"
)

// Config says what a Monitor captures, and where it tells of it.
type Config struct {
	Live     capture.LiveConfig
	Follow   capture.FollowConfig // instead of Live, if it has paths
	Pipeline pipeline.Config
	SnapLen  uint32 // bytes of a frame that are kept, 0 for all
	Listen   string // address of the metrics
	// WebConfig is a file with TLS and users for the metrics, in the format of
	// Prometheus's exporters, "" for neither.
	WebConfig string
	Store     StoreConfig
	// FindEvery is how often it looks whether there are findings.
	FindEvery time.Duration
	Record    RecordConfig
	// StopTimeout is for how long rows are still sent when it stops.
	StopTimeout time.Duration
	Version     string
	Log         *slog.Logger
}

// The length of intervals, and the least that it can be.
const (
	DefaultInterval = time.Second
	MinInterval     = 10 * time.Millisecond
	defaultFind     = 5 * time.Second
)

// DefaultConfig listens on loopback.
func DefaultConfig() Config {
	c := Config{Live: capture.DefaultLiveConfig(), Follow: capture.DefaultFollowConfig(), Pipeline: pipeline.DefaultConfig(), Listen: "127.0.0.1:9797", StopTimeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)}
	c.Pipeline.Track.Intervals.Length = int64(DefaultInterval)
	c.Pipeline.Receivers = false // nobody asks a service for the peaks of months
	c.FindEvery = defaultFind
	c.Record = RecordConfig{Config: recorder.DefaultConfig(), Level: record.Warning}
	c.Store.Writer, c.Store.Engine = writer.DefaultConfig(), engine.DefaultConfig()
	c.Store.Spool.MaxBytes = 1 << 30
	return c
}

// Check says what is wrong with the configuration, as far as that can be said
// without opening anything but the web configuration.
func (c *Config) Check() error {
	if err := checkSource(c); err != nil {
		return err
	}
	if _, err := hasTLS(c.WebConfig); err != nil {
		return err
	}
	if c.Record.Dir != "" {
		if err := c.Record.Check(); err != nil {
			return err
		}
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("listening for Prometheus: %w", err)
	}
	return nil
}

// Look says what Start would find wrong with what there is at the moment: interfaces,
// files and the spool. It makes nothing, and opens nothing but to read it.
func (c *Config) Look() error {
	if err := look(c); err != nil {
		return err
	}
	if c.Store.DSN == nil {
		return nil
	}
	return c.Store.Spool.Check()
}

// URL is where the metrics are, on an address.
func (c *Config) URL(address string) string {
	scheme := "http"
	if tls, err := hasTLS(c.WebConfig); err == nil && tls {
		scheme = "https"
	}
	return scheme + "://" + address + "/metrics"
}

// Monitor captures and tells.
type Monitor struct {
	cfg    Config
	src    capture.Source
	server *server
	flows  *metrics.Flows
	pauses *metrics.Pauses
	backs  prometheus.Counter
	store  *store // nil without one
	finder *live.Finder
	counts *metrics.Findings
	record *recorder.Recorder // nil without one
	now    atomic.Int64       // of capture time
	told   sync.WaitGroup     // findings whose recordings are under way

	inputs   atomic.Pointer[[]capture.Input] // of late
	followed atomic.Pointer[pipeline.Followed]
}

// Start opens the interfaces and the address of the metrics. What can't be had
// is told here, in one sentence, and not later.
func Start(ctx context.Context, cfg Config) (_ *Monitor, err error) {
	m := &Monitor{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.src, err = openSource(&cfg); err != nil {
		return nil, err
	}
	m.flows, m.pauses = metrics.NewFlows(m.name), metrics.NewPauses(m.name)
	m.finder = live.New(live.DefaultConfig())
	m.counts = metrics.NewFindings(m.finder.LeftOut)
	m.backs = metrics.NewStepsBack()
	m.note(m.src.Inputs())
	for _, in := range m.src.Inputs() {
		m.pauses.Watch(in.Path)
	}
	reg := prometheus.NewRegistry()
	m.followed.Store(new(pipeline.Followed))
	followed := func() pipeline.Followed { return *m.followed.Load() }
	reg.MustRegister(m.flows, m.pauses, metrics.NewSessions(followed), metrics.NewPackets(followed), metrics.NewCapture(func() []capture.Input { return *m.inputs.Load() }), metrics.NewBuild(cfg.Version),
		m.counts, m.backs, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if m.server, err = listen(cfg.Listen, cfg.WebConfig, reg, m.why, cfg.Log); err != nil {
		return nil, err
	}
	if cfg.Record.Dir != "" {
		if m.record, err = m.openRecorder(); err != nil {
			return nil, err
		}
		reg.MustRegister(metrics.NewRecorder(m.record.Counts))
	}
	if cfg.Store.DSN != nil {
		if m.store, err = openStore(ctx, cfg.Store, origins(&cfg), cfg.Version, cfg.Log); err != nil {
			return nil, err
		}
		reg.MustRegister(metrics.NewStore(m.store.writer.Counts, m.store.spool.Size, m.store.up.Load))
	}
	return m, nil
}

// URL is where the metrics are.
func (m *Monitor) URL() string { return m.cfg.URL(m.server.listener.Addr().String()) }

// Close ends a monitor that does not run.
func (m *Monitor) Close() error {
	var errs []error
	if m.record != nil {
		errs = append(errs, m.record.Close(context.Background()))
	}
	if m.store != nil {
		errs = append(errs, m.store.close(context.Background()))
	}
	if m.server != nil {
		errs = append(errs, m.server.listener.Close())
	}
	if m.src != nil {
		errs = append(errs, m.src.Close())
	}
	return errors.Join(errs...)
}

// Run captures until ctx ends, or nothing can be captured any more. Then it tells
// what is not told yet, and stops.
func (m *Monitor) Run(ctx context.Context) error {
	cfg := m.cfg.Pipeline
	cfg.Progress = m.note
	cfg.Followed = func(f pipeline.Followed) { m.followed.Store(&f) }
	cfg.StepBack = m.stepBack
	m.tell(&cfg)
	if m.store != nil {
		m.store.start()
	}
	m.server.serve()
	stop := m.find()
	_, err := pipeline.Run(ctx, m.src, cfg)
	if errors.Is(err, capture.ErrInterrupted) || errors.Is(err, context.Canceled) {
		err = nil
	}
	m.note(m.src.Inputs())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.StopTimeout)
	defer cancel()
	stop()
	err = errors.Join(err, m.stopRecorder(ctx))
	if m.store != nil {
		err = errors.Join(err, m.store.stop(ctx))
	}
	return errors.Join(err, m.server.stop(), m.src.Close())
}

func (m *Monitor) note(inputs []capture.Input) { m.inputs.Store(&inputs) }

func (m *Monitor) stepBack(from, to int64) {
	m.backs.Inc()
	m.now.Store(to)
	m.finder.StepBack(to)
	m.cfg.Log.Warn("the time of what is captured went back: what was open is told, and told on from there", "from", time.Unix(0, from).UTC(), "to", time.Unix(0, to).UTC())
}

// name is an interface's.
func (m *Monitor) name(input, _ int32) string {
	if in := *m.inputs.Load(); int(input) < len(in) {
		return in[input].Path
	}
	return ""
}

// why says why the monitor is not ready, "" where it is.
func (m *Monitor) why() string {
	var down, gone []string
	for _, in := range *m.inputs.Load() {
		if in.Followed != nil {
			if in.Followed.Away != "" {
				down = append(down, in.Path)
			}
			continue
		}
		switch face := in.Interfaces[0]; {
		case face.Gone:
			gone = append(gone, in.Path)
		case face.Down:
			down = append(down, in.Path)
		}
	}
	var reasons []string
	for _, r := range []struct {
		what  string
		names []string
	}{{"down: ", down}, {"gone: ", gone}} {
		if len(r.names) > 0 {
			reasons = append(reasons, r.what+strings.Join(r.names, ", "))
		}
	}
	return strings.Join(reasons, "; ")
}
