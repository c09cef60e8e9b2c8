package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/storage/engine"
)

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- this\n\n## [1.1.0] - 2026-01-01\n\n## [1.0.0] - 2025-01-01\n\n- first\n"
	for _, c := range []struct{ version, want, err string }{
		{"v1.2.0", "### Added\n\n- this\n", ""},
		{"v1.0.0", "- first\n", ""},
		{"v1.1.0", "", "says nothing of v1.1.0"},
		{"v1.3.0", "", "no section \"## [1.3.0]\""},
		{"v1.2.0-3-gabcdef0", "- first", "is no tag"},
		{"v1.2.0-dirty", "", "no section"},
		{"abcdef0", "", "is no tag"},
	} {
		got, err := notes(changelog, c.version)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.version, err, c.err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.version, got, err)
		}
	}
}

func TestDebVersion(t *testing.T) {
	capturetest.Need(t, "dpkg")
	// From the oldest to the newest.
	list := [][2]string{
		{"abcdef0", "0~git.abcdef0-1"},
		{"v1.2.0-rc.1", "1.2.0~rc.1-1"},
		{"v1.2.0", "1.2.0-1"},
		{"v1.2.0-3-gabcdef0", "1.2.0+3.abcdef0-1"},
		{"v1.2.0-11-gabcdef0-dirty", "1.2.0+11.abcdef0.dirty-1"},
		{"v1.2.1", "1.2.1-1"},
	}
	for i, v := range list {
		if got := debVersion(v[0]); got != v[1] {
			t.Errorf("%s is %s, want %s", v[0], got, v[1])
		}
		if i == 0 {
			continue
		}
		if out, err := exec.Command("dpkg", "--compare-versions", list[i-1][1], "lt", v[1]).CombinedOutput(); err != nil {
			t.Errorf("%s is not before %s: %v %s", list[i-1][1], v[1], err, out)
		}
	}
	if got := debVersion("devel"); got != "0~devel-1" {
		t.Error(got)
	}
}

func TestArchives(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	files := []file{{"b/c.txt", 0o644, []byte("c")}, {"a", 0o755, []byte("program")}, {"b.txt", 0o644, nil}}
	got, err := tarred("top/", files, when)
	if err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil || !h.ModTime.Equal(when) || h.Uid != 0 || h.Uname != "root" {
			t.Errorf("%+v %v", h, err)
		}
		list = append(list, h.FileInfo().Mode().String()+" "+h.Name+" "+string(body))
	}
	want := []string{"-rwxr-xr-x top/a program", "drwxr-xr-x top/b/ ", "-rw-r--r-- top/b.txt ", "-rw-r--r-- top/b/c.txt c"}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	packed, err := zipped("top/", files, when)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	list = nil
	for _, f := range r.File {
		list = append(list, f.Name)
		if !f.Modified.Equal(when) {
			t.Error(f.Modified)
		}
	}
	if diff := cmp.Diff([]string{"top/a", "top/b.txt", "top/b/c.txt"}, list); diff != "" {
		t.Error(diff)
	}
}

