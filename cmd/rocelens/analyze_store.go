package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/load"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
)

// storeFlags are those of commands that write to a store.
type storeFlags struct {
	name     string
	dsn      *dsn.DSN
	probe    string
	interval time.Duration
	flags    *pflag.FlagSet
}

// minInterval is the least --interval: shorter ones would be mostly of one packet.
const minInterval = time.Millisecond

func addStore(f *pflag.FlagSet, s *storeFlags) {
	s.flags = f
	f.StringVar(&s.name, "store", "", "write the records to the store `DSN` as well, as in embedded:DIR or clickhouse://USER@HOST/rocelens (docs/store.md)")
	f.StringVar(&s.probe, "probe", "", "`NAME` of the probe in the store (default: the host's)")
	f.DurationVar(&s.interval, "interval", time.Second, "length of the intervals that flows are stored in")
}

// check reads the flags.
func (s *storeFlags) check() (err error) {
	switch {
	case s.name == "" && s.flags.Changed("store"):
		return errors.New("--store is empty: name a store, as in embedded:DIR, or leave it out")
	case s.name == "":
		for _, name := range []string{"probe", "interval"} {
			if s.flags.Changed(name) {
				return fmt.Errorf("--%s says how to write to a store: name one with --store", name)
			}
		}
		return nil
	case s.interval < minInterval:
		return fmt.Errorf("--interval %v: use %v or more", s.interval, minInterval)
	}
	if s.dsn, err = parseDSN(s.name); err != nil {
		return err
	}
	if s.probe == "" {
		if s.probe, err = os.Hostname(); err != nil {
			return fmt.Errorf("the host has no name: use --probe: %w", err)
		}
	}
	return nil
}

// stored is a store that an analysis is written to, or nil.
type stored struct {
	store *storage.Store
	load  *load.Load // nil where it is in the store already
}

// openStore opens the store, brings its tables up to date, and begins to load what
// paths have in it.
func (o *analyzeOptions) openStore(ctx context.Context, inputs []capture.Input, cfg *pipeline.Config) (s *stored, err error) {
	if o.store.dsn == nil {
		return nil, nil
	}
	log := slog.New(slog.NewTextHandler(o.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options, err := json.Marshal(map[string]any{
		"interval_ns": int64(o.store.interval), "icrc": cfg.ICRC, "roce_ports": o.rocePorts, "ack_timeout_ns": cfg.Track.AckTimeout, "max_events": o.maxEvents,
		"max_memory": int64(o.maxMemory), "storm": [2]any{cfg.Pause.StormShare, cfg.Pause.StormWindow}, "links": cfg.Links, "priorities": cfg.Priorities,
	})
	if err != nil {
		return nil, err
	}
	id, err := runID(inputs, string(options))
	if err != nil {
		return nil, err
	}
	engineCfg := engine.DefaultConfig()
	engineCfg.Owner = "rocelens analyze"
	store, err := storage.Open(ctx, o.store.dsn, engineCfg, log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close(ctx))
		}
	}()
	if _, err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	origin := schema.Origin{Probe: o.store.probe, Run: id}
	row := schema.Run{Tool: toolVersion(), Options: string(options)}
	for i := range inputs {
		origin.Inputs = append(origin.Inputs, schema.Input{Tap: tapName(inputs[i].Path)})
		row.Inputs = append(row.Inputs, inputs[i].Path)
	}
	s = &stored{store: store}
	s.load, err = load.Begin(ctx, store, load.DefaultConfig(), origin, row, log)
	var finished *runs.FinishedError
	switch {
	case errors.As(err, &finished):
		fmt.Fprintf(o.err, "rocelens: %v\n", err)
		return s, nil
	case err != nil:
		return nil, err
	}
	var others uint64
	if err := store.Row(ctx, []any{&others}, "SELECT count() FROM "+store.Options.Name(schema.Runs().Table)+" FINAL WHERE state = 'finished' AND run != ? AND inputs = ?", id, row.Inputs); err != nil {
		s.load.Abort()
		return nil, err
	}
	if others > 0 {
		fmt.Fprintf(o.err, "rocelens: inputs of these names are in the store already, with other options or other content: sums over all runs count both\n")
	}
	cfg.Track.Intervals.Length = int64(o.store.interval)
	cfg.Track.Intervals.Sink = s.load.Intervals
	return s, nil
}

// tapName is what an input is called in the store: its path as it was given,
// since captures of several hosts are often called the same.
func tapName(path string) string {
	if path == stdinPath {
		return "stdin"
	}
	return filepath.Clean(path)
}

// runID is the id of an analysis: the same for the same content and options, and
// like no other where an input can't be read twice.
func runID(inputs []capture.Input, options string) (string, error) {
	sums := make([][sha256.Size]byte, 0, len(inputs))
	for i := range inputs {
		path := inputs[i].Path
		if path == stdinPath {
			return runs.NewID(), nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return runs.NewID(), nil
		}
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		sum, err := runs.Input(f, info.Size())
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		sums = append(sums, sum)
	}
	return runs.ID(sums, options), nil
}

// finish writes what was found and waits for the store. whole says that all of
// the inputs was read.
func (s *stored) finish(ctx context.Context, whole bool, r *pipeline.Result, inputs []capture.Input, findings []record.Finding) (err error) {
	if s == nil {
		return nil
	}
	defer func() { err = errors.Join(err, s.store.Close(ctx)) }()
	switch {
	case s.load == nil:
		return nil
	case !whole:
		s.load.Abort()
		return errors.New("the store has only part of the analysis: it is taken out when the same is loaded again")
	}
	err = s.load.Result(r, inputs, findings)
	_, e := s.load.Finish()
	if err = errors.Join(err, e); err != nil {
		return fmt.Errorf("the store does not have all of the analysis; load it again with the same command: %w", err)
	}
	return nil
}
