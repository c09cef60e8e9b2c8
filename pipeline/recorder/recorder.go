// Package recorder is a flight recorder: it keeps the last frames in memory, and when
// something is found it writes those that are evidence of it into a pcapng file.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
)

// What is kept unless somebody says otherwise.
const (
	DefaultBytes   = 256 << 20
	DefaultSpan    = 60 * time.Second
	DefaultSnapLen = 192 // the headers of a packet inside ERSPAN and VXLAN, and its first bytes
	DefaultDisk    = 1 << 30
	DefaultAround  = 2 * time.Second
)

// Config says what is kept, and where it goes.
type Config struct {
	// Bytes bounds the memory for frames, Span is for how long they are kept where
	// there is room, and SnapLen how much of each; 0 is all of it, up to 64 KiB.
	Bytes   int64
	Span    time.Duration
	SnapLen int
	// Dir is where files go, and Disk how many bytes they may take: the oldest make
	// room for new ones.
	Dir  string
	Disk int64
	// Around is how much is written before and behind the time of what was found.
	Around time.Duration

	Decode      decode.Config
	Priorities  pipeline.Priorities
	Inputs      func() []capture.Input // what the frames index, as it is by now
	Links       pipeline.LinkSpeeds    // are said in the files
	Application string
	Log         *slog.Logger
}

// DefaultConfig keeps headers, and writes to no directory.
func DefaultConfig() Config {
	return Config{Bytes: DefaultBytes, Span: DefaultSpan, SnapLen: DefaultSnapLen, Disk: DefaultDisk, Around: DefaultAround, Log: slog.New(slog.DiscardHandler)}
}

// Check says what is wrong with the configuration, as far as that can be said without
// making anything.
func (c *Config) Check() error {
	switch {
	case c.SnapLen != 0 && c.SnapLen < decode.MinSnapLen:
		return fmt.Errorf("recordings with a snaplen of %d bytes: no header of RoCE fits in, use %d or more, or 0 for all", c.SnapLen, decode.MinSnapLen)
	case c.Span <= 0:
		return fmt.Errorf("recordings of the last %v: use a time that is positive, as in 30s", c.Span)
	}
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is made
		return nil
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is a file", c.Dir)
	}
	if err != nil {
		return fmt.Errorf("the directory of recordings: %w", err)
	}
	return nil
}

// Evidence is what was found, and what frames tell of it.
type Evidence struct {
	Code     string   // of the worst finding
	Comments []string // on the file
	From, To int64    // ns since the epoch: the time that it is about
	Sessions []record.Session
	Storms   []record.Storm
	Events   []record.Event // whose frames have a comment
	// Done is told the path of the file, or why there is none, by another goroutine.
	Done func(path string, err error)
}

// Counts are how much was done.
type Counts struct {
	Written, Failed, Skipped uint64 // recordings: there are files of, could not be written, came too fast
	Deleted                  uint64 // files, to make room
	Cut                      uint64 // recordings that lack something: room on disk, or frames of their time
	Disk, DiskMax            int64  // bytes in files, -1 where the directory can't be read, and how many there may be
	Memory                   int64  // bytes of frames
	Span                     int64  // ns that they go back
}

// maxWaiting is how many recordings wait to be written.
const maxWaiting = 16

// Recorder keeps frames, and writes them.
type Recorder struct {
	cfg   Config
	ring  *ring
	disk  *disk
	queue chan *job
	hurry chan struct{} // closed when nothing more comes
	ended chan struct{}

	mu     sync.Mutex
	closed bool
	unread bool // the directory, and that was logged
	counts Counts
}

type job struct {
	*Evidence
	due time.Time
}

// ErrBusy says that too many recordings wait.
var ErrBusy = errors.New("too many recordings wait to be written")

// Open makes a Recorder, and the directory.
func Open(cfg Config) (*Recorder, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	d, err := openDisk(cfg.Dir, cfg.Disk)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		cfg: cfg, ring: newRing(cfg.Bytes, int64(cfg.Span), cfg.SnapLen), disk: d,
		queue: make(chan *job, maxWaiting), hurry: make(chan struct{}), ended: make(chan struct{}),
	}
	go r.work()
	return r, nil
}

// Frames keeps the frames of a batch. It is for pipeline.Config.Frames.
func (r *Recorder) Frames(b *capture.Batch) { r.ring.take(b) }

// Record has evidence written, once what comes behind it has come too.
func (r *Recorder) Record(e *Evidence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		select {
		case r.queue <- &job{e, time.Now().Add(r.cfg.Around)}:
			return
		default:
		}
	}
	r.counts.Skipped++
	go e.Done("", ErrBusy)
}

// Close writes what waits, until ctx ends.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.hurry)
		close(r.queue)
	}
	r.mu.Unlock()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("recordings are not all written: %w", ctx.Err())
	}
}

