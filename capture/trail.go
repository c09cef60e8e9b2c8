package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"
)

// trail is an input that is followed: a file, a named pipe, or the files of a
// directory.
type trail struct {
	path   string
	input  int32
	cfg    *FollowConfig
	log    *slog.Logger
	series *series // nil where it is no directory
	pipe   bool

	now    *tail     // what is read, nil while there is nothing
	member *member   // which file of the series that is
	next   int       // the frame of now.batch at hand
	read   time.Time // when those at hand were
	behind bool      // there is more behind them
	polled time.Time // when it was looked for more, in vain
	away   string    // why nothing can be read, "" where it can
	ended  bool      // nobody writes to the pipe any more

	in    Input
	files Followed
	faces []int32 // the input's interfaces by those of the file
	known map[faceKey]int32
}

// faceKey is what an interface is known again by in the next file.
type faceKey struct {
	name, description string
	link              LinkType
	mac               [6]byte
}

const (
	// maxFaces bounds the interfaces of an input that is followed; what is of
	// others is taken for the last one's.
	maxFaces = 1 << 10
	// maxBegun bounds the files that are begun at once without a frame in them.
	maxBegun = 1 << 10
)

func openTrail(path string, input int32, cfg *FollowConfig) (*trail, error) {
	t := &trail{path: path, input: input, cfg: cfg, log: cfg.Log.With("input", path), in: Input{Path: path}, known: make(map[faceKey]int32)}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		t.series = newSeries(path, t.log, &t.files, 5*cfg.Poll)
		return t, t.series.scan()
	}
	if t.pipe = info.Mode()&fs.ModeNamedPipe != 0; !t.pipe && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a directory nor a pipe: it can't be followed", PathText(path))
	}
	if t.now, err = openTail(path, t.pipe); err != nil {
		return nil, err
	}
	t.files.Files++
	if t.more() || t.now.parser != nil || t.now.damage == "" || t.pipe {
		return t, nil
	}
	err = &DamagedError{Path: path, NotCapture: true, Reason: t.now.damage}
	t.leave()
	return nil, err
}

func (t *trail) leave() {
	if t.now != nil {
		_ = t.now.file.Close() // it was only read
		t.now = nil
	}
}

// ready says whether a frame is at hand.
func (t *trail) ready() bool {
	if t.now != nil && t.next < len(t.now.batch.Frames) {
		return true
	}
	return time.Since(t.polled) >= t.cfg.Poll && t.more()
}

func (t *trail) time() int64 { return t.now.batch.Frames[t.next].Time }

// take hands out the frame at hand.
func (t *trail) take(b *Batch) {
	f := t.now.batch.Frames[t.next]
	t.next++
	to := b.room(len(f.Data))
	copy(to, f.Data)
	f.Data, f.options = to, nil
	f.Interface = t.faces[f.Interface]
	b.Frames = append(b.Frames, f)
	t.in.Frames++
	t.in.Bytes += uint64(f.OrigLen)
}

// more looks for frames, and reports whether there are any. Where there are none
// it is asked again after a while.
func (t *trail) more() bool {
	for range maxBegun {
		if t.now == nil && !t.begin() {
			break
		}
		newer := t.newer() // before it is read: what was written before that is there
		err := t.now.next(t.in.Frames, t.input)
		if err == nil {
			t.next, t.read = 0, time.Now()
			if t.ended {
				t.log.Info("somebody writes to the pipe again")
				t.ended = false
			}
			t.behind = len(t.now.buf) == cap(t.now.buf) || len(t.now.batch.Frames) == BatchFrames
			t.learn()
			return true
		}
		if newer && !t.now.reopened && !t.pipe && !errors.Is(err, errBegunAgain) {
			t.now.reopen()
			continue
		}
		if !t.over(err, newer) {
			break
		}
		if t.series != nil {
			t.series.finish(t.member, t.now, errors.Is(err, errBegunAgain))
		}
		t.leave()
	}
	t.polled = time.Now()
	return false
}

