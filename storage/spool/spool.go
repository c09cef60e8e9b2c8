// Package spool keeps batches of rows on disk while the store can't take them,
// and gives them back in the order in which they came. What it has said it
// keeps is still there after the program was killed or the machine lost power.
// It also remembers how many rows of each table could not be kept, until that
// was written to the store.
package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Batch is some rows of one table, encoded.
type Batch struct {
	Table string
	Token string // by which the store knows a batch that it has already
	Rows  int
	Data  []byte
}

// Config says where a spool is, and how much it may keep.
type Config struct {
	Path string // a file; its directory must exist
	// MaxBytes bounds the file. About three quarters of it can be filled: to take
	// a batch out needs room as well, and rooms differ in size.
	MaxBytes int64
}

const (
	// minBytes is the least Config.MaxBytes.
	minBytes = 16 << 20
	// growth is in what steps the file grows, at most.
	growth = 256 << 10
	// spare is what no batch may take of the file: to take one out, and to count
	// what is dropped, needs pages as well.
	spare = 2 << 20
	// piece is into what data is cut: a larger one would need room in one piece.
	piece = 16 << 10
)

// What Put returns where a batch can't be kept. The file is as it was.
var (
	ErrFull     = errors.New("the spool is full")
	ErrDiskFull = errors.New("the disk of the spool is full")
)

// lockWait is how long another program may take to let go of the file.
const lockWait = time.Second

// Spool is open. All its methods may be called from several goroutines.
type Spool struct {
	db  *bbolt.DB
	cfg Config
	max int64 // bytes of pages that batches may take

	mu    sync.Mutex
	used  int64
	count int
	rows  uint64
	gone  map[uint64]head // removed, though not from the file, which could not be written
	ended error           // the file was damaged while it was open
}

// The buckets: what each batch is, by its sequence number; its data, by that and
// the number of the piece; and how many rows were dropped, by table.
var (
	heads   = []byte("heads")
	bodies  = []byte("bodies")
	dropped = []byte("dropped")
)

