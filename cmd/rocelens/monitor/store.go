package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/writer"
)

// StoreConfig says where records go.
type StoreConfig struct {
	DSN   *dsn.DSN // nil for nowhere
	Probe string   // its name in the store
	// Engine is how the embedded ClickHouse is run, but for Dir and Owner.
	Engine engine.Config
	// Spool keeps what the store can't take.
	Spool  spool.Config
	Writer writer.Config // but for Run and Attempt
}

// openTimeout is for how long one attempt to open the store may take. It is long
// enough for an embedded ClickHouse to start.
const openTimeout = time.Minute

// store writes records to a ClickHouse, which may be away. Then they are in the
// spool.
type store struct {
	cfg    StoreConfig
	log    *slog.Logger
	spool  *spool.Spool
	writer *writer.Writer
	origin schema.Origin
	ctx    context.Context // of records: they wait for nothing but the spool
	row    schema.Run

	up atomic.Bool // it took what was sent last

	mu   sync.Mutex
	open *storage.Store     // nil until it could be opened, and once it gave up
	run  *runs.Run          // nil until it was open for the first time
	keep context.CancelFunc // ends saying that the run goes on, nil while nobody does
	kept sync.WaitGroup
}

// openStore opens the spool, and the store if it is there. That it is away is
// no error; that it does not take us is.
func openStore(ctx context.Context, cfg StoreConfig, inputs []schema.Input, version string, log *slog.Logger) (*store, error) {
	s := &store{cfg: cfg, log: log, ctx: context.WithoutCancel(ctx)}
	s.origin = schema.Origin{Probe: cfg.Probe, Run: runs.NewID(), Inputs: inputs}
	var taps []string
	for i := range inputs {
		taps = append(taps, inputs[i].Tap)
	}
	s.row = schema.Run{Tool: version, Inputs: taps, Options: "{}"}
	var err error
	if s.spool, err = spool.Open(cfg.Spool, log); err != nil {
		return nil, err
	}
	if size := s.spool.Size(); size.Batches > 0 {
		log.Info("the spool has rows from before, which are sent first", "rows", size.Rows)
	}
	if _, err := s.get(ctx); err != nil {
		if final(err) {
			return nil, errors.Join(err, s.spool.Close())
		}
		log.Warn("the store is away: records are kept in the spool until it is back", "store", cfg.DSN.String(), "error", err)
	}
	opts := schema.DefaultOptions()
	opts.Database, opts.Cluster = cfg.DSN.Database, cfg.DSN.Cluster
	w := cfg.Writer
	w.Run, w.Attempt = s.origin.Run, "1"
	if s.writer, err = writer.New(w, opts, s, spool.NewQueue(s.spool), log); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// final says that trying again is of no use.
func final(err error) bool {
	var old *client.VersionError
	var newer *migrate.NewerError
	var said *client.Error
	return errors.As(err, &old) || errors.As(err, &newer) || errors.As(err, &said) && said.NotAllowed()
}

// get is the store, which it opens if it was away or gave up. Its tables are brought
// up to date. Who sends waits longer and longer between two attempts, and so does this.
func (s *store) get(ctx context.Context) (*storage.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil && !s.open.GaveUp() {
		return s.open, nil
	}
	s.letGo(ctx)
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	cfg := s.cfg.Engine
	cfg.Owner = "rocelens monitor"
	st, err := storage.Open(ctx, s.cfg.DSN, cfg, s.log)
	if err != nil {
		return nil, err
	}
	if _, err := st.Migrate(ctx); err != nil {
		return nil, errors.Join(err, st.Close(ctx))
	}
	if s.run == nil {
		s.run, err = runs.Begin(ctx, st.Client, st.Options, s.origin, s.row)
	} else { // to begin it again would take out what is there of it
		s.run.Use(st.Client)
		err = s.run.Alive(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close(ctx))
	}
	keep, stop := context.WithCancel(context.Background())
	s.keep = stop
	run := s.run
	s.kept.Go(func() { run.Keep(keep) })
	s.open = st
	s.up.Store(true)
	return st, nil
}

// letGo closes a store that gave up. Why it did is logged already, and rows wait in
// the spool until it can be opened anew.
func (s *store) letGo(ctx context.Context) {
	if s.open == nil || !s.open.GaveUp() {
		return
	}
	s.endKeep()
	_ = s.open.Close(ctx)
	s.open = nil
}

// endKeep has nobody say any more that the run goes on.
func (s *store) endKeep() {
	if s.keep != nil {
		s.keep()
		s.kept.Wait()
		s.keep = nil
	}
}

// Insert is of writer.Inserter.
func (s *store) Insert(ctx context.Context, o *schema.Options, t *schema.Table, token string, block []byte) error {
	st, err := s.get(ctx)
	if err == nil {
		err = st.Insert(ctx, o, t, token, block)
	}
	var refused writer.Refused
	switch {
	case err == nil:
		s.up.Store(true)
	case errors.Is(err, context.Canceled): // nobody waits for it any more
	case errors.As(err, &refused) && refused.Refused(): // it is there, and takes others
	default:
		s.up.Store(false)
	}
	return err
}

func (s *store) start() { s.writer.Start(&s.origin) }

// intervals takes flow intervals. What can't be kept is counted.
func (s *store) intervals(list []record.FlowInterval) {
	_ = s.writer.Intervals(s.ctx, &s.origin, list)
}

// stop sends what there is until ctx ends. What is not sent then stays in the
// spool.
func (s *store) stop(ctx context.Context) error {
	before := s.writer.Counts().Total().Dropped
	counts, err := s.writer.Close(ctx)
	total, left := counts.Total(), s.spool.Size()
	if waiting := (*writer.LeftError)(nil); errors.As(err, &waiting) && waiting.Rows <= left.Rows {
		err = waiting.Other // they are in the spool
	}
	if left.Batches > 0 {
		s.log.Warn("rows stay in the spool, and are sent the next time", "rows", left.Rows)
	}
	if lost := total.Dropped - before; lost > 0 {
		err = errors.Join(err, fmt.Errorf("%s that came last are lost: neither the store nor the spool took them", words.Plural(lost, "row")))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endKeep()
	if s.run != nil {
		if e := s.run.Finish(ctx, total.Written, total.Dropped+left.Rows); e != nil {
			s.log.Warn("the store does not know that this run has ended", "error", e)
		}
	}
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

func (s *store) close(ctx context.Context) error {
	s.endKeep()
	s.letGo(ctx)
	err := s.spool.Close()
	if s.open != nil {
		err = errors.Join(err, s.open.Close(ctx))
	}
	return err
}
