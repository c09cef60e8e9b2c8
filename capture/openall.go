package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OpenAll opens the inputs that paths name and merges them by time. A directory
// stands for the capture files in it, told by content, in the order of their
// first frames; it is not descended into. A single file is returned as it is,
// as *File.
//
// An error is one of the environment. An input that is no capture, or is
// damaged, does not keep the others from being read: its Input says what is
// wrong with it.
func OpenAll(paths []string, cfg Config) (Source, error) {
	if len(paths) == 0 {
		return nil, errors.New("no input: name a capture file, a directory of them, or - for standard input")
	}
	var inputs []mergeInput
	fail := func(err error) (Source, error) {
		for i := range inputs {
			if inputs[i].file != nil {
				_ = inputs[i].file.Close() // the first error counts
			}
		}
		return nil, err
	}
	stdin := false
	var named []os.FileInfo
	for _, path := range paths {
		if path == stdinPath {
			if stdin {
				return fail(errors.New("standard input (-) can be named only once"))
			}
			stdin = true
			if len(paths) == 1 {
				return asSource(Open(path, cfg))
			}
			f, err := Open(path, cfg)
			if err != nil {
				return fail(err)
			}
			inputs = append(inputs, mergeInput{path: path, file: f})
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return fail(err)
		}
		for i, other := range named {
			if os.SameFile(info, other) {
				return fail(fmt.Errorf("%s and %s are the same: each input is read once", PathText(paths[i]), PathText(path)))
			}
		}
		named = append(named, info)
		if info.IsDir() {
			found, err := scan(path, cfg)
			if err != nil {
				return fail(err)
			}
			inputs = append(inputs, found...)
			continue
		}
		if len(paths) == 1 {
			return asSource(Open(path, cfg))
		}
		var in mergeInput
		if info.Mode().IsRegular() {
			in, err = peek(path, cfg)
		} else { // a pipe can't be opened twice
			in.path = path
			in.file, err = Open(path, cfg)
		}
		if err != nil {
			return fail(err)
		}
		inputs = append(inputs, in)
	}
	if len(inputs) == 1 && inputs[0].file == nil {
		return asSource(Open(inputs[0].path, cfg))
	}
	return newMerge(inputs, cfg), nil
}

// asSource keeps a nil *File from becoming a Source that is not nil.
func asSource(f *File, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// scan is the capture files of a directory, the earliest first.
func scan(dir string, cfg Config) ([]mergeInput, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []mergeInput
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(path) // what a link points to
		switch {
		case errors.Is(err, os.ErrNotExist):
			cfg.skipped(path, "a link that leads nowhere")
			continue
		case err != nil:
			found = append(found, unreadable(path, err))
			continue
		case !info.Mode().IsRegular():
			cfg.skipped(path, "not a regular file")
			continue
		}
		in, err := peek(path, cfg)
		if err != nil {
			in = unreadable(path, err)
		}
		if in.known.Damage != nil && in.known.Damage.NotCapture && !namedCapture(entry.Name()) {
			cfg.skipped(path, in.known.Damage.Reason)
			continue
		}
		found = append(found, in)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no pcap, pcapng or ERF file in this directory (of %d entries; those below it are not looked at)",
			dir, len(entries))
	}
	slices.SortStableFunc(found, func(a, b mergeInput) int {
		if a.empty != b.empty { // what has no frame has no time either
			if a.empty {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.first, b.first)
	})
	return found, nil
}

// skipped tells whom it concerns that an entry of a directory is left out.
func (cfg *Config) skipped(path, why string) {
	if cfg.Skipped != nil {
		cfg.Skipped(path, why)
	}
}

// unreadable is a file of a directory that can't be opened: the others are
// read all the same.
func unreadable(path string, err error) mergeInput {
	var in *fs.PathError
	if errors.As(err, &in) {
		err = in.Err
	}
	return mergeInput{path: path, empty: true, known: Input{Path: path, Damage: &DamagedError{
		Path: path, NotCapture: true, Reason: "can't be opened: " + err.Error(), cause: err,
	}}}
}

// namedCapture says whether a file has the name of a capture, so that it is
// expected to be one.
func namedCapture(name string) bool {
	name = strings.ToLower(name)
	for _, ext := range []string{".gz", ".zst", ".xz", ".bz2", ".lz4"} {
		name = strings.TrimSuffix(name, ext)
	}
	switch filepath.Ext(name) {
	case ".pcap", ".pcapng", ".cap", ".dmp", ".erf":
		return true
	}
	return false
}

// peek reads a file up to its first frame, and closes it again.
func peek(path string, cfg Config) (mergeInput, error) {
	cfg.Map = MapNever
	f, err := Open(path, cfg)
	if err != nil {
		return mergeInput{}, err
	}
	in := mergeInput{path: path}
	var b Batch
	if err := f.read(&b, 1); err == nil {
		in.first = b.Frames[0].Time
	} else {
		in.empty = true
	}
	if err := f.Close(); err != nil && !errors.Is(err, io.EOF) {
		return mergeInput{}, err
	}
	in.known = f.Inputs()[0]
	if !in.empty {
		// It is read again from the start, and to the end.
		in.known.Frames, in.known.Bytes, in.known.Pos = 0, 0, 0
	}
	return in, nil
}
