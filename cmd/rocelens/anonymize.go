package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode/anonymize"
	"github.com/rocelens/rocelens/pipeline"
)

type anonymizeOptions struct {
	streams
	paths     []string
	output    string
	payload   string
	keyFile   string
	mapQPNs   bool
	rocePorts []uint16
}

// payloadForms are the values of --payload.
var payloadForms = []string{"zero", "cut"}

// keyVariable is the environment variable that a key may be in.
const keyVariable = "ROCELENS_ANONYMIZE_KEY"

func newAnonymize(io streams) *cobra.Command {
	o := &anonymizeOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "anonymize FILE...",
		Short: "Write a copy of captures that can be given away",
		Long: `anonymize writes a copy without payload and with other addresses, and all that
analyze needs: "rocelens analyze" says the same of it, names aside.

Payload becomes zeros, private data of connection management and all that is not
understood too, and so do names, comments and interface descriptions of the capture. IP
addresses, GIDs, MAC addresses, GUIDs, R_Keys and virtual addresses are mapped with a
key: one to one, addresses with a common prefix to addresses with one, private ones to
private ones. Checksums and ICRCs that were right are right again, wrong ones wrong.
Times, lengths, PSNs and queue pair numbers stay. docs/anonymize.md tells of each field,
and what can still be learnt from the copy.

With the same key the same addresses become the same in every file. It is what
--key-file holds, or the environment variable ` + keyVariable + `: 16 bytes or
more, as "openssl rand -hex 32" prints them. Without one a random key is used and
forgotten. Whoever has the key can find the addresses again: keep it to yourself.

FILE may be a pcap, pcapng or ERF file, plain or compressed by gzip or zstd, a
directory of such files, or - for standard input. Several are merged by time. The copy
is a pcapng file.`,
		Example: `  rocelens anonymize capture.pcapng -o give-away.pcapng
  rocelens anonymize --payload cut capture.pcapng -o small.pcapng
  openssl rand -hex 32 > key
  rocelens anonymize --key-file key host-a.pcap -o a.pcapng
  rocelens anonymize --key-file key host-b.pcap -o b.pcapng`,
		Args: needFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if o.output == "" {
				return errors.New("anonymize needs -o FILE, or -o - for standard output")
			}
			if !slices.Contains(payloadForms, o.payload) {
				return fmt.Errorf("unknown --payload %q: use zero or cut", o.payload)
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write the copy to `FILE`, - for standard output")
	f.StringVar(&o.payload, "payload", "zero", "what becomes of payload, `FORM`: zero, or cut, which ends packets behind their headers")
	f.StringVar(&o.keyFile, "key-file", "", "take the key from `FILE` (default: "+keyVariable+", or a random one)")
	f.BoolVar(&o.mapQPNs, "map-qpns", false, "map queue pair numbers too; how sessions are paired may change then")
	addRoCEPort(f, &o.rocePorts)
	completeValues(cmd, "payload", payloadForms)
	return cmd
}

// key finds the key, and makes one if there is none.
func (o *anonymizeOptions) key() ([]byte, error) {
	var key []byte
	from := keyVariable
	switch v := os.Getenv(keyVariable); {
	case o.keyFile != "":
		var err error
		if key, err = os.ReadFile(o.keyFile); err != nil {
			return nil, fmt.Errorf("can't read the key: %w", err)
		}
		key, from = bytes.TrimSpace(key), o.keyFile
	case v != "":
		key = []byte(v)
	default:
		fmt.Fprintln(o.err, "rocelens: a random key is used and forgotten: in another file the same addresses become others (--key-file)")
		key = make([]byte, 2*anonymize.MinKey)
		_, err := rand.Read(key)
		return key, err
	}
	if len(key) < anonymize.MinKey {
		return nil, fmt.Errorf("%s: a key of %d bytes can be guessed: use %d random ones or more, as openssl rand -hex 32 makes them",
			from, len(key), anonymize.MinKey)
	}
	return key, nil
}

func (o *anonymizeOptions) run(ctx context.Context) error {
	key, err := o.key()
	if err != nil {
		return err
	}
	cfg := anonymize.DefaultConfig()
	cfg.Key, cfg.Cut, cfg.MapQPNs, cfg.RoCEPorts = key, o.payload == "cut", o.mapQPNs, o.rocePorts
	a, err := anonymize.New(cfg)
	if err != nil {
		return err
	}
	src, err := openInputs(ctx, o.streams, o.paths)
	if err != nil {
		return err
	}
	defer src.Close()
	path := o.output
	if path == stdoutPath {
		path = ""
	}
	out, err := openOutput("copy", path, o.streams, src.Inputs())
	if err != nil {
		return err
	}
	w := capture.NewWriter(out, capture.WriterConfig{
		Application: "rocelens " + toolVersion(),
		Inputs:      func() []capture.Input { return nameless(src.Inputs()) },
	})
	err = pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			f := &b.Frames[i]
			// A new Frame: what else the input says of it stays behind.
			g := capture.Frame{
				Data: a.Frame(f), Time: f.Time, Number: f.Number, OrigLen: f.OrigLen, Input: f.Input, Interface: f.Interface, Link: f.Link, FCSLen: f.FCSLen,
			}
			if err := w.WriteFrame(&g); err != nil {
				return err
			}
		}
		return w.Flush() // what is read from a pipe goes on as it comes
	})
	if err != nil && ctx.Err() == nil && !isDamage(err) {
		return errors.Join(err, out.discard())
	}
	end := complain(o.err, finish(src, err))
	if ctx.Err() != nil {
		end = errors.Join(end, interrupted())
	}
	stats := a.Stats()
	if end != nil && stats.Frames == 0 { // nothing was read at all
		return errors.Join(end, out.discard())
	}
	if err := w.Close(); err != nil {
		return errors.Join(err, out.discard())
	}
	if err := out.close(); err != nil {
		return err
	}
	if stats.Partly > 0 {
		fmt.Fprintf(o.err, "rocelens: %d of %d packets were not understood to their end: they are zeros from there on\n", stats.Partly, stats.Frames)
	}
	return end
}

// nameless are inputs without all that names somebody or something: paths,
// comments, and what is said of interfaces but how they count.
func nameless(inputs []capture.Input) []capture.Input {
	for i := range inputs {
		in := &inputs[i]
		in.Path, in.Comments = "", nil
		faces := make([]capture.Interface, len(in.Interfaces))
		for j := range in.Interfaces {
			f := &in.Interfaces[j]
			faces[j] = capture.Interface{
				Link: f.Link, SnapLen: f.SnapLen, FCSLen: f.FCSLen, Speed: f.Speed,
				TSResol: f.TSResol, TSOffset: f.TSOffset, Received: f.Received, Dropped: f.Dropped,
			}
		}
		in.Interfaces = faces
	}
	return inputs
}
