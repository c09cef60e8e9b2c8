package filter_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
)

// TestDocs takes every example of docs/filters.md: lines of blocks that begin
// with ```filter, up to two blanks and a # , and the recipes for RoCE.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(capturetest.Root(t), "docs", "filters.md"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, block := range strings.Split(string(text), "```filter\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "  # ")
			examples = append(examples, strings.TrimSpace(line))
		}
	}
	_, recipes, _ := strings.Cut(string(text), "## For RoCE\n")
	recipes, _, _ = strings.Cut(recipes, "## Mistakes\n")
	rows := regexp.MustCompile("(?m)^\\| [^`|]+ \\| `([^`]+)` \\|$").FindAllStringSubmatch(recipes, -1)
	for _, row := range rows {
		examples = append(examples, row[1])
	}
	if len(examples) < 130 || len(rows) < 20 {
		t.Fatalf("only %d examples, %d recipes", len(examples), len(rows))
	}
	ps := load(t, writeMixed(t))
	all := strings.Join(examples, " ") + " "
	for _, expr := range examples {
		f, err := filter.Compile(expr, time.UTC)
		if err != nil {
			t.Errorf("docs/filters.md: %v", err)
			continue
		}
		ps.selected(f)
	}
	// Each protocol is named, and each operator and function has an example.
	for _, name := range decode.ProtoNames() {
		if name != "rocelens.ipv6ext" && !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/filters.md does not name the protocol %s", name)
		}
	}
	for _, word := range strings.Fields(`== != === !== ~= > < >= <= eq any_eq ne all_ne all_eq any_ne gt lt ge le contains matches ~ in not ! and &&
		or || xor ^^ any all + - * / % & bitwise_and @ # upper( lower( len( count( string( vals( dec( hex( max( min( abs( ip_linklocal(
		ip_multicast( ip_rfc1918( ip_ula(`) {
		if !strings.Contains(all, word) {
			t.Errorf("docs/filters.md has no example of %s", word)
		}
	}
}
