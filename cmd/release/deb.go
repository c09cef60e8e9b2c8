package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Files of the source that are installed, or archived.
const (
	unitFile     = "deploy/systemd/rocelens-monitor.service"
	sysusersFile = "deploy/systemd/rocelens.sysusers"
	exampleFile  = "deploy/rocelens.yml"
	debDir       = "deploy/debian/"
)

// conffile is kept as the administrator wrote it.
const conffile = "etc/rocelens/rocelens.yml"

// data are the files of the package.
func (b *builder) data(docs []file) ([]file, error) {
	program, err := b.program(target{"linux", "amd64", true})
	if err != nil {
		return nil, err
	}
	const doc = "usr/share/doc/rocelens/"
	list, err := read(
		[2]string{unitFile, "lib/systemd/system/rocelens-monitor.service"},
		[2]string{sysusersFile, "usr/lib/sysusers.d/rocelens.conf"},
		[2]string{exampleFile, conffile},
		[2]string{debDir + "copyright", doc + "copyright"},
		[2]string{debDir + "lintian-overrides", "usr/share/lintian/overrides/rocelens"},
		[2]string{"NOTICE", doc + "NOTICE"},
		[2]string{"THIRD_PARTY.md", doc + "THIRD_PARTY.md.gz"},
		[2]string{"CHANGELOG.md", doc + "changelog.gz"},
	)
	if err != nil {
		return nil, err
	}
	list = append(list, file{"usr/bin/rocelens", 0o755, program}, file{doc + "changelog.Debian.gz", 0o644, []byte(debChangelog(b.version, b.time))})
	for _, f := range docs {
		dir, name := path.Split(f.name)
		switch {
		case dir == "man/":
			f.name = "usr/share/man/man1/" + name + ".gz"
		case name == "rocelens":
			f.name = "usr/share/bash-completion/completions/rocelens"
		case name == "_rocelens":
			f.name = "usr/share/zsh/vendor-completions/_rocelens"
		default:
			f.name = "usr/share/fish/vendor_completions.d/" + name
		}
		list = append(list, f)
	}
	for i := range list {
		if f := &list[i]; strings.HasSuffix(f.name, ".gz") {
			if f.body, err = gzipped(f.body); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

const maintainer = "The rocelens authors <rocelens@users.noreply.github.com>"

func debChangelog(version string, when time.Time) string {
	return fmt.Sprintf("rocelens (%s) unstable; urgency=medium\n\n  * rocelens %s. What changed is in changelog.gz.\n\n -- %s  %s\n",
		debVersion(version), version, maintainer, when.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// deb is the Debian package, for amd64.
func (b *builder) deb(docs []file) (artefact, error) {
	data, err := b.data(docs)
	if err != nil {
		return artefact{}, err
	}
	control, err := b.control(data)
	if err != nil {
		return artefact{}, err
	}
	members := []file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, nil}, {"data.tar.gz", 0o644, nil}}
	for i, list := range [][]file{control, data} {
		if members[i+1].body, err = tarred("./", list, b.time); err != nil {
			return artefact{}, err
		}
	}
	return artefact{"rocelens_" + debVersion(b.version) + "_amd64.deb", arred(members, b.time)}, nil
}

// control are the files that dpkg reads and runs.
func (b *builder) control(data []file) ([]file, error) {
	text, err := os.ReadFile(debDir + "control")
	if err != nil {
		return nil, err
	}
	t, err := template.New("control").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var size int
	var sums strings.Builder
	list, dirs := sorted(data)
	for _, f := range list {
		size += (len(f.body) + 1023) / 1024
		if dirs[f.name] {
			size++
		} else if f.name != conffile {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.body), f.name)
		}
	}
	var control bytes.Buffer
	if err := t.Execute(&control, map[string]any{"Version": debVersion(b.version), "Maintainer": maintainer, "Size": size}); err != nil {
		return nil, err
	}
	scripts, err := read([2]string{debDir + "postinst", "postinst"}, [2]string{debDir + "prerm", "prerm"}, [2]string{debDir + "postrm", "postrm"})
	if err != nil {
		return nil, err
	}
	for i := range scripts {
		scripts[i].mode = 0o755
	}
	return slices.Concat(scripts, []file{
		{"control", 0o644, control.Bytes()}, {"md5sums", 0o644, []byte(sums.String())}, {"conffiles", 0o644, []byte("/" + conffile + "\n")},
	}), nil
}
