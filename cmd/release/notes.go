package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	tag = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-([A-Za-z][0-9A-Za-z.]*))?$`)
	// described is what git says of a commit behind a tag, or where there is none.
	described = regexp.MustCompile(`^(?:v(\d+\.\d+\.\d+)(?:-[A-Za-z][0-9A-Za-z.]*)?-(\d+)-g)?([0-9a-f]{7,40})(-dirty)?$`)
)

// notes is the section of a version in the changelog.
func notes(changelog, version string) (string, error) {
	if !tag.MatchString(version) {
		return "", fmt.Errorf("version %s is no tag of a clean tree, as v1.2.3 is: a release is made of one", version)
	}
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	_, rest, ok := strings.Cut("\n"+changelog, "\n"+heading)
	if !ok {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", heading)
	}
	_, section, _ := strings.Cut(rest, "\n") // the date is behind the heading
	section, _, _ = strings.Cut(section, "\n## ")
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing of %s", version)
	}
	return section + "\n", nil
}

// debVersion is a version as Debian's, which sorts those between two releases
// between them.
func debVersion(version string) string {
	upstream := "0~devel"
	if m := tag.FindStringSubmatch(version); m != nil {
		upstream = m[1]
		if m[2] != "" {
			upstream += "~" + m[2]
		}
	} else if m := described.FindStringSubmatch(version); m != nil {
		upstream = "0~git"
		if m[1] != "" {
			upstream = m[1] + "+" + m[2]
		}
		upstream += "." + m[3]
		if m[4] != "" {
			upstream += ".dirty"
		}
	}
	return upstream + "-1"
}
