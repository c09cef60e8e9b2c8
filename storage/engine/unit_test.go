package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Config)
		want string // "" is for a good one
	}{
		{"default", func(*Config) {}, ""},
		{"IPv6", func(c *Config) { c.Listen = "[::1]:0" }, ""},
		{"another loopback address", func(c *Config) { c.Listen = "127.3.2.1:8123" }, ""},
		{"no directory", func(c *Config) { c.Dir = "" }, "needs a directory"},
		{"newline", func(c *Config) { c.Dir = "a\nb" }, "take another"},
		{"backslash", func(c *Config) { c.Dir = `a\b` }, "take another"},
		{"not UTF-8", func(c *Config) { c.Dir = "a\xff" }, "take another"},
		{"public", func(c *Config) { c.Listen = "192.0.2.1:8123" }, "not loopback"},
		{"every address", func(c *Config) { c.Listen = "[::]:8123" }, "not loopback"},
		{"zone", func(c *Config) { c.Listen = "[::1%lo]:8123" }, "not loopback"},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" }, "an IP address and a port"},
		{"little memory", func(c *Config) { c.MaxMemory = 1 << 20 }, "at least 512 MiB"},
		{"owner", func(c *Config) { c.Owner = "a\nb" }, "in one line"},
		{"no time", func(c *Config) { c.StopTimeout = 0 }, "more than 0"},
		{"back-off", func(c *Config) { c.BackoffMax = 1 }, "shorter than the first"},
		{"failures", func(c *Config) { c.MaxFailures = 0 }, "1 or more"},
	} {
		cfg := DefaultConfig()
		cfg.Dir = "d"
		c.set(&cfg)
		_, err := New(cfg, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"26.7.2.1": true, "26.7": true, "26.8.1.1": true, "26.10.1.1": true, "27.1.1.1": true,
		"26.6.9.9": false, "25.12.1.1": false, "18.16.1": false, "": false, "new": false,
	} {
		if newEnough(version) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}

// TestTail: what is kept is bounded, clean and without the secret, wherever the
// writes are cut.
func TestTail(t *testing.T) {
	const secret = "0123456789abcdef"
	text := strings.Repeat("x", tailWidth-8) + secret + strings.Repeat("y", 2000) + "\n" +
		"a\x1b[31m" + secret + "\tb\xff\r\n\n" +
		"3. ? @ 0x0000000018e84ef9\n12. DB::f(int) @ 0x18e84ef9\n" +
		"no end"
	for size := 1; size < 64; size++ {
		l := tail{secret: secret}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, _ = l.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got := strings.Join(l.last(tailLines), "\n")
		want := strings.Repeat("x", tailWidth-8) + "[passwor...\n" + "a[31m[password] b?\nno end"
		if got != want {
			t.Fatalf("in writes of %d: %q", size, got)
		}
	}

	var l tail
	for i := range 1000 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	_, _ = l.Write(make([]byte, 1<<20))
	if n := len(l.last(1000)); n > tailLines || len(l.part) > tailWidth {
		t.Errorf("%d lines, %d bytes", n, len(l.part))
	}
	if got := l.last(2); got[1] != "line 999" {
		t.Errorf("%q", got)
	}
}

// TestPassword: a password is kept, and named with the host that it is for, until
// the file is spoilt or was open to others.
func TestPassword(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, credentialsName)
	get := func(host string) string {
		t.Helper()
		p, err := password(dir, host)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if want := "machine " + host + " login rocelens password " + p + "\n"; err != nil || string(text) != want {
			t.Errorf("%q, want %q (%v)", text, want, err)
		}
		return p
	}
	first := get("127.0.0.1")
	if get("127.0.0.1") != first || get("::1") != first {
		t.Error("not kept")
	}
	for _, spoilt := range []string{"", "machine ::1 login rocelens password short\n", strings.Repeat("x ", 6)} {
		if err := os.WriteFile(path, []byte(spoilt), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := get("::1"); p == first || !isPassword(p) {
			t.Errorf("%q gives %q", spoilt, p)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := password(dir, "::1"); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}
