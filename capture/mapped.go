package capture

import (
	"runtime/debug"
)

// dropStep is how much of a mapping is let go of at once, and how much stays
// behind the parser: decoders are at most some batches late. What they still
// touch of the rest comes back from the page cache. (Mapping ahead of the parser
// with MADV_POPULATE_READ was measured, and is no faster than the faults.)
const dropStep = 64 << 20

// readMapped fills the feed's frames from the mapping.
func (f *File) readMapped() {
	f.letGo()
	if !f.parseMapped() {
		f.pos += int64(f.feed.used)
		f.damage(f.pos, cutWhileRead, nil)
	}
	if !f.suspicious() {
		return
	}
	if size, ok := fileSize(f.file); ok && size < int64(len(f.mapped.data)) {
		f.shrink(size)
	}
}

// suspicious says whether what was parsed may be what is left of a file that
// was cut: the rest of its last page reads as zeroes without a fault. Zeroes
// are damage, or in pcap frames of no bytes up to the end of the page. Asking
// for the file's size each time would cost as much as parsing.
func (f *File) suspicious() bool {
	fd := &f.feed
	return f.err != nil || fd.count == 0 || len(fd.frames[fd.count-1].Data) == 0
}

// parseMapped reports false if the mapping faulted: the file is shorter now.
func (f *File) parseMapped() (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, mine := f.mapped.fault(r); !mine {
				panic(r)
			}
		}
	}()
	fd := &f.feed
	for f.err == nil && fd.count < len(fd.frames) {
		f.parse(f.mapped.data[f.pos:])
		left := int64(len(f.mapped.data)) - f.pos
		switch {
		case f.err != nil || fd.count == len(fd.frames):
		case fd.skip == 0:
			f.end(left)
		case fd.skip <= left:
			f.pos += fd.skip
		default:
			f.pos += left
			f.cutInSkip()
		}
	}
	return true
}

// shrink takes note that the file has lost its end: frames that reach into what
// is gone are taken back.
func (f *File) shrink(size int64) {
	f.shrunk = true
	fd := &f.feed
	end := f.pos
	for fd.count > 0 && end > size {
		fd.count--
		end = fd.frames[fd.count].Offset
	}
	f.mapped.data = f.mapped.data[:size]
	if f.err != nil || end < f.pos || f.pos > size {
		f.pos = end
		f.damage(end, cutWhileRead, nil)
	}
}

// letGo gives back what is long done with.
func (f *File) letGo() {
	if f.pos-f.dropped >= 2*dropStep {
		f.dropped = f.mapped.drop(f.dropped, f.pos-dropStep)
	}
}
