package disktest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts a small file system in memory for the time of a test, and returns
// its directory: options say how large it is ("size=8m"), and flags are those of
// mount(2). Who may not do that skips the test, but in CI it must run.
func Mount(t testing.TB, options string, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no disk of its own: %v", err)
		}
		t.Skipf("needs root: %v", err)
	}
	t.Cleanup(func() { // what still has a file open goes on, out of sight
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
