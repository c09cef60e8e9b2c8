package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// file is one of an archive.
type file struct {
	name string // with slashes; no directory
	mode int64
	body []byte
}

// sorted has the files by name, each with the directories that it is in before it.
func sorted(files []file) (list []file, dirs map[string]bool) {
	dirs = make(map[string]bool)
	list = slices.Clone(files)
	for _, f := range files {
		for d := path.Dir(f.name); d != "." && !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
			list = append(list, file{name: d, mode: 0o755})
		}
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, dirs
}

// tarred is a tar archive, compressed with gzip, of files that are root's, with
// their names behind the prefix.
func tarred(prefix string, files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(gz)
	list, dirs := sorted(files)
	for _, f := range list {
		h := tar.Header{Name: prefix + f.name, Mode: f.mode, Size: int64(len(f.body)), ModTime: when, Uname: "root", Gname: "root", Typeflag: tar.TypeReg, Format: tar.FormatGNU}
		if dirs[f.name] {
			h.Name, h.Typeflag = h.Name+"/", tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = gz.Close()
	return b.Bytes(), err
}

// zipped is a zip archive, with names behind the prefix.
func zipped(prefix string, files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	list, dirs := sorted(files)
	for _, f := range list {
		if dirs[f.name] {
			continue // zip archives need none
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: prefix + f.name, Method: zip.Deflate, Modified: when})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := to.Write(f.body); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped is one file alone, without its name and time.
func gzipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// arred is an ar archive, which is what a Debian package is:
//
//	!<arch>\n, then for each file
//	name 16, seconds 12, uid 6, gid 6, mode in octal 8, size 10, `\n, the file, \n if its size is odd
//
// Source: ar(5), deb(5).
func arred(files []file, when time.Time) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, when.Unix(), 0, 0, fmt.Sprintf("10%04o", f.mode), len(f.body))
		b.Write(f.body)
		if len(f.body)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
