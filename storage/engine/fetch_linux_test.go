package engine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFetch runs fetch.sh with an npm that hands out a small package: it is
// fetched once, and nothing with a wrong checksum is kept.
func TestFetch(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("there is no package for " + runtime.GOARCH)
	}
	library := []byte("a library")
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, name := range []string{"package/package.json", "package/libchdb.so"} {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: int64(len(library))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(library); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tgz := write("package.tgz", b.String(), 0o644)
	calls := filepath.Join(work, "calls")
	write("npm", `#!/bin/sh
echo "$*" >> '`+calls+`'
case $1 in
pack) cp '`+tgz+`' some-name-1.tgz ;;
view) [ -z "$SILENT" ] || exec sleep 60 ;;
*) exit 1 ;;
esac
`, 0o755)
	pins := func(name, tarSum, libSum string) string {
		return write(name, fmt.Sprintf("PACKAGE=@some/name\nVERSION=1\nTARBALL_SHA512=%s\nLIBRARY_SHA256=%s\nLIBRARY_BYTES=%d\n", tarSum, libSum, len(library)), 0o644)
	}
	tarSum, libSum := fmt.Sprintf("%x", sha512.Sum512(b.Bytes())), fmt.Sprintf("%x", sha256.Sum256(library))
	good := pins("good", tarSum, libSum)
	fetch := func(pin string, env ...string) (string, error) {
		cmd := osexec.Command("bash", "fetch.sh")
		cmd.Env = append(os.Environ(), "PIN_FILE="+pin, "XDG_CACHE_HOME="+filepath.Join(work, "cache"), "ROCELENS_CHDB=",
			"PATH="+work+":"+os.Getenv("PATH"))
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	cached := filepath.Join(work, "cache", "rocelens", "chdb-1", "libchdb.so")

	if out, err := fetch(good, "SILENT=yes", "PATIENCE=1"); err == nil || !strings.HasPrefix(out, "engine: fetching @some/name@1") || !strings.Contains(out, "did not answer within 1 s") {
		t.Errorf("a registry that is silent: %v %s", err, out)
	}
	for _, bad := range [][2]string{
		{"package", pins("bad1", strings.Repeat("0", 128), libSum)}, {"library", pins("bad2", tarSum, strings.Repeat("0", 64))},
	} {
		name := bad[0]
		out, err := fetch(bad[1])
		if err == nil || !strings.Contains(out, "wrong checksum and was deleted") {
			t.Errorf("a wrong %s: %v %s", name, err, out)
		}
		if _, err := os.Stat(cached); err == nil {
			t.Errorf("a wrong %s was kept", name)
		}
	}
	for range 2 {
		if out, err := fetch(good); err != nil || !strings.Contains(out, cached+" is there") {
			t.Fatalf("%v %s", err, out)
		}
	}
	if got, err := os.ReadFile(cached); err != nil || !bytes.Equal(got, library) {
		t.Errorf("%q %v", got, err)
	}
	text, _ := os.ReadFile(calls)
	// Once for the wrong package, and once for what was then in the cache.
	if n := strings.Count(string(text), "pack --silent @some/name@1\n"); n != 2 {
		t.Errorf("npm was called so: %s", text)
	}
	if err := os.Truncate(cached, 3); err != nil {
		t.Fatal(err)
	}
	if out, err := fetch(good); err != nil || strings.Count(out, "unpacking") != 1 {
		t.Errorf("a damaged library: %v %s", err, out)
	}
}
