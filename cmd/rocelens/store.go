package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/storage/engine"
)

func newStore(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Keep records in ClickHouse: its tables, the embedded one",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStoreMigrate(io), newStoreQuery(io), newStoreServe(io), newStoreStatus(io))
	return cmd
}

type storeServeOptions struct {
	streams
	cfg engine.Config
}

func newStoreServe(io streams) *cobra.Command {
	o := &storeServeOptions{streams: io, cfg: engine.DefaultConfig()}
	o.cfg.Owner = "rocelens store serve"
	o.cfg.Listen = "127.0.0.1:8123"
	cmd := &cobra.Command{
		Use:   "serve embedded:DIR",
		Short: "Run the embedded ClickHouse on its own, until Ctrl-C",
		Long: `serve runs a ClickHouse with its data in DIR, in the foreground, until SIGINT or
SIGTERM. It prints where to connect and which file has user and password. Only this
machine can connect. ClickHouse is started again when it fails.

A clickhouse in PATH is used if it is new enough, and otherwise its library,
libchdb.so: the one that the environment variable ` + engine.LibraryEnv + ` names, or the one
in DIR, in the user's cache, where "make engine" puts it, or among the system's
libraries. ` + engine.LibraryEnv + ` comes before PATH. DIR can be used by one program at a
time. See docs/store.md.

Exit codes: 0 stopped; 1 wrong usage, or ClickHouse can't be started or kept running.`,
		Example: `  rocelens store serve embedded:/var/lib/rocelens
  curl --netrc-file /var/lib/rocelens/credentials http://127.0.0.1:8123/ -d 'SELECT 1'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("store serve needs one embedded:DIR, as in rocelens store serve embedded:/var/lib/rocelens")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.cfg.Dir, err = engine.ParseDSN(args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.cfg.Listen, "listen", o.cfg.Listen, "listen on `ADDRESS`, an IP address of this machine's loopback with a port; port 0 takes a free one")
	f.Var((*engineMemory)(&o.cfg.MaxMemory), "max-memory", "let ClickHouse use memory of `SIZE`, as in 2G")
	return cmd
}

// engineMemory is a flag of what ClickHouse may use.
type engineMemory byteSize

func (m *engineMemory) String() string { return (*byteSize)(m).String() }

func (m *engineMemory) Set(s string) error {
	var b byteSize
	if err := b.Set(s); err != nil {
		return err
	}
	if b < engine.MinMemory {
		return fmt.Errorf("%s is too little for ClickHouse: use at least %dM", s, engine.MinMemory>>20)
	}
	*m = engineMemory(b)
	return nil
}

func (*engineMemory) Type() string { return "SIZE" }

func (o *storeServeOptions) run(ctx context.Context) (err error) {
	log := slog.New(slog.NewTextHandler(o.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	e, err := engine.New(o.cfg, log)
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return nil // Ctrl-C while it was starting
		}
		return err
	}
	defer func() {
		// Bounded by the engine's own time-out.
		err = errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
	}()
	if _, err := fmt.Fprintf(o.out, "ClickHouse %s answers at %s (process %d)\nuser and password are in %s\n",
		e.Version(), e.Endpoint().URL(), e.PID(), e.CredentialsFile()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-e.Done():
	}
	return nil
}
