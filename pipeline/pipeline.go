// Package pipeline is the engine: it takes batches of frames from a source,
// decodes them and counts what it finds. Its work is cut so that it can be
// spread over several workers: a worker owns its packet and its counters, a
// batch is all it shares, and counters are merged by rules that depend on what
// was counted and not on who counted it.
//
// It keeps no packet: time is linear in the length of the capture, and memory
// does not depend on it.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// Config says how packets are decoded and checked.
type Config struct {
	Decode decode.Config
	// Track bounds what is kept of sessions.
	Track track.Config
	// ICRC says whether each packet's ICRC (and VCRC) is computed and
	// compared. It is most of the work on full-size packets.
	ICRC bool
}

// DefaultConfig checks ICRCs and takes UDP port 4791 alone as RoCEv2.
func DefaultConfig() Config { return Config{ICRC: true, Track: track.Config{MaxEvents: 10_000}} }

// Result is all that Run finds.
type Result struct {
	Counters
	Duplicates Duplicates
	// Sessions are in the order of their first packets, Events in order of
	// time. EventsLeftOut are those beyond a bound.
	Sessions      record.Sessions
	Events        []record.Event
	EventsLeftOut uint64
	// Forgotten counts the sessions that had to go for want of memory, see
	// track.Config.
	Forgotten uint64
}

// Run reads src to its end and counts every frame. The result is never nil:
// with an error it holds what was read before it. Errors are EachBatch's.
func Run(ctx context.Context, src capture.Source, cfg Config) (*Result, error) {
	w := newWorker(cfg)
	err := EachBatch(ctx, src, w.count)
	w.follow()
	r := &Result{Counters: w.counters, Duplicates: w.doubles.Result()}
	r.Sessions, r.Events, r.EventsLeftOut = w.tracker.Close(w.counters.Last)
	r.Forgotten = w.tracker.Evicted
	return r, err
}

// EachBatch calls do with each batch of src until the end; the frames are
// valid until do returns. An error of do ends it, and so does the end of ctx,
// looked at once a batch, whose cause is returned.
//
// That an input is damaged is not an error: src.Inputs says so. The exception
// is a file that somebody cuts while do reads frames of it that were there a
// moment ago: the rest of that batch is lost, reading goes on, and the
// *capture.DamagedError is returned at the end.
func EachBatch(ctx context.Context, src capture.Source, do func(*capture.Batch) error) error {
	var b capture.Batch
	var cut error
	var damage *capture.DamagedError
	guarded := func() error { return do(&b) } // made once: the loop does not allocate
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch err := src.ReadBatch(&b); {
		case errors.Is(err, io.EOF), errors.As(err, &damage):
			return cut
		case err != nil:
			return fmt.Errorf("reading frames: %w", err)
		}
		switch err := capture.Guard(src, guarded); {
		case errors.As(err, &damage):
			cut = err
		case err != nil:
			return err
		}
	}
}

// maxConns is how many connections of CM are remembered at a time.
const maxConns = 1 << 14

// worker is what one goroutine needs to count batches. Nothing in it is
// shared, so that several can run side by side.
type worker struct {
	dec      *decode.Decoder
	icrc     bool
	pkt      decode.Packet
	counters Counters
	doubles  *Doubles
	tracker  *track.Tracker
	conns    *cm.Tracker
	// The packets that wait for the tracker, until it is known which of them
	// are copies.
	waiting []track.Packet
	copies  []copySeen
	warm    bool // the first of them have been through
	notes   *track.Notes
}

func newWorker(cfg Config) *worker {
	return &worker{dec: decode.New(cfg.Decode), icrc: cfg.ICRC, doubles: NewDoubles(), tracker: track.New(cfg.Track), conns: cm.New(maxConns), notes: cfg.Track.Notes,
		waiting: make([]track.Packet, 0, firstBatch), copies: make([]copySeen, 0, firstBatch)}
}

// count decodes and counts the frames of one batch. It does not allocate.
func (w *worker) count(b *capture.Batch) error {
	for i := range b.Frames {
		w.dec.Decode(&b.Frames[i], &w.pkt)
		if w.icrc {
			w.dec.VerifyICRC(&w.pkt)
		}
		w.counters.Add(&w.pkt)
		switch {
		case w.pkt.RoCE():
			w.track()
		case w.icrc && w.pkt.Kind == decode.KindUDP:
			w.counters.AddProbe(&w.pkt, w.dec.ProbeRoCE(&w.pkt))
		}
	}
	return nil
}

// firstBatch is how many packets wait before the first of them is followed: of
// directions whose IP IDs say nothing, it takes some to know whether a mirror
// doubles them. Later doubleBatch are enough.
const firstBatch = 64 * doubleBatch

// track hands a RoCE packet to the tracker, once it is known whether it is a
// copy.
func (w *worker) track() {
	n := len(w.waiting)
	w.waiting = append(w.waiting, track.Packet{})
	t := &w.waiting[n]
	if !t.Read(&w.pkt) {
		w.notes.Unread(&w.pkt)
		w.waiting = w.waiting[:n]
		return
	}
	w.copies = append(w.copies, copySeen{})
	w.doubles.Add(&w.pkt, &w.copies[n])
	t.Corrupt = w.pkt.ICRCStatus == decode.ICRCBad && w.counters.Senders.computes(&w.pkt)
	switch n++; {
	case cm.Is(&w.pkt):
		w.connect(t)
	case n == firstBatch || w.warm && n >= doubleBatch:
		w.follow()
	}
}

// connect takes a message of connection management, which is to come behind
// the packets before it.
func (w *worker) connect(t *track.Packet) {
	w.doubles.Flush()
	is := w.doubles.verdict(&w.copies[len(w.copies)-1])
	w.follow()
	if is != track.NoCopy || t.Corrupt {
		return
	}
	ref := refOf(w.pkt.Frame)
	if ch := w.conns.Add(&w.pkt, ref); ch != nil {
		w.tracker.Connection(ch, ref)
	}
}

// follow lets the tracker have the packets that wait.
func (w *worker) follow() {
	w.doubles.Flush()
	for i := range w.waiting {
		w.waiting[i].Copy = w.doubles.verdict(&w.copies[i])
	}
	w.tracker.Add(w.waiting)
	w.warm = w.warm || len(w.waiting) == firstBatch
	w.waiting, w.copies = w.waiting[:0], w.copies[:0]
}
