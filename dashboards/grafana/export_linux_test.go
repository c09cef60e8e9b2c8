package grafana_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
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
	d.Database = "second" // is in each board
	largest, smallest := 0, 1<<30
	for _, uid := range grafana.UIDs() {
		n := len(before["dashboards/"+uid+".json"])
		largest, smallest = max(largest, n), min(smallest, n)
	}
	done, err := exportWithin(t, &e, dir, uint64(smallest+largest)/2)
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("the error is %v", err)
	}
	after := tree(t, dir)
	if names := slices.Sorted(maps.Keys(after)); !slices.Equal(names, slices.Sorted(maps.Keys(before))) {
		t.Errorf("there are %v", names)
	}
	for name, data := range after {
		if changed := !bytes.Equal(data, before[name]); changed != slices.Contains(done, name) {
			t.Errorf("%s: changed is %v, and said to be written are %v", name, changed, done)
		}
	}
	export(t, &e, dir)
	for name, data := range tree(t, dir) {
		if slices.Contains(done, name) && !bytes.Equal(data, after[name]) {
			t.Errorf("%s was said to be written, and was not whole", name)
		}
	}
}

// exportWithin writes where files may not be longer than limit.
func exportWithin(t *testing.T, e *grafana.Export, dir string, limit uint64) ([]string, error) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ) // writing fails then
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	return e.Write(dir)
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
