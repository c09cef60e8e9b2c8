// Package pipeline is the engine: it takes batches of frames from a source,
// decodes them, counts what it finds and follows sessions, on as many
// processors as it may. A worker owns its packet and its counters, and each
// pair of addresses belongs to one shard. What is merged in the end is merged
// by rules that depend on what was counted and not on who counted it.
//
// It keeps no packet: time is linear in the length of the capture, and memory
// does not depend on it.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
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
	// Receivers says whether the peaks of what goes to each receiver are looked
	// for, see Result.Receivers.
	Receivers bool
	// Pause says what a storm of pauses is, and Links how fast links are, which
	// tells how long a pause is.
	Pause pause.Config
	Links LinkSpeeds
	// Priorities are those of packets without a VLAN tag.
	Priorities Priorities
	// Workers is how many goroutines share the work; at least 1. It changes no
	// result.
	Workers int
	// Frames, if it is not nil, takes each batch as it was read, before anything else
	// does, in the order of the source. It may keep nothing of it. It is called by
	// one goroutine at a time, while nothing else is read.
	Frames func(*capture.Batch)
	// Progress, if it is not nil, is told a few times a second what was read of
	// the inputs. It is called by one goroutine at a time.
	Progress func([]capture.Input)
	// Followed, if it is not nil, is told now and then what is in memory, live as
	// often as time goes on. It is called by one goroutine at a time.
	Followed func(Followed)
	// StepBack, if it is not nil, is told that time went back, in nanoseconds: a
	// clock was put back, or captures follow one another that did not. It is
	// called by one goroutine at a time.
	StepBack func(from, to int64)
}

// Followed is what became of sessions so far.
type Followed struct {
	// Sessions are in memory. Each flow that has no other direction, or not yet,
	// counts as one.
	Sessions uint64
	// Evicted are those that had to go for want of memory, and Refused the packets
	// of flows that did not get in, see Result.
	Evicted, Refused uint64
	Decoded          Decoded
}

// Decoded is what packets were so far when they were decoded, whoever sent them, and
// whether they are of a session, copies, or neither.
type Decoded struct {
	// RoCE packets whose ICRC is right, wrong, or can't be checked.
	ICRCGood, ICRCBad, ICRCUnverifiable uint64
	Management                          uint64 // RoCE packets to QP 0 and 1
	Malformed                           uint64 // packets with headers that contradict one another
}

// since is what was counted between two states of counters, but for management.
func (c *Counters) since(before *Decoded) Decoded {
	return Decoded{ICRCGood: c.ICRC.Good - before.ICRCGood, ICRCBad: c.ICRC.Bad - before.ICRCBad, ICRCUnverifiable: c.ICRC.Unverifiable - before.ICRCUnverifiable, Malformed: c.Malformed - before.Malformed}
}

func (d *Decoded) add(o *Decoded) {
	d.ICRCGood += o.ICRCGood
	d.ICRCBad += o.ICRCBad
	d.ICRCUnverifiable += o.ICRCUnverifiable
	d.Management += o.Management
	d.Malformed += o.Malformed
}

// DefaultConfig checks ICRCs, looks for peaks, takes UDP port 4791 alone as RoCEv2, and has a
// worker for each processor.
func DefaultConfig() Config {
	return Config{ICRC: true, Receivers: true, Workers: runtime.GOMAXPROCS(0), Track: track.Config{MaxEvents: 10_000}, Pause: pause.DefaultConfig()}
}

// Result is all that Run finds.
type Result struct {
	Counters
	Duplicates Duplicates
	// Mirrors are the mirrors that number their frames.
	Mirrors Mirrors
	// Sessions are in the order of their first packets, Events in order of
	// time. EventsLeftOut are those of sessions beyond a bound.
	Sessions      record.Sessions
	Events        []record.Event
	EventsLeftOut uint64
	// Signs are the events that conclusions are drawn from, see track.Signs.
	Signs []record.Event
	// Forgotten counts the sessions that had to go for want of memory, see
	// track.Config.
	Forgotten uint64
	// Refused counts the packets of flows that were not followed because they had
	// but one while memory was scarce, see track.Config.
	Refused uint64
	// Pause is what PFC and PAUSE frames said. PausesLeftOut are those of its
	// events that are not among Events, for want of room.
	Pause         pause.Result
	PausesLeftOut uint64
	// Receivers are those of RoCE traffic, with most bytes first, and
	// ReceiversLeftOut the packets to those that were forgotten for others.
	Receivers        []Receiver
	ReceiversLeftOut uint64
	// Priorities are the Config's.
	Priorities Priorities
}

// Run reads src to its end and counts every frame. The result is never nil:
// with an error it holds what was read before it. Errors are EachBatch's.
func Run(ctx context.Context, src capture.Source, cfg Config) (*Result, error) {
	workers := max(cfg.Workers, 1)
	if cfg.Track.Notes != nil {
		workers = 1 // they are of one piece
	}
	e := newEngine(ctx, src, cfg)
	counters, err := e.run(workers)
	r := &Result{Counters: *counters, Priorities: cfg.Priorities}
	e.close(workers, r.Last, r)
	return r, err
}

// readError is the error that ends reading where a source returned err. That an
// input ends or is damaged is none.
func readError(err error) error {
	var damage *capture.DamagedError
	if errors.Is(err, io.EOF) || errors.As(err, &damage) {
		return nil
	}
	return fmt.Errorf("reading frames: %w", err)
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
		if err := src.ReadBatch(&b); err != nil {
			return cmp.Or(readError(err), cut)
		}
		switch err := capture.Guard(src, guarded); {
		case errors.As(err, &damage):
			cut = err
		case err != nil:
			return err
		}
	}
}
