package capture

import (
	"errors"
	"io"
)

// Sizes of what is read at once.
const (
	// readChunk is the least that is asked for: a system call's worth.
	readChunk = 16 << 10
	// firstRead is asked for before the size of a record is known.
	firstRead = 64 << 10
	// maxBuffer bounds a batch's buffer unless one record needs more.
	maxBuffer = 1 << 20
	// seekFrom is from where on skipping by seeking beats skipping by reading.
	seekFrom = 256 << 10
)

// readStream fills the feed's frames from an input that is read. The bytes are
// read into b's buffer and parsed where they are: a batch's frames are never
// copied. What is read beyond the batch's last record waits in f.tail for the
// next, so no more is asked for than the batch is likely to need.
func (f *File) readStream(b *Batch) {
	buf, n := f.prepare(b) // buf[at:n] is there and not parsed
	at := 0
	fd := &f.feed
	for f.err == nil {
		if f.toSkip > 0 {
			took := min(int64(n-at), f.toSkip)
			at += int(took)
			f.pos += took
			f.toSkip -= took
			if f.toSkip > 0 && !f.skip(&buf, &at, &n) {
				break
			}
			continue
		}
		at += f.parse(buf[at:n])
		f.toSkip = fd.skip
		if f.err != nil || fd.count == len(fd.frames) {
			break
		}
		if fd.skip > 0 {
			continue
		}
		if f.ended {
			f.end(int64(n - at))
			at = n
			break
		}
		if fd.count > 0 && (n == len(buf) || f.live) {
			break
		}
		if fd.count == 0 {
			buf, n = makeRoom(buf, at, n)
			at = 0
		}
		n += f.readSome(buf[n:min(len(buf), n+f.want(n-at))])
	}
	if fd.count < len(fd.frames) && n == len(buf) && f.batchSize < maxBuffer {
		f.batchSize *= 2
	}
	b.buf = buf
	if f.err == nil {
		f.tail = append(f.tail[:0], buf[at:n]...)
	}
}

// prepare gives b a buffer that suits the input and puts the tail into it.
func (f *File) prepare(b *Batch) (buf []byte, n int) {
	if f.batchSize == 0 {
		f.batchSize = 2 * firstRead
	}
	size := max(f.batchSize, len(f.tail)+readChunk)
	// A buffer that one huge record needed is not kept for ever.
	if cap(b.buf) < size || cap(b.buf) > 2*max(maxBuffer, size) {
		b.buf = make([]byte, size)
	}
	buf = b.buf[:cap(b.buf)]
	n = copy(buf, f.tail)
	return buf, n
}

// makeRoom moves buf[at:n] to the front of a buffer that has room after it. It
// grows with what has arrived, whatever a length field promises. No frame may
// alias buf.
func makeRoom(buf []byte, at, n int) ([]byte, int) {
	to := buf
	if at == 0 && n == len(buf) {
		to = make([]byte, 2*len(buf))
	}
	return to, copy(to, buf[at:n])
}

// want is how much to ask for when have bytes wait: what the frames that are
// still missing take if they are as long as those before.
func (f *File) want(have int) int {
	frames := f.feed.number + uint64(f.feed.count)
	if frames == 0 {
		return max(firstRead, min(f.feed.need-have, maxBuffer))
	}
	average := float64(f.pos) / float64(frames)
	missing := len(f.feed.frames) - f.feed.count
	guess := int(min(average*float64(missing), maxBuffer)) - have
	return max(readChunk, guess, min(f.feed.need-have, maxBuffer))
}

// readSome reads once and notes the end.
func (f *File) readSome(p []byte) int {
	const patience = 100 // empty reads, before the reader is taken for broken
	for range patience {
		n, err := f.r.Read(p)
		if err != nil {
			f.ended = true
			if !errors.Is(err, io.EOF) {
				f.readErr = err
			}
		}
		if n > 0 || err != nil {
			return n
		}
	}
	f.ended, f.readErr = true, io.ErrNoProgress
	return 0
}

// skip leaves out f.toSkip bytes that are not in the buffer, or some of them,
// and reports whether to go on. With frames in the buffer the batch ends, so
// that they are not held back while an endless block goes by.
func (f *File) skip(buf *[]byte, at, n *int) bool {
	if f.feed.count > 0 {
		return false
	}
	*at, *n = 0, 0
	if f.ended {
		f.cutInSkip()
		return false
	}
	if f.seekable && f.toSkip >= seekFrom {
		if _, err := f.file.Seek(f.toSkip, io.SeekCurrent); err == nil {
			f.stored.n += f.toSkip
			f.pos += f.toSkip
			f.toSkip = 0
			return true
		}
		f.seekable = false
	}
	*n = f.readSome((*buf)[:min(int64(len(*buf)), f.toSkip)])
	return true
}

// cutInSkip is the end of an input in the middle of a block that is skipped.
func (f *File) cutInSkip() {
	// The parser knows where that block began, and says so if it is asked to
	// go on with nothing.
	f.parse(nil)
	f.end(1)
}
