package finding_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/finding"
)

var update = flag.Bool("update", false, "write docs/findings.md anew; read it before keeping it")

// TestDocs keeps docs/findings.md equal to the table.
func TestDocs(t *testing.T) {
	capturetest.SameDoc(t, "findings.md", finding.Markdown(), *update, "go test ./pipeline/finding")
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
		if len(c.Severities) == 0 || c.Summary == "" || c.Evidence == "" || !strings.HasSuffix(c.Meaning, ".") || !strings.HasSuffix(c.Check, ".") || !strings.HasSuffix(c.False, ".") || strings.Contains(c.Meaning, "False alarms") {
			t.Errorf("%s is not documented", c.Code)
		}
	}
}
