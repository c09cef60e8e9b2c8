package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// target is a system that the program is built for.
type target struct {
	os, arch string
	// glibc links with it, on Linux: the program can load libchdb.so then.
	glibc bool
}

// targets have an archive each. chDB's library is for amd64 alone.
var targets = []target{
	{"linux", "amd64", false},
	{"linux", "amd64", true},
	{"linux", "arm64", false},
	{"darwin", "arm64", false},
	{"windows", "amd64", false},
}

const debName = "deb"

func (t target) name() string {
	name := t.os + "-" + t.arch
	if t.glibc {
		name += "-glibc"
	}
	return name
}

// names are those of all that can be made.
func names() []string {
	var list []string
	for _, t := range targets {
		list = append(list, t.name())
	}
	return append(list, debName)
}

// builder runs the commands, each once.
type builder struct {
	options
	work  string // directory
	built map[target][]byte
	out   io.Writer
}

// program builds the program.
func (b *builder) program(t target) ([]byte, error) {
	if body, ok := b.built[t]; ok {
		return body, nil
	}
	fmt.Fprintf(b.out, "building %s\n", t.name())
	path := filepath.Join(b.work, t.name())
	// The flags come before the package, which is the last word.
	last := len(b.build) - 1
	args := append([]string{}, b.build[:last]...)
	if t.os == "linux" && !t.glibc {
		args = append(args, "-tags", "static")
	}
	args = append(args, "-o", path, b.build[last])
	cmd := exec.Command(args[0], args[1:]...)
	// What else the environment says must make no difference to what is built.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b.built[t] = body
	return body, nil
}

// docs are the manual pages and the completions, as man/NAME and completions/NAME.
// The program for this machine writes them.
func (b *builder) docs() ([]file, error) {
	here := target{runtime.GOOS, runtime.GOARCH, runtime.GOOS == "linux"}
	if _, err := b.program(here); err != nil {
		return nil, err
	}
	program := filepath.Join(b.work, here.name())
	pages := filepath.Join(b.work, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if out, err := exec.Command(program, "man", "--date", b.time.Format("2006-01-02"), pages).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("manual pages: %w: %s", err, out)
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	var list []file
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, file{"man/" + e.Name(), 0o644, body})
	}
	for shell, name := range map[string]string{"bash": "rocelens", "zsh": "_rocelens", "fish": "rocelens.fish"} {
		var out, said bytes.Buffer
		cmd := exec.Command(program, "completion", shell)
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("completion for %s: %w: %s", shell, err, said.String())
		}
		list = append(list, file{"completions/" + name, 0o644, out.Bytes()})
	}
	return list, nil
}

// read takes files of the source, from name to name.
func read(names ...[2]string) ([]file, error) {
	var list []file
	for _, n := range names {
		body, err := os.ReadFile(n[0])
		if err != nil {
			return nil, err
		}
		list = append(list, file{n[1], 0o644, body})
	}
	return list, nil
}

// archive is what a user unpacks.
func (b *builder) archive(t target, docs []file) (artefact, error) {
	program, err := b.program(t)
	if err != nil {
		return artefact{}, err
	}
	source := [][2]string{{"LICENSE", "LICENSE"}, {"NOTICE", "NOTICE"}, {"THIRD_PARTY.md", "THIRD_PARTY.md"}, {"CHANGELOG.md", "CHANGELOG.md"}}
	name := "rocelens"
	switch t.os {
	case "linux":
		source = append(source, [2]string{unitFile, "systemd/rocelens-monitor.service"}, [2]string{sysusersFile, "systemd/rocelens.sysusers"}, [2]string{exampleFile, "rocelens.yml"})
	case "windows":
		name += ".exe"
	}
	list, err := read(source...)
	if err != nil {
		return artefact{}, err
	}
	list = append(append(list, file{name, 0o755, program}), docs...)
	top := "rocelens-" + strings.TrimPrefix(b.version, "v") + "-" + t.name()
	if t.os == "windows" {
		body, err := zipped(top+"/", list, b.time)
		return artefact{top + ".zip", body}, err
	}
	body, err := tarred(top+"/", list, b.time)
	return artefact{top + ".tar.gz", body}, err
}