// Counts are how much was done by now.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	c := r.counts
	r.mu.Unlock()
	c.Memory, c.Span = r.ring.size()
	c.Disk, c.DiskMax = r.used(), r.cfg.Disk
	return c
}

// used is how many bytes the recordings take, -1 where that can't be told, which is
// logged once.
func (r *Recorder) used() int64 {
	n, err := r.disk.used()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.unread = false
		return n
	}
	if !r.unread {
		r.unread = true
		r.cfg.Log.Error("the directory of recordings can't be read", "directory", r.cfg.Dir, "error", err)
	}
	return -1
}

// work writes what there is to write, one after the other.
func (r *Recorder) work() {
	defer close(r.ended)
	defer r.disk.close()
	for j := range r.queue {
		select {
		case <-time.After(time.Until(j.due)):
		case <-r.hurry:
		}
		path, cut, deleted, err := r.write(j.Evidence)
		r.mu.Lock()
		r.counts.Deleted += deleted
		switch {
		case err != nil:
			r.counts.Failed++
		case cut:
			r.counts.Written++
			r.counts.Cut++
		default:
			r.counts.Written++
		}
		r.mu.Unlock()
		if err != nil {
			r.cfg.Log.Error("evidence could not be recorded", "code", j.Code, "error", err)
		}
		j.Done(path, err)
	}
}

// errNoFrame says that there is nothing to write.
var errNoFrame = errors.New("no frame of it is in memory any more")

// write writes a recording.
func (r *Recorder) write(e *Evidence) (path string, cut bool, deleted uint64, err error) {
	out, err := r.disk.create(e.To, e.Code)
	if err != nil {
		return "", false, 0, err
	}
	defer func() {
		deleted = out.deleted
		if err != nil {
			err = errors.Join(err, out.drop())
			return
		}
		if path, err = out.keep(); err == nil {
			path, err = filepath.Abs(path)
		}
	}()
	from, to := e.From-int64(r.cfg.Around), e.To+int64(r.cfg.Around)
	since := r.ring.since()
	p := newPick(&r.cfg, e)
	w := capture.NewWriter(out, capture.WriterConfig{Application: r.cfg.Application, Comments: append(e.Comments, r.says(max(from, since), to)), Inputs: r.inputs})
	notes := notes(e.Events)
	frames := 0
	err = r.ring.each(from, to, func(f *capture.Frame) error {
		if !p.wants(f) {
			return nil
		}
		frames++
		return w.WriteFrame(f, notes[frameKey{f.Input, f.Number}]...)
	})
	if err == nil && frames > 0 {
		err = w.Close()
	}
	full := errors.Is(err, errBudget)
	switch {
	case full && out.frames > 0: // what was written is evidence too
		r.cfg.Log.Warn("a recording is cut: it is as large as all of them may be", "code", e.Code, "bytes", r.cfg.Disk)
		return "", true, 0, nil
	case err != nil:
		return "", false, 0, err
	case frames == 0:
		return "", false, 0, errNoFrame
	}
	return "", since > e.From, 0, nil
}

// says is what a file says of itself.
func (r *Recorder) says(from, to int64) string {
	const layout = "15:04:05.000000"
	s := "rocelens recording: frames of what was found, from " + time.Unix(0, from).UTC().Format("2006-01-02 "+layout) + " to " + time.Unix(0, to).UTC().Format(layout) + " UTC."
	if r.cfg.SnapLen > 0 {
		s += " Of each frame the first " + words.Plural(uint64(r.cfg.SnapLen), "byte") + " were kept."
	}
	return s
}

// inputs are those of the frames, without what was counted: it is of other frames too.
func (r *Recorder) inputs() []capture.Input {
	list := r.cfg.Inputs()
	out := make([]capture.Input, len(list))
	for i := range list {
		in := &out[i]
		*in = list[i]
		in.Drops = nil
		in.Interfaces = append([]capture.Interface(nil), in.Interfaces...)
		for k := range in.Interfaces {
			x := &in.Interfaces[k]
			x.Received, x.Dropped = nil, nil
			x.Speed = r.cfg.Links.Of(list, int32(i), int32(k))
			if n := uint32(r.cfg.SnapLen); n > 0 && (x.SnapLen == 0 || x.SnapLen > n) {
				x.SnapLen = n
			}
		}
	}
	return out
}

type frameKey struct {
	input  int32
	number uint64
}

// notes are the comments on frames: which events they are of.
func notes(events []record.Event) map[frameKey][]string {
	all := make(map[frameKey][]string)
	for i := range events {
		e := &events[i]
		k := frameKey{e.Frame.Input, e.Frame.Number}
		s := "rocelens event: " + string(e.Detail.Kind()) + " of session " + e.Session
		if e.Session == "" {
			s = "rocelens event: " + string(e.Detail.Kind())
		}
		if e.Count > 1 {
			s += ", " + strconv.FormatUint(min(e.Count, math.MaxUint32), 10) + " of them from here on"
		}
		all[k] = append(all[k], s)
	}
	return all
}
