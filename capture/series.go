package capture

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// series is the files of a directory, which come one after the other: tcpdump's
// with -C, -G and -W, dumpcap's with -b. Their writers end a file before they
// begin the next one, and delete old ones or write into them anew.
type series struct {
	dir   string
	log   *slog.Logger
	files *Followed
	every time.Duration

	known   map[string]*member // by name, of all entries that there are
	queue   []*member          // those that wait to be read, the oldest first
	scanned time.Time
	away    string // why the directory can't be read, "" where it can
	seed    maphash.Seed
	last    place // of the file that was found last
}

// member is a file of a series.
type member struct {
	name  string
	state memberState
	info  fs.FileInfo // when it was looked at last
	first int64       // time of its first frame
	empty bool        // it has none yet

	// Of one that was read:
	size  int64  // up to where
	head  int    // how long its beginning is that sum is of
	sum   uint64 // what it is known again by
	grown bool   // it went on
}

type memberState uint8

const (
	memberNone    memberState = iota // no capture, or not yet
	memberWaiting                    // in the queue
	memberRead                       // it is, or was
)

func newSeries(dir string, log *slog.Logger, files *Followed, every time.Duration) *series {
	return &series{dir: dir, log: log, files: files, every: every, known: make(map[string]*member), seed: maphash.MakeSeed()}
}

func (s *series) path(name string) string { return filepath.Join(s.dir, name) }

// look looks for new files, if it was not done of late.
func (s *series) look() {
	if time.Since(s.scanned) < s.every {
		return
	}
	err := s.scan()
	switch {
	case err == nil && s.away != "":
		s.log.Info("the directory can be read again")
		s.away = ""
	case err == nil:
	case s.away == "":
		s.log.Warn("the directory can't be read: reading goes on when it can", "error", err)
		fallthrough
	default:
		s.away = err.Error()
	}
}

// scan looks at all files. New ones come behind those that were known before, and
// among each other in the order of their first frames.
func (s *series) scan() error {
	defer func() { s.scanned = time.Now() }()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(entries))
	var more []*member
	for _, entry := range entries {
		name := entry.Name()
		info, err := os.Stat(s.path(name)) // what a link points to
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(name, ".") {
			continue
		}
		there[name] = true
		if m := s.at(name, info); m != nil {
			more = append(more, m)
		}
	}
	for name, m := range s.known {
		if !there[name] {
			delete(s.known, name)
			if m.state == memberWaiting {
				s.unqueue(m)
				s.missed(m, "it was deleted before it was read")
			}
		}
	}
	s.add(more)
	return nil
}

func (s *series) add(more []*member) {
	slices.SortFunc(more, func(a, b *member) int {
		if a.empty != b.empty { // it is the newest
			if a.empty {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.first, b.first), compareNatural(a.name, b.name))
	})
	s.queue = append(s.queue, more...)
	for _, m := range more {
		at := placeOf(m.name)
		if at.ring != "" && at.ring == s.last.ring && at.number > s.last.number+1 {
			n := at.number - s.last.number - 1
			s.files.Missed += n
			s.log.Warn("files are lost: they were deleted before they were found", "files", n, "before", m.name)
		}
		s.last = at
	}
}

// place is a file's in a ring of dumpcap's, whose names have numbers that rise.
type place struct {
	ring   string // "" for files of others
	number uint64
}

// numbered are such names: with the number before the time, or behind it.
var numbered = regexp.MustCompile(`^(.*)_(?:([0-9]{5})_[0-9]{14}|[0-9]{14}_([0-9]{5}))(?:\.[^.]*)?$`)

func placeOf(name string) place {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return place{}
	}
	n, _ := strconv.ParseUint(m[2]+m[3], 10, 64) // it is five digits
	return place{m[1], n}
}

func (s *series) unqueue(m *member) {
	s.queue = slices.DeleteFunc(s.queue, func(other *member) bool { return other == m })
}

