//go:build unix

package recorder

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps a directory for one recorder at a time, which takes away what it finds
// begun, until the file that it returns is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("another one records to %s: name another directory, or stop that", dir)
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EBADF): // a file system without locks
		return f, nil
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
