// Package load puts what an analysis of captures finds into a store: once,
// whole, and so that it can be told how far it came if not.
package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/writer"
)

// Config bounds a Load.
type Config struct {
	Writer writer.Config // but for Run and Attempt
	// QueueBytes is how much may wait for the store. Beyond it, reading waits.
	QueueBytes int
	// Patience is for how long the store may take nothing before it is given up.
	Patience time.Duration
}

// DefaultConfig lets 64 MB wait, and the store be away for two minutes.
func DefaultConfig() Config {
	return Config{Writer: writer.DefaultConfig(), QueueBytes: 64 << 20, Patience: 2 * time.Minute}
}

// Load is a run that is being loaded.
type Load struct {
	origin schema.Origin
	run    *runs.Run
	writer *writer.Writer
	// ctx ends when the store is given up, or the caller's ends.
	ctx    context.Context
	cancel context.CancelCauseFunc
	keep   context.CancelFunc
	kept   sync.WaitGroup // who says that the run is alive
	// missing are rows that came when the store was given up already.
	missing atomic.Uint64
}

// errAway says why a store was given up.
var errAway = errors.New("the store took nothing for too long")

// Begin begins to load a run. A *runs.FinishedError says that it is in the store
// already.
func Begin(ctx context.Context, s *storage.Store, cfg Config, origin schema.Origin, row schema.Run, log *slog.Logger) (*Load, error) {
	run, err := runs.Begin(ctx, s.Client, s.Options, origin, row)
	if err != nil {
		return nil, err
	}
	l := &Load{origin: origin, run: run}
	cfg.Writer.Run, cfg.Writer.Attempt = origin.Run, run.Attempt()
	if l.writer, err = writer.New(cfg.Writer, s.Options, s.Client, writer.NewMemory(cfg.QueueBytes, true), log); err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	keep, cancel := context.WithCancel(ctx)
	l.keep = cancel
	l.kept.Go(func() { run.Keep(keep) })
	l.kept.Go(func() { l.watch(keep, cfg.Patience) })
	l.writer.Start(&l.origin)
	return l, nil
}

// watch gives the store up when it takes nothing any more.
func (l *Load) watch(ctx context.Context, patience time.Duration) {
	t := time.NewTicker(max(patience/20, time.Millisecond))
	defer t.Stop()
	last, since := writer.Count{}, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		switch now := l.writer.Counts().Total(); {
		case now.Written > last.Written || now.Failures == last.Failures:
			last, since = now, time.Now()
		case time.Since(since) > patience:
			l.cancel(errAway)
			return
		}
	}
}

// Intervals takes flow intervals while packets are followed. It waits where the
// store is slower than the analysis.
func (l *Load) Intervals(list []record.FlowInterval) {
	if l.ctx.Err() != nil { // given up, or broken off: once is enough to say so
		l.missing.Add(uint64(len(list)))
		return
	}
	_ = l.writer.Intervals(l.ctx, &l.origin, list) // what is lost is counted, and told by Finish
}

// someSessions is how many are made at a time.
const someSessions = 256

// Result takes what was found in the end.
func (l *Load) Result(r *pipeline.Result, inputs []capture.Input, findings []record.Finding) error {
	from, to := r.First, r.Last
	if r.Packets == 0 { // no time but that of looking
		from = time.Now().UnixNano()
		to = from
	}
	rows := make([]schema.Session, 0, someSessions)
	for i := range r.Sessions.Len() {
		rows = append(rows, schema.Session{Session: r.Sessions.At(i), Updated: r.Last, Final: true})
		if len(rows) == cap(rows) || i == r.Sessions.Len()-1 {
			if err := l.writer.Sessions(l.ctx, &l.origin, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	list := make([]schema.Finding, 0, len(findings))
	for i := range findings {
		f, err := schema.NewFinding(&findings[i], from, to)
		if err != nil {
			return fmt.Errorf("finding %s: %w", findings[i].Code, err)
		}
		list = append(list, f)
	}
	return errors.Join(
		l.writer.Events(l.ctx, &l.origin, r.Events),
		l.writer.Pauses(l.ctx, &l.origin, r.Pause.Intervals),
		l.writer.Findings(l.ctx, &l.origin, list),
		l.writer.Stats(l.ctx, &l.origin, stats(r, inputs, to)),
	)
}

// stats are the counters of a run: what was read, and what is in no table.
func stats(r *pipeline.Result, inputs []capture.Input, at int64) []schema.Stat {
	var list []schema.Stat
	add := func(input int, name, of string, n uint64) {
		list = append(list, schema.Stat{Time: at, Input: int32(input), Name: name, Of: of, Value: n})
	}
	for i := range inputs {
		in := &inputs[i]
		add(i, "capture_frames", "", in.Frames)
		add(i, "capture_bytes", "", in.Bytes)
		if in.Drops != nil {
			add(i, "capture_drops", "", *in.Drops)
		}
	}
	add(-1, "packets", "", r.Packets)
	add(-1, "roce_packets", "", r.RoCE.Total())
	add(-1, "sessions_forgotten", "", r.Forgotten)
	add(-1, "not_stored", "events", r.EventsLeftOut+r.PausesLeftOut)
	add(-1, "not_stored", "pause_intervals", r.Pause.IntervalsLeftOut)
	return list
}

// Finish waits until the store has all, and says so in it: then the run is not
// loaded again. An error says how many rows are not there; the same run can be
// loaded again then.
func (l *Load) Finish() (rows uint64, err error) {
	defer l.cancel(nil)
	counts, err := l.writer.Close(l.ctx)
	l.keep()
	l.kept.Wait()
	total := counts.Total()
	missing := total.Dropped + counts.Left() + l.missing.Load()
	if cause := context.Cause(l.ctx); cause != nil {
		return total.Written, fmt.Errorf("%w: %d rows are missing, and %d are there", cause, missing, total.Written)
	}
	if missing > 0 {
		return total.Written, fmt.Errorf("%d rows are missing, and %d are there", missing, total.Written)
	}
	if err != nil {
		return total.Written, err
	}
	return total.Written, l.run.Finish(l.ctx, total.Written, 0)
}

// abortTimeout is for how long Abort waits for rows that are on their way.
const abortTimeout = 5 * time.Second

// Abort ends without saying that the run is whole, which can then be loaded
// again: at once where it is certain that no more rows of it arrive, otherwise in a
// minute.
func (l *Load) Abort() {
	defer l.cancel(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), abortTimeout)
	defer cancel()
	_, err := l.writer.Close(ctx)
	l.keep()
	l.kept.Wait()
	if err == nil {
		_ = l.run.Break(ctx) // or else it is found out in a minute
	}
}
