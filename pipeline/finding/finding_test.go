package finding_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/finding"
)

var update = flag.Bool("update", false, "write docs/findings.md anew; read it before keeping it")

// TestDocs keeps docs/findings.md equal to the table.
func TestDocs(t *testing.T) {
	path := filepath.Join(capturetest.Root(t), "docs", "findings.md")
	if *update {
		if err := os.WriteFile(path, []byte(finding.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(finding.Markdown(), string(have)); d != "" {
		t.Errorf("docs/findings.md is not what the table says (go test ./pipeline/finding -update):\n%s", d)
	}
}

// TestCodes: the table is sorted, and complete in each row.
func TestCodes(t *testing.T) {
	codes := finding.Codes()
	if !slices.IsSortedFunc(codes, func(a, b finding.Code) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("the codes are not in order")
	}
	for i, c := range codes {
		if i > 0 && codes[i-1].Code == c.Code {
			t.Errorf("%s is there twice", c.Code)
		}
		if c.Code != strings.ToLower(c.Code) || strings.ContainsAny(c.Code, " _") {
			t.Errorf("%q is not kebab-case", c.Code)
		}
		if len(c.Severities) == 0 || c.Summary == "" || c.Evidence == "" || !strings.HasSuffix(c.Meaning, ".") || !strings.HasSuffix(c.Check, ".") {
			t.Errorf("%s is not documented", c.Code)
		}
	}
}