// over tells what went wrong, if anything, and reports whether a file that has no
// more frames now is read no more.
func (t *trail) over(err error, newer bool) bool {
	f := t.now
	switch {
	case errors.Is(err, errNoMore):
		return false
	case errors.Is(err, errBegunAgain):
		t.cut(err.Error())
		return true
	case errors.Is(err, errDamaged):
		if f.suspected.IsZero() {
			f.suspected = time.Now()
		}
		if newer || f.pipe || time.Since(f.suspected) >= t.cfg.Late {
			t.cut(f.damage)
		}
		return newer
	case !errors.Is(err, io.EOF):
		t.cut("reading failed: " + err.Error())
		return t.series != nil || newer || errors.Is(err, syscall.ESTALE)
	}
	if f.pipe {
		if newer = f.begun(); newer { // nobody writes to it any more
			t.ended = true
			t.log.Warn("the pipe has ended: reading goes on when somebody writes to it")
		}
	}
	if left := f.left(); newer && left != "" {
		t.cut(left)
	}
	return newer
}

// newer says whether there is another file behind the one that is read.
func (t *trail) newer() bool {
	switch {
	case t.pipe:
		return false
	case t.series != nil:
		t.series.look()
		return len(t.series.queue) > 0
	}
	there, err := os.Stat(t.path)
	if err == nil {
		err = isFollowed(t.path, there, false)
	}
	if err != nil {
		t.gone(err)
		return false
	}
	t.back()
	here, err := t.now.file.Stat()
	return err == nil && !os.SameFile(here, there)
}

// begin begins the next file, if there is one.
func (t *trail) begin() bool {
	path := t.path
	t.member = nil
	if t.series != nil {
		t.series.look()
		if t.member = t.series.next(); t.member == nil {
			return false
		}
		path = t.series.path(t.member.name)
	}
	now, err := openTail(path, t.pipe)
	switch {
	case err != nil && t.member != nil:
		t.series.missed(t.member, err.Error())
		return false
	case err != nil:
		t.gone(err)
		return false
	}
	t.log.Debug("a file is begun", "file", path)
	t.back()
	t.now, t.next, t.faces = now, 0, t.faces[:0]
	t.files.Files++
	return true
}

// gone tells once that the file is not there.
func (t *trail) gone(err error) {
	if t.away == "" {
		t.log.Warn("the file can't be read: reading goes on when it is there", "error", err)
	}
	t.away = err.Error()
	var in *fs.PathError
	if errors.As(err, &in) {
		t.away = in.Err.Error()
	}
}

// back tells that the file is there, where it was told that it is not.
func (t *trail) back() {
	if t.away != "" {
		t.log.Info("the file is there again")
		t.away = ""
	}
}

// cut tells once of a file that something of it is lost.
func (t *trail) cut(why string) {
	if t.now.told {
		return
	}
	t.now.told = true
	t.files.Cut++
	t.log.Warn("something of a file is lost", "file", t.now.path, "byte", t.now.pos, "reason", why)
}

// learn takes over what the file says of its interfaces.
func (t *trail) learn() {
	var said Input
	t.now.parser.describe(&said)
	for i, face := range said.Interfaces {
		if i == len(t.faces) {
			t.faces = append(t.faces, t.face(&face))
		}
		mine := &t.in.Interfaces[t.faces[i]]
		if face.Received != nil {
			mine.Received = face.Received
		}
		if face.Dropped != nil {
			mine.Dropped = face.Dropped
		}
	}
	t.in.Format = t.now.format
	if said.Drops != nil {
		t.in.Drops = said.Drops
	}
}

// face is the number of an interface.
func (t *trail) face(face *Interface) int32 {
	key := faceKey{face.Name, face.Description, face.Link, face.MAC}
	n, ok := t.known[key]
	if !ok {
		if n = int32(len(t.in.Interfaces)); n == maxFaces {
			return n - 1
		}
		t.known[key] = n
		t.in.Interfaces = append(t.in.Interfaces, *face)
	}
	return n
}

// describe is the input as it is now.
func (t *trail) describe() Input {
	in := t.in
	in.Interfaces = slices.Clone(in.Interfaces)
	files := t.files
	if files.Away = t.away; t.away == "" && t.ended {
		files.Away = "nobody writes to it"
	}
	if t.series != nil {
		files.Waiting, files.Away = len(t.series.queue), t.series.away
	}
	in.Followed = &files
	return in
}
