package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

type generateOptions struct {
	streams
	scenario.Options
	output, truth string
	list          bool
}

func newGenerate(io streams) *cobra.Command {
	o := &generateOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "generate SCENARIO",
		Short: "Write a simulated capture with known truth",
		Long: `generate simulates RoCE traffic and writes what a tap sees of it, and with --truth
what really happened: which packets were lost and where, what the requester did about
it and why. "rocelens generate --list" lists the scenarios.

The file is pcapng, or pcap with nanoseconds if its name ends in .pcap. The same
scenario and options give the same bytes. Options that a scenario does not have are
refused; the list shows which it has.`,
		Example: `  rocelens generate --list
  rocelens generate loss_before -o loss.pcapng --truth loss.json
  rocelens generate random_loss --loss 0.03 --seed 7 -o - | rocelens analyze -
  rocelens generate bulk_write --sessions 100000 --packets 10000000 --snaplen 128 -o big.pcap`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(scenarioNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				if len(args) > 0 {
					return errors.New("--list lists all scenarios: leave out the name")
				}
				return listScenarios(o.out)
			}
			if len(args) == 0 {
				return errors.New("generate needs the name of a scenario; rocelens generate --list shows them")
			}
			sc, err := scenario.Find(args[0])
			if err != nil {
				return fmt.Errorf("%w; rocelens generate --list shows all", err)
			}
			if err := o.check(cmd.Flags(), &sc); err != nil {
				return err
			}
			switch {
			case o.output == "":
				return errors.New("generate needs -o FILE, or -o - for standard output")
			case o.truth != "" && o.truth == o.output:
				return errors.New("the capture and its truth need a file each")
			}
			return o.run(cmd.Context(), &sc)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write the capture to `FILE`, - for standard output")
	f.StringVar(&o.truth, "truth", "", "write the truth to `FILE` as JSON, - for standard output")
	f.BoolVar(&o.list, "list", false, "list the scenarios with their options")
	f.Uint64Var(&o.Seed, "seed", 1, "draw everything that is left to chance from `N`")
	f.IntVar(&o.Sessions, "sessions", 0, "simulate `N` sessions")
	f.IntVar(&o.Packets, "packets", 0, "write about `N` packets")
	f.IntVar(&o.Payload, "payload", 0, "`BYTES` of payload in a full packet")
	f.Float64Var(&o.Loss, "loss", 0, "`SHARE` of packets that are lost, as in 0.01")
	f.IntVar(&o.Snaplen, "snaplen", 0, "keep `BYTES` of each frame (default: all)")
	return cmd
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenario.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// listScenarios writes one line a scenario.
func listScenarios(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, s := range scenario.Scenarios() {
		var takes []string
		for _, x := range s.Takes {
			takes = append(takes, "--"+string(x))
		}
		about := s.About
		if len(takes) > 0 {
			about += " (" + strings.Join(takes, ", ") + ")"
		}
		fmt.Fprintf(w, "%s\t%s\n", s.Name, about)
	}
	return w.Flush()
}

// check refuses options that would not do what they say: 0 is for what the scenario
// has unless it is told otherwise.
func (o *generateOptions) check(f *pflag.FlagSet, sc *scenario.Scenario) error {
	if err := sc.Check(o.Options); err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		zero bool
	}{{"sessions", o.Sessions == 0}, {"packets", o.Packets == 0}, {"payload", o.Payload == 0}, {"loss", o.Loss == 0}} {
		if f.Changed(x.name) && x.zero {
			return fmt.Errorf("--%s 0: use more than 0, or leave it out for what the scenario has", x.name)
		}
	}
	if o.Snaplen != 0 && o.Snaplen < decode.MinSnapLen {
		return fmt.Errorf("--snaplen %d: no header of RoCE fits in, use %d or more, or 0 for all", o.Snaplen, decode.MinSnapLen)
	}
	return nil
}

func (o *generateOptions) run(ctx context.Context, sc *scenario.Scenario) error {
	path, format := o.output, scenario.PcapNG
	if strings.HasSuffix(path, ".pcap") {
		format = scenario.Pcap
	}
	out, err := o.open("capture", path)
	if err != nil {
		return err
	}
	var truthOut *output
	if o.truth != "" {
		if truthOut, err = o.open("truth", o.truth); err != nil {
			return errors.Join(err, out.discard())
		}
	}
	var truth *scenario.Truth
	err = out.write(func(w io.Writer) (err error) {
		truth, err = sc.Write(untilDone{ctx, w}, o.Options, format, "rocelens "+toolVersion())
		return err
	})
	if truthOut == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, truthOut.discard())
	}
	return truthOut.write(func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(truth)
	})
}

// untilDone is a writer that ends when it is interrupted.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, errors.New("interrupted: the capture is not kept")
	}
	return u.w.Write(p)
}

// open opens one of the two files that are written.
func (o *generateOptions) open(what, path string) (*output, error) {
	if path == stdoutPath {
		path = ""
		if file, ok := o.out.(*os.File); ok && what == "capture" {
			if _, terminal := terminalWidth(file); terminal {
				return nil, errors.New("a capture is nothing for a terminal: write it to a file, or to another program")
			}
		}
	}
	return openOutput(what, path, o.streams, nil)
}
