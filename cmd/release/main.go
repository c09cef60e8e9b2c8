// Command release makes of the source what is given to users: archives for each
// system, the Debian package and their checksums. The same source, built by the
// same Go, gives the same bytes.
//
//	go run ./cmd/release -version v0.1.0 -time 1796000000 -dir dist -- go build -trimpath ./cmd/rocelens
//
// The command behind -- builds the program; -tags, -o and the environment of a
// system are added to it. The Makefile has the whole of it.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

// options are what is to be made, and of what.
type options struct {
	version string
	time    time.Time // of all that is made
	dir     string    // where it goes
	only    []string  // names of targets, and deb; empty for all
	tagged  bool      // it is a release: its version is a tag, and has notes
	build   []string  // the command that builds the program
}

func parse(args []string) (options, error) {
	var o options
	var seconds int64
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.StringVar(&o.version, "version", "", "`VERSION`, as git describe says it")
	f.Int64Var(&seconds, "time", 0, "time of the source, in `SECONDS` since 1970")
	f.StringVar(&o.dir, "dir", "dist", "`DIR` to make it in")
	f.BoolVar(&o.tagged, "tagged", false, "refuse a version that is no tag or has no section in CHANGELOG.md, and write that section to notes.md")
	f.Func("only", "make `NAME` alone: "+strings.Join(names(), ", "), func(s string) error {
		o.only = strings.Split(s, ",")
		for _, n := range o.only {
			if !slices.Contains(names(), n) {
				return fmt.Errorf("there is no %q", n)
			}
		}
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.time, o.build = time.Unix(seconds, 0).UTC(), f.Args()
	if o.version == "" || len(o.build) == 0 {
		return o, errors.New("-version and the command that builds are needed")
	}
	return o, nil
}

// wants says whether what has the name is to be made.
func (o *options) wants(name string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, name)
}

func run(args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var made []artefact
	if o.tagged {
		text, err := os.ReadFile("CHANGELOG.md")
		if err != nil {
			return err
		}
		section, err := notes(string(text), o.version)
		if err != nil {
			return err
		}
		made = append(made, artefact{"notes.md", []byte(section)})
	}
	work, err := os.MkdirTemp("", "rocelens-release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b := &builder{options: o, work: work, built: make(map[target][]byte), out: out}
	docs, err := b.docs()
	if err != nil {
		return err
	}
	for _, t := range targets {
		if !o.wants(t.name()) {
			continue
		}
		a, err := b.archive(t, docs)
		if err != nil {
			return err
		}
		made = append(made, a)
	}
	if o.wants(debName) {
		a, err := b.deb(docs)
		if err != nil {
			return err
		}
		made = append(made, a)
	}
	return write(o.dir, made, out)
}

// artefact is a file that is made.
type artefact struct {
	name string
	body []byte
}

const sumsName = "SHA256SUMS"

// write puts what was made, and its checksums, into a directory that has nothing
// else.
func write(dir string, made []artefact, out io.Writer) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		if _, err := os.Stat(filepath.Join(dir, sumsName)); err != nil {
			return fmt.Errorf("%s has files that are no release's: remove it, or take another directory", dir)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	slices.SortFunc(made, func(a, b artefact) int { return strings.Compare(a.name, b.name) })
	var sums strings.Builder
	for _, a := range made {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(a.body), a.name)
	}
	for _, a := range append(made, artefact{sumsName, []byte(sums.String())}) {
		if err := os.WriteFile(filepath.Join(dir, a.name), a.body, 0o644); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, sums.String())
	return err
}
