package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/cmd/rocelens/config"
	"github.com/rocelens/rocelens/cmd/rocelens/logs"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/pipeline/record"
)

type monitorOptions struct {
	streams
	config string
	check  bool
	file   *config.File // nil without one
	flags  *pflag.FlagSet
	// given are the flags of the command line, and commandLine is what it made of the
	// options, before the file.
	given       map[string]bool
	commandLine *monitorOptions

	cfg       monitor.Config
	rocePorts []uint16
	buffer    ringSize
	maxMemory byteSize
	noPromisc bool
	interval  time.Duration
	store     string
	noStore   string // why there is none, "" where there is one
	spoolDir  string // to be made, "" where the spool's is the user's
	spoolSize byteSize
	timeout   ackTimeout
	pause     pauseFlags
	logLevel  logs.Level
	logFormat logs.Format
	record    recordFlags
}

func newMonitor(io streams) *cobra.Command {
	o := &monitorOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "monitor -i INTERFACE... | -r FILE|DIR...",
		Short: "Watch network interfaces, and keep metrics for Prometheus",
		Long: `monitor captures from network interfaces until Ctrl-C or SIGTERM, follows the RoCE
sessions in what it captures, and keeps metrics of them for Prometheus: at
http://ADDRESS/metrics, described in docs/metrics.md. /healthz says that it runs,
/readyz whether it captures on all interfaces, and why not.

What flows do is also kept in a store. Without --store that is a ClickHouse of its
own, if there is one to start (docs/store.md), in $STATE_DIRECTORY, as root in
/var/lib/rocelens, and else in rocelens in $XDG_STATE_HOME or ~/.local/state.

The kernel drops all but RoCE, PFC and PAUSE, ICMP and tunnels before it gets
there. What it can't keep up with is counted (rocelens_capture_dropped_frames_total).
Interfaces may go down, away, and come back.

With -r it reads files instead that another program writes meanwhile: a pcap or
pcapng file that grows, the ring of files in a directory that tcpdump -C -W or
dumpcap -b writes, or a named pipe. What is there already is read first.

Each flag but --config and --check is also a key of the file that --config names, as
in deploy/rocelens.yml; what the command line says comes first. SIGHUP has the file
read again.

It needs Linux and the capability CAP_NET_RAW: run it as root, or give the program
the capability with "setcap cap_net_raw=ep". Once its sockets are open it gives up
all capabilities.

Exit codes: 0 stopped; 1 wrong usage or configuration, or it can't capture or listen.`,
		Example: `  rocelens monitor -i mirror0
  rocelens monitor -i eth2 -i eth3 --listen :9797 --web-config web.yml
  rocelens monitor -r /var/captures
  rocelens monitor --config /etc/rocelens.yml --check`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("monitor takes no argument: name interfaces with -i, as in -i %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags())
	completeValues(cmd, "log-level", logs.Levels())
	completeValues(cmd, "log-format", logs.Formats())
	completeValues(cmd, "record-level", record.SeverityNames())
	return cmd
}

// addFlags adds the flags, in the order in which the file has them as keys.
func (o *monitorOptions) addFlags(f *pflag.FlagSet) {
	o.flags, o.cfg = f, monitor.DefaultConfig()
	f.SortFlags = false
	f.StringVar(&o.config, "config", "", "take what is not on the command line from `FILE`")
	f.BoolVar(&o.check, "check", false, "say what would be done, or what is wrong, and do nothing")
	config.OnlyCommandLine(f, "config", "check")

	f.StringArrayVarP(&o.cfg.Live.Interfaces, "interface", "i", nil, "capture on `INTERFACE` (may be repeated)")
	f.StringArrayVarP(&o.cfg.Follow.Paths, "read", "r", nil, "follow `FILE|DIR` that another program writes (may be repeated)")
	f.BoolVar(&o.noPromisc, "no-promiscuous", false, "capture only what is sent to this host")
	o.buffer = ringSize(o.cfg.Live.BufferBytes)
	f.Var(&o.buffer, "buffer", "`SIZE` of the ring of each interface, as in 256M: it holds what comes while the processors are busy")
	f.Uint32Var(&o.cfg.SnapLen, "snaplen", 0, "keep `BYTES` of each frame (default: all): ICRCs of what is cut are not checked")
	f.BoolVar(&o.cfg.Live.Hardware, "hardware-time", false, "take time stamps of the NIC where it has them, which needs CAP_NET_ADMIN")

	f.StringVar(&o.cfg.Listen, "listen", o.cfg.Listen, "listen for Prometheus on `ADDRESS`; port 0 takes a free one")
	f.StringVar(&o.cfg.WebConfig, "web-config", "", "`FILE` with TLS and users for that address, as of Prometheus's exporters")

	f.StringVar(&o.store, "store", "", "write what flows do to the store `DSN`, as in embedded:DIR or clickhouse://USER@HOST/rocelens (docs/store.md), or to \"none\" (default: embedded, if there is a ClickHouse to start)")
	f.StringVar(&o.cfg.Store.Probe, "probe", "", "`NAME` of this probe in the store (default: the host's)")
	f.StringVar(&o.cfg.Store.Spool.Path, "spool", "", "keep rows in `FILE` while the store is away (default: monitor.spool where the embedded store is, or would be)")
	o.spoolSize = byteSize(o.cfg.Store.Spool.MaxBytes)
	f.Var(&o.spoolSize, "spool-size", "let that file have `SIZE`, as in 4G: beyond it rows are lost, and counted")

	f.DurationVar(&o.interval, "interval", monitor.DefaultInterval, "tell what flows did in intervals of `DUR`, as in 10s")
	addRoCEPort(f, &o.rocePorts)
	addMaxMemory(f, &o.maxMemory)
	addAckTimeout(f, &o.timeout)
	addPause(f, &o.pause)
	addRecord(f, &o.record, &o.cfg.Record)
	addWorkers(f, &o.cfg.Pipeline.Workers)

	o.logFormat = logs.Text
	f.Var(&o.logLevel, "log-level", "log what is of this `LEVEL` or above: debug, info, warn or error")
	f.Var(&o.logFormat, "log-format", "`FORMAT` of the log: text or json")
}

func (o *monitorOptions) run(ctx context.Context) error {
	gone := monitor.RightsGone() // before the sockets are taken
	err := o.watch(ctx)
	if gone && os.Geteuid() == 0 && errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: monitor has given up the rights of root by now, so it can do only what any user called root may (docs/monitor.md)", err)
	}
	return err
}

