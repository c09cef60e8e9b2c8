package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// FollowConfig says which files OpenFollow reads while others write them.
type FollowConfig struct {
	// Paths are files, named pipes, and directories with files that come one after
	// the other; each becomes an Input.
	Paths []string
	// Poll is how often it is looked for more. Files are asked, and no notice of
	// the system is waited for, which network file systems do not give.
	Poll time.Duration
	// Tick is after how long ReadBatch returns though there is no frame, with none.
	Tick time.Duration
	// Late is for how long what was captured may be on its way through the writer
	// and the file system: Batch.Now is so far behind, and damage at the end of a
	// file is looked at again for so long.
	Late time.Duration
	// Context ends reading: ReadBatch then gives ErrInterrupted.
	Context context.Context
	// Log is told of files that go, are damaged, or are left out.
	Log *slog.Logger
}

// DefaultFollowConfig looks ten times a second.
func DefaultFollowConfig(paths ...string) FollowConfig {
	return FollowConfig{
		Paths: paths, Poll: 100 * time.Millisecond, Tick: 200 * time.Millisecond, Late: 5 * time.Second,
		Context: context.Background(), Log: slog.New(slog.DiscardHandler),
	}
}

// Followed is what became of the files of an input that is followed.
type Followed struct {
	Files   uint64 // that reading began with
	Waiting int    // that are there and not begun
	// Missed were deleted, or written anew, before they were begun; Cut while they
	// were read, or they are damaged; Grown went on after newer ones had come, and
	// that was not read.
	Missed, Cut, Grown uint64
	Away               string // why nothing can be read at the moment, "" where it can
}

const (
	maxFollowed = 64 // inputs
	// otherFiles is how long a frame waits for earlier ones of other inputs.
	otherFiles = time.Second
)

// Check says what is wrong with the configuration.
func (c *FollowConfig) Check() error {
	switch n := len(c.Paths); {
	case n == 0:
		return errors.New("no file or directory to follow")
	case n > maxFollowed:
		return fmt.Errorf("%d files and directories to follow are more than %d", n, maxFollowed)
	case c.Poll <= 0 || c.Tick <= 0 || c.Late <= 0:
		return fmt.Errorf("a poll of %v, a tick of %v, late by %v: they must be positive", c.Poll, c.Tick, c.Late)
	}
	for i, path := range c.Paths {
		if slices.Contains(c.Paths[:i], path) {
			return fmt.Errorf("%s is named twice", PathText(path))
		}
	}
	return nil
}

// Look says what is wrong with what there is now, as OpenFollow would. It opens no
// pipe, which its writer would notice.
func (c *FollowConfig) Look() error {
	for i, path := range c.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeNamedPipe != 0 {
			continue
		}
		t, err := openTrail(path, int32(i), c)
		if err != nil {
			return err
		}
		t.leave()
	}
	return nil
}

// follow reads files while others write them, in the order of time as far as
// they are there.
type follow struct {
	cfg    FollowConfig
	trails []*trail
	last   int64     // time of the last frame
	at     time.Time // when it was read
}

// OpenFollow reads pcap and pcapng files as they grow. A directory stands for
// the files of a ring, or of a capture that begins a new file now and then: what
// is there is read from the oldest on, and the next file is begun when the one
// before it has been read to its end. It never ends by itself.
func OpenFollow(cfg FollowConfig) (Source, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	s := &follow{cfg: cfg}
	for i, path := range cfg.Paths {
		t, err := openTrail(path, int32(i), &s.cfg)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.trails = append(s.trails, t)
	}
	return s, nil
}

// ReadBatch fills b with frames that are there, or waits for some; b can have
// none, as of live sources.
func (s *follow) ReadBatch(b *Batch) error {
	b.reset()
	b.buf = b.buf[:0]
	deadline := time.Now().Add(s.cfg.Tick)
	for {
		if s.cfg.Context.Err() != nil {
			return ErrInterrupted
		}
		s.fill(b)
		now := time.Now()
		if n := len(b.Frames); n > 0 {
			s.last, s.at = b.Frames[n-1].Time, now
			b.Now = s.last
			return nil
		}
		if !now.Before(deadline) {
			b.Now = s.now(now)
			return nil
		}
		select {
		case <-time.After(min(s.cfg.Poll, deadline.Sub(now))):
		case <-s.cfg.Context.Done():
		}
	}
}

// now is the time in the files: that of the last frame, and what went by since.
// The clock here may be another one than the writer's, and the files old.
func (s *follow) now(now time.Time) int64 {
	if s.at.IsZero() {
		return 0
	}
	return s.last + max(0, int64(now.Sub(s.at)-s.cfg.Late))
}

// fill takes the frames that are there, the earliest first. Where an input has
// none, others wait a little for it.
func (s *follow) fill(b *Batch) {
	for len(b.Frames) < BatchFrames {
		first, all := -1, true
		for i, t := range s.trails {
			if !t.ready() {
				all = false
			} else if first < 0 || t.time() < s.trails[first].time() {
				first = i
			}
		}
		if first < 0 {
			return
		}
		t := s.trails[first]
		if !all && len(s.trails) > 1 && !t.behind && time.Since(t.read) < otherFiles {
			return
		}
		t.take(b)
	}
}

func (s *follow) Inputs() []Input {
	all := make([]Input, len(s.trails))
	for i, t := range s.trails {
		all[i] = t.describe()
	}
	return all
}

// Close ends following.
func (s *follow) Close() error {
	for _, t := range s.trails {
		t.leave()
	}
	s.trails = nil
	return nil
}
