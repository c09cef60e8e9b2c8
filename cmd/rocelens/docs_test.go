package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
)

// TestDocs runs what the documentation shows: each block of
//
//	```console
//	$ COMMAND
//	what it prints
//	```
//
// is run by bash in the root of the module, and must print just that. With
// -update the output is written into the document.
func TestDocs(t *testing.T) {
	root := capturetest.Root(t)
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, path := range append(docs, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out := runBlocks(t, root, filepath.Base(path), string(text), &blocks)
		if *update && out != string(text) {
			if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(text), out); diff != "" {
			t.Errorf("%s (-as written +as run):\n%s", filepath.Base(path), diff)
		}
	}
	if blocks == 0 {
		t.Error("the documentation shows no command")
	}
}

// runBlocks returns text with the output of its blocks as it really is.
func runBlocks(t *testing.T, root, name, text string, blocks *int) string {
	const begin, end = "```console\n$ ", "\n```"
	var b strings.Builder
	for {
		i := strings.Index(text, begin)
		if i < 0 {
			return b.String() + text
		}
		i += len(begin)
		b.WriteString(text[:i])
		text = text[i:]
		n := strings.Index(text, end)
		if n < 0 {
			t.Fatalf("%s: a block without an end", name)
		}
		command, shown, _ := strings.Cut(text[:n], "\n")
		text = text[n+1:]
		*blocks++
		b.WriteString(command + "\n")
		if strings.Contains(command, "jq ") && !have(t, "jq") {
			b.WriteString(shown + "\n")
			continue
		}
		cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s: %v\n%s", name, command, err, out)
		}
		b.WriteString(strings.TrimRight(string(out), "\n") + "\n")
	}
}

// have says whether a program that examples use is there. In CI it must be.
func have(t *testing.T, program string) bool {
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	return err == nil
}

// TestFieldsDoc holds docs/fields.md against the field table that it is made
// from. -update writes it.
func TestFieldsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Fields

What ` + "`rocelens packets -T fields -e FIELD`" + ` takes, and what its trees and JSON show. The list is made from the
table that the program uses, in the order of the tree. ` + "`rocelens fields PATTERN`" + ` searches it.

Names, labels and types are Wireshark's; those in the last column marked *ours* are fields that Wireshark doesn't have.
*Repeats* says that one packet can have several values: tunnels and tags bring a header again, or the name stands for
two fields (` + "`ip.addr`" + `).

| field | type | label | |
|---|---|---|---|
`)
	for _, f := range decode.Fields() {
		var notes []string
		if f.Ours {
			notes = append(notes, "*ours*")
		}
		if f.Repeats {
			notes = append(notes, "repeats")
		}
		b.WriteString("| `" + f.Name + "` | " + f.Type.String() + " | " + f.Label + " | " + strings.Join(notes, ", ") + " |\n")
	}
	path := filepath.Join(capturetest.Root(t), "docs", "fields.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), b.String()); diff != "" {
		t.Errorf("docs/fields.md is not what the table says; go test ./cmd/rocelens -run TestFieldsDoc -update writes it:\n%s", diff)
	}
}

// TestLayout: CONTRIBUTING.md says of each package what lives there, and of none
// that is not there.
func TestLayout(t *testing.T) {
	root := capturetest.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `.*?\\|").FindAllString(string(text), -1) {
		for _, name := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(row, -1) {
			named[name[1]] = true
			if _, err := os.Stat(filepath.Join(root, name[1])); err != nil {
				t.Error(err)
			}
		}
	}
	cmd := exec.Command("go", "list", "-f", "{{.Dir}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) == 0 {
		t.Fatal("no packages")
	}
	for _, dir := range packages {
		name, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !named[filepath.ToSlash(name)] {
			t.Errorf("%s is not in CONTRIBUTING.md", name)
		}
	}
}
