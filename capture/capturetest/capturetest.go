// Package capturetest finds the captures that tests run on and what is known
// to be true of each. Only tests import it.
//
// There are two places: testdata/captures of this module, which is always
// there, and a larger collection that is not part of it. The latter is the
// directory that the environment variable ROCELENS_CAPTURES names, or
// ../shared/captures seen from the module's root or from any directory above
// it.
package capturetest

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// EnvCaptures is the environment variable that says where the large
// collection is.
const EnvCaptures = "ROCELENS_CAPTURES"

// collections are the directories of the large collection that have truth
// beside each capture.
var collections = [...]string{"softroce", "softroce-fabric"}

// extensions are the endings that a capture with truth may have.
var extensions = [...]string{".pcap.zst", ".pcapng.zst"}

// Root is the directory of the module's go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod in any directory above the test")
		}
		dir = parent
	}
}

// Shared is the directory of the large collection; ok is false where it is not
// there. A ROCELENS_CAPTURES that names no directory is a failure: whoever set
// it wants these tests to run.
func Shared(tb testing.TB) (dir string, ok bool) {
	tb.Helper()
	if dir = os.Getenv(EnvCaptures); dir != "" {
		if !isDir(dir) {
			tb.Fatalf("%s: %s is not a directory", EnvCaptures, dir)
		}
		return dir, true
	}
	for at := Root(tb); ; {
		up := filepath.Dir(at)
		if dir = filepath.Join(up, "shared", "captures"); isDir(dir) {
			return dir, true
		}
		if up == at {
			return "", false
		}
		at = up
	}
}

// NeedShared is Shared for a test that runs on the large collection alone: it
// skips the test where the collection is not there.
func NeedShared(tb testing.TB) string {
	tb.Helper()
	dir, ok := Shared(tb)
	if !ok {
		tb.Skipf("the large capture collection is not here; %s says where it is", EnvCaptures)
	}
	return dir
}

// Testdata is the directory of the captures that are part of the module.
// They are part of it, so a test fails without them.
func Testdata(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(Root(tb), "testdata", "captures")
	if isDir(dir) {
		return dir
	}
	tb.Fatalf("%s is missing", dir)
	return ""
}

// Capture is a capture file with the truth beside it.
type Capture struct {
	Name string // without directory and extension
	Path string
	// Truth is the path of its JSON file; LoadTruth reads it.
	Truth string
}

// Get finds one capture of the module by its name.
func Get(tb testing.TB, name string) Capture {
	tb.Helper()
	for _, ext := range extensions {
		c := Capture{Name: name, Path: filepath.Join(Testdata(tb), name+ext)}
		if _, err := os.Stat(c.Path); err == nil {
			c.Truth = strings.TrimSuffix(c.Path, ext) + ".json"
			return c
		}
	}
	tb.Fatalf("no capture %s in testdata/captures", name)
	return Capture{}
}

// Committed lists the module's captures, sorted by name.
func Committed(tb testing.TB) []Capture {
	tb.Helper()
	list := listDir(tb, Testdata(tb))
	if len(list) == 0 {
		tb.Fatal("testdata/captures holds no capture")
	}
	return list
}

// All lists every capture with truth in both places, sorted by name. One that
// is in both is listed once, as the module has it.
func All(tb testing.TB) []Capture {
	tb.Helper()
	all := Committed(tb)
	seen := make(map[string]bool, len(all))
	for _, c := range all {
		seen[c.Name] = true
	}
	if dir, ok := Shared(tb); ok {
		for _, sub := range collections {
			for _, c := range listDir(tb, filepath.Join(dir, sub)) {
				if !seen[c.Name] {
					seen[c.Name] = true
					all = append(all, c)
				}
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func listDir(tb testing.TB, dir string) []Capture {
	tb.Helper()
	var list []Capture
	for _, ext := range extensions {
		paths, err := filepath.Glob(filepath.Join(dir, "*"+ext))
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range paths {
			base := strings.TrimSuffix(p, ext)
			if _, err := os.Stat(base + ".json"); err != nil {
				tb.Errorf("%s has no truth beside it: %v", p, err)
				continue
			}
			list = append(list, Capture{Name: filepath.Base(base), Path: p, Truth: base + ".json"})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
