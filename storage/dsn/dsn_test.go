package dsn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want DSN
		text string
	}{
		{"clickhouse://ch1", DSN{Hosts: []string{"ch1:9000"}, Database: "rocelens"}, "clickhouse://ch1:9000/rocelens"},
		{"clickhouse://u:p%40ss%2F@ch1:9001/db?cluster=rails&secure=true",
			DSN{Hosts: []string{"ch1:9001"}, Database: "db", Cluster: "rails", Secure: true, User: "u", Password: Secret{"p@ss/"}},
			"clickhouse://u@ch1:9001/db?cluster=rails&secure=true"},
		{"clickhouse://ch1/?secure=true", DSN{Hosts: []string{"ch1:9440"}, Database: "rocelens", Secure: true}, "clickhouse://ch1:9440/rocelens?secure=true"},
		{"http://u:a:b@[2001:db8::1]:80/db", DSN{HTTP: true, Hosts: []string{"[2001:db8::1]:80"}, Database: "db", User: "u", Password: Secret{"a:b"}}, "http://u@[2001:db8::1]:80/db"},
		{"https://[::1],b/", DSN{HTTP: true, Secure: true, Hosts: []string{"[::1]:8443", "b:8443"}, Database: "rocelens"}, "https://[::1]:8443,b:8443/rocelens"},
		{"http://h?compression=zstd&ca=/ca.pem&password_file=/p", DSN{HTTP: true, Hosts: []string{"h:8123"}, Database: "rocelens", Compression: "zstd", CAFile: "/ca.pem", PasswordFile: "/p"}, "http://h:8123/rocelens"},
		{"embedded:/var/lib/x/", DSN{Dir: "/var/lib/x", Database: "rocelens"}, "embedded:/var/lib/x"},
	} {
		got, err := Parse(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(Secret{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.in, diff)
		}
		if got.String() != c.text {
			t.Errorf("%s: shown as %s, want %s", c.in, got, c.text)
		}
	}
}

// TestParseErrors: each is told what to write, and none repeats the password.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "no name of a store"},
		{"hunter2", "no name of a store"},
		{"mysql://u:hunter2@h", "no name of a store"},
		{"embedded:", "embedded:DIR"},
		{"clickhouse://", "HOST:PORT"},
		{"clickhouse://u:hunter2@", "HOST:PORT"},
		{"clickhouse://u:hunter2/x@h:9000", "HOST:PORT"},
		{"clickhouse://u:hunter2?x@h:9000", "option"},
		{"clickhouse://u:hunter2%zz@h", "%25 for %"},
		{"clickhouse://u:hunter2@h:port", "HOST:PORT"},
		{"clickhouse://u:hunter2@h:1:2", "HOST:PORT"},
		{"clickhouse://u:hunter2@h/a/b", "database"},
		{"clickhouse://u:hunter2@h/a'b", "database"},
		{"clickhouse://u:hunter2@h/?cluster=a`b", "cluster"},
		{"clickhouse://u:hunter2@h/?hunter2=1", "unknown option"},
		{"clickhouse://u:hunter2@h/?secure=yes", "true or false"},
		{"clickhouse://u:hunter2@h/?secure=true&secure=false", "twice"},
		{"clickhouse://u:hunter2@h/?compression=gzip", "lz4, zstd or none"},
		{"clickhouse://u:hunter2@h/?x=%zz", "NAME=VALUE"},
		{"clickhouse://" + strings.Repeat("h,", 70) + "h", "64 hosts"},
	} {
		_, err := Parse(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.in, err, c.want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the password: %v", c.in, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty, two := file("good", "from file\n"), file("empty", "\n"), file("two", "a\nb\n")
	for _, c := range []struct {
		what, dsn      string
		env            map[string]string
		user, password string
		err            string
	}{
		{"nothing", "http://h", nil, "default", "", ""},
		{"the DSN", "http://a:b@h", map[string]string{UserEnv: "x", PasswordEnv: "y"}, "a", "b", ""},
		{"the environment", "http://h", map[string]string{UserEnv: "x", PasswordEnv: "y", PasswordFileEnv: good}, "x", "y", ""},
		{"a file of the environment", "http://a@h", map[string]string{PasswordFileEnv: good}, "a", "from file", ""},
		{"a file of the DSN", "http://a@h?password_file=" + good, map[string]string{PasswordEnv: "y"}, "a", "from file", ""},
		{"two ways", "http://a:hunter2@h?password_file=" + good, nil, "", "", "one of them"},
		{"no such file", "http://a@h?password_file=" + dir + "/none", nil, "", "", "no such file"},
		{"an empty file", "http://a@h?password_file=" + empty, nil, "", "", "only line"},
		{"a file of two lines", "http://a@h?password_file=" + two, nil, "", "", "only line"},
	} {
		d, err := Parse(c.dsn)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Credentials(func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v, want %q", c.what, err, c.err)
			}
			continue
		}
		if err != nil || d.User != c.user || d.Password.Reveal() != c.password {
			t.Errorf("%s: %s, %s, %v", c.what, d.User, d.Password.Reveal(), err)
		}
	}
}

// TestSecret: no way of printing shows a password.
func TestSecret(t *testing.T) {
	d, err := Parse("clickhouse://u:hunter2@h")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, f+f+f+"\n", d, *d, d.Password)
	}
	log := slog.New(slog.NewJSONHandler(&b, nil))
	log.Info("x", "dsn", d, "value", *d, "secret", d.Password)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "dsn", d, "value", *d, "secret", d.Password)
	js, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(js)
	for _, shown := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%d", []byte("hunter2"))} {
		if strings.Contains(b.String(), shown) {
			t.Errorf("%s is in:\n%s", shown, b.String())
		}
	}
}

func TestPasswordIn(t *testing.T) {
	for in, want := range map[string]string{
		"clickhouse://u:hunter2@h":            "hunter2",
		"--store=clickhouse://u:hun:t@er2@h/": "hun:t@er2",
		"https://u:hunter2@h":                 "hunter2",
		"http://u@h:80":                       "",
		"http://h:80/a@b":                     "80/a",
		"u:p@h":                               "",
		"embedded:/a:b@c":                     "",
	} {
		from, to, _ := passwordIn(in)
		if in[from:to] != want {
			t.Errorf("%s: %q, want %q", in, in[from:to], want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"clickhouse://u:p@h:9000/db?cluster=c&secure=true", "https://[::1],b/", "embedded:/x", "http://h?password_file=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(d.String())
		if err != nil {
			t.Fatalf("%q is shown as %q, which is %v", s, d, err)
		}
		if again.String() != d.String() {
			t.Errorf("%q, %q, %q", s, d, again)
		}
	})
}

// TestHideIn: a secret goes out of a text in each form that it may have there.
func TestHideIn(t *testing.T) {
	const text = "h:u/n%t e@r h%3Au%2Fn%25t+e%40r h:u%2Fn%25t%20e@r h%3Au%2Fn%25t%20e%40r rest"
	if got, want := NewSecret("h:u/n%t e@r").HideIn(text), "*** *** *** *** rest"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Secret{}).HideIn(text); got != text {
		t.Errorf("no secret hides something: %q", got)
	}
}
