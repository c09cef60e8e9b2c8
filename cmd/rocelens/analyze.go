package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline"
)

type analyzeOptions struct {
	streams
	paths     []string
	format    string
	output    string
	rocePorts []uint16
	noICRC    bool
}

// reportFormats are the values of --format.
var reportFormats = []string{"text", "json"}

func newAnalyze(io streams) *cobra.Command {
	o := &analyzeOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "Report what is in captures",
		Long: `analyze reads captures to their end and reports what is in them: how much of it is
RoCE and of which kind, whether each packet arrived unchanged (ICRC), the opcodes,
acknowledges and NAKs, tunnels, and what else there is.

FILE may be a pcap, pcapng or ERF file, plain or compressed by gzip or zstd, a
directory of such files, or - for standard input. Several are merged by time.`,
		Example: `  rocelens analyze capture.pcapng
  rocelens analyze --format json -o report.json host-a.pcap.zst host-b.pcap.zst
  ssh switch tcpdump -i mirror0 -w - | rocelens analyze -`,
		Args: needFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "`FORM` of the report: text, or json for scripts")
	f.StringVarP(&o.output, "output", "o", "", "write the report to `FILE` instead of standard output")
	addRoCEPort(f, &o.rocePorts)
	f.BoolVar(&o.noICRC, "no-icrc", false, "do not check ICRCs, which is most of the work on large packets")
	completeValues(cmd, "format", reportFormats)
	return cmd
}

func (o *analyzeOptions) run(ctx context.Context) error {
	write, err := o.writer()
	if err != nil {
		return err
	}
	src, err := openInputs(ctx, o.streams, o.paths)
	if err != nil {
		return err
	}
	defer src.Close()
	out, err := openOutput(o.output, o.out, src.Inputs())
	if err != nil {
		return err
	}
	cfg := pipeline.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.ICRC = !o.noICRC
	counters, err := pipeline.Run(ctx, src, cfg)
	inputs := finish(src, err)
	r := report.New(inputs, counters, toolVersion())
	r.Partial = ctx.Err() != nil
	if err != nil && !r.Partial && !isDamage(err) {
		return errors.Join(err, out.discard())
	}
	if err := out.write(func(w io.Writer) error { return write(w, r, o.reportOptions()) }); err != nil {
		return err
	}
	if r.Partial {
		return errors.Join(complain(o.err, inputs), interrupted())
	}
	return complain(o.err, inputs)
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

// reportOptions suit the terminal, if there is one.
func (o *analyzeOptions) reportOptions() report.Options {
	var opt report.Options
	file, ok := o.out.(*os.File)
	if !ok || o.output != "" {
		return opt
	}
	if columns, ok := terminalWidth(file); ok {
		// Narrower breaks the tables, wider is hard to read.
		opt.Width = min(max(columns, 80), 120)
		opt.Color = os.Getenv("NO_COLOR") == ""
	}
	return opt
}
