package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/cmd/rocelens/config"
	"github.com/rocelens/rocelens/cmd/rocelens/logs"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
)

// configure makes a configuration of the command line and the file, and says what
// is wrong with it.
func (o *monitorOptions) configure() (err error) {
	o.given = make(map[string]bool)
	o.flags.VisitAll(func(f *pflag.Flag) { o.given[f.Name] = f.Changed })
	base := *o
	o.commandLine = &base
	if o.config != "" {
		if o.file, err = config.Read(o.config); err != nil {
			return err
		}
		if err := o.file.Apply(o.flags); err != nil {
			return err
		}
	}
	c := &o.cfg
	live, follow := len(c.Live.Interfaces) > 0, len(c.Follow.Paths) > 0
	switch {
	case !live && !follow && o.file != nil:
		return fmt.Errorf("%s: monitor needs an interface, as in \"interface: eth0\", or files that another program writes, as in \"read: DIR\"", o.config)
	case !live && !follow:
		return errors.New("monitor needs an interface, as in rocelens monitor -i eth0, or files that another program writes, as in -r DIR")
	case live && follow:
		return errors.New("monitor captures with -i or follows files with -r, not both: run two of them")
	case o.interval < monitor.MinInterval:
		return fmt.Errorf("--interval %v: use %v or more", o.interval, monitor.MinInterval)
	}
	if err := o.needless(); err != nil {
		return err
	}
	c.Version = toolVersion()
	c.Pipeline.Track.Intervals.Length = int64(o.interval)
	c.Live.Promiscuous = !o.noPromisc
	c.Live.BufferBytes = int(o.buffer)
	c.Pipeline.Decode.RoCEPorts = o.rocePorts
	c.Pipeline.Track.MaxMemory = int64(o.maxMemory)
	c.Pipeline.Track.AckTimeout = int64(o.timeout)
	o.pause.set(&c.Pipeline)
	if live {
		if err := o.pause.speeds.check(c.Live.Interfaces); err != nil {
			return err
		}
	}
	for i, path := range c.Follow.Paths {
		if path == stdinPath {
			c.Follow.Paths[i] = stdinFile
		}
	}
	o.record.set(&c.Record)
	if err := o.setStore(); err != nil {
		return err
	}
	return c.Check()
}

// stdinFile is standard input as a file that is followed, or a pipe.
const stdinFile = "/dev/stdin"

// ofLive and ofRecord are flags that say nothing of files, and without --record.
var (
	ofLive   = []string{"no-promiscuous", "buffer", "snaplen", "hardware-time"}
	ofRecord = []string{"record-level", "record-disk", "record-memory", "record-span", "record-snaplen"}
)

// needless refuses flags that would do nothing.
func (o *monitorOptions) needless() error {
	if len(o.cfg.Follow.Paths) > 0 {
		if name := o.said(ofLive); name != "" {
			return fmt.Errorf("--%s is of no use with files, which were captured by others", name)
		}
	}
	if o.cfg.Record.Dir == "" {
		if name := o.said(ofRecord); name != "" {
			return fmt.Errorf("--%s is of no use without --record DIR, where frames go", name)
		}
	}
	return nil
}

// said is the first of some flags that is not as it is by itself, "" where all are.
func (o *monitorOptions) said(names []string) string {
	for _, name := range names {
		if f := o.flags.Lookup(name); f.Changed && f.Value.String() != f.DefValue {
			return name
		}
	}
	return ""
}

// look says what is wrong with what is there at the moment.
func (o *monitorOptions) look() error {
	if err := o.cfg.Look(); err != nil || o.cfg.Store.DSN == nil || o.spoolDir != "" {
		return err
	}
	if _, err := os.Stat(filepath.Dir(o.cfg.Store.Spool.Path)); err != nil {
		return fmt.Errorf("the directory of the spool: %w", err)
	}
	return nil
}

// tellPlan is for --check.
func (o *monitorOptions) tellPlan() error {
	from := "the configuration"
	if o.config != "" {
		from = o.config
	}
	if _, err := fmt.Fprintf(o.out, "%s is right; this would be done:\n", from); err != nil {
		return err
	}
	return o.tell(o.cfg.URL(o.cfg.Listen))
}

// reloadable are the keys that SIGHUP changes while the monitor runs.
var reloadable = []string{"log-level", "log-format"}

// hangups has SIGHUP read the file again, until stop is called; while the monitor stops
// it does nothing. Without a file it stops the monitor, as SIGTERM does, unless it is
// ignored (nohup).
func (o *monitorOptions) hangups(ctx context.Context, log *logs.Log) (context.Context, context.CancelFunc) {
	if o.file == nil {
		if signal.Ignored(syscall.SIGHUP) {
			return context.WithCancel(ctx)
		}
		return signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	came, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(came, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-came:
				if ctx.Err() == nil {
					o.reload(log)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		close(done)
	}
}

// reload does what a file says that has changed since the monitor began, as far
// as that can be done while it runs.
func (o *monitorOptions) reload(l *logs.Log) {
	log := l.Logger()
	next, err := o.anew()
	if err != nil {
		log.Error("the configuration can't be read again: all stays as it is", "error", err)
		return
	}
	l.Set(next.logLevel, next.logFormat)
	log.Info("the configuration was read again", "file", o.config, "log_level", next.logLevel.String(), "log_format", next.logFormat.String())
	var restart []string
	for _, name := range o.file.Changed(next.file) {
		if !o.given[name] && !slices.Contains(reloadable, name) {
			restart = append(restart, name)
		}
	}
	if len(restart) > 0 {
		log.Warn("keys have other values than those in use, which need a restart", "keys", strings.Join(restart, " "))
	}
}

// anew reads the file once more, behind the same command line.
func (o *monitorOptions) anew() (*monitorOptions, error) {
	next := new(monitorOptions)
	next.addFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	flags := next.flags
	*next = *o.commandLine
	next.flags = flags
	flags.VisitAll(func(f *pflag.Flag) { f.Changed = o.given[f.Name] })
	err := next.configure()
	return next, err
}
