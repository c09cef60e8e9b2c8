package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// File is one capture file, or standard input. It is a Source.
type File struct {
	in     Input
	name   string   // the path in errors
	file   *os.File // nil once it is not needed any more, or if we don't own it
	r      io.Reader
	closer func() // frees the decompressor
	stored *counter
	parser parser
	err    error // what ReadBatch returns once its frames are handed out

	pos int64 // of the first byte that is not parsed, decompressed

	// Of an input that is read:
	tail      []byte // read, and not parsed
	toSkip    int64  // bytes to leave out after tail
	seekable  bool
	live      bool // may pause: hand out what is there rather than wait
	ended     bool // nothing comes after tail
	readErr   error
	batchSize int // what a batch's buffer is made to hold

	// Of an input that is mapped:
	mapped  *mapping
	shrunk  bool  // the file is shorter than when it was mapped
	dropped int64 // up to where the mapping was given back

	feed feed
}

// counter counts the bytes of the file as it is stored.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Inputs has one entry.
func (f *File) Inputs() []Input {
	in := f.in
	if f.parser != nil {
		f.parser.describe(&in)
	}
	if f.mapped != nil {
		in.Pos = f.pos
	} else if f.stored != nil {
		in.Pos = f.stored.n
	}
	return []Input{in}
}

// ReadBatch fills b, as Source says. When the end is damage it returns the
// *DamagedError with each call after the last frame.
//
// The frames of a mapped file alias the mapping, all others b's own buffer of
// at most some 2 MiB, or two times the largest record.
func (f *File) ReadBatch(b *Batch) error { return f.read(b, BatchFrames) }

func (f *File) read(b *Batch, limit int) error {
	b.reset()
	if f.err != nil {
		return f.err
	}
	f.feed = feed{
		batch: b, frames: b.Frames[:limit], number: f.in.Frames, input: f.feed.input,
	}
	if f.mapped != nil {
		f.readMapped()
	} else {
		f.readStream(b)
	}
	b.Frames = b.Frames[:f.feed.count]
	f.feed.batch, f.feed.frames = nil, nil
	if f.err != nil {
		f.release()
		if f.mapped != nil { // frames in flight fault back in
			f.dropped = f.mapped.drop(f.dropped, f.pos)
		}
	}
	if len(b.Frames) == 0 {
		return f.err
	}
	bytes := uint64(0)
	for i := range b.Frames {
		bytes += uint64(b.Frames[i].OrigLen)
	}
	f.in.Bytes += bytes
	f.in.Frames += uint64(len(b.Frames))
	return nil
}

// parse runs the parser over the bytes at f.pos and moves on over what it took.
// It returns how many that were, and sets f.err if they are damaged.
func (f *File) parse(buf []byte) int {
	fd := &f.feed
	fd.base, fd.used, fd.need, fd.skip, fd.reason = f.pos, 0, 0, 0, ""
	f.parser.parse(buf, fd)
	f.pos += int64(fd.used)
	if fd.reason != "" {
		at := f.pos
		if fd.inside && fd.used == 0 {
			at = fd.start
		}
		f.damage(at, fd.reason, nil)
	}
	return fd.used
}

// end is called when the input has no more than left bytes after f.pos and the
// parser wants more: that is the end of the capture or a cut in it.
func (f *File) end(left int64) {
	at := f.pos
	if f.feed.inside && f.feed.used == 0 {
		at, left = f.feed.start, left+f.pos-f.feed.start
	}
	var after *afterStreamError
	switch {
	case errors.As(f.readErr, &after) && left > 0:
		f.damage(at, "the file ends in the middle of a record, and "+after.Error(), f.readErr)
	case after != nil:
		f.damage(at, after.Error()+", and are left out", f.readErr)
		f.in.Damage.Whole = true
	case f.readErr != nil:
		f.damage(at, brokenStream(f.in.Compression, f.readErr), f.readErr)
	case f.shrunk:
		f.damage(at, cutWhileRead, nil)
	case left == 0:
		f.err = io.EOF
	default:
		f.damage(at, "the file ends in the middle of a record", io.ErrUnexpectedEOF)
	}
}

func (f *File) damage(at int64, reason string, cause error) {
	d := &DamagedError{
		Path: f.name, Offset: at, Decompressed: f.in.Compression != Plain,
		NotCapture: f.in.Format == FormatUnknown && cause == nil,
		Reason:     reason, cause: cause,
	}
	f.in.Damage = d
	f.err = d
}

// release frees everything but what frames that were handed out need.
func (f *File) release() {
	if f.closer != nil {
		f.closer()
		f.closer = nil
	}
	if f.file != nil {
		_ = f.file.Close() // it was only read
		f.file = nil
	}
	f.r, f.tail = nil, nil
}

// Close frees the file and its mapping; its frames are invalid afterwards.
func (f *File) Close() error {
	f.release()
	if f.err == nil {
		f.err = fs.ErrClosed
	}
	if f.mapped == nil {
		return nil
	}
	m := f.mapped
	f.in.Pos = f.pos
	f.mapped, f.stored = nil, nil
	return m.unmap()
}

// faulted is the damage if a fault at addr is one in the file's mapping.
func (f *File) faulted(addr uintptr) *DamagedError {
	if f.mapped == nil {
		return nil
	}
	at, ok := f.mapped.offset(addr)
	if !ok {
		return nil
	}
	return &DamagedError{Path: f.name, Offset: at, Reason: cutWhileRead}
}
