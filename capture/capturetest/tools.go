package capturetest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Paths are all captures that there are: those with truth in both places, and
// others' captures of the large collection, which have none.
func Paths(tb testing.TB) []string {
	tb.Helper()
	var paths []string
	for _, c := range All(tb) {
		paths = append(paths, c.Path)
	}
	if dir, ok := Shared(tb); ok {
		public, err := filepath.Glob(filepath.Join(dir, "public", "*", "*.pcap*"))
		if err != nil {
			tb.Fatal(err)
		}
		paths = append(paths, public...)
	}
	return paths
}

// Need says that a test runs a program of others: without it the test fails in
// CI (CI=true) and is skipped elsewhere.
func Need(tb testing.TB, program string) {
	tb.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
}

// RunTshark runs tshark on a capture file, unpacked if it is zstd-compressed, with
// times in UTC and without resolving names, and returns what it prints. That it
// ends with an error is logged alone: it does at cut files, after what it read.
func RunTshark(tb testing.TB, path string, args ...string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		defer z.Close()
		in = z
	}
	cmd := exec.Command("tshark", append([]string{"-n", "-r", "-"}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stdin = in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Logf("tshark: %v: %s", err, stderr.Bytes())
	}
	return out
}
