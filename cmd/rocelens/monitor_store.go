package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
)

// withoutStore is --store where there is to be none.
const withoutStore = "none"

// ofStore are flags that say nothing without a store.
var ofStore = []string{"probe", "spool", "spool-size"}

// setStore finds out which store is named, if one is.
func (o *monitorOptions) setStore() (err error) {
	switch o.store {
	case "":
		return nil
	case withoutStore:
		return o.setNone("--store none says so")
	}
	if o.cfg.Store.DSN, err = parseDSN(o.store); err != nil {
		return err
	}
	return o.setSpool()
}

// chooseStore takes the embedded ClickHouse where no store is named and one can be
// started.
func (o *monitorOptions) chooseStore(ctx context.Context) error {
	if o.store != "" {
		return nil
	}
	dir, err := stateDir(os.Getenv)
	if err == nil {
		err = engine.Available(ctx, dir)
	}
	if err == nil && !o.check {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return o.setNone(fmt.Sprintf("%v; or name one with --store", err))
	}
	if o.cfg.Store.DSN, err = dsn.Parse("embedded:" + dir); err != nil {
		return err
	}
	return o.setSpool()
}

// stateDir is where programs of this user keep what they have to remember.
func stateDir(env func(string) string) (string, error) {
	if list := env("STATE_DIRECTORY"); list != "" { // systemd's
		dir, _, _ := strings.Cut(list, ":")
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/rocelens", nil
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rocelens"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no directory to keep it in: $STATE_DIRECTORY, $XDG_STATE_HOME and $HOME say none")
	}
	return filepath.Join(home, ".local", "state", "rocelens"), nil
}

// setNone goes on without a store, unless something was said of it.
func (o *monitorOptions) setNone(why string) error {
	if name := o.said(ofStore); name != "" {
		return fmt.Errorf("--%s is of no use without a store, and there is none: %s", name, why)
	}
	o.noStore = why
	return nil
}

// setSpool finds out what the flags leave open.
func (o *monitorOptions) setSpool() (err error) {
	c := &o.cfg.Store
	if c.Probe == "" {
		if c.Probe, err = os.Hostname(); err != nil {
			return fmt.Errorf("the host has no name: use --probe: %w", err)
		}
	}
	c.Spool.MaxBytes = int64(o.spoolSize)
	if c.Spool.Path != "" {
		return nil
	}
	dir := c.DSN.Dir
	if dir == "" {
		if dir, err = stateDir(os.Getenv); err != nil {
			return fmt.Errorf("the spool: %w; or use --spool", err)
		}
	}
	o.spoolDir = dir
	c.Spool.Path = filepath.Join(dir, "monitor.spool")
	return nil
}

// storeTold says of the store what the user should know.
func (o *monitorOptions) storeTold() string {
	if o.noStore != "" {
		return "there is no store, the metrics are all that is kept: " + o.noStore
	}
	c := &o.cfg.Store
	return fmt.Sprintf("what flows do, sessions and events go to %s as of probe %s, by way of %s; docs/store.md says how to ask", c.DSN, c.Probe, c.Spool.Path)
}
