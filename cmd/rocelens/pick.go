package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
	"github.com/rocelens/rocelens/pipeline/track"
)

// displayFilter is the flag -Y.
type displayFilter struct {
	expr string
	f    *filter.Filter // nil without one
}

func (d *displayFilter) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&d.expr, "filter", "Y", "", usage)
	completeValues(cmd, "filter", decode.FieldNames())
}

// compile is called when the flags were read.
func (d *displayFilter) compile() error {
	if d.expr == "" {
		return nil
	}
	f, err := filter.Compile(d.expr, time.Local)
	if err != nil {
		return fmt.Errorf("-Y: %w", err)
	}
	d.f = f
	return nil
}

// picker says which frames of batch after batch are asked for, by number, time
// and filter.
type picker struct {
	sel    selection
	filter *filter.Filter // nil for none
	src    capture.Source
	dec    *decode.Decoder
	notes  *track.Notes // nil where they are not asked for
	inputs []capture.Input

	seen   uint64
	shown  bool   // some were picked
	picked []bool // of the batch
	pkt    decode.Packet
	extra  decode.Extra
	note   decode.Note
}

// pick fills picked for a batch.
func (k *picker) pick(b *capture.Batch) error {
	if k.seen == 0 {
		t := b.Frames[0].Time
		k.extra.First, k.extra.Previous, k.extra.Displayed = t, t, t
		if err := k.sel.start(t); err != nil {
			return err
		}
	}
	k.seen += uint64(len(b.Frames))
	k.picked = k.picked[:0]
	for i := range b.Frames {
		f := &b.Frames[i]
		is := k.sel.has(f)
		if is && k.filter != nil {
			k.dec.Decode(f, &k.pkt)
			if k.filter.NeedICRC() {
				k.dec.VerifyICRC(&k.pkt)
			}
			if !k.shown {
				k.extra.Displayed = f.Time
			}
			k.about(f, &k.extra)
			is = k.filter.Match(&k.pkt, &k.extra)
		}
		if is {
			k.shown, k.extra.Displayed = true, f.Time
		}
		k.extra.Previous = f.Time
		k.picked = append(k.picked, is)
	}
	return nil
}

// about says in x what is known of a frame beside its bytes.
func (k *picker) about(f *capture.Frame, x *decode.Extra) {
	k.nameInterface(f, x)
	x.Note = nil
	if k.notes != nil && k.notes.Get(f.Input, f.Number, &k.note) {
		x.Note = &k.note
	}
}

// nameInterface looks the frame's interface up. Descriptions of interfaces come
// before their first frame, so they are asked for when one is new.
func (k *picker) nameInterface(f *capture.Frame, x *decode.Extra) {
	if int(f.Input) >= len(k.inputs) || int(f.Interface) >= len(k.inputs[f.Input].Interfaces) {
		k.inputs = k.src.Inputs()
	}
	in := &k.inputs[f.Input]
	x.HasInterface = in.Format == capture.FormatPcapNG
	var about capture.Interface
	if int(f.Interface) < len(in.Interfaces) {
		about = in.Interfaces[f.Interface]
	}
	x.InterfaceDescription = about.Description
	x.InterfaceName = cmp.Or(about.Name, about.Description, "unknown") // as tshark says
}

// none is what to say where nothing was picked: from when the packets are.
func (k *picker) none() string {
	const layout = "2006-01-02 15:04:05.000000"
	at := func(t int64) string { return time.Unix(0, t).In(k.sel.loc).Format(layout) }
	zone := time.Unix(0, k.extra.First).In(k.sel.loc).Format("MST")
	return fmt.Sprintf("none of the %d packets was selected; they are from %s to %s %s", k.seen, at(k.extra.First), at(k.extra.Previous), zone)
}