// TestPackage has a stand-in for the compiler and the program: what is packed, the
// same twice, and what dpkg makes of it.
func TestPackage(t *testing.T) {
	capturetest.Need(t, "dpkg-deb")
	if runtime.GOOS != "linux" {
		t.Skip("the stand-in is a script")
	}
	t.Chdir(capturetest.Root(t))
	dir := t.TempDir()
	compiler := filepath.Join(dir, "compiler")
	const script = `#!/bin/bash
while [ "$1" != -o ]; do tags+=" $1"; shift; done
cat >$2 <<END
#!/bin/bash
# $GOOS $GOARCH$tags
if [ "\$1" = man ]; then echo .TH \$3 >\$4/rocelens.1; else echo "complete \$2"; fi
END
chmod +x $2
`
	if err := os.WriteFile(compiler, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	made := make([]map[string]string, 2)
	for i := range made {
		out := filepath.Join(dir, "dist")
		if err := run([]string{"-version", "v1.2.3", "-time", "1796000000", "-dir", out, "--", compiler, "./cmd/rocelens"}, io.Discard); err != nil {
			t.Fatal(err)
		}
		made[i] = make(map[string]string)
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			body, err := os.ReadFile(filepath.Join(out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			made[i][e.Name()] = string(body)
		}
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Errorf("twice is not the same: %s", diff)
	}
	var names []string
	for line := range strings.Lines(made[0]["SHA256SUMS"]) {
		names = append(names, strings.Fields(line)[1])
	}
	want := []string{
		"rocelens-1.2.3-darwin-arm64.tar.gz", "rocelens-1.2.3-linux-amd64-glibc.tar.gz", "rocelens-1.2.3-linux-amd64.tar.gz",
		"rocelens-1.2.3-linux-arm64.tar.gz", "rocelens-1.2.3-windows-amd64.zip", "rocelens_1.2.3-1_amd64.deb",
	}
	if diff := cmp.Diff(want, names); diff != "" || len(made[0]) != len(want)+1 {
		t.Error(diff, len(made[0]))
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = filepath.Join(dir, "dist")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	deb := filepath.Join(dir, "dist", "rocelens_1.2.3-1_amd64.deb")
	root := filepath.Join(dir, "root")
	for _, args := range [][]string{{"--info", deb}, {"--extract", deb, root}, {"--control", deb, filepath.Join(root, "DEBIAN")}} {
		if out, err := exec.Command("dpkg-deb", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sums := exec.Command("md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums")
	sums.Dir = root
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for name, want := range map[string]string{
		"usr/bin/rocelens": "# linux amd64\n", // with glibc, that is without the tag static
		"usr/share/bash-completion/completions/rocelens":    "complete bash\n",
		"usr/share/zsh/vendor-completions/_rocelens":        "complete zsh\n",
		"usr/share/fish/vendor_completions.d/rocelens.fish": "complete fish\n",
		"DEBIAN/control":   "Version: 1.2.3-1\n",
		"DEBIAN/conffiles": "/etc/rocelens/rocelens.yml\n",
		"lib/systemd/system/rocelens-monitor.service": "--config /etc/rocelens/rocelens.yml\n",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
	static := unpacked(t, made[0]["rocelens-1.2.3-linux-arm64.tar.gz"])
	if p := static["rocelens-1.2.3-linux-arm64/rocelens"]; !strings.Contains(p, "# linux arm64 -tags static\n") {
		t.Errorf("the static program is %s", p)
	}
	if page := static["rocelens-1.2.3-linux-arm64/man/rocelens.1"]; page != ".TH 2026-11-30\n" {
		t.Errorf("the page is %s", page)
	}
}

// unpacked are the files of a .tar.gz.
func unpacked(t *testing.T, archive string) map[string]string {
	t.Helper()
	gz, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(body)
	}
}

// TestStopsInTime: systemd waits for as long as all that the monitor waits for when
// it stops.
func TestStopsInTime(t *testing.T) {
	unit, err := os.ReadFile(filepath.Join(capturetest.Root(t), unitFile))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindSubmatch(unit)
	if m == nil {
		t.Fatal("it waits as long as systemd likes")
	}
	patience, err := time.ParseDuration(string(m[1]))
	const scrapes = 5 * time.Second
	if need := monitor.DefaultConfig().StopTimeout + scrapes + engine.DefaultConfig().StopTimeout; err != nil || patience < need+10*time.Second {
		t.Errorf("%v %v, and it may take %v and some more", patience, err, need)
	}
}

func TestRefused(t *testing.T) {
	t.Chdir(capturetest.Root(t))
	dir := filepath.Join(t.TempDir(), "dist")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-version", "v1.0.0"}, "command that builds"},
		{[]string{"-version", "v1.0.0", "-only", "plan9", "--", "go"}, `there is no "plan9"`},
		{[]string{"-version", "abcdef0", "-tagged", "-dir", dir, "--", "go"}, "is no tag"},
		{[]string{"-version", "v99.0.0", "-tagged", "-dir", dir, "--", "go"}, "no section"},
		{[]string{"-version", "v1.0.0", "-dir", dir, "--", "false", "./cmd/rocelens"}, "false -o"},
	} {
		err := run(c.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
	// What is not its own is not removed.
	if err := write(".", nil, io.Discard); err == nil || !strings.Contains(err.Error(), "are no release's") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}
