package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/dashboards/packets"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/track"
)

type packetsOptions struct {
	streams
	paths     []string
	format    string
	tree      bool
	hex       bool
	fields    []string
	fieldOpts []string
	write     string
	count     uint64
	filter    displayFilter
	frames    string
	from, to  string
	rocePorts []uint16
	sessions  bool
	maxMemory byteSize
}

// packetForms are the values of -T.
var packetForms = []string{"list", "tree", "fields", "json", "jsonl", "hex"}

func newPackets(io streams) *cobra.Command {
	o := &packetsOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "packets FILE...",
		Short: "Show the packets of captures",
		Long: `packets lists every packet of the captures, one a line: its number, the seconds since
the first one, source → destination, protocol, length on the wire, and what it says.

-T gives other forms, each as tshark has it: tree (or -V) with every field of every
header, fields with the values of those that -e names ("rocelens fields" lists them),
json and jsonl with all of them, hex for the list with each packet's bytes.

-Y shows only packets that match a display filter in Wireshark's language: a field or
protocol that must be there, comparisons, and, or, not. docs/filters.md describes it.

-E sets how -T fields writes: header=y|n, separator=CHARACTER (/t a tab, /s a space),
occurrence=a|f|l (all values of a field in a packet, the first, the last),
aggregator=CHARACTER (between several values), quote=d|s|n, bom=y|n.

FILE may be a pcap, pcapng or ERF file, plain or compressed by gzip or zstd, a
directory of such files, or - for standard input. Several are merged by time; a
packet is then numbered INPUT:NUMBER, inputs being counted from 1 in the order in
which they are named. With -w they are not listed, but written to a pcapng file with all
that the captures say of them.

--sessions shows what a packet is in its session: whether it was sent again, and why; the
fields of it (rocelens.session, rocelens.cause and so on) do the same for -T fields and
-Y. It takes the whole capture to know that: it is read twice, standard input by way of a
temporary file. All packets are looked at, whichever are shown.

TIME is one of
  14:03  14:03:05.25            that time on the day of the first packet, local time
  2026-01-31 14:03:05.25        local time
  2026-01-31T14:03:05+01:00     RFC 3339
  +10s  +1m30s                  so long after the first packet
  -1m                           so long before the last packet: the files are read twice
Packets at exactly the limits are in.`,
		Example: `  rocelens packets capture.pcapng | less -S
  rocelens packets --frames 1200-1250 -x capture.pcapng
  rocelens packets -V -c 1 capture.pcapng
  rocelens packets -Y 'infiniband.bth.destqp == 0x8c && infiniband.aeth' capture.pcapng
  rocelens packets -Y 'rocelens.retransmission && rocelens.cause == "timeout"' capture.pcapng
  rocelens packets -T fields -e frame.number -e infiniband.bth.psn -E header=y capture.pcapng
  rocelens packets -T fields -e frame.number -e rocelens.cause -e rocelens.place capture.pcapng
  rocelens packets --from 14:03 --to 14:04 host-a.pcap.zst host-b.pcap.zst
  rocelens packets --from -5s capture.pcapng
  rocelens packets --from 14:03 --to 14:04 -w minute.pcapng *.pcap
  ssh host tcpdump -i eth0 -U -w - | rocelens packets -`,
		Args: needFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if cmd.Flags().Changed("count") && o.count == 0 {
				return errors.New("-c 0 asks for no packet: use 1 or more, or leave it out for all")
			}
			if err := o.filter.compile(); err != nil {
				return err
			}
			if cmd.Flags().Changed("max-memory") && !o.needsNotes() {
				return errors.New("--max-memory is for sessions: it goes with --sessions, or with a field of them in -e or -Y")
			}
			if err := o.checkWrite(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.format, "type", "T", "list", "`FORM` of the output: "+strings.Join(packetForms, ", "))
	f.BoolVarP(&o.tree, "tree", "V", false, "the same as -T tree")
	f.BoolVarP(&o.hex, "hex", "x", false, "add each packet's bytes in hexadecimal to list and tree")
	f.StringArrayVarP(&o.fields, "field", "e", nil, "write `FIELD` with -T fields (repeated)")
	f.StringArrayVarP(&o.fieldOpts, "field-option", "E", nil, "set `NAME=VALUE` for -T fields (repeated)")
	f.StringVarP(&o.write, "write", "w", "", "write the packets to `FILE`, - for standard output, as pcapng instead of listing them")
	f.VarP((*packetCount)(&o.count), "count", "c", "stop after `N` packets were listed or written")
	o.filter.add(cmd, "list only packets that match `EXPR`, a display filter in Wireshark's language")
	f.StringVar(&o.frames, "frames", "", "list only the frames with these numbers: `RANGES` as in 10-20,35 or 2:10-20")
	f.StringVar(&o.from, "from", "", "list only packets from `TIME` on")
	f.StringVar(&o.to, "to", "", "list only packets up to `TIME`")
	f.BoolVar(&o.sessions, "sessions", false, "show what each packet is in its session: the input is read twice")
	addMaxMemory(f, &o.maxMemory)
	addRoCEPort(f, &o.rocePorts)
	completeValues(cmd, "type", packetForms)
	completeValues(cmd, "field", decode.FieldNames())
	return cmd
}

