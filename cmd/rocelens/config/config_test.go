package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// words is a flag of ours that may be repeated.
type words []string

func (w *words) String() string     { return strings.Join(*w, " ") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }
func (*words) Type() string         { return "WORD" }
func (*words) Repeats()             {}

type options struct {
	Name     string
	Faces    []string
	Words    words
	On       bool
	Size     uint32
	Interval time.Duration
	Share    float64
	file     string
}

func flags() (*options, *pflag.FlagSet) {
	o, f := new(options), pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.Name, "name", "", "the `NAME` of it")
	f.StringArrayVar(&o.Faces, "interface", nil, "an `INTERFACE`")
	f.Var(&o.Words, "word", "a `WORD` or more")
	f.BoolVar(&o.On, "on", false, "whether it is on")
	f.Uint32Var(&o.Size, "size", 7, "so many `BYTES`, and a text that is too long for one line of a comment, for which reason it goes on in the next")
	f.DurationVar(&o.Interval, "interval", time.Second, "how often, `DUR`")
	f.Float64Var(&o.Share, "share", 0.5, "a `SHARE`, see --size")
	f.StringVar(&o.file, "config", "", "where this is")
	OnlyCommandLine(f, "config")
	return o, f
}

func load(t testing.TB, text string, f *pflag.FlagSet) error {
	t.Helper()
	file, err := parse("x.yml", []byte(text))
	if err != nil {
		return err
	}
	return file.Apply(f)
}

func TestApply(t *testing.T) {
	for _, tc := range []struct {
		text string
		args []string
		want options
	}{
		{text: "", want: options{Size: 7, Interval: time.Second, Share: 0.5}},
		{text: "# nothing\n---\n", want: options{Size: 7, Interval: time.Second, Share: 0.5}},
		{text: "name: a b\ninterface: eth0\nword: [x, 7]\non: true\nsize: 12\ninterval: 5s\nshare: 0.25\n",
			want: options{"a b", []string{"eth0"}, words{"x", "7"}, true, 12, 5 * time.Second, 0.25, ""}},
		{text: "name: 12\ninterface:\n  - a\n  - b,c\nword: x\nshare: 1\n", want: options{Name: "12", Faces: []string{"a", "b,c"}, Words: words{"x"}, Size: 7, Interval: time.Second, Share: 1}},
		{text: "name: \"true\"\n", want: options{Name: "true", Size: 7, Interval: time.Second, Share: 0.5}},
		{text: "name: x\ninterface: [a, b]\nword: [p, q]\nsize: 1\n", args: []string{"--name=y", "--interface=c", "--word=r"},
			want: options{Name: "y", Faces: []string{"c"}, Words: words{"r"}, Size: 1, Interval: time.Second, Share: 0.5}},
	} {
		o, f := flags()
		if err := f.Parse(tc.args); err != nil {
			t.Fatal(err)
		}
		if err := load(t, tc.text, f); err != nil {
			t.Errorf("%q: %v", tc.text, err)
		}
		if d := cmp.Diff(tc.want, *o, cmp.AllowUnexported(options{})); d != "" {
			t.Errorf("%q: %s", tc.text, d)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"intervall: 1s\n":             "x.yml:1: there is no key intervall: did you mean interval?",
		"# \n\nSize: 1\n":             "x.yml:3: there is no key Size: did you mean size?",
		"weather: fine\n":             "x.yml:1: there is no key weather: use name, interface, word, on, size, interval, share",
		"config: x\n":                 "x.yml:1: there is no key config: use name, interface, word, on, size, interval, share",
		"on: true\nsize: 1\non: true": "x.yml:3: on is there twice, first in line 1",
		"on: yes\n":                   "x.yml:1: on: use true or false",
		"on: \"true\"\n":              "x.yml:1: on: use true or false",
		"on: 1\n":                     "x.yml:1: on: use true or false",
		"name: true\n":                "x.yml:1: name: true and false are no values for it; write them in quotes if you mean the words",
		"size: big\n":                 "x.yml:1: size: use a whole number",
		"size: 1.5\n":                 "x.yml:1: size: use a whole number",
		"size: -1\n":                  "x.yml:1: size: use a whole number, 0 or more",
		"size: 99999999999\n":         "x.yml:1: size: the number is too large",
		"share: half\n":               "x.yml:1: share: use a number, as in 0.01",
		"interval: 5\n":               `x.yml:1: interval: time: missing unit in duration "5"`,
		"name:\n":                     "x.yml:1: name has no value: give it one, or take the key out",
		"name: ~\n":                   "x.yml:1: name has no value: give it one, or take the key out",
		"name: [a]\n":                 "x.yml:1: name takes one value, and not a list",
		"name: {a: b}\n":              "x.yml:1: name has more in it than a value or a list of values",
		"word:\n- a\n- [b]\n":         "x.yml:3: word has more in it than a value or a list of values",
		"word: &w [*w]\n":             "x.yml:1: word has more in it than a value or a list of values",
		"name: *secret\n":             "x.yml: a value that begins with * names another one that is not there: put it in quotes",
		"name: !!binary aGk=\n":       "x.yml:1: name: use text or a number",
		"- a\n":                       "x.yml:1: write keys and values, as in \"listen: 127.0.0.1:9797\"",
		"name\n":                      "x.yml:1: write keys and values, as in \"listen: 127.0.0.1:9797\"",
		"http://u:secret@h: 1\n":      "x.yml:1: this is no name of a key",
		"? [a]\n: b\n":                "x.yml:1: this is no name of a key",
		"name: a\n---\nname: b\n":     "x.yml: there is a second document in it, or what is no YAML at all",
		"name: 'a\n":                  "x.yml:2: this is not YAML: found unexpected end of stream",
		"on: true\nname: a: b\n":      "x.yml:2: this is not YAML: mapping values are not allowed in this context",
		"name: \x00\n":                "x.yml: this is not YAML: control characters are not allowed",
	} {
		_, f := flags()
		err := load(t, text, f)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	// What the command line says otherwise must be of the right type all the same.
	_, f := flags()
	if err := f.Parse([]string{"--on"}); err != nil {
		t.Fatal(err)
	}
	if err := load(t, "on: maybe\n", f); err == nil {
		t.Error("a value of another type was taken")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#\n"), maxFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{large: "more than 1048576 bytes are no configuration", filepath.Join(dir, "none"): "the configuration: open", dir: "the configuration: read"} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestExample(t *testing.T) {
	_, f := flags()
	var b bytes.Buffer
	if err := Example(&b, f, "What it is.\n\n    as it is"); err != nil {
		t.Fatal(err)
	}
	want := `# What it is.
#
#     as it is

# The NAME of it.
# name: NAME

# An INTERFACE.
# interface: [INTERFACE]

# A WORD or more.
# word: [WORD]

# Whether it is on.
on: false

# So many BYTES, and a text that is too long for one line of a comment, for which reason it goes on
# in the next.
size: 7

# How often, DUR.
interval: 1s

# A SHARE, see size.
share: 0.5
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

// FuzzParse: no file makes it panic, and what it says is one line.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"name: a\nword: [b, c]\n", "a: &a [*a]\n", "? a\n", "<<: {name: a}\n", "name: |\n  x\n  y\n", "\x00", "name: \"\\x\"\n", "{name: a, on: true}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, set := flags()
		if err := load(t, text, set); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	})
}
