package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/annotate"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/track"
)

// maxAnnotated is how many events can have a comment: some hundred MB of them.
const maxAnnotated = 1 << 20

type annotateOptions struct {
	streams
	in        twice
	output    string
	rocePorts []uint16
	timeout   ackTimeout
	maxMemory byteSize
}

func newAnnotate(io streams) *cobra.Command {
	o := &annotateOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "annotate FILE",
		Short: "Write a copy of a capture with comments for Wireshark",
		Long: `annotate writes a copy of a capture in which each packet that is part of an event has a
comment: a NAK what it asks for and which packets answered it, a packet that was sent
again why, where the first one went, and which packets belong to the same try. The
comment on the file has the findings. Frames stay as they are, byte for byte, and
comments that were there stay too.

Wireshark shows comments in the packet's tree, and in the list with a column for them:
docs/wireshark has a profile. Filters find them, as in
  frame.comment contains "rocelens retransmission"

FILE may be a pcap, pcapng or ERF file, plain or compressed by gzip or zstd, or - for
standard input, which is kept in a temporary file: the capture is read twice. The copy
is a pcapng file. To annotate several files, merge them first: rocelens packets -w.`,
		Example: `  rocelens annotate capture.pcap.zst -o annotated.pcapng
  rocelens packets -w - host-a.pcap host-b.pcap | rocelens annotate -o annotated.pcapng -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("annotate takes one capture: merge several first, with rocelens packets -w")
			}
			return needFiles(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.output == "" {
				return errors.New("annotate needs -o FILE, or -o - for standard output")
			}
			o.in = twice{streams: o.streams, paths: args}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write the copy to `FILE`, - for standard output")
	addAckTimeout(f, &o.timeout)
	addMaxMemory(f, &o.maxMemory)
	addRoCEPort(f, &o.rocePorts)
	return cmd
}

func (o *annotateOptions) run(ctx context.Context) error {
	defer o.in.close()
	if err := o.in.keep(ctx); err != nil {
		return err
	}
	src, err := o.in.open(ctx, o.err)
	if err != nil {
		return err
	}
	defer src.Close()
	inputs := src.Inputs()
	if len(inputs) != 1 {
		return fmt.Errorf("annotate takes one capture, and these are %d: merge them with rocelens packets -w", len(inputs))
	}
	path := o.output
	if path == stdoutPath {
		path = ""
	}
	out, err := openOutput("copy", path, o.streams, inputs)
	if err != nil {
		return err
	}
	written, err := o.annotate(ctx, src, out)
	if !written {
		return errors.Join(err, out.discard())
	}
	return errors.Join(err, out.close())
}

// annotate follows the sessions of the whole input, and then writes src with
// comments to out. Where nothing could be read, or not all was written, written
// is false.
func (o *annotateOptions) annotate(ctx context.Context, src capture.Source, out io.Writer) (written bool, err error) {
	result, notes, found, err := o.follow(ctx)
	if err != nil {
		return false, err
	}
	tool := "rocelens " + toolVersion()
	w := capture.NewWriter(out, capture.WriterConfig{
		Application: tool, Inputs: src.Inputs, Comments: []string{annotate.Overview(tool, result, finding.Find(&finding.Facts{Inputs: found, Result: result}))},
	})
	a := annotate.New(result, notes, found[0].Frames)
	dec := decode.New(decode.Config{RoCEPorts: o.rocePorts})
	var p decode.Packet
	err = pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			f := &b.Frames[i]
			dec.Decode(f, &p)
			dec.VerifyICRC(&p)
			if err := w.WriteFrame(f, a.Of(&p)...); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return false, errors.New("interrupted: the copy is not kept")
	case err != nil && !isDamage(err):
		return false, err
	}
	end := complain(o.err, finish(src, err))
	if end != nil && result.Packets == 0 {
		return false, end
	}
	if err := w.Close(); err != nil {
		return false, err
	}
	if n := w.Cut(); n > 0 {
		fmt.Fprintf(o.err, "rocelens: %d names or comments were cut, because pcapng has no room for them\n", n)
	}
	return true, end
}

// follow reads the input for the first time. What is wrong with it is said at
// the second.
func (o *annotateOptions) follow(ctx context.Context) (*pipeline.Result, *track.Notes, []capture.Input, error) {
	src, err := o.in.open(ctx, io.Discard)
	if err != nil {
		return nil, nil, nil, err
	}
	defer src.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.Track.Notes, cfg.Track.MaxMemory = track.NewNotes(), int64(o.maxMemory)
	cfg.Track.AckTimeout, cfg.Track.MaxEvents = int64(o.timeout), maxAnnotated
	result, err := pipeline.Run(ctx, src, cfg)
	switch {
	case ctx.Err() != nil:
		return nil, nil, nil, errors.New("interrupted: the copy is not kept")
	case err != nil && !isDamage(err):
		return nil, nil, nil, err
	}
	forgotten(o.err, result.Forgotten)
	return result, cfg.Track.Notes, finish(src, err), nil
}
