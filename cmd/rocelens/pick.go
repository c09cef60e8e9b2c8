package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
	"github.com/rocelens/rocelens/pipeline"
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
	sel     selection
	matcher *pipeline.Matcher
	filter  bool // there is one

	seen   uint64
	picked []bool // of the batch
}

func newPicker(sel selection, src capture.Source, cfg decode.Config, f *filter.Filter, notes *track.Notes) picker {
	return picker{sel: sel, matcher: pipeline.NewMatcher(src, cfg, f, notes, false), filter: f != nil}
}

// pick fills picked for a batch.
func (k *picker) pick(b *capture.Batch) error {
	if k.seen == 0 {
		if err := k.sel.start(b.Frames[0].Time); err != nil {
			return err
		}
	}
	k.seen += uint64(len(b.Frames))
	k.picked = k.picked[:0]
	for i := range b.Frames {
		f := &b.Frames[i]
		is := k.sel.has(f)
		if is && k.filter {
			is = k.matcher.Match(f)
		} else {
			k.matcher.Skip(f)
		}
		k.picked = append(k.picked, is)
	}
	return nil
}

// none is what to say where nothing was picked: from when the packets are.
func (k *picker) none() string {
	const layout = "2006-01-02 15:04:05.000000"
	at := func(t int64) string { return time.Unix(0, t).In(k.sel.loc).Format(layout) }
	zone := time.Unix(0, k.matcher.Extra.First).In(k.sel.loc).Format("MST")
	return fmt.Sprintf("none of the %d packets was selected; they are from %s to %s %s", k.seen, at(k.matcher.Extra.First), at(k.matcher.Extra.Previous), zone)
}
