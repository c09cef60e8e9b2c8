package grafana_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/storage/dsn"
)

// TestExportFull: where the disk takes no more, what was there stays whole, and nothing is left of
// what was begun.
func TestExportFull(t *testing.T) {
	d, err := dsn.Parse("http://ch1/first")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := grafana.Export{Store: d, Prometheus: "http://prom:9090"}
	export(t, &e, dir)
	before := tree(t, dir)
	largest, smallest := 0, 1<<30
	for _, uid := range grafana.UIDs() {
		n := len(before["dashboards/"+uid+".json"])
		largest, smallest = max(largest, n), min(smallest, n)
	}
	done := exportWithin(t, dir, (smallest+largest)/2)
	after := tree(t, dir)
	if names := slices.Sorted(maps.Keys(after)); !slices.Equal(names, slices.Sorted(maps.Keys(before))) {
		t.Errorf("there are %v", names)
	}
	for name, data := range after {
		if changed := !bytes.Equal(data, before[name]); changed != slices.Contains(done, name) {
			t.Errorf("%s: changed is %v, and said to be written are %v", name, changed, done)
		}
	}
	whole, err := second()
	if err != nil {
		t.Fatal(err)
	}
	export(t, whole, dir)
	for name, data := range tree(t, dir) {
		if slices.Contains(done, name) && !bytes.Equal(data, after[name]) {
			t.Errorf("%s was said to be written, and was not whole", name)
		}
	}
}

// withinEnv makes the test's program write where files may not be longer than so many bytes, to
// the directory that is its first argument. It is another process, since the limit is that of all
// files of one.
const withinEnv = "ROCELENS_TEST_EXPORT_WITHIN"

func init() {
	limit, err := strconv.ParseUint(os.Getenv(withinEnv), 10, 64)
	if err != nil {
		return
	}
	e, err := second()
	if err == nil {
		signal.Ignore(syscall.SIGXFSZ) // writing fails then
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	var done []string
	if err == nil {
		done, err = e.Write(os.Args[1])
	}
	fmt.Fprint(os.Stdout, strings.Join(done, "\n"))
	switch {
	case errors.Is(err, syscall.EFBIG):
		os.Exit(int(syscall.EFBIG))
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// second is another export than the first.
func second() (*grafana.Export, error) {
	d, err := dsn.Parse("http://ch1/second") // is in each board
	return &grafana.Export{Store: d, Prometheus: "http://prom:9090"}, err
}

// exportWithin writes the second export where files may not be longer than limit, and returns what
// it says that it wrote.
func exportWithin(t *testing.T, dir string, limit int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), withinEnv+"="+strconv.Itoa(limit))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != int(syscall.EFBIG) {
		t.Fatalf("%v: %s", err, said.String())
	}
	return strings.Split(string(out), "\n")
}

// tree are the files in a directory.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(filepath.Join(dir, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
