package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func checkSystem() error { return nil }

// noExec says whether the files of a file system can't be run, as those of the
// directories that a service may write.
func noExec(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0
}

// orphanPatience is how long a ClickHouse may take to be gone whose parent is.
const orphanPatience = 10 * time.Second

// lockDir locks the directory for this process. The file is handed to the
// ClickHouse that is started, so the lock is held until both have ended.
func lockDir(ctx context.Context, dir, owner string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(orphanPatience)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("%s can't be locked: %w", f.Name(), err)
		}
		pid, name := readOwner(f)
		if alive := pid != 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH); alive || time.Now().After(end) {
			f.Close()
			return nil, &InUseError{Dir: dir, PID: pid, Name: name}
		}
		select { // its ClickHouse is about to end
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
	if err := writeOwner(f, os.Getpid(), owner); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// setProcess lets a process end with the thread that starts it, and keeps the
// signals of a terminal from it: a Ctrl-C is for us, who then stop it.
func setProcess(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// describeStop says how a process ended.
func describeStop(err error) (what string) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "ended"
	case errors.As(err, &exit):
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return fmt.Sprintf("was ended by signal %d (%v)", s.Signal(), s.Signal())
		}
		return fmt.Sprintf("ended with exit code %d", exit.ExitCode())
	}
	return "failed: " + err.Error()
}

func isAddrInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// becomeClickHouse turns this process into a ClickHouse. It returns when that
// ends.
func becomeClickHouse(library, config string, native bool) error {
	runtime.LockOSThread()
	var pipe unix.Stat_t
	if err := unix.Fstat(guardFD, &pipe); err != nil || pipe.Mode&unix.S_IFMT != unix.S_IFIFO {
		return errors.New("this is for rocelens itself to call; see rocelens store serve --help")
	}
	// The kernel kills us with our parent, but not if the program's file has
	// capabilities. The end of the pipe comes in any case.
	guard := os.NewFile(guardFD, "guard")
	go func() {
		_, _ = io.Copy(io.Discard, guard)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}()
	signal.Ignore(syscall.SIGPIPE)
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil { // half a gigabyte and more, with passwords
		return err
	}
	return runLibrary(library, libraryArgs(config, native))
}
