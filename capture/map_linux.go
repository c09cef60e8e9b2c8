package capture

import (
	"errors"
	"io/fs"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping is a file in memory, read-only. Pages come from the page cache and
// can be given back to it at any time.
type mapping struct {
	all  []byte // as mapped
	data []byte // as far as the file reaches
}

// quiet is how long a file must not have been written to if nothing better
// tells that it is finished. It is a guess: a program that captures traffic
// worth mapping writes far more often.
const quiet = 10 * time.Second

// finished says whether nobody is writing to the file. A read lease is granted
// only if nobody has it open for writing, so trying to get one asks just that.
func finished(file *os.File, info fs.FileInfo) bool {
	for {
		_, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		switch {
		case err == nil:
			_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
			return err == nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false
		}
		// Somebody else's file, or a file system without leases.
		return time.Since(info.ModTime()) >= quiet
	}
}

func mapFile(file *os.File, size int64) (*mapping, error) {
	if int64(int(size)) != size {
		return nil, errors.ErrUnsupported
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	// Advice that is not taken costs speed alone.
	_ = unix.Madvise(data, unix.MADV_SEQUENTIAL)
	return &mapping{all: data, data: data}, nil
}

func (m *mapping) unmap() error {
	if m.all == nil {
		return nil
	}
	all := m.all
	m.all, m.data = nil, nil
	return unix.Munmap(all)
}

// drop gives back the whole pages of [from, to) and returns where it ended.
func (m *mapping) drop(from, to int64) int64 {
	page := int64(os.Getpagesize())
	from, to = from&^(page-1), min(to, int64(len(m.data)))&^(page-1)
	if from < to {
		_ = unix.Madvise(m.data[from:to], unix.MADV_DONTNEED)
	}
	return max(from, to)
}

// offset is where in the file an address is, if it is in the mapping.
func (m *mapping) offset(addr uintptr) (int64, bool) {
	if len(m.all) == 0 {
		return 0, false
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(m.all))) // to compare, never to follow
	if addr < first || addr-first >= uintptr(len(m.all)) {
		return 0, false
	}
	return int64(addr - first), true
}

// fileSize does without os.File.Stat, which allocates.
func fileSize(file *os.File) (int64, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return 0, false
	}
	return st.Size, true
}
