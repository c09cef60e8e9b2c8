package words

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

// TestShell: a shell gives back what was quoted for it, and no terminal
// obeys it.
func TestShell(t *testing.T) {
	for path, want := range map[string]string{
		"a/b-1.pcap.zst":   "a/b-1.pcap.zst",
		"-":                "-",
		"-x.pcap":          "./-x.pcap",
		"two words.pcap":   "'two words.pcap'",
		"it's.pcap":        `'it'\''s.pcap'`,
		"$(reboot)`x`.p":   "'$(reboot)`x`.p'",
		"":                 "''",
		"ä.pcap":           "'ä.pcap'",
		"\x1b[31m'\\\n7.p": `$'\033[31m\'\\\0127.p'`,
		"\xff1":            `$'\3771'`,
	} {
		got := Shell(path)
		if got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q: %q controls a terminal", path, got)
		}
		if _, err := exec.LookPath("bash"); err != nil {
			continue
		}
		out, err := exec.Command("bash", "-c", "printf %s "+got).Output()
		if err != nil || strings.TrimPrefix(string(out), "./") != path {
			t.Errorf("%s is %q to a shell, %v, not %q", got, out, err, path)
		}
	}
}