// at looks at a file, and returns it if it has begun, for the first time or again.
func (s *series) at(name string, info fs.FileInfo) *member {
	m := s.known[name]
	if m == nil {
		return s.begun(name, info)
	}
	same := os.SameFile(m.info, info)
	if same && m.info.Size() == info.Size() && m.info.ModTime().Equal(info.ModTime()) {
		return nil
	}
	switch {
	case m.state == memberNone:
		return s.begun(name, info)
	case m.state == memberWaiting:
		now, err := peek(s.path(name), Config{})
		if same && err == nil && info.Size() >= m.info.Size() && (m.empty || !now.empty && now.first == m.first) {
			m.info, m.first, m.empty = info, now.first, now.empty
			return nil
		}
		s.unqueue(m)
		s.missed(m, "it was begun again before it was read")
		return s.begun(name, info)
	case m.head < 0: // it is read
		if same {
			return nil
		}
		return s.begun(name, info)
	case !same || info.Size() < m.size || !s.is(m):
		return s.begun(name, info)
	}
	if m.info = info; info.Size() > m.size {
		if !m.grown {
			s.log.Warn("a file goes on though a newer one is there, which is not read: follow files of several writers in directories of their own", "file", name)
			s.files.Grown++
		}
		m.grown, m.size = true, info.Size()
	}
	return nil
}

// begun takes note of a file, and returns it if it is a capture.
func (s *series) begun(name string, info fs.FileInfo) *member {
	const magic = 4
	last := s.known[name]
	m := &member{name: name, info: info, head: -1}
	s.known[name] = m
	if info.Size() < magic {
		return nil
	}
	in, err := peek(s.path(name), Config{})
	why := ""
	switch d := in.known.Damage; {
	case err != nil:
		why = err.Error()
	case in.known.Compression != Plain:
		why = "it is compressed"
	case d != nil && d.NotCapture:
		why = d.Reason
	case in.known.Format == FormatERF:
		why = "it is an ERF capture"
	}
	if why != "" {
		if last == nil || last.state != memberNone {
			s.log.Info("a file is left out", "file", name, "reason", why)
		}
		return nil
	}
	m.state, m.first, m.empty = memberWaiting, in.first, in.empty
	return m
}

// next is the next file, nil where there is none.
func (s *series) next() *member {
	for len(s.queue) > 0 {
		m := s.queue[0]
		info, err := os.Stat(s.path(m.name))
		if err != nil {
			s.unqueue(m)
			s.missed(m, "it was deleted before it was read")
			continue
		}
		if again := s.at(m.name, info); again != nil {
			s.add([]*member{again})
			continue
		}
		s.unqueue(m)
		m.state = memberRead
		return m
	}
	return nil
}

func (s *series) missed(m *member, why string) {
	s.files.Missed++
	s.log.Warn("a file is lost", "file", m.name, "reason", why)
}

// finish takes note that a file was read, or begun again meanwhile.
func (s *series) finish(m *member, t *tail, again bool) {
	m.size = t.pos + int64(len(t.buf)-t.at)
	m.head, m.sum = len(t.head), maphash.Bytes(s.seed, t.head)
	if again {
		m.size = math.MaxInt64
	}
	if info, err := t.file.Stat(); err == nil && info.Size() == m.size {
		m.info = info
	}
}

// is says whether a file that was read begins as it did.
func (s *series) is(m *member) bool {
	f, err := openFollowed(s.path(m.name), false)
	if err != nil {
		return true // it is asked again when it has changed
	}
	defer f.Close()
	var head [headBytes]byte
	n, err := io.ReadFull(f, head[:m.head])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return true
	}
	return maphash.Bytes(s.seed, head[:n]) == m.sum
}

// compareNatural compares names with numbers in them by those.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := number(a), number(b)
		if x != "" && y != "" {
			s, t := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Or(cmp.Compare(len(s), len(t)), cmp.Compare(s, t)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// number are the digits that a name begins with.
func number(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
