package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
)

type correlateOptions struct {
	streams
	paths     []string
	named     []string // values of --tap
	format    string
	output    string
	top       int
	rocePorts []uint16
	noICRC    bool
	window    time.Duration
	maxMemory byteSize
	maxLosses int
	inOrder   bool
	sameClock bool
	failOn    record.Severity // 0: never
}

// defaultCorrelateMemory is --max-memory of correlate.
const defaultCorrelateMemory = 1 << 30

func newCorrelate(io streams) *cobra.Command {
	def := correlate.DefaultConfig()
	o := &correlateOptions{streams: io, maxMemory: defaultCorrelateMemory}
	cmd := &cobra.Command{
		Use:   "correlate FILE FILE...",
		Short: "Find the same packets at several taps: loss, delay and marks between them",
		Long: `correlate takes captures of the same traffic at different taps, finds the same packets
in them, and says what became of them in between: where packets were lost, how long they
took, where they were marked CE, overtaken, copied or damaged, and where their class
changed.

Each FILE is a tap of its own, or a directory for one; --tap NAME=FILE,FILE gives a tap a
name and several files, and comes after FILEs. The taps' clocks need not agree: how they
differ is estimated from the packets, and how sure that is is said. So is the order in
which packets pass the taps.

Every file is read twice. Standard input, -, is kept in a temporary file for that.`,
		Example: `  rocelens correlate sender.pcap receiver.pcap
  rocelens correlate --tap leaf1=leaf1.pcapng --tap spine=spine-a.pcapng,spine-b.pcapng --tap leaf2=leaf2.pcapng
  rocelens correlate --same-clock port1.pcap port2.pcap
  rocelens correlate --format json a.pcap b.pcap | jq '.losses[] | [.psn, .ip_id]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.named, "tap", nil, "a tap with a name and its files, `NAME=FILE,FILE` (may be repeated)")
	f.BoolVar(&o.inOrder, "in-order", false, "packets pass the taps in the order given, or in the opposite one")
	f.BoolVar(&o.sameClock, "same-clock", false, "the taps have one clock: take their times as they are")
	f.StringVar(&o.format, "format", "text", "`FORM` of the report: text, or json for scripts")
	f.StringVarP(&o.output, "output", "o", "", "write the report to `FILE` instead of standard output")
	o.top = report.DefaultTop
	f.Var((*atLeastOne)(&o.top), "top", "flows that text lists, the worst first")
	f.DurationVar(&o.window, "window", def.Window, "wait for a packet that is missing at a tap for `DUR`")
	f.Var(&o.maxMemory, "max-memory", "memory for packets that wait and for flows, `SIZE` as in 512M or 4G: without enough of it packets wait less long, and that is said")
	f.IntVar(&o.maxLosses, "max-losses", def.MaxLosses, "list at most `N` losses one by one; all are counted")
	addRoCEPort(f, &o.rocePorts)
	f.BoolVar(&o.noICRC, "no-icrc", false, "do not check ICRCs: no corruption is found then")
	f.Var((*severity)(&o.failOn), "fail-on", "exit with code 3 if there is a finding at `SEVERITY` (info, warning, critical) or above")
	completeValues(cmd, "format", reportFormats)
	completeValues(cmd, "fail-on", record.SeverityNames())
	return cmd
}

// tapFiles is a tap with its files.
type tapFiles struct {
	name  string
	paths []string
}

// taps are those of the command line, in its order.
func (o *correlateOptions) taps() ([]tapFiles, error) {
	var taps []tapFiles
	for _, path := range o.paths {
		taps = append(taps, tapFiles{name: path, paths: []string{path}})
	}
	shorten(taps)
	for _, s := range o.named {
		name, files, found := strings.Cut(s, "=")
		if !found || name == "" || files == "" {
			return nil, fmt.Errorf("--tap %q: write NAME=FILE, or NAME=FILE,FILE for several files of one tap", s)
		}
		taps = append(taps, tapFiles{name: name, paths: strings.Split(files, ",")})
	}
	if len(taps) < 2 {
		return nil, errors.New("correlate needs captures of two taps or more: FILE FILE, or --tap NAME=FILE for each; see rocelens correlate --help")
	}
	var seen []string
	for i, t := range taps {
		for _, path := range t.paths {
			if other := sameFile(seen, path); other != "" {
				return nil, fmt.Errorf("%s and %s are the same: a capture is of one tap", capture.PathText(other), capture.PathText(path))
			}
			seen = append(seen, path)
		}
		if slices.ContainsFunc(taps[:i], func(u tapFiles) bool { return u.name == t.name }) {
			return nil, fmt.Errorf("two taps are called %s: give them names, --tap NAME=FILE", capture.PathText(t.name))
		}
	}
	return taps, nil
}

// shorten names taps by their files without directories and endings, if that
// leaves them different.
func shorten(taps []tapFiles) {
	names := make([]string, len(taps))
	for i, t := range taps {
		name := filepath.Base(t.name)
		for _, ext := range []string{".gz", ".zst", ".pcap", ".pcapng", ".cap", ".erf"} {
			name = strings.TrimSuffix(name, ext)
		}
		if name == "" || name == "." || slices.Contains(names[:i], name) {
			return
		}
		names[i] = name
	}
	for i := range taps {
		taps[i].name = names[i]
	}
}

// sameFile is the one of some paths that is the same file as path, "" for none.
func sameFile(paths []string, path string) string {
	info, err := os.Stat(path)
	for _, p := range paths {
		if p == path {
			return p
		}
		if other, e := os.Stat(p); err == nil && e == nil && path != stdinPath && p != stdinPath && os.SameFile(info, other) {
			return p
		}
	}
	return ""
}

func (o *correlateOptions) run(ctx context.Context) error {
	write := report.CorrelationText
	switch o.format {
	case "text":
	case "json":
		write = report.CorrelationJSON
	default:
		return fmt.Errorf("unknown --format %q: use text or json", o.format)
	}
	switch {
	case o.maxLosses < 0:
		return fmt.Errorf("--max-losses %d: use 0 or more", o.maxLosses)
	case o.window <= 0:
		return fmt.Errorf("--window %v: packets take some time from tap to tap: use 1s, or so", o.window)
	}
	taps, err := o.taps()
	if err != nil {
		return err
	}
	names := make([]string, len(taps))
	in := make([]*twice, len(taps))
	for i, t := range taps {
		names[i] = t.name
		in[i] = &twice{streams: o.streams, paths: t.paths, why: "finding packets again at other taps"}
		defer in[i].close() //nolint:gocritic // one for each tap, when the command ends
		if err := in[i].keep(ctx); err != nil {
			return err
		}
	}
	out, err := openOutput("report", o.output, o.streams, o.inputs(taps))
	if err != nil {
		return err
	}
	told, done := showProgress(o.err)
	opened := make([]bool, len(taps))
	open := func(tap int) (capture.Source, error) {
		w := o.err
		if opened[tap] {
			w = io.Discard // what is left out has been said
		}
		opened[tap] = true
		return in[tap].open(ctx, w)
	}
	result, err := correlate.Run(ctx, len(taps), open, o.config(told))
	done()
	partial := ctx.Err() != nil
	switch {
	case result == nil && partial:
		return errors.Join(interrupted(), out.discard())
	case result == nil || err != nil && !partial:
		return errors.Join(err, out.discard())
	}
	findings := correlate.Find(result, report.TapNames(names))
	c := report.NewCorrelation(names, result, findings, toolVersion())
	c.Partial = partial
	if err := out.write(func(w io.Writer) error { return write(w, c, o.reportOptions()) }); err != nil {
		return err
	}
	ends := []error{judge(o.failOn, findings)}
	for i := range result.Taps {
		ends = append(ends, complain(o.err, result.Taps[i].Inputs))
	}
	if partial {
		ends = append(ends, interrupted())
	}
	return errors.Join(ends...)
}

func (o *correlateOptions) config(told func([]capture.Input)) correlate.Config {
	cfg := correlate.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.ICRC = !o.noICRC
	cfg.Window = o.window
	cfg.MaxMemory = int64(o.maxMemory)
	cfg.MaxLosses = o.maxLosses
	cfg.InOrder, cfg.SameClock = o.inOrder, o.sameClock
	cfg.Progress = told
	return cfg
}

// inputs are the files as far as the command line names them.
func (o *correlateOptions) inputs(taps []tapFiles) (list []capture.Input) {
	for _, t := range taps {
		for _, path := range t.paths {
			list = append(list, capture.Input{Path: path})
		}
	}
	return list
}

func (o *correlateOptions) reportOptions() report.Options {
	var opt report.Options
	if o.output == "" {
		opt = textOptions(o.out)
	}
	opt.Top = o.top
	return opt
}
