//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(path string) (data []byte, unmap func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	return data, func() { _ = unix.Munmap(data) }, err // at the latest the end of the process does it
}
