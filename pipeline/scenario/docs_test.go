package scenario_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

const docsHead = `# Scenarios

<!-- Written by "go test ./pipeline/scenario -update" from the list of scenarios and from the comments of Truth. Change it there. -->

` + "`rocelens generate SCENARIO -o FILE --truth FILE.json`" + ` simulates RoCE traffic and writes what a tap sees of it, and
beside it the truth: what was lost and where, what the requester did about it and why. It is for demos, for benchmarks,
and for judging rocelens or any other analyser.

A requester, a wire with a tap in it and a responder are simulated on a virtual clock. The truth is what these machines
did; nothing of it comes from looking at the packets. What is simulated shares no code with what rocelens analyses
packets with. The ICRC of each packet is right, but for the packets that the wire corrupts.

The same scenario and options give the same bytes, in the same version of rocelens.

`

const docsTruth = `
## The truth

Times are nanoseconds, of the capture or, where it says so, lengths. Frames are numbered from 1 as in the file, and 0 is
none: what happened to a packet that was not captured has no frame. PSNs are those on the wire. Lists are never null;
those of flow control are absent from other scenarios.

*Pass*, *step back*, *try*, *episode*, *position* and *maximum*: a requester that goes back to an earlier PSN makes a step
back, which is one try and begins a new pass. The position is one past the last request, the maximum one past the highest.
An episode is the tries until the requester is at the old maximum again. A packet below the maximum is a *fill* if the
tap never saw its PSN, else a *repeat*.

Not everything that happens can be seen at a tap. Where it can't, ` + "`visible`" + ` is false, and ` + "`why`" + ` says why.

`

// TestDocs keeps docs/scenarios.md equal to the list of scenarios and to the
// structs of the truth, whose comments it shows.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString(docsHead)
	b.WriteString("| scenario | | options |\n|---|---|---|\n")
	for _, sc := range scenario.Scenarios() {
		var takes []string
		for _, x := range sc.Takes {
			takes = append(takes, "`--"+string(x)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", sc.Name, sc.About, strings.Join(takes, ", "))
	}
	b.WriteString("\nAll take `--seed` and `--snaplen`. In the `bulk_` scenarios sessions have no lists of messages, losses and tries,\n" +
		"and more than 1,000 sessions are not listed at all: `totals` has the sums.\n")
	b.WriteString(docsTruth)
	comments := fieldComments(t)
	describe(&b, comments, reflect.TypeFor[scenario.Truth](), make(map[reflect.Type]bool))

	capturetest.SameDoc(t, "scenarios.md", b.String(), *update, "go test ./pipeline/scenario")
}

// describe writes a table of a struct's keys, and then those of the structs in
// it.
func describe(b *strings.Builder, comments map[string]string, s reflect.Type, done map[reflect.Type]bool) {
	if done[s] {
		return
	}
	done[s] = true
	text := func(comment string) string { return keys(s, comment) }
	fmt.Fprintf(b, "### %s\n\n%s\n\n| key | type | |\n|---|---|---|\n", s.Name(), text(comments[s.Name()]))
	var inner []reflect.Type
	for i := range s.NumField() {
		f := s.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || key == "" {
			continue
		}
		typ, list := f.Type, ""
		if typ.Kind() == reflect.Slice {
			typ, list = typ.Elem(), "list of "
		}
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		name := map[reflect.Kind]string{
			reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Struct: typ.Name(),
		}[typ.Kind()]
		if name == "" {
			name = "integer"
		}
		if typ.Kind() == reflect.Struct {
			inner = append(inner, typ)
			name = fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, list+name, text(comments[s.Name()+"."+f.Name]))
	}
	b.WriteByte('\n')
	for _, typ := range inner {
		describe(b, comments, typ, done)
	}
}

// keys puts the JSON keys of a struct where a comment has its fields.
func keys(s reflect.Type, comment string) string {
	return regexp.MustCompile(`[A-Z]\w+`).ReplaceAllStringFunc(comment, func(word string) string {
		f, ok := s.FieldByName(word)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !ok || key == "" || word == strings.ToUpper(word) {
			return word
		}
		return "`" + key + "`"
	})
}

// fieldComments are the comments of the package's structs and their fields.
func fieldComments(t *testing.T) map[string]string {
	comments := make(map[string]string)
	files, err := filepath.Glob("truth*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			spec := gen.Specs[0].(*ast.TypeSpec)
			name := spec.Name.Name
			comments[name] = upper(strings.TrimPrefix(flat(gen.Doc.Text()), name+" is "))
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range st.Fields.List {
				text := flat(f.Doc.Text() + f.Comment.Text())
				for _, n := range f.Names {
					comments[name+"."+n.Name] = text
				}
			}
		}
	}
	return comments
}

func flat(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ") }

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
