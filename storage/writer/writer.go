package writer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
)

// Inserter sends a block to a table. A block that is sent again with the same
// token is there once.
type Inserter interface {
	Insert(ctx context.Context, o *schema.Options, t *schema.Table, token string, block []byte) error
}

// Writer takes records. Its methods may be called from several goroutines; those
// of one table wait for one another.
type Writer struct {
	cfg    Config
	opts   schema.Options
	store  Inserter
	queue  Queue
	log    *slog.Logger
	tables map[string]*schema.Table
	counts counts
	losses Losses // nil where the queue remembers none
	free   buffers
	origin *schema.Origin // of the writer's own counters

	ctx    context.Context // until Close gives up
	cancel context.CancelFunc
	timers sync.WaitGroup
	stop   chan struct{} // ends the timers
	sends  sync.WaitGroup

	intervals *lane[record.FlowInterval]
	sessions  *lane[schema.Session]
	events    *lane[record.Event]
	pauses    *lane[record.PauseInterval]
	findings  *lane[schema.Finding]
	stats     *lane[schema.Stat]
	counters  *lane[schema.Stat] // of the writer itself
	lanes     []flusher

	telling sync.Mutex        // held while counters are put into the queue
	told    map[string]uint64 // dropped rows that are in those, by table
}

type flusher interface {
	flush(ctx context.Context, olderThan time.Duration) error
}

// New returns a writer that does nothing yet. A nil log is for silence.
func New(cfg Config, opts schema.Options, store Inserter, queue Queue, log *slog.Logger) (*Writer, error) {
	if err := errors.Join(cfg.Validate(), opts.Validate()); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &Writer{cfg: cfg, opts: opts, store: store, queue: queue, log: log, tables: map[string]*schema.Table{}, stop: make(chan struct{}), told: map[string]uint64{}}
	if w.losses, _ = queue.(Losses); w.losses != nil {
		before, err := w.losses.Dropped()
		if err != nil {
			return nil, err
		}
		for table, n := range before {
			w.counts.add(table, taken, int(n))
			w.counts.add(table, dropped, int(n))
		}
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for _, t := range schema.Tables() {
		w.tables[t.Name] = t
	}
	w.intervals = newLane(w, "flow_intervals", schema.FlowIntervals())
	w.sessions = newLane(w, "sessions", schema.Sessions())
	w.events = newLane(w, "events", schema.Events())
	w.pauses = newLane(w, "pause_intervals", schema.PauseIntervals())
	w.findings = newLane(w, "findings", schema.Findings())
	w.stats = newLane(w, "probe_stats", schema.ProbeStats())
	w.counters = newLane(w, "counters", schema.ProbeStats())
	return w, nil
}

// Start starts the senders. origin is what the counters of the writer itself are
// written with.
func (w *Writer) Start(origin *schema.Origin) {
	w.origin = origin
	for range w.cfg.Senders {
		w.sends.Go(w.send)
	}
	w.timers.Go(func() { w.every(w.cfg.MaxAge/2, w.flushOld) })
	w.timers.Go(func() { w.every(w.cfg.Stats, func() { w.writeStats(origin) }) })
}

// every calls do now and then until the writer closes.
func (w *Writer) every(d time.Duration, do func()) {
	t := time.NewTicker(max(d, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			do()
		case <-w.stop:
			return
		}
	}
}

// Intervals adds flow intervals. Of the records it keeps nothing.
func (w *Writer) Intervals(ctx context.Context, o *schema.Origin, rows []record.FlowInterval) error {
	return w.intervals.add(ctx, o, rows)
}

// Sessions adds sessions as they are now.
func (w *Writer) Sessions(ctx context.Context, o *schema.Origin, rows []schema.Session) error {
	return w.sessions.add(ctx, o, rows)
}

// Events adds events.
func (w *Writer) Events(ctx context.Context, o *schema.Origin, rows []record.Event) error {
	return w.events.add(ctx, o, rows)
}

// Pauses adds pause intervals.
func (w *Writer) Pauses(ctx context.Context, o *schema.Origin, rows []record.PauseInterval) error {
	return w.pauses.add(ctx, o, rows)
}

// Findings adds findings.
func (w *Writer) Findings(ctx context.Context, o *schema.Origin, rows []schema.Finding) error {
	return w.findings.add(ctx, o, rows)
}

// Stats adds counters of the probe.
func (w *Writer) Stats(ctx context.Context, o *schema.Origin, rows []schema.Stat) error {
	return w.stats.add(ctx, o, rows)
}

// Flush puts all rows into the queue, without waiting for the store.
func (w *Writer) Flush(ctx context.Context) error { return w.flush(ctx, 0) }

func (w *Writer) flush(ctx context.Context, olderThan time.Duration) error {
	var errs []error
	for _, l := range w.lanes {
		errs = append(errs, l.flush(ctx, olderThan))
	}
	return errors.Join(errs...)
}

func (w *Writer) flushOld() {
	if err := w.flush(w.ctx, w.cfg.MaxAge/2); err != nil && w.ctx.Err() == nil {
		w.log.Warn("the store: rows could not be queued", "error", err)
	}
}

// LeftError says that rows were taken, and are neither in the store nor given up.
type LeftError struct {
	Rows  uint64
	Other error // what went wrong besides, nil if nothing did
}

func (e *LeftError) Error() string {
	s := fmt.Sprintf("%d rows are not in the store", e.Rows)
	if e.Other != nil {
		s = e.Other.Error() + "\n" + s
	}
	return s
}

func (e *LeftError) Unwrap() error { return e.Other }

// Close sends what there is and ends. When ctx ends before the store has all, it
// gives up: what is left stays in a queue on disk, and is lost with one in memory.
// Then the error is a *LeftError.
func (w *Writer) Close(ctx context.Context) (Counts, error) {
	close(w.stop)
	defer w.cancel()
	defer context.AfterFunc(ctx, w.cancel)()
	w.timers.Wait()
	if w.origin != nil {
		w.writeStats(w.origin)
	}
	err := w.flush(ctx, 0)
	err = errors.Join(err, w.queue.Close())
	w.sends.Wait()
	c := w.counts.all()
	if left := c.Left(); left > 0 {
		err = &LeftError{Rows: left, Other: err}
	}
	return c, err
}
