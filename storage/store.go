// Package storage opens a store by its name: it starts the embedded ClickHouse if
// that is what is named, connects, and knows where the tables are. What is done
// with a store is in the packages below it.
package storage

import (
	"context"
	"errors"
	"log/slog"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
)

// Store is an open store.
type Store struct {
	*client.Client
	Options schema.Options
	engine  *engine.Engine // nil with a server
}

// Options say where the tables of a store are.
func Options(d *dsn.DSN) schema.Options {
	o := schema.DefaultOptions()
	o.Database, o.Cluster = d.Database, d.Cluster
	return o
}

// Open opens a store. The embedded ClickHouse is started as cfg says, in the
// directory that d names.
func Open(ctx context.Context, d *dsn.DSN, cfg engine.Config, log *slog.Logger) (*Store, error) {
	s := &Store{Options: Options(d)}
	c := client.FromDSN(d)
	if d.Dir != "" {
		cfg.Dir = d.Dir
		e, err := engine.New(cfg, log)
		if err != nil {
			return nil, err
		}
		if err := e.Start(ctx); err != nil {
			return nil, err
		}
		s.engine = e
		c = client.FromEngine(e.Endpoint())
	}
	var err error
	if s.Client, err = client.Open(ctx, c); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

// GaveUp says that the store does not come back by itself: its embedded ClickHouse
// could not be started again. It is to be closed, and opened anew.
func (s *Store) GaveUp() bool {
	if s.engine == nil {
		return false
	}
	select {
	case <-s.engine.Done():
		return true
	default:
		return false
	}
}

// Migrate brings the tables up to date and returns the statements that it took.
func (s *Store) Migrate(ctx context.Context) ([]string, error) {
	return migrate.Run(ctx, s.Client, migrate.Config{Options: s.Options})
}

// Close closes the connections and stops the embedded ClickHouse.
func (s *Store) Close(ctx context.Context) error {
	return errors.Join(s.Client.Close(), s.stop(ctx))
}

// stop stops the embedded ClickHouse, which bounds the time for it itself.
func (s *Store) stop(ctx context.Context) error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Stop(context.WithoutCancel(ctx))
}