func (o *monitorOptions) watch(ctx context.Context) error {
	if err := o.configure(); err != nil {
		return err
	}
	if err := o.chooseStore(ctx); err != nil {
		return err
	}
	if err := o.look(); err != nil {
		return err
	}
	if o.check {
		return o.tellPlan()
	}
	if ctx.Err() != nil {
		return nil // stopped while it looked for a ClickHouse
	}
	if len(o.process) > 0 && len(o.cfg.Follow.Paths) == 0 {
		switch err := monitor.GiveUpRights(ctx, &o.cfg.Live, o.process); {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		}
	}
	if o.spoolDir != "" {
		if err := os.MkdirAll(o.spoolDir, 0o700); err != nil {
			return err
		}
	}
	log := logs.New(o.err)
	defer log.Flush()
	log.Set(o.logLevel, o.logFormat)
	o.cfg.Log = log.Logger()
	ctx, stop := o.hangups(ctx, log)
	defer stop()
	o.cfg.Live.Context, o.cfg.Follow.Context = ctx, ctx
	m, err := monitor.Start(ctx, o.cfg)
	if err != nil {
		return err
	}
	defer keepMemoryClose(o.maxMemory)()
	if err := o.tell(m.URL()); err != nil {
		return errors.Join(err, m.Close())
	}
	return m.Run(ctx)
}

// tell says what is done, and where to look.
func (o *monitorOptions) tell(url string) error {
	what := "capturing on " + strings.Join(o.cfg.Live.Interfaces, ", ")
	if len(o.cfg.Follow.Paths) > 0 {
		what = "following " + strings.Join(o.cfg.Follow.Paths, ", ")
	}
	lines := []string{what, "metrics are at " + url, o.storeTold()}
	if o.cfg.Record.Dir != "" {
		lines = append(lines, o.record.told(&o.cfg.Record))
	}
	_, err := fmt.Fprintln(o.out, strings.Join(lines, "\n"))
	return err
}
