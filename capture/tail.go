package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const (
	// tailBuffer is how much of a file is read at once, unless a record is longer.
	tailBuffer = 256 << 10
	// headBytes is how much of its beginning a file is known again by: a file's
	// header and its first frame.
	headBytes = 4 << 10
)

// tail is a file that is read while it grows.
type tail struct {
	path string
	file *os.File
	pipe bool

	buf    []byte // buf[at:] was read and not parsed
	at     int
	pos    int64 // of buf[at] in the file
	toSkip int64
	wants  int    // bytes behind pos without which the parser can't go on
	head   []byte // the beginning of the file

	format Format
	parser parser // nil until the header is there
	feed   feed
	batch  Batch // what was parsed last

	damage    string    // why nothing more can be parsed, as it seems
	suspected time.Time // since when
	told      bool      // that something of it is lost
	reopened  bool
}

// openTail opens a file, or a pipe.
func openTail(path string, pipe bool) (*tail, error) {
	file, err := openFollowed(path, pipe)
	if err != nil {
		return nil, err
	}
	return &tail{path: path, file: file, pipe: pipe, buf: make([]byte, 0, tailBuffer)}, nil
}

// openFollowed opens a file, or a pipe, and nothing else that has come to be there. It
// does not wait for who writes to a pipe.
func openFollowed(path string, pipe bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = isFollowed(path, info, pipe)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isFollowed says whether what is there is a file, or a pipe where one was.
func isFollowed(path string, info fs.FileInfo, pipe bool) error {
	switch mode := info.Mode(); {
	case pipe && mode&fs.ModeNamedPipe == 0:
		return &fs.PathError{Op: "open", Path: path, Err: errNotPipe}
	case !pipe && !mode.IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: errNotFile}
	}
	return nil
}

var (
	errNotPipe    = errors.New("it is not a pipe any more")
	errNotFile    = errors.New("it is not a file any more")
	errBegunAgain = errors.New("it was begun again while it was read")
	// errDamaged is for what may be right when it is read again.
	errDamaged = errors.New("damaged")
	// errNoMore says that a pipe has no more at the moment.
	errNoMore = errors.New("no more yet")
)

// next parses the next frames into t.batch. At the end of what there is it
// returns io.EOF, or errNoMore.
func (t *tail) next(number uint64, input int32) error {
	t.batch.reset()
	if t.damage != "" {
		if t.pipe {
			return t.discard()
		}
		if err := t.again(); err != nil {
			return err
		}
	}
	for {
		switch {
		case t.parse(number, input):
			return nil
		case t.damage != "":
			return errDamaged
		}
		if err := t.more(); err != nil {
			return err
		}
	}
}

// parse reports whether there are frames.
func (t *tail) parse(number uint64, input int32) bool {
	for {
		n := min(int64(len(t.buf)-t.at), t.toSkip)
		t.at, t.pos, t.toSkip = t.at+int(n), t.pos+n, t.toSkip-n
		rest := t.buf[t.at:]
		if t.toSkip > 0 || len(rest) < max(t.wants, 1) {
			return false
		}
		if t.parser == nil {
			if !t.begin(rest) {
				return false
			}
			continue
		}
		f := &t.feed
		*f = feed{batch: &t.batch, frames: t.batch.Frames[:BatchFrames], number: number, base: t.pos, input: input, inside: f.inside, start: f.start}
		t.parser.parse(rest, f)
		t.at, t.pos, t.toSkip, t.wants = t.at+f.used, t.pos+int64(f.used), f.skip, f.need
		t.damage = f.reason
		if f.used > 0 {
			t.suspected = time.Time{}
		}
		if f.count > 0 {
			t.batch.Frames = t.batch.Frames[:f.count]
			return true
		}
		if t.damage != "" || t.toSkip == 0 {
			return false
		}
	}
}

// begin tells the format by the header, and reports whether it is there.
func (t *tail) begin(head []byte) bool {
	if t.wants = 4; len(head) < t.wants {
		return false
	}
	if order32(head, false) == blockSection {
		t.format, t.parser, t.wants = FormatPcapNG, newNGParser(), 0
		return true
	}
	p := newPcapParser(head)
	if p == nil {
		t.damage = notFollowed(head)
		return false
	}
	if t.wants = p.header; len(head) < t.wants {
		return false
	}
	if t.damage = p.parseHeader(head); t.damage != "" {
		return false
	}
	t.format, t.parser, t.wants = FormatPcap, p, 0
	t.at, t.pos = t.at+p.header, t.pos+int64(p.header)
	return true
}

