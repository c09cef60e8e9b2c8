package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
)

// socketsEnv has the descriptors of the sockets that the program hands over to
// itself.
const socketsEnv = "ROCELENS_SOCKETS"

// GiveUpRights goes on without any capability, in all threads, and with sockets to
// capture from in cfg. A capability belongs to a thread, and Go can't take it from
// threads that it did not start itself, as with the linker's libc (see
// docs/adr/0015). So it opens the sockets, and has the program, with args, begin
// anew with them and without capabilities; there it finds the sockets, and returns.
// Where it is told to stop before, it returns context.Canceled.
func GiveUpRights(ctx context.Context, cfg *capture.LiveConfig, args []string) error {
	if list, ok := os.LookupEnv(socketsEnv); ok {
		if err := os.Unsetenv(socketsEnv); err != nil {
			return err
		}
		return takeOver(cfg, strings.Fields(list))
	}
	fds, err := capture.OpenSockets(*cfg)
	if err != nil {
		return err
	}
	err = beginAnew(ctx, fds, args)
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("giving up rights: %w", err)
}

// RightsGone says whether the program is the one that began anew, as long as its
// sockets were not taken.
func RightsGone() bool {
	_, gone := os.LookupEnv(socketsEnv)
	return gone
}

// takeOver takes the sockets, and sees to it that no right is left.
func takeOver(cfg *capture.LiveConfig, list []string) error {
	cfg.Sockets = make([]int, 0, len(list))
	for _, s := range list {
		fd, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%s: %q is no descriptor", socketsEnv, s)
		}
		if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_PACKET {
			return fmt.Errorf("%s: %d is no packet socket", socketsEnv, fd)
		}
		unix.CloseOnExec(fd)
		cfg.Sockets = append(cfg.Sockets, fd)
	}
	header, left := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capget(&header, &left[0]); err != nil {
		return fmt.Errorf("asking for capabilities: %w", err)
	}
	if left[0].Permitted|left[1].Permitted != 0 {
		return errors.New("the capabilities could not be given up: the kernel gave them back to the program")
	}
	return nil
}

// beginAnew returns only where it fails, or is told to stop.
func beginAnew(ctx context.Context, fds []int, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	list := make([]string, len(fds))
	for i, fd := range fds {
		list[i] = strconv.Itoa(fd)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil { // it outlives the program
			return err
		}
	}
	runtime.LockOSThread() // execve takes the rights of its thread, and ends the others
	// Neither the program's file nor being root gives any back.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	if err := endBySignal(ctx); err != nil {
		return err
	}
	return unix.Exec(self, args, append(os.Environ(), socketsEnv+"="+strings.Join(list, " ")))
}

// endBySignal returns context.Canceled if a signal to stop has come. If not, the
// next one ends the program by itself: one that is taken while the program begins
// anew is lost, and it would run on.
func endBySignal(ctx context.Context) error {
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, unix.SIGTERM)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		// signal.Reset would leave out what came and is on its way to the channel.
		var byDefault [4]uintptr // the kernel's struct sigaction: SIG_DFL, no flags, nothing blocked
		const setBytes = 8
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&byDefault)), 0, setBytes, 0, 0); errno != 0 {
			return fmt.Errorf("signals: %w", errno)
		}
	}
	signal.Stop(came) // and wait for what is on its way
	select {
	case <-came:
		return context.Canceled
	default:
		return ctx.Err()
	}
}
