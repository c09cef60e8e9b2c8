package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/load"
	"github.com/rocelens/rocelens/storage/runs"
	"github.com/rocelens/rocelens/storage/schema"
)

// store is the embedded ClickHouse, and the name that others have for it.
type store struct {
	*storage.Store
	engine *engine.Engine
	name   *dsn.DSN
}

// open starts ClickHouse and makes empty tables. Only who has the directory to itself
// gets as far as taking out what was there.
func (o *options) open(ctx context.Context) (s *store, err error) {
	cfg := engine.DefaultConfig()
	cfg.Dir, cfg.Listen, cfg.Owner = o.path("store"), o.listen, "make demo"
	s = &store{}
	if s.engine, err = engine.New(cfg, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))); err != nil {
		return nil, err
	}
	if err := s.engine.Start(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	at := s.engine.Endpoint()
	if s.name, err = dsn.Parse("http://" + at.User + "@" + at.Addr + "/" + schema.DefaultDatabase); err != nil {
		return nil, err
	}
	s.name.Password = dsn.NewSecret(at.Password)
	if s.Store, err = storage.Open(ctx, s.name, cfg, nil); err != nil {
		return nil, err
	}
	if err := s.Exec(ctx, "DROP DATABASE IF EXISTS "+schema.Quote(s.Options.Database)+" SYNC"); err != nil {
		return nil, err
	}
	_, err = s.Migrate(ctx)
	return s, err
}

func (s *store) close(ctx context.Context) (err error) {
	if s.Store != nil {
		err = s.Close(ctx)
	}
	return errors.Join(err, s.engine.Stop(ctx))
}

// shown is what was loaded.
type shown struct {
	from, to time.Time
	lengths  []time.Duration // of the captures
	frames   uint64
}

// apart is how far from each other captures are in time: each has a minute of
// its own in the boards.
const apart = time.Minute

// fill writes all captures as if they had been taken just now, one after the other, and
// loads them.
func (o *options) fill(ctx context.Context, s *store) (*shown, error) {
	dir := o.path("captures")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sh := &shown{to: o.now.Truncate(apart)}
	sh.from = sh.to.Add(-time.Duration(len(o.examples)) * apart)
	fmt.Fprintf(o.out, "loading %d captures, as if they had been taken from %s to %s\n", len(o.examples), sh.from.Format("15:04"), sh.to.Format("15:04"))
	for i, c := range o.examples {
		at := sh.from.Add(time.Duration(i) * apart)
		path := filepath.Join(dir, c.name+".pcapng")
		length, err := o.write(ctx, c, uint64(i+1), path, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		n, err := s.load(ctx, path, c.probe())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(o.out, "  %s  %-9s %-36s %s\n", at.Format("15:04"), c.probe(), c.name, c.about)
		sh.lengths = append(sh.lengths, length)
		sh.frames += n
	}
	return sh, nil
}

// write writes a capture that begins at a time, and returns how long it is. The seed gives
// simulated ones their queue pairs and PSNs.
func (o *options) write(ctx context.Context, c example, seed uint64, path string, at time.Time) (time.Duration, error) {
	if !c.simulated {
		return shift(ctx, filepath.Join(o.captures, c.file()), path, at)
	}
	sc, err := scenario.Find(c.name)
	if err != nil {
		return 0, err
	}
	made := path + ".tmp"
	defer os.Remove(made)
	if err := create(made, func(w io.Writer) error {
		_, err := sc.Write(w, scenario.Options{Seed: seed, Packets: c.packets}, scenario.PcapNG, "rocelens demo")
		return err
	}); err != nil {
		return 0, err
	}
	return shift(ctx, made, path, at)
}

// shift copies a capture, with the first frame at a time and all others as far from
// it as they were, and returns how far the last one is.
func shift(ctx context.Context, from, to string, at time.Time) (length time.Duration, err error) {
	src, err := capture.OpenAll([]string{from}, capture.DefaultConfig())
	if err != nil {
		return 0, err
	}
	defer src.Close()
	err = create(to, func(out io.Writer) error {
		w := capture.NewWriter(out, capture.WriterConfig{Application: "rocelens demo", Inputs: src.Inputs})
		by, first := int64(0), true
		err := pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
			for i := range b.Frames {
				f := b.Frames[i]
				if first {
					by, first = at.UnixNano()-f.Time, false
				}
				f.Time += by
				length = time.Duration(f.Time - at.UnixNano())
				if err := w.WriteFrame(&f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil { // and Close would say it again
			return err
		}
		return w.Close()
	})
	return length, err
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// load puts what an analysis of a capture finds into the store, as analyze --store
// does, and returns how many frames it had. The tap has the name of the file.
func (s *store) load(ctx context.Context, path, probe string) (frames uint64, err error) {
	src, err := capture.OpenAll([]string{path}, capture.DefaultConfig())
	if err != nil {
		return 0, err
	}
	defer src.Close()
	origin := schema.Origin{Probe: probe, Run: runs.NewID(), Inputs: []schema.Input{{Tap: filepath.Base(path)}}}
	into, err := load.Begin(ctx, s.Store, load.DefaultConfig(), origin, schema.Run{Tool: "rocelens demo", Inputs: []string{path}}, nil)
	if err != nil {
		return 0, err
	}
	cfg := pipeline.DefaultConfig()
	cfg.Track.Intervals.Length, cfg.Track.Intervals.Sink = int64(time.Second), into.Intervals
	result, err := pipeline.Run(ctx, src, cfg)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		into.Abort()
		return 0, err
	}
	inputs := src.Inputs()
	err = into.Result(result, inputs, finding.Find(&finding.Facts{Inputs: inputs, Result: result}))
	_, e := into.Finish()
	return inputs[0].Frames, errors.Join(err, e)
}
