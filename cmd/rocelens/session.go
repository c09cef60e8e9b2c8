package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

type sessionOptions struct {
	streams
	paths     []string
	qp        string
	addr      string
	filter    displayFilter
	format    string
	maxEvents int
	timeout   ackTimeout
	workers   int
	maxMemory byteSize
	rocePorts []uint16
}

// storyEvents is how many events are kept of all sessions, so that none of the
// one that is told is missing.
const storyEvents = 1_000_000

func newSession(io streams) *cobra.Command {
	o := &sessionOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "session FILE... --qp N [--addr A]",
		Short: "Tell what happened on one queue pair, in order",
		Long: `session tells the session of one queue pair in the order of time: how it was set up,
losses, NAKs and what was sent again because of them, silences, how it ended, and what
it means. It is for the one who has a queue pair number from a log, as in NCCL's
"error 12", and wants to know what went wrong.

--qp takes the number of either end, decimal or as 0x11. Where it is that of several
queue pairs, --addr says whose. Where the number was used several times, each of the
sessions is told.

-Y tells only events whose packets match a display filter (docs/filters.md); figures and
conclusions are those of the whole session all the same.

FILE is as for analyze. A file is read twice, however many sessions are told, the second
time to count what passed between the events, and once more with -Y; standard input can be read only once, and goes without.`,
		Example: `  rocelens session --qp 0x8c capture.pcapng
  rocelens session --qp 140 --addr 10.0.0.2 capture.pcapng
  rocelens session --qp 0x8c -Y 'rocelens.cause == "timeout" || infiniband.aeth' capture.pcapng
  rocelens session --qp 0x8c --format json capture.pcapng | jq .events`,
		Args: needFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if err := o.filter.compile(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.qp, "qp", "", "`NUMBER` of the queue pair at either end")
	f.StringVar(&o.addr, "addr", "", "`ADDRESS` of the end that has it, or of the other one")
	o.filter.add(cmd, "tell only events whose packets match `EXPR`, a display filter in Wireshark's language")
	f.StringVar(&o.format, "format", "text", "`FORM`: text, or json for scripts")
	f.IntVar(&o.maxEvents, "max-events", storyEvents, "keep at most `N` events of all sessions, failures first")
	addAckTimeout(f, &o.timeout)
	addWorkers(f, &o.workers)
	addMaxMemory(f, &o.maxMemory)
	addRoCEPort(f, &o.rocePorts)
	completeValues(cmd, "format", reportFormats)
	return cmd
}

// parseQP reads a QPN, 24 bits.
func parseQP(s string) (uint32, error) {
	if s == "" {
		return 0, errors.New("which queue pair? use --qp NUMBER, decimal or as 0x11")
	}
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil || n > 1<<24-1 {
		return 0, fmt.Errorf("--qp %q: use a number from 0 to 16777215, or 0x0 to 0xffffff", s)
	}
	return uint32(n), nil
}

func (o *sessionOptions) run(ctx context.Context) error {
	qp, err := parseQP(o.qp)
	if err != nil {
		return err
	}
	write := report.StoryText
	switch o.format {
	case "text":
	case "json":
		write = report.StoryJSON
	default:
		return fmt.Errorf("unknown --format %q: use text or json", o.format)
	}
	if o.maxEvents < 0 {
		return fmt.Errorf("--max-events %d: use 0 or more", o.maxEvents)
	}
	in := &twice{streams: o.streams, paths: o.paths}
	defer in.close()
	src, err := in.openFor(ctx, o.filter.f != nil)
	if err != nil {
		return err
	}
	defer src.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.Track.MaxEvents = o.maxEvents
	cfg.Track.AckTimeout = int64(o.timeout)
	cfg.Workers = o.workers
	told, done := showProgress(o.err)
	cfg.Progress = told
	cfg.Track.MaxMemory = int64(o.maxMemory)
	if o.filter.f != nil {
		cfg.Track.Notes = track.NewNotes()
	}
	result, err := pipeline.Run(ctx, src, cfg)
	done()
	inputs := finish(src, err)
	partial := ctx.Err() != nil
	if err != nil && !partial && !isDamage(err) {
		return err
	}
	r := report.New(inputs, result, nil, toolVersion())
	r.Partial = partial
	forgotten(o.err, r.Forgotten)
	sessions, err := report.Select(r.Sessions, qp, o.addr)
	if err != nil {
		ends := []error{complain(o.err, inputs)}
		if partial {
			ends = append(ends, interrupted())
		}
		if result.Packets > 0 || ends[0] == nil { // else nothing was read, and that was said
			ends = append(ends, err)
		}
		return errors.Join(ends...)
	}
	story := report.NewStory(r, sessions)
	if o.filter.f != nil && !partial {
		if err := o.narrow(ctx, in, inputs, story, &cfg); err != nil {
			return err
		}
	}
	if !partial && o.format == "text" && readOnce(o.paths) == "" {
		if err := o.countTraffic(ctx, story, cfg); err != nil {
			return err
		}
	}
	if err := write(o.out, story, textOptions(o.out)); err != nil {
		return err
	}
	ends := []error{complain(o.err, inputs)}
	if partial {
		ends = append(ends, interrupted())
	}
	return errors.Join(ends...)
}

// narrow reads the inputs again for which events are told.
func (o *sessionOptions) narrow(ctx context.Context, in *twice, inputs []capture.Input, story *report.Story, cfg *pipeline.Config) error {
	src, err := in.again(ctx, inputs)
	if err != nil {
		return err
	}
	defer src.Close()
	var frames []record.FrameRef
	for i := range story.Sessions {
		frames = append(frames, story.Sessions[i].Frames()...)
	}
	match, err := pipeline.MatchFrames(ctx, src, cfg, o.filter.f, cfg.Track.Notes, frames)
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case err != nil && !isDamage(err):
		return err
	}
	story.Narrow(o.filter.expr, match)
	return nil
}

// countTraffic reads the inputs again for what passed between the events.
func (o *sessionOptions) countTraffic(ctx context.Context, story *report.Story, cfg pipeline.Config) error {
	quiet := o.streams
	quiet.err = io.Discard // what was left out has been said
	cuts := make([]pipeline.Cuts, len(story.Sessions))
	for i := range cuts {
		cuts[i] = pipeline.Cuts{Session: story.Sessions[i].Session, Frames: story.Sessions[i].Frames()}
	}
	src, err := openInputs(ctx, quiet, o.paths)
	if err != nil {
		return err
	}
	traffic, err := pipeline.TrafficBetween(ctx, src, cfg.Decode, cuts)
	err = errors.Join(err, src.Close())
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case err == nil:
		for i := range cuts {
			story.Sessions[i].Traffic = traffic[i]
		}
	case !isDamage(err):
		return err
	}
	return nil
}

// textOptions suit the terminal, if there is one.
func textOptions(out io.Writer) report.Options {
	var opt report.Options
	file, ok := out.(*os.File)
	if !ok {
		return opt
	}
	if columns, ok := terminalWidth(file); ok {
		// Narrower breaks the tables, wider is hard to read.
		opt.Width = min(max(columns, 80), 120)
		opt.Color = os.Getenv("NO_COLOR") == ""
	}
	return opt
}
