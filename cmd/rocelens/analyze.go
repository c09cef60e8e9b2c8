package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

type analyzeOptions struct {
	streams
	paths     []string
	format    string
	output    string
	filter    displayFilter
	rocePorts []uint16
	noICRC    bool
	top       int
	sort      report.Sort
	maxEvents int
	timeout   ackTimeout
	pause     pauseFlags
	workers   int
	maxMemory byteSize
	failOn    record.Severity // 0: never
	store     storeFlags
}

// reportFormats are the values of --format.
var reportFormats = []string{"text", "json"}

func newAnalyze(io streams) *cobra.Command {
	o := &analyzeOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "Report what is in captures",
		Long: `analyze reads captures to their end and reports what is in them: what is wrong and
what to check next, the sessions between queue pairs with their losses, retransmissions
and latencies, how much of it is RoCE and of which kind, whether each packet arrived
unchanged (ICRC), the opcodes, acknowledges and NAKs, tunnels, who pauses whom, and
what else there is.

FILE may be a pcap, pcapng or ERF file, plain or compressed by gzip or zstd, a
directory of such files, or - for standard input. Several are merged by time.

-Y reports what matches a display filter (docs/filters.md): the totals of packets that
match, and the sessions that such packets are of, with all of their figures, events and
findings. The sessions are followed through all packets, whatever the filter; the input
is read twice for it, standard input by way of a temporary file.

--fail-on is for scripts: the exit code is 3 where a finding is that severe or worse.
With --no-icrc no packet is looked at for corruption, so --fail-on does not see any.`,
		Example: `  rocelens analyze capture.pcapng
  rocelens analyze --format json -o report.json host-a.pcap.zst host-b.pcap.zst
  rocelens analyze -Y 'ip.addr == 10.0.0.7 && vlan.priority == 3' capture.pcapng
  rocelens analyze --fail-on warning nic-test.pcap > report.txt
  ssh switch tcpdump -i mirror0 -w - | rocelens analyze -`,
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
	f.StringVar(&o.format, "format", "text", "`FORM` of the report: text, or json for scripts")
	f.StringVarP(&o.output, "output", "o", "", "write the report to `FILE` instead of standard output")
	o.filter.add(cmd, "report only what matches `EXPR`, a display filter in Wireshark's language: the input is read twice")
	addRoCEPort(f, &o.rocePorts)
	o.top = report.DefaultTop
	f.Var((*atLeastOne)(&o.top), "top", "sessions that text lists, the worst first")
	f.Var((*sessionSort)(&o.sort), "session-sort", "what text lists first, `ORDER`: "+strings.Join(report.SortNames(), ", "))
	f.IntVar(&o.maxEvents, "max-events", pipeline.DefaultConfig().Track.MaxEvents, "keep at most `N` events in the report, failures first; what is left out is counted, and no finding depends on it")
	addMaxMemory(f, &o.maxMemory)
	addAckTimeout(f, &o.timeout)
	addPause(f, &o.pause)
	addWorkers(f, &o.workers)
	f.BoolVar(&o.noICRC, "no-icrc", false, "do not check ICRCs, which is most of the work on large packets: no corruption is found then")
	addStore(f, &o.store)
	f.Var((*severity)(&o.failOn), "fail-on", "exit with code 3 if there is a finding at `SEVERITY` (info, warning, critical) or above")
	completeValues(cmd, "format", reportFormats)
	completeValues(cmd, "fail-on", record.SeverityNames())
	completeValues(cmd, "session-sort", report.SortNames())
	return cmd
}

func (o *analyzeOptions) run(ctx context.Context) error {
	write, err := o.writer()
	if err != nil {
		return err
	}
	if o.maxEvents < 0 {
		return fmt.Errorf("--max-events %d: use 0 or more", o.maxEvents)
	}
	if err := o.store.check(); err != nil {
		return err
	}
	in := &twice{streams: o.streams, paths: o.paths}
	defer in.close()
	src, err := in.openFor(ctx, o.filter.f != nil)
	if err != nil {
		return err
	}
	defer src.Close()
	out, err := openOutput("report", o.output, o.streams, src.Inputs())
	if err != nil {
		return err
	}
	cfg := pipeline.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.ICRC = !o.noICRC
	cfg.Track.MaxEvents = o.maxEvents
	cfg.Track.AckTimeout = int64(o.timeout)
	o.pause.set(&cfg)
	cfg.Workers = o.workers
	cfg.Track.MaxMemory = int64(o.maxMemory)
	if o.filter.f != nil {
		cfg.Track.Notes = track.NewNotes()
	}
	st, err := o.openStore(ctx, src.Inputs(), &cfg)
	if err != nil {
		return errors.Join(err, out.discard())
	}
	defer keepMemoryClose(o.maxMemory)()
	told, done := showProgress(o.err)
	cfg.Progress = told
	result, err := pipeline.Run(ctx, src, cfg)
	done()
	inputs := finish(src, err)
	o.pause.complain(o.err, inputs)
	facts := &finding.Facts{Inputs: inputs, Result: result}
	if o.filter.f != nil && (err == nil || isDamage(err)) {
		facts.Only, err = o.matching(ctx, in, inputs, &cfg, result)
	}
	partial := ctx.Err() != nil
	if err != nil && !partial && !isDamage(err) {
		return errors.Join(err, st.finish(ctx, false, result, inputs, nil), out.discard())
	}
	if partial && o.filter.f != nil { // what matches of the rest is not known
		return errors.Join(st.finish(ctx, false, result, inputs, nil), out.discard(), interrupted())
	}
	findings := finding.Find(facts)
	r := report.New(inputs, result, findings, toolVersion())
	r.Partial = partial
	if facts.Only != nil {
		r.Narrow(o.filter.expr, result, facts.Only)
	}
	err = st.finish(ctx, !partial, result, inputs, findings)
	if e := out.write(func(w io.Writer) error { return write(w, r, o.reportOptions()) }); e != nil {
		return errors.Join(err, e)
	}
	ends := []error{err, complain(o.err, inputs), judge(o.failOn, findings)}
	if r.Partial {
		ends = append(ends, interrupted())
	}
	return errors.Join(ends...)
}

// matching reads the inputs again for what matches the filter.
func (o *analyzeOptions) matching(ctx context.Context, in *twice, inputs []capture.Input, cfg *pipeline.Config, r *pipeline.Result) (*pipeline.Matching, error) {
	src, err := in.again(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return pipeline.Match(ctx, src, cfg, o.filter.f, cfg.Track.Notes, r)
}

// judge is the error that ends the command where a finding is as bad as
// --fail-on says, or worse.
func judge(failOn record.Severity, findings []record.Finding) error {
	if failOn == 0 {
		return nil
	}
	var codes []string
	for i := range findings {
		if f := &findings[i]; f.Severity >= failOn {
			codes = append(codes, f.Code+" ("+f.Severity.String()+")")
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return &codeError{code: exitFinding, msg: "--fail-on " + failOn.String() + ": " + strings.Join(codes, ", ")}
}

// writer is the function for --format.
func (o *analyzeOptions) writer() (func(io.Writer, *report.Report, report.Options) error, error) {
	switch o.format {
	case "text":
		return report.Text, nil
	case "json":
		return report.JSON, nil
	}
	return nil, fmt.Errorf("unknown --format %q: use text or json", o.format)
}

// reportOptions are those of the terminal, if there is one, and of the flags.
func (o *analyzeOptions) reportOptions() report.Options {
	var opt report.Options
	if o.output == "" {
		opt = textOptions(o.out)
	}
	opt.Top, opt.Sort = o.top, o.sort
	return opt
}
