//go:build !linux

package capture

import (
	"errors"
	"io/fs"
	"os"
)

// mapping is not used where there is no telling whether a file is finished:
// files are read.
type mapping struct {
	data []byte
}

func finished(*os.File, fs.FileInfo) bool { return false }

func mapFile(*os.File, int64) (*mapping, error) { return nil, errors.ErrUnsupported }

func (*mapping) unmap() error                 { return nil }
func (*mapping) drop(_, to int64) int64       { return to }
func (*mapping) offset(uintptr) (int64, bool) { return 0, false }
func fileSize(*os.File) (size int64, ok bool) { return 0, false }
