package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
)

// stdoutPath names standard output on the command line.
const stdoutPath = "-"

// checkWrite refuses flags that say nothing together with -w.
func (o *packetsOptions) checkWrite(flags *pflag.FlagSet) error {
	switch {
	case !flags.Changed("write"):
		return nil
	case o.write == "":
		return errors.New("-w needs the name of a file, or - for standard output")
	}
	for _, form := range []string{"type", "tree", "hex", "field", "field-option", "sessions"} {
		if flags.Changed(form) {
			name := "--" + form
			if short := flags.Lookup(form).Shorthand; short != "" {
				name = "-" + short
			}
			return errors.New("-w writes the packets instead of listing them: leave out " + name)
		}
	}
	return nil
}

// writeTo writes the selected packets to a pcapng file. What could be read of a
// damaged input is written; after any other error no file is left.
func (o *packetsOptions) writeTo(ctx context.Context, src capture.Source, k picker) error {
	path := o.write
	if path == stdoutPath {
		path = ""
	}
	out, err := openOutput("capture", path, o.streams, src.Inputs())
	if err != nil {
		return err
	}
	w := &packetWriter{picker: k, limit: o.count, w: capture.NewWriter(out, capture.WriterConfig{
		Application: "rocelens " + toolVersion(),
		Inputs:      src.Inputs,
	})}
	err = pipeline.EachBatch(ctx, src, w.batch)
	enough := errors.Is(err, errEnough)
	if err != nil && !enough && ctx.Err() == nil && !isDamage(err) {
		return errors.Join(err, out.discard())
	}
	inputs := finish(src, err)
	var end error
	switch {
	case enough: // whatever is wrong with the rest was not asked for
	case ctx.Err() != nil:
		end = errors.Join(complain(o.err, inputs), interrupted())
	default:
		end = complain(o.err, inputs)
	}
	if end != nil && w.seen == 0 { // nothing was read at all
		return errors.Join(end, out.discard())
	}
	if err := w.w.Close(); err != nil {
		return errors.Join(err, out.discard())
	}
	if err := out.close(); err != nil {
		return err
	}
	if w.written == 0 && w.seen > 0 {
		fmt.Fprintf(o.err, "rocelens: none of the %d packets was selected\n", w.seen)
	}
	if n := w.w.Cut(); n > 0 {
		fmt.Fprintf(o.err, "rocelens: %d names or comments were cut, because pcapng has no room for them\n", n)
	}
	return end
}

// packetWriter writes the picked packets of batch after batch.
type packetWriter struct {
	picker
	w       *capture.Writer
	limit   uint64 // 0 for none
	written uint64
}

func (w *packetWriter) batch(b *capture.Batch) error {
	if err := w.pick(b); err != nil {
		return err
	}
	for i := range b.Frames {
		f := &b.Frames[i]
		if w.sel.frames.past(f, w.sel.inputs) {
			return errEnough
		}
		if !w.picked[i] {
			continue
		}
		if err := w.w.WriteFrame(f); err != nil {
			return err
		}
		if w.written++; w.written == w.limit {
			return errEnough
		}
	}
	return w.w.Flush() // what is read from a pipe goes on as it comes
}
