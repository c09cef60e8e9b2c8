// Package docker has tests alone: what is here fits together and with the rest of
// the source. Docker is not needed.
package docker

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/alerts"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDockerfile: what it copies is there, what it makes the Makefile knows, and
// what it leaves is one program that an ordinary user runs.
func TestDockerfile(t *testing.T) {
	root := capturetest.Root(t)
	var words [][]string
	for s := bufio.NewScanner(strings.NewReader(read(t, "Dockerfile"))); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			words = append(words, strings.Fields(line))
		}
	}
	last := make(map[string]string) // of the last stage
	copied, made := 0, 0
	for _, w := range words {
		args := strings.Join(w[1:], " ")
		switch w[0] {
		case "FROM":
			clear(last)
		case "COPY":
			from := slices.ContainsFunc(w, func(s string) bool { return strings.HasPrefix(s, "--from=") })
			sources := slices.DeleteFunc(slices.Clone(w[1:len(w)-1]), func(s string) bool { return strings.HasPrefix(s, "--") })
			if from {
				last["at "+w[len(w)-1]] = sources[0]
				continue
			}
			for _, s := range sources {
				if _, err := os.Stat(filepath.Join(root, s)); err != nil {
					t.Errorf("%s: %v", args, err)
				}
				copied++
			}
		case "RUN":
			if w[1] != "make" {
				break
			}
			made++
			// The Makefile would build just that.
			out, err := exec.Command("make", append([]string{"-C", root, "-n"}, w[2:]...)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "-tags static -o /out/rocelens ./cmd/rocelens") {
				t.Errorf("%s: %v: %s", args, err, out)
			}
		}
		last[w[0]] = args
	}
	if copied < 3 || made != 1 {
		t.Errorf("%d files copied, %d targets made", copied, made)
	}
	if last["FROM"] != "scratch" || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(last["USER"]) {
		t.Errorf("from %s, as %s", last["FROM"], last["USER"])
	}
	if last["at /usr/bin/rocelens"] != "/out/rocelens" || last["ENTRYPOINT"] != `["/usr/bin/rocelens"]` {
		t.Errorf("%v", last)
	}
	// What it writes goes where it may: there is nothing else.
	for _, name := range []string{"HOME", "STATE_DIRECTORY", "TMPDIR"} {
		_, dir, _ := strings.Cut(last["ENV"], name+"=")
		if dir, _, _ = strings.Cut(dir, " "); last["at "+dir] == "" {
			t.Errorf("%s is %q, which is not there: ENV %s", name, dir, last["ENV"])
		}
	}
	// The image's Go is that of go.mod.
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))
	if words[0][0] != "FROM" || goVersion == nil || words[0][1] != "golang:"+goVersion[1] {
		t.Errorf("%v builds Go %v", words[0], goVersion)
	}
}

type service struct {
	Image       string
	Build       *struct{ Context, Dockerfile string }
	NetworkMode string `yaml:"network_mode"`
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
}

func compose(t *testing.T) (c struct {
	Services map[string]service
	Volumes  map[string]any
}) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompose: its files are there, its passwords come from who starts it, and
// only this machine reaches what listens.
func TestCompose(t *testing.T) {
	c := compose(t)
	for _, name := range []string{"rocelens", "clickhouse", "prometheus", "grafana"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if strings.HasPrefix(from, ".") {
				// What is exported is not there yet.
				if _, err := os.Stat(strings.TrimSuffix(from, "/provisioning")); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if _, ok := c.Volumes[from]; !ok {
				t.Errorf("%s: there is no volume %s", name, from)
			}
		}
		for key, value := range s.Environment {
			if strings.Contains(key, "PASSWORD") && value != "${"+key+":?}" {
				t.Errorf("%s: %s is in the file", name, key)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: %s is for everybody", name, p)
			}
		}
		if b := s.Build; b != nil {
			if _, err := os.Stat(filepath.Join(b.Context, b.Dockerfile)); err != nil {
				t.Error(err)
			}
		} else if _, version, ok := strings.Cut(s.Image, ":"); !ok || version == "latest" {
			t.Errorf("%s: which version is %s?", name, s.Image)
		}
	}
	if !slices.Contains(c.Services["prometheus"].Command, "--web.listen-address=127.0.0.1:9090") || c.Services["grafana"].Environment["GF_SERVER_HTTP_ADDR"] != "127.0.0.1" {
		t.Error("Prometheus or Grafana listens for everybody")
	}
}

func TestPrometheus(t *testing.T) {
	var config struct {
		RuleFiles []string `yaml:"rule_files"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus.yml")), &config); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, v := range compose(t).Services["prometheus"].Volumes {
		from, to, _ := strings.Cut(strings.TrimSuffix(v, ":ro"), ":")
		for _, form := range config.RuleFiles { // below the configuration
			if ok, err := path.Match(path.Join("/etc/prometheus", form), to); err != nil || !ok {
				continue
			}
			loaded++
			if rules, err := alerts.Prometheus(); err != nil || read(t, from) != string(rules) {
				t.Errorf("%s has other rules: %v", from, err)
			}
		}
	}
	if loaded != 1 {
		t.Errorf("%d files of rules are loaded", loaded)
	}
	capturetest.Need(t, "promtool")
	if out, err := exec.Command("promtool", "check", "config", "prometheus.yml").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("SUCCESS")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestClickHouse: ClickHouse takes the file with the user, who can do what the
// monitor has to.
func TestClickHouse(t *testing.T) {
	file := ""
	for _, v := range compose(t).Services["clickhouse"].Volumes {
		if from, to, _ := strings.Cut(v, ":"); strings.HasPrefix(to, "/etc/clickhouse-server/users.d/") {
			file = from
		}
	}
	// The embedded one has a user of that name, and gets no environment from us.
	values := strings.NewReplacer("<rocelens>", "<probe>", "</rocelens>", "</probe>", `<password from_env="ROCELENS_STORE_PASSWORD"/>`, "<password>secret</password>")
	work := t.TempDir()
	more := filepath.Join(work, "run", "users.d")
	if err := errors.Join(os.MkdirAll(more, 0o700), os.WriteFile(filepath.Join(more, "rocelens.xml"), []byte(values.Replace(read(t, file))), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{enginetest.Start(t, work, false).Endpoint().Addr}, Protocol: clickhouse.HTTP, Auth: clickhouse.Auth{Username: "probe", Password: "secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, statement := range []string{"CREATE DATABASE rocelens", "CREATE TABLE rocelens.x (k UInt64) ENGINE = MergeTree ORDER BY k", "INSERT INTO rocelens.x SELECT 1"} {
		if err := c.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
