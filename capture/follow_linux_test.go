package capture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFollowPipe: a named pipe may have no writer yet, one that writes slowly, and
// another one later.
func TestFollowPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	src := impatient(t, &said, path)
	var to *os.File
	step := func(write []byte, want string, files Followed) {
		t.Helper()
		if to == nil {
			var err error
			if to, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := to.Write(write); err != nil {
			t.Fatal(err)
		}
		if got := names(some(t, src)); got != want {
			t.Errorf("%q, want %q: %s", got, want, said.String())
		}
		followed(t, src, files)
	}
	ends := func() {
		t.Helper()
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		to = nil
		for deadline := time.Now().Add(20 * time.Second); src.Inputs()[0].Followed.Away != "nobody writes to it"; some(t, src) {
			if time.Now().After(deadline) {
				t.Fatalf("its end is not told: %+v", *src.Inputs()[0].Followed)
			}
		}
	}
	if got := some(t, src); len(got) != 0 {
		t.Errorf("%d frames", len(got))
	}
	content := seconds(1, 2)
	step(content[:30], "", Followed{Files: 1})
	step(content[30:70], "1", Followed{Files: 1})
	step(content[70:], "2", Followed{Files: 1})
	ends()
	step(seconds(3), "3", Followed{Files: 2})
	step(content[24:34], "", Followed{Files: 2})
	ends()
	step(seconds(4), "4", Followed{Files: 3, Cut: 1})
	step(make([]byte, 100), "", Followed{Files: 3, Cut: 2})
	step(seconds(5), "", Followed{Files: 3, Cut: 2})
	ends()
	step(seconds(6), "6", Followed{Files: 4, Cut: 2})
	if n := strings.Count(said.String(), "somebody writes to the pipe again"); n != 3 {
		t.Errorf("it says %d times that somebody writes again: %s", n, said.String())
	}
	ends() // and not before: the collector closes files that nobody uses any more
}

// TestFollowFileToPipe: a pipe in the place of a file, or a file in that of a pipe, is
// not read, and nobody waits for who would write to it.
func TestFollowFileToPipe(t *testing.T) {
	path := writeFile(t, "growing.pcap", seconds(1))
	src := impatient(t, io.Discard, path)
	if got := names(some(t, src)); got != "1" {
		t.Errorf("%q", got)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	some(t, src)
	followed(t, src, Followed{Files: 1, Away: "it is not a file any more"})
	src = impatient(t, io.Discard, path)
	some(t, src)
	to, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	some(t, src)
	_, err = to.Write(seconds(2))
	if err := errors.Join(err, to.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	add(t, path, seconds(3))
	if got := names(some(t, src)); got != "2" {
		t.Errorf("%q", got)
	}
	for deadline := time.Now().Add(20 * time.Second); src.Inputs()[0].Followed.Away != "it is not a pipe any more"; some(t, src) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", *src.Inputs()[0].Followed)
		}
	}
}
