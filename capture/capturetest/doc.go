package capturetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// SameDoc fails where docs/name is not what it is made of says, want; with
// update it writes it. how is the command that does.
func SameDoc(tb testing.TB, name, want string, update bool, how string) {
	tb.Helper()
	path := filepath.Join(Root(tb), "docs", name)
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(want, string(have)); d != "" {
		tb.Errorf("docs/%s is not what it is made of says (%s -update):\n%s", name, how, d)
	}
}