// notFollowed says why a file can't be followed by its first bytes.
func notFollowed(head []byte) string {
	if c := compressionOf(head); c != Plain {
		return "it is compressed by " + c.String() + ": only plain pcap and pcapng files can be followed"
	}
	return unknownFormat(head, Plain)
}

// more reads more of the file. What the writer wrote over, or cut, is not taken.
func (t *tail) more() error {
	t.makeRoom()
	have := len(t.buf)
	n, err := t.read(t.buf[have:cap(t.buf)])
	if err != nil {
		return err
	}
	if !t.pipe {
		if err := t.same(t.pos + int64(have+n)); err != nil {
			return err
		}
	}
	if n == 0 {
		return io.EOF
	}
	t.buf = t.buf[:have+n]
	// The beginning may be read twice.
	if begin := t.pos + int64(have); begin <= int64(len(t.head)) && begin+int64(n) > int64(len(t.head)) {
		t.head = append(t.head, t.buf[have+len(t.head)-int(begin):min(have+n, have+headBytes-int(begin))]...)
	}
	return nil
}

// read reads what is there; at the end it is nothing.
func (t *tail) read(p []byte) (int, error) {
	if t.pipe {
		const moment = time.Millisecond
		if err := t.file.SetReadDeadline(time.Now().Add(moment)); err != nil {
			return 0, err
		}
	}
	n, err := t.file.Read(p)
	switch {
	case n > 0 || errors.Is(err, io.EOF):
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, errNoMore
	}
	return n, err
}

// discard reads what follows damage in a pipe, up to its end.
func (t *tail) discard() error {
	for range maxBegun {
		if n, err := t.read(t.buf[:cap(t.buf)]); err != nil {
			return err
		} else if n == 0 {
			return io.EOF
		}
	}
	return errDamaged
}

// again goes back to what was parsed last.
func (t *tail) again() error {
	t.buf, t.at, t.wants, t.damage = t.buf[:0], 0, 0, ""
	t.head = t.head[:min(int64(len(t.head)), t.pos)]
	_, err := t.file.Seek(t.pos, io.SeekStart)
	return err
}

// makeRoom has room behind what is not parsed. It grows with what has arrived,
// whatever a length promises.
func (t *tail) makeRoom() {
	rest := t.buf[t.at:]
	to := t.buf[:0]
	switch {
	case len(rest) == cap(t.buf):
		to = make([]byte, 0, 2*len(rest))
	case cap(t.buf) > tailBuffer && len(rest) < tailBuffer/2:
		to = make([]byte, 0, tailBuffer)
	}
	to = to[:len(rest)]
	copy(to, rest)
	t.buf, t.at = to, 0
}

// same looks whether the file has so many bytes, and begins as it did.
func (t *tail) same(size int64) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < size {
		return errBegunAgain
	}
	var now [headBytes]byte
	n, err := t.file.ReadAt(now[:len(t.head)], 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case !bytes.Equal(now[:n], t.head):
		return errBegunAgain
	}
	return nil
}

// reopen opens the same file once more: network file systems tell then what
// others have written.
func (t *tail) reopen() {
	t.reopened = true
	file, err := openFollowed(t.path, t.pipe)
	if err != nil {
		return
	}
	one, err1 := t.file.Stat()
	other, err2 := file.Stat()
	if err1 == nil && err2 == nil && os.SameFile(one, other) {
		if _, err := file.Seek(t.pos+int64(len(t.buf)-t.at), io.SeekStart); err == nil {
			t.file, file = file, t.file
		}
	}
	_ = file.Close() // it was only read
}

// left says why the file can't be over where it is, "" where it can.
func (t *tail) left() string {
	switch {
	case t.damage != "":
		return t.damage
	case t.toSkip > 0 || len(t.buf) > t.at || t.feed.inside:
		return "the file ends in the middle of a record"
	case t.parser == nil && t.pos+int64(len(t.buf)) > 0:
		return "the file ends in its header"
	}
	return ""
}

// begun says whether anything was read of it.
func (t *tail) begun() bool { return t.pos > 0 || len(t.buf) > 0 || t.damage != "" }
