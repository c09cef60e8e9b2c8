// Package config reads a YAML file whose keys are the flags of a command, and
// writes an example of one. What a key is called, what it takes and what it is
// without the file is the flag's: so no flag can lack a key.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/decode"
)

// maxFile is how many bytes a file may have: what is larger is no configuration.
const maxFile = 1 << 20

// Repeated is a flag that may be given several times, and whose key may have a
// list of values. pflag's own lists need not say so.
type Repeated interface {
	pflag.Value
	Repeats()
}

// Repeats says whether a key may have a list.
func Repeats(f *pflag.Flag) bool {
	_, list := f.Value.(pflag.SliceValue)
	_, ours := f.Value.(Repeated)
	return list || ours
}

// commandLine is an annotation of flags that are no keys.
const commandLine = "rocelens_command_line"

// OnlyCommandLine says that a flag is none of the file's keys.
func OnlyCommandLine(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, commandLine, nil); err != nil {
			panic(err) // there is no such flag: a mistake of the caller
		}
	}
}

// IsKey says whether a flag is a key of the file.
func IsKey(f *pflag.Flag) bool {
	_, not := f.Annotations[commandLine]
	return !not && f.Name != "help"
}

// File is what a file says.
type File struct {
	path string
	keys []key
}

// key is one of a file, as it is there.
type key struct {
	name   string
	line   int
	values []value
	list   bool
}

type value struct {
	text string
	line int
	kind string // YAML's: !!str, !!int, !!bool, ...
}

// Read reads a file. Its errors are one sentence each, and repeat no value: there
// may be passwords among them.
func Read(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the configuration: %w", err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s: more than %d bytes are no configuration", path, maxFile)
	}
	return parse(path, text)
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

func parse(path string, text []byte) (*File, error) {
	file := &File{path: path}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return file, nil // nothing but comments
	case err != nil && strings.Contains(err.Error(), "unknown anchor"): // it may be a password
		return nil, fmt.Errorf("%s: a value that begins with * names another one that is not there: put it in quotes", path)
	case err != nil:
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			return nil, fmt.Errorf("%s:%s: this is not YAML: %s", path, m[1], m[2])
		}
		return nil, fmt.Errorf("%s: this is not YAML: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is a second document in it, or what is no YAML at all", path)
	}
	if len(doc.Content) == 0 {
		return file, nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return file, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, file.wrong(top.Line, "write keys and values, as in \"listen: 127.0.0.1:9797\"")
	}
	for i := 0; i < len(top.Content); i += 2 {
		k, err := file.key(top.Content[i], top.Content[i+1])
		if err != nil {
			return nil, err
		}
		file.keys = append(file.keys, k)
	}
	return file, nil
}

func (f *File) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.path, line, fmt.Errorf(format, args...))
}

// key reads a key, whose name has yet to be looked for.
func (f *File) key(name, v *yaml.Node) (key, error) {
	k := key{name: name.Value, line: name.Line}
	if name.Kind != yaml.ScalarNode || !isWord(name.Value) {
		return k, f.wrong(name.Line, "this is no name of a key")
	}
	for i := range f.keys {
		if f.keys[i].name == k.name {
			return k, f.wrong(k.line, "%s is there twice, first in line %d", k.name, f.keys[i].line)
		}
	}
	items := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		items, k.list = v.Content, true
	}
	for _, n := range items {
		switch {
		case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
			return k, f.wrong(n.Line, "%s has no value: give it one, or take the key out", k.name)
		case n.Kind != yaml.ScalarNode:
			return k, f.wrong(n.Line, "%s has more in it than a value or a list of values", k.name)
		}
		k.values = append(k.values, value{n.Value, n.Line, n.ShortTag()})
	}
	return k, nil
}

// isWord says whether a key looks like one, and may be shown.
func isWord(s string) bool {
	return s != "" && len(s) < 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// Apply sets flags to what the file says, but for those that the command line has
// set.
func (f *File) Apply(flags *pflag.FlagSet) error {
	for i := range f.keys {
		k := &f.keys[i]
		flag := flags.Lookup(k.name)
		if flag == nil || !IsKey(flag) {
			return f.wrong(k.line, "there is no key %s%s", k.name, meant(flags, k.name))
		}
		if k.list && !Repeats(flag) {
			return f.wrong(k.line, "%s takes one value, and not a list", k.name)
		}
		given := flag.Changed
		for _, v := range k.values {
			if err := fits(flag, v); err != nil {
				return f.wrong(v.line, "%s: %w", k.name, err)
			}
			if given {
				continue
			}
			if err := flags.Set(k.name, v.text); err != nil {
				return f.wrong(v.line, "%s: %w", k.name, Reason(flag, err))
			}
		}
	}
	return nil
}

// fits says whether a value is of the type that a flag takes. Text that YAML takes
// for a number is text to most flags.
func fits(flag *pflag.Flag, v value) error {
	switch typ := flag.Value.Type(); {
	case typ == "bool" && v.kind != "!!bool":
		return errors.New("use true or false")
	case typ != "bool" && v.kind == "!!bool":
		return errors.New("true and false are no values for it; write them in quotes if you mean the words")
	case isNumber(typ) && v.kind != "!!int":
		return errors.New("use a whole number")
	case v.kind == "!!binary":
		return errors.New("use text or a number")
	}
	return nil
}

func isNumber(typ string) bool {
	return strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "uint")
}

// Reason is what is wrong with the value of a flag, without the flag and the value.
func Reason(flag *pflag.Flag, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = invalid.Unwrap()
	}
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	switch typ := flag.Value.Type(); {
	case errors.Is(number, strconv.ErrRange):
		return errors.New("the number is too large")
	case strings.HasPrefix(typ, "uint"):
		return errors.New("use a whole number, 0 or more")
	case strings.HasPrefix(typ, "int"):
		return errors.New("use a whole number")
	}
	return errors.New("use a number, as in 0.01")
}

// Nearest is the flag whose name is most like one that does not exist, among those
// that are wanted, or "".
func Nearest(flags *pflag.FlagSet, name string, wanted func(*pflag.Flag) bool) string {
	const tooFar = 3 // edits; more is another word
	best, found := tooFar, ""
	flags.VisitAll(func(f *pflag.Flag) {
		d := decode.EditDistance(name, f.Name)
		if strings.HasPrefix(f.Name, name) {
			d = min(d, 1)
		}
		if d < best && wanted(f) {
			best, found = d, f.Name
		}
	})
	return found
}

// meant says which key was probably meant.
func meant(flags *pflag.FlagSet, name string) string {
	if near := Nearest(flags, strings.ToLower(strings.ReplaceAll(name, "_", "-")), IsKey); near != "" {
		return ": did you mean " + near + "?"
	}
	var all []string
	flags.VisitAll(func(f *pflag.Flag) {
		if IsKey(f) {
			all = append(all, f.Name)
		}
	})
	return ": use " + strings.Join(all, ", ")
}

// Changed are the keys that another file has otherwise, or that only one of them
// has.
func (f *File) Changed(other *File) []string {
	all := make(map[string][]string)
	for _, k := range f.keys {
		all[k.name] = k.texts()
	}
	var names []string
	for _, k := range other.keys {
		had, ok := all[k.name]
		if delete(all, k.name); !ok || !slices.Equal(had, k.texts()) {
			names = append(names, k.name)
		}
	}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (k *key) texts() []string {
	list := make([]string, len(k.values))
	for i, v := range k.values {
		list[i] = v.text
	}
	return list
}