// head is what is known of a batch besides its data.
type head struct {
	Table string    `json:"table"`
	Token string    `json:"token"`
	Rows  int       `json:"rows"`
	Bytes int       `json:"bytes"`
	Sum   uint32    `json:"crc32c"`
	Added time.Time `json:"added"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is a checksum of all of a batch.
func (b *Batch) sum() uint32 {
	s := crc32.Checksum(b.Data, castagnoli)
	return crc32.Update(s, castagnoli, fmt.Appendf(nil, "%q %q %d", b.Table, b.Token, b.Rows))
}

// Check says what is wrong with a configuration, as far as that can be said without
// opening the spool.
func (c *Config) Check() error {
	if c.MaxBytes < minBytes {
		return fmt.Errorf("a spool of %d bytes is too small: at least %d", c.MaxBytes, minBytes)
	}
	return mayBeSpool(c.Path)
}

// Open opens a spool, and makes one where there is none. A file that is damaged
// is renamed and a new one begun: what it held is for a person to look at, and a
// warning says so.
func Open(cfg Config, log *slog.Logger) (*Spool, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	s, err := open(cfg)
	var broken *damaged
	if !errors.As(err, &broken) {
		return s, err
	}
	aside := fmt.Sprintf("%s.damaged-%s", cfg.Path, time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(cfg.Path, aside); err != nil {
		return nil, fmt.Errorf("the spool %s is damaged (%w), and can't be renamed: %w", cfg.Path, broken.why, err)
	}
	log.Warn("the spool is damaged; what it held was not sent, and a new one is begun", "error", broken.why, "kept_as", aside)
	return open(cfg)
}

// mayBeSpool refuses a file that was never one: it is somebody's, and not to be
// renamed. bbolt has two pages that say what all others are, and a mark in each.
func mayBeSpool(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the spool: %w", err)
	}
	defer f.Close()
	const mark, at = 0xed0cdaed, 16
	var b [4]byte
	for _, page := range []int{0, os.Getpagesize()} {
		n, err := f.ReadAt(b[:], int64(page+at))
		if page == 0 && n == 0 && errors.Is(err, io.EOF) {
			if info, e := f.Stat(); e == nil && info.Size() == 0 {
				return nil // empty: it becomes one
			}
		}
		if n == len(b) && binary.NativeEndian.Uint32(b[:]) == mark {
			return nil
		}
	}
	return fmt.Errorf("%s is no spool: name another file, or move it away", path)
}

// damaged says that a file is no spool, or not a whole one.
type damaged struct {
	why   error
	fault bool // found out in the middle of something
}

func (d *damaged) Error() string { return fmt.Sprintf("the spool is damaged: %v", d.why) }
func (d *damaged) Unwrap() error { return d.why }

func open(cfg Config) (*Spool, error) {
	s := &Spool{cfg: cfg, max: cfg.MaxBytes / 4 * 3, gone: make(map[uint64]head)}
	err := guard(func() error {
		var err error
		s.db, err = bbolt.Open(cfg.Path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
		if err == nil {
			s.db.AllocSize = growth
		}
		return err
	})
	var broken *damaged
	var errno syscall.Errno
	switch {
	case err == nil:
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("the spool %s is in use by %s: name another, or stop that", cfg.Path, holder(cfg.Path))
	case errors.As(err, &broken):
		return nil, err
	case errors.As(err, &errno): // the system's
		return nil, fmt.Errorf("opening the spool: %w", err)
	default:
		return nil, &damaged{why: err}
	}
	if err := s.load(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// load makes the buckets and counts what is there.
func (s *Spool) load() error {
	err := s.do(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			file, err := os.Stat(s.cfg.Path)
			if err != nil {
				return err
			}
			if file.Size() < tx.Size() {
				return &damaged{why: fmt.Errorf("%d bytes of %d are there", file.Size(), tx.Size())}
			}
			b := tx.Bucket(heads)
			if b == nil {
				return nil
			}
			return b.ForEach(func(k, v []byte) error {
				var h head
				if err := json.Unmarshal(v, &h); err != nil || len(k) != 8 || h.Rows < 0 || h.Bytes < 0 {
					return &damaged{why: fmt.Errorf("batch %x is not described", k)}
				}
				s.add(&h)
				return nil
			})
		})
	})
	if err != nil {
		return err
	}
	return s.update(0, func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{heads, bodies, dropped} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Spool) add(h *head) {
	s.count++
	s.rows += uint64(h.Rows)
	s.used += s.pages(h.Bytes)
}

// pages is about how many bytes of the file a batch takes.
func (s *Spool) pages(bytes int) int64 {
	page := int64(s.db.Info().PageSize)
	return (int64(bytes)/page + 2) * page // the last one is rarely full
}

// guard runs f, and turns into an error that the file is not what it was when
// it was opened: it is mapped, and whoever cuts it takes memory away from under
// us.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &damaged{fmt.Errorf("%v", r), true}
		}
	}()
	return f()
}

// do runs f on the file, but not once it was found to be damaged: what f then
// waits for may never come.
func (s *Spool) do(f func() error) error {
	if s.ended != nil {
		return s.ended
	}
	err := guard(f)
	var broken *damaged
	if errors.As(err, &broken) && broken.fault {
		s.ended = err
	}
	return err
}

// update changes the file, which stays below its bound by so much, and returns an
// error of this package where the reason is one of its own.
func (s *Spool) update(below int64, f func(tx *bbolt.Tx) error) error {
	s.db.MaxSize = int(s.cfg.MaxBytes - below)
	err := s.do(func() error { return s.db.Update(f) })
	switch {
	case errors.Is(err, bolterrors.ErrMaxSizeReached):
		return ErrFull
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// Put keeps a batch behind all others. When it returns nil, the batch is on
// disk. Dropped rows that it tells the store of are forgotten.
func (s *Spool) Put(b Batch, tells map[string]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := head{b.Table, b.Token, b.Rows, len(b.Data), b.sum(), time.Now().UTC()}
	if s.used+s.pages(h.Bytes) > s.max {
		return ErrFull
	}
	described, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	err = s.update(spare, func(tx *bbolt.Tx) error {
		seq, err := tx.Bucket(heads).NextSequence()
		if err != nil {
			return err
		}
		if err := tx.Bucket(heads).Put(key(seq), described); err != nil {
			return err
		}
		body := tx.Bucket(bodies)
		body.FillPercent = 1 // they are only appended
		i := uint32(0)
		for part := range slices.Chunk(b.Data, piece) {
			if err := body.Put(binary.BigEndian.AppendUint32(key(seq), i), part); err != nil {
				return err
			}
			i++
		}
		for table, n := range tells {
			if err := addDropped(tx, table, -int64(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.add(&h)
	}
	return err
}

// After returns the oldest batch with a greater number than the one given, and
// its number, by which to remove it. Without one ok is false. A batch that is
// damaged comes with a DamagedError.
func (s *Spool) After(number uint64) (b Batch, found uint64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h head
	err = s.do(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			c := tx.Bucket(heads).Cursor()
			k, v := c.Seek(key(number + 1))
			for ; k != nil; k, v = c.Next() {
				if _, gone := s.gone[binary.BigEndian.Uint64(k)]; !gone {
					break
				}
			}
			if k == nil {
				return nil
			}
			ok, found = true, binary.BigEndian.Uint64(k)
			if err := json.Unmarshal(v, &h); err != nil {
				return &damaged{why: err}
			}
			b = Batch{Table: h.Table, Token: h.Token, Rows: h.Rows}
			c = tx.Bucket(bodies).Cursor()
			for at, part := c.Seek(k); bytes.HasPrefix(at, k); at, part = c.Next() {
				b.Data = append(b.Data, part...)
			}
			return nil
		})
	})
	if err == nil && ok && b.sum() != h.Sum {
		err = &DamagedError{Table: b.Table, Rows: b.Rows}
	}
	return b, found, ok, err
}

// DamagedError says that a batch is not what was put. The batch can
// be removed.
type DamagedError struct {
	Table string
	Rows  int
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%d rows of %s are damaged in the spool", e.Rows, e.Table)
}

// Remove takes a batch out. Where the file can't be written, as with a full
// disk, the error says so, and the batch is not returned again until the spool
// is opened anew: then the store has to know it by its token.
func (s *Spool) Remove(number uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, gone := s.gone[number]; gone {
		return nil
	}
	var h head
	there := false
	err := s.do(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			v := tx.Bucket(heads).Get(key(number))
			if there = v != nil; !there {
				return nil
			}
			if err := json.Unmarshal(v, &h); err != nil {
				return &damaged{why: err}
			}
			return nil
		})
	})
	if err != nil || !there {
		return err
	}
	s.gone[number] = h
	err = s.update(0, func(tx *bbolt.Tx) error {
		for n := range s.gone { // with those that could not be removed before
			if err := tx.Bucket(heads).Delete(key(n)); err != nil {
				return err
			}
			c := tx.Bucket(bodies).Cursor()
			for at, _ := c.Seek(key(n)); bytes.HasPrefix(at, key(n)); at, _ = c.Seek(key(n)) {
				if err := c.Delete(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, h := range s.gone {
		s.count--
		s.rows -= uint64(h.Rows)
		s.used -= s.pages(h.Bytes)
	}
	clear(s.gone)
	return nil
}

// Size is what the spool holds.
type Size struct {
	Batches int
	Rows    uint64
	Bytes   int64 // of the file's pages, that they take
	Max     int64 // how many bytes it takes: three quarters of Config.MaxBytes
}

// Size returns what the spool holds, without what was removed.
func (s *Spool) Size() Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := Size{s.count - len(s.gone), s.rows, s.used, s.max}
	for _, h := range s.gone {
		size.Rows -= uint64(h.Rows)
		size.Bytes -= s.pages(h.Bytes)
	}
	return size
}

// Drop remembers that so many rows of a table were not kept.
func (s *Spool) Drop(table string, rows uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.update(0, func(tx *bbolt.Tx) error { return addDropped(tx, table, int64(rows)) })
}

// addDropped adds n, which may be less than 0, to the dropped rows of a table.
func addDropped(tx *bbolt.Tx, table string, n int64) error {
	b := tx.Bucket(dropped)
	sum := n
	if v := b.Get([]byte(table)); len(v) == 8 {
		sum += int64(binary.BigEndian.Uint64(v))
	}
	if sum <= 0 {
		return b.Delete([]byte(table))
	}
	return b.Put([]byte(table), key(uint64(sum)))
}

// Dropped is how many rows were not kept, and are told of by no batch, by table.
func (s *Spool) Dropped() (map[string]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]uint64)
	err := s.do(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			return tx.Bucket(dropped).ForEach(func(k, v []byte) error {
				if len(v) == 8 {
					all[string(k)] = binary.BigEndian.Uint64(v)
				}
				return nil
			})
		})
	})
	return all, err
}

// Close lets go of the file. One that was damaged is let go of when the program
// ends.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do(s.db.Close)
}