func (o *packetsOptions) run(ctx context.Context) error {
	newWriter, err := o.form()
	if err != nil {
		return err
	}
	sel, err := o.selection()
	if err != nil {
		return err
	}
	in := &twice{streams: o.streams, paths: o.paths, why: "what a packet is in its session"}
	defer in.close()
	if o.needsNotes() {
		if err := in.keep(ctx); err != nil {
			return err
		}
	}
	if sel.from.needsLast() || sel.to.needsLast() {
		if sel.last, err = lastTime(ctx, in); err != nil {
			return err
		}
	}
	src, err := in.open(ctx, o.err)
	if err != nil {
		return err
	}
	defer src.Close()
	sel.inputs = len(src.Inputs())
	if err := sel.frames.bind(sel.inputs); err != nil {
		return err
	}
	var notes *track.Notes
	if o.needsNotes() {
		if notes, err = o.takeNotes(ctx, in, src.Inputs()); err != nil {
			return err
		}
	}
	cfg := decode.Config{RoCEPorts: o.rocePorts}
	k := newPicker(sel, src, cfg, o.filter.f, notes)
	if o.write != "" {
		return o.writeTo(ctx, src, k)
	}
	out := newWriter(sel.inputs > 1)
	p := &printer{picker: k, dec: decode.New(cfg), out: out, icrc: true, limit: o.count}
	if fields, ok := out.(*packets.Fields); ok {
		p.icrc = fields.NeedICRC()
	}
	err = pipeline.EachBatch(ctx, src, p.batch)
	if closeErr := out.Close(); closeErr != nil {
		return closeErr
	}
	inputs := finish(src, err)
	switch {
	case errors.Is(err, errEnough):
		return nil // whatever is wrong with the rest was not asked for
	case ctx.Err() != nil:
		return errors.Join(complain(o.err, inputs), interrupted())
	case err != nil && !isDamage(err):
		return err
	}
	if p.listed == 0 && p.seen > 0 {
		fmt.Fprintln(o.err, "rocelens: "+p.none())
	}
	return complain(o.err, inputs)
}

// selection checks the flags that say which packets are listed.
func (o *packetsOptions) selection() (sel selection, err error) {
	sel.loc = time.Local
	if sel.frames, err = parseFrames(o.frames); err != nil {
		return sel, err
	}
	if sel.from, err = parseTime(o.from, sel.loc); err != nil {
		return sel, fmt.Errorf("--from: %w", err)
	}
	if sel.to, err = parseTime(o.to, sel.loc); err != nil {
		return sel, fmt.Errorf("--to: %w", err)
	}
	return sel, nil
}

// form checks the flags that say how packets are shown, and returns what makes
// the Writer for it; several says that there is more than one input.
func (o *packetsOptions) form() (func(several bool) packets.Writer, error) {
	form := o.format
	if o.tree {
		if form != "list" && form != "tree" {
			return nil, fmt.Errorf("-V is -T tree, and does not go with -T %s", form)
		}
		form = "tree"
	}
	if form != "fields" && len(o.fields)+len(o.fieldOpts) > 0 {
		return nil, errors.New("-e and -E go with -T fields")
	}
	if o.hex && (form == "fields" || form == "json" || form == "jsonl") {
		return nil, fmt.Errorf("-x does not go with -T %s", form)
	}
	list := packets.ListOptions{Hex: o.hex || form == "hex", Color: o.color()}
	switch form {
	case "list", "hex":
		return func(several bool) packets.Writer {
			list.Several = several
			return packets.NewList(o.out, list)
		}, nil
	case "tree":
		return func(several bool) packets.Writer {
			list.Several = several
			return packets.NewTree(o.out, list)
		}, nil
	case "json":
		return func(bool) packets.Writer { return packets.NewJSON(o.out) }, nil
	case "jsonl":
		return func(bool) packets.Writer { return packets.NewJSONLines(o.out) }, nil
	case "fields":
		opt := packets.DefaultFieldsOptions()
		for _, s := range o.fieldOpts {
			if err := opt.Set(s); err != nil {
				return nil, fmt.Errorf("-E %w", err)
			}
		}
		w, err := packets.NewFields(o.out, o.fields, opt)
		return func(bool) packets.Writer { return w }, err
	}
	return nil, fmt.Errorf("unknown -T %q: use %s", o.format, strings.Join(packetForms, ", "))
}

// color says whether the output is a terminal that may be coloured.
func (o *packetsOptions) color() bool {
	file, ok := o.out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	_, ok = terminalWidth(file)
	return ok
}
