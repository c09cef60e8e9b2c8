package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ours are the files that the recorder made, here or in an earlier run. In the order
// of their names they are in that of time.
var ours = regexp.MustCompile(`^rocelens-\d{8}T\d{6}\.\d{9}Z-[a-z0-9-]+\.pcapng(\.part)?$`)

// part is what the name of a file ends with while it is written.
const part = ".part"

// disk is the directory of recordings, and how much may be in it.
type disk struct {
	dir  string
	max  int64
	lock *os.File // nil where there are no locks
}

// openDisk makes the directory, and takes away what was begun and never ended.
func openDisk(dir string, most int64) (_ *disk, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the directory of recordings: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".rocelens-*")
	if err != nil {
		return nil, fmt.Errorf("the directory of recordings: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("the directory of recordings: %w", err)
	}
	d := &disk{dir: dir, max: most}
	if d.lock, err = lock(dir); err != nil {
		return nil, fmt.Errorf("the directory of recordings: %w", err)
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if strings.HasSuffix(f.name, part) {
			if err := os.Remove(filepath.Join(dir, f.name)); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// close lets others record to the directory.
func (d *disk) close() {
	if d.lock != nil {
		_ = d.lock.Close() // nothing was written to it
	}
}

type file struct {
	name string
	size int64
}

// files are the recordings, the oldest first.
func (d *disk) files() ([]file, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	var list []file
	for _, e := range entries {
		if !ours.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody took it away
		}
		if err != nil {
			return nil, err
		}
		list = append(list, file{e.Name(), info.Size()})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// used is how many bytes the recordings take.
func (d *disk) used() (n int64, err error) {
	list, err := d.files()
	for _, f := range list {
		n += f.size
	}
	return n, err
}

// recording is a pcapng file that is being written. Where the budget is used up the
// oldest others go, and where there are none it ends with the last block that fits,
// which is an error.
type recording struct {
	*disk
	file    *os.File
	others  []file
	total   int64 // of all
	frames  uint64
	deleted uint64
}

var errBudget = errors.New("the space for recordings is used up by this one")

func nameOf(at int64, code string) string {
	return "rocelens-" + time.Unix(0, at).UTC().Format("20060102T150405.000000000Z") + "-" + code + ".pcapng"
}

// create begins a file about a time, in ns, and a kind of finding.
func (d *disk) create(at int64, code string) (*recording, error) {
	others, err := d.files()
	if err != nil {
		return nil, err
	}
	name := nameOf(at, code)
	for slices.ContainsFunc(others, func(o file) bool { return o.name == name }) {
		at++
		name = nameOf(at, code)
	}
	f, err := os.OpenFile(filepath.Join(d.dir, name+part), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	r := &recording{disk: d, file: f, others: others}
	for _, o := range others {
		r.total += o.size
	}
	return r, nil
}

// Write writes whole blocks, as capture.Writer hands them on.
func (r *recording) Write(b []byte) (int, error) {
	for r.total+int64(len(b)) > r.max && len(r.others) > 0 {
		oldest := r.others[0]
		if err := os.Remove(filepath.Join(r.dir, oldest.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		r.others = r.others[1:]
		r.total -= oldest.size
		r.deleted++
	}
	fit, frames := fitting(b, r.max-r.total)
	n, err := r.file.Write(b[:fit])
	r.total += int64(n)
	if err == nil {
		r.frames += frames
		if fit < len(b) {
			err = errBudget
		}
	}
	return n, err
}

// fitting is how many bytes the first blocks of b take, as far as there is room for
// whole ones, and how many frames are in them. Each block begins with its type and its length
// (draft-ietf-opsawg-pcapng, section 3.1), little endian as capture.Writer has it.
func fitting(b []byte, room int64) (n int, frames uint64) {
	const enhancedPacket = 6
	for len(b)-n >= 8 {
		length := int(binary.LittleEndian.Uint32(b[n+4:]))
		if int64(n+length) > room {
			break
		}
		if binary.LittleEndian.Uint32(b[n:]) == enhancedPacket {
			frames++
		}
		n += length
	}
	return n, frames
}

// keep ends the file and gives it its name, and drop takes it away.
func (r *recording) keep() (path string, err error) {
	if err := r.file.Close(); err != nil {
		return "", errors.Join(err, os.Remove(r.file.Name()))
	}
	path = strings.TrimSuffix(r.file.Name(), part)
	return path, os.Rename(r.file.Name(), path)
}

func (r *recording) drop() error {
	return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
}
