package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MapPolicy says which files are mapped into memory rather than read.
type MapPolicy uint8

// The policies.
const (
	// MapAuto maps plain files of at least a MiB that nobody writes to.
	MapAuto MapPolicy = iota
	// MapNever reads all files.
	MapNever
	// MapAlways maps every plain file that is not empty, written to or not:
	// it is for tests and measurements.
	MapAlways
)

// mapFrom is the size from which on mapping a file is cheaper than reading it.
const mapFrom = 1 << 20

// stdinPath names standard input.
const stdinPath = "-"

// Config says how inputs are opened.
type Config struct {
	// Stdin is what the path - reads. It is not closed.
	Stdin io.Reader
	Map   MapPolicy
	// Context interrupts waiting for pipes and terminals when it ends; nil
	// waits for ever. Reading then gives ErrInterrupted.
	Context context.Context
	// Skipped is told of each entry of a directory that is left out, and why.
	// nil tells nobody.
	Skipped func(path, why string)
}

// DefaultConfig reads the process's standard input for -, and maps what can be
// mapped.
func DefaultConfig() Config { return Config{Stdin: os.Stdin} }

// Open opens one capture file, or standard input for the path -. What the input
// is is told by its content. An error is one of the environment: no such file,
// no permission, a directory (see OpenAll). An input that is no capture, or
// whose header is damaged, opens; its Damage says so, and ReadBatch returns it.
func Open(path string, cfg Config) (*File, error) {
	if path == stdinPath {
		return openStdin(cfg)
	}
	// Before opening, because opening a directory works and a pipe waits.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("is a directory")}
	}
	open := os.Open
	if !info.Mode().IsRegular() {
		open = func(path string) (*os.File, error) { return openWaiting(cfg.Context, path) }
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		_ = file.Close() // the first error counts
		return nil, err
	}
	f := &File{in: Input{Path: path}, name: path, file: file}
	if info.Mode().IsRegular() {
		f.in.Size = info.Size()
	} else {
		f.live = true
	}
	f.start(newInterruptible(cfg.Context, file))
	if f.mappable(cfg.Map) && (cfg.Map == MapAlways || finished(file, info)) {
		if m, err := mapFile(file, f.in.Size); err == nil { // else it is read
			f.mapped, f.tail = m, nil
		}
	}
	return f, nil
}

func openStdin(cfg Config) (*File, error) {
	if cfg.Stdin == nil {
		return nil, errors.New("there is no standard input to read: name a file instead of -")
	}
	f := &File{in: Input{Path: stdinPath}, name: "standard input", live: true}
	if file, ok := cfg.Stdin.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			f.live = false
			f.in.Size = info.Size()
		}
	}
	f.start(newInterruptible(cfg.Context, cfg.Stdin))
	return f, nil
}

// start tells what the input is and sets the parser up. Only what must be seen
// for that is read, because more may take its time.
func (f *File) start(r io.Reader) {
	f.stored = &counter{r: r}
	f.r = f.stored
	f.fill(4)
	if len(f.tail) == 0 {
		f.refuse("the input is empty")
		return
	}
	if c := compressionOf(f.tail); c != Plain {
		if !f.startDecompressing(c) {
			return
		}
	}
	f.seekable = f.file != nil && !f.live && f.in.Compression == Plain
	header, reason := f.tellFormat()
	if reason != "" {
		f.refuse(reason)
		return
	}
	f.tail = f.tail[header:]
	f.pos = int64(header)
}

func (f *File) startDecompressing(c Compression) bool {
	f.in.Compression = c
	if f.readErr != nil {
		f.refuse("")
		return false
	}
	out, closer, err := decompress(&replay{head: f.tail, r: f.r}, c)
	f.tail, f.ended = nil, false
	if err != nil {
		f.readErr = err
		f.refuse("")
		return false
	}
	f.r, f.closer = out, closer
	f.fill(4)
	if len(f.tail) == 0 {
		f.refuse("the " + c.String() + " stream is empty")
		return false
	}
	return true
}

// refuse ends an input before its first frame. If reading failed, that is why.
func (f *File) refuse(reason string) {
	if f.readErr != nil {
		reason = brokenStream(f.in.Compression, f.readErr)
	}
	f.damage(0, reason, f.readErr)
	f.release()
}

// fill reads until the tail holds n bytes or the input ends.
func (f *File) fill(n int) {
	for len(f.tail) < n && !f.ended {
		if cap(f.tail)-len(f.tail) < n {
			f.tail = append(make([]byte, 0, len(f.tail)+2*n), f.tail...)
		}
		got := f.readSome(f.tail[len(f.tail):n])
		f.tail = f.tail[:len(f.tail)+got]
	}
}

// tellFormat sets the format and the parser by the first bytes. It returns how
// many of them are the file's header, or why there is nothing to read.
func (f *File) tellFormat() (header int, reason string) {
	if len(f.tail) >= 4 {
		if order32(f.tail, false) == blockSection {
			f.in.Format, f.parser = FormatPcapNG, newNGParser()
			return 0, ""
		}
		if p := newPcapParser(f.tail); p != nil {
			f.in.Format = FormatPcap
			f.fill(p.header)
			if len(f.tail) < p.header {
				return 0, fmt.Sprintf("the file ends in its header, after %d of %d bytes", len(f.tail), p.header)
			}
			if reason := p.parseHeader(f.tail); reason != "" {
				return 0, reason
			}
			f.parser = p
			return p.header, ""
		}
	}
	for {
		switch probeERF(f.tail, f.ended) {
		case yes:
			f.in.Format, f.parser = FormatERF, &erfParser{}
			return 0, ""
		case maybe:
			if len(f.tail) < sniffWindow {
				f.fill(min(max(2*len(f.tail), 512), sniffWindow))
				continue
			}
			f.in.Format, f.parser = FormatERF, &erfParser{}
			return 0, ""
		}
		f.fill(512) // to name what it is
		return 0, unknownFormat(f.tail, f.in.Compression)
	}
}

// mappable says whether the file is one that mapping can serve at all.
func (f *File) mappable(policy MapPolicy) bool {
	return f.err == nil && f.in.Compression == Plain && !f.live && policy != MapNever &&
		(policy == MapAlways || f.in.Size >= mapFrom) && f.in.Size >= f.pos+int64(len(f.tail))
}

// replay puts bytes back before the rest of a stream. Unlike io.MultiReader it
// never reads more than it is asked for.
type replay struct {
	head []byte
	r    io.Reader
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.head) == 0 {
		return r.r.Read(p)
	}
	n := copy(p, r.head)
	r.head = r.head[n:]
	return n, nil
}
