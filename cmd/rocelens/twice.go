package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/track"
)

// twice are inputs that may be read more than once. Standard input is kept in a
// temporary file for that, if it is asked for.
type twice struct {
	streams
	paths []string
	why   string     // they are read twice
	kept  string     // path of that file, "" without one
	files []*os.File // in which it was opened
}

// readOnce is the first of the inputs that can't be read a second time, "" if
// all can.
func (t *twice) readOnce() string {
	return readOnce(slices.DeleteFunc(slices.Clone(t.paths), func(path string) bool { return path == stdinPath && t.kept != "" }))
}

// keep sees to it that the inputs can be read twice.
func (t *twice) keep(ctx context.Context) error {
	if slices.Contains(t.paths, stdinPath) && t.in != nil {
		if err := t.spool(ctx); err != nil {
			return err
		}
	}
	if once := t.readOnce(); once != "" {
		return fmt.Errorf("%s takes reading the capture twice, and %s can be read only once: "+
			"save it to a file, or let it come by standard input, -", t.why, capture.PathText(once))
	}
	return nil
}

// spool copies standard input to a temporary file. A read that waits can't be
// called off: it is left behind where ctx ends.
func (t *twice) spool(ctx context.Context) error {
	file, err := os.CreateTemp("", "rocelens-*.capture")
	if err != nil {
		return fmt.Errorf("can't keep standard input in a file: %w", err)
	}
	t.kept = file.Name()
	t.files = append(t.files, file)
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(file, t.in)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("can't keep standard input in a file (TMPDIR says in which directory): %w", err)
		}
		return nil
	case <-ctx.Done():
		return interrupted()
	}
}

// open opens the inputs, once more or for the first time. What is left out is
// said on w.
func (t *twice) open(ctx context.Context, w io.Writer) (capture.Source, error) {
	io := t.streams
	io.err = w
	if t.kept != "" {
		file, err := os.Open(t.kept)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, file)
		io.in = file
	}
	return openInputs(ctx, io, t.paths)
}

// openFor opens the inputs, and where they are to be read again sees to it that
// they can be.
func (t *twice) openFor(ctx context.Context, again bool) (capture.Source, error) {
	if again {
		if err := t.keep(ctx); err != nil {
			return nil, err
		}
	}
	return t.open(ctx, t.err)
}

// again opens the inputs, of which the first reading knows, once more. What is
// left out has been said.
func (t *twice) again(ctx context.Context, inputs []capture.Input) (capture.Source, error) {
	src, err := t.open(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(inputs, src.Inputs(), func(a, b capture.Input) bool { return a.Path == b.Path }) {
		_ = src.Close()
		return nil, errors.New("files came or went while the directory was read: try again")
	}
	return src, nil
}

// close removes the temporary file. The sources are closed before.
func (t *twice) close() {
	for _, file := range t.files {
		_ = file.Close() // it was read, or it is incomplete and goes
	}
	if t.kept != "" {
		_ = os.Remove(t.kept) // the system cleans up its directory of temporary files
	}
}

// lastTime reads the inputs to their end for the latest time in them.
func lastTime(ctx context.Context, in *twice) (int64, error) {
	if once := in.readOnce(); once != "" {
		return 0, errors.New("a time before the last packet needs the end of the capture first, and " + once +
			" can be read only once: save it to a file, or use a time of day or +TIME")
	}
	src, err := in.open(ctx, in.err)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	last := int64(math.MinInt64)
	err = pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			last = max(last, b.Frames[i].Time)
		}
		return nil
	})
	if ctx.Err() != nil {
		return 0, interrupted()
	}
	if err != nil && !isDamage(err) {
		return 0, err
	}
	return last, nil
}

// needsNotes says whether it is asked for what packets are in their sessions.
func (o *packetsOptions) needsNotes() bool {
	return o.sessions || o.filter.f != nil && o.filter.f.NeedNotes() || slices.ContainsFunc(o.fields, func(name string) bool {
		f := decode.FieldByName(name)
		return f != nil && f.OfNote
	})
}

// takeNotes follows the sessions of the whole input. The notes are for a second
// reading of the inputs given.
func (o *packetsOptions) takeNotes(ctx context.Context, in *twice, inputs []capture.Input) (*track.Notes, error) {
	src, err := in.again(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Decode.RoCEPorts = o.rocePorts
	cfg.Track = track.Config{Notes: track.NewNotes(), MaxMemory: int64(o.maxMemory)}
	result, err := pipeline.Run(ctx, src, cfg)
	switch {
	case ctx.Err() != nil:
		return nil, interrupted()
	case err != nil && !isDamage(err):
		return nil, err
	}
	forgotten(o.err, result.Forgotten)
	return cfg.Track.Notes, nil // damage is told of at the second reading
}
